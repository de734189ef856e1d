//! Ethernet II (IEEE 802.3 3.1.1) and its addresses. Frames carry no FCS.

use etherparse::{EtherType, Ethernet2Header};

pub type Mac = [u8; 6];

pub const BROADCAST: Mac = [0xff; 6];
pub const HEADER_BYTES: usize = Ethernet2Header::LEN;
/// Shortest frame.
pub const MIN_FRAME_BYTES: usize = 60;

pub const TYPE_IPV4: u16 = EtherType::IPV4.0;
pub const TYPE_ARP: u16 = EtherType::ARP.0;
pub const TYPE_IPV6: u16 = EtherType::IPV6.0;

/// The first 14 bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub destination: Mac,
    pub source: Mac,
    /// Type of the next header: of a protocol, or of a tag.
    pub ether_type: u16,
}

/// The header, and the bytes behind it.
#[inline]
pub fn parse(frame: &[u8]) -> Option<(Header, &[u8])> {
    let (header, payload) = Ethernet2Header::from_slice(frame).ok()?;
    let header =
        Header { destination: header.destination, source: header.source, ether_type: header.ether_type.0 };
    Some((header, payload))
}

impl Header {
    pub fn emit(&self, frame: &mut Vec<u8>) {
        let header = Ethernet2Header {
            destination: self.destination,
            source: self.source,
            ether_type: EtherType(self.ether_type),
        };
        frame.extend_from_slice(&header.to_bytes());
    }
}

/// The destination of a frame that has a header.
#[inline]
pub fn destination(frame: &[u8]) -> Mac {
    address(&frame[..6])
}

/// The destination of a frame that has a header, as a number.
#[inline]
pub fn destination_number(frame: &[u8]) -> u64 {
    number_at(frame, 0) >> 16
}

/// The source of a frame that has a header, as a number.
#[inline]
pub fn source_number(frame: &[u8]) -> u64 {
    number_at(frame, 4) & 0xffff_ffff_ffff
}

/// Eight bytes of the header: an address read by bytes takes as long as all else that a switch asks of it.
#[inline]
fn number_at(frame: &[u8], place: usize) -> u64 {
    u64::from_be_bytes(frame[place..place + 8].first_chunk().copied().unwrap_or_default())
}

/// The source of a frame that has a header.
#[inline]
pub fn source(frame: &[u8]) -> Mac {
    address(&frame[6..12])
}

/// An address out of its six bytes.
#[inline]
fn address(bytes: &[u8]) -> Mac {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// Gives a frame that has a header other addresses.
#[inline]
pub fn set_addresses(frame: &mut [u8], destination: Mac, source: Mac) {
    frame[..6].copy_from_slice(&destination);
    frame[6..12].copy_from_slice(&source);
}

/// Fills a frame with zeros up to the minimum of Ethernet.
pub fn pad(frame: &mut Vec<u8>) {
    if frame.len() < MIN_FRAME_BYTES {
        frame.resize(MIN_FRAME_BYTES, 0);
    }
}

/// Reads six bytes such as `02:f4:bc:00:00:01`.
pub fn parse_mac(text: &str) -> Option<Mac> {
    let byte = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|it| it.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(text, 16).ok())?
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    Mac::try_from(bytes?).ok()
}

/// An address as a number.
#[inline]
pub fn number(mac: Mac) -> u64 {
    u64::from_be_bytes([0, 0, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]])
}

/// The group bit of an address is the lowest of its first byte.
#[inline]
pub fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}

/// 01-80-C2-00-00-00 to 0F: PAUSE, spanning tree and the like end at the next bridge (802.1Q 8.6.3).
#[inline]
pub fn is_link_local(mac: u64) -> bool {
    mac & !0xf == 0x0180_c200_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header { destination: BROADCAST, source: [2, 0, 0, 0, 0, 1], ether_type: TYPE_ARP };
        let mut frame = Vec::new();
        header.emit(&mut frame);
        assert_eq!(frame[12..], [0x08, 0x06]);
        frame.push(7);
        assert_eq!(parse(&frame), Some((header, &[7][..])));
        assert_eq!(parse(&frame[..13]), None);
        assert_eq!((destination(&frame), source(&frame)), (BROADCAST, header.source));
        set_addresses(&mut frame, header.source, BROADCAST);
        assert_eq!((destination(&frame), source(&frame)), (header.source, BROADCAST));
        pad(&mut frame);
        assert_eq!(frame.len(), MIN_FRAME_BYTES);
    }

    #[test]
    fn addresses_are_read_from_texts() {
        assert_eq!(parse_mac("02:f4:BC:00:00:01"), Some([2, 0xf4, 0xbc, 0, 0, 1]));
        for text in ["02:f4:bc:00:00", "2:f4:bc:00:00:01", "02:f4:bc:00:00:+1", ""] {
            assert_eq!(parse_mac(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_have_their_kinds() {
        assert!(is_group(number(BROADCAST)) && is_group(number([1, 0, 0x5e, 0, 0, 1])));
        assert!(!is_group(number([2, 0, 0, 0, 0, 1])));
        assert!(is_link_local(number([1, 0x80, 0xc2, 0, 0, 0x0e])));
        assert!(!is_link_local(number([1, 0x80, 0xc2, 0, 0, 0x10])));
    }
}
