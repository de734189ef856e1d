//! Idle passes of any program: frames that wait in many ways are the same with and without jumps,
//! with what they count, mark and meter on the way (`programs/waiting.p4`).

use std::fmt::Write as _;
use std::sync::Arc;

use p4mesh_pipeline::{ActionCall, EntryAction, Executable, KeyMatch, MeterConfig, Program, TableEntry};
use p4mesh_sim::{Network, Rng};

const WAYS: u8 = 8;
const BY_CHANCE: u8 = 7;
const TABLE: &str = "WaitIngress.ways";

/// Frames with (way, extra, count, step in ticks, bytes).
type Frames = Vec<(u8, u8, u16, u32, usize)>;

struct Case {
    tick_ps: u64,
    loop_rate_bps: u64,
    egress_latency_ps: u64,
    metered: bool,
    frames: Frames,
}

impl Case {
    /// Observations at each stop, and the passes that were skipped.
    fn run(&self, executable: &Arc<Executable>, skip: bool) -> (Vec<String>, u64) {
        let document = format!(
            r#"{{"skip_idle_loops": {skip}, "tester": {{
                "ports": [{{"number": 1, "rate_bps": 1000000000}}],
                "clock_tick_ps": {}, "egress_latency_ns": {},
                "loop": {{"port": 509, "rate_bps": {}, "latency_ns": 500}}}}}}"#,
            self.tick_ps,
            self.egress_latency_ps as f64 / 1e3,
            self.loop_rate_bps
        );
        let mut network = Network::from_json(&document).unwrap();
        network.set_program(Arc::clone(executable));
        let switch = network.switch().unwrap();
        for way in 0..WAYS {
            let entry = TableEntry {
                key: vec![KeyMatch::Exact(vec![way])],
                priority: 0,
                action: EntryAction::Direct(ActionCall {
                    action: "WaitIngress.note".to_string(),
                    params: Vec::new(),
                }),
                idle_timeout_ns: 1_000_000,
            };
            switch.table_insert(TABLE, &entry, 0).unwrap();
        }
        if self.metered {
            let config = MeterConfig {
                committed_rate_per_s: 1_000_000,
                committed_burst: 10,
                peak_rate_per_s: 1_500_000,
                peak_burst: 20,
            };
            switch.meter_write("WaitIngress.colours", 1, Some(config), 0).unwrap();
        }
        let mut seen = Vec::new();
        for &(way, extra, count, step, bytes) in &self.frames {
            let mut frame = vec![way, extra];
            frame.extend_from_slice(&count.to_be_bytes());
            frame.extend_from_slice(&[0; 12]);
            frame.extend_from_slice(&step.to_be_bytes());
            frame.resize(bytes, 0xa5 ^ extra);
            network.packet_out(frame);
            network.run_until(network.now_ps() + 61_234).unwrap();
        }
        for stop_ps in [5_000_000, 50_000_001, 700_000_000, 1_500_000_000] {
            network.run_until(stop_ps).unwrap();
            seen.push(observe(&mut network));
        }
        (seen, network.skipped_passes())
    }
}

fn observe(network: &mut Network) -> String {
    let mut text = serde_json::to_string(&network.truth()).unwrap();
    let switch = network.switch().unwrap();
    for register in ["WaitIngress.events", "WaitIngress.same"] {
        let cells = switch.register_read_u64(register, 0, 16).unwrap();
        write!(text, "\n{register} {cells:?}").unwrap();
    }
    let counted = switch.counter_cells("WaitIngress.passes").unwrap();
    write!(text, "\n{counted:?}").unwrap();
    for way in 0..WAYS {
        let key = [KeyMatch::Exact(vec![way])];
        let read = switch.table_read(TABLE, &key, 0).unwrap();
        write!(text, "\n{:?} {}", read.counter, read.last_hit_ps).unwrap();
    }
    while let Some(frame) = network.take_packet_in() {
        write!(text, "\n{frame:02x?}").unwrap();
    }
    text
}

fn random(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let mut pick = |values: &[u64]| values[rng.below(values.len() as u64) as usize];
    let tick_ps = pick(&[1, 1, 1_000, 1_000, 640, 1_000_000]);
    let by_chance = pick(&[0, 0, 0, 1]) == 1;
    let frames = (0..pick(&[1, 2, 3, 6]))
        .map(|_| {
            let mut way = pick(&[0, 1, 2, 3, 4, 5, 6, 7]) as u8;
            if way == BY_CHANCE && !by_chance {
                way = 0;
            }
            let step_ps = pick(&[1_000_000, 17_000_003, 90_000_000, 400_000_000]);
            let bytes = pick(&[20, 60, 61, 500, 1_514]) as usize;
            let count = pick(&[1, 2, 10, 1_000]) as u16;
            (way, pick(&[0, 1, 2, 3]) as u8, count, (step_ps / tick_ps) as u32, bytes)
        })
        .collect();
    Case {
        tick_ps,
        loop_rate_bps: pick(&[100_000_000_000, 99_999_999_977, 25_000_000_000]),
        egress_latency_ps: pick(&[0, 0, 12_345]),
        metered: pick(&[0, 1]) == 1,
        frames,
    }
}

fn waiting() -> Arc<Executable> {
    let program = Program::from_json(include_str!("programs/waiting.json")).unwrap();
    Arc::new(Executable::new(program))
}

#[test]
fn frames_that_wait_are_the_same_with_and_without_jumps() {
    let executable = waiting();
    let cases = if cfg!(debug_assertions) { 30 } else { 300 };
    let mut skipping = 0;
    for seed in 0..cases {
        let case = random(seed);
        let (with, skipped) = case.run(&executable, true);
        let (without, none) = case.run(&executable, false);
        assert_eq!(none, 0);
        for (stop, (with, without)) in with.iter().zip(&without).enumerate() {
            for (a, b) in with.lines().zip(without.lines()) {
                assert_eq!(a, b, "case {seed}, stop {stop}, {:?}", case.frames);
            }
            assert_eq!(with, without, "case {seed}, stop {stop}");
        }
        skipping += u64::from(skipped > 100);
    }
    assert!(2 * skipping > cases, "jumps in {skipping} of {cases} cases");
}

/// Each way of waiting is understood: nearly all passes of a lone frame are skipped.
#[test]
fn every_way_of_waiting_but_chance_is_understood() {
    let executable = waiting();
    for way in 0..BY_CHANCE {
        let case = Case {
            tick_ps: 1_000,
            loop_rate_bps: 100_000_000_000,
            egress_latency_ps: 0,
            metered: false,
            frames: vec![(way, 3, 1_000, 400_000, 60)],
        };
        let (_, skipped) = case.run(&executable, true);
        assert!(skipped > 2_000, "way {way}: {skipped} passes skipped");
    }
    let case = Case {
        tick_ps: 1_000,
        loop_rate_bps: 100_000_000_000,
        egress_latency_ps: 0,
        metered: true,
        frames: vec![(1, 2, 1_000, 400_000, 60)],
    };
    let (_, skipped) = case.run(&executable, true);
    assert_eq!(skipped, 0, "a configured meter has a state of its own");
}
