//! PAUSE frames of IEEE 802.3 annex 31B.

/// Unit of the pause time.
pub const QUANTUM_BITS: u64 = 512;
const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];
const MAC_CONTROL_PAUSE: [u8; 4] = [0x88, 0x08, 0x00, 0x01];

/// A PAUSE frame without FCS, for `quanta` times 512 bit times; 0 lets the other end go on.
pub fn frame(quanta: u16) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&DESTINATION);
    frame[6] = 0x02;
    frame[12..16].copy_from_slice(&MAC_CONTROL_PAUSE);
    frame[16..18].copy_from_slice(&quanta.to_be_bytes());
    frame
}

/// The pause time of a PAUSE frame; `None` for any other frame.
#[inline]
pub fn quanta_of(frame: &[u8]) -> Option<u16> {
    if frame.len() < 18 || frame[..6] != DESTINATION || frame[12..16] != MAC_CONTROL_PAUSE {
        return None;
    }
    Some(u16::from_be_bytes([frame[16], frame[17]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_time_survives_the_frame() {
        assert_eq!(quanta_of(&frame(0xffff)), Some(0xffff));
        let mut other = frame(7);
        other[15] = 2;
        assert_eq!(quanta_of(&other), None);
    }
}
