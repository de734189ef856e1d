//! Bidirectional forwarding detection (RFC 5880) for one hop (RFC 5881): asynchronous mode, without authentication.

use crate::{Nanoseconds, NS_PER_US};

/// UDP port of single-hop control packets (RFC 5881 section 4).
pub const PORT: u16 = 3_784;
const PACKET_BYTES: usize = 24;
const VERSION: u8 = 1;
/// Least transmit interval of a session that is not up (RFC 5880 section 6.8.3).
const SLOW_US: u32 = 1_000_000;
const POLL: u8 = 0x20;
const FINAL: u8 = 0x10;
const AUTHENTICATION: u8 = 0x04;
const MULTIPOINT: u8 = 0x01;
/// Diagnostic codes (RFC 5880 section 4.1).
const NO_DIAGNOSTIC: u8 = 0;
const DETECTION_TIME_EXPIRED: u8 = 1;
const NEIGHBOUR_SIGNALED_DOWN: u8 = 3;

/// State of a session (RFC 5880 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Down = 1,
    Init = 2,
    Up = 3,
}

/// A control packet (RFC 5880 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    diagnostic: u8,
    /// `None`: the neighbour keeps the session down on purpose (AdminDown).
    state: Option<State>,
    flags: u8,
    detect_multiplier: u8,
    my_discriminator: u32,
    your_discriminator: u32,
    desired_min_tx_us: u32,
    required_min_rx_us: u32,
}

impl Packet {
    /// Reads a packet; `None` for one that RFC 5880 section 6.8.6 says to discard.
    fn parse(bytes: &[u8]) -> Option<Packet> {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if bytes.len() < PACKET_BYTES
            || usize::from(bytes[3]) < PACKET_BYTES
            || usize::from(bytes[3]) > bytes.len()
        {
            return None;
        }
        let packet = Packet {
            diagnostic: bytes[0] & 0x1f,
            state: match bytes[1] >> 6 {
                1 => Some(State::Down),
                2 => Some(State::Init),
                3 => Some(State::Up),
                _ => None,
            },
            flags: bytes[1] & 0x3f,
            detect_multiplier: bytes[2],
            my_discriminator: word(4),
            your_discriminator: word(8),
            desired_min_tx_us: word(12),
            required_min_rx_us: word(16),
        };
        let to_nobody =
            packet.your_discriminator == 0 && matches!(packet.state, Some(State::Init | State::Up));
        let refused = bytes[0] >> 5 != VERSION
            || packet.detect_multiplier == 0
            || packet.my_discriminator == 0
            || packet.flags & (AUTHENTICATION | MULTIPOINT) != 0
            || to_nobody;
        (!refused).then_some(packet)
    }

    fn bytes(&self) -> [u8; PACKET_BYTES] {
        let mut bytes = [0; PACKET_BYTES];
        bytes[0] = VERSION << 5 | self.diagnostic;
        bytes[1] = self.state.map_or(0, |state| state as u8) << 6 | self.flags;
        bytes[2] = self.detect_multiplier;
        bytes[3] = PACKET_BYTES as u8;
        let words =
            [self.my_discriminator, self.your_discriminator, self.desired_min_tx_us, self.required_min_rx_us];
        for (at, word) in words.into_iter().enumerate() {
            bytes[4 + 4 * at..8 + 4 * at].copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

/// Effect of an event on a session.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    Send(Vec<u8>),
    Up,
    Down(String),
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    interval_us: u32,
    multiplier: u8,
    discriminator: u32,
    state: State,
    diagnostic: u8,
    polling: bool,
    neighbour: Option<Packet>,
    send_at: Nanoseconds,
    detect_at: Option<Nanoseconds>,
    jitter: u32,
}

impl Session {
    /// `interval_us`: wanted in both directions; `multiplier`: packets in a row whose loss ends the session;
    /// `discriminator`: a number of its own per session of a host, not zero.
    pub fn new(interval_us: u32, multiplier: u8, discriminator: u32, now: Nanoseconds) -> Session {
        Session {
            interval_us,
            multiplier,
            discriminator,
            state: State::Down,
            diagnostic: NO_DIAGNOSTIC,
            polling: false,
            neighbour: None,
            send_at: now,
            detect_at: None,
            jitter: discriminator,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn next_event(&self) -> Nanoseconds {
        self.detect_at.map_or(self.send_at, |detect_at| detect_at.min(self.send_at))
    }

    /// Takes the payload of a datagram of the neighbour.
    pub fn on_packet(&mut self, bytes: &[u8], now: Nanoseconds) -> Vec<Output> {
        let Some(packet) = Packet::parse(bytes) else { return Vec::new() };
        if packet.your_discriminator != 0 && packet.your_discriminator != self.discriminator {
            return Vec::new();
        }
        self.neighbour = Some(packet);
        self.detect_at = Some(now + self.detection_ns(&packet));
        if packet.flags & FINAL != 0 {
            self.polling = false;
        }
        let mut outputs = Vec::new();
        match (self.state, packet.state) {
            (State::Init | State::Up, None) | (State::Up, Some(State::Down)) => {
                outputs
                    .extend(self.go_down(NEIGHBOUR_SIGNALED_DOWN, "the neighbour signals that BFD is down"));
            }
            (State::Down, Some(State::Down)) => self.state = State::Init,
            (State::Down, Some(State::Init)) | (State::Init, Some(State::Init | State::Up)) => {
                self.state = State::Up;
                self.diagnostic = NO_DIAGNOSTIC;
                // The interval changes from the slow one to that of the settings (RFC 5880 section 6.8.3).
                self.polling = true;
                self.send_at = now;
                outputs.push(Output::Up);
            }
            _ => {}
        }
        if packet.flags & POLL != 0 {
            outputs.push(Output::Send(self.packet(FINAL)));
        }
        outputs
    }

    pub fn on_time(&mut self, now: Nanoseconds) -> Vec<Output> {
        let mut outputs = Vec::new();
        if self.detect_at.is_some_and(|at| at <= now) {
            self.detect_at = None;
            let silence_ms = self.neighbour.map_or(0, |it| self.detection_ns(&it)) / (1_000 * NS_PER_US);
            self.neighbour = None;
            if self.state != State::Down {
                let reason = format!("BFD: nothing heard from the neighbour for {silence_ms} ms");
                outputs.extend(self.go_down(DETECTION_TIME_EXPIRED, &reason));
            }
        }
        if self.send_at <= now {
            outputs.push(Output::Send(self.packet(if self.polling { POLL } else { 0 })));
            self.send_at = now + self.transmit_ns();
        }
        outputs
    }

    fn go_down(&mut self, diagnostic: u8, reason: &str) -> Vec<Output> {
        self.state = State::Down;
        self.diagnostic = diagnostic;
        self.polling = false;
        vec![Output::Down(reason.to_string())]
    }

    fn packet(&self, flag: u8) -> Vec<u8> {
        let packet = Packet {
            diagnostic: self.diagnostic,
            state: Some(self.state),
            flags: flag,
            detect_multiplier: self.multiplier,
            my_discriminator: self.discriminator,
            your_discriminator: self.neighbour.map_or(0, |it| it.my_discriminator),
            desired_min_tx_us: self.desired_us(),
            required_min_rx_us: self.interval_us,
        };
        packet.bytes().to_vec()
    }

    fn desired_us(&self) -> u32 {
        if self.state == State::Up {
            self.interval_us
        } else {
            self.interval_us.max(SLOW_US)
        }
    }

    /// The agreed interval less a jitter of up to 25 %, or of 10 % to 25 % when one lost packet ends the session
    /// (RFC 5880 section 6.8.7).
    fn transmit_ns(&mut self) -> u64 {
        // Numerical Recipes' generator: it only has to keep hosts out of step.
        self.jitter = self.jitter.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let least = if self.multiplier == 1 { 100 } else { 0 };
        let permille = 1_000 - (least + u64::from(self.jitter >> 16) % (251 - least));
        let agreed_us = self.desired_us().max(self.neighbour.map_or(0, |it| it.required_min_rx_us));
        u64::from(agreed_us) * permille * NS_PER_US / 1_000
    }

    /// How long silence lasts before the session is down (RFC 5880 section 6.8.4).
    fn detection_ns(&self, packet: &Packet) -> u64 {
        let agreed_us = self.interval_us.max(packet.desired_min_tx_us);
        u64::from(packet.detect_multiplier) * u64::from(agreed_us) * NS_PER_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NS_PER_S;

    const INTERVAL_NS: u64 = 150_000_000;

    /// Runs two sessions over a wire that takes no time, and carries nothing in `cut`.
    fn run(
        ends: &mut [Session; 2],
        from: Nanoseconds,
        until: Nanoseconds,
        cut: bool,
    ) -> Vec<(Nanoseconds, usize, Output)> {
        let mut seen = Vec::new();
        let mut now = from;
        while now < until {
            let mut work: Vec<(usize, Output)> = Vec::new();
            for (index, end) in ends.iter_mut().enumerate() {
                if end.next_event() <= now {
                    work.extend(end.on_time(now).into_iter().map(|output| (index, output)));
                }
            }
            while let Some((index, output)) = work.pop() {
                match output {
                    Output::Send(_) if cut => {}
                    Output::Send(bytes) => {
                        let more = ends[1 - index].on_packet(&bytes, now);
                        work.extend(more.into_iter().map(|output| (1 - index, output)));
                    }
                    other => seen.push((now, index, other)),
                }
            }
            now = ends[0].next_event().min(ends[1].next_event()).max(now + 1);
        }
        seen
    }

    #[test]
    fn both_ends_come_up_and_find_a_cut_wire_within_the_detection_time() {
        let mut ends = [Session::new(150_000, 3, 7, 0), Session::new(150_000, 3, 8, 0)];
        let ups = run(&mut ends, 0, 5 * NS_PER_S, false);
        assert_eq!(ups.iter().map(|it| &it.2).collect::<Vec<_>>(), [&Output::Up, &Output::Up]);
        let downs = run(&mut ends, 5 * NS_PER_S, 10 * NS_PER_S, true);
        assert_eq!(downs.len(), 2);
        for (at, _, output) in &downs {
            assert!(matches!(output, Output::Down(reason) if reason.contains("450 ms")), "{output:?}");
            let after = at - 5 * NS_PER_S;
            assert!(after > 2 * INTERVAL_NS && after <= 3 * INTERVAL_NS, "{after}");
        }
        let again = run(&mut ends, 10 * NS_PER_S, 20 * NS_PER_S, false);
        assert_eq!(again.iter().map(|it| &it.2).collect::<Vec<_>>(), [&Output::Up, &Output::Up]);
    }

    #[test]
    fn the_slower_side_decides_the_interval() {
        let mut ends = [Session::new(50_000, 3, 7, 0), Session::new(300_000, 3, 8, 0)];
        run(&mut ends, 0, 5 * NS_PER_S, false);
        let gap = ends[0].transmit_ns();
        assert!((225 * 1_000_000..=300 * 1_000_000).contains(&gap), "{gap}");
    }

    #[test]
    fn packets_that_are_not_for_the_session_are_discarded() {
        let mut session = Session::new(150_000, 3, 7, 0);
        let good = Session::new(150_000, 3, 8, 0).packet(0);
        for (at, value) in [(0, 0x40), (1, 0x44), (1, 0x41), (1, 0xc0), (2, 0), (3, 23), (3, 25), (11, 9)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            session.on_packet(&bytes, 0);
            assert_eq!(session.state(), State::Down, "byte {at} = {value:#x}");
        }
        session.on_packet(&good[..23], 0);
        assert_eq!(session.state(), State::Down);
        session.on_packet(&good, 0);
        assert_eq!(session.state(), State::Init);
    }
}
