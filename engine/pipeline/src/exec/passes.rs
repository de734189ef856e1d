//! The two passes that a packet makes. The order of events is that of simple_switch's ingress and
//! egress threads.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::code::ir::Pc;
use crate::code::layout::{packet_slot, Regs, Slot};
use crate::code::program::Program;
use crate::exec::boundary::{Fate, Slots};
use crate::exec::config::{Execution, SwitchConfig};
use crate::exec::context::{Context, Egressed, Ended, Outcome, Run, Wire};
use crate::exec::executable::Executable;
use crate::exec::machine::interpret;
use crate::exec::native::{NativeCode, Views};
use crate::exec::row_prefetch::RowPrefetcher;
use crate::exec::trace::{Trace, Tracer};
use crate::exec::{boundary, wire};
use crate::numbers::words::to_bytes;
use crate::packets::frame::Frame;
use crate::packets::output::{DropReason, Output, Outputs};
use crate::packets::packet::{Copies, EgressPacket, EgressTimes, IngressPacket, InstanceType, Preserved};
use crate::packets::snapshot::SnapshotPool;
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
    pub row_prefetcher: RowPrefetcher,
    /// Where interpreted passes are told, if anybody wants to know.
    pub trace: Option<Arc<Trace>>,
    /// Passes that have begun: slots are those of the packet of the last one.
    pub passes: u64,
}

/// A packet between its ingress and its egress: its metadata is in the slots, up to the next pass, and its frame where it
/// was before.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub port: u16,
    pub priority: u8,
    /// Offset of the first byte that the parser left alone.
    payload: usize,
}

/// The end of an ingress pass for its packet, after all that is in the outputs.
pub(crate) enum Ingressed {
    /// Copies of it: [`Engine::end_copies`] comes when they are handed out.
    Replicated(Copies),
    /// It goes to the queue of a port: [`Engine::egress_of_held`] or [`Engine::keep`] comes before the next pass, or its
    /// frame is dropped.
    Held(Held),
    Dropped(DropReason),
    /// The outputs tell all.
    Ended,
    Resubmitted(IngressPacket),
}

impl Engine {
    /// Parser, ingress control and the decision where the packet goes. `ingress_timestamp_ps` is the
    /// `ingress_global_timestamp` of P4 (of frames from a port only: simple_switch gives 0 after resubmit and
    /// recirculate), `now_ps` drives meters and idle timeouts.
    ///
    /// Takes what is in `packet`, but for the frame of a packet that is held: a copy of all of it would take as long as a
    /// good part of a short pass.
    // Compiled into the target, as what follows depends on what it decides last.
    #[inline(always)]
    pub fn ingress(
        &mut self,
        executable: &Executable,
        packet: &mut IngressPacket,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        self.passes += 1;
        if let Some(reason) = boundary::refused(&self.config, packet) {
            return Engine::dropped_in_ingress(&mut packet.frame, reason, out);
        }
        self.start(executable);
        let (regs, code) = (&mut *self.regs, &executable.program.code);
        let charged = boundary::start_ingress(regs, code, &self.config, packet, ingress_timestamp_ps);
        self.keep_buffer(&mut packet.preserved);
        let IngressPacket { port, ref mut frame, instance_type, .. } = *packet;
        let (ended, payload) = self.parse_and_control(executable, frame, now_ps);
        if instance_type == InstanceType::Normal {
            self.row_prefetcher.learn(frame, &self.regs);
        }
        self.end_ingress(executable, (ended, payload), port, frame, charged, now_ps, out)
    }

    /// As [`Engine::ingress`], of a frame from a port.
    #[inline(always)]
    pub fn ingress_of_frame(
        &mut self,
        executable: &Executable,
        port: u16,
        frame: &mut Frame,
        ingress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        self.passes += 1;
        if frame.len() > self.config.max_frame_bytes {
            return Engine::dropped_in_ingress(frame, DropReason::Oversize, out);
        }
        let length = frame.len() as u64;
        let ended = if let Some(native) = self.native(executable) {
            let stamp = self.config.tick.count(ingress_timestamp_ps);
            if !native.sets_slots() {
                self.clear(executable);
            }
            native.run_frame(self.natively(&executable.program, now_ps), frame, port, stamp)
        } else {
            self.clear(executable);
            let (regs, code) = (&mut *self.regs, &executable.program.code);
            boundary::start_frame(regs, code, &self.config, port, length, ingress_timestamp_ps);
            self.parse_and_control(executable, frame, now_ps)
        };
        self.row_prefetcher.learn(frame, &self.regs);
        self.end_ingress(executable, ended, port, frame, length, now_ps, out)
    }

    /// Decides on a packet after the ingress control; `charged` is its length for counters and meters.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn end_ingress(
        &mut self,
        executable: &Executable,
        (ended, payload): (Ended, usize),
        port: u16,
        frame: &mut Frame,
        charged: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        let program = &executable.program;
        match ended {
            Ended::Dropped => return Engine::dropped_in_ingress(frame, DropReason::Ingress, out),
            Ended::Queued { port, priority } => {
                return Ingressed::Held(Held { port, priority, payload });
            }
            Ended::Replicates => {
                let Ok(group) = self.regs.get(program.code.intrinsics.multicast_group);
                return self.replicate_to(program, group, frame, payload, out);
            }
            Ended::Runaway => return Engine::dropped_in_ingress(frame, DropReason::LoopLimit, out),
            Ended::Undecided => {}
        }
        self.carry_out(executable, port, frame, payload, charged, now_ps, out)
    }

    /// Carries out the requests of an ingress control, and decides where the packet goes.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn carry_out(
        &mut self,
        executable: &Executable,
        port: u16,
        frame: &mut Frame,
        payload: usize,
        charged: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) -> Ingressed {
        let program = &executable.program;
        let Ok(requests) = boundary::requests(&*self.regs);
        if requests.failed {
            return Engine::dropped_in_ingress(frame, DropReason::AssertionFailed, out);
        }
        self.set_slot(packet_slot::EXIT, 0);
        if requests.clone != 0 {
            self.clone_ingress(executable, frame, port, charged, now_ps, out);
        }
        let Ok(learn) = boundary::learn_list(&*self.regs);
        if learn != 0 {
            self.digest(program, learn, out);
        }
        let Ok(fate) = boundary::fate(&mut *self.regs, &program.code, &self.config);
        match fate {
            Fate::Drop(reason) => Engine::dropped_in_ingress(frame, reason, out),
            Fate::Resubmit { list } => {
                let mut preserved = self.preserve(program, list);
                preserved.resubmits = self.slot(packet_slot::PASSES) as u32 + 1;
                preserved.charged_bytes = NonZeroU32::new(charged as u32);
                let (frame, instance_type) = (std::mem::take(frame), InstanceType::Resubmitted);
                Ingressed::Resubmitted(IngressPacket { port, frame, instance_type, preserved })
            }
            Fate::Replicate { group } => self.replicate_to(program, group, frame, payload, out),
            Fate::Queue { port, priority } => Ingressed::Held(Held { port, priority, payload }),
        }
    }

    /// Copies for the members of a multicast group.
    fn replicate_to(
        &mut self,
        program: &Program,
        group: u64,
        frame: &mut Frame,
        payload: usize,
        out: &mut Outputs,
    ) -> Ingressed {
        match self.replication.copies(group) {
            Some(copies) if !copies.is_empty() => {
                self.copies.clear();
                self.copies.extend_from_slice(copies);
                let frame = std::mem::take(frame);
                let copies = self.replicate(program, frame, payload, InstanceType::Replicated, None, out);
                copies.map_or(Ingressed::Ended, Ingressed::Replicated)
            }
            _ => Engine::dropped_in_ingress(frame, DropReason::EmptyMulticastGroup, out),
        }
    }

    /// Lets the packet that is held outlast the next pass.
    pub fn keep(&mut self, executable: &Executable, held: Held, frame: Frame) -> EgressPacket {
        let Held { port: egress_port, priority, payload } = held;
        let slots = &self.regs[..executable.program.layout.slots];
        EgressPacket {
            egress_port,
            egress_rid: 0,
            priority,
            instance_type: InstanceType::Normal,
            length_bytes: self.slot(packet_slot::LENGTH) as u32,
            replicated: false,
            snapshot: self.snapshots.make(slots, frame, payload, self.passes, 1),
        }
    }

    /// Egress control and deparser, clone, recirculate, of a packet from a queue. What becomes of the packet, after all that
    /// is in `out`, is the result; `None` where it leaves through the port as `left`.
    pub fn egress(
        &mut self,
        executable: &Executable,
        packet: EgressPacket,
        times: &EgressTimes,
        out: &mut Outputs,
        left: &mut Frame,
    ) -> Option<Output> {
        let EgressPacket { egress_port, egress_rid, priority, replicated, snapshot: share, .. } = packet;
        let (mut snapshot, alone) = self.snapshots.lend(&share);
        // The next pass after its ingress finds the slots as that has left them.
        if snapshot.pass != self.passes {
            self.restore(executable, &snapshot.slots, snapshot.egressed == self.passes);
        }
        snapshot.egressed = self.passes + 1;
        if replicated {
            self.regs.set(executable.program.code.intrinsics.egress_rid, u64::from(egress_rid));
        }
        let (frame, payload) = (&snapshot.frame, snapshot.payload);
        let headers =
            match self.egress_of_slots(executable, frame, payload, egress_port, priority, times, out) {
                Ok(headers) => headers,
                Err(reason) => {
                    if let Some(frame) = self.snapshots.end(share, snapshot) {
                        out.pool.give(frame);
                    }
                    return Some(Output::Drop(reason));
                }
            };
        if alone {
            *left = self.snapshots.end(share, snapshot).unwrap_or_default();
            self.put_headers(headers, left, payload, out);
        } else {
            *left = self.copy_with_headers(headers, frame, payload, out);
            self.snapshots.end(share, snapshot);
        }
        self.leave(&executable.program, egress_port, left)
    }

    /// As [`Engine::egress`], of the packet of the last ingress pass, whose frame is what leaves.
    #[inline(always)]
    pub fn egress_of_held(
        &mut self,
        executable: &Executable,
        held: Held,
        frame: &mut Frame,
        times: &EgressTimes,
        out: &mut Outputs,
    ) -> Option<Output> {
        let Held { port, priority, payload } = held;
        match self.egress_of_slots(executable, frame, payload, port, priority, times, out) {
            Ok(headers) => {
                self.put_headers(headers, frame, payload, out);
                self.leave(&executable.program, port, frame)
            }
            Err(reason) => Some(Engine::dropped(std::mem::take(frame), reason, out)),
        }
    }

    /// Egress control and deparser of the packet in the slots: bytes of its headers, which are in `headers`.
    // Frame and payload are no `Wire` here: a copy of one that was written just before makes the processor wait.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn egress_of_slots(
        &mut self,
        executable: &Executable,
        frame: &[u8],
        payload: usize,
        port: u16,
        priority: u8,
        times: &EgressTimes,
        out: &mut Outputs,
    ) -> Result<usize, DropReason> {
        let program = &executable.program;
        let code = &program.code;
        self.passes += 1;
        let Ok(()) = boundary::start_egress(
            &mut *self.regs,
            code,
            &self.config,
            port,
            priority,
            &times.queue,
            times.stamp_ps,
        );
        match self.egress_in_one_go(executable, frame, payload, times.now_ps) {
            Egressed::Headers(bytes) => return Ok(bytes),
            Egressed::Runaway => return Err(DropReason::LoopLimit),
            Egressed::Stopped => {}
        }
        let wire = Wire { frame, cursor: payload };
        let Ok(requests) = boundary::requests(&*self.regs);
        if requests.failed {
            return Err(DropReason::AssertionFailed);
        }
        if requests.clone != 0 {
            self.clone_egress(program, wire, out);
        }
        let Ok(dropped) = boundary::dropped_in_egress(&*self.regs, code, &self.config);
        if dropped {
            return Err(DropReason::Egress);
        }
        let (outcome, _) = self.run(executable, wire, code.deparser_entry, times.now_ps);
        if outcome == Outcome::Runaway {
            return Err(DropReason::LoopLimit);
        }
        Ok(self.write_headers(executable))
    }

    /// A packet after its deparser: out of its port, or back to ingress.
    #[inline(always)]
    fn leave(&mut self, program: &Program, port: u16, frame: &mut Frame) -> Option<Output> {
        let Ok(list) = boundary::recirculate_list(&*self.regs);
        if list != 0 {
            let preserved = self.preserve(program, list);
            let (frame, instance_type) = (std::mem::take(frame), InstanceType::Recirculated);
            return Some(Output::Reenter(IngressPacket { port, frame, instance_type, preserved }));
        }
        // simple_switch cuts what it sends, and only that: frames that recirculate, resubmitted
        // frames, clones and replicas are new packets, which no limit binds yet.
        frame.truncate(self.limit());
        None
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

    /// Sets the slots to those of a new packet, as far as parser and ingress read them.
    fn start(&mut self, executable: &Executable) {
        if !self.native(executable).is_some_and(|native| native.start(&mut self.regs)) {
            self.clear(executable);
        }
    }

    /// Sets all slots to those of a new packet.
    pub(super) fn clear(&mut self, executable: &Executable) {
        let image = &executable.program.code.image;
        self.regs[..image.len()].copy_from_slice(image);
    }

    /// Brings back the slots of a packet for its egress, as far as the program reads them from there on; `again`: the last
    /// pass has been the egress of another copy of the packet.
    fn restore(&mut self, executable: &Executable, slots: &[u64], again: bool) {
        if !self.native(executable).is_some_and(|native| native.restore(&mut self.regs, slots, again)) {
            self.regs[..slots.len()].copy_from_slice(slots);
        }
    }

    /// The machine code, where it is in use.
    fn native<'e>(&self, executable: &'e Executable) -> Option<&'e NativeCode> {
        executable.native.as_ref().filter(|_| self.execution == Execution::Native)
    }

    /// Runs a part of the program; gives the place in the frame where it stopped, too.
    fn run(&mut self, executable: &Executable, wire: Wire, entry: Pc, now_ps: u64) -> (Outcome, usize) {
        if let Some(native) = self.native(executable) {
            let natively = native.run(self.natively(&executable.program, now_ps), wire, entry);
            if let Some(ended) = natively {
                return ended;
            }
        }
        let Engine { regs, state, trace, .. } = self;
        let program = &executable.program;
        let mut context = Context { program, regs, state, wire, now_ps, variable_bits: 0 };
        let outcome = match trace.clone() {
            None => interpret(&mut context, entry, &mut ()),
            Some(trace) => {
                let mut tracer = Tracer::new(&trace, &context, entry);
                interpret(&mut context, entry, &mut tracer)
            }
        };
        (outcome, context.wire.cursor)
    }

    /// Data for machine code.
    #[inline(always)]
    fn natively<'r>(&'r mut self, program: &'r Program, now_ps: u64) -> Run<'r, Views> {
        let Engine { regs, state, views, .. } = self;
        Run { program, regs, state, views, now_ps }
    }

    /// Runs the parser and the ingress control; gives the offset of the payload, too.
    #[inline(always)]
    fn parse_and_control(&mut self, executable: &Executable, frame: &[u8], now_ps: u64) -> (Ended, usize) {
        if let Some(native) = self.native(executable) {
            boundary::start_parser(&mut *self.regs, &executable.program.code);
            return native.run_ingress(self.natively(&executable.program, now_ps), frame);
        }
        let Some(payload) = self.parse(executable, frame, now_ps) else { return (Ended::Runaway, 0) };
        let wire = Wire { frame, cursor: payload };
        let (outcome, _) = self.run(executable, wire, executable.program.code.ingress_entry, now_ps);
        (if outcome == Outcome::Done { Ended::Undecided } else { Ended::Runaway }, payload)
    }

    /// Runs the egress control, and deparser and headers where that is possible.
    #[inline(always)]
    fn egress_in_one_go(
        &mut self,
        executable: &Executable,
        frame: &[u8],
        payload: usize,
        now_ps: u64,
    ) -> Egressed {
        let (program, entry) = (&executable.program, executable.program.code.egress_entry);
        if let Some(native) = self.native(executable) {
            let Engine { regs, state, views, headers, .. } = &mut *self;
            let run = Run { program, regs, state, views, now_ps };
            if let Some(egressed) = native.run_egress(run, frame, payload, headers) {
                return egressed;
            }
        }
        match self.run(executable, Wire { frame, cursor: payload }, entry, now_ps) {
            (Outcome::Done, _) => Egressed::Stopped,
            (Outcome::Runaway, _) => Egressed::Runaway,
        }
    }

    /// Runs the parser and stores its verdict; the offset of the payload, `None` for a loop.
    pub(super) fn parse(&mut self, executable: &Executable, frame: &[u8], now_ps: u64) -> Option<usize> {
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
    fn keep_buffer(&mut self, preserved: &mut Preserved) {
        // Frames from a port bring no buffer.
        if preserved.fields.capacity() > 0 {
            let mut fields = std::mem::take(&mut preserved.fields);
            fields.clear();
            self.preserved.push(fields);
        }
    }

    /// Values of the fields of a field list.
    pub(super) fn preserve(&mut self, program: &Program, list: u32) -> Preserved {
        let mut values = self.preserved.pop().unwrap_or_default();
        values.clear();
        boundary::kept_slots(&program.code, list)
            .for_each(|slot| values.push((slot, self.regs[slot as usize])));
        Preserved { fields: values, ..Preserved::default() }
    }

    /// Writes the valid headers to the start of `self.headers`; gives their length.
    fn write_headers(&mut self, executable: &Executable) -> usize {
        let program = &executable.program;
        self.headers.clear();
        for &header in &program.code.deparse_order {
            if program.code.is_valid(&program.layout, &self.regs, header) {
                let place = &program.layout.headers[header as usize];
                wire::write(&program.layout.shapes[place.shape], place.base, &self.regs, &mut self.headers);
            }
        }
        self.headers.len()
    }

    /// Puts the headers that were written in front of the payload; changes the frame in place where they have its length.
    #[inline(always)]
    fn put_headers(&self, headers: usize, frame: &mut Frame, payload: usize, out: &mut Outputs) {
        if headers == payload {
            frame[..payload].copy_from_slice(&self.headers[..headers]);
        } else {
            let other = self.copy_with_headers(headers, frame, payload, out);
            out.pool.give(std::mem::replace(frame, other));
        }
    }

    /// As [`Engine::put_headers`], in a frame of its own.
    fn copy_with_headers(&self, headers: usize, frame: &Frame, payload: usize, out: &mut Outputs) -> Frame {
        let mut copy = out.pool.take();
        copy.extend_from_slice(&self.headers[..headers]);
        copy.extend_from_slice(frame.get(payload..).unwrap_or(&[]));
        copy
    }

    /// Bytes to which the packet is cut.
    fn limit(&self) -> usize {
        crate::exec::context::length_limit(&self.regs)
    }

    /// Takes the buffer of a packet that a pass ends.
    pub(super) fn dropped(frame: Frame, reason: DropReason, out: &mut Outputs) -> Output {
        out.pool.give(frame);
        Output::Drop(reason)
    }

    fn dropped_in_ingress(frame: &mut Frame, reason: DropReason, out: &mut Outputs) -> Ingressed {
        out.pool.give(std::mem::take(frame));
        Ingressed::Dropped(reason)
    }

    pub(super) fn slot(&self, slot: Slot) -> u64 {
        self.regs[slot as usize]
    }

    pub(super) fn set_slot(&mut self, slot: Slot, value: u64) {
        self.regs[slot as usize] = value;
    }
}
