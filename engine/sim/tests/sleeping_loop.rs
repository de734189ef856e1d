//! A loop that sleeps while frames arrive is woken by those that touch it: frames that go into the loop, and frames
//! whose passes write a register that the idle passes read (`programs/waiting.p4`).

use std::sync::Arc;

use p4mesh_pipeline::{Executable, Program};
use p4mesh_sim::{Network, Rng};
use serde_json::{json, Value};

/// The way that frames from port 1 take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visitors {
    /// They go into the loop, too.
    Stay,
    /// They write the register `same` and go nowhere.
    Write,
}

const FROM_PORT: &str = "from_port";
const VISIT: &str = "visit";

fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

/// The program, with a branch at its beginning for frames from port 1 that write.
fn program(visitors: Visitors) -> Arc<Executable> {
    let mut document: Value = serde_json::from_str(include_str!("programs/waiting.json")).unwrap();
    if visitors == Visitors::Write {
        let action_id = 1_000;
        let pipeline = &mut document["pipelines"][0];
        let first = std::mem::replace(&mut pipeline["init_table"], json!(FROM_PORT));
        let conditions = pipeline["conditionals"].as_array_mut().unwrap();
        conditions.push(json!({
            "name": FROM_PORT, "id": 1_000, "true_next": VISIT, "false_next": first,
            "expression": {"type": "expression", "value": {
                "op": "==",
                "left": field("standard_metadata", "ingress_port"),
                "right": {"type": "hexstr", "value": "0x0001"},
            }},
        }));
        let tables = pipeline["tables"].as_array_mut().unwrap();
        let mut visit = tables.iter().find(|it| it["key"] == json!([])).unwrap().clone();
        visit["name"] = json!(VISIT);
        visit["id"] = json!(1_000);
        visit["action_ids"] = json!([action_id]);
        visit["actions"] = json!([VISIT]);
        visit["base_default_next"] = Value::Null;
        visit["next_tables"] = json!({VISIT: null});
        visit["default_entry"]["action_id"] = json!(action_id);
        tables.push(visit);
        document["actions"].as_array_mut().unwrap().push(json!({
            "name": VISIT, "id": action_id, "runtime_data": [],
            "primitives": [{"op": "register_write", "parameters": [
                {"type": "register_array", "value": "WaitIngress.same"},
                field("wait", "how"),
                field("standard_metadata", "ingress_global_timestamp"),
            ]}],
        }));
    }
    Arc::new(Executable::new(Program::from_json(&document.to_string()).unwrap()))
}

/// A frame that waits for `count` steps.
fn frame(how: u8, extra: u8, count: u16, step_ticks: u32, bytes: usize) -> Vec<u8> {
    let mut frame = vec![how, extra];
    frame.extend_from_slice(&count.to_be_bytes());
    frame.extend_from_slice(&[0; 12]);
    frame.extend_from_slice(&step_ticks.to_be_bytes());
    frame.resize(bytes, 0xa5);
    frame
}

/// Observations at each stop, and the passes that were skipped.
fn run(visitors: Visitors, seed: u64, skip: bool) -> (Vec<String>, u64) {
    let mut rng = Rng::new(seed);
    let egress_latency_ns = [0.0, 12.345][rng.below(2) as usize];
    let document = format!(
        r#"{{"skip_idle_loops": {skip}, "tester": {{
            "ports": [{{"number": 1, "rate_bps": 1000000000}}],
            "clock_tick_ps": 1000, "egress_latency_ns": {egress_latency_ns},
            "loop": {{"port": 509, "rate_bps": 100000000000, "latency_ns": 500}}}},
            "nodes": [{{"name": "h", "device": "host", "ports": [{{"number": 1, "rate_bps": 1000000000}}]}}],
            "links": [{{"from": {{"node": "tester", "port": 1}}, "to": {{"node": "h", "port": 1}}}}]}}"#
    );
    let mut network = Network::from_json(&document).unwrap();
    network.set_program(program(visitors));
    // Of one length: frames of different lengths catch up with each other, and a loop in which they queue stays awake.
    let bytes = 60 + rng.below(900) as usize;
    for how in 0..3 {
        let step_ticks = 20_000 + rng.below(90_000) as u32;
        network.packet_out(frame(how, 1, 1_000, step_ticks, bytes));
        network.run_until(network.now_ps() + 131_234 + rng.below(40_000)).unwrap();
    }
    for _ in 0..40 {
        // Of a length that lets them arrive at whole nanoseconds, as packets of the loop come back.
        let bytes = 60 + 125 * rng.below(10) as usize;
        let way = rng.below(3) as u8;
        network.host_send("h", 1, &frame(way, 0, 3, 50_000, bytes)).unwrap();
    }
    let mut seen = Vec::new();
    for stop_ps in [9_876_543, 100_000_000, 200_000_000, 900_000_000] {
        network.run_until(stop_ps).unwrap();
        let mut text = serde_json::to_string(&network.truth()).unwrap();
        let switch = network.switch().unwrap();
        for register in ["WaitIngress.events", "WaitIngress.same"] {
            text += &format!("\n{:?}", switch.register_read_u64(register, 0, 16).unwrap());
        }
        text += &format!("\n{:?}", switch.counter_cells("WaitIngress.passes").unwrap());
        while let Some(frame) = network.take_packet_in() {
            text += &format!("\n{frame:02x?}");
        }
        seen.push(text);
    }
    (seen, network.skipped_passes())
}

fn assert_same(visitors: Visitors) {
    let mut all_skipped = 0;
    for seed in 0..20 {
        let (with, skipped) = run(visitors, seed, true);
        let (without, none) = run(visitors, seed, false);
        assert_eq!(none, 0);
        for (stop, (with, without)) in with.iter().zip(&without).enumerate() {
            for (a, b) in with.lines().zip(without.lines()) {
                assert_eq!(a, b, "{visitors:?}, case {seed}, stop {stop}");
            }
            assert_eq!(with, without, "{visitors:?}, case {seed}, stop {stop}");
        }
        all_skipped += skipped;
    }
    assert!(all_skipped > 20_000, "{visitors:?}: {all_skipped} passes skipped");
}

#[test]
fn packets_that_come_into_the_loop_wake_it() {
    assert_same(Visitors::Stay);
}

#[test]
fn passes_that_write_what_the_loop_reads_wake_it() {
    assert_same(Visitors::Write);
}
