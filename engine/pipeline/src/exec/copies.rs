//! Clones of a packet, and the copies of a multicast group.

use crate::code::layout::packet_slot;
use crate::code::program::Program;
use crate::exec::boundary::{self, Slots};
use crate::exec::context::Wire;
use crate::exec::executable::Executable;
use crate::exec::passes::Engine;
use crate::packets::frame::Frame;
use crate::packets::output::{DropReason, Output, Outputs};
use crate::packets::packet::{Copies, InstanceType};

impl Engine {
    /// Clone of the frame as it came in, parsed again, with the metadata of the field list.
    pub(super) fn clone_ingress(
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
        let preserved = self.preserve(program, list);
        let aside = self.put_aside(program);
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
                self.queue_copies(program, copy, payload, InstanceType::IngressClone, session, out);
            }
            None => Engine::drop_copy(copy, DropReason::LoopLimit, out),
        }
        self.preserved.push(preserved.fields);
        self.go_on(aside);
    }

    /// Clone of the packet as egress leaves it, with the metadata of the field list.
    pub(super) fn clone_egress(&mut self, program: &Program, wire: Wire, out: &mut Outputs) {
        let (session, list) = self.take_clone();
        if !self.begin_clone(session, out) {
            return;
        }
        let preserved = self.preserve(program, list);
        let aside = self.put_aside(program);
        self.reset_metadata(program);
        for &(slot, value) in &preserved.fields {
            self.regs[slot as usize] = value;
        }
        self.set_slot(packet_slot::EXIT, 0);
        self.regs.set(program.code.intrinsics.instance_type, InstanceType::EgressClone as u64);
        let copy = out.pool.copy_of(wire.frame);
        self.queue_copies(program, copy, wire.cursor, InstanceType::EgressClone, session, out);
        self.preserved.push(preserved.fields);
        self.go_on(aside);
    }

    /// Keeps the packet while its clone is worked on.
    fn put_aside(&mut self, program: &Program) -> Vec<u64> {
        let mut aside = std::mem::take(&mut self.aside);
        aside.clear();
        aside.extend_from_slice(&self.regs[..program.layout.slots]);
        aside
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

    /// Puts the copies of a clone into the outputs.
    fn queue_copies(
        &mut self,
        program: &Program,
        frame: Frame,
        payload: usize,
        instance_type: InstanceType,
        session: u64,
        out: &mut Outputs,
    ) {
        if let Some(copies) = self.replicate(program, frame, payload, instance_type, Some(session), out) {
            out.items.extend(copies.packets().map(Output::Enqueue));
            self.end_copies(copies);
        }
    }

    /// Takes the list of copies back, for reuse.
    pub fn end_copies(&mut self, copies: Copies) {
        self.copies = copies.replicas;
    }

    /// One packet per entry of `self.copies`, all of them sharing the present state. `None` where there is none, or where
    /// all are dropped.
    pub(super) fn replicate(
        &mut self,
        program: &Program,
        frame: Frame,
        payload: usize,
        instance_type: InstanceType,
        session: Option<u64>,
        out: &mut Outputs,
    ) -> Option<Copies> {
        for slot in packet_slot::REQUESTS {
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
            None => {
                Engine::drop_copy(frame, DropReason::UnknownQueue, out);
                return None;
            }
        };
        let replicas = std::mem::take(&mut self.copies);
        if replicas.is_empty() {
            out.pool.give(frame);
            return None;
        }
        let length_bytes = self.slot(packet_slot::LENGTH) as u32;
        let slots = program.layout.slots;
        let (slots, shares) = (&self.regs[..slots], replicas.len() as u32);
        let snapshot = self.snapshots.make(slots, frame, payload, self.passes, shares);
        Some(Copies { replicas, priority, instance_type, length_bytes, snapshot })
    }

    fn reset_metadata(&mut self, program: &Program) {
        for &(first, count) in &program.code.metadata {
            let first = first as usize;
            self.regs[first..first + count as usize].fill(0);
        }
    }

    /// Ends a copy of a packet.
    fn drop_copy(frame: Frame, reason: DropReason, out: &mut Outputs) {
        let dropped = Engine::dropped(frame, reason, out);
        out.items.push(dropped);
    }
}
