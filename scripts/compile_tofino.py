#!/usr/bin/env python3
"""Compiles and assembles the tester for Tofino 1 and 2 and records its use of the chips (make p4-tofino)."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4mesh.bfruntime import tables_of_program
from p4mesh.p4runtime import load_p4info
from p4mesh.tester.contract import P4SRC, constants_of, hash_of_sources, sources_of

MAIN = "tna/p4mesh.p4"
RECORD = P4SRC / "compiled" / "tofino.json"
DOCUMENT = P4SRC.parent / "docs" / "TOFINO_RESOURCES.md"
COMPILER = os.environ.get("P4C_TOFINO", "p4c-barefoot")
ASSEMBLER = os.environ.get("BFAS_TOFINO", "bfas")


@dataclass(frozen=True)
class Chip:
    """A chip, its stages and the programs for it, or those of a profile."""

    title: str
    arguments: tuple[str, ...]
    number: int
    """Value of __TARGET_TOFINO__."""
    stages: int
    pipes: dict[str, int]
    """Value of PIPES of each program for this chip. They differ in the number of the CPU port only."""
    ipdv: int = 0
    """Value of IPDV."""

    @property
    def file(self) -> str:
        return next(iter(self.pipes))

    def defines(self, program: str) -> dict[str, int]:
        """The definitions for the compiler (-D)."""
        return {"__TARGET_TOFINO__": self.number, "PIPES": self.pipes[program], "IPDV": self.ipdv}


CHIPS = (
    Chip("Tofino 1", ("--target", "tofino", "--arch", "tna"), 1, 12, {"tofino1": 2, "tofino1_4pipes": 4}),
    Chip("Tofino 2", ("--target", "tofino2", "--arch", "t2na"), 2, 20, {"tofino2": 4}),
    Chip("Tofino 2 with IPDV", ("--target", "tofino2", "--arch", "t2na"), 2, 20, {"tofino2_ipdv": 4}, ipdv=1),
)
BAD_FCS = "-DFORCE_TX_ERROR"
"""For a compiler whose tna.p4 has force_tx_error; the compiler of the record does not have it."""

EXPLAINED = {
    r"Unknown annotation: (controller_header|id)$": (
        "the back end does not know them; the writer of P4Info does, and P4Info has headers and ids"
    ),
    r"may be uninitialized": (
        "the analysis takes the body of a RegisterAction as executed where it is declared; the parser of the chip "
        "sets all metadata to 0"
    ),
    r"No known conversion to standard P4Info for 'DynHash'": (
        "P4Info has no hashes whose algorithm a driver may change; no controller of P4Mesh changes one"
    ),
    r"Parser state min_parse_depth_accept_loop will be unrolled": (
        "padding of short frames to the 65 bytes that the parser reads at least, made by the back end itself"
    ),
}
"""Warnings of the compiler that are expected, and why; any other one fails the build."""

OVERFILLED = {
    "meta.cell": "of the cells of test frames, Tofino 1 looks at the lower half alone (TEST_CELL_BEYOND_FLOWS)",
    "hdr.loop.value": "it shares a container with hdr.signature.run, and is neither read nor sent with test frames",
}
"""Fields whose other bits the parser fills with bytes of the packet, and why that is harmless."""

_INSTALL_HINT = (
    "{} is not installed: the committed outputs in p4src/compiled stay as they are.\n"
    "hint: build the Tofino back end of p4c and its assembler (docs/TOFINO.md), "
    "then P4C_TOFINO=/path/to/p4c-barefoot BFAS_TOFINO=/path/to/bfas make p4-tofino"
)
_CLOCKS = "cycles_contribute_to_latency"
_PADDING = "min_parse_depth_accept_loop"
"""Part of the names of parser states that the compiler adds."""
_LAST_BIT = {"B": 7, "H": 15, "W": 31}
"""Number of the last bit of a container, by its letter."""
_VERDICTS = {
    ("drop_ctl", "ingress"): r"^  drop_ctl: (.*)$",
    ("drop_ctl", "egress"): r"^  drop_ctl: (.*)$",
    ("mirror_type", "ingress"): r"^  mirror:\n    select: (.*)$",
    ("capture_tstamp_on_tx", "egress"): r"^  capture_tx_ts: (.*)$",
}
"""Lines of a deparser with what it does with a frame, by field and gress."""
_STATE = ("MatchAction_Direct", "Register", "Counter")
"""Kinds of tables in bfrt.json with state that a controller writes or reads."""


def compile_for(chip: Chip, program: str, options: tuple[str, ...], output: Path) -> None:
    """Runs the compiler; raises SystemExit on errors and on warnings without an explanation."""
    command = [
        COMPILER, "--std", "p4-16", *chip.arguments,
        *(f"-D{name}={number}" for name, number in chip.defines(program).items()), *options,
        "-g", "--verbose", "-o", str(output), "--p4runtime-force-std-externs",
        "--p4runtime-files", str(output / "p4info.txtpb"), "--bf-rt-schema", str(output / "bfrt.json"), MAIN,
    ]  # fmt: skip
    run = subprocess.run(command, cwd=P4SRC, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{chip.title}: the compiler failed\n{run.stdout}")
    warnings = re.findall(r"^.*\bwarning: (.*)$", run.stdout, re.M)
    unexplained = [text for text in warnings if not any(re.search(known, text) for known in EXPLAINED)]
    if unexplained:
        raise SystemExit(f"{chip.title}: warnings without an explanation\n" + "\n".join(unexplained))


def assemble_for(chip: Chip, output: Path) -> tuple[int, dict[str, Any]]:
    """Runs the assembler; returns the size of the binary in bytes, and its context.json.

    Raises SystemExit where it says anything.
    """
    assembly = output / "pipe" / "p4mesh.bfa"
    target = chip.arguments[1]
    command = [ASSEMBLER, "--target", target, "-o", str(assembly.parent), str(assembly)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0 or run.stdout.strip():
        raise SystemExit(f"{chip.title}: the assembler failed\n{run.stdout}")
    binary = (assembly.parent / f"{target}.bin").stat().st_size
    context: dict[str, Any] = json.loads((assembly.parent / "context.json").read_text())
    return binary, context


def verdicts_of(assembly: str) -> dict[str, dict[str, Any]]:
    """Containers in which verdicts on frames are kept, and which fields are in the same bits before.

    ``if`` names the bit that makes it valid. Without one (Tofino 1) the deparser obeys what the bits hold at the end,
    so no other field may use them: SystemExit where one does.
    """
    found = {}
    for (field, gress), line in _VERDICTS.items():
        verdict = re.search(line, _section(assembly, f"deparser {gress}"), re.M)
        if verdict is None and field not in assembly:
            continue  # Of a profile that has none.
        if verdict is None:
            raise SystemExit(f"no {field} of {gress} in the assembly")
        place, *valid = _bits_of(verdict[1].partition("#")[0])
        sharing = {
            name
            for name, where in _fields_of(assembly, gress)
            for container, first, last in _bits_of(where)
            if container == place[0] and first <= place[2] and place[1] <= last and not name.endswith(f".{field}")
        }
        if sharing and not valid:
            raise SystemExit(f"{field} of {gress} shares its container with {', '.join(sorted(sharing))}")
        found[f"{field} of {gress}"] = {
            "bits": list(place),
            "if": [list(one) for one in valid],
            "shared_with": sorted(sharing),
        }
    return found


def overfilled_in(assembly: str) -> dict[str, list[str]]:
    """For each gress, the fields of which the parser writes more bits than it extracts.

    It writes whole containers of Tofino 1. Bits beside those of the extracted field are those of the packet, also where
    the sources say 0. SystemExit for a field that :data:`OVERFILLED` does not have.
    """
    found = {}
    for gress in ("ingress", "egress"):
        at_first = [
            (name, *bits)
            for name, where in _fields_of(assembly, gress)
            for part in re.findall(r"stage 0\b[^:]*: ([^,}]*)", where) or ([] if "stage" in where else [where])
            for bits in _bits_of(part)
        ]
        overfilled = set()
        # A container as a whole, with what is extracted to it behind it or in the lines below.
        extractions = re.findall(
            r"^ +[\d.]+: (\w+)(?: +# (bit.*)$|\n((?: +# - bit.*\n)+))", _section(assembly, f"parser {gress}"), re.M
        )
        for container, one, several in extractions:
            parts = re.findall(rf"-> {container} bit\[(\d+)(?:\.\.(\d+))?\]", one or several)
            extracted = {bit for high, low in parts for bit in range(int(low or high), int(high) + 1)}
            overfilled |= {
                name
                for name, place, first, last in at_first
                if place == container and not extracted.issuperset(range(first, last + 1))
            }
        if unknown := overfilled - OVERFILLED.keys():
            raise SystemExit(f"the parser of {gress} writes more than it extracts of {', '.join(sorted(unknown))}")
        found[gress] = sorted(overfilled)
    return found


def require_lone_checksums(assembly: str) -> None:
    """SystemExit where the parser writes more to a container with the result of a checksum.

    A Tofino 2 takes that for a parser error, and drops the frame.
    """
    for gress in ("ingress", "egress"):
        parser = _section(assembly, f"parser {gress}")
        for container in re.findall(r"type: VERIFY\n(?: +.*\n)*? +dest: (\w+)", parser):
            if re.search(rf"^ +(?:[\d.]+: )?{container}\b", parser, re.M):
                raise SystemExit(f"the parser of {gress} writes more than the result of a checksum to {container}")


def _section(assembly: str, title: str) -> str:
    """The lines below a title; raises SystemExit without them."""
    found = re.search(rf"^{title}:\n((?:[ \t].*\n)+)", assembly, re.M)
    if found is None:
        raise SystemExit(f"no '{title}' in the assembly")
    return found[1]


def _fields_of(assembly: str, gress: str) -> list[tuple[str, str]]:
    """The fields of a gress, each with its containers and when it is in them."""
    fields, _, _ = _section(assembly, f"phv {gress}").partition("  context_json:")
    return re.findall(r"^  ([^\s:]+): (.*)$", fields, re.M)


def _bits_of(text: str) -> list[tuple[str, int, int]]:
    """The containers in a line of assembly with their first and last bit."""
    return [
        (name, int(first or 0), int(last or first or _LAST_BIT[size]))
        for name, size, first, last in re.findall(r"\b([MDT]?([BHW])\d+)(?:\((\d+)(?:\.\.(\d+))?\))?", text)
    ]


def clocks_of(context: dict[str, Any]) -> dict[str, int]:
    """The clocks that a frame takes through the stages of each gress."""
    found = {"ingress": 0, "egress": 0}
    for stage in context["mau_stage_characteristics"]:
        found[stage["gress"]] += stage[_CLOCKS]
    return found


def parser_paths_of(output: Path) -> dict[str, dict[str, int | None]]:
    """The longest path of each gress through its parser, in states, and the shortest packet for it.

    That is at 100 Gbit/s, in bytes on the wire as the compiler reckons; None where it may be as short as any. Both are
    in the compiler's ``parser.characterize.log``; empty for a compiler that writes none. Among the states are those of
    padding, in which a packet is only while less than 65 bytes were parsed, whatever the compiler's path says.
    """
    text = "".join(log.read_text() for log in sorted(output.rglob("parser.characterize.log")))
    found = {}
    for part in re.split(r"^Number of states on ", text, flags=re.M)[1:]:
        if path := re.search(r"^Longest path \((\d+) states\) on (\w+):\n((?: +\S+\n)*)", part, re.M):
            shortest = re.search(r"^Min packet size at 100 Gbps: (\d+) B", part, re.M)
            found[path[2]] = {
                "longest_path": int(path[1]),
                "padding": path[3].count(_PADDING),
                "shortest_bytes": int(shortest[1]) if shortest else None,
            }
    return found


def drivers_view(context: dict[str, Any], bfrt: bytes) -> dict[str, Any]:
    """Knowledge of the drivers about tables of bfrt.json and hashes, from context.json; names lack the pipe."""
    wanted = {table["name"].partition(".")[2] for table in tables_of_program(bfrt) if table["table_type"] in _STATE}
    tables = []
    for table in context["tables"]:
        if table["name"] not in wanted or table["table_type"] == "action":
            continue
        found = {"name": table["name"], "type": table["table_type"], "size": table["size"]}
        if table["table_type"] == "match":
            keys = table["match_key_fields"]
            found["key"] = [[field["name"], field["bit_width"], field["match_type"]] for field in keys]
            found["actions"] = {
                action["name"]: [[parameter["name"], parameter["bit_width"]] for parameter in action["p4_parameters"]]
                for action in table["actions"]
            }
        elif table["table_type"] == "stateful":
            found |= {"alu_width": table["alu_width"], "dual": table["dual_width_mode"]}
        else:
            found |= {name: table[f"{name}_counter_resolution"] for name in ("packet", "byte")}
        tables.append(found)
    value_sets = {parser["pvs_name"] for of in context["parser"].values() for parser in of if parser.get("uses_pvs")}
    hashes = []
    for known in context["dynamic_hash_calculations"]:
        usual = next(algorithm for algorithm in known["algorithms"] if algorithm["is_default"])
        (fields,) = (found["fields"] for found in known["field_lists"])
        hashes.append(
            {
                "name": known["name"].removesuffix(".configure"),
                "bits": known["hash_bit_width"],
                "fields": [[field["name"], field["bit_width"]] for field in fields],
                **{name: usual[name] for name in ("type", "poly", "init", "final_xor", "reverse", "msb")},
            }
        )
    return {
        "tables": sorted(tables, key=lambda found: str(found["name"])),
        "hashes": sorted(hashes, key=lambda found: str(found["name"])),
        "value_sets": sorted(value_sets),
    }


def resources_of(output: Path) -> list[dict[str, Any]]:
    """For every stage its memories, ALUs, tables and registers."""
    info = load_p4info(output / "p4info.txtpb")
    tables = {table.preamble.name: table.size for table in info.tables}
    cells = {register.preamble.name: register.size for register in info.registers}
    resources = json.loads((output / "pipe" / "logs" / "resources.json").read_text())["resources"]["mau"]
    stages = []
    for stage in resources["mau_stages"]:
        names = [table["table_name"] for table in stage["logical_tables"]["ids"]]
        alus = [usage["used_by"] for alu in stage["meter_alus"]["meters"] for usage in alu["usages"]]
        stages.append(
            {
                "logical_tables": len(names),
                "srams": len(stage["rams"]["srams"]),
                "map_rams": len(stage["map_rams"]["maprams"]),
                "tcams": len(stage["tcams"]["tcams"]),
                "stateful_alus": len(stage["meter_alus"]["meters"]),
                "counters": len({u["used_by"] for alu in stage["statistic_alus"]["stats"] for u in alu["usages"]}),
                "tables": {name: tables[name] for name in sorted(set(names)) if name in tables},
                "registers": {name: cells[name] for name in sorted(set(alus)) if name in cells},
            }
        )
    return stages


def rendered(record: dict[str, Any]) -> str:
    """The document of a record."""
    lines = [
        "# Resources of the tester on a Tofino",
        "",
        f"Written by `make p4-tofino` with {record['compiler']} from the sources with the SHA-256",
        f"`{record['source_sha256']}`.",
        "",
        "Each program compiles without errors. Sizes are entries of tables and cells of registers;",
        "tables that the program fills itself are counted only. For a Tofino 1 with more than two pipes the program",
        "differs in the number of the CPU port only.",
    ]
    for chip in CHIPS:
        stages = record["stages"][chip.title]
        lines += ["", f"## {chip.title}: {len(stages)} of {chip.stages} stages", ""]
        lines += ["| stage | logical tables | SRAMs | map RAMs | TCAMs | stateful ALUs | counters |"]
        lines += ["|---|---|---|---|---|---|---|"]
        keys = ("logical_tables", "srams", "map_rams", "tcams", "stateful_alus", "counters")
        for number, stage in enumerate(stages):
            lines.append("| " + " | ".join(str(n) for n in (number, *(stage[key] for key in keys))) + " |")
        total = [sum(stage[key] for stage in stages) for key in keys]
        lines.append("| all | " + " | ".join(str(n) for n in total) + " |")
        lines += ["", "| stage | tables | registers |", "|---|---|---|"]
        for number, stage in enumerate(stages):
            if stage["tables"] or stage["registers"]:
                lines.append(f"| {number} | {_listed(stage['tables'])} | {_listed(stage['registers'])} |")
    lines += ["", "## Assembled", ""]
    lines += [
        "The assembler takes all programs without a message. Clocks are those of the stages alone, as it gives them:"
    ]
    lines += ["parsers, traffic manager and MAC come on top.", ""]
    lines += ["| chip | binary | ingress | egress | both, 1.0 to 1.25 GHz |", "|---|---|---|---|---|"]
    for chip in CHIPS:
        of = record["assembled"][chip.title]
        clocks = of["clocks"]["ingress"] + of["clocks"]["egress"]
        lines.append(
            f"| {chip.title} | {of['binary_bytes']:,} bytes | {of['clocks']['ingress']} clocks "
            f"| {of['clocks']['egress']} clocks | {clocks / 1.25:.0f} to {clocks} ns |"
        )
    if parsers := record.get("parsers"):
        lines += [
            "",
            "## Parsers",
            "",
            "Longest paths, and the shortest packets at 100 Gbit/s for them, by the compiler. In states of padding a",
            "packet is only while less than 65 bytes were parsed, so not on these paths:",
        ]
        lines.append("")
        lines += ["| chip | gress | states | of padding | bytes on the wire |", "|---|---|---|---|---|"]
        lines += [
            f"| {chip} | {gress} | {of['longest_path']} | {of['padding']} | {of['shortest_bytes'] or 'any'} |"
            for chip, gresses in parsers.items()
            for gress, of in gresses.items()
        ]
    lines += ["", "## Warnings of the compiler", ""]
    lines += ["Any other warning fails the build.", "", "| warning | reason why it is harmless |", "|---|---|"]
    lines += [f"| `{_as_text(pattern)}` | {reason} |" for pattern, reason in EXPLAINED.items()]
    return "\n".join(lines) + "\n"


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"`{name.split('.', 1)[1]}` {size:,}" for name, size in sizes.items())


def _as_text(pattern: str) -> str:
    return pattern.removesuffix("$").replace("(", "").replace(")", "").replace("|", " or ")


@dataclass(frozen=True)
class Compiled:
    """Result of compiling one program."""

    stages: list[dict[str, Any]]
    p4info: bytes
    bfrt: bytes
    binary_bytes: int
    clocks: dict[str, int]
    parsers: dict[str, dict[str, int | None]]
    drivers: bytes
    """The tables of the program as the drivers know them."""


def compiled(chip: Chip, program: str, options: tuple[str, ...]) -> Compiled:
    """Compile one program, for which the chip must have stages enough."""
    print(f"{chip.title}, {program}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory)
        compile_for(chip, program, options, output)
        stages = resources_of(output)
        if len(stages) > chip.stages:
            raise SystemExit(f"{program}: {len(stages)} stages, the chip has {chip.stages}")
        p4info, bfrt = (output / "p4info.txtpb").read_bytes(), (output / "bfrt.json").read_bytes()
        size, context = assemble_for(chip, output)
        assembly = (output / "pipe" / "p4mesh.bfa").read_text()
        require_lone_checksums(assembly)
        verdicts = verdicts_of(assembly)
        overfilled = overfilled_in(assembly)
        view = lines_of(drivers_view(context, bfrt) | {"verdicts": verdicts, "overfilled": overfilled})
        return Compiled(stages, p4info, table_per_line(bfrt), size, clocks_of(context), parser_paths_of(output), view)


def table_per_line(bfrt: bytes) -> bytes:
    """The program's part of a bfrt.json with a table on each line: shorter, and with readable differences.

    What compilers add for debugging is left out, as it differs from one run of the compiler to the next.
    """
    return lines_of(json.loads(bfrt) | {"tables": tables_of_program(bfrt)})


def lines_of(document: dict[str, Any]) -> bytes:
    """A document as JSON, with an item of its lists on each line."""
    parts = []
    for key, value in document.items():
        items = ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) if isinstance(value, list) else ""
        parts.append(f"{json.dumps(key)}: [\n{items}\n]" if items else f"{json.dumps(key)}: {json.dumps(value)}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def _of_all(*options: str) -> list[dict[str, Compiled]]:
    """Every program of each chip, compiled side by side: one takes minutes."""
    with ThreadPoolExecutor() as pool:
        running = [{name: pool.submit(compiled, chip, name, options) for name in chip.pipes} for chip in CHIPS]
        found = [{name: future.result() for name, future in of_chip.items()} for of_chip in running]
    for chip, programs in zip(CHIPS, found, strict=True):
        first, *others = programs.values()
        if any(other != first for other in others):
            raise SystemExit(f"{chip.title}: {', '.join(programs)} differ in more than the number of a port")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--bad-fcs", action="store_true", help="only compile the programs with bad FCS, and print their stages"
    )
    bad_fcs = parser.parse_args().bad_fcs
    for tool in (COMPILER, ASSEMBLER):
        if shutil.which(tool) is None:
            print(_INSTALL_HINT.format(tool), file=sys.stderr)
            return 3
    if bad_fcs:
        for chip, programs in zip(CHIPS, _of_all(BAD_FCS), strict=True):
            for name, found in programs.items():
                print(f"{name} with bad FCS: {len(found.stages)} of {chip.stages} stages")
        return 0
    version = subprocess.run(
        [COMPILER, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    sources = sources_of(MAIN)
    record: dict[str, Any] = {
        "compiler": f"p4c-barefoot {version.split()[-1]}",
        "sources": sources,
        "source_sha256": hash_of_sources(sources),
        "output_sha256": {},
        "constants": {name: constants_of(sources, defines=chip.defines(name)) for chip in CHIPS for name in chip.pipes},
        "stages": {},
        "assembled": {},
        "parsers": {},
    }
    for chip, programs in zip(CHIPS, _of_all(), strict=True):
        found = next(iter(programs.values()))
        record["stages"][chip.title] = found.stages
        record["assembled"][chip.title] = {"binary_bytes": found.binary_bytes, "clocks": found.clocks}
        record["parsers"][chip.title] = found.parsers
        outputs = {"p4info.txtpb": found.p4info, "bfrt.json": found.bfrt, "drivers.json": found.drivers}
        for ending, content in outputs.items():
            output = P4SRC / "compiled" / f"p4mesh.{chip.file}.{ending}"
            output.write_bytes(content)
            record["output_sha256"][output.name] = hashlib.sha256(content).hexdigest()
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    DOCUMENT.write_text(rendered(record))
    print(f"compiled {MAIN} for {', '.join(chip.title for chip in CHIPS)} with {record['compiler']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
