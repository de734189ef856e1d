"""Notes of a run: those of the user, of the topology, and the P4 programs of the devices."""

from __future__ import annotations

import pytest
from support.networks import shipped

from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import echo_of


@pytest.mark.parametrize(
    ("topology", "notes", "model"),
    [
        ("p4-l2-4ports", (), "P4 program l2_switch"),
        ("p4-l2-4ports", ("model=S1",), "S1"),
        ("wrs-18x1g", (), "WRS-3/18"),
        ("back-to-back", (), None),
    ],
)
def test_a_device_without_a_named_model_is_its_p4_program(
    topology: str, notes: tuple[str, ...], model: str | None
) -> None:
    entries = echo_of(shipped(topology), RunOptions("rfc2544.throughput", topology, notes=notes))
    assert entries.get("notes", {}).get("model") == model
