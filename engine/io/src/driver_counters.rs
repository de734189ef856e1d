//! Counters that the driver of an interface has, as `ethtool -S` shows them.

use std::io;
use std::os::fd::RawFd;

const STRING_BYTES: usize = 32;
const GET_STRING_SET: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const STATISTICS: u32 = 1;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Sum of the counters of an interface whose names `is_wanted`; `None` where there is none. `socket` is any of its network
/// namespace.
pub(crate) fn sum_of_counters(
    socket: RawFd,
    interface: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> io::Result<Option<u64>> {
    // The header is command, 4 reserved bytes, and the mask of the wanted set; then its size.
    let mut sizes = [GET_STRING_SET, 0, 1 << STATISTICS, 0, 0];
    ask(socket, interface, sizes.as_mut_ptr().cast())?;
    let count = sizes[4] as usize;
    let mut names = vec![0_u32; 3 + count * STRING_BYTES / 4];
    names[..3].copy_from_slice(&[GET_STRINGS, STATISTICS, count as u32]);
    ask(socket, interface, names.as_mut_ptr().cast())?;
    let mut values = vec![0_u64; 1 + count];
    values[0] = u64::from(GET_STATISTICS) | (count as u64) << 32;
    ask(socket, interface, values.as_mut_ptr().cast())?;
    let names: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or(&[])).to_string()
    };
    let wanted = names.chunks(STRING_BYTES).zip(&values[1..]).filter(|(bytes, _)| is_wanted(&name(bytes)));
    Ok(wanted.map(|(_, value)| *value).reduce(u64::wrapping_add))
}

/// Lets the driver fill in `data`, which begins with the command and is as long as the answer.
fn ask(socket: RawFd, interface: &str, data: *mut libc::c_char) -> io::Result<()> {
    let mut request = request_of(interface);
    request.ifr_ifru.ifru_data = data;
    // SAFETY: the request is an ifreq with a name that ends with 0; the caller has said how long `data` is.
    match unsafe { libc::ioctl(socket, SIOCETHTOOL, &mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A question about an interface.
pub(crate) fn request_of(interface: &str) -> libc::ifreq {
    // SAFETY: all zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}
