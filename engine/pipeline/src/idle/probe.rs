//! The proof that a pass does nothing but go round, and its repetition.

use std::sync::Arc;

use crate::code::layout::packet_slot;
use crate::control::switch::Switch;
use crate::exec::boundary;
use crate::exec::boundary::{Fate, Requests, Slots};
use crate::exec::context::Wire;
use crate::exec::executable::Executable;
use crate::idle::moving::{Bits, Clock, Limits, Probe, Refusal};
use crate::idle::pattern::Pattern;
use crate::idle::recording::Recording;
use crate::idle::shadow::{Effect, Guard, Shadow};
use crate::idle::stamp::{same_but_for, touches, StampField};
use crate::idle::traces::{Trace, Traces};
use crate::numbers::bits::write_bits;
use crate::packets::frame::Frame;
use crate::packets::output::DropReason;
use crate::packets::packet::{IngressPacket, InstanceType, QueueTimes};
use crate::vocabulary::entries::CounterCell;

/// Statement to prove: the packet, as it comes out of the loop, goes round once more.
pub struct LoopPass<'a> {
    pub packet: &'a IngressPacket,
    /// Egress time stamps of the pass before and of this one, picoseconds.
    pub last_stamp_ps: u64,
    pub stamp_ps: u64,
    /// Proof of a pass of this packet since which all of its passes, if any, were idle: it tells which packets do the same.
    pub former: Option<&'a IdlePass>,
}

impl LoopPass<'_> {
    /// Whether the packet is one of a pattern, and carries the time stamps of its last egress.
    fn fits(&self, pattern: &Arc<Pattern>, stamps: &[StampField], ticks: u64) -> bool {
        let does_fit =
            || pattern.fits(self.packet) && stamps.iter().all(|stamp| stamp.is_in(&self.packet.frame, ticks));
        match self.former {
            Some(former) if Arc::ptr_eq(&former.pattern, pattern) => {
                debug_assert!(does_fit(), "idle passes leave a packet in its pattern");
                true
            }
            _ => does_fit(),
        }
    }
}

/// The proof. It holds while the state of the switch is what it was, apart from counters and hit times. Passes of other
/// packets change registers alone: [`Switch::has_same_registers`].
#[derive(Clone, Debug, Default)]
pub struct IdlePass {
    /// The pass that was proved: the egress time stamp of the one before it, and its own. Later ones do the same.
    from_ps: [u64; 2],
    /// The pass does the same while the egress time stamp of the pass before is below the first
    /// time, and its own below the second.
    pub before_ps: [u64; 2],
    /// Queue of the loop port.
    pub priority: u8,
    stamps: Vec<StampField>,
    effects: Vec<Effect>,
    guards: Vec<Guard>,
    /// Packets that do the same.
    pattern: Arc<Pattern>,
}

impl IdlePass {
    /// Words of registers on which the proof depends.
    pub(super) fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Whether another proof of the same pass comes to the same result.
    fn says_the_same_as(&self, other: &IdlePass) -> bool {
        self.before_ps == other.before_ps
            && (self.priority, &self.stamps) == (other.priority, &other.stamps)
            && (&self.effects, &self.guards) == (&other.effects, &other.guards)
    }

    /// Whether the proof reaches to a pass with these egress time stamps of the pass before and of its own.
    #[inline]
    pub fn is_in_time(&self, last_stamp_ps: u64, stamp_ps: u64) -> bool {
        let [from, before] = [self.from_ps, self.before_ps];
        (from[0]..before[0]).contains(&last_stamp_ps) && (from[1]..before[1]).contains(&stamp_ps)
    }
}

/// Memory of the probe, about 1 MB, for reuse.
pub struct IdleProbe {
    shadow: Shadow,
    executable: Option<Arc<Executable>>,
    /// Place of the time stamps in the packet before.
    hint: Vec<StampField>,
    /// Fields on which passes of this program did not depend, the last ones first.
    carried: Vec<Vec<Bits>>,
    /// Times that such fields were looked for.
    searches: u32,
    /// The pattern of the last proof.
    pattern: Arc<Pattern>,
    /// Traces that passes took since the controller changed something.
    traces: Traces,
    frame: Frame,
    effort: u32,
}

/// Executed passes that cost as much as a proof by all instructions, and by a trace that is known.
const EFFORT_OF_ALL: u32 = 10;
const EFFORT_OF_A_COURSE: u32 = 1;

impl IdleProbe {
    /// Executed passes that cost about as much as the last proof.
    pub fn effort(&self) -> u32 {
        self.effort
    }

    /// The state of the switch is another one, not only in registers, counters and hit times.
    pub fn forget(&mut self) {
        self.traces.clear();
    }
}

impl Default for IdleProbe {
    fn default() -> IdleProbe {
        IdleProbe {
            shadow: Shadow::new(),
            executable: None,
            hint: Vec::new(),
            carried: Vec::new(),
            searches: 0,
            pattern: Arc::default(),
            traces: Traces::default(),
            frame: Frame::new(),
            effort: 0,
        }
    }
}

/// Findings of one probe; the rest is in its shadow.
struct Proved {
    limits: Limits,
    priority: u8,
    /// The bits that hold the time stamp of this egress afterwards.
    stamps: Vec<StampField>,
}

/// Looks for fields on which a pass does not depend, which cost a probe for each field of the frame.
const MOST_SEARCHES: u32 = 16;
/// Sets of such fields that are kept.
const MOST_CARRIED: usize = 4;

impl Switch {
    /// Proves that a pass through the port of `pass.packet` is idle. Between two calls with one probe, other packets' passes
    /// may have happened; after anything else that changes the switch, call [`IdleProbe::forget`].
    pub fn probe_idle(&self, probe: &mut IdleProbe, pass: &LoopPass) -> Result<IdlePass, Refusal> {
        if !probe.executable.as_ref().is_some_and(|known| Arc::ptr_eq(known, &self.executable)) {
            let code = &self.executable.program.code;
            let base = code.constant_base as usize;
            probe.shadow.regs[base..][..code.constants.len()].copy_from_slice(&code.constants);
            probe.executable = Some(Arc::clone(&self.executable));
            probe.hint.clear();
            probe.carried.clear();
            probe.searches = 0;
            probe.traces.clear();
        }
        let tick = self.engine.config.tick;
        probe.shadow.ticks = [pass.last_stamp_ps, pass.stamp_ps].map(|stamp_ps| tick.count(stamp_ps));
        if let Some(proof) = self.probe_by_trace(probe, pass) {
            debug_assert!(self.probe_whole(probe, pass).is_ok_and(|whole| whole.says_the_same_as(&proof)));
            probe.effort = EFFORT_OF_A_COURSE;
            return Ok(proof);
        }
        probe.effort = EFFORT_OF_ALL;
        let proof = self.probe_whole(probe, pass)?;
        if probe.traces.is_recording_due() {
            self.record_trace(probe, pass, &proof);
        }
        Ok(proof)
    }

    /// Proves a pass by what one that was recorded did.
    fn probe_by_trace(&self, probe: &mut IdleProbe, pass: &LoopPass) -> Option<IdlePass> {
        let IdleProbe { shadow, traces, .. } = probe;
        let (state, ticks) = (&self.engine.state, shadow.ticks);
        let trace = traces.find(|trace| {
            pass.fits(&trace.pattern, &trace.stamps, ticks[Clock::Frame as usize])
                && shadow.repeat(&trace.steps, state, ticks).is_ok()
        })?;
        Some(IdlePass {
            from_ps: [pass.last_stamp_ps, pass.stamp_ps],
            before_ps: self.ends_ps(pass, &shadow.limits),
            priority: trace.priority,
            stamps: trace.stamps.clone(),
            effects: trace.effects.clone(),
            guards: shadow.guards.clone(),
            pattern: Arc::clone(&trace.pattern),
        })
    }

    /// Keeps the trace of a pass that has just been proved.
    fn record_trace(&self, probe: &mut IdleProbe, pass: &LoopPass, proof: &IdlePass) {
        probe.shadow.recording = Some(Box::default());
        let found = self.probe_at(probe, pass, &proof.stamps);
        let recording = probe.shadow.recording.take();
        if let (Ok(found), Some(recording)) = (found, recording) {
            let Recording { steps, .. } = *recording;
            probe.traces.keep(Trace {
                pattern: Arc::clone(&proof.pattern),
                stamps: found.stamps,
                priority: found.priority,
                effects: proof.effects.clone(),
                steps,
            });
        }
    }

    /// Proves a pass by all of its instructions.
    fn probe_whole(&self, probe: &mut IdleProbe, pass: &LoopPass) -> Result<IdlePass, Refusal> {
        // The pass itself writes the time stamps, which gives their place: that of the packet before, or else found by
        // a pass that takes the whole frame as fixed.
        let stamps = std::mem::take(&mut probe.hint);
        let ticks = probe.shadow.ticks[Clock::Frame as usize];
        let fits = |stamps: &[StampField]| stamps.iter().all(|stamp| stamp.is_in(&pass.packet.frame, ticks));
        let known = !stamps.is_empty() && fits(&stamps);
        let found = match known.then(|| self.probe_like_before(probe, pass, &stamps)).flatten() {
            Some(found) => Proved { stamps, ..found },
            None => self.probe_anew(probe, pass, fits)?,
        };
        probe.hint.clone_from(&found.stamps);
        let (head_bytes, carried) = (probe.shadow.head_bytes, &probe.shadow.carried);
        if !probe.pattern.is_that_of(pass.packet, head_bytes, &found.stamps, carried) {
            probe.pattern = Arc::new(Pattern::of(pass.packet, head_bytes, &found.stamps, carried));
        }
        Ok(IdlePass {
            from_ps: [pass.last_stamp_ps, pass.stamp_ps],
            before_ps: self.ends_ps(pass, &found.limits),
            priority: found.priority,
            effects: probe.shadow.effects.clone(),
            guards: probe.shadow.guards.clone(),
            pattern: Arc::clone(&probe.pattern),
            stamps: found.stamps,
        })
    }

    /// Times at which the clocks of a pass have gone on by more than their limits.
    fn ends_ps(&self, pass: &LoopPass, limits: &Limits) -> [u64; 2] {
        let tick = self.engine.config.tick;
        let end = |at_ps: u64, clock: Clock| {
            let first_tick = u128::from(tick.count(at_ps)) + u128::from(limits.0[clock as usize]) + 1;
            u64::try_from(first_tick * u128::from(tick.ps())).unwrap_or(u64::MAX)
        };
        [end(pass.last_stamp_ps, Clock::Frame), end(pass.stamp_ps, Clock::Egress)]
    }

    /// Proves a pass with time stamps and carried fields where other passes had them.
    fn probe_like_before(
        &self,
        probe: &mut IdleProbe,
        pass: &LoopPass,
        stamps: &[StampField],
    ) -> Option<Proved> {
        for place in 0..probe.carried.len() {
            probe.shadow.carried.clone_from(&probe.carried[place]);
            let found = self.probe_at(probe, pass, stamps);
            // In a packet with other headers these bits may be payload, which the proof takes as it is.
            if let (Ok(found), true) = (found, probe.shadow.carries_fields()) {
                probe.carried[..=place].rotate_right(1);
                return Some(found);
            }
        }
        None
    }

    /// Proves a pass, and finds out where its time stamps are and which fields it does not depend on.
    fn probe_anew(
        &self,
        probe: &mut IdleProbe,
        pass: &LoopPass,
        fits: impl Fn(&[StampField]) -> bool,
    ) -> Probe<Proved> {
        probe.shadow.carried.clear();
        let stamps = self.probe_with(probe, pass, &[])?.stamps;
        if !fits(&stamps) {
            return Err(Refusal("the frame does not carry the time stamp of its last egress"));
        }
        let found = self.probe_at(probe, pass, &stamps)?;
        if probe.searches == MOST_SEARCHES {
            return Ok(found);
        }
        probe.searches += 1;
        let fields = std::mem::take(&mut probe.shadow.extracted);
        for field in fields {
            if !touches(&stamps, field.first_bit as usize, field.bits.into()) {
                probe.shadow.carried.push(field);
                if self.probe_at(probe, pass, &stamps).is_err() {
                    probe.shadow.carried.pop();
                }
            }
        }
        probe.carried.truncate(MOST_CARRIED - 1);
        probe.carried.insert(0, probe.shadow.carried.clone());
        // The last probe may have been one that failed.
        self.probe_at(probe, pass, &stamps)
    }

    /// One pass with time stamps that stay where they are.
    fn probe_at(&self, probe: &mut IdleProbe, pass: &LoopPass, stamps: &[StampField]) -> Probe<Proved> {
        let found = self.probe_with(probe, pass, stamps)?;
        if found.stamps != stamps {
            return Err(Refusal("the time stamps of the frame change their places"));
        }
        Ok(found)
    }

    /// Whether the proof of another pass proves this one, too.
    pub fn is_idle_by(&self, proof: &IdlePass, pass: &LoopPass) -> bool {
        proof.is_in_time(pass.last_stamp_ps, pass.stamp_ps)
            && self.has_same_registers(proof)
            && self.is_like(proof, pass)
    }

    /// Whether a packet does the same as the one of a proof, as far as that depends on the packet.
    pub fn is_like(&self, proof: &IdlePass, pass: &LoopPass) -> bool {
        let ticks = self.engine.config.tick.count(pass.last_stamp_ps);
        pass.fits(&proof.pattern, &proof.stamps, ticks)
    }

    /// Whether the registers that an idle pass reads are what they were when it was proved.
    #[inline]
    pub fn has_same_registers(&self, pass: &IdlePass) -> bool {
        pass.guards.iter().all(|guard| guard.holds(&self.engine.state))
    }

    /// Adds `times` repetitions of an idle pass to the state, of which the last had its ingress and its egress at these
    /// times.
    pub fn repeat_idle(&mut self, pass: &IdlePass, times: u64, ingress_ps: u64, egress_ps: u64) {
        let state = &mut self.engine.state;
        let count = |cell: &mut CounterCell, bytes: u64| {
            cell.packets += times;
            cell.bytes += times * bytes;
        };
        for effect in &pass.effects {
            match *effect {
                Effect::Count { counter, cell, bytes } => {
                    if let Some(cell) = state.counters[counter as usize].get_mut(cell as usize) {
                        count(cell, bytes);
                    }
                }
                Effect::EntryCount { table, entry, bytes } => {
                    count(state.tables[table as usize].counter_mut(entry), bytes);
                }
                Effect::Green { meter, cell, bytes } => {
                    if let Some(cell) = state.meters[meter as usize].cells.get_mut(cell as usize) {
                        count(&mut cell.marked[0], bytes);
                    }
                }
                Effect::EntryGreen { table, entry, bytes } => {
                    count(&mut state.tables[table as usize].meter_mut(Some(entry)).marked[0], bytes);
                }
                Effect::Hit { table, entry, egress } => {
                    let at_ps = if egress { egress_ps } else { ingress_ps };
                    if let Some(last) = state.tables[table as usize].last_hit_ps.get_mut(entry as usize) {
                        *last = at_ps.max(*last);
                    }
                }
            }
        }
    }

    /// Writes the time stamps of an egress at `stamp_ps` into the frame of an idle packet.
    pub fn restamp_idle(&self, pass: &IdlePass, frame: &mut [u8], stamp_ps: u64) {
        let ticks = self.engine.config.tick.count(stamp_ps);
        for stamp in &pass.stamps {
            write_bits(frame, stamp.first_bit as usize, u32::from(stamp.bits), stamp.value(ticks));
        }
    }

    /// One pass with `stamps` as the moving bits of the frame.
    fn probe_with(&self, probe: &mut IdleProbe, pass: &LoopPass, stamps: &[StampField]) -> Probe<Proved> {
        let program = &self.executable.program;
        let (code, config, state) = (&program.code, &self.engine.config, &self.engine.state);
        let shadow = &mut probe.shadow;
        let IngressPacket { port, frame, instance_type, preserved } = pass.packet;
        if *instance_type != InstanceType::Recirculated
            || preserved.resubmits != 0
            || preserved.charged_bytes.is_some()
            || boundary::refused(config, pass.packet).is_some()
        {
            return Err(Refusal("the packet is not one that was recirculated"));
        }
        shadow.limits = Limits::default();
        shadow.effects.clear();
        shadow.guards.clear();
        shadow.extracted.clear();
        shadow.head_bytes = 0;
        shadow.abstract_values.reset();

        // All abstract values are fixed at the start of a pass.
        shadow.regs[..code.image.len()].copy_from_slice(&code.image);
        boundary::start_ingress(shadow, code, config, pass.packet, 0);
        boundary::start_parser(shadow, code);
        let mut wire = Wire { frame, cursor: 0 };
        shadow.run(program, state, &mut wire, stamps, code.parser_entry)?;
        boundary::end_parser(shadow, code)?;
        let payload = wire.cursor;
        shadow.head_bytes = shadow.head_bytes.max(payload);
        shadow.run(program, state, &mut wire, stamps, code.ingress_entry)?;
        nothing_beside(boundary::requests(shadow)?)?;
        if boundary::learn_list(shadow)? != 0 {
            return Err(Refusal("the pass tells the controller"));
        }
        shadow.put(packet_slot::EXIT, 0);
        let priority = match boundary::fate(shadow, code, config)? {
            Fate::Queue { port: egress_port, priority } if egress_port == *port => priority,
            Fate::Resubmit { .. } => return Err(Refusal("the packet is resubmitted")),
            Fate::Replicate { .. } => return Err(Refusal("the packet is replicated")),
            Fate::Drop(DropReason::UnknownQueue) => return Err(Refusal("the packet has no queue")),
            Fate::Drop(_) | Fate::Queue { .. } => return Err(Refusal("the packet leaves the loop")),
        };

        let ingress_effects = shadow.effects.len();
        let times = QueueTimes::default();
        boundary::start_egress(shadow, code, config, *port, priority, &times, pass.stamp_ps)?;
        let mut wire = Wire { frame, cursor: payload };
        shadow.run(program, state, &mut wire, &[], code.egress_entry)?;
        nothing_beside(boundary::requests(shadow)?)?;
        if boundary::dropped_in_egress(shadow, code, config)? {
            return Err(Refusal("the packet is dropped"));
        }
        let mut wire = Wire { frame, cursor: payload };
        shadow.run(program, state, &mut wire, &[], code.deparser_entry)?;
        if shadow.read(packet_slot::TRUNCATE)? != 0 {
            return Err(Refusal("the pass cuts the frame"));
        }
        for effect in &mut shadow.effects[ingress_effects..] {
            if let Effect::Hit { egress, .. } = effect {
                *egress = true;
            }
        }
        let written = shadow.deparse(program, &mut probe.frame)?;
        // The bytes behind the headers stay.
        if !same_but_for(&probe.frame, frame.get(..payload).unwrap_or(frame), &written) {
            return Err(Refusal("the pass changes the frame"));
        }
        let list = boundary::recirculate_list(shadow)?;
        if list == 0 {
            return Err(Refusal("the packet leaves the loop"));
        }
        let mut kept = preserved.fields.iter();
        for slot in boundary::kept_slots(code, list) {
            if kept.next() != Some(&(slot, shadow.read(slot)?)) {
                return Err(Refusal("the pass changes metadata that is kept"));
            }
        }
        if kept.next().is_some() {
            return Err(Refusal("the pass changes metadata that is kept"));
        }
        Ok(Proved { limits: shadow.limits, priority, stamps: written })
    }
}

/// The pass neither fails nor clones.
fn nothing_beside(requests: Requests) -> Probe<()> {
    match requests {
        Requests { failed: false, clone: 0 } => Ok(()),
        _ => Err(Refusal("the pass clones, or fails an assertion")),
    }
}
