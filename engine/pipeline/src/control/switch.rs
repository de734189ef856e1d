//! A program together with its state.

use std::sync::Arc;

use crate::code::program::Program;
use crate::exec::config::{Execution, SwitchConfig};
use crate::exec::executable::Executable;
use crate::exec::native::Views;
use crate::exec::passes::{Engine, Held, Ingressed};
use crate::exec::row_prefetch::RowPrefetcher;
use crate::exec::trace::Trace;
use crate::numbers::rng::Rng;
use crate::packets::frame::Frame;
use crate::packets::output::{Output, Outputs};
use crate::packets::packet::{Copies, EgressPacket, EgressTimes, IngressPacket};
use crate::packets::snapshot::SnapshotPool;
use crate::state::cells::{MeterState, State};
use crate::state::profile::ProfileState;
use crate::state::registers::Registers;
use crate::state::replication::Replication;
use crate::state::table::{bind, TableState, Target};
use crate::state::value_set::ValueSetState;
use crate::state::zeroed::Zeroed;
use crate::vocabulary::entries::{EntryAction, KeyMatch, TableEntry};

/// A program and its state.
pub struct Switch {
    pub(crate) executable: Arc<Executable>,
    pub(crate) engine: Engine,
}

impl Switch {
    pub fn new(executable: Arc<Executable>, config: SwitchConfig) -> Switch {
        let mut regs = zeroed_regs();
        let program = &executable.program;
        let code = &program.code;
        regs[..code.image.len()].copy_from_slice(&code.image);
        let base = code.constant_base as usize;
        regs[base..base + code.constants.len()].copy_from_slice(&code.constants);
        let mut state = State {
            registers: Registers::new(&code.registers),
            counters: program.counters.iter().map(|info| Zeroed::new(info.size)).collect(),
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
        let execution = if executable.native.is_some() { Execution::Native } else { Execution::Interpreted };
        let row_prefetcher = RowPrefetcher::new(code, &mut state);
        let mut switch = Switch {
            executable,
            engine: Engine {
                views: Views::of(&mut state, &config),
                config,
                regs,
                row_prefetcher,
                state,
                execution,
                trace: None,
                replication: Replication::default(),
                snapshots: SnapshotPool::default(),
                preserved: Vec::new(),
                aside: Vec::new(),
                passes: 0,
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
        let executable = Arc::clone(&self.executable);
        let program = &executable.program;
        for table in 0..program.tables.len() {
            self.restore_default(table);
        }
        for initial in &program.initial_entries {
            let (info, plan) = (&program.tables[initial.table], &program.code.tables[initial.table]);
            let call = program.action_call(initial.action, &initial.data);
            let entry = TableEntry {
                key: initial.key.iter().map(KeyMatch::masked).collect(),
                priority: if info.needs_priority() { initial.priority } else { 0 },
                action: EntryAction::Direct(call),
                idle_timeout_ns: 0,
            };
            let binding = bind(&program.code, plan, initial.action, &initial.data, true);
            // An entry that cannot be installed (a duplicate) never matches, so it is left out.
            let inserted = self.engine.state.tables[initial.table].insert(
                info,
                plan,
                &entry,
                Target::Direct(binding),
                0,
            );
            self.engine.table_changed(&executable, initial.table, inserted.ok());
        }
        for table in 0..program.tables.len() {
            self.engine.state.tables[table].loaded();
            self.engine.table_changed(&executable, table, None);
        }
    }

    /// Default action as the program has it.
    pub(crate) fn restore_default(&mut self, table: usize) {
        let program = &self.executable.program;
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
        self.engine.table_changed(&self.executable, table, None);
    }

    pub fn program(&self) -> &Program {
        &self.executable.program
    }

    /// For another switch that runs the same program.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    pub fn execution(&self) -> Execution {
        self.engine.execution
    }

    /// Chooses the interpreter, or native code where there is any; returns the choice in force.
    pub fn set_execution(&mut self, wanted: Execution) -> Execution {
        if wanted == Execution::Interpreted || self.executable.native.is_some() {
            self.engine.execution = wanted;
        }
        self.engine.execution
    }

    /// Tells what happens to each packet from now on, or no longer. Passes that are told are interpreted.
    pub fn set_trace(&mut self, trace: Option<Arc<Trace>>) {
        self.set_execution(if trace.is_some() { Execution::Interpreted } else { Execution::Native });
        self.engine.trace = trace;
    }

    pub fn config(&self) -> &SwitchConfig {
        &self.engine.config
    }

    /// Parser, ingress control and the decision where the packet goes. `ingress_timestamp_ps` is the
    /// `ingress_global_timestamp` of P4 (of frames from a port only: simple_switch gives 0 after resubmit and
    /// recirculate), `now_ps` drives meters and idle timeouts.
    pub fn ingress(
        &mut self,
        mut packet: IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        let ended = if packet.is_new() {
            self.ingress_of_frame(packet.port, &mut packet.frame, ingress_timestamp_ps, now_ps, out)
        } else {
            self.ingress_at_once(&mut packet, ingress_timestamp_ps, now_ps, out)
        };
        let packet = match ended {
            Ingressed::Replicated(copies) => {
                out.items.extend(copies.packets().map(Output::Enqueue));
                return self.end_copies(copies);
            }
            Ingressed::Ended => return,
            Ingressed::Held(held) => Output::Enqueue(self.keep(held, std::mem::take(&mut packet.frame))),
            Ingressed::Dropped(reason) => Output::Drop(reason),
            Ingressed::Resubmitted(packet) => Output::Reenter(packet),
        };
        out.items.push(packet);
    }

    /// As [`Switch::ingress`], but what becomes of the packet itself is the result. Nothing is left in `packet`, but for
    /// the frame of a packet that is held.
    #[inline(always)]
    pub(crate) fn ingress_at_once(
        &mut self,
        packet: &mut IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        self.engine.ingress(&self.executable, packet, ingress_timestamp_ps, now_ps, out)
    }

    /// As [`Switch::ingress_at_once`], of a frame from a port.
    #[inline(always)]
    pub(crate) fn ingress_of_frame(
        &mut self,
        port: u16,
        frame: &mut Frame,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        self.engine.ingress_of_frame(&self.executable, port, frame, ingress_timestamp_ps, now_ps, out)
    }

    /// Lets the packet that the last ingress pass holds outlast the next pass.
    pub(crate) fn keep(&mut self, held: Held, frame: Frame) -> EgressPacket {
        self.engine.keep(&self.executable, held, frame)
    }

    /// Takes back what the copies of the last ingress pass have used.
    pub(crate) fn end_copies(&mut self, copies: Copies) {
        self.engine.end_copies(copies);
    }

    /// Egress control and deparser, clone, recirculate.
    pub fn egress(&mut self, packet: EgressPacket, times: &EgressTimes, out: &mut Outputs) {
        let (port, mut frame) = (packet.egress_port, Frame::new());
        let last = self.egress_at_once(packet, times, out, &mut frame);
        out.items.push(last.unwrap_or(Output::Transmit { port, frame }));
    }

    /// As [`Switch::egress`], but the last output is the result; `None` for a frame that leaves through the port, which is
    /// `left`.
    pub(crate) fn egress_at_once(
        &mut self,
        packet: EgressPacket,
        times: &EgressTimes,
        out: &mut Outputs,
        left: &mut Frame,
    ) -> Option<Output> {
        self.engine.egress(&self.executable, packet, times, out, left)
    }

    /// As [`Switch::egress_at_once`], of the packet of the last ingress pass, whose frame is what leaves.
    #[inline(always)]
    pub(crate) fn egress_of_held(
        &mut self,
        held: Held,
        frame: &mut Frame,
        times: &EgressTimes,
        out: &mut Outputs,
    ) -> Option<Output> {
        self.engine.egress_of_held(&self.executable, held, frame, times, out)
    }

    /// Begins to load the state that the ingress pass of a frame from a port is likely to touch, for a frame that comes soon.
    #[inline]
    pub fn prefetch(&self, frame: &[u8]) {
        self.engine.row_prefetcher.load(frame);
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
