//! The clock on the wall: CLOCK_MONOTONIC, which time stamps of XDP programs have, too.

use std::mem::zeroed;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Readings of the clocks that are within this are as good as they get.
const CLOSE_NS: u64 = 200;
const MOST_READINGS: usize = 8;

/// Difference of CLOCK_MONOTONIC to CLOCK_REALTIME, with which sockets stamp frames. A thread may lose its processor
/// between two readings, so that the closest ones count.
pub(crate) fn realtime_to_monotonic_ns() -> i64 {
    let (mut closest_ns, mut difference_ns) = (u64::MAX, 0);
    for _ in 0..MOST_READINGS {
        let before = monotonic_ns();
        let real = read(libc::CLOCK_REALTIME);
        let apart_ns = monotonic_ns() - before;
        if apart_ns < closest_ns {
            (closest_ns, difference_ns) = (apart_ns, (before + apart_ns / 2) as i64 - real as i64);
        }
        if closest_ns <= CLOSE_NS {
            break;
        }
    }
    difference_ns
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
