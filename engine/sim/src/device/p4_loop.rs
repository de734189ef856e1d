//! The recirculation loop of a device `p4`: a line with a queue, and the packets on their way back to
//! ingress.

use std::collections::VecDeque;

use p4mesh_pipeline::{Frame, IngressPacket};

use super::p4_config::P4LoopConfig;
use crate::line::{wire_bytes, Line, STANDARD_GAP_BITS};

/// A packet in the loop.
pub struct Turn {
    /// When its next pass is due.
    pub at_ps: u64,
    /// The first bit of its preamble on the line.
    start_ps: u64,
    /// Its first bit at ingress.
    pub first_bit_ps: u64,
    /// Index of the port on which its frame came in.
    pub input: usize,
    /// Passes that may still follow.
    pub passes_left: u32,
    pub packet: IngressPacket,
}

/// The loop. Packets leave it in the order in which they entered it.
pub struct P4Loop {
    port: Option<u16>,
    line: Line,
    /// From the last bit sent to ingress, and through the pipeline.
    latency_ps: u64,
    pipeline_ps: u64,
    queue_frames: usize,
    turns: VecDeque<Turn>,
}

impl P4Loop {
    /// A loop of a device whose pipeline takes `pipeline_ps`.
    pub fn new(config: &P4LoopConfig, pipeline_ps: u64) -> P4Loop {
        P4Loop {
            port: config.port.map(|it| it.get() as u16),
            line: Line::new(config.rate_bps.get(), 0, STANDARD_GAP_BITS),
            latency_ps: config.latency_ns.ps(),
            pipeline_ps,
            queue_frames: config.queue_frames.get() as usize,
            turns: VecDeque::new(),
        }
    }

    /// Whether what the program sends to this port takes the loop.
    pub fn has_port(&self, port: u16) -> bool {
        self.port == Some(port)
    }

    /// Puts a packet into the queue of the line: its first bit leaves now or, behind others, later. Returns
    /// when its next pass is due; a packet for which there is no room is given back.
    pub fn enter(
        &mut self,
        packet: IngressPacket,
        input: usize,
        passes_left: u32,
        now_ps: u64,
    ) -> Result<u64, Frame> {
        let gone = self.turns.partition_point(|it| it.start_ps <= now_ps);
        let from_ps = now_ps.saturating_sub(self.line.preamble_ps());
        if self.turns.len() - gone >= self.queue_frames && self.line.free_ps() > from_ps {
            return Err(packet.frame);
        }
        let slot = self.line.send(from_ps, wire_bytes(&packet.frame));
        let at_ps = slot.last_bit_ps + self.latency_ps + self.pipeline_ps;
        let first_bit_ps = slot.first_bit_ps + self.latency_ps;
        self.turns.push_back(Turn {
            at_ps,
            start_ps: slot.start_ps,
            first_bit_ps,
            input,
            passes_left,
            packet,
        });
        Ok(at_ps)
    }

    /// The packet whose pass is due.
    pub fn leave(&mut self, now_ps: u64) -> Option<Turn> {
        if self.turns.front()?.at_ps > now_ps {
            return None;
        }
        self.turns.pop_front()
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = Frame> + '_ {
        self.turns.drain(..).map(|it| it.packet.frame)
    }
}

#[cfg(test)]
mod tests {
    use p4mesh_pipeline::{InstanceType, Preserved};

    use super::*;

    fn a_loop(keys: &str) -> P4Loop {
        let config = format!(r#"{{"rate_bps": 10000000000, "latency_ns": 7, {keys}}}"#);
        P4Loop::new(&serde_json::from_str(&config).unwrap(), 400_000)
    }

    fn packet(bytes: usize) -> IngressPacket {
        let frame = vec![0; bytes];
        IngressPacket {
            port: 1,
            frame,
            instance_type: InstanceType::Recirculated,
            preserved: Preserved::default(),
        }
    }

    #[test]
    fn a_turn_takes_the_time_of_the_wire_of_the_loop_and_of_the_pipeline() {
        let mut turns = a_loop(r#""queue_frames": 8"#);
        // 64 bytes with FCS at 10 Gbit/s, 7 ns, 400 ns.
        assert_eq!(turns.enter(packet(60), 0, 9, 1_000_000).unwrap(), 1_000_000 + 51_200 + 7_000 + 400_000);
        assert!(turns.leave(1_458_199).is_none());
        let turn = turns.leave(1_458_200).unwrap();
        assert_eq!((turn.first_bit_ps, turn.passes_left), (1_007_000, 9));
    }

    #[test]
    fn packets_wait_for_the_line_and_a_full_queue_gives_them_back() {
        let mut turns = a_loop(r#""queue_frames": 1"#);
        let first = turns.enter(packet(60), 0, 9, 1_000_000).unwrap();
        let second = turns.enter(packet(60), 0, 9, 1_000_000).unwrap();
        assert_eq!(second - first, 84 * 800, "behind it, with gap and preamble");
        assert!(turns.enter(packet(60), 0, 9, 1_000_000).is_err());
        assert_eq!(turns.drain().count(), 2);
        // Without a queue, a packet enters while the line is free.
        let mut turns = a_loop(r#""queue_frames": 0"#);
        assert!(turns.enter(packet(60), 0, 9, 1_000_000).is_ok());
        assert!(turns.enter(packet(60), 0, 9, 1_000_000).is_err());
        assert!(turns.enter(packet(60), 0, 9, 1_067_200).is_ok());
    }
}
