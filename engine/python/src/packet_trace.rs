//! The way of packets at the ports of a live switch in words, around the words of its program.

use std::sync::Arc;

use p4mesh_io::Drops;
use p4mesh_pipeline::{hex, DropReason, Switch, Trace};

/// Where it is told, and how much of each frame.
#[derive(Clone)]
pub struct PacketTrace {
    pub lines: Arc<Trace>,
    /// Bytes of each frame that are shown as it comes and as it goes.
    pub shown_bytes: usize,
    /// The program tells its passes too.
    pub passes: bool,
}

impl PacketTrace {
    /// Lets a switch tell its passes, if it is to.
    pub fn listen_to(&self, switch: &mut Switch) {
        if self.passes {
            switch.set_trace(Some(self.lines.clone()));
        }
    }

    /// A frame that comes or goes.
    pub fn frame(&self, now_ps: u64, what: &str, frame: &[u8]) {
        let mut text = format!("{what}: {} bytes", frame.len());
        if self.shown_bytes > 0 {
            text.push_str(&format!(" {}", hex(frame, self.shown_bytes)));
        }
        self.lines.add(now_ps, &text);
    }

    /// Packets that ended between two counts.
    pub fn drops(&self, now_ps: u64, before: &Drops, after: &Drops) {
        for (reason, count) in &after.program {
            let count = count - before.program.get(reason).copied().unwrap_or_default();
            self.dropped(now_ps, in_words(*reason), count);
        }
        let others = [
            ("there is no program", after.no_program - before.no_program),
            ("a queue is full", after.queue_full - before.queue_full),
            ("the recirculation loop is full", after.loop_full - before.loop_full),
            ("too many messages wait for the controller", after.controller_full - before.controller_full),
            ("too many passes follow from one packet", after.pass_limit - before.pass_limit),
        ];
        others.into_iter().for_each(|(reason, count)| self.dropped(now_ps, reason, count));
    }

    fn dropped(&self, now_ps: u64, reason: &str, count: u64) {
        match count {
            0 => {}
            1 => self.lines.add(now_ps, &format!("dropped: {reason}")),
            count => self.lines.add(now_ps, &format!("dropped {count} packets: {reason}")),
        }
    }
}

fn in_words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Ingress => "marked to drop in ingress",
        DropReason::Egress => "marked to drop in egress",
        DropReason::EmptyMulticastGroup => "its multicast group has no members",
        DropReason::UnknownPort => "its egress port does not exist",
        DropReason::UnknownCloneSession => "its clone session does not exist",
        DropReason::PassLimit => "it was resubmitted too often",
        DropReason::LoopLimit => "a parser state or action repeats too often",
        DropReason::AssertionFailed => "an assertion of the program failed",
        DropReason::UnknownQueue => "its priority names a queue that the port does not have",
        DropReason::Oversize => "the frame is too long",
    }
}
