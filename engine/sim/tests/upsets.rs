//! Links that go down and come up, devices that are reset, at their times.

mod common;

use std::collections::BTreeMap;

use common::{frame, mac};
use p4mesh_sim::{Network, PortStatus};

const MS_PS: u64 = 1_000_000_000;

/// Two hosts and the tester's port 1 on a switch.
fn network(reset: &str, outages: &str) -> Network {
    Network::from_json(&document(reset, outages)).unwrap()
}

fn document(reset: &str, outages: &str) -> String {
    format!(
        r#"{{
        "tester": {{
            "ports": [{{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}}],
            "loop": {{"port": 509, "rate_bps": 100000000000}}
        }},
        "nodes": [
            {{"name": "hosts", "device": "host",
              "ports": [{{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}}]}},
            {{"name": "dut", "device": "ethernet_switch", "reset": {reset},
              "ports": [{{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}},
                        {{"number": 3, "rate_bps": 1000000000}}]}}
        ],
        "links": [
            {{"from": {{"node": "hosts", "port": 1}}, "to": {{"node": "dut", "port": 1}}, "outages": {outages}}},
            {{"from": {{"node": "hosts", "port": 2}}, "to": {{"node": "dut", "port": 2}}}},
            {{"from": {{"node": "tester", "port": 1}}, "to": {{"node": "dut", "port": 3}}}}
        ]
    }}"#
    )
}

/// The same with a switch that loses half of the frames.
fn lossy() -> Network {
    let document = document("null", "[]").replace(r#""reset": null,"#, r#""loss_ppb": 500000000,"#);
    Network::from_json(&document).unwrap()
}

/// Sends a frame from host 1 to host 2 at each time; returns which of them arrived.
fn arrivals(network: &mut Network, times_ps: &[u64]) -> Vec<bool> {
    let one = |at_ps: &u64| {
        network.run_until(*at_ps).unwrap();
        network.host_send("hosts", 1, &frame(mac(2), mac(1), 64)).unwrap();
        network.run_until(at_ps + MS_PS / 10).unwrap();
        network.host_take("hosts").unwrap().iter().any(|it| it.0 == 2)
    };
    times_ps.iter().map(one).collect()
}

fn drops(network: &Network, node: &str, cause: &str) -> u64 {
    let ports = network.truth().nodes[node].ports.clone();
    let of = |drops: &BTreeMap<&str, u64>| drops.get(cause).copied().unwrap_or(0);
    ports.values().map(|port| of(&port.drops)).sum()
}

fn statuses(network: &mut Network) -> Vec<(u16, bool)> {
    std::iter::from_fn(|| network.take_port_status()).map(|PortStatus { port, up }| (port, up)).collect()
}

#[test]
fn a_device_forwards_nothing_until_its_reset_is_over() {
    let mut network = network(r#"{"time_s": 0.005}"#, "[]");
    network.run_until(MS_PS).unwrap();
    network.reset_device("dut", 0).unwrap();
    let times: Vec<u64> = [2, 5, 6, 7].iter().map(|ms| ms * MS_PS).collect();
    assert_eq!(arrivals(&mut network, &times), [false, false, true, true]);
    assert_eq!(drops(&network, "dut", "reset"), 2);
    assert_eq!(statuses(&mut network), [], "its links stayed up");
}

#[test]
fn time_without_power_comes_before_the_time_of_the_reset() {
    let mut network = network(r#"{"time_s": 0.005}"#, "[]");
    network.reset_device("dut", 3 * MS_PS).unwrap();
    let times: Vec<u64> = [5, 7, 8].iter().map(|ms| ms * MS_PS).collect();
    assert_eq!(arrivals(&mut network, &times), [false, false, true]);
}

#[test]
fn a_reset_during_a_reset_begins_anew() {
    let mut network = network(r#"{"time_s": 0.005, "links_down": true}"#, "[]");
    network.reset_device("dut", 0).unwrap();
    network.run_until(3 * MS_PS).unwrap();
    network.reset_device("dut", 0).unwrap();
    let times: Vec<u64> = [6, 9].iter().map(|ms| ms * MS_PS).collect();
    assert_eq!(arrivals(&mut network, &times), [false, true]);
    assert_eq!(statuses(&mut network), [(1, false), (1, true)]);
}

#[test]
fn links_go_down_with_the_device_and_the_tester_hears_of_its_own() {
    let mut network = network(r#"{"time_s": 0.005, "links_down": true}"#, "[]");
    network.set_link("dut", 2, false).unwrap();
    network.reset_device("dut", 0).unwrap();
    assert_eq!(statuses(&mut network), [(1, false)]);
    let link = network.tester_links()[0];
    assert_eq!((link.up, link.losses), (false, 1));
    network.run_until(6 * MS_PS).unwrap();
    assert_eq!(statuses(&mut network), [(1, true)]);
    let times = [7 * MS_PS];
    assert_eq!(arrivals(&mut network, &times), [false], "the link that was down stays down");
    network.set_link("dut", 2, true).unwrap();
    assert_eq!(arrivals(&mut network, &[8 * MS_PS]), [true]);
}

#[test]
fn an_outage_has_its_time() {
    let mut network = network("null", r#"[{"at_s": 0.002, "duration_s": 0.003}, {"at_s": 0.007}]"#);
    let times: Vec<u64> = [1, 2, 4, 5, 7, 9].iter().map(|ms| ms * MS_PS).collect();
    assert_eq!(arrivals(&mut network, &times), [true, false, false, true, false, false]);
    assert_eq!(drops(&network, "hosts", "link_down"), 4);
}

#[test]
fn a_switch_forgets_what_was_behind_a_link() {
    let mut network = network("null", "[]");
    let counter = |network: &Network, name: &str| network.truth().nodes["dut"].counters[name];
    network.host_send("hosts", 2, &frame(mac(9), mac(2), 64)).unwrap();
    assert_eq!(arrivals(&mut network, &[MS_PS]), [true]);
    assert_eq!(counter(&network, "unicast"), 1);
    network.set_link("dut", 2, false).unwrap();
    network.set_link("dut", 2, true).unwrap();
    assert_eq!(arrivals(&mut network, &[2 * MS_PS]), [true]);
    assert_eq!(counter(&network, "unicast"), 1);
    assert_eq!(counter(&network, "flooded_unknown"), 2, "flooded again");
}

#[test]
fn random_numbers_start_anew_with_each_number() {
    let lost = |network: &mut Network, number: u64| {
        network.reseed(number);
        let begin_ps = network.now_ps();
        let times: Vec<u64> = (1..200).map(|ms| begin_ps + ms * MS_PS).collect();
        arrivals(network, &times)
    };
    let mut network = lossy();
    let first: Vec<_> = (0..3).map(|number| lost(&mut network, number)).collect();
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert!(first[0].contains(&true) && first[0].contains(&false));
    let again: Vec<_> = (0..3).rev().map(|number| lost(&mut network, number)).collect();
    assert_eq!(first, again.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn a_port_that_nothing_is_linked_to_has_no_link_to_lose() {
    let mut network = network("null", "[]");
    network.set_link("tester", 2, true).unwrap();
    assert!(!network.tester_links()[1].up);
    assert_eq!(statuses(&mut network), []);
}
