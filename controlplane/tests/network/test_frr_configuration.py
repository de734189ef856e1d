"""FRR gets the sessions of a model, and tells its neighbours of routes only where the model says so."""

from __future__ import annotations

import pytest
from support.networks import changed

from p4mesh.network.nodes.frr import configuration


@pytest.mark.parametrize("advertise", [True, False])
def test_neighbours_are_told_of_learned_routes_unless_the_model_says_no(advertise: bool) -> None:
    keys = ("      as: 64512\n", f"      as: 64512\n      advertise: {str(advertise).lower()}\n")
    (device,) = changed("frr-4", keys).devices
    lines = configuration(device.model).splitlines()
    for address in ("198.18.3.2", "2001:2:0:3::2"):
        assert f"neighbor {address} remote-as 64515" in lines
        assert f"neighbor {address} activate" in lines
        assert (f"neighbor {address} route-map NO-ROUTE out" in lines) is not advertise
    assert "route-map NO-ROUTE deny 10" in lines
