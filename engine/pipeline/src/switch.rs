//! A program together with everything that changes.

use std::sync::Arc;

use crate::machine::{MeterState, RegisterState, State};
use crate::native::Views;
use crate::packet::*;
use crate::passes::Engine;
use crate::profile::ProfileState;
use crate::program::Program;
use crate::replication::Replication;
use crate::rng::Rng;
use crate::snapshot::SnapshotPool;
use crate::table::{bind, TableState, Target};
use crate::value_set::ValueSetState;
use crate::words::limbs_for;
use crate::{CounterCell, EntryAction, TableEntry};

/// Properties of the target that a program can see.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Picoseconds per unit of the P4 time stamps; 1_000_000 is simple_switch's microsecond.
    pub ps_per_tick: u64,
    /// Greatest port number that unicast may address; larger ones are dropped as `UnknownPort`.
    pub max_port: u16,
    /// `egress_spec` value that means "drop".
    pub drop_port: u16,
    pub cpu_port: Option<u16>,
    /// Seed of `random()` and of everything else that is random by specification.
    pub seed: u64,
    /// Resubmits that one frame may make in a row, for they take no time; 0 = unlimited.
    /// Recirculation is bounded by the port that it passes.
    pub pass_limit: u32,
    /// Larger frames are dropped as `Oversize`.
    pub max_frame_bytes: usize,
    /// Queues per port; a larger `priority` drops the packet as simple_switch does.
    pub queues_per_port: u8,
}

impl Default for SwitchConfig {
    fn default() -> SwitchConfig {
        SwitchConfig {
            ps_per_tick: 1_000_000,
            max_port: 511,
            drop_port: 511,
            cpu_port: None,
            seed: 1,
            pass_limit: 1_000,
            max_frame_bytes: 65_535,
            queues_per_port: 8,
        }
    }
}

/// How a switch executes its program. Both ways give the same packets and the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Machine code, on x86-64 Unix systems that give executable memory.
    Native,
    Interpreted,
}

/// A program and its state.
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) engine: Engine,
}

impl Switch {
    pub fn new(program: Arc<Program>, config: SwitchConfig) -> Switch {
        let mut regs = zeroed_regs();
        let code = &program.code;
        let base = code.constant_base as usize;
        regs[base..base + code.constants.len()].copy_from_slice(&code.constants);
        let registers = program
            .registers
            .iter()
            .map(|info| {
                let limbs = limbs_for(info.width_bits);
                RegisterState { cells: vec![0; info.size * limbs], limbs }
            })
            .collect();
        let mut state = State {
            registers,
            counters: program.counters.iter().map(|info| vec![CounterCell::default(); info.size]).collect(),
            meters: program
                .meters
                .iter()
                .map(|info| MeterState { cells: vec![Default::default(); info.size], unit: info.unit })
                .collect(),
            tables: code.tables.iter().map(TableState::new).collect(),
            profiles: code.profiles.iter().map(|_| ProfileState::default()).collect(),
            value_sets: program.value_sets.iter().map(|_| ValueSetState::default()).collect(),
            rng: Rng::new(config.seed),
            scratch: Vec::new(),
        };
        let execution = if program.native.is_some() { Execution::Native } else { Execution::Interpreted };
        let mut switch = Switch {
            program,
            engine: Engine {
                config,
                regs,
                views: Views::of(&mut state),
                state,
                execution,
                replication: Replication::default(),
                snapshots: SnapshotPool::default(),
                preserved: Vec::new(),
                aside: Vec::new(),
                headers: Vec::new(),
                copies: Vec::new(),
            },
        };
        switch.install_initial_entries();
        switch
    }

    /// Starts the numbers of `random()` anew.
    pub fn reseed(&mut self, seed: u64) {
        self.engine.state.rng = Rng::new(seed);
    }

    /// Default actions and constant entries of the program.
    fn install_initial_entries(&mut self) {
        let program = Arc::clone(&self.program);
        for table in 0..program.tables.len() {
            self.restore_default(table);
        }
        for initial in &program.initial_entries {
            let (info, plan) = (&program.tables[initial.table], &program.code.tables[initial.table]);
            let call = program.action_call(initial.action, &initial.data);
            let entry = TableEntry {
                key: initial.key.iter().map(crate::switch_tables::masked_match).collect(),
                priority: if info.needs_priority() { initial.priority } else { 0 },
                action: EntryAction::Direct(call),
                idle_timeout_ns: 0,
            };
            let binding = bind(&program.code, plan, initial.action, &initial.data, true);
            // An entry that cannot be installed (a duplicate) never matches, so it is left out.
            let _ = self.engine.state.tables[initial.table].insert(
                info,
                plan,
                &entry,
                Target::Direct(binding),
                0,
            );
        }
    }

    /// Default action as the program has it.
    pub(crate) fn restore_default(&mut self, table: usize) {
        let program = &self.program;
        let state = &mut self.engine.state.tables[table];
        match &program.defaults[table] {
            Some((action, data)) => {
                let binding = bind(&program.code, &program.code.tables[table], *action, data, false);
                state.default = Some(Target::Direct(binding));
                state.default_action = Some(EntryAction::Direct(program.action_call(*action, data)));
            }
            None => {
                state.default = None;
                state.default_action = None;
            }
        }
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn execution(&self) -> Execution {
        self.engine.execution
    }

    /// Chooses the interpreter, or native code where there is any; gives what is in force.
    pub fn set_execution(&mut self, wanted: Execution) -> Execution {
        if wanted == Execution::Interpreted || self.program.native.is_some() {
            self.engine.execution = wanted;
        }
        self.engine.execution
    }

    pub fn config(&self) -> &SwitchConfig {
        &self.engine.config
    }

    /// Parser, ingress control and the decision where the packet goes. `ingress_timestamp_ps` is
    /// what P4 sees as `ingress_global_timestamp` (of frames from a port only: simple_switch gives
    /// 0 after resubmit and recirculate), `now_ps` drives meters and idle timeouts.
    pub fn ingress(
        &mut self,
        packet: IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        self.engine.ingress(&self.program, packet, ingress_timestamp_ps, now_ps, out);
    }

    /// Egress control and deparser, clone, recirculate.
    pub fn egress(
        &mut self,
        packet: EgressPacket,
        times: QueueTimes,
        egress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        self.engine.egress(&self.program, packet, times, egress_timestamp_ps, now_ps, out);
    }

    /// Returns the buffers of a packet that the target drops before egress.
    pub fn discard(&mut self, packet: EgressPacket, out: &mut Outputs) {
        self.engine.discard(packet, out);
    }
}

fn zeroed_regs() -> Box<[u64; 65_536]> {
    let slots = vec![0u64; 65_536].into_boxed_slice();
    match slots.try_into() {
        Ok(regs) => regs,
        // The length is right by construction.
        Err(_) => unreachable!(),
    }
}
