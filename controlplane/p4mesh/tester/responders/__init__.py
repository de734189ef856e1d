"""Protocols that the tester speaks on its ports, one file each: frames in, frames out, time as an argument.

Responders know neither targets nor P4Runtime, and never wait: :class:`p4mesh.tester.packet_service.PacketService` gives
them the frames that arrive and wakes them when a timer is due.
"""

from p4mesh.tester.responders.base import Match, Outgoing, PuntRule, Responder

__all__ = ["Match", "Outgoing", "PuntRule", "Responder"]
