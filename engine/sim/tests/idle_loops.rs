//! Idle passes that are computed instead of executed leave no trace: all observable state is the same, to the
//! picosecond and the bit. Each test runs one network twice, with jumps and without, and compares the two.

mod common;
#[path = "common/tester_program.rs"]
mod tester_program;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use common::SECOND_PS;
use p4mesh_pipeline::Executable;
use p4mesh_sim::{Network, Rng};
use tester_program::{
    executable, install, learning_frame, seed, send, start, stream_entry, StreamPlan, STREAM_TABLE,
};

/// Description of one run.
#[derive(Clone, Debug)]
struct Scenario {
    tick_ps: u64,
    loop_rate_bps: u64,
    loop_latency_ps: u64,
    egress_latency_ps: u64,
    ports: u16,
    streams: Vec<StreamPlan>,
    lead_ticks: u32,
    /// (time, port) of frames that the controller sends.
    sends: Vec<(u64, u16)>,
    /// Times at which the run pauses and is looked at.
    stops_ps: Vec<u64>,
}

struct Run {
    /// Observable state at each stop.
    seen: Vec<String>,
    wall_s: f64,
    events: u64,
    skipped_passes: u64,
    /// Passes of the loop that were not skipped.
    executed_passes: u64,
}

impl Scenario {
    /// Ports 1 to n - 2 on a switch, the last two on a wire.
    fn document(&self, skip: bool) -> String {
        let mut ports = String::new();
        let mut links = String::new();
        let mut device = String::new();
        for port in 1..=self.ports {
            let comma = if port == 1 { "" } else { "," };
            let rate = if port == 3 && port <= self.ports - 2 { 10 } else { 1 };
            write!(
                ports,
                r#"{comma}{{"number": {port}, "rate_bps": {rate}000000000, "clock_offset_ppm": {}}}"#,
                f64::from(port) * 0.7
            )
            .unwrap();
            if port <= self.ports - 2 {
                let rate = format!(r#""rate_bps": {rate}000000000"#);
                write!(device, r#"{comma}{{"number": {port}, {rate}, "clock_offset_ppm": -0.9}}"#).unwrap();
                write!(
                    links,
                    r#"{{"from": {{"node": "tester", "port": {port}}}, "to": {{"node": "dut", "port": {port}}}, "latency_ns": {port}.017}},"#
                )
                .unwrap();
            }
        }
        let (x, y) = (self.ports - 1, self.ports);
        write!(
            links,
            r#"{{"from": {{"node": "tester", "port": {x}}}, "to": {{"node": "tester", "port": {y}}}, "latency_ns": 4.321}}"#
        )
        .unwrap();
        format!(
            r#"{{"skip_idle_loops": {skip},
                "tester": {{"ports": [{ports}], "clock_tick_ps": {},
                    "egress_latency_ns": {},
                    "loop": {{"port": 509, "rate_bps": {}, "latency_ns": {}}}}},
                "nodes": [{{"name": "dut", "device": "ethernet_switch", "ports": [{device}],
                    "latency_ns": 1720}}],
                "links": [{links}]}}"#,
            self.tick_ps,
            self.egress_latency_ps as f64 / 1e3,
            self.loop_rate_bps,
            self.loop_latency_ps as f64 / 1e3
        )
    }

    fn run(&self, executable: &Arc<Executable>, skip: bool) -> Run {
        let began = Instant::now();
        let mut network = Network::from_json(&self.document(skip)).unwrap();
        let ports: Vec<u16> = (1..=self.ports).collect();
        install(&mut network, executable, &ports, &self.streams);
        for &port in &ports {
            network.packet_out(send(port, &learning_frame(port)));
        }
        network.run_until(200_000_000).unwrap();
        for stream in &self.streams {
            for place in 0..stream.seeds {
                network.packet_out(seed(stream, place));
                let now_ps = network.now_ps();
                network.run_until(now_ps + 37_000 * u64::from(stream.index + 1)).unwrap();
            }
        }
        network.packet_out(start(self.streams.len() as u32, self.lead_ticks));
        let mut seen = Vec::new();
        let mut sends = self.sends.iter().peekable();
        for &stop_ps in &self.stops_ps {
            while let Some((at_ps, port)) = sends.next_if(|send| send.0 <= stop_ps) {
                network.run_until(network.now_ps().max(*at_ps)).unwrap();
                network.packet_out(send(*port, &learning_frame(*port)));
            }
            network.run_until(network.now_ps().max(stop_ps)).unwrap();
            seen.push(observe(&mut network));
        }
        let loop_passes = network.truth().nodes["tester"].ports[&509].tx_frames;
        Run {
            seen,
            wall_s: began.elapsed().as_secs_f64(),
            events: network.events_done(),
            skipped_passes: network.skipped_passes(),
            executed_passes: loop_passes - network.skipped_passes(),
        }
    }
}

/// Truth, counters and registers as text.
fn observe(network: &mut Network) -> String {
    let mut text = serde_json::to_string(&network.truth()).unwrap();
    let switch = network.switch().unwrap();
    let executable = Arc::clone(switch.executable());
    let program = executable.program();
    for register in program.registers() {
        let cells = switch.register_read_u64(&register.name, 0, register.size);
        for (index, value) in cells.unwrap().iter().enumerate().filter(|it| *it.1 != 0) {
            write!(text, "\n{}[{index}] = {value}", register.name).unwrap();
        }
    }
    for counter in program.counters() {
        let Ok(cells) = switch.counter_cells(&counter.name) else {
            continue;
        };
        for (index, cell) in cells.iter().enumerate().filter(|it| it.1.packets != 0) {
            write!(text, "\n{}[{index}] = {cell:?}", counter.name).unwrap();
        }
    }
    while let Some(frame) = network.take_packet_in() {
        write!(text, "\n{frame:02x?}").unwrap();
    }
    text
}

fn assert_same(scenario: &Scenario, with: &Run, without: &Run) {
    assert_eq!(without.skipped_passes, 0);
    let stops = with.seen.iter().zip(&without.seen);
    for (stop, (with, without)) in stops.enumerate() {
        if with != without {
            let lines = with.lines().zip(without.lines());
            let differing: Vec<_> = lines.filter(|(a, b)| a != b).take(5).collect();
            panic!("stop {stop} differs: {differing:#?}\n{scenario:#?}");
        }
    }
}

fn stream(index: u8, ports: &[u16], wire_bytes: usize, interval_ticks: u32, seeds: u32) -> StreamPlan {
    StreamPlan {
        index,
        ports: ports.to_vec(),
        mesh: ports.len() > 2,
        wire_bytes,
        interval_ticks,
        fraction_q32: 0x4000_0001,
        departures: u32::MAX,
        last_slot: 0,
        burst_slots: 1,
        start_offset_ticks: 0,
        seeds,
        priority: index % 3,
        first_transmitter: 1 + 100 * u32::from(index),
        first_destination: 100 * u32::from(index),
        first_flow: 1_000 * u32::from(index),
    }
}

/// One stream over a loop of 100 Gbit/s and 500 ns.
fn on_four_ports(plan: StreamPlan, stops_ps: Vec<u64>) -> Scenario {
    Scenario {
        tick_ps: 1_000,
        loop_rate_bps: 100_000_000_000,
        loop_latency_ps: 500_000,
        egress_latency_ps: 0,
        ports: 4,
        streams: vec![plan],
        lead_ticks: 10_000,
        sends: Vec::new(),
        stops_ps,
    }
}

#[test]
fn twenty_frames_a_second_for_a_hundred_seconds_take_under_two_seconds() {
    let executable = executable();
    // 50 ms.
    let scenario = on_four_ports(stream(0, &[1, 2], 64, 50_000_000, 1), vec![100 * SECOND_PS]);
    let Run { seen, wall_s, .. } = scenario.run(&executable, true);
    assert!(wall_s < 2.0 * debug_factor(), "{wall_s} s");
    println!("100 s of virtual time: {wall_s:.3} s");
    let sent = "TesterEgress.transmission.departures.cells[1] = 2000";
    assert!(seen[0].contains(sent), "{}", seen[0]);
    // The same to the bit, over the first 0.15 s: the rest is 200 million passes.
    let short = Scenario { stops_ps: vec![100_000_000_000, 150_000_000_000], ..scenario };
    let with = short.run(&executable, true);
    let without = short.run(&executable, false);
    assert_same(&short, &with, &without);
}

#[test]
fn short_calms_are_jumped_over_after_a_long_time_without_idle_passes() {
    let plan = stream(0, &[1, 2], 64, 20_000, 1);
    let scenario = on_four_ports(plan.clone(), Vec::new());
    let mut network = Network::from_json(&scenario.document(true)).unwrap();
    install(&mut network, &executable(), &[1, 2, 3, 4], &scenario.streams);
    // A pass of a request sets a clock, so no attempt succeeds for thousands of events.
    for _ in 0..3_000 {
        network.packet_out(start(1, scenario.lead_ticks));
        network.run_until(network.now_ps() + 2_000_000).unwrap();
    }
    let events = network.events_done();
    assert!(events >= 3_000, "{events} events");
    assert_eq!(network.skipped_passes(), 0);
    network.packet_out(seed(&plan, 0));
    network.packet_out(start(1, scenario.lead_ticks));
    let now_ps = network.now_ps();
    network.run_until(now_ps + 10_000_000_000).unwrap();
    // 10 ms are 500 departures and 19,000 passes, 38 between two departures; some of them meet frames.
    let skipped = network.skipped_passes();
    assert!(skipped > 8_000, "{skipped} passes were skipped");
}

/// Most events of a mesh of 7 ports are passes that were not executed.
fn assert_most_passes_are_known(wire_bytes: usize, interval_ticks: u32, seeds: u32, stops_ps: &[u64]) {
    let executable = executable();
    let plan = stream(0, &[1, 2, 3, 4, 5, 6, 7], wire_bytes, interval_ticks, seeds);
    let scenario = Scenario { ports: 7, ..on_four_ports(plan, stops_ps.to_vec()) };
    let with = scenario.run(&executable, true);
    let without = scenario.run(&executable, false);
    assert_same(&scenario, &with, &without);
    let (skipped, events) = (with.skipped_passes, with.events);
    assert!(2 * skipped > events, "{skipped} passes of {events} events were skipped");
}

#[test]
fn passes_between_frames_of_a_mesh_are_known_and_not_executed() {
    // 5 seeds make 8 passes in a microsecond, and a frame of each of 7 ports takes 12.3 us.
    assert_most_passes_are_known(1_518, 12_304, 5, &[1_000_000_000, 1_000_000_001, 2_000_000_000]);
}

#[test]
fn seeds_of_a_stream_share_what_is_known_of_one() {
    // A seed makes five passes between two departures of the stream: too few for a proof of its own.
    assert_most_passes_are_known(64, 2_500, 40, &[500_000_000, 1_000_000_000]);
}

#[test]
fn a_departure_leaves_the_passes_of_other_seeds_idle() {
    let plan = stream(0, &[1, 2, 3, 4, 5, 6, 7], 64, 2_500, 40);
    let scenario = Scenario { ports: 7, ..on_four_ports(plan, vec![2_000_000_000]) };
    let run = scenario.run(&executable(), true);
    let departures = 800;
    let executed = run.executed_passes;
    assert!((departures - 100..2 * departures).contains(&executed), "{executed} passes were executed");
}

#[test]
fn a_departure_leaves_the_passes_of_a_hundred_other_streams_idle() {
    // One of them departs every 10 us, which is some 14 rounds of the loop.
    let streams = (0..100).map(|index| {
        let number = u32::from(index);
        StreamPlan {
            start_offset_ticks: 10_000 * number,
            priority: 0,
            first_transmitter: 1 + 2 * number,
            first_flow: 2 * number,
            ..stream(index, &[1, 2], 64, 1_000_000 + 7 * number, 1)
        }
    });
    let one = on_four_ports(stream(0, &[1, 2], 64, 1, 1), vec![1_000_000_000, 2_000_000_000]);
    let scenario = Scenario { loop_rate_bps: 400_000_000_000, streams: streams.collect(), ..one };
    let executable = executable();
    let with = scenario.run(&executable, true);
    assert_same(&scenario, &with, &scenario.run(&executable, false));
    // Of 290,000 passes; all but 200 while seeds still came into the loop.
    assert!(with.executed_passes < 40_000, "{} passes were executed", with.executed_passes);
}

#[test]
fn what_the_controller_changes_ends_what_is_known() {
    let executable = executable();
    let plan = stream(0, &[1, 2, 3, 4], 1_518, 12_304, 3);
    let mut scenario = on_four_ports(plan, Vec::new());
    let mut seen = Vec::new();
    for skip in [true, false] {
        scenario.streams[0].interval_ticks = 12_304;
        let mut network = Network::from_json(&scenario.document(skip)).unwrap();
        install(&mut network, &executable, &[1, 2, 3, 4], &scenario.streams);
        for place in 0..3 {
            network.packet_out(seed(&scenario.streams[0], place));
            network.run_until(network.now_ps() + 137_000).unwrap();
        }
        network.packet_out(start(1, scenario.lead_ticks));
        let mut observed = Vec::new();
        // In the midst of calms of many rounds: other rates, then no entry at all, which ends the seeds.
        for (stop_us, interval_ticks) in
            [(300, Some(40_000)), (701, Some(9_000)), (1_013, None), (1_400, None)]
        {
            network.run_until(stop_us * 1_000_000).unwrap();
            observed.push(observe(&mut network));
            change_stream(&mut network, &mut scenario.streams[0], interval_ticks);
        }
        assert_eq!(skip, network.skipped_passes() > 1_000, "{}", network.skipped_passes());
        seen.push(observed);
    }
    assert_eq!(seen[0], seen[1]);
}

/// Gives a stream another rate, or takes its entry out where it is there.
fn change_stream(network: &mut Network, plan: &mut StreamPlan, interval_ticks: Option<u32>) {
    let switch = network.switch().unwrap();
    match interval_ticks {
        Some(interval_ticks) => {
            plan.interval_ticks = interval_ticks;
            switch.table_modify(STREAM_TABLE, &stream_entry(plan), 0).unwrap();
        }
        None => drop(switch.table_delete(STREAM_TABLE, &stream_entry(plan).key, 0)),
    }
}

/// Debug builds are slower; the limits are those of release builds.
fn debug_factor() -> f64 {
    if cfg!(debug_assertions) {
        30.0
    } else {
        1.0
    }
}

#[test]
fn streams_of_all_sizes_and_rates_are_the_same_with_and_without_jumps() {
    let executable = executable();
    let mut skipped_cases = 0;
    let cases = if cfg!(debug_assertions) { 3..5 } else { 0..60 };
    for case in cases.clone() {
        let scenario = random(case);
        let with = scenario.run(&executable, true);
        let without = scenario.run(&executable, false);
        assert_same(&scenario, &with, &without);
        println!(
            "case {case}: {} events, {} passes skipped, {:.3} s, {:.3} s without",
            with.events, with.skipped_passes, with.wall_s, without.wall_s
        );
        skipped_cases += u64::from(with.skipped_passes > with.events / 2);
    }
    assert!(2 * skipped_cases > cases.end - cases.start, "jumps in {skipped_cases} of cases {cases:?}");
}

fn random(seed: u64) -> Scenario {
    let mut rng = Rng::new(1_000 + seed);
    let mut pick = |values: &[u64]| values[rng.below(values.len() as u64) as usize];
    let tick_ps = pick(&[1, 1, 1_000, 1_000, 7, 3_000]);
    let ports = pick(&[4, 5, 7]) as u16;
    let end_ps = 200_000_000 + pick(&[2_000_000_000, 6_000_000_000]);
    let count = pick(&[1, 2, 3, 4]) as u8;
    let streams = (0..count)
        .map(|index| {
            let members = match pick(&[0, 1, 2]) {
                0 => vec![1, 2],
                1 => vec![ports - 1, ports],
                _ => (1..=ports).collect(),
            };
            let interval_ps = pick(&[1_700_000, 30_000_001, 400_000_000, 999_999_999, 2_100_000_000]);
            let interval_ticks = (interval_ps / tick_ps).clamp(1, 1 << 30) as u32;
            let bytes = pick(&[64, 64, 65, 128, 1_518]) as usize;
            let seeds = pick(&[1, 1, 2, 3, 5]) as u32;
            let mut plan = stream(index, &members, bytes, interval_ticks, seeds);
            plan.fraction_q32 = pick(&[0, 1, 0x8000_0000, 0xffff_ffff]) as u32;
            plan.departures = pick(&[0, 3, 40, 1 << 31]) as u32;
            plan.last_slot = pick(&[0, 0, 4]) as u32;
            plan.burst_slots = pick(&[1, 2]) as u32;
            plan
        })
        .collect();
    let sends = (0..pick(&[0, 0, 3, 20]))
        .map(|_| (pick(&[250_000_000, 777_777_777, 1_500_000_000]), 1))
        .collect::<Vec<_>>();
    let mut sends = sends;
    sends.sort_unstable();
    Scenario {
        tick_ps,
        loop_rate_bps: pick(&[100_000_000_000, 100_000_000_000, 30_000_000_000, 3_000_000_000]),
        loop_latency_ps: pick(&[500_000, 500_001, 1_000]),
        egress_latency_ps: pick(&[0, 0, 250_000]),
        ports,
        streams,
        lead_ticks: pick(&[1, 100_000, 1 << 24]) as u32,
        sends,
        stops_ps: vec![300_000_000, 300_000_001, 1_000_000_000, end_ps],
    }
}
