//! Idle timeout notifications (sections 9.1.8 and 16.5).

use std::collections::HashMap;

use p4mesh_pipeline::Switch;

use crate::keys;
use crate::proto::entity::TableEntry;
use crate::proto::stream::IdleTimeoutNotification;
use crate::state::{EntryKey, State};

/// Tables are scanned at most this often, in pipeline time.
const SCAN_INTERVAL_PS: u64 = 10_000_000_000;

/// Entries of one notification: a client with gRPC's default limits takes 4 MiB.
const MAX_ENTRIES: usize = 4096;

/// Remembers when each idle entry was last reported: an entry that stays idle is reported again
/// after another timeout.
#[derive(Default)]
pub struct IdleTracker {
    last_scan_ps: Option<u64>,
    /// By table.
    reported_ps: HashMap<usize, HashMap<EntryKey, u64>>,
}

impl IdleTracker {
    /// True when it is time to scan at `now_ps`.
    pub fn due(&self, state: &State, now_ps: u64) -> bool {
        state.idle_used.iter().any(|used| *used)
            && self.last_scan_ps.is_none_or(|last| now_ps.saturating_sub(last) >= SCAN_INTERVAL_PS)
    }

    /// Notifications of the tables that have idle entries.
    pub fn scan(&mut self, state: &State, switch: &Switch, now_ps: u64) -> Vec<IdleTimeoutNotification> {
        self.last_scan_ps = Some(now_ps);
        let mut notifications = Vec::new();
        for (index, table) in state.schema.tables.iter().enumerate() {
            if !state.idle_used[index] {
                continue;
            }
            let Ok(expired) = switch.table_expired(&table.name, now_ps) else {
                continue;
            };
            let before = self.reported_ps.remove(&index).unwrap_or_default();
            let mut reported = HashMap::new();
            let mut entries = Vec::new();
            for entry in expired {
                let place: EntryKey = (keys::canonical_key(&entry.key), entry.priority);
                let timeout_ps = entry.idle_timeout_ns.saturating_mul(1000);
                let last = before.get(&place).copied();
                if let Some(last) = last.filter(|last| now_ps.saturating_sub(*last) < timeout_ps) {
                    reported.insert(place, last);
                    continue;
                }
                let extra = state.entries[index].get(&place).cloned().unwrap_or_default();
                entries.push(TableEntry {
                    table_id: table.id,
                    r#match: keys::from_key(&table.fields, &entry.key),
                    priority: entry.priority,
                    controller_metadata: extra.controller_metadata,
                    metadata: extra.metadata,
                    idle_timeout_ns: entry.idle_timeout_ns as i64,
                    ..TableEntry::default()
                });
                reported.insert(place, now_ps);
            }
            self.reported_ps.insert(index, reported);
            notifications.extend(in_parts(entries, MAX_ENTRIES).map(|table_entry| IdleTimeoutNotification {
                table_entry,
                timestamp: (now_ps / 1000) as i64,
            }));
        }
        notifications
    }
}

/// A list as lists of at most `size` elements.
fn in_parts<T>(list: Vec<T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    let mut rest = list.into_iter();
    std::iter::from_fn(move || {
        Some(rest.by_ref().take(size).collect()).filter(|part: &Vec<T>| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_goes_in_parts() {
        let parts = |count| in_parts((0..count).collect(), 3).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(parts(7), [3, 3, 1]);
        assert_eq!(parts(3), [3]);
        assert_eq!(parts(0), [0; 0]);
        assert_eq!(in_parts((0..7).collect(), 3).flatten().collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
    }
}
