"""A topology as an SVG drawing: the tester on the left, devices in columns by their distance from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from p4mesh.quantities import number_text, ports_text
from p4mesh.topology.line_codes import NONE
from p4mesh.topology.model import TESTER, Device, PortRef, Topology

_BOX_WIDTH_PX, _BOX_GAP_PX, _COLUMN_PX, _MARGIN_PX = 190, 28, 330, 24
_ROW_PX, _HEADER_PX, _TITLE_PX = 18, 46, 34
_PREFIXES = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))
_STYLE = (
    "text{font-family:sans-serif;font-size:12px;fill:#222}.title{font-size:15px;font-weight:bold}"
    ".name{font-weight:bold}.small{font-size:11px;fill:#555}rect{fill:#f4f6f8;stroke:#456;stroke-width:1.2}"
    ".tester{fill:#e6f0fa}line{stroke:#456;stroke-width:1.4}.cable{stroke-width:2.6}"
)


@dataclass(frozen=True)
class _Box:
    node: str
    lines: tuple[str, ...]
    x: int
    y: int
    height: int


@dataclass(frozen=True)
class _Cables:
    """All links between two nodes that have the same delay and line code."""

    ends: tuple[str, str]
    ports: tuple[str, str]
    latency_ns: float
    line_code: str
    count: int


def draw(topology: Topology) -> str:
    """The drawing; equal topologies give equal text."""
    cables = _cables(topology)
    boxes = _boxes(topology, cables)
    width = max(box.x for box in boxes.values()) + _BOX_WIDTH_PX + _MARGIN_PX
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN_PX
    loops = sum(1 for cable in cables if cable.ends[0] == cable.ends[1])
    height += 2 * _ROW_PX * loops
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(topology.name)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{_MARGIN_PX}" y="{_TITLE_PX - 8}">{escape(topology.name)}</text>',
        *_cable_parts(cables, boxes),
        *(part for box in boxes.values() for part in _box_parts(box)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _boxes(topology: Topology, cables: list[_Cables]) -> dict[str, _Box]:
    columns = _columns(topology)
    long = sum(1 for cable in cables if abs(columns[cable.ends[0]] - columns[cable.ends[1]]) > 1)
    texts = {TESTER: _tester_lines(topology), **{device.name: _device_lines(device) for device in topology.devices}}
    boxes: dict[str, _Box] = {}
    bottoms: Counter[int] = Counter()
    for node, column in columns.items():
        y = bottoms[column] or _TITLE_PX + _MARGIN_PX
        height = _HEADER_PX + _ROW_PX * len(texts[node])
        boxes[node] = _Box(node, texts[node], _MARGIN_PX + column * _COLUMN_PX, y, height)
        bottoms[column] = y + height + _BOX_GAP_PX
    lowest = max(bottoms.values())
    tester = boxes[TESTER]
    # The tester is as high as what it is linked to; cables over several columns run below the other boxes.
    bottom = lowest - _BOX_GAP_PX + 2 * _ROW_PX * long
    boxes[TESTER] = _Box(TESTER, tester.lines, tester.x, tester.y, max(tester.height, bottom - tester.y))
    return boxes


def _columns(topology: Topology) -> dict[str, int]:
    """The column of each node: its distance from the tester; equally distant ones in a chain step right."""
    columns = {TESTER: 0}
    for device in topology.devices:
        before = [
            columns[far.node]
            for link in topology.links
            for near, far in (link.ends, link.ends[::-1])
            if near.node == device.name and far.node in columns and far.node != device.name
        ]
        columns[device.name] = max(before, default=0) + 1
    return columns


def _tester_lines(topology: Topology) -> tuple[str, ...]:
    return tuple(
        f"{ports_text(numbers)}: {_rate(rate)}"
        for rate, numbers in _by_rate([(port.number, port.rate_bps) for port in topology.tester_ports])
    )


def _device_lines(device: Device) -> tuple[str, ...]:
    ports = _by_rate([(port.number, port.rate_bps) for port in device.ports])
    lines = [" ".join([device.device.replace("_", " "), Path(device.model.get("program", "")).stem]).strip()]
    lines += [f"{ports_text(numbers)}: {_rate(rate)}" for rate, numbers in ports]
    if "latency_ns" in device.model:
        lines.append(f"latency {number_text(device.model['latency_ns'])} ns")
    return tuple(lines)


def _by_rate(ports: list[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    groups: dict[int, list[int]] = {}
    for number, rate in ports:
        groups.setdefault(rate, []).append(number)
    return list(groups.items())


def _cables(topology: Topology) -> list[_Cables]:
    groups: dict[tuple[str, str, float, str], list[tuple[PortRef, PortRef]]] = {}
    for link in topology.links:
        nodes = (link.ends[0].node, link.ends[1].node)
        code = "" if link.line_code == NONE else f"{link.line_code} {number_text(link.line_code_ns)} ns"
        groups.setdefault((*nodes, link.latency_ns, code), []).append(link.ends)
    return [
        _Cables(
            (near, far),
            (ports_text([a.port for a, _ in ends]), ports_text([b.port for _, b in ends])),
            latency_ns,
            line_code,
            len(ends),
        )
        for (near, far, latency_ns, line_code), ends in groups.items()
    ]


def _cable_parts(cables: list[_Cables], boxes: dict[str, _Box]) -> list[str]:
    parts = []
    used: Counter[str] = Counter()
    under = max((box.y + box.height for box in boxes.values() if box.node != TESTER), default=0)
    below = max(box.y + box.height for box in boxes.values())
    for cable in cables:
        near, far = (boxes[node] for node in cable.ends)
        label = f"{cable.ports[0]} - {cable.ports[1]}"
        delay = f", {number_text(cable.latency_ns)} ns" if cable.latency_ns else ""
        delay += f", {cable.line_code}" if cable.line_code else ""
        style = ' class="cable"' if cable.count > 1 else ""
        if cable.ends[0] == cable.ends[1]:
            below += 2 * _ROW_PX
            parts.append(f'<text class="small" x="{near.x}" y="{below - _ROW_PX}">cable {escape(label + delay)}</text>')
            continue
        if near.x > far.x:
            near, far = far, near
        text = escape(label + delay)
        if far.x - near.x > _COLUMN_PX:
            under += 2 * _ROW_PX
            y, end, foot = under - _ROW_PX // 2, far.x + _BOX_WIDTH_PX // 2, far.y + far.height
            parts.append(f'<line{style} x1="{near.x + _BOX_WIDTH_PX}" y1="{y}" x2="{end}" y2="{y}"/>')
            parts.append(f'<line{style} x1="{end}" y1="{y}" x2="{end}" y2="{foot}"/>')
            parts.append(f'<text class="small" x="{end - 6}" y="{y - 5}" text-anchor="end">{text}</text>')
            continue
        y = max(near.y, far.y) + _HEADER_PX // 2 + _ROW_PX * used[far.node]
        used[far.node] += 1
        left, right = near.x + _BOX_WIDTH_PX, far.x
        parts.append(f'<line{style} x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>')
        parts.append(f'<text class="small" x="{right - 6}" y="{y - 5}" text-anchor="end">{text}</text>')
    return parts


def _box_parts(box: _Box) -> list[str]:
    kind = ' class="tester"' if box.node == TESTER else ""
    parts = [f'<rect{kind} x="{box.x}" y="{box.y}" width="{_BOX_WIDTH_PX}" height="{box.height}" rx="6"/>']
    parts.append(f'<text class="name" x="{box.x + 12}" y="{box.y + 24}">{escape(box.node)}</text>')
    parts += [
        f'<text class="small" x="{box.x + 12}" y="{box.y + _HEADER_PX + _ROW_PX * row}">{escape(line)}</text>'
        for row, line in enumerate(box.lines)
    ]
    return parts


def _rate(rate_bps: int) -> str:
    for factor, prefix in _PREFIXES:
        if rate_bps >= factor:
            return f"{number_text(rate_bps / factor)} {prefix}bit/s"
    return f"{rate_bps} bit/s"
