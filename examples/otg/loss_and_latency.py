"""Sends two flows between two ports and prints frames, loss and latency, while the flows run and at their end.

p4mesh otg --topology back-to-back --time fast
python examples/otg/loss_and_latency.py http://127.0.0.1:8443
python examples/otg/loss_and_latency.py 127.0.0.1:40051 grpc
"""

import sys
import time

import snappi


def main(location: str = "http://127.0.0.1:8443", transport: str = "http") -> None:
    api = snappi.api(location=location, transport=transport, version_check=True)
    config = api.config()
    config.ports.port(name="p1", location="1").port(name="p2", location="2")
    for tx, rx, size, pps, packets in (("p1", "p2", 128, 1000, 3000), ("p2", "p1", 512, 500, 1000)):
        flow = config.flows.add(name=f"{tx} to {rx}")
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = tx, [rx]
        ethernet, ipv4, udp = flow.packet.ethernet().ipv4().udp()
        ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
        ipv4.src.value, ipv4.dst.value = "10.0.0.1", "10.0.0.2"
        ipv4.priority.dscp.phb.value = ipv4.priority.dscp.phb.EF46
        udp.src_port.increment.start, udp.src_port.increment.count = 5000, 16
        udp.dst_port.value = 5001
        flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = size, pps, packets
        flow.metrics.enable = flow.metrics.loss = flow.metrics.latency.enable = True
        flow.metrics.latency.mode = flow.metrics.latency.CUT_THROUGH
    api.set_config(config)

    control = api.control_state()
    control.traffic.flow_transmit.state = control.traffic.flow_transmit.START
    api.set_control_state(control)

    request = api.metrics_request()
    request.flow.flow_names = [flow.name for flow in config.flows]
    while True:
        metrics = api.get_metrics(request).flow_metrics
        for metric in metrics:
            print(
                f"{metric.name}: {metric.transmit}, {metric.frames_tx} sent, {metric.frames_rx} received,"
                f" loss {metric.loss:g} %, latency {metric.latency.average_ns:g} ns"
            )
        if all(metric.transmit == metric.STOPPED for metric in metrics):
            break
        time.sleep(1)
    assert [metric.frames_rx for metric in metrics] == [3000, 1000], "frames are lost"


if __name__ == "__main__":
    main(*sys.argv[1:])
