//! A switch whose queues are served at once: packets go from ingress to egress to the port without
//! rates or delays, recirculated packets wait for their next turn.

use std::collections::{BTreeMap, VecDeque};

use p4mesh_pipeline::{
    DropReason, EgressPacket, Frame, IngressPacket, InstanceType, Output, Outputs, Preserved,
    QueueTimes, Switch, SwitchConfig,
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
    /// Resubmits and egress passes that one packet may cause before it goes out or round.
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

    /// How a switch for this runner is configured.
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

    pub fn take_digest(&mut self) -> Option<DigestMessage> {
        self.digests.pop_front()
    }

    /// A buffer for a frame; [`Runner::frame`] takes it.
    pub fn buffer(&mut self) -> Frame {
        self.out.pool.take()
    }

    /// Handles a frame from a port, or from the controller on the CPU port. `clock` is asked for
    /// the time of every pass, `send` gets what goes out.
    pub fn frame(
        &mut self,
        port: u16,
        frame: Frame,
        clock: &mut dyn FnMut() -> u64,
        send: &mut dyn FnMut(u16, &[u8]),
    ) {
        let instance_type = InstanceType::Normal;
        let packet = IngressPacket {
            port,
            frame,
            instance_type,
            preserved: Preserved::default(),
        };
        self.handle(packet, clock, send);
    }

    /// Handles the packets that are in the loop now, once each. Returns how many there were.
    pub fn turn(
        &mut self,
        clock: &mut dyn FnMut() -> u64,
        send: &mut dyn FnMut(u16, &[u8]),
    ) -> usize {
        let count = self.circulating.len();
        for _ in 0..count {
            if let Some(packet) = self.circulating.pop_front() {
                self.handle(packet, clock, send);
            }
        }
        count
    }

    fn handle(
        &mut self,
        packet: IngressPacket,
        clock: &mut dyn FnMut() -> u64,
        send: &mut dyn FnMut(u16, &[u8]),
    ) {
        let Some(switch) = &mut self.switch else {
            self.drops.no_program += 1;
            return self.out.pool.give(packet.frame);
        };
        let now_ps = clock();
        switch.ingress(packet, now_ps, now_ps, &mut self.out);
        self.carry_out(now_ps, send);
        let mut passes = self.limits.passes_per_packet;
        while let Some((packet, enqueue_ps)) = self.queue.pop_front() {
            let Some(switch) = &mut self.switch else {
                return;
            };
            if passes == 0 {
                self.drops.pass_limit += 1;
                switch.discard(packet, &mut self.out);
                continue;
            }
            passes -= 1;
            let now_ps = clock();
            let depth = self.queue.len() as u32;
            let times = QueueTimes {
                enqueue_ps,
                dequeue_ps: now_ps,
                enqueue_depth: depth,
                dequeue_depth: depth,
            };
            switch.egress(packet, times, now_ps, now_ps, &mut self.out);
            self.carry_out(now_ps, send);
        }
    }

    /// Carries out what a pass decided. Resubmitted packets have their next pass at once.
    fn carry_out(&mut self, now_ps: u64, send: &mut dyn FnMut(u16, &[u8])) {
        let mut resubmits = self.limits.passes_per_packet;
        loop {
            let mut items = std::mem::take(&mut self.out.items);
            let mut resubmitted = None;
            for item in items.drain(..) {
                match item {
                    Output::Enqueue(packet) => self.enqueue(packet, now_ps),
                    Output::Transmit { port, frame } => self.transmit(port, frame, send),
                    Output::Reenter(packet)
                        if packet.instance_type == InstanceType::Resubmitted =>
                    {
                        resubmitted = Some(packet);
                    }
                    Output::Reenter(packet) => self.recirculate(packet),
                    Output::Digest { digest, fields } => {
                        if self.digests.len() < self.limits.controller_messages {
                            self.digests.push_back((digest, fields));
                        } else {
                            self.drops.controller_full += 1;
                        }
                    }
                    Output::Drop(reason) => *self.drops.program.entry(reason).or_default() += 1,
                }
            }
            // The emptied buffer goes back, for the next pass.
            self.out.items = items;
            let Some(packet) = resubmitted else { return };
            let Some(switch) = &mut self.switch else {
                return;
            };
            if resubmits == 0 {
                self.drops.pass_limit += 1;
                return self.out.pool.give(packet.frame);
            }
            resubmits -= 1;
            switch.ingress(packet, 0, now_ps, &mut self.out);
        }
    }

    fn enqueue(&mut self, packet: EgressPacket, now_ps: u64) {
        if self.queue.len() < self.limits.queue_packets {
            self.queue.push_back((packet, now_ps));
        } else {
            self.drops.queue_full += 1;
            if let Some(switch) = &mut self.switch {
                switch.discard(packet, &mut self.out);
            }
        }
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        if self.circulating.len() < self.limits.loop_packets {
            self.circulating.push_back(packet);
        } else {
            self.drops.loop_full += 1;
            self.out.pool.give(packet.frame);
        }
    }

    fn transmit(&mut self, port: u16, frame: Frame, send: &mut dyn FnMut(u16, &[u8])) {
        if self.config.cpu_port != Some(port) {
            send(port, &frame);
            self.out.pool.give(frame);
        } else if self.packet_ins.len() < self.limits.controller_messages {
            self.packet_ins.push_back(frame);
        } else {
            self.drops.controller_full += 1;
            self.out.pool.give(frame);
        }
    }
}
