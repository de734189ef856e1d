"""The program for Tofino as the interpreter takes it: its sources, with what they use of the architecture."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from support.p4_interpreter import Program, number_of
from support.p4_preprocessor import Preprocessor
from support.p4_syntax import parse, parse_expression

from p4mesh.tester.contract import P4SRC

CHIPS = {"tofino1": 1, "tofino2": 2}
_ARCHITECTURE = """
header ingress_intrinsic_metadata_t { bit<9> ingress_port; bit<48> ingress_mac_tstamp; }
struct ingress_intrinsic_metadata_from_parser_t { bit<48> global_tstamp; }
struct ingress_intrinsic_metadata_for_deparser_t { bit<3> drop_ctl; }
struct ingress_intrinsic_metadata_for_tm_t { bit<9> ucast_egress_port; bit<16> mcast_grp_a; bit<5> qid; }
header egress_intrinsic_metadata_t { bit<9> egress_port; bit<16> egress_rid; }
struct egress_intrinsic_metadata_from_parser_t { bit<48> global_tstamp; }
struct egress_intrinsic_metadata_for_deparser_t { bit<3> drop_ctl; }
struct egress_intrinsic_metadata_for_output_port_t { bit<1> unused; }
typedef bit<5> QueueId_t;
"""
"""Declarations of tna.p4 that the program uses."""


@cache
def program_of(chip: str, p4src: Path = P4SRC) -> Program:
    """Return the program for a chip; ``p4src`` is where its sources are."""
    defines = {"__TARGET_TOFINO__": CHIPS[chip], "PIPES": 2}
    preprocessor = Preprocessor(defines, lambda text: number_of(parse_expression(text)).value)
    return Program(parse(_ARCHITECTURE + preprocessor.text_of(p4src / "tna" / "p4mesh.p4")))
