//! P4 programs as devices: our own learning switch and router, executed by the engine.

use p4mesh_sim::{ConfigError, Network};

const SECOND_PS: u64 = 1_000_000_000_000;

fn program(name: &str) -> String {
    let path = format!("{}/../../p4src/compiled/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the program is compiled")
}

/// Three ports of a host on a device `p4`.
fn network(name: &str, entries: &str) -> Result<Network, ConfigError> {
    let ports = r#"[{"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000},
                    {"number": 3, "rate_bps": 1000000000}]"#;
    let link =
        |n| format!(r#"{{"from": {{"node": "h", "port": {n}}}, "to": {{"node": "dut", "port": {n}}}}}"#);
    let links: Vec<String> = (1..=3).map(link).collect();
    let program = program(name);
    Network::from_json(&format!(
        r#"{{"tester": {{"ports": [], "loop": {{"port": 509, "rate_bps": 100000000000}}}},
            "nodes": [{{"name": "h", "device": "host", "ports": {ports}}},
                        {{"name": "dut", "device": "p4", "ports": {ports},
                          "latency_ns": 1000, "program": {program}, {entries}}}],
            "links": [{}]}}"#,
        links.join(",")
    ))
}

fn exchange(network: &mut Network, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
    network.host_send("h", port, frame).unwrap();
    let until_ps = network.now_ps() + SECOND_PS / 1_000;
    network.run_until(until_ps).unwrap();
    let frames = network.host_take("h").unwrap();
    let mut seen: Vec<(u16, Vec<u8>)> = frames.into_iter().map(|it| (it.0, it.2)).collect();
    seen.sort();
    seen
}

fn ethernet(to: u8, from: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    (frame[0], frame[5], frame[6], frame[11]) = (2, to, 2, from);
    frame
}

#[test]
fn the_switch_floods_learns_and_forwards() {
    let groups = r#""groups": [{"group": 1, "ports": [1, 2, 3]}]"#;
    let mut network = network("l2_switch", groups).unwrap();
    let ports = |frames: &[(u16, Vec<u8>)]| frames.iter().map(|it| it.0).collect::<Vec<_>>();
    let flooded = exchange(&mut network, 1, &ethernet(9, 8));
    assert_eq!(ports(&flooded), [2, 3], "unknown: to all ports but its own");
    assert_eq!(flooded[0].1, ethernet(9, 8));
    assert_eq!(ports(&exchange(&mut network, 2, &ethernet(8, 9))), [1], "learned");
    assert_eq!(ports(&exchange(&mut network, 1, &ethernet(9, 8))), [2]);
    assert!(exchange(&mut network, 2, &ethernet(9, 7)).is_empty(), "at its own port");
    network.reset_device("dut", 0).unwrap();
    assert_eq!(ports(&exchange(&mut network, 2, &ethernet(8, 9))), [1, 3], "forgotten");
}

#[test]
fn the_latency_of_the_device_is_that_of_its_model() {
    let groups = r#""groups": [{"group": 1, "ports": [1, 2, 3]}]"#;
    let mut network = network("l2_switch", groups).unwrap();
    network.host_send("h", 1, &ethernet(9, 8)).unwrap();
    network.run_until(SECOND_PS).unwrap();
    let arrivals = network.host_take("h").unwrap();
    // Preamble and 64 bytes come in, then the latency: the first bit follows.
    assert_eq!(arrivals[0].1, 64_000 + 512_000 + 1_000_000);
}

const ROUTES: &str = r#""entries": [
    {"table": "interface", "key": {"port": 1, "mac": "0x020000000101"}, "action": "accept_frame"},
    {"table": "own_address", "key": {"port": 1, "address": "0x0a000101"},
     "action": "answer", "params": ["0x020000000101"]},
    {"table": "route_ipv4", "key": {"destination": {"value": "0x0a000200", "prefix_bits": 24}},
     "action": "to_next_hop", "params": [7]},
    {"table": "route_ipv4", "key": {"destination": {"value": "0x0a640000", "prefix_bits": 16}},
     "action": "to_one_of", "params": [7, 1]},
    {"table": "next_hop", "key": {"next_hop": 7}, "action": "send",
     "params": [2, "0x020000000102", "0x020000000202"]},
    {"table": "next_hop", "key": {"next_hop": 8}, "action": "send",
     "params": [3, "0x020000000103", "0x020000000203"]}]"#;

/// UDP from 10.0.1.2 to `destination`.
fn packet(destination: [u8; 4], source_port: u16, ttl: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 1, 1]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[3] = 46;
    (ip[8], ip[9]) = (ttl, 17);
    ip[12..16].copy_from_slice(&[10, 0, 1, 2]);
    ip[16..20].copy_from_slice(&destination);
    let sum = checksum(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&source_port.to_be_bytes());
    frame
}

fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1]));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn the_router_rewrites_addresses_and_time_to_live() {
    let mut network = network("l3_router", ROUTES).unwrap();
    let out = exchange(&mut network, 1, &packet([10, 0, 2, 9], 1, 64));
    let [(2, frame)] = out.as_slice() else {
        panic!("{out:?}");
    };
    assert_eq!(frame[..12], [2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 1, 2]);
    assert_eq!(frame[22], 63);
    assert_eq!(checksum(&frame[14..34]), 0, "the checksum fits");
    for dropped in [packet([10, 0, 2, 9], 1, 1), packet([10, 9, 9, 9], 1, 64), ethernet(1, 2)] {
        assert!(exchange(&mut network, 1, &dropped).is_empty());
    }
    let mut damaged = packet([10, 0, 2, 9], 1, 64);
    damaged[24] ^= 1;
    assert!(exchange(&mut network, 1, &damaged).is_empty());
}

#[test]
fn equal_cost_paths_share_flows_and_keep_each_on_its_path() {
    let mut network = network("l3_router", ROUTES).unwrap();
    let mut shares = [0, 0];
    for flow in 0..200 {
        let frame = packet([10, 100, 0, 1], flow, 64);
        let first = exchange(&mut network, 1, &frame)[0].0;
        assert_eq!(exchange(&mut network, 1, &frame)[0].0, first);
        shares[usize::from(first) - 2] += 1;
    }
    assert!(shares[0] > 70 && shares[1] > 70, "{shares:?}");
}

#[test]
fn the_router_answers_arp() {
    let mut network = network("l3_router", ROUTES).unwrap();
    let mut request = vec![0; 60];
    request[..6].fill(0xff);
    request[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
    request[12..14].copy_from_slice(&[8, 6]);
    request[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    request[22..28].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
    request[28..32].copy_from_slice(&[10, 0, 1, 2]);
    request[38..42].copy_from_slice(&[10, 0, 1, 1]);
    let out = exchange(&mut network, 1, &request);
    let [(1, reply)] = out.as_slice() else {
        panic!("{out:?}");
    };
    assert_eq!(reply[20..22], [0, 2]);
    assert_eq!(reply[22..28], [2, 0, 0, 0, 1, 1]);
    assert_eq!(reply[38..42], [10, 0, 1, 2]);
    request[41] = 77;
    let out = exchange(&mut network, 1, &request);
    assert!(out.is_empty(), "not an address of the router");
}

#[test]
fn errors_in_entries_say_where_what_and_what_is_valid() {
    for (from, to, message) in [
        ("\"interface\"", "\"interfaces\"",
         "nodes[1].entries[0].table: no table 'interfaces' in the program; valid: neighbour_ipv4, own_address"),
        ("\"accept_frame\"", "\"accept\"",
         "nodes[1].entries[0].action: no action 'accept' in table interface; valid: "),
        ("\"mac\"", "\"source\"",
         "nodes[1].entries[0].key: no key 'source' in table interface; valid: port, mac"),
        ("{\"value\": \"0x0a000200\", \"prefix_bits\": 24}", "{\"low\": 1, \"high\": 5}",
         "nodes[1].entries[2].key.destination: is not a match of kind lpm; valid: a value alone, or a mapping with value and prefix_bits"),
        ("[7, 1]", "[7]", "nodes[1].entries[3].params: do not fit action to_one_of; valid: first, mask"),
    ] {
        assert!(ROUTES.contains(from), "{from}");
        let error = network("l3_router", &ROUTES.replacen(from, to, 1)).err().unwrap();
        let error = error.to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// Two paths to 02:00:00:00:00:09: port 2, and port 3 behind a failed link.
const PATHS: &str = r#""entries": [
    {"table": "path", "key": {"destination": "02:00:00:00:00:09", "failures": 0}, "action": "use_port", "params": [2]},
    {"table": "path", "key": {"destination": "02:00:00:00:00:09", "failures": 1}, "action": "use_port", "params": [3]}]"#;
const FAILED: &str = r#"{"table": "failed_link", "key": {"port": 2}, "action": "try_next"}"#;

/// The port and the time on the way of one frame that is sent now.
fn way(network: &mut Network) -> Option<(u16, u64)> {
    let from_ps = network.now_ps();
    network.host_send("h", 1, &ethernet(9, 8)).unwrap();
    network.run_until(from_ps + SECOND_PS / 1_000).unwrap();
    let frames = network.host_take("h").unwrap();
    frames.first().map(|it| (it.0, it.1 - from_ps))
}

#[test]
fn a_failure_adds_a_turn_of_the_loop() {
    let events = format!(r#""events": [{{"failure": 1, "insert": [{FAILED}]}}]"#);
    let timed = r#""loop": {"rate_bps": 10000000000, "latency_ns": 30}"#;
    let mut network = network("fast_reroute", &format!("{PATHS}, {events}, {timed}")).unwrap();
    let (port, without_ps) = way(&mut network).unwrap();
    assert_eq!(port, 2);
    assert_eq!(network.cause_failures(1), Ok(0));
    let (port, with_ps) = way(&mut network).unwrap();
    assert_eq!(port, 3);
    // 64 bytes at 10 Gbit/s, 30 ns of the loop, 1 us of the pipelines.
    assert_eq!(with_ps - without_ps, 51_200 + 30_000 + 1_000_000);
    assert_eq!(network.cause_failures(1), Ok(0), "it has begun already");
    assert_eq!(network.truth().nodes["dut"].counters["turns"], 1);
    let error = network.cause_failures(2).unwrap_err();
    assert_eq!(error.to_string(), "no failure 2 in the network; valid: 0 to 1");
}

#[test]
fn without_a_loop_the_next_pass_follows_at_once() {
    let events = format!(r#""events": [{{"failure": 1, "insert": [{FAILED}]}}]"#);
    let mut network = network("fast_reroute", &format!("{PATHS}, {events}")).unwrap();
    let (_, without_ps) = way(&mut network).unwrap();
    network.cause_failures(1).unwrap();
    assert_eq!(way(&mut network), Some((3, without_ps)));
}

#[test]
fn events_change_links_and_tables_at_their_times() {
    let at = |seconds: &str, what: &str| format!(r#"{{"at_s": {seconds}, {what}}}"#);
    let events = [
        at("0.002", r#""links_down": [2]"#),
        at("0.004", &format!(r#""insert": [{FAILED}]"#)),
        at("0.006", r#""links_up": [2]"#),
        at("0.008", r#""delete": [{"table": "failed_link", "key": {"port": 2}}]"#),
    ];
    let mut network =
        network("fast_reroute", &format!(r#"{PATHS}, "events": [{}]"#, events.join(","))).unwrap();
    let mut ports = Vec::new();
    for ms in [1, 3, 5, 7, 9] {
        network.run_until(ms * SECOND_PS / 1_000).unwrap();
        ports.push(way(&mut network).map(|it| it.0));
    }
    assert_eq!(ports, [Some(2), None, Some(3), Some(3), Some(2)]);
    assert_eq!(network.truth().nodes["dut"].counters["refused_writes"], 0);
}

#[test]
fn a_reset_empties_the_loop() {
    let events = format!(r#""events": [{{"at_s": 0, "insert": [{FAILED}]}}]"#);
    let timed = r#""loop": {"rate_bps": 10000000000, "latency_ns": 1000000}"#;
    let mut network = network("fast_reroute", &format!("{PATHS}, {events}, {timed}")).unwrap();
    network.host_send("h", 1, &ethernet(9, 8)).unwrap();
    network.run_until(SECOND_PS / 2_000).unwrap();
    assert_eq!(network.in_flight(), 1, "it is in the loop");
    network.reset_device("dut", 0).unwrap();
    assert_eq!(network.in_flight(), 0);
    network.run_until(SECOND_PS).unwrap();
    assert!(network.host_take("h").unwrap().is_empty());
}

#[test]
fn errors_in_events_say_where_what_and_what_is_valid() {
    for (event, message) in [
        (
            r#"{"links_down": [2]}"#,
            "nodes[1].events[0]: at_s, failure and after_s do not fit together; \
          valid: at_s alone, or failure with or without after_s",
        ),
        (r#"{"at_s": 1, "failure": 1}"#, "nodes[1].events[0]: at_s, failure and after_s do not fit together"),
        (
            r#"{"at_s": 1, "links_down": [4]}"#,
            "nodes[1].events[0].links_down[0]: no port 4 on this device; valid: 1, 2, 3",
        ),
        (
            r#"{"at_s": 1, "delete": [{"table": "failed_link", "key": {"port": 2}}]}"#,
            "nodes[1].events[0].delete[0]: ",
        ),
        (
            r#"{"at_s": 1, "insert": [{"table": "failed", "key": {}, "action": "x"}]}"#,
            "nodes[1].events[0].insert[0].table: no table 'failed' in the program; valid: path, failed_link",
        ),
    ] {
        let error =
            network("fast_reroute", &format!(r#"{PATHS}, "events": [{event}]"#)).err().unwrap().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error =
        network("fast_reroute", &format!(r#"{PATHS}, "loop": {{"port": 2, "rate_bps": 10000000000}}"#));
    let message = "nodes[1].loop.port: 2 is a port of the device; valid: a number of its own";
    assert_eq!(error.err().unwrap().to_string(), message);
}
