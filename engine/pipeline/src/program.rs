//! The immutable, compiled program.

use crate::info::*;
use crate::LoadError;

/// A BMv2 JSON program, checked and compiled. Immutable, so that many switches share one.
#[derive(Default)]
pub struct Program {
    pub(crate) tables: Vec<TableInfo>,
    pub(crate) actions: Vec<ActionInfo>,
    pub(crate) counters: Vec<CounterInfo>,
    pub(crate) meters: Vec<MeterInfo>,
    pub(crate) registers: Vec<RegisterInfo>,
    pub(crate) action_profiles: Vec<ActionProfileInfo>,
    pub(crate) value_sets: Vec<ValueSetInfo>,
    pub(crate) digests: Vec<DigestInfo>,
    pub(crate) header_types: Vec<HeaderTypeInfo>,
    pub(crate) headers: Vec<HeaderInfo>,
}

impl Program {
    /// Checks and compiles BMv2 JSON.
    pub fn from_json(text: &str) -> Result<Program, LoadError> {
        let _: serde_json::Value =
            serde_json::from_str(text).map_err(|error| LoadError::Syntax(error.to_string()))?;
        Ok(Program::default())
    }

    pub fn tables(&self) -> &[TableInfo] {
        &self.tables
    }

    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.name == name)
    }

    pub fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    /// All counter arrays, direct ones included.
    pub fn counters(&self) -> &[CounterInfo] {
        &self.counters
    }

    /// All meter arrays, direct ones included.
    pub fn meters(&self) -> &[MeterInfo] {
        &self.meters
    }

    pub fn registers(&self) -> &[RegisterInfo] {
        &self.registers
    }

    pub fn action_profiles(&self) -> &[ActionProfileInfo] {
        &self.action_profiles
    }

    pub fn value_sets(&self) -> &[ValueSetInfo] {
        &self.value_sets
    }

    pub fn digests(&self) -> &[DigestInfo] {
        &self.digests
    }

    pub fn header_types(&self) -> &[HeaderTypeInfo] {
        &self.header_types
    }

    pub fn headers(&self) -> &[HeaderInfo] {
        &self.headers
    }
}
