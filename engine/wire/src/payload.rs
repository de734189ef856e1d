//! The payload that ports of the tester expect in marked frames.

/// Bytes that count up from 0, and again after 255.
const COUNTING: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut place = 0;
    while place < bytes.len() {
        bytes[place] = place as u8;
        place += 1;
    }
    bytes
};

/// Shortest frame without FCS; shorter ones are filled up with zeros on the way.
const SHORTEST_BYTES: usize = 60;

/// Frames with a mark, behind which bytes count up from 0 to the end of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedPayload {
    /// Places at which the mark may stand: a device may put headers in front of it, and take some away.
    pub offsets_bytes: Vec<usize>,
    pub mark: Vec<u8>,
    /// From the beginning of the mark to the first byte that counts.
    pub counts_behind_bytes: usize,
}

impl CountedPayload {
    /// Whether a frame (without FCS) has the mark, and not all of the bytes that belong behind it.
    #[inline]
    pub fn is_damaged(&self, frame: &[u8]) -> bool {
        // Most places differ in the first byte: no function is called to compare the others.
        let is_here = |offset: &&usize| {
            frame
                .get(**offset..)
                .is_some_and(|rest| rest.first() == self.mark.first() && rest.starts_with(&self.mark))
        };
        let Some(offset) = self.offsets_bytes.iter().find(is_here) else {
            return false;
        };
        let payload = frame.get(offset + self.counts_behind_bytes..).unwrap_or(&[]);
        let counts = payload.chunks(COUNTING.len()).all(|part| part == &COUNTING[..part.len()]);
        !counts && !is_filled_up(payload, frame.len())
    }
}

/// Whether a payload counts up to some byte, behind which zeros bring the frame to the shortest length.
fn is_filled_up(payload: &[u8], frame_bytes: usize) -> bool {
    let counted =
        payload.iter().zip(COUNTING.iter().cycle()).take_while(|(found, sent)| found == sent).count();
    frame_bytes <= SHORTEST_BYTES && payload[counted..].iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> CountedPayload {
        CountedPayload { offsets_bytes: vec![14, 18], mark: b"PM\x07".to_vec(), counts_behind_bytes: 18 }
    }

    fn frame(headers: usize, length: usize) -> Vec<u8> {
        let mut frame = vec![0xAA; headers];
        frame.extend(b"PM\x07");
        frame.resize(headers + 18, 0x55);
        frame.extend((0..length - frame.len()).map(|place| place as u8));
        frame
    }

    #[test]
    fn every_bit_of_a_payload_counts_and_none_in_front_of_it() {
        for headers in [14, 18] {
            let whole = frame(headers, 700);
            assert!(!expected().is_damaged(&whole));
            for bit in 0..8 * whole.len() {
                let mut other = whole.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                let in_payload = bit / 8 >= headers + 18;
                assert_eq!(expected().is_damaged(&other), in_payload, "bit {bit} behind {headers} bytes");
            }
        }
    }

    #[test]
    fn frames_without_the_mark_are_of_no_interest() {
        assert!(!expected().is_damaged(&[0; 100]));
        assert!(!expected().is_damaged(&frame(16, 100)));
        assert!(!expected().is_damaged(&[]));
    }

    #[test]
    fn zeros_up_to_the_shortest_length_are_no_damage() {
        let mut short = frame(14, 50);
        short.resize(60, 0);
        assert!(!expected().is_damaged(&short));
        short.push(0);
        assert!(expected().is_damaged(&short));
        let mut other = frame(14, 50);
        other.resize(59, 0);
        other.push(1);
        assert!(expected().is_damaged(&other));
    }
}
