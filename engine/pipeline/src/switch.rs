//! A program together with everything that changes, and the two passes that a packet makes. The
//! order of events is that of simple_switch's ingress and egress threads.

use std::sync::Arc;

use crate::layout::{packet_slot, FieldRef, Slot};
use crate::machine::{run, MeterState, Outcome, RegisterState, State, Wire};
use crate::packet::*;
use crate::profile::ProfileState;
use crate::program::Program;
use crate::replication::Replication;
use crate::rng::Rng;
use crate::snapshot::{PacketState, Snapshot, SnapshotPool};
use crate::table::{bind, TableState, Target};
use crate::value_set::ValueSetState;
use crate::words::{limbs_for, mask64, to_bytes};
use crate::{wire, CounterCell, EntryAction, Replica, TableEntry};

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

/// A program and its state.
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) config: SwitchConfig,
    pub(crate) state: State,
    pub(crate) replication: Replication,
    snapshots: SnapshotPool,
    preserved: Vec<Vec<(u16, u64)>>,
    /// Packet slots put aside while a clone is parsed.
    aside: Vec<u64>,
    /// Headers that the deparser writes.
    headers: Vec<u8>,
    /// Copies of the multicast group in work.
    copies: Vec<Replica>,
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
                RegisterState {
                    cells: vec![0; info.size * limbs],
                    limbs,
                }
            })
            .collect();
        let state = State {
            regs,
            registers,
            counters: program
                .counters
                .iter()
                .map(|info| vec![CounterCell::default(); info.size])
                .collect(),
            meters: program
                .meters
                .iter()
                .map(|info| MeterState {
                    cells: vec![Default::default(); info.size],
                    unit: info.unit,
                })
                .collect(),
            tables: code.tables.iter().map(TableState::new).collect(),
            profiles: code
                .profiles
                .iter()
                .map(|_| ProfileState::default())
                .collect(),
            value_sets: program
                .value_sets
                .iter()
                .map(|_| ValueSetState::default())
                .collect(),
            rng: Rng::new(config.seed),
            scratch: Vec::new(),
        };
        let mut switch = Switch {
            program,
            config,
            state,
            replication: Replication::default(),
            snapshots: SnapshotPool::default(),
            preserved: Vec::new(),
            aside: Vec::new(),
            headers: Vec::new(),
            copies: Vec::new(),
        };
        switch.install_initial_entries();
        switch
    }

    /// Default actions and constant entries of the program.
    fn install_initial_entries(&mut self) {
        let program = Arc::clone(&self.program);
        for table in 0..program.tables.len() {
            self.restore_default(table);
        }
        for initial in &program.initial_entries {
            let (info, plan) = (
                &program.tables[initial.table],
                &program.code.tables[initial.table],
            );
            let call = program.action_call(initial.action, &initial.data);
            let entry = TableEntry {
                key: initial
                    .key
                    .iter()
                    .map(crate::switch_tables::masked_match)
                    .collect(),
                priority: if info.needs_priority() {
                    initial.priority
                } else {
                    0
                },
                action: EntryAction::Direct(call),
                idle_timeout_ns: 0,
            };
            let binding = bind(&program.code, plan, initial.action, &initial.data, true);
            // An entry that cannot be installed (a duplicate) never matches, so it is left out.
            let _ = self.state.tables[initial.table].insert(
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
        let state = &mut self.state.tables[table];
        match &program.defaults[table] {
            Some((action, data)) => {
                let binding = bind(
                    &program.code,
                    &program.code.tables[table],
                    *action,
                    data,
                    false,
                );
                state.default = Some(Target::Direct(binding));
                state.default_action =
                    Some(EntryAction::Direct(program.action_call(*action, data)));
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

    pub fn config(&self) -> &SwitchConfig {
        &self.config
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
        let IngressPacket {
            port,
            mut frame,
            instance_type,
            preserved,
        } = packet;
        if frame.len() > self.config.max_frame_bytes {
            return self.drop_frame(frame, DropReason::Oversize, out);
        }
        if self.config.pass_limit != 0 && preserved.resubmits > self.config.pass_limit {
            return self.drop_frame(frame, DropReason::PassLimit, out);
        }
        let program = Arc::clone(&self.program);
        let code = &program.code;
        let fields = code.intrinsics;
        let length = frame.len() as u64;
        self.start_pass(code, length);
        let charged = preserved.charged_bytes.map_or(length, u64::from);
        self.set_slot(packet_slot::INGRESS_LENGTH, charged);
        self.set_slot(packet_slot::PASSES, u64::from(preserved.resubmits));
        if instance_type == InstanceType::Normal {
            self.set(fields.ingress_port, u64::from(port));
            self.set(
                fields.ingress_timestamp,
                ingress_timestamp_ps / self.config.ps_per_tick.max(1),
            );
        }
        for &(slot, value) in &preserved.fields {
            self.state.regs[slot as usize] = value;
        }
        let mut list = preserved.fields;
        list.clear();
        self.preserved.push(list);
        self.set(fields.instance_type, instance_type as u64);
        self.set(fields.packet_length, length);

        let Some(payload) = self.parse(&frame, now_ps) else {
            return self.drop_frame(frame, DropReason::LoopLimit, out);
        };
        let mut wire = Wire {
            frame: &frame,
            cursor: payload,
        };
        if run(
            &program,
            &mut self.state,
            &mut wire,
            code.ingress_entry,
            now_ps,
        ) == Outcome::Runaway
        {
            return self.drop_frame(frame, DropReason::LoopLimit, out);
        }
        if self.slot(packet_slot::ASSERT_FAILED) != 0 {
            return self.drop_frame(frame, DropReason::AssertionFailed, out);
        }
        self.set_slot(packet_slot::EXIT, 0);

        if self.slot(packet_slot::CLONE_SESSION) != 0 {
            self.clone_ingress(&frame, port, length, charged, now_ps, out);
        }
        let learn = self.slot(packet_slot::LEARN);
        if learn != 0 {
            self.digest(learn as u32, out);
        }
        let resubmit = self.slot(packet_slot::RESUBMIT);
        if resubmit != 0 {
            let mut preserved = self.preserve(resubmit as u32);
            preserved.resubmits = self.slot(packet_slot::PASSES) as u32 + 1;
            preserved.charged_bytes = Some(charged as u32);
            frame.truncate(self.limit());
            out.items.push(Output::Reenter(IngressPacket {
                port,
                frame,
                instance_type: InstanceType::Resubmitted,
                preserved,
            }));
            return;
        }
        let group = self.get(fields.multicast_group);
        if group != 0 {
            self.set(fields.instance_type, InstanceType::Replicated as u64);
            match self.replication.copies(group) {
                Some(copies) if !copies.is_empty() => {
                    self.copies.clear();
                    self.copies.extend_from_slice(copies);
                    self.replicate(frame, payload, InstanceType::Replicated, None, out);
                }
                _ => self.drop_frame(frame, DropReason::EmptyMulticastGroup, out),
            }
            return;
        }
        let egress_port = self.get(fields.egress_spec);
        if egress_port == u64::from(self.config.drop_port) {
            return self.drop_frame(frame, DropReason::Ingress, out);
        }
        if egress_port > u64::from(self.config.max_port) {
            return self.drop_frame(frame, DropReason::UnknownPort, out);
        }
        self.set(fields.instance_type, InstanceType::Normal as u64);
        let Some(priority) = self.priority() else {
            return self.drop_frame(frame, DropReason::UnknownQueue, out);
        };
        let length_bytes = self.slot(packet_slot::LENGTH) as u32;
        let shared = self
            .snapshots
            .make(&self.state.regs[..program.layout.slots], frame, payload);
        out.items.push(Output::Enqueue(EgressPacket {
            egress_port: egress_port as u16,
            egress_rid: 0,
            priority,
            instance_type: InstanceType::Normal,
            length_bytes,
            state: PacketState {
                shared,
                replicated: false,
            },
        }));
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
        let program = Arc::clone(&self.program);
        let code = &program.code;
        let fields = code.intrinsics;
        let EgressPacket {
            egress_port,
            egress_rid,
            priority,
            state,
            ..
        } = packet;
        let shared = state.shared;
        self.state.regs[..program.layout.slots].copy_from_slice(&shared.slots);
        if state.replicated {
            self.set(fields.egress_rid, u64::from(egress_rid));
        }
        self.set_queueing(&times, egress_timestamp_ps, priority);
        self.set(fields.egress_port, u64::from(egress_port));
        // Any value but the drop port, so that only a drop in egress drops.
        self.set(fields.egress_spec, u64::from(self.config.drop_port) + 1);
        self.set(fields.packet_length, self.slot(packet_slot::LENGTH));

        let mut wire = Wire {
            frame: &shared.frame,
            cursor: shared.payload,
        };
        if run(
            &program,
            &mut self.state,
            &mut wire,
            code.egress_entry,
            now_ps,
        ) == Outcome::Runaway
        {
            return self.drop_packet(shared, DropReason::LoopLimit, out);
        }
        if self.slot(packet_slot::ASSERT_FAILED) != 0 {
            return self.drop_packet(shared, DropReason::AssertionFailed, out);
        }
        if self.slot(packet_slot::CLONE_SESSION) != 0 {
            self.clone_egress(&shared, out);
        }
        if self.get(fields.egress_spec) == u64::from(self.config.drop_port) {
            return self.drop_packet(shared, DropReason::Egress, out);
        }
        let mut wire = Wire {
            frame: &shared.frame,
            cursor: shared.payload,
        };
        if run(
            &program,
            &mut self.state,
            &mut wire,
            code.deparser_entry,
            now_ps,
        ) == Outcome::Runaway
        {
            return self.drop_packet(shared, DropReason::LoopLimit, out);
        }
        let mut frame = self.deparse(shared, out);
        frame.truncate(self.limit());
        let recirculate = self.slot(packet_slot::RECIRCULATE);
        if recirculate != 0 {
            let preserved = self.preserve(recirculate as u32);
            out.items.push(Output::Reenter(IngressPacket {
                port: egress_port,
                frame,
                instance_type: InstanceType::Recirculated,
                preserved,
            }));
        } else {
            out.items.push(Output::Transmit {
                port: egress_port,
                frame,
            });
        }
    }

    /// Returns the buffers of a packet that the target drops before egress.
    pub fn discard(&mut self, packet: EgressPacket, out: &mut Outputs) {
        if let Some(frame) = self.snapshots.give(packet.state.shared) {
            out.pool.give(frame);
        }
    }

    fn start_pass(&mut self, code: &crate::program::Code, length: u64) {
        self.state.regs[..code.image.len()].copy_from_slice(&code.image);
        self.set_slot(packet_slot::DROP_PORT, u64::from(self.config.drop_port));
        self.set_slot(packet_slot::LENGTH, length);
    }

    /// Runs the parser and stores its verdict; the offset of the payload, `None` for a loop.
    fn parse(&mut self, frame: &[u8], now_ps: u64) -> Option<usize> {
        let program = Arc::clone(&self.program);
        let code = &program.code;
        self.set_slot(packet_slot::PARSER_ERROR, code.errors.no_error);
        self.set_slot(packet_slot::CHECKSUM_ERROR, 0);
        let mut wire = Wire { frame, cursor: 0 };
        if run(
            &program,
            &mut self.state,
            &mut wire,
            code.parser_entry,
            now_ps,
        ) == Outcome::Runaway
        {
            return None;
        }
        self.set(
            code.intrinsics.parser_error,
            self.slot(packet_slot::PARSER_ERROR),
        );
        self.set(
            code.intrinsics.checksum_error,
            self.slot(packet_slot::CHECKSUM_ERROR),
        );
        Some(wire.cursor)
    }

    /// Clone of the frame as it came in, parsed again, with the metadata of the field list.
    fn clone_ingress(
        &mut self,
        frame: &[u8],
        port: u16,
        length: u64,
        charged: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        let program = Arc::clone(&self.program);
        let (session, list) = self.take_clone();
        if !self.begin_clone(session, out) {
            return;
        }
        let fields = program.code.intrinsics;
        let slots = program.layout.slots;
        let preserved = self.preserve(list);
        let limit = self.limit();
        let mut aside = std::mem::take(&mut self.aside);
        aside.clear();
        aside.extend_from_slice(&self.state.regs[..slots]);
        self.start_pass(&program.code, length);
        self.set_slot(packet_slot::INGRESS_LENGTH, charged);
        self.set(fields.ingress_port, u64::from(port));
        let mut copy = out.pool.copy_of(frame);
        copy.truncate(limit);
        match self.parse(&copy, now_ps) {
            Some(payload) => {
                self.reset_metadata();
                for &(slot, value) in &preserved.fields {
                    self.state.regs[slot as usize] = value;
                }
                self.set(fields.instance_type, InstanceType::IngressClone as u64);
                self.replicate(
                    copy,
                    payload,
                    InstanceType::IngressClone,
                    Some(session),
                    out,
                );
            }
            None => self.drop_frame(copy, DropReason::LoopLimit, out),
        }
        self.preserved.push(preserved.fields);
        self.state.regs[..slots].copy_from_slice(&aside);
        self.aside = aside;
    }

    /// Clone of the packet as egress leaves it, with the metadata of the field list.
    fn clone_egress(&mut self, shared: &Snapshot, out: &mut Outputs) {
        let program = Arc::clone(&self.program);
        let (session, list) = self.take_clone();
        if !self.begin_clone(session, out) {
            return;
        }
        let slots = program.layout.slots;
        let preserved = self.preserve(list);
        let mut aside = std::mem::take(&mut self.aside);
        aside.clear();
        aside.extend_from_slice(&self.state.regs[..slots]);
        self.reset_metadata();
        for &(slot, value) in &preserved.fields {
            self.state.regs[slot as usize] = value;
        }
        self.set_slot(packet_slot::EXIT, 0);
        self.set(
            program.code.intrinsics.instance_type,
            InstanceType::EgressClone as u64,
        );
        let copy = out.pool.copy_of(&shared.frame);
        self.replicate(
            copy,
            shared.payload,
            InstanceType::EgressClone,
            Some(session),
            out,
        );
        self.preserved.push(preserved.fields);
        self.state.regs[..slots].copy_from_slice(&aside);
        self.aside = aside;
    }

    /// Session and field list of a requested clone; the request is cleared.
    fn take_clone(&mut self) -> (u64, u32) {
        let session = self.slot(packet_slot::CLONE_SESSION) & (packet_slot::CLONE_VALID - 1);
        let list = self.slot(packet_slot::CLONE_LIST) as u32;
        self.set_slot(packet_slot::CLONE_SESSION, 0);
        self.set_slot(packet_slot::CLONE_LIST, 0);
        (session, list)
    }

    /// Loads the copies of a clone session; false if it does not exist.
    fn begin_clone(&mut self, session: u64, out: &mut Outputs) -> bool {
        match self.replication.session(session) {
            Some(view) => {
                self.copies.clear();
                self.copies.extend_from_slice(view.replicas);
                true
            }
            None => {
                out.items
                    .push(Output::Drop(DropReason::UnknownCloneSession));
                false
            }
        }
    }

    /// Queues one packet per entry of `self.copies`, all of them sharing the present state.
    fn replicate(
        &mut self,
        mut frame: Frame,
        payload: usize,
        instance_type: InstanceType,
        session: Option<u64>,
        out: &mut Outputs,
    ) {
        // A copy is cut at once, and counted from the payload: that is where simple_switch's
        // buffer starts at this point.
        let limit = self.limit();
        if limit < frame.len() - payload {
            frame.truncate(payload + limit);
        }
        for slot in [
            packet_slot::CLONE_SESSION,
            packet_slot::CLONE_LIST,
            packet_slot::LEARN,
            packet_slot::RESUBMIT,
            packet_slot::RECIRCULATE,
            packet_slot::TRUNCATE,
        ] {
            self.set_slot(slot, 0);
        }
        let mut class = 0;
        if let Some(view) = session.and_then(|session| self.replication.session(session)) {
            class = view.class_of_service;
            if view.packet_length_bytes != 0 {
                let limit = u64::from(view.packet_length_bytes) + 1;
                self.set_slot(packet_slot::TRUNCATE, limit);
            }
        }
        let priority = match self.priority() {
            _ if class != 0 && class < self.config.queues_per_port => class,
            Some(priority) => priority,
            None => return self.drop_frame(frame, DropReason::UnknownQueue, out),
        };
        let length_bytes = self.slot(packet_slot::LENGTH) as u32;
        let slots = self.program.layout.slots;
        let shared = self
            .snapshots
            .make(&self.state.regs[..slots], frame, payload);
        for copy in &self.copies {
            out.items.push(Output::Enqueue(EgressPacket {
                egress_port: copy.port,
                egress_rid: copy.instance,
                priority,
                instance_type,
                length_bytes,
                state: PacketState {
                    shared: Arc::clone(&shared),
                    replicated: true,
                },
            }));
        }
        if let Some(frame) = self.snapshots.give(shared) {
            out.pool.give(frame);
        }
    }

    fn digest(&mut self, list: u32, out: &mut Outputs) {
        let program = &self.program;
        let Some(plan) = program.code.digests.iter().find(|plan| plan.id == list) else {
            return;
        };
        let regs = &self.state.regs;
        let fields = plan
            .fields
            .iter()
            .map(|field| {
                let from = field.slot as usize;
                to_bytes(&regs[from..from + field.limbs()], field.bits)
            })
            .collect();
        out.items.push(Output::Digest {
            digest: list,
            fields,
        });
    }

    /// Values of the fields of a field list.
    fn preserve(&mut self, list: u32) -> Preserved {
        let mut values = self.preserved.pop().unwrap_or_default();
        values.clear();
        for field in self
            .program
            .code
            .field_lists
            .get(&list)
            .into_iter()
            .flatten()
        {
            let first = field.slot - u16::from(field.variable);
            for slot in first..field.slot + field.limbs() as u16 {
                values.push((slot, self.state.regs[slot as usize]));
            }
        }
        Preserved {
            fields: values,
            ..Preserved::default()
        }
    }

    fn reset_metadata(&mut self) {
        for &(first, count) in &self.program.code.metadata {
            let first = first as usize;
            self.state.regs[first..first + count as usize].fill(0);
        }
    }

    fn set_queueing(&mut self, times: &QueueTimes, egress_timestamp_ps: u64, priority: u8) {
        let fields = self.program.code.intrinsics;
        let tick = self.config.ps_per_tick.max(1);
        self.set(fields.egress_timestamp, egress_timestamp_ps / tick);
        if fields.enq_timestamp.is_some() {
            let enqueued = times.enqueue_ps / tick;
            self.set(fields.enq_timestamp, enqueued);
            self.set(fields.enq_qdepth, u64::from(times.enqueue_depth));
            self.set(
                fields.deq_timedelta,
                (times.dequeue_ps / tick).saturating_sub(enqueued),
            );
            self.set(fields.deq_qdepth, u64::from(times.dequeue_depth));
            self.set(fields.qid, u64::from(priority));
        }
    }

    /// Writes the valid headers in front of the payload.
    fn deparse(&mut self, shared: Arc<Snapshot>, out: &mut Outputs) -> Frame {
        let (layout, code) = (&self.program.layout, &self.program.code);
        let regs = &self.state.regs;
        let headers = &mut self.headers;
        headers.clear();
        for &header in &code.deparse_order {
            let place = &layout.headers[header as usize];
            if regs[place.base as usize] != 0 {
                wire::write(&layout.shapes[place.shape], place.base, regs, headers);
            }
        }
        let payload = shared.payload;
        let mut shared = shared;
        if headers.len() == payload {
            // The last holder of the packet changes its headers in place.
            if let Some(snapshot) = Arc::get_mut(&mut shared) {
                let mut frame = std::mem::take(&mut snapshot.frame);
                frame[..payload].copy_from_slice(headers);
                self.snapshots.give(shared);
                return frame;
            }
        }
        let mut frame = out.pool.take();
        frame.extend_from_slice(headers);
        frame.extend_from_slice(shared.frame.get(payload..).unwrap_or(&[]));
        if let Some(old) = self.snapshots.give(shared) {
            out.pool.give(old);
        }
        frame
    }

    /// Queue of the packet, `None` if the port has no such queue.
    fn priority(&self) -> Option<u8> {
        let priority = self.get(self.program.code.intrinsics.priority);
        (priority < u64::from(self.config.queues_per_port)).then_some(priority as u8)
    }

    /// Bytes to which the packet is cut.
    fn limit(&self) -> usize {
        match self.slot(packet_slot::TRUNCATE) {
            0 => usize::MAX,
            limit => usize::try_from(limit - 1).unwrap_or(usize::MAX),
        }
    }

    fn drop_frame(&mut self, frame: Frame, reason: DropReason, out: &mut Outputs) {
        out.pool.give(frame);
        out.items.push(Output::Drop(reason));
    }

    fn drop_packet(&mut self, shared: Arc<Snapshot>, reason: DropReason, out: &mut Outputs) {
        if let Some(frame) = self.snapshots.give(shared) {
            out.pool.give(frame);
        }
        out.items.push(Output::Drop(reason));
    }

    fn slot(&self, slot: Slot) -> u64 {
        self.state.regs[slot as usize]
    }

    fn set_slot(&mut self, slot: Slot, value: u64) {
        self.state.regs[slot as usize] = value;
    }

    fn get(&self, field: Option<FieldRef>) -> u64 {
        field.map_or(0, |field| self.state.regs[field.slot as usize])
    }

    fn set(&mut self, field: Option<FieldRef>, value: u64) {
        if let Some(field) = field {
            self.state.regs[field.slot as usize] = value & mask64(field.bits.min(64));
        }
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
