//! Packets to which a proof applies: those that are equal but for some bits of the frame, and for the bytes behind
//! those that the pass looks at.

use crate::idle::moving::Bits;
use crate::idle::stamp::StampField;
use crate::packets::packet::{IngressPacket, InstanceType};

/// A packet as far as its pass looks at it, and the bits that may differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    port: u16,
    /// Length of the frame, and the bytes of it that the pass looks at.
    length: usize,
    head: Vec<u8>,
    fields: Vec<(u16, u64)>,
    stamps: Vec<StampField>,
    carried: Vec<Bits>,
    /// Bytes with bits that may differ, in ascending order, and the bits that may not.
    open: Vec<(u32, u8)>,
}

impl Pattern {
    /// The packets that differ from this one in time stamps, in fields that are carried, and behind the first
    /// `head_bytes`, among which these are.
    pub fn of(packet: &IngressPacket, head_bytes: usize, stamps: &[StampField], carried: &[Bits]) -> Pattern {
        let of_stamps = stamps.iter().map(|it| (it.first_bit, it.bits));
        let mut fields: Vec<(u32, u16)> =
            of_stamps.chain(carried.iter().map(|it| (it.first_bit, it.bits))).collect();
        fields.sort_unstable();
        let mut open: Vec<(u32, u8)> = Vec::new();
        for bit in fields.iter().flat_map(|&(first, bits)| first..first + u32::from(bits)) {
            match open.last_mut().filter(|last| last.0 == bit / 8) {
                Some(last) => last.1 &= !(0x80 >> (bit % 8)),
                None => open.push((bit / 8, !(0x80 >> (bit % 8)))),
            }
        }
        Pattern {
            port: packet.port,
            length: packet.frame.len(),
            head: head(&packet.frame, head_bytes).to_vec(),
            fields: packet.preserved.fields.clone(),
            stamps: stamps.to_vec(),
            carried: carried.to_vec(),
            open,
        }
    }

    /// Whether [`Pattern::of`] would give the same packets.
    pub fn is_that_of(
        &self,
        packet: &IngressPacket,
        head_bytes: usize,
        stamps: &[StampField],
        carried: &[Bits],
    ) -> bool {
        self.head.len() == head(&packet.frame, head_bytes).len()
            && self.stamps == stamps
            && self.carried == carried
            && self.fits(packet)
    }

    pub fn fits(&self, packet: &IngressPacket) -> bool {
        let IngressPacket { port, frame, instance_type, preserved } = packet;
        *port == self.port
            && *instance_type == InstanceType::Recirculated
            && preserved.resubmits == 0
            && preserved.charged_bytes.is_none()
            && preserved.fields == self.fields
            && self.fits_frame(frame)
    }

    fn fits_frame(&self, frame: &[u8]) -> bool {
        if frame.len() != self.length {
            return false;
        }
        let frame = &frame[..self.head.len()];
        let mut from = 0;
        for &(at, mask) in &self.open {
            let at = at as usize;
            if frame[from..at] != self.head[from..at] || (frame[at] ^ self.head[at]) & mask != 0 {
                return false;
            }
            from = at + 1;
        }
        frame[from..] == self.head[from..]
    }
}

fn head(frame: &[u8], bytes: usize) -> &[u8] {
    &frame[..bytes.min(frame.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::packet::Preserved;

    fn packet(frame: &[u8]) -> IngressPacket {
        IngressPacket {
            port: 3,
            frame: frame.to_vec(),
            instance_type: InstanceType::Recirculated,
            preserved: Preserved::default(),
        }
    }

    #[test]
    fn packets_may_differ_in_open_bits_alone() {
        let stamps = [StampField { first_bit: 20, bits: 8, offset: 0 }];
        let carried = [Bits { first_bit: 0, bits: 4 }, Bits { first_bit: 40, bits: 8 }];
        let pattern = Pattern::of(&packet(&[0; 7]), 7, &stamps, &carried);
        for byte in 0..7 {
            for bit in 0..8 {
                let mut frame = [0; 7];
                frame[byte] = 0x80 >> bit;
                let at = 8 * byte + bit;
                let open = at < 4 || (20..28).contains(&at) || (40..48).contains(&at);
                assert_eq!(pattern.fits(&packet(&frame)), open, "bit {at}");
            }
        }
        assert!(pattern.fits(&packet(&[0; 7])) && !pattern.fits(&packet(&[0; 8])));
        assert!(!pattern.fits(&IngressPacket { port: 4, ..packet(&[0; 7]) }));
        assert!(!pattern.fits(&IngressPacket { instance_type: InstanceType::Normal, ..packet(&[0; 7]) }));
    }

    #[test]
    fn packets_may_differ_behind_the_bytes_that_the_pass_looks_at() {
        let pattern = Pattern::of(&packet(&[0; 7]), 5, &[], &[]);
        for byte in 0..7 {
            let mut frame = [0; 7];
            frame[byte] = 1;
            assert_eq!(pattern.fits(&packet(&frame)), byte >= 5, "byte {byte}");
        }
        assert!(!pattern.fits(&packet(&[0; 8])) && !pattern.fits(&packet(&[0; 6])));
        assert!(pattern.is_that_of(&packet(&[0, 0, 0, 0, 0, 1, 1]), 5, &[], &[]));
        assert!(!pattern.is_that_of(&packet(&[0; 7]), 6, &[], &[]));
    }
}
