//! The control plane of a [`Switch`]: counters, meters, registers, value sets and replication.

use crate::control::switch::Switch;
use crate::numbers::words::{bit_length, from_bytes, to_bytes};
use crate::state::meter::{check_meter, MeterCell};
use crate::vocabulary::entries::{CloneSession, CounterCell, MeterConfig, Replica, ValueSetMember};
use crate::vocabulary::error::ControlError;

type Result<T> = std::result::Result<T, ControlError>;

fn out_of_range(kind: &str, name: &str, index: usize, size: usize) -> ControlError {
    ControlError::IndexOutOfRange {
        owner: format!("{kind} '{name}'"),
        index: index as u64,
        last: (size as u64).saturating_sub(1),
    }
}

fn lookup(names: &std::collections::HashMap<String, usize>, kind: &'static str, name: &str) -> Result<usize> {
    names.get(name).copied().ok_or_else(|| ControlError::Unknown { kind, name: name.to_string() })
}

/// Counters, meters, registers (the indirect ones).
impl Switch {
    fn counter(&self, counter: &str) -> Result<usize> {
        let index = lookup(&self.executable.program.names.counters, "counter", counter)?;
        match &self.executable.program.counters[index].direct_table {
            None => Ok(index),
            Some(table) => Err(ControlError::Invalid {
                owner: format!("counter '{counter}'"),
                problem: format!("it is direct; its cells belong to the entries of table '{table}'"),
            }),
        }
    }

    pub fn counter_read(&self, counter: &str, index: usize) -> Result<CounterCell> {
        let cells = self.counter_cells(counter)?;
        cells.get(index).copied().ok_or_else(|| out_of_range("counter", counter, index, cells.len()))
    }

    pub fn counter_write(&mut self, counter: &str, index: usize, cell: CounterCell) -> Result<()> {
        let at = self.counter(counter)?;
        let cells = &mut self.engine.state.counters[at];
        let size = cells.len();
        match cells.get_mut(index) {
            Some(stored) => {
                *stored = cell;
                Ok(())
            }
            None => Err(out_of_range("counter", counter, index, size)),
        }
    }

    /// Writes one value to all cells.
    pub fn counter_fill(&mut self, counter: &str, cell: CounterCell) -> Result<()> {
        let at = self.counter(counter)?;
        self.engine.state.counters[at].fill(cell);
        Ok(())
    }

    /// All cells, for bulk reads without copies.
    pub fn counter_cells(&self, counter: &str) -> Result<&[CounterCell]> {
        Ok(&self.engine.state.counters[self.counter(counter)?])
    }

    fn meter(&self, meter: &str) -> Result<usize> {
        let index = lookup(&self.executable.program.names.meters, "meter", meter)?;
        match &self.executable.program.meters[index].direct_table {
            None => Ok(index),
            Some(table) => Err(ControlError::Invalid {
                owner: format!("meter '{meter}'"),
                problem: format!("it is direct; its cells belong to the entries of table '{table}'"),
            }),
        }
    }

    fn meter_cell(&self, meter: &str, index: usize) -> Result<&MeterCell> {
        let cells = &self.engine.state.meters[self.meter(meter)?].cells;
        cells.get(index).ok_or_else(|| out_of_range("meter", meter, index, cells.len()))
    }

    fn meter_cell_mut(&mut self, meter: &str, index: usize) -> Result<&mut MeterCell> {
        let at = self.meter(meter)?;
        let cells = &mut self.engine.state.meters[at].cells;
        let size = cells.len();
        cells.get_mut(index).ok_or_else(|| out_of_range("meter", meter, index, size))
    }

    /// `None`: not configured, every packet is green.
    pub fn meter_read(&self, meter: &str, index: usize) -> Result<Option<MeterConfig>> {
        Ok(self.meter_cell(meter, index)?.config())
    }

    /// Packets and bytes that a cell has marked green, yellow and red.
    pub fn meter_marked(&self, meter: &str, index: usize) -> Result<[CounterCell; 3]> {
        Ok(self.meter_cell(meter, index)?.marked)
    }

    pub fn meter_set_marked(&mut self, meter: &str, index: usize, marked: [CounterCell; 3]) -> Result<()> {
        self.meter_cell_mut(meter, index)?.marked = marked;
        Ok(())
    }

    pub fn meter_write(
        &mut self,
        meter: &str,
        index: usize,
        config: Option<MeterConfig>,
        now_ps: u64,
    ) -> Result<()> {
        check_meter(&format!("meter '{meter}'"), config)?;
        self.meter_cell_mut(meter, index)?.configure(config, now_ps);
        Ok(())
    }

    fn register(&self, register: &str) -> Result<usize> {
        lookup(&self.executable.program.names.registers, "register", register)
    }

    /// Big-endian value, as many bytes as the cell's width needs.
    pub fn register_read(&self, register: &str, index: usize) -> Result<Vec<u8>> {
        let at = self.register(register)?;
        let info = &self.executable.program.registers[at];
        match self.engine.state.registers.cell(at as u16, index as u64) {
            Some(cell) => Ok(to_bytes(cell, info.width_bits)),
            None => Err(out_of_range("register", register, index, info.size)),
        }
    }

    /// Cells `first..first+count` of a register of at most 64 bits.
    pub fn register_read_u64(&self, register: &str, first: usize, count: usize) -> Result<Vec<u64>> {
        let at = self.register(register)?;
        let info = &self.executable.program.registers[at];
        if info.width_bits > 64 {
            return Err(ControlError::Invalid {
                owner: format!("register '{register}'"),
                problem: format!("its cells have {} bits; valid: at most 64", info.width_bits),
            });
        }
        let end = first.saturating_add(count);
        if end > info.size {
            return Err(out_of_range("register", register, end.saturating_sub(1), info.size));
        }
        let registers = &self.engine.state.registers;
        Ok((first..end)
            .filter_map(|index| registers.cell(at as u16, index as u64)?.first().copied())
            .collect())
    }

    fn register_value(&self, at: usize, value: &[u8]) -> Result<Vec<u64>> {
        let info = &self.executable.program.registers[at];
        if bit_length(value) > info.width_bits {
            return Err(ControlError::ValueTooWide {
                owner: format!("register '{}'", info.name),
                what: "a cell".into(),
                width_bits: info.width_bits,
            });
        }
        Ok(from_bytes(value, self.engine.state.registers.place(at as u16).limbs))
    }

    pub fn register_write(&mut self, register: &str, index: usize, value: &[u8]) -> Result<()> {
        let at = self.register(register)?;
        let words = self.register_value(at, value)?;
        match self.engine.state.registers.cell_mut(at as u16, index as u64) {
            Some(cell) => {
                cell.copy_from_slice(&words);
                Ok(())
            }
            None => {
                let size = self.executable.program.registers[at].size;
                Err(out_of_range("register", register, index, size))
            }
        }
    }

    /// Writes one value to all cells.
    pub fn register_fill(&mut self, register: &str, value: &[u8]) -> Result<()> {
        let at = self.register(register)?;
        let words = self.register_value(at, value)?;
        for index in 0..self.executable.program.registers[at].size {
            if let Some(cell) = self.engine.state.registers.cell_mut(at as u16, index as u64) {
                cell.copy_from_slice(&words);
            }
        }
        Ok(())
    }
}

/// Parser value sets, multicast groups, clone sessions.
impl Switch {
    /// Replaces all members.
    pub fn value_set_write(&mut self, value_set: &str, members: &[ValueSetMember]) -> Result<()> {
        let at = lookup(&self.executable.program.names.value_sets, "value set", value_set)?;
        self.engine.state.value_sets[at].replace(&self.executable.program.value_sets[at], members)
    }

    pub fn value_set_read(&self, value_set: &str) -> Result<Vec<ValueSetMember>> {
        let at = lookup(&self.executable.program.names.value_sets, "value set", value_set)?;
        Ok(self.engine.state.value_sets[at].members().to_vec())
    }

    /// Group ids are 1 to 32767.
    pub fn multicast_insert(&mut self, group: u32, replicas: &[Replica]) -> Result<()> {
        self.engine.replication.insert_group(group, replicas, self.engine.config.max_port)
    }

    pub fn multicast_modify(&mut self, group: u32, replicas: &[Replica]) -> Result<()> {
        self.engine.replication.modify_group(group, replicas, self.engine.config.max_port)
    }

    pub fn multicast_delete(&mut self, group: u32) -> Result<()> {
        self.engine.replication.delete_group(group)
    }

    /// The replicas as they were written.
    pub fn multicast_read(&self, group: u32) -> Result<Vec<Replica>> {
        self.engine.replication.read_group(group)
    }

    /// Ids of all groups, ascending.
    pub fn multicast_groups(&self) -> Vec<u32> {
        self.engine.replication.group_ids()
    }

    /// Session ids are 0 to 32767.
    pub fn clone_session_insert(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        self.engine.replication.insert_session(session, config, self.engine.config.max_port)
    }

    pub fn clone_session_modify(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        self.engine.replication.modify_session(session, config, self.engine.config.max_port)
    }

    pub fn clone_session_delete(&mut self, session: u32) -> Result<()> {
        self.engine.replication.delete_session(session)
    }

    pub fn clone_session_read(&self, session: u32) -> Result<CloneSession> {
        self.engine.replication.read_session(session)
    }

    /// Ids of all sessions, ascending.
    pub fn clone_sessions(&self) -> Vec<u32> {
        self.engine.replication.session_ids()
    }
}
