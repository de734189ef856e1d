//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard};

/// Locks a mutex whose data another thread may have left half changed by a panic; that panic has
/// been reported as a bug already.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
