//! A switch whose queues are served at once: packets go from ingress to egress to the port without
//! rates or delays, recirculated packets wait for their next turn.

use std::collections::{BTreeMap, VecDeque};

use p4mesh_pipeline::{
    Dispatch, DropReason, EgressPacket, EgressTimes, Frame, IngressPacket, InstanceType, Outputs, Passes,
    Preserved, QueueTimes, Switch, SwitchConfig,
};

/// Bounds of a [`Runner`].
#[derive(Clone, Debug)]
pub struct RunnerLimits {
    /// Packets that wait for egress.
    pub queue_packets: usize,
    /// Packets in the recirculation loop.
    pub loop_packets: usize,
    /// Packet-ins, and digests, that wait to be taken.
    pub controller_messages: usize,
    /// Passes that one packet may cause before it goes out or round.
    pub passes_per_packet: u32,
}

impl Default for RunnerLimits {
    fn default() -> RunnerLimits {
        RunnerLimits {
            queue_packets: 65_536,
            loop_packets: 16_384,
            controller_messages: 1 << 20,
            passes_per_packet: 65_536,
        }
    }
}

/// Packets that ended outside of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// By the program.
    pub program: BTreeMap<DropReason, u64>,
    pub no_program: u64,
    pub queue_full: u64,
    pub loop_full: u64,
    pub controller_full: u64,
    pub pass_limit: u64,
}

/// A digest message: its id and fields.
pub type DigestMessage = (u32, Vec<Vec<u8>>);

/// Takes what goes out: port, time of the last pass in picoseconds, frame.
pub type Send<'a> = &'a mut dyn FnMut(u16, u64, &[u8]);

/// A switch and the packets inside it.
pub struct Runner {
    switch: Option<Switch>,
    config: SwitchConfig,
    limits: RunnerLimits,
    out: Outputs,
    queue: VecDeque<(EgressPacket, u64)>,
    circulating: VecDeque<IngressPacket>,
    packet_ins: VecDeque<Frame>,
    digests: VecDeque<DigestMessage>,
    drops: Drops,
}

impl Runner {
    pub fn new(config: SwitchConfig, limits: RunnerLimits) -> Runner {
        Runner {
            switch: None,
            config,
            limits,
            out: Outputs::default(),
            queue: VecDeque::new(),
            circulating: VecDeque::new(),
            packet_ins: VecDeque::new(),
            digests: VecDeque::new(),
            drops: Drops::default(),
        }
    }

    /// Configuration of a switch for this runner.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Puts a switch in the place of the present one; packets inside are lost.
    pub fn install(&mut self, switch: Switch) {
        self.queue.clear();
        self.circulating.clear();
        self.switch = Some(switch);
    }

    pub fn switch(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut()
    }

    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Packets that wait for another pass.
    pub fn circulating(&self) -> usize {
        self.circulating.len()
    }

    pub fn take_packet_in(&mut self) -> Option<Frame> {
        self.packet_ins.pop_front()
    }

    /// Packet-ins that wait to be taken.
    pub fn packet_ins(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.packet_ins.iter()
    }

    pub fn take_digest(&mut self) -> Option<DigestMessage> {
        self.digests.pop_front()
    }

    /// A buffer for a frame; [`Runner::frame`] takes it.
    pub fn buffer(&mut self) -> Frame {
        self.out.pool.take()
    }

    /// Handles a frame from a port, or from the controller on the CPU port, that came at `arrival_ps`, or now. `clock`
    /// is asked for the time of every egress pass, `send` gets what goes out, with the time of its last pass.
    pub fn frame(
        &mut self,
        port: u16,
        frame: Frame,
        arrival_ps: Option<u64>,
        clock: &mut dyn FnMut() -> u64,
        send: Send<'_>,
    ) {
        let instance_type = InstanceType::Normal;
        let packet = IngressPacket { port, frame, instance_type, preserved: Preserved::default() };
        let now_ps = arrival_ps.unwrap_or_else(&mut *clock);
        self.handle(packet, now_ps, clock, send);
    }

    /// Handles the packets that are in the loop now, once each, beginning at `now_ps`. Returns how many there were.
    ///
    /// The ingress of a packet has the time of the pass before it. A program sees that time in no more than the stamp of
    /// the queue, which nothing waits in, and reading the clock takes as long as a good part of a pass.
    pub fn turn(&mut self, now_ps: u64, clock: &mut dyn FnMut() -> u64, send: Send<'_>) -> usize {
        let count = self.circulating.len();
        let mut now_ps = now_ps;
        for _ in 0..count {
            let Some(packet) = self.circulating.pop_front() else { break };
            now_ps = self.handle(packet, now_ps, clock, send);
        }
        count
    }

    /// Gives the time of the last pass.
    // Compiled into its callers: a packet that is copied soon after it was written makes the processor wait.
    #[inline(always)]
    fn handle(
        &mut self,
        mut packet: IngressPacket,
        now_ps: u64,
        clock: &mut dyn FnMut() -> u64,
        send: Send<'_>,
    ) -> u64 {
        if self.switch.is_none() {
            self.drops.no_program += 1;
            self.out.pool.give(packet.frame);
            return now_ps;
        }
        let mut flow = Flow { passes_left: self.limits.passes_per_packet, runner: self, clock, send, now_ps };
        while let Some(resubmitted) = flow.ingress(packet, now_ps, now_ps) {
            packet = resubmitted;
        }
        while let Some((packet, enqueue_ps)) = flow.runner.queue.pop_front() {
            let times = flow.egress_times(enqueue_ps);
            flow.egress(packet, &times);
        }
        flow.now_ps
    }
}

/// The passes that follow from one packet before it goes out or round.
struct Flow<'a> {
    runner: &'a mut Runner,
    clock: &'a mut dyn FnMut() -> u64,
    send: Send<'a>,
    passes_left: u32,
    /// Time of the pass in work.
    now_ps: u64,
}

impl Flow<'_> {
    /// Times of an egress pass that begins now, of a packet whose ingress was at `enqueue_ps`.
    fn egress_times(&mut self, enqueue_ps: u64) -> EgressTimes {
        self.now_ps = (self.clock)();
        let depth = self.runner.queue.len() as u32;
        let queue =
            QueueTimes { enqueue_ps, dequeue_ps: self.now_ps, enqueue_depth: depth, dequeue_depth: depth };
        EgressTimes { queue, stamp_ps: self.now_ps, now_ps: self.now_ps }
    }
}

impl Dispatch for Flow<'_> {
    fn passes(&mut self) -> Option<Passes<'_>> {
        Some(Passes {
            switch: self.runner.switch.as_mut()?,
            out: &mut self.runner.out,
            left: &mut self.passes_left,
        })
    }

    fn enqueue(&mut self, packet: EgressPacket) {
        let Runner { queue, limits, .. } = &mut *self.runner;
        if queue.len() < limits.queue_packets {
            queue.push_back((packet, self.now_ps));
        } else {
            self.runner.drops.queue_full += 1;
            self.discard(packet);
        }
    }

    fn begin_egress(&mut self, _: u16) -> Option<EgressTimes> {
        let has_room = self.runner.limits.queue_packets > 0;
        (self.runner.queue.is_empty() && has_room).then(|| self.egress_times(self.now_ps))
    }

    fn transmit(&mut self, port: u16, frame: Frame) {
        let runner = &mut *self.runner;
        if runner.config.cpu_port != Some(port) {
            (self.send)(port, self.now_ps, &frame);
            runner.out.pool.give(frame);
        } else if runner.packet_ins.len() < runner.limits.controller_messages {
            runner.packet_ins.push_back(frame);
        } else {
            runner.drops.controller_full += 1;
            runner.out.pool.give(frame);
        }
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        let runner = &mut *self.runner;
        if runner.circulating.len() < runner.limits.loop_packets {
            runner.circulating.push_back(packet);
        } else {
            runner.drops.loop_full += 1;
            runner.out.pool.give(packet.frame);
        }
    }

    fn digest(&mut self, digest: u32, fields: Vec<Vec<u8>>) {
        let runner = &mut *self.runner;
        if runner.digests.len() < runner.limits.controller_messages {
            runner.digests.push_back((digest, fields));
        } else {
            runner.drops.controller_full += 1;
        }
    }

    fn drop(&mut self, reason: DropReason) {
        *self.runner.drops.program.entry(reason).or_default() += 1;
    }

    fn exhausted(&mut self) {
        self.runner.drops.pass_limit += 1;
    }
}
