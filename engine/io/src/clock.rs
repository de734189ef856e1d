//! The clock on the wall: CLOCK_MONOTONIC, which time stamps of XDP programs have, too.

use std::mem::zeroed;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Difference of CLOCK_MONOTONIC to CLOCK_REALTIME, with which sockets stamp frames.
pub(crate) fn realtime_to_monotonic_ns() -> i64 {
    let before = monotonic_ns();
    let real = read(libc::CLOCK_REALTIME);
    let after = monotonic_ns();
    (before + (after - before) / 2) as i64 - real as i64
}

fn read(clock: libc::clockid_t) -> u64 {
    // SAFETY: all-zero is a valid timespec, and the pointer is to it.
    let time = unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(clock, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
