"""Control actions of BGP: sessions end with a NOTIFICATION (RFC 4271 4.5), or restart gracefully (RFC 4724)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from p4mesh.otg.bgp import BgpPeer
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.metrics import chosen
from p4mesh.traffic.line_rate import NS_PER_MS, NS_PER_S

_USUAL = {
    "cease": "admin_shutdown_code6_subcode2",
    "message_header_error": "connection_not_synchronized_code1_subcode1",
    "open_message_error": "unsupported_version_number_code2_subcode1",
    "update_message_error": "malformed_attrib_list_code3_subcode1",
}
"""Kinds of NOTIFICATIONs with subcodes, each with the one that the API has where none is given."""
_WITHOUT_SUBCODE = {"hold_timer_expired": 4, "finite_state_machine_error": 5}
_NUMBERED = re.compile(r"_code(\d+)_subcode(\d+)$")
_MOST_CODE = 255
Notification = tuple[int, int]
"""Code and subcode."""


@dataclass(frozen=True)
class Ending:
    """How a session ends, for now."""

    notification: Notification | None
    close_after_ns: int = 0
    """Time from a NOTIFICATION to the end of the connection."""
    away_ns: int | None = None
    """Time that a graceful restart takes; None for none."""


def read_bgp_action(element: Element, peers: Mapping[str, BgpPeer]) -> tuple[Sequence[str], Ending]:
    """Read the action ``bgp``: names of the peers whose sessions end, all without any, and how."""
    with element.whole():
        kind = element.choice("notification", "initiate_graceful_restart", default="notification")
        with element.element(kind).whole() as inner:
            if kind == "notification":
                names = chosen(inner.texts("names"), peers, "BGP peer")
                ending = Ending(_notification(inner), close_after_ns=inner.integer("fin_delay") * NS_PER_MS)
            else:
                names = chosen(inner.texts("peer_names"), peers, "BGP peer")
                for name in names:
                    if peers[name].graceful_restart is None:
                        what = f"has '{name}', which does not offer to restart gracefully"
                        raise refusal(inner.at("peer_names"), what, "peers with graceful_restart.enable_gr")
                told = None
                if "notification" in inner:
                    with inner.element("notification").whole() as notification:
                        told = _notification(notification)
                ending = Ending(told, away_ns=inner.integer("restart_delay", 30) * NS_PER_S)
    return names, ending


def _notification(element: Element) -> Notification:
    kind = element.choice(*_USUAL, *_WITHOUT_SUBCODE, "custom", default="cease")
    with element.element(kind).whole() as inner:
        if kind in _WITHOUT_SUBCODE:
            return _WITHOUT_SUBCODE[kind], 0
        if kind == "custom":
            return _number(inner, "code"), _number(inner, "subcode")
        numbered = _NUMBERED.search(inner.text("subcode", _USUAL[kind]))
        if numbered is None:
            raise refusal(inner.at("subcode"), "is none of the API", f"such as {_USUAL[kind]}")
        return int(numbered[1]), int(numbered[2])


def _number(element: Element, key: str) -> int:
    number = element.integer(key)
    if number > _MOST_CODE:
        raise refusal(element.at(key), f"is {number:,}", f"0 to {_MOST_CODE}")
    return number
