//! Runs the prologue and the epilogue of a pass around the parts of a program: it sets the fields that the program
//! reads, and reads the requests of the program.
//!
//! All of it is generic over the slots: an execution has numbers in them, a proof that a packet is
//! idle has numbers that move with time. So both follow the same order of events, which is that of
//! simple_switch's ingress and egress threads.

use std::convert::Infallible;

use crate::code::layout::{packet_slot, FieldRef, Regs, Slot};
use crate::code::program::Code;
use crate::exec::config::SwitchConfig;
use crate::packets::output::DropReason;
use crate::packets::packet::{IngressPacket, InstanceType, QueueTimes};

/// The slots of a packet, for the target's own reads and writes.
pub(crate) trait Slots {
    /// Reason why a slot cannot be read.
    type Refusal;

    /// Writes a number that is the same at any time.
    fn put(&mut self, slot: Slot, value: u64);

    /// The number in a slot, on which a decision is going to depend.
    fn read(&self, slot: Slot) -> Result<u64, Self::Refusal>;

    /// Writes the time stamp of the egress; `value` fits the field.
    fn put_egress_stamp(&mut self, field: FieldRef, value: u64);

    /// Writes a value that depends on how long the packet waited; `value` fits the field.
    fn put_queueing(&mut self, field: FieldRef, value: u64);

    /// Writes a field if the program has it.
    #[inline]
    fn set(&mut self, field: Option<FieldRef>, value: u64) {
        if let Some(field) = field {
            self.put(field.slot, fitted(field, value));
        }
    }

    /// Writes a field if the program has it, with a value that depends on how long the packet waited.
    #[inline]
    fn set_queueing(&mut self, field: Option<FieldRef>, value: u64) {
        if let Some(field) = field {
            self.put_queueing(field, fitted(field, value));
        }
    }

    /// A field, 0 if the program does not have it.
    #[inline]
    fn get(&self, field: Option<FieldRef>) -> Result<u64, Self::Refusal> {
        field.map_or(Ok(0), |field| self.read(field.slot))
    }

    /// Copies a packet register to a field.
    #[inline]
    fn publish(&mut self, field: Option<FieldRef>, slot: Slot) -> Result<(), Self::Refusal> {
        let value = self.read(slot)?;
        self.set(field, value);
        Ok(())
    }
}

impl Slots for Regs {
    type Refusal = Infallible;

    #[inline]
    fn put(&mut self, slot: Slot, value: u64) {
        self[slot as usize] = value;
    }

    #[inline]
    fn read(&self, slot: Slot) -> Result<u64, Infallible> {
        Ok(self[slot as usize])
    }

    #[inline]
    fn put_egress_stamp(&mut self, field: FieldRef, value: u64) {
        self[field.slot as usize] = value;
    }

    #[inline]
    fn put_queueing(&mut self, field: FieldRef, value: u64) {
        self[field.slot as usize] = value;
    }
}

/// A value in the bits of a field.
#[inline]
fn fitted(field: FieldRef, value: u64) -> u64 {
    value & field.mask
}

/// Requests of ingress or egress beside the fate of the packet itself; 0 = no request.
pub(crate) struct Requests {
    /// An `assert` or `assume` failed: the packet ends, and nothing else is done.
    pub failed: bool,
    /// Session of a clone, with a flag.
    pub clone: u64,
}

/// Next place of a packet after ingress.
pub(crate) enum Fate {
    /// Back to the parser, with the metadata of a field list.
    Resubmit {
        list: u32,
    },
    /// A copy for every member of a multicast group.
    Replicate {
        group: u64,
    },
    /// To the queue of a port.
    Queue {
        port: u16,
        priority: u8,
    },
    Drop(DropReason),
}

/// Reason why a packet does not enter ingress.
#[inline]
pub(crate) fn refused(config: &SwitchConfig, packet: &IngressPacket) -> Option<DropReason> {
    if packet.frame.len() > config.max_frame_bytes {
        return Some(DropReason::Oversize);
    }
    let limited = config.pass_limit != 0 && packet.preserved.resubmits > config.pass_limit;
    limited.then_some(DropReason::PassLimit)
}

/// Slots before the parser reads a frame, over those of a new packet; `charged` is its length for counters and meters.
#[inline]
pub(crate) fn start_pass<S: Slots>(slots: &mut S, config: &SwitchConfig, length: u64, charged: u64) {
    slots.put(packet_slot::DROP_PORT, u64::from(config.drop_port));
    slots.put(packet_slot::LENGTH, length);
    slots.put(packet_slot::INGRESS_LENGTH, charged);
}

/// Slots before ingress, over those of a new packet; gives the length that counters and meters take.
#[inline]
pub(crate) fn start_ingress<S: Slots>(
    slots: &mut S,
    code: &Code,
    config: &SwitchConfig,
    packet: &IngressPacket,
    ingress_timestamp_ps: u64,
) -> u64 {
    let fields = &code.intrinsics;
    let IngressPacket { port, frame, instance_type, preserved } = packet;
    let length = frame.len() as u64;
    let charged = preserved.charged_bytes.map_or(length, |bytes| u64::from(bytes.get()));
    start_pass(slots, config, length, charged);
    slots.put(packet_slot::PASSES, u64::from(preserved.resubmits));
    if *instance_type == InstanceType::Normal {
        slots.set(fields.ingress_port, u64::from(*port));
        slots.set(fields.ingress_timestamp, config.tick.count(ingress_timestamp_ps));
    }
    for &(slot, value) in &preserved.fields {
        slots.put(slot, value);
    }
    slots.set(fields.instance_type, *instance_type as u64);
    slots.set(fields.packet_length, length);
    charged
}

/// As [`start_ingress`], of a frame from a port.
#[inline(always)]
pub(crate) fn start_frame<S: Slots>(
    slots: &mut S,
    code: &Code,
    config: &SwitchConfig,
    port: u16,
    length: u64,
    ingress_timestamp_ps: u64,
) {
    let fields = &code.intrinsics;
    start_pass(slots, config, length, length);
    slots.put(packet_slot::PASSES, 0);
    slots.set(fields.ingress_port, u64::from(port));
    slots.set(fields.ingress_timestamp, config.tick.count(ingress_timestamp_ps));
    slots.set(fields.instance_type, InstanceType::Normal as u64);
    slots.set(fields.packet_length, length);
}

/// Slots before the parser runs.
#[inline]
pub(crate) fn start_parser<S: Slots>(slots: &mut S, code: &Code) {
    slots.put(packet_slot::PARSER_ERROR, code.errors.no_error);
    slots.put(packet_slot::CHECKSUM_ERROR, 0);
}

/// Tells the program the verdict of the parser.
#[inline]
pub(crate) fn end_parser<S: Slots>(slots: &mut S, code: &Code) -> Result<(), S::Refusal> {
    slots.publish(code.intrinsics.parser_error, packet_slot::PARSER_ERROR)?;
    slots.publish(code.intrinsics.checksum_error, packet_slot::CHECKSUM_ERROR)
}

/// Requests of ingress or egress at its end.
#[inline]
pub(crate) fn requests<S: Slots>(slots: &S) -> Result<Requests, S::Refusal> {
    Ok(Requests {
        failed: slots.read(packet_slot::ASSERT_FAILED)? != 0,
        clone: slots.read(packet_slot::CLONE_SESSION)?,
    })
}

/// The learn list that ingress asks for, 0 = none.
#[inline]
pub(crate) fn learn_list<S: Slots>(slots: &S) -> Result<u32, S::Refusal> {
    slots.read(packet_slot::LEARN).map(|list| list as u32)
}

/// Returns the next place of the packet after ingress, and sets its instance type for that.
#[inline]
pub(crate) fn fate<S: Slots>(slots: &mut S, code: &Code, config: &SwitchConfig) -> Result<Fate, S::Refusal> {
    let fields = &code.intrinsics;
    let resubmit = slots.read(packet_slot::RESUBMIT)?;
    if resubmit != 0 {
        return Ok(Fate::Resubmit { list: resubmit as u32 });
    }
    let group = slots.get(fields.multicast_group)?;
    if group != 0 {
        slots.set(fields.instance_type, InstanceType::Replicated as u64);
        return Ok(Fate::Replicate { group });
    }
    let port = slots.get(fields.egress_spec)?;
    if port == u64::from(config.drop_port) {
        return Ok(Fate::Drop(DropReason::Ingress));
    }
    if port > u64::from(config.max_port) {
        return Ok(Fate::Drop(DropReason::UnknownPort));
    }
    slots.set(fields.instance_type, InstanceType::Normal as u64);
    Ok(match priority(slots, code, config)? {
        Some(priority) => Fate::Queue { port: port as u16, priority },
        None => Fate::Drop(DropReason::UnknownQueue),
    })
}

/// Queue of the packet, `None` if ports have no such queue.
#[inline]
pub(crate) fn priority<S: Slots>(
    slots: &S,
    code: &Code,
    config: &SwitchConfig,
) -> Result<Option<u8>, S::Refusal> {
    let priority = slots.get(code.intrinsics.priority)?;
    Ok((priority < u64::from(config.queues_per_port)).then_some(priority as u8))
}

/// Slots before egress, over those that ingress has left.
#[inline(always)]
pub(crate) fn start_egress<S: Slots>(
    slots: &mut S,
    code: &Code,
    config: &SwitchConfig,
    port: u16,
    priority: u8,
    times: &QueueTimes,
    egress_timestamp_ps: u64,
) -> Result<(), S::Refusal> {
    let fields = &code.intrinsics;
    let tick = config.tick;
    if let Some(field) = fields.egress_timestamp {
        slots.put_egress_stamp(field, fitted(field, tick.count(egress_timestamp_ps)));
    }
    if fields.enq_timestamp.is_some() {
        let enqueued = tick.count(times.enqueue_ps);
        slots.set_queueing(fields.enq_timestamp, enqueued);
        slots.set_queueing(fields.enq_qdepth, u64::from(times.enqueue_depth));
        slots.set_queueing(fields.deq_timedelta, tick.count(times.dequeue_ps).saturating_sub(enqueued));
        slots.set_queueing(fields.deq_qdepth, u64::from(times.dequeue_depth));
        slots.set(fields.qid, u64::from(priority));
    }
    slots.set(fields.egress_port, u64::from(port));
    // Any value but the drop port, so that only a drop in egress drops.
    slots.set(fields.egress_spec, u64::from(config.drop_port) + 1);
    slots.publish(fields.packet_length, packet_slot::LENGTH)
}

/// True if egress drops the packet.
#[inline]
pub(crate) fn dropped_in_egress<S: Slots>(
    slots: &S,
    code: &Code,
    config: &SwitchConfig,
) -> Result<bool, S::Refusal> {
    Ok(slots.get(code.intrinsics.egress_spec)? == u64::from(config.drop_port))
}

/// The field list with which the packet recirculates, 0 = it leaves.
#[inline]
pub(crate) fn recirculate_list<S: Slots>(slots: &S) -> Result<u32, S::Refusal> {
    slots.read(packet_slot::RECIRCULATE).map(|list| list as u32)
}

/// The slots that a field list keeps.
#[inline]
pub(crate) fn kept_slots(code: &Code, list: u32) -> impl Iterator<Item = Slot> + '_ {
    let fields = code.field_lists.get(&list).into_iter().flatten();
    fields.flat_map(|field| field.slot - u16::from(field.variable)..field.slot + field.limbs() as u16)
}
