//! Programs whose packets never end: copies that make copies end as counted drops, and the switch stays within its
//! bounds.

use std::path::Path;
use std::sync::Arc;

use p4mesh_io::{Runner, RunnerLimits};
use p4mesh_pipeline::{CloneSession, Executable, Program, Replica, Switch, SwitchConfig};

const LIMITS: RunnerLimits =
    RunnerLimits { queue_packets: 20, loop_packets: 50, controller_messages: 10, passes_per_packet: 100 };

/// A runner of the program with a group and a clone session of so many replicas.
fn storm(replicas: u16) -> Runner {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pipeline/tests/programs/storm.json");
    let text = std::fs::read_to_string(path).expect("the program");
    let program = Program::from_json(&text).expect("a program");
    let config = SwitchConfig { cpu_port: Some(510), ..SwitchConfig::default() };
    let mut switch = Switch::new(Arc::new(Executable::new(program)), config.clone());
    let replicas: Vec<Replica> = (0..replicas).map(|instance| Replica { port: 1, instance }).collect();
    switch.multicast_insert(1, &replicas).expect("group");
    let session = CloneSession { replicas, ..CloneSession::default() };
    switch.clone_session_insert(1, &session).expect("session");
    let mut runner = Runner::new(config, LIMITS);
    runner.install(switch);
    runner
}

fn send(runner: &mut Runner, first: u8) -> u64 {
    let mut sent = 0;
    runner.frame(1, vec![first; 64], None, &mut || 1, &mut |_, _, _| sent += 1);
    sent
}

#[test]
fn a_loop_that_doubles_its_packets_is_full_and_goes_on() {
    let mut runner = storm(2);
    send(&mut runner, 0);
    for _ in 0..50 {
        runner.turn(1, &mut || 1, &mut |_, _, _| panic!("nothing leaves"));
        assert!(runner.circulating() <= LIMITS.loop_packets);
    }
    assert_eq!(runner.circulating(), LIMITS.loop_packets);
    assert!(runner.drops().loop_full > 1_000);
}

#[test]
fn copies_beyond_the_queue_are_dropped_and_counted() {
    let mut runner = storm(1_000);
    send(&mut runner, 0);
    assert_eq!(runner.circulating(), LIMITS.queue_packets);
    assert_eq!(runner.drops().queue_full, 1_000 - LIMITS.queue_packets as u64);
}

#[test]
fn a_clone_that_clones_itself_ends() {
    let mut runner = storm(2);
    let sent = send(&mut runner, 1);
    assert!(sent <= u64::from(LIMITS.passes_per_packet));
    assert!(runner.drops().pass_limit > 0);
    // The next packet finds the switch as it was.
    assert_eq!(send(&mut runner, 1), sent);
}
