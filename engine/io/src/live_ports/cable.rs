//! How long frames are on a virtual cable of this machine, from the stamp of one end to that of the other.

use std::time::{Duration, Instant};

use super::{open, PortAccess};
use crate::{Delays, IoError, PacketSocket};

/// A median of so many is not that of the few which the machine interrupts.
const FRAMES: u16 = 500;
/// The kernel's shortest, with an EtherType for local experiments.
const FRAME_BYTES: usize = 60;
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
const ETHERTYPE_AT: usize = 12;
/// A frame that has not come by then is lost.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// Delays of frames that go from one interface to another, one at a time; frames without both stamps are left out.
pub fn cable_delays(near: &str, far: &str, access: PortAccess) -> Result<Delays, IoError> {
    let mut sender = PacketSocket::open(near)?;
    sender.stamp_departures(true);
    let mut receiver = open(far, access, 1)?;
    let mut delays = Delays::default();
    for number in 0..FRAMES {
        let mut frame = [0; FRAME_BYTES];
        frame[..6].fill(0xff);
        frame[6] = 0x02;
        frame[ETHERTYPE_AT..ETHERTYPE_AT + 2].copy_from_slice(&ETHERTYPE);
        frame[ETHERTYPE_AT + 2..ETHERTYPE_AT + 4].copy_from_slice(&number.to_be_bytes());
        let of_program = u64::from(number);
        sender.send(of_program, &frame)?;
        let end = Instant::now() + LONGEST_WAIT;
        let (mut left_ns, mut arrived_ns) = (None, None);
        while (left_ns.is_none() || arrived_ns.is_none()) && Instant::now() < end {
            sender.departures(&mut |time_ps, ns| {
                if time_ps == of_program {
                    left_ns = Some(ns);
                }
            });
            receiver.receive(&mut |stamp_ns, found| {
                if found.get(ETHERTYPE_AT..ETHERTYPE_AT + 4) == frame.get(ETHERTYPE_AT..ETHERTYPE_AT + 4) {
                    arrived_ns = stamp_ns;
                }
            })?;
        }
        if let (Some(left_ns), Some(arrived_ns)) = (left_ns, arrived_ns) {
            delays.add(arrived_ns as i64 - left_ns as i64);
        }
    }
    Ok(delays)
}
