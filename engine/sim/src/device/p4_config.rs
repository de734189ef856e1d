//! Keys of a device `p4`, and the form of the values of its entries.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use p4mesh_wire::ethernet;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::config::{Latency, LoopRateBps, PortNumber, Seconds, Whole};

/// Form of a text in an entry.
pub const VALID_VALUE: &str = "a number such as 7 or \"0x02f4bc000001\", a MAC, an IPv4 or an IPv6 address";
const VALID_MATCH: &str =
    "a number, or a mapping with value and prefix_bits, value and mask, or low and high";

/// 11 days.
const LONGEST_S: u64 = 1_000_000;
/// Failures of a device.
const MOST_FAILURES: u64 = 1_000;
/// Larger numbers are those of members that entries bring along.
const MOST_MEMBERS: u64 = 0x7fff_ffff;

/// Keys of a device `p4`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct P4Config {
    /// BMv2 JSON, as p4c writes it.
    pub program: serde_json::Value,
    /// Length of a tick of its time stamps.
    #[serde(default)]
    pub timestamp_tick_ps: Whole<1, 1_000_000_000_000, 1_000>,
    /// Multicast groups.
    #[serde(default)]
    pub groups: Vec<P4Group>,
    /// Members of action profiles, by profile and number.
    #[serde(default)]
    pub members: Vec<P4Member>,
    /// Groups of members, from which a selector takes one for each packet.
    #[serde(default)]
    pub member_groups: Vec<P4MemberGroup>,
    /// Table entries, installed at start and after a reset.
    #[serde(default)]
    pub entries: Vec<P4Entry>,
    /// Loop in which packets are recirculated; without it their next pass follows at once.
    #[serde(rename = "loop")]
    pub recirculation: Option<P4LoopConfig>,
    /// Changes of tables and links at their times, and those of failures that a test asks for.
    #[serde(default)]
    pub events: Vec<P4Event>,
}

/// A recirculation loop.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct P4LoopConfig {
    /// Port of the program that leads into the loop; without it only `recirculate` does.
    pub port: Option<Whole<0, 510>>,
    /// Rate of the loop.
    pub rate_bps: LoopRateBps,
    /// From the last bit sent to the ingress pass; the pipeline's own time is that of the node.
    #[serde(default)]
    pub latency_ns: Latency,
    /// Frames that wait at most, tail drop.
    #[serde(default)]
    pub queue_frames: Whole<0, 1_048_576, 1_024>,
}

/// Changes of a device at one time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct P4Event {
    /// When, after the start; or it belongs to a failure.
    pub at_s: Option<Seconds<LONGEST_S>>,
    /// Number of the failure that it belongs to; tests ask for failures 1 to N.
    pub failure: Option<Whole<1, MOST_FAILURES>>,
    /// From the beginning of the failure to this event.
    pub after_s: Option<Seconds<LONGEST_S>>,
    /// Ports whose links go down.
    #[serde(default)]
    #[schemars(with = "Vec<PortNumber>")]
    pub links_down: Vec<u16>,
    /// Ports whose links come up.
    #[serde(default)]
    #[schemars(with = "Vec<PortNumber>")]
    pub links_up: Vec<u16>,
    /// Entries that are deleted.
    #[serde(default)]
    pub delete: Vec<P4Key>,
    /// Entries that are inserted.
    #[serde(default)]
    pub insert: Vec<P4Entry>,
    /// Entries that get another action.
    #[serde(default)]
    pub modify: Vec<P4Entry>,
}

/// Table, key and priority of an entry.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct P4Key {
    /// Name of the table; its last part is enough where no other one ends like it.
    #[schemars(length(min = 1))]
    pub table: String,
    /// Of ternary and range tables, larger wins.
    #[serde(default)]
    pub priority: Whole<0, 2_147_483_646>,
    /// Value, value and prefix_bits, value and mask, or low and high of each key field. Fields that are left out
    /// match anything, but for exact ones.
    pub key: BTreeMap<String, P4Match>,
}

/// A multicast group.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct P4Group {
    /// Number.
    pub group: Whole<1, 32_767>,
    /// A copy to each of these.
    #[schemars(with = "Vec<PortNumber>", length(min = 1))]
    pub ports: Vec<u16>,
}

/// A member of an action profile.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct P4Member {
    /// Name of the action profile or selector; its last part is enough where no other one ends like it.
    #[schemars(length(min = 1))]
    pub profile: String,
    /// Number.
    pub member: Whole<1, MOST_MEMBERS>,
    /// Name of the action.
    #[schemars(length(min = 1))]
    pub action: String,
    /// In the order of the action's parameters.
    #[serde(default)]
    pub params: Vec<P4Value>,
}

/// A group of members of a selector, all with the same weight.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct P4MemberGroup {
    /// Name of the selector; its last part is enough where no other one ends like it.
    #[schemars(length(min = 1))]
    pub profile: String,
    /// Number.
    pub group: Whole<1, MOST_MEMBERS>,
    /// Numbers of its members.
    #[schemars(length(min = 1))]
    pub members: Vec<Whole<1, MOST_MEMBERS>>,
}

/// An entry of a table.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct P4Entry {
    /// Name of the table; its last part is enough where no other one ends like it.
    #[schemars(length(min = 1))]
    pub table: String,
    /// Of ternary and range tables, larger wins.
    #[serde(default)]
    pub priority: Whole<0, 2_147_483_646>,
    /// Name of the action; in a table with a selector it is a set of this one.
    #[schemars(length(min = 1))]
    pub action: Option<String>,
    /// In the order of the action's parameters.
    #[serde(default)]
    pub params: Vec<P4Value>,
    /// In place of the action: a member of the table's action profile.
    pub member: Option<Whole<1, MOST_MEMBERS>>,
    /// In place of the action: a group of members.
    pub group: Option<Whole<1, MOST_MEMBERS>>,
    /// Value, value and prefix_bits, value and mask, or low and high of each key field. Fields that are left out
    /// match anything, but for exact ones.
    pub key: BTreeMap<String, P4Match>,
}

/// A number, of any width.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum P4Value {
    Number(u64),
    /// Decimal up to 64 bits, hexadecimal with 0x, a MAC or an IP address.
    Text(String),
}

/// Form of a key field.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum P4Match {
    Exact(P4Value),
    Lpm { value: P4Value, prefix_bits: Whole<0, 128> },
    Ternary { value: P4Value, mask: P4Value },
    Range { low: P4Value, high: P4Value },
}

impl P4Entry {
    /// Its table, key and priority.
    pub fn named(&self) -> P4Key {
        P4Key { table: self.table.clone(), priority: self.priority, key: self.key.clone() }
    }
}

impl P4Value {
    /// The number, most significant byte first; `None` for a text that is not a number.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let text = match self {
            P4Value::Number(number) => return Some(number.to_be_bytes().to_vec()),
            P4Value::Text(text) => text,
        };
        if let Some(hex) = text.strip_prefix("0x") {
            return hex_bytes(hex);
        }
        if text.bytes().all(|it| it.is_ascii_digit()) {
            return Some(text.parse::<u64>().ok()?.to_be_bytes().to_vec());
        }
        if let Some(mac) = ethernet::parse_mac(text) {
            return Some(mac.to_vec());
        }
        match text.parse().ok()? {
            IpAddr::V4(address) => Some(address.octets().to_vec()),
            IpAddr::V6(address) => Some(address.octets().to_vec()),
        }
    }
}

fn hex_bytes(hex: &str) -> Option<Vec<u8>> {
    if hex.is_empty() || !hex.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let even = format!("{}{hex}", if hex.len() % 2 == 1 { "0" } else { "" });
    (0..even.len() / 2).map(|at| u8::from_str_radix(&even[2 * at..2 * at + 2], 16).ok()).collect()
}

impl fmt::Display for P4Value {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            P4Value::Number(number) => write!(formatter, "{number}"),
            P4Value::Text(text) => formatter.write_str(text),
        }
    }
}

impl P4Match {
    /// The values, with their keys where it is a mapping.
    pub fn parts(&self) -> Vec<(Option<&'static str>, &P4Value)> {
        match self {
            P4Match::Exact(value) => vec![(None, value)],
            P4Match::Lpm { value, .. } => vec![(Some("value"), value)],
            P4Match::Ternary { value, mask } => {
                vec![(Some("value"), value), (Some("mask"), mask)]
            }
            P4Match::Range { low, high } => vec![(Some("low"), low), (Some("high"), high)],
        }
    }
}

impl JsonSchema for P4Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "P4Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": u64::MAX},
                {"type": "string", "pattern": "^(0x[0-9a-fA-F]+|[0-9a-fA-F:.]+)$"},
            ],
            "valid": VALID_VALUE,
        })
    }
}

impl JsonSchema for P4Match {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "P4Match".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = P4Value::json_schema(generator).to_value();
        let prefix_bits = Whole::<0, 128>::json_schema(generator).to_value();
        let mapping = |[first, second]: [&str; 2], [low, high]: [&serde_json::Value; 2]| {
            serde_json::json!({
                "type": "object",
                "additionalProperties": false,
                "required": [first, second],
                "properties": {first: low, second: high},
            })
        };
        json_schema!({
            "anyOf": [
                value,
                mapping(["value", "prefix_bits"], [&value, &prefix_bits]),
                mapping(["value", "mask"], [&value, &value]),
                mapping(["low", "high"], [&value, &value]),
            ],
            "valid": VALID_MATCH,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_or_addresses() {
        let bytes = |text: &str| P4Value::Text(text.to_string()).bytes();
        assert_eq!(P4Value::Number(258).bytes(), Some(vec![0, 0, 0, 0, 0, 0, 1, 2]));
        assert_eq!(bytes("258"), Some(vec![0, 0, 0, 0, 0, 0, 1, 2]));
        assert_eq!(bytes("0x102"), Some(vec![1, 2]));
        assert_eq!(bytes("02:00:00:00:00:ff"), Some(vec![2, 0, 0, 0, 0, 0xff]));
        assert_eq!(bytes("10.0.0.1"), Some(vec![10, 0, 0, 1]));
        assert_eq!(bytes("::1").map(|it| it.len()), Some(16));
        for text in ["10.0.0.256", "0x", "0xg", "", "1f", "18446744073709551616"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
