//! A packet that a program ends is counted under the reason for which it ended
//! (`handwritten/endings.json` of the pipeline's tests).

use std::collections::BTreeMap;
use std::sync::Arc;

use p4mesh_io::{Drops, Runner, RunnerLimits};
use p4mesh_pipeline::{DropReason, Executable, Program, Switch, SwitchConfig};

const ENDINGS: &str = include_str!("../../pipeline/tests/handwritten/endings.json");

#[test]
fn the_runner_counts_every_reason_of_its_program() {
    let config = SwitchConfig::default();
    let program = Program::from_json(ENDINGS).expect("a program");
    let mut runner = Runner::new(config.clone(), RunnerLimits::default());
    runner.install(Switch::new(Arc::new(Executable::new(program)), config));
    let mut sent = Vec::new();
    for kind in [1, 2, 2, 3, 3, 3, 0] {
        runner.frame(1, vec![kind; 60], None, &mut || 1, &mut |port, _, frame| {
            sent.push((port, frame.to_vec()))
        });
    }
    assert_eq!(sent, [(1, vec![0; 60])]);
    let program = BTreeMap::from([
        (DropReason::LoopLimit, 1),
        (DropReason::AssertionFailed, 2),
        (DropReason::UnknownQueue, 3),
    ]);
    let expected = Drops { program, ..Drops::default() };
    assert_eq!(*runner.drops(), expected);
}
