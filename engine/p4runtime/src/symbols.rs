//! Members of enums and errors: P4Runtime has their names (section 8.5.3), the program numbers.

use p4mesh_pipeline::EnumInfo;

use crate::value;

/// The members of one enum.
#[derive(Debug, Default)]
pub struct Symbols {
    members: Vec<(String, u64)>,
}

impl From<&EnumInfo> for Symbols {
    fn from(info: &EnumInfo) -> Symbols {
        Symbols { members: info.members.clone() }
    }
}

impl Symbols {
    /// The name for a value of the program: its decimal number where no member has it.
    pub fn text(&self, bytes: &[u8]) -> String {
        let number = value::to_u64(bytes);
        let member = self.members.iter().find(|(_, code)| Some(*code) == number);
        match (member, number) {
            (Some((name, _)), _) => name.clone(),
            (None, Some(number)) => number.to_string(),
            (None, None) => format!("0x{}", value::hex(bytes)),
        }
    }

    /// The program's value for a name.
    pub fn number(&self, name: &str) -> Option<Vec<u8>> {
        let member = self.members.iter().find(|(known, _)| known == name)?;
        Some(value::from_u64(member.1).to_vec())
    }

    /// All names, for messages.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}
