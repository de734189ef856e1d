//! Which cores the threads of live ports run on.

use std::mem::{size_of, zeroed};

/// Nice value of the threads that have a core.
const FIRST: libc::c_int = -20;
/// How much later than asked for the kernel may wake these threads; it takes 50 us of others.
const LEAST_SLACK_NS: libc::c_ulong = 1;

/// A core for each thread; none where the machine has too few to give them away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores {
    /// The loop that polls the ports and runs the program.
    pub program: Option<usize>,
    /// The thread that lets the kernel send.
    pub transmitter: Option<usize>,
}

impl Cores {
    /// Shares out at most `most` of the cores that this process may use: the last one to the program, the one before to
    /// transmission. A process with a single core has none to share out.
    pub fn of_this_process(most: usize) -> Cores {
        match *allowed() {
            [.., transmitter, program] => {
                let core = |number, least| (most >= least).then_some(number);
                Cores { program: core(program, 1), transmitter: core(transmitter, 2) }
            }
            _ => Cores::default(),
        }
    }
}

/// Lets the calling thread run on one core alone, and before all others there that are not real-time; its short sleeps
/// end in time. A core that is gone leaves it where it is; without CAP_SYS_NICE it shares the core.
pub fn pin(core: usize) {
    // SAFETY: all-zero is a valid cpu_set_t; the pointer and the size describe it.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
        // For Linux the calling thread, not the process.
        libc::setpriority(libc::PRIO_PROCESS, 0, FIRST);
        libc::prctl(libc::PR_SET_TIMERSLACK, LEAST_SLACK_NS);
    }
}

fn allowed() -> Vec<usize> {
    // SAFETY: all-zero is a valid cpu_set_t, which the call fills in; the size is that of the set.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}
