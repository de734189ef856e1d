//! Tags of IEEE 802.1Q 9.6, of which a frame can carry several.

use etherparse::{EtherType, SingleVlanHeader};

use crate::ethernet;

/// Type of a customer tag, and of a service tag in front of it.
pub const CUSTOMER: u16 = EtherType::VLAN_TAGGED_FRAME.0;
pub const SERVICE: u16 = EtherType::PROVIDER_BRIDGING.0;

pub const TAG_BYTES: usize = 4;
/// Behind the two addresses.
const PLACE: usize = 12;

/// Whether an EtherType is that of a tag.
#[inline]
pub fn is_tag(ether_type: u16) -> bool {
    ether_type == CUSTOMER || ether_type == SERVICE
}

/// One tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// [`CUSTOMER`] or [`SERVICE`].
    pub tag_type: u16,
    pub vid: u16,
    /// Priority code point and drop eligible indicator.
    pub priority: u16,
}

/// The outermost tag of a frame.
#[inline]
pub fn parse(frame: &[u8]) -> Option<Tag> {
    let tag = frame.get(PLACE..ethernet::HEADER_BYTES + TAG_BYTES)?;
    let tag_type = u16::from_be_bytes([tag[0], tag[1]]);
    if !is_tag(tag_type) {
        return None;
    }
    let header = SingleVlanHeader::from_bytes([tag[2], tag[3], tag[4], tag[5]]);
    let control = u16::from_be_bytes([tag[2], tag[3]]);
    Some(Tag { tag_type, vid: header.vlan_id.value(), priority: control >> 12 })
}

/// Takes the outermost tag off.
#[inline]
pub fn take(frame: &mut Vec<u8>) -> Option<Tag> {
    let tag = parse(frame)?;
    frame.drain(PLACE..PLACE + TAG_BYTES);
    Some(tag)
}

impl Tag {
    /// Puts the tag in front of all others of a frame.
    #[inline]
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let [type_high, type_low] = self.tag_type.to_be_bytes();
        let [high, low] = (self.priority << 12 | self.vid).to_be_bytes();
        frame.splice(PLACE..PLACE, [type_high, type_low, high, low]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(tag_type: u16, vid: u16, priority: u16) -> Tag {
        Tag { tag_type, vid, priority }
    }

    #[test]
    fn a_stack_of_tags_comes_off_as_it_was_put_on() {
        let untagged: Vec<u8> = (0..60).collect();
        let (inner, outer) = (tag(CUSTOMER, 4_094, 0b1101), tag(SERVICE, 1, 0));
        let mut frame = untagged.clone();
        inner.emit(&mut frame);
        outer.emit(&mut frame);
        assert_eq!(frame[12..20], [0x88, 0xa8, 0, 1, 0x81, 0, 0xdf, 0xfe]);
        assert_eq!(take(&mut frame), Some(outer));
        assert_eq!(take(&mut frame), Some(inner));
        assert_eq!(take(&mut frame), None);
        assert_eq!(frame, untagged);
    }

    #[test]
    fn a_frame_that_ends_in_its_tag_has_none() {
        let mut frame = vec![0; 14];
        tag(CUSTOMER, 5, 0).emit(&mut frame);
        assert!(parse(&frame).is_some());
        assert_eq!(parse(&frame[..17]), None);
    }
}
