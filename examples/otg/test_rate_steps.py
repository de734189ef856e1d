"""A test for pytest, as engineers write them: a port carries all frames, from a tenth of its line to all of it.

p4mesh otg --topology back-to-back --time fast
OTG_API=http://127.0.0.1:8443 pytest examples/otg/test_rate_steps.py
"""

import os

import pytest
import snappi

SECONDS = 0.05


@pytest.fixture(scope="module")
def api():
    return snappi.api(location=os.environ.get("OTG_API", "http://127.0.0.1:8443"))


@pytest.mark.parametrize("percentage", [10, 50, 100])
def test_port_carries_all_frames(api, percentage):
    config = api.config()
    config.ports.port(name="tx", location="1").port(name="rx", location="2")
    flow = config.flows.add(name="load")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "tx", ["rx"]
    flow.packet.ethernet().ipv4().udp()
    flow.size.fixed, flow.rate.percentage, flow.duration.fixed_seconds.seconds = 512, percentage, SECONDS
    flow.metrics.enable = flow.metrics.loss = True
    api.set_config(config)

    control = api.control_state()
    control.traffic.flow_transmit.state = control.traffic.flow_transmit.START
    api.set_control_state(control)

    request = api.metrics_request()
    request.flow.flow_names = ["load"]
    for _ in range(60):
        (metric,) = api.get_metrics(request).flow_metrics
        if metric.transmit == metric.STOPPED:
            break
    assert metric.frames_tx == int(SECONDS * 1e9 / 8 / (512 + 20) * percentage / 100)
    assert metric.loss == 0
