"""Line codes with forward error correction, as a property of a link: the latency that they add in each direction."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.config_files.yaml_source import Path, YamlSource
from p4mesh.errors import TopologyError
from p4mesh.topology.keys import Cable
from p4mesh.traffic.line_rate import NS_PER_S, PS_PER_NS

NONE = "none"
DATA_BITS = {"base_r": 32 * 64, "rs_528_514": 80 * 64, "rs_544_514": 80 * 64}
"""Bits of the MAC in one code word (IEEE 802.3 clauses 74.7.4.4 and 91.5.2): 64 of each 66-bit block."""


def line_code_ns(source: YamlSource, path: Path, cable: Cable, rate_bps: int) -> float:
    """The latency that the line code of a cable adds in each direction, in ns, to whole picoseconds.

    It is what the file says, else the time of one code word at ``rate_bps``: a decoder must have all of it before it
    knows which bits are wrong. Raises TopologyError for a latency without a line code.
    """
    code, given = cable.line_code, cable.line_code_ns
    if code == NONE:
        if given is not None:
            raise TopologyError(
                f"{source.where((*path, 'line_code_ns'))}: the link has no line code",
                hint=f"give line_code as well: {', '.join(DATA_BITS)}",
            )
        return 0.0
    exact_ns = Fraction(DATA_BITS[code] * NS_PER_S, rate_bps) if given is None else Fraction(str(given))
    return round(exact_ns * PS_PER_NS) / PS_PER_NS
