//! The neighbours of a router: their MACs, the packets that wait for an answer, the times of further questions.

use std::collections::BTreeMap;
use std::net::IpAddr;

use p4mesh_pipeline::Frame;
use p4mesh_wire::ethernet::Mac;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{PositiveSeconds, QueueFrames, Whole};

/// `neighbours` of a router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeighboursConfig {
    /// Learn from gratuitous ARP and unsolicited advertisements.
    pub accept_unsolicited: bool,
    /// From a question to the next.
    pub retry_s: PositiveSeconds<3_600, 1>,
    /// Questions before waiting packets are dropped.
    pub attempts: Whole<1, 1_000, 3>,
    /// Packets that wait for one neighbour.
    pub waiting_packets: QueueFrames<3>,
    /// Entries are forgotten after this time.
    pub lifetime_s: PositiveSeconds<3_600_000, 1_200>,
}

impl Default for NeighboursConfig {
    fn default() -> NeighboursConfig {
        NeighboursConfig {
            accept_unsolicited: true,
            retry_s: PositiveSeconds::default(),
            attempts: Whole::default(),
            waiting_packets: QueueFrames::default(),
            lifetime_s: PositiveSeconds::default(),
        }
    }
}

/// A neighbour: port and address.
pub type Key = (usize, IpAddr);

#[derive(Debug)]
struct Waiting {
    packets: Vec<Frame>,
    asked: u32,
    ask_again_ps: u64,
}

/// Result for a packet whose neighbour is not known.
pub enum Held {
    /// It waits, and the neighbour must be asked now.
    Ask,
    /// It waits for an answer to an earlier question.
    Waits,
    /// Too many wait.
    Full(Frame),
    /// It cannot wait, but the neighbour must be asked now.
    AskOnly(Frame),
}

/// The table.
pub struct Neighbours {
    config: NeighboursConfig,
    known: BTreeMap<Key, (Mac, u64)>,
    waiting: BTreeMap<Key, Waiting>,
}

impl Neighbours {
    pub fn new(config: NeighboursConfig) -> Neighbours {
        Neighbours { config, known: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    pub fn mac(&self, key: Key, now_ps: u64) -> Option<Mac> {
        let &(mac, until_ps) = self.known.get(&key)?;
        (now_ps < until_ps).then_some(mac)
    }

    /// Learns a MAC and returns the packets that waited for it. An unsolicited answer changes an
    /// entry, but makes a new one only where the configuration says so.
    pub fn learn(&mut self, key: Key, mac: Mac, solicited: bool, now_ps: u64) -> Vec<Frame> {
        let wanted = solicited || self.waiting.contains_key(&key) || self.known.contains_key(&key);
        if !wanted && !self.config.accept_unsolicited {
            return Vec::new();
        }
        self.known.insert(key, (mac, now_ps + self.config.lifetime_s.ps()));
        self.waiting.remove(&key).map_or(Vec::new(), |it| it.packets)
    }

    /// Keeps a packet until its neighbour is known.
    pub fn hold(&mut self, key: Key, packet: Frame, now_ps: u64) -> Held {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            if waiting.packets.len() as u64 >= self.config.waiting_packets.get() {
                return Held::Full(packet);
            }
            waiting.packets.push(packet);
            return Held::Waits;
        }
        let (packets, held) = if self.config.waiting_packets.get() == 0 {
            (Vec::new(), Held::AskOnly(packet))
        } else {
            (vec![packet], Held::Ask)
        };
        let waiting = Waiting { packets, asked: 1, ask_again_ps: now_ps + self.config.retry_s.ps() };
        self.waiting.insert(key, waiting);
        held
    }

    /// Neighbours to ask again now, and packets to give up, with their neighbours.
    pub fn due(&mut self, now_ps: u64) -> (Vec<Key>, Vec<(Key, Vec<Frame>)>) {
        let (mut ask, mut gone) = (Vec::new(), Vec::new());
        for (&key, waiting) in &mut self.waiting {
            if waiting.ask_again_ps > now_ps {
                continue;
            }
            if u64::from(waiting.asked) < self.config.attempts.get() {
                waiting.asked += 1;
                waiting.ask_again_ps = now_ps + self.config.retry_s.ps();
                ask.push(key);
            } else {
                gone.push((key, std::mem::take(&mut waiting.packets)));
            }
        }
        for (key, _) in &gone {
            self.waiting.remove(key);
        }
        (ask, gone)
    }

    /// From a question to the next.
    pub fn retry_ps(&self) -> u64 {
        self.config.retry_s.ps()
    }

    /// Forgets the neighbours of the ports that `concerned` names; returns the packets that waited for them.
    pub fn forget(&mut self, concerned: impl Fn(usize) -> bool) -> Vec<(Key, Vec<Frame>)> {
        self.known.retain(|&(port, _), _| !concerned(port));
        let mut gone = Vec::new();
        self.waiting.retain(|&key, waiting| {
            if concerned(key.0) {
                gone.push((key, std::mem::take(&mut waiting.packets)));
            }
            !concerned(key.0)
        });
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 9];

    fn key() -> Key {
        (0, "10.0.0.2".parse().unwrap())
    }

    #[test]
    fn packets_wait_for_the_answer_and_no_longer_than_the_questions() {
        let mut neighbours = Neighbours::new(NeighboursConfig {
            retry_s: PositiveSeconds::from_ps(100),
            attempts: Whole::of(2),
            waiting_packets: QueueFrames::of(2),
            ..Default::default()
        });
        assert!(matches!(neighbours.hold(key(), vec![1], 0), Held::Ask));
        assert!(matches!(neighbours.hold(key(), vec![2], 0), Held::Waits));
        assert!(matches!(neighbours.hold(key(), vec![3], 0), Held::Full(_)));
        assert_eq!(neighbours.due(100), (vec![key()], vec![]));
        let gone = vec![(key(), vec![vec![1], vec![2]])];
        assert_eq!(neighbours.due(200), (vec![], gone));
        assert!(matches!(neighbours.hold(key(), vec![4], 300), Held::Ask));
        assert_eq!(neighbours.learn(key(), MAC, true, 310), vec![vec![4]]);
        assert_eq!(neighbours.mac(key(), 320), Some(MAC));
    }

    #[test]
    fn without_room_for_packets_neighbours_are_asked_all_the_same() {
        let mut neighbours =
            Neighbours::new(NeighboursConfig { waiting_packets: QueueFrames::of(0), ..Default::default() });
        assert!(matches!(neighbours.hold(key(), vec![1], 0), Held::AskOnly(_)));
        assert!(matches!(neighbours.hold(key(), vec![2], 0), Held::Full(_)));
        assert!(neighbours.learn(key(), MAC, true, 10).is_empty());
        assert_eq!(neighbours.mac(key(), 20), Some(MAC));
    }

    #[test]
    fn what_was_learned_ends_and_gratuitous_answers_may_be_refused() {
        let mut neighbours = Neighbours::new(NeighboursConfig {
            accept_unsolicited: false,
            lifetime_s: PositiveSeconds::from_ps(50),
            ..Default::default()
        });
        neighbours.learn(key(), MAC, false, 0);
        assert_eq!(neighbours.mac(key(), 1), None);
        neighbours.learn(key(), MAC, true, 0);
        assert_eq!(neighbours.mac(key(), 49), Some(MAC));
        assert_eq!(neighbours.mac(key(), 50), None);
    }
}
