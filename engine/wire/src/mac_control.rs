//! MAC control frames of IEEE 802.3 annex 31: PAUSE.

use crate::ethernet::{self, Header, Mac};

/// Unit of the pause time.
pub const QUANTUM_BITS: u64 = 512;
const DESTINATION: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x01];
const SOURCE: Mac = [0x02, 0, 0, 0, 0, 0];
const TYPE_MAC_CONTROL: u16 = 0x8808;
const OPCODE_PAUSE: u16 = 1;
/// Type and operation code.
const MAC_CONTROL_PAUSE: [u8; 4] = [0x88, 0x08, 0x00, 0x01];

/// A PAUSE frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The pause time, in 512 bit times; 0 lets the other end go on.
    pub quanta: u16,
}

/// Reads a frame; `None` for any other than a PAUSE frame.
#[inline]
pub fn parse(frame: &[u8]) -> Option<Pause> {
    if frame.len() < 18 || frame[..6] != DESTINATION || frame[12..16] != MAC_CONTROL_PAUSE {
        return None;
    }
    let quanta = u16::from_be_bytes([frame[16], frame[17]]);
    Some(Pause { quanta })
}

impl Pause {
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let header = Header { destination: DESTINATION, source: SOURCE, ether_type: TYPE_MAC_CONTROL };
        header.emit(frame);
        frame.extend_from_slice(&OPCODE_PAUSE.to_be_bytes());
        frame.extend_from_slice(&self.quanta.to_be_bytes());
        ethernet::pad(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let pause = Pause { quanta: 0xfffe };
        let mut frame = Vec::new();
        pause.emit(&mut frame);
        assert_eq!(frame.len(), ethernet::MIN_FRAME_BYTES);
        assert_eq!(frame[12..18], [0x88, 0x08, 0, 1, 0xff, 0xfe]);
        assert_eq!(parse(&frame), Some(pause));
        assert_eq!(parse(&frame[..17]), None);
        frame[15] = 2;
        assert_eq!(parse(&frame), None, "another operation");
    }
}
