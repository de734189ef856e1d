//! Sums of 16-bit words (RFC 1071), and the pseudo-headers that UDP and ICMPv6 sum.

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;

/// The sum over addresses, length and protocol (RFC 768, RFC 8200 8.1). Both addresses are of one family.
#[inline]
pub fn pseudo_header(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    message_bytes: usize,
) -> Sum16BitWords {
    let add = |sum: Sum16BitWords, address: IpAddr| match address {
        IpAddr::V4(address) => sum.add_slice(&address.octets()),
        IpAddr::V6(address) => sum.add_slice(&address.octets()),
    };
    add(add(Sum16BitWords::new(), source), destination)
        .add_slice(&(message_bytes as u32).to_be_bytes())
        .add_2bytes([0, protocol])
}

/// True when `bytes`, summed after `start`, hold the checksum that fits.
#[inline]
pub fn fits(start: Sum16BitWords, bytes: &[u8]) -> bool {
    start.add_slice(bytes).ones_complement() == 0
}

/// The checksum over `bytes` after `start`, in the order of the wire.
#[inline]
pub fn of(start: Sum16BitWords, bytes: &[u8]) -> [u8; 2] {
    start.add_slice(bytes).ones_complement().to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_fits_the_bytes_that_hold_it() {
        // The example of RFC 1071 section 3: the sum is ddf2.
        let words = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(of(Sum16BitWords::new(), &words), [0x22, 0x0d]);
        let with_sum: Vec<u8> = words.into_iter().chain([0x22, 0x0d]).collect();
        assert!(fits(Sum16BitWords::new(), &with_sum));
        assert!(!fits(Sum16BitWords::new(), &with_sum[..8]));
    }

    #[test]
    fn a_pseudo_header_sums_what_both_families_say() {
        let sum = |source: &str, destination: &str| {
            let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
            of(pseudo_header(source, destination, 17, 9), &[])
        };
        // Words 0a00 + 0001 + 0a00 + 0002 + 0009 + 0011.
        assert_eq!(sum("10.0.0.1", "10.0.0.2"), (!0x141d_u16).to_be_bytes());
        // Words 2001 + 0db8 + 0001 + 2001 + 0db8 + 0002 + 0009 + 0011.
        assert_eq!(sum("2001:db8::1", "2001:db8::2"), (!0x5b8f_u16).to_be_bytes());
    }
}
