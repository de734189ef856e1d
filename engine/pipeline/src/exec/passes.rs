//! The two passes that a packet makes. The order of events is that of simple_switch's ingress and
//! egress threads.

use crate::code::ir::Pc;
use crate::code::layout::{packet_slot, Regs, Slot};
use crate::code::program::Program;
use crate::exec::boundary::{Fate, Slots};
use crate::exec::config::{Execution, SwitchConfig};
use crate::exec::context::{Context, Outcome, Wire};
use crate::exec::executable::Executable;
use crate::exec::foresight::Foresight;
use crate::exec::machine::interpret;
use crate::exec::native::{NativeCode, Views};
use crate::exec::{boundary, wire};
use crate::numbers::words::to_bytes;
use crate::packets::frame::Frame;
use crate::packets::output::{DropReason, Output, Outputs};
use crate::packets::packet::{EgressPacket, IngressPacket, InstanceType, Preserved, QueueTimes};
use crate::packets::snapshot::{Share, Snapshot, SnapshotPool};
use crate::state::cells::State;
use crate::state::replication::Replication;
use crate::vocabulary::entries::Replica;

/// The part of a switch that changes; the program stays outside, so that a pass can borrow both.
pub(crate) struct Engine {
    pub config: SwitchConfig,
    /// Slots of the packet in work, constants included.
    pub regs: Box<Regs>,
    pub state: State,
    /// The arrays of `state` for native code; they never move.
    pub views: Views,
    pub execution: Execution,
    pub replication: Replication,
    pub snapshots: SnapshotPool,
    /// Buffers for preserved metadata.
    pub preserved: Vec<Vec<(u16, u64)>>,
    /// Packet slots put aside while a clone is parsed.
    pub aside: Vec<u64>,
    /// Headers that the deparser writes.
    pub headers: Vec<u8>,
    /// Copies of the multicast group in work.
    pub copies: Vec<Replica>,
    /// Guesses which part of `state` the next packets touch.
    pub foresight: Foresight,
    /// Passes that have begun: slots are those of the packet of the last one.
    pub passes: u64,
}

/// Which packets for queues an ingress pass copies out of the slots, so that other passes may come before their egress.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    All,
    /// All, but for one that is the only output of its pass.
    AllButTheOnlyOne,
}

impl Engine {
    /// Parser, ingress control and the decision where the packet goes. `ingress_timestamp_ps` is the
    /// `ingress_global_timestamp` of P4 (of frames from a port only: simple_switch gives 0 after resubmit and
    /// recirculate), `now_ps` drives meters and idle timeouts.
    ///
    /// The result is what becomes of the packet itself, after all that is in `out`; copies of it are there, too.
    pub fn ingress(
        &mut self,
        executable: &Executable,
        packet: IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        keeping: Keeping,
        out: &mut Outputs,
    ) -> Option<Output> {
        self.passes += 1;
        if let Some(reason) = boundary::refused(&self.config, &packet) {
            return Some(Engine::dropped(packet.frame, reason, out));
        }
        let program = &executable.program;
        let code = &program.code;
        self.clear(executable);
        let charged =
            boundary::start_ingress(&mut *self.regs, code, &self.config, &packet, ingress_timestamp_ps);
        let is_new = packet.instance_type == InstanceType::Normal;
        let IngressPacket { port, frame, preserved, .. } = packet;
        self.keep_buffer(preserved);

        let Some(payload) = self.parse(executable, &frame, now_ps) else {
            return Some(Engine::dropped(frame, DropReason::LoopLimit, out));
        };
        let wire = Wire { frame: &frame, cursor: payload };
        let (outcome, _) = self.run(executable, wire, code.ingress_entry, now_ps);
        if is_new {
            self.foresight.learn(&frame, &self.regs);
        }
        if outcome == Outcome::Runaway {
            return Some(Engine::dropped(frame, DropReason::LoopLimit, out));
        }
        let Ok(requests) = boundary::requests(&*self.regs);
        if requests.failed {
            return Some(Engine::dropped(frame, DropReason::AssertionFailed, out));
        }
        self.set_slot(packet_slot::EXIT, 0);
        if requests.clone != 0 {
            self.clone_ingress(executable, &frame, port, charged, now_ps, out);
        }
        let Ok(learn) = boundary::learn_list(&*self.regs);
        if learn != 0 {
            self.digest(program, learn, out);
        }
        let Ok(fate) = boundary::fate(&mut *self.regs, code, &self.config);
        Some(match fate {
            Fate::Drop(reason) => Engine::dropped(frame, reason, out),
            Fate::Resubmit { list } => {
                let mut preserved = self.preserve(program, list);
                preserved.resubmits = self.slot(packet_slot::PASSES) as u32 + 1;
                preserved.charged_bytes = Some(charged as u32);
                Output::Reenter(IngressPacket {
                    port,
                    frame,
                    instance_type: InstanceType::Resubmitted,
                    preserved,
                })
            }
            Fate::Replicate { group } => match self.replication.copies(group) {
                Some(copies) if !copies.is_empty() => {
                    self.copies.clear();
                    self.copies.extend_from_slice(copies);
                    self.replicate(program, frame, payload, InstanceType::Replicated, None, out);
                    return None;
                }
                _ => Engine::dropped(frame, DropReason::EmptyMulticastGroup, out),
            },
            Fate::Queue { port: egress_port, priority } => {
                let length_bytes = self.slot(packet_slot::LENGTH) as u32;
                let stays = keeping == Keeping::AllButTheOnlyOne && out.items.is_empty();
                let slots = if stays { &[][..] } else { &self.regs[..program.layout.slots] };
                let snapshot = self.snapshots.make(slots, frame, payload, self.passes);
                Output::Enqueue(EgressPacket {
                    egress_port,
                    egress_rid: 0,
                    priority,
                    instance_type: InstanceType::Normal,
                    length_bytes,
                    replicated: false,
                    snapshot,
                })
            }
        })
    }

    /// Egress control and deparser, clone, recirculate. The result is what becomes of the packet itself, after all that
    /// is in `out`.
    pub fn egress(
        &mut self,
        executable: &Executable,
        packet: EgressPacket,
        times: QueueTimes,
        egress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Output {
        let program = &executable.program;
        let code = &program.code;
        let EgressPacket { egress_port, egress_rid, priority, replicated, snapshot: share, .. } = packet;
        let (shared, alone) = self.snapshots.lend(&share);
        // The next pass after its ingress finds the slots as that has left them.
        if shared.pass != self.passes {
            assert!(!shared.slots.is_empty(), "a packet that is not kept goes on with the next pass");
            self.restore(executable, &shared.slots);
        }
        self.passes += 1;
        if replicated {
            self.regs.set(code.intrinsics.egress_rid, u64::from(egress_rid));
        }
        let Ok(()) = boundary::start_egress(
            &mut *self.regs,
            code,
            &self.config,
            egress_port,
            priority,
            &times,
            egress_timestamp_ps,
        );

        let wire = Wire { frame: &shared.frame, cursor: shared.payload };
        let (outcome, _) = self.run(executable, wire, code.egress_entry, now_ps);
        if outcome == Outcome::Runaway {
            return self.dropped_packet(share, shared, DropReason::LoopLimit, out);
        }
        let Ok(requests) = boundary::requests(&*self.regs);
        if requests.failed {
            return self.dropped_packet(share, shared, DropReason::AssertionFailed, out);
        }
        if requests.clone != 0 {
            self.clone_egress(program, &shared, out);
        }
        let Ok(dropped) = boundary::dropped_in_egress(&*self.regs, code, &self.config);
        if dropped {
            return self.dropped_packet(share, shared, DropReason::Egress, out);
        }
        let wire = Wire { frame: &shared.frame, cursor: shared.payload };
        let (outcome, _) = self.run(executable, wire, code.deparser_entry, now_ps);
        if outcome == Outcome::Runaway {
            return self.dropped_packet(share, shared, DropReason::LoopLimit, out);
        }
        let mut frame = self.deparse(executable, share, shared, alone, out);
        let Ok(list) = boundary::recirculate_list(&*self.regs);
        if list != 0 {
            let preserved = self.preserve(program, list);
            return Output::Reenter(IngressPacket {
                port: egress_port,
                frame,
                instance_type: InstanceType::Recirculated,
                preserved,
            });
        }
        // simple_switch cuts what it sends, and only that: frames that recirculate, resubmitted
        // frames, clones and replicas are new packets, which no limit binds yet.
        frame.truncate(self.limit());
        Output::Transmit { port: egress_port, frame }
    }

    /// Copies a packet out of the slots where that was not done.
    pub fn keep(&mut self, executable: &Executable, packet: &EgressPacket) {
        let Some(snapshot) = self.snapshots.alone(&packet.snapshot) else { return };
        if snapshot.slots.is_empty() {
            assert_eq!(snapshot.pass, self.passes, "a packet is kept before the next pass");
            snapshot.slots.extend_from_slice(&self.regs[..executable.program.layout.slots]);
        }
    }

    /// Tells native code where a table leads now; `entry` is the one that is new or has changed, `None` where one went
    /// or the default changed.
    pub fn table_changed(&mut self, executable: &Executable, table: usize, entry: Option<u32>) {
        if let Some(native) = &executable.native {
            let (state, code) = (&self.state.tables[table], &executable.program.code);
            self.views.table_changed(native, code, table, state, entry);
        }
    }

    /// Returns the buffers of a packet that the target drops before egress.
    pub fn discard(&mut self, packet: EgressPacket, out: &mut Outputs) {
        if let Some(frame) = self.snapshots.give(packet.snapshot) {
            out.pool.give(frame);
        }
    }

    /// Sets the slots to those of a new packet, as far as the program reads them.
    fn clear(&mut self, executable: &Executable) {
        if !self.native(executable).is_some_and(|native| native.start(&mut self.regs)) {
            let image = &executable.program.code.image;
            self.regs[..image.len()].copy_from_slice(image);
        }
    }

    /// Brings back the slots of a packet for its egress, as far as the program reads them from there on.
    fn restore(&mut self, executable: &Executable, slots: &[u64]) {
        if !self.native(executable).is_some_and(|native| native.restore(&mut self.regs, slots)) {
            self.regs[..slots.len()].copy_from_slice(slots);
        }
    }

    /// The machine code, where it is in use.
    fn native<'e>(&self, executable: &'e Executable) -> Option<&'e NativeCode> {
        executable.native.as_ref().filter(|_| self.execution == Execution::Native)
    }

    /// Runs a part of the program; gives the place in the frame where it stopped, too.
    fn run(&mut self, executable: &Executable, wire: Wire, entry: Pc, now_ps: u64) -> (Outcome, usize) {
        let program = &executable.program;
        let native = self.native(executable);
        let mut context =
            Context { program, regs: &mut self.regs, state: &mut self.state, wire, now_ps, variable_bits: 0 };
        let outcome = match native {
            Some(native) => native.run(&mut context, &self.views, entry),
            None => interpret(&mut context, entry),
        };
        (outcome, context.wire.cursor)
    }

    /// Runs the parser and stores its verdict; the offset of the payload, `None` for a loop.
    fn parse(&mut self, executable: &Executable, frame: &[u8], now_ps: u64) -> Option<usize> {
        let program = &executable.program;
        let code = &program.code;
        boundary::start_parser(&mut *self.regs, code);
        let wire = Wire { frame, cursor: 0 };
        let (outcome, cursor) = self.run(executable, wire, code.parser_entry, now_ps);
        if outcome == Outcome::Runaway {
            return None;
        }
        let Ok(()) = boundary::end_parser(&mut *self.regs, code);
        Some(cursor)
    }

    /// Clone of the frame as it came in, parsed again, with the metadata of the field list.
    fn clone_ingress(
        &mut self,
        executable: &Executable,
        frame: &[u8],
        port: u16,
        charged: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        let program = &executable.program;
        let (session, list) = self.take_clone();
        if !self.begin_clone(session, out) {
            return;
        }
        let fields = &program.code.intrinsics;
        let slots = program.layout.slots;
        let preserved = self.preserve(program, list);
        let mut aside = std::mem::take(&mut self.aside);
        aside.clear();
        aside.extend_from_slice(&self.regs[..slots]);
        self.clear(executable);
        boundary::start_pass(&mut *self.regs, &self.config, frame.len() as u64, charged);
        self.regs.set(fields.ingress_port, u64::from(port));
        let copy = out.pool.copy_of(frame);
        match self.parse(executable, &copy, now_ps) {
            Some(payload) => {
                self.reset_metadata(program);
                for &(slot, value) in &preserved.fields {
                    self.regs[slot as usize] = value;
                }
                self.regs.set(fields.instance_type, InstanceType::IngressClone as u64);
                self.replicate(program, copy, payload, InstanceType::IngressClone, Some(session), out);
            }
            None => Engine::drop_copy(copy, DropReason::LoopLimit, out),
        }
        self.preserved.push(preserved.fields);
        self.go_on(aside);
    }

    /// Clone of the packet as egress leaves it, with the metadata of the field list.
    fn clone_egress(&mut self, program: &Program, shared: &Snapshot, out: &mut Outputs) {
        let (session, list) = self.take_clone();
        if !self.begin_clone(session, out) {
            return;
        }
        let slots = program.layout.slots;
        let preserved = self.preserve(program, list);
        let mut aside = std::mem::take(&mut self.aside);
        aside.clear();
        aside.extend_from_slice(&self.regs[..slots]);
        self.reset_metadata(program);
        for &(slot, value) in &preserved.fields {
            self.regs[slot as usize] = value;
        }
        self.set_slot(packet_slot::EXIT, 0);
        self.regs.set(program.code.intrinsics.instance_type, InstanceType::EgressClone as u64);
        let copy = out.pool.copy_of(&shared.frame);
        self.replicate(program, copy, shared.payload, InstanceType::EgressClone, Some(session), out);
        self.preserved.push(preserved.fields);
        self.go_on(aside);
    }

    /// Brings the packet back that was put aside for its clone. The slots are no longer those of the clone, so that its
    /// pass is over.
    fn go_on(&mut self, aside: Vec<u64>) {
        self.regs[..aside.len()].copy_from_slice(&aside);
        self.aside = aside;
        self.passes += 1;
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
                out.items.push(Output::Drop(DropReason::UnknownCloneSession));
                false
            }
        }
    }

    /// Queues one packet per entry of `self.copies`, all of them sharing the present state.
    fn replicate(
        &mut self,
        program: &Program,
        frame: Frame,
        payload: usize,
        instance_type: InstanceType,
        session: Option<u64>,
        out: &mut Outputs,
    ) {
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
        let Ok(priority) = boundary::priority(&*self.regs, &program.code, &self.config);
        let priority = match priority {
            _ if class != 0 && class < self.config.queues_per_port => class,
            Some(priority) => priority,
            None => return Engine::drop_copy(frame, DropReason::UnknownQueue, out),
        };
        let length_bytes = self.slot(packet_slot::LENGTH) as u32;
        let slots = program.layout.slots;
        let snapshot = self.snapshots.make(&self.regs[..slots], frame, payload, self.passes);
        out.items.extend(self.copies.iter().map(|copy| {
            Output::Enqueue(EgressPacket {
                egress_port: copy.port,
                egress_rid: copy.instance,
                priority,
                instance_type,
                length_bytes,
                replicated: true,
                snapshot: self.snapshots.share(&snapshot),
            })
        }));
        if let Some(frame) = self.snapshots.give(snapshot) {
            out.pool.give(frame);
        }
    }

    fn digest(&mut self, program: &Program, list: u32, out: &mut Outputs) {
        let Some(plan) = program.code.digests.iter().find(|plan| plan.id == list) else {
            return;
        };
        let regs = &self.regs;
        let fields = plan
            .fields
            .iter()
            .map(|field| {
                let from = field.slot as usize;
                to_bytes(&regs[from..from + field.limbs()], field.bits)
            })
            .collect();
        out.items.push(Output::Digest { digest: plan.digest, fields });
    }

    /// Takes the buffer of metadata that a pass has taken over.
    fn keep_buffer(&mut self, preserved: Preserved) {
        let mut fields = preserved.fields;
        // Frames from a port bring no buffer.
        if fields.capacity() > 0 {
            fields.clear();
            self.preserved.push(fields);
        }
    }

    /// Values of the fields of a field list.
    fn preserve(&mut self, program: &Program, list: u32) -> Preserved {
        let mut values = self.preserved.pop().unwrap_or_default();
        values.clear();
        boundary::kept_slots(&program.code, list)
            .for_each(|slot| values.push((slot, self.regs[slot as usize])));
        Preserved { fields: values, ..Preserved::default() }
    }

    fn reset_metadata(&mut self, program: &Program) {
        for &(first, count) in &program.code.metadata {
            let first = first as usize;
            self.regs[first..first + count as usize].fill(0);
        }
    }

    /// Writes the valid headers to the start of `self.headers`; gives their length.
    fn write_headers(&mut self, executable: &Executable) -> usize {
        let program = &executable.program;
        let native = executable.native.as_ref().filter(|_| self.execution == Execution::Native);
        if let Some(length) = native.and_then(|native| native.emit(&mut self.regs, &mut self.headers)) {
            return length;
        }
        self.headers.clear();
        for &header in &program.code.deparse_order {
            let place = &program.layout.headers[header as usize];
            if self.regs[place.base as usize] != 0 {
                wire::write(&program.layout.shapes[place.shape], place.base, &self.regs, &mut self.headers);
            }
        }
        self.headers.len()
    }

    /// Writes the valid headers in front of the payload.
    fn deparse(
        &mut self,
        executable: &Executable,
        share: Share,
        mut snapshot: Box<Snapshot>,
        alone: bool,
        out: &mut Outputs,
    ) -> Frame {
        let length = self.write_headers(executable);
        let headers = &self.headers[..length];
        let payload = snapshot.payload;
        if length == payload && alone {
            // The last holder of the packet changes its headers in place.
            snapshot.frame[..payload].copy_from_slice(headers);
            return self.snapshots.end(share, snapshot).unwrap_or_default();
        }
        let mut frame = out.pool.take();
        frame.extend_from_slice(headers);
        frame.extend_from_slice(snapshot.frame.get(payload..).unwrap_or(&[]));
        if let Some(old) = self.snapshots.end(share, snapshot) {
            out.pool.give(old);
        }
        frame
    }

    /// Bytes to which the packet is cut.
    fn limit(&self) -> usize {
        crate::exec::context::length_limit(&self.regs)
    }

    /// Takes the buffer of a packet that a pass ends.
    fn dropped(frame: Frame, reason: DropReason, out: &mut Outputs) -> Output {
        out.pool.give(frame);
        Output::Drop(reason)
    }

    /// Ends a copy of a packet.
    fn drop_copy(frame: Frame, reason: DropReason, out: &mut Outputs) {
        let dropped = Engine::dropped(frame, reason, out);
        out.items.push(dropped);
    }

    fn dropped_packet(
        &mut self,
        share: Share,
        snapshot: Box<Snapshot>,
        reason: DropReason,
        out: &mut Outputs,
    ) -> Output {
        if let Some(frame) = self.snapshots.end(share, snapshot) {
            out.pool.give(frame);
        }
        Output::Drop(reason)
    }

    fn slot(&self, slot: Slot) -> u64 {
        self.regs[slot as usize]
    }

    fn set_slot(&mut self, slot: Slot, value: u64) {
        self.regs[slot as usize] = value;
    }
}
