"""The tests of messages."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.messages.background import MessageBackground
from p4mesh.methods.messages.latency import MessageLatency
from p4mesh.methods.messages.n_to_one import NToOne

SUITE = Suite("messages", (MessageLatency(), MessageBackground(), NToOne()))
