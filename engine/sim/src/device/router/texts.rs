//! Forms of addresses in the document, for its schema.

use std::borrow::Cow;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};

/// A text with a pattern, and the valid values in words.
macro_rules! text {
    ($(#[$comment:meta])* $name:ident, $pattern:expr, $valid:expr) => {
        $(#[$comment])*
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern, "valid": $valid})
            }
        }
    };
}

text!(
    /// The MAC of a station.
    Mac,
    "^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$",
    "the MAC of one station such as \"02:f4:bc:00:00:01\", in quotes"
);
text!(
    /// An address of either family.
    Address,
    "^[0-9a-fA-F:.]+$",
    "an IPv4 or IPv6 address such as 198.18.2.2 or \"2001:db8::2\""
);
text!(
    /// An address with the length of its prefix.
    Network,
    "^[0-9a-fA-F:.]+/[0-9]+$",
    "an address and the bits of its prefix, such as 198.18.1.1/24 or \"2001:db8::1/64\""
);
text!(
    /// A community of SNMP.
    Community,
    "^[!-~]{1,32}$",
    "1 to 32 printable characters without spaces, such as public"
);
