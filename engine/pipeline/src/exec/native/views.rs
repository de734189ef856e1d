//! The state of a switch as machine code sees it: addresses of arrays, and where tables lead.

use super::ways::Way;
use super::{Frame, NativeCode};
use crate::code::ir::Pc;
use crate::code::program::{Code, TablePlan};
use crate::exec::config::SwitchConfig;
use crate::state::cells::State;
use crate::state::table::TableState;
use crate::vocabulary::entries::CounterCell;

/// First cell and number of cells of an array.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct View {
    /// Address; an integer, so that a switch can move between threads with its arrays.
    cells: usize,
    count: usize,
}

/// Words of a counter's cell.
pub(super) const COUNTER_WORDS: usize = size_of::<CounterCell>() / size_of::<u64>();

/// An array without cells.
const NOTHING: View = View { cells: 0, count: 0 };

impl View {
    pub const CELLS: i32 = std::mem::offset_of!(View, cells) as i32;
    pub const COUNT: i32 = std::mem::offset_of!(View, count) as i32;

    fn of<T>(first: *mut T, count: usize) -> View {
        View { cells: first.expose_provenance(), count }
    }
}

/// Where a packet goes from a table, as words: the number of the way (0: only the host knows), and the parameters of its
/// action.
pub(super) struct Lead;

impl Lead {
    pub const WAY: i32 = 0;
    pub const PARAMS: i32 = 8;
    /// Words before the parameters.
    const HEAD: usize = 1;
    /// Words of a lead of a table without entries.
    pub const SHORT: usize = Lead::HEAD + 4;
    /// Words of a lead of any table at most.
    const LONGEST: usize = Lead::HEAD + 16;

    /// Words of parameters in the leads of a table, if those are of `most` words at most.
    pub fn params(code: &Code, plan: &TablePlan, most: usize) -> usize {
        let words = plan.actions.iter().map(|&action| usize::from(code.actions[action].words));
        words.filter(|words| Lead::HEAD + words <= most).max().unwrap_or(0)
    }

    /// Words of a lead of a table that has one for each entry.
    pub fn words(code: &Code, plan: &TablePlan) -> usize {
        Lead::HEAD + Lead::params(code, plan, Lead::LONGEST)
    }

    fn write(lead: &mut [u64], ways: &[Way], code: &Code, leads_to: Option<(Pc, Pc, &[u64])>) {
        lead.fill(0);
        if let Some((action, next, params)) = leads_to {
            if let Some(place) = lead.get_mut(Lead::HEAD..Lead::HEAD + params.len()) {
                place.copy_from_slice(params);
                lead[0] = Way::find(ways, code, action, next).unwrap_or(0);
            }
        }
    }
}

/// A table with a lead for each entry.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Indexed {
    /// Entry ids by key, where small keys are indices.
    ids: View,
    /// Address of the lead after a miss, which those after a hit follow in the order of the ids.
    leads: usize,
    lead_bytes: usize,
}

impl Indexed {
    pub const BYTES: i32 = size_of::<Indexed>() as i32;
    pub const IDS: i32 = std::mem::offset_of!(Indexed, ids) as i32 + View::CELLS;
    pub const COUNT: i32 = std::mem::offset_of!(Indexed, ids) as i32 + View::COUNT;
    pub const LEADS: i32 = std::mem::offset_of!(Indexed, leads) as i32;

    /// Address of the lead after a hit of an entry, or after a miss.
    #[inline]
    pub fn lead(&self, entry: Option<u32>) -> usize {
        self.leads + self.lead_bytes * entry.map_or(0, |id| id as usize + 1)
    }
}

/// Arrays and tables of a switch.
pub(crate) struct Views {
    #[expect(dead_code, reason = "only machine code uses it")]
    registers: Vec<View>,
    #[expect(dead_code, reason = "only machine code uses it")]
    counters: Vec<View>,
    /// Written and read in the place of a row, or of a counter, that there is not.
    #[expect(dead_code, reason = "only machine code uses it")]
    spare_row: Vec<u64>,
    /// Where each table leads every packet.
    shortcuts: Vec<u64>,
    indexed: Vec<Indexed>,
    /// 1 for each table whose entries are those of the program.
    as_loaded: Vec<u64>,
    /// The leads of each table in `indexed`.
    leads: Vec<Vec<u64>>,
    /// All of this that machine code gets.
    pub(super) frame: Frame,
}

/// A look-up of a table is no more than finding the lead of an entry.
pub(super) fn has_leads(plan: &TablePlan) -> bool {
    plan.words > 0 && plan.is_pure()
}

/// The key of a table with leads is one word, which machine code packs.
pub(super) fn is_found_by_word(plan: &TablePlan) -> bool {
    has_leads(plan) && plan.words == 1
}

/// The entries of small keys are in an array of their ids.
pub(super) fn is_indexed(plan: &TablePlan) -> bool {
    is_found_by_word(plan) && plan.is_exact()
}

impl Views {
    /// The arrays must stay where they are as long as the views are used.
    pub fn of(state: &mut State, config: &SwitchConfig) -> Views {
        let registers: Vec<_> = state.registers.arrays_mut().collect();
        let longest = registers.iter().map(|(place, _)| place.stride).max().unwrap_or(0);
        let mut spare_row = vec![0; longest.max(COUNTER_WORDS)];
        let none = Indexed { ids: NOTHING, leads: 0, lead_bytes: 0 };
        let registers: Vec<_> = registers.iter().map(|&(place, first)| View::of(first, place.size)).collect();
        let counters: Vec<_> =
            state.counters.iter_mut().map(|cells| View::of(cells.as_mut_ptr(), cells.len())).collect();
        let shortcuts = vec![0; Lead::SHORT * state.tables.len()];
        let indexed = vec![none; state.tables.len()];
        let as_loaded = vec![0; state.tables.len()];
        let frame = Frame {
            registers: registers.as_ptr(),
            counters: counters.as_ptr(),
            spare_row: spare_row.as_mut_ptr().expose_provenance(),
            shortcuts: shortcuts.as_ptr(),
            indexed: indexed.as_ptr(),
            as_loaded: as_loaded.as_ptr(),
            drop_port: config.drop_port.into(),
            max_port: config.max_port.into(),
            queues_per_port: config.queues_per_port.into(),
            port: 0,
            stamp: 0,
            packet: std::ptr::null(),
            length: 0,
            cursor: 0,
            out: std::ptr::null_mut(),
            now_ps: 0,
            variable_bits: 0,
            native: std::ptr::null(),
            program: std::ptr::null(),
            regs: std::ptr::null_mut(),
            state: std::ptr::null_mut(),
        };
        let leads = vec![Vec::new(); state.tables.len()];
        Views { registers, counters, spare_row, shortcuts, indexed, as_loaded, leads, frame }
    }

    /// Says where a table leads; `entry` is the one that is new or has changed, `None` where one went or the default
    /// changed.
    pub fn table_changed(
        &mut self,
        native: &NativeCode,
        code: &Code,
        table: usize,
        state: &TableState,
        entry: Option<u32>,
    ) {
        let plan = &code.tables[table];
        self.as_loaded[table] = u64::from(state.is_as_loaded());
        let shortcut = &mut self.shortcuts[table * Lead::SHORT..][..Lead::SHORT];
        let ways = &native.ways[table];
        Lead::write(shortcut, ways, code, state.leads_to(plan));
        if !has_leads(plan) {
            return;
        }
        let words = Lead::words(code, plan);
        let first = words * entry.map_or(0, |id| id as usize + 1);
        let leads = &mut self.leads[table];
        leads.resize(leads.len().max(first + words), 0);
        Lead::write(&mut leads[first..first + words], ways, code, state.after(plan, entry));
        let ids = state
            .ids_by_key()
            .filter(|_| is_indexed(plan))
            .map_or(NOTHING, |ids| View { cells: ids.as_ptr().expose_provenance(), count: ids.len() });
        let leads = leads.as_ptr().expose_provenance();
        self.indexed[table] = Indexed { ids, leads, lead_bytes: 8 * words };
    }
}
