//! The share of the processor that the session of this process has.
//!
//! Linux shares a processor among sessions first (autogroups, sched(7)): the nice values of threads order them within
//! their session alone, and one busy process of another session takes half of a core from a thread that comes first in
//! its own one.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

const AUTOGROUP: &str = "/proc/self/autogroup";
const FIRST: i32 = -20;

/// The number of those that want it to come first, and the nice value that it had.
struct Session {
    users: usize,
    nice_before: Option<i32>,
}

static SESSION: Mutex<Session> = Mutex::new(Session { users: 0, nice_before: None });

/// As long as one of these lives, the session of this process comes before the others. Without CAP_SYS_ADMIN, or with a
/// kernel that does not group sessions, nothing changes.
pub struct SessionFirst(());

impl SessionFirst {
    pub fn new() -> SessionFirst {
        let mut session = session();
        session.users += 1;
        if session.users == 1 {
            // Another process of the session may have done it already, and will undo it.
            let before = nice().filter(|&nice| nice != FIRST);
            session.nice_before = before.filter(|_| fs::write(AUTOGROUP, FIRST.to_string()).is_ok());
        }
        SessionFirst(())
    }
}

impl Default for SessionFirst {
    fn default() -> SessionFirst {
        SessionFirst::new()
    }
}

impl Drop for SessionFirst {
    fn drop(&mut self) {
        let mut session = session();
        session.users -= 1;
        if session.users == 0 {
            if let Some(nice) = session.nice_before.take() {
                // It has just been allowed.
                let _ = fs::write(AUTOGROUP, nice.to_string());
            }
        }
    }
}

fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The nice value of the session: the last word of `/autogroup-7 nice 0`.
fn nice() -> Option<i32> {
    fs::read_to_string(AUTOGROUP).ok()?.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_comes_first_until_the_last_one_goes() {
        let before = nice();
        let first = SessionFirst::new();
        let during = nice();
        // Without the rights, or without groups, it stays.
        assert!(during == before || during == Some(FIRST));
        let second = SessionFirst::new();
        drop(first);
        assert_eq!(nice(), during);
        drop(second);
        assert_eq!(nice(), before);
    }
}
