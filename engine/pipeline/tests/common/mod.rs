//! A target without time around a switch: all passes that a frame causes happen at once, in order.

#![allow(dead_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use p4mesh_pipeline::*;

pub struct Target {
    pub switch: Switch,
    pub out: Outputs,
    pub now_ps: u64,
    pub drops: Vec<DropReason>,
    pub digests: Vec<(u32, Vec<Vec<u8>>)>,
}

/// Compiled program of this directory.
pub fn program_text(name: &str) -> String {
    let path = format!("{}/tests/programs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn load(name: &str) -> Target {
    load_with(name, SwitchConfig::default())
}

pub fn load_with(name: &str, config: SwitchConfig) -> Target {
    load_text(&program_text(name), config)
}

pub fn load_text(text: &str, config: SwitchConfig) -> Target {
    let program = Program::from_json(text).unwrap_or_else(|error| panic!("{error}"));
    Target {
        switch: Switch::new(Arc::new(Executable::new(program)), config),
        out: Outputs::default(),
        now_ps: 0,
        drops: Vec::new(),
        digests: Vec::new(),
    }
}

impl Target {
    /// Sends a frame and returns the frames that left the switch, in order.
    pub fn send(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.pass(InstanceType::Normal, port, frame, true)
    }

    /// As [`Target::send`], of a packet that came in another way; what `goes_on` no more comes out where it would enter
    /// again.
    pub fn pass(
        &mut self,
        instance_type: InstanceType,
        port: u16,
        frame: &[u8],
        goes_on: bool,
    ) -> Vec<(u16, Vec<u8>)> {
        let packet =
            IngressPacket { port, frame: frame.to_vec(), instance_type, preserved: Preserved::default() };
        self.switch.ingress(packet, self.now_ps, self.now_ps, &mut self.out);
        let mut sent = Vec::new();
        let mut queue: VecDeque<Output> = self.out.items.drain(..).collect();
        let mut steps = 0;
        while let Some(item) = queue.pop_front() {
            steps += 1;
            assert!(steps < 10_000, "the packet never comes to rest");
            match item {
                Output::Enqueue(packet) => {
                    let now_ps = self.now_ps;
                    let queue = QueueTimes { enqueue_ps: now_ps, dequeue_ps: now_ps, ..Default::default() };
                    let times = EgressTimes { queue, stamp_ps: now_ps, now_ps };
                    self.switch.egress(packet, &times, &mut self.out);
                }
                Output::Transmit { port, frame } => sent.push((port, frame)),
                Output::Reenter(packet) if !goes_on => sent.push((packet.port, packet.frame)),
                Output::Reenter(packet) => self.switch.ingress(packet, 0, self.now_ps, &mut self.out),
                Output::Digest { digest, fields } => self.digests.push((digest, fields)),
                Output::Drop(reason) => self.drops.push(reason),
            }
            queue.extend(self.out.items.drain(..));
        }
        sent
    }

    /// Sends a frame that must come out once.
    pub fn send_one(&mut self, port: u16, frame: &[u8]) -> (u16, Vec<u8>) {
        let mut sent = self.send(port, frame);
        assert_eq!(sent.len(), 1, "frames out; drops {:?}", self.drops);
        sent.remove(0)
    }

    pub fn insert(&mut self, table: &str, key: Vec<KeyMatch>, priority: i32, action: EntryAction) {
        let entry = TableEntry { key, priority, action, idle_timeout_ns: 0 };
        self.switch.table_insert(table, &entry, self.now_ps).unwrap_or_else(|error| panic!("{error}"));
    }
}

pub fn call(action: &str, params: &[&[u8]]) -> EntryAction {
    EntryAction::Direct(action_call(action, params))
}

pub fn action_call(action: &str, params: &[&[u8]]) -> ActionCall {
    ActionCall { action: action.to_string(), params: params.iter().map(|bytes| bytes.to_vec()).collect() }
}

pub fn exact(bytes: &[u8]) -> KeyMatch {
    KeyMatch::Exact(bytes.to_vec())
}

pub fn ternary(value: &[u8], mask: &[u8]) -> KeyMatch {
    KeyMatch::Ternary { value: value.to_vec(), mask: mask.to_vec() }
}
