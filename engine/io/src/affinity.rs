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
    /// Shares out at most `most` of the cores that this process may use and `others` do not have: the last one to the
    /// program, the one before to transmission. A process with a single core has none to share out.
    pub fn of_this_process(most: usize, others: &[Cores]) -> Cores {
        let mut free = allowed();
        if free.len() < 2 {
            return Cores::default();
        }
        free.retain(|core| others.iter().all(|it| ![it.program, it.transmitter].contains(&Some(*core))));
        let mut next = |least| if most >= least { free.pop() } else { None };
        Cores { program: next(1), transmitter: next(2) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_have_cores_of_their_own() {
        let mut given = Vec::new();
        for _ in 0..=allowed().len() {
            given.push(Cores::of_this_process(1, &given));
        }
        let mut programs: Vec<usize> = given.iter().filter_map(|cores| cores.program).collect();
        assert!(given.iter().all(|cores| cores.transmitter.is_none()));
        assert_eq!(given.last(), Some(&Cores::default()));
        programs.reverse();
        assert_eq!(programs, if allowed().len() > 1 { allowed() } else { Vec::new() });
    }
}
