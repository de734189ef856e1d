//! Quantities of the document. A type has the unit, the range and the default of a value: they are
//! written nowhere else, and the schema of topologies has them from here.
//!
//! People write nanoseconds, seconds and parts per million as decimals; the engine counts picoseconds and parts per
//! billion. A written number becomes the nearest of these exactly.

use std::borrow::Cow;
use std::fmt;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PS_PER_NS: i128 = 1_000;
const PS_PER_S: i128 = 1_000_000_000_000;
const PPB_PER_PPM: i128 = 1_000;
const MAX_DECIMALS: usize = 20;

/// A number as it was written.
#[derive(Clone, Copy)]
enum Written {
    Whole(i128),
    Decimal(f64),
}

impl Written {
    fn unexpected(&self) -> Unexpected<'static> {
        match *self {
            Written::Decimal(number) => Unexpected::Float(number),
            Written::Whole(number) => match u64::try_from(number) {
                Ok(number) => Unexpected::Unsigned(number),
                Err(_) => Unexpected::Signed(number as i64),
            },
        }
    }

    /// The number times `factor`, to the nearest whole number, from the decimal digits and not from the binary
    /// fraction; of two, the even one. `None` for a number far beyond any range.
    fn times(self, factor: i128) -> Option<i128> {
        let number = match self {
            Written::Whole(number) => return number.checked_mul(factor),
            Written::Decimal(number) => number,
        };
        let shortest = number.abs().to_string();
        let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
        // A number with more digits behind the point is so small that it counts as 0.
        let fraction = &fraction[..fraction.len().min(MAX_DECIMALS)];
        let units: i128 = format!("{whole}{fraction}").parse().ok()?;
        let divisor = 10i128.checked_pow(fraction.len() as u32)?;
        let product = units.checked_mul(factor)?;
        let (quotient, twice) = (product / divisor, 2 * (product % divisor));
        let up = twice > divisor || (twice == divisor && quotient % 2 == 1);
        let rounded = quotient + i128::from(up);
        Some(if number < 0.0 { -rounded } else { rounded })
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Written, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Written;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Written, E> {
                Ok(Written::Whole(i128::from(number)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
                Ok(Written::Whole(i128::from(number)))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Written, E> {
                Ok(Written::Decimal(number))
            }
        }
        from.deserialize_any(Number)
    }
}

/// Reads a number, times `factor`, if it is from `low` to `high` then.
fn read<'de, D: Deserializer<'de>>(
    from: D,
    factor: i128,
    low: i128,
    high: i128,
    valid: &dyn fmt::Display,
) -> Result<i128, D::Error> {
    let written = Written::deserialize(from)?;
    let number = written.times(factor);
    number
        .filter(|it| (low..=high).contains(it))
        .ok_or_else(|| D::Error::invalid_value(written.unexpected(), &valid.to_string().as_str()))
}

/// Writes a number of parts as people write it.
fn write<S: Serializer>(to: S, number: i128, factor: i128) -> Result<S::Ok, S::Error> {
    if number % factor == 0 {
        (number / factor).serialize(to)
    } else {
        (number as f64 / factor as f64).serialize(to)
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: u64, const MAX: u64, const DEFAULT: u64 = 0>(u64);

/// A time of up to `MAX` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nanoseconds<const MAX: u64, const DEFAULT: u64 = 0>(u64);

/// A difference of times of up to `LIMIT` nanoseconds in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffsetNanoseconds<const LIMIT: u64>(i64);

/// A time of up to `MAX` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds<const MAX: u64, const DEFAULT: u64 = 0>(u64);

/// A time above 0 of up to `MAX` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositiveSeconds<const MAX: u64, const DEFAULT: u64 = 0>(u64);

/// An error of a clock of up to `LIMIT` parts per million in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ppm<const LIMIT: u64>(i64);

/// Shared part of these types, except their representation.
macro_rules! quantity {
    ($name:ident<$($parameter:ident),*>, $inner:ty, $factor:expr, $low:expr, $high:expr, $schema:expr, $valid:expr) => {
        impl<'de, $(const $parameter: u64),*> Deserialize<'de> for $name<$($parameter),*> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let (low, high) = (i128::from($low), i128::from($high) * $factor);
                read(from, $factor, low, high, &$valid).map(|it| Self(it as $inner))
            }
        }

        impl<$(const $parameter: u64),*> Serialize for $name<$($parameter),*> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                write(to, i128::from(self.0), $factor)
            }
        }

        impl<$(const $parameter: u64),*> JsonSchema for $name<$($parameter),*> {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

quantity!(Whole<MIN, MAX, DEFAULT>, u64, 1, MIN, MAX,
    json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX}),
    format!("an integer from {MIN} to {MAX}"));
quantity!(Nanoseconds<MAX, DEFAULT>, u64, PS_PER_NS, 0, MAX,
    json_schema!({"type": "number", "minimum": 0, "maximum": MAX}),
    format!("a number from 0 to {MAX}"));
quantity!(
    OffsetNanoseconds<LIMIT>,
    i64,
    PS_PER_NS,
    -i128::from(LIMIT) * PS_PER_NS,
    LIMIT,
    json_schema!({"type": "number", "minimum": -(LIMIT as i64), "maximum": LIMIT}),
    format!("a number from -{LIMIT} to {LIMIT}")
);
quantity!(Seconds<MAX, DEFAULT>, u64, PS_PER_S, 0, MAX,
    json_schema!({"type": "number", "minimum": 0, "maximum": MAX}),
    format!("a number from 0 to {MAX}"));
quantity!(PositiveSeconds<MAX, DEFAULT>, u64, PS_PER_S, 1, MAX,
    json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX}),
    format!("a number above 0, up to {MAX}"));
quantity!(
    Ppm<LIMIT>,
    i64,
    PPB_PER_PPM,
    -i128::from(LIMIT) * PPB_PER_PPM,
    LIMIT,
    json_schema!({"type": "number", "minimum": -(LIMIT as i64), "maximum": LIMIT}),
    format!("a number from -{LIMIT} to {LIMIT}")
);

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Whole<MIN, MAX, DEFAULT> {
    /// A number from a program, which may be outside the range of documents.
    pub const fn of(number: u64) -> Self {
        Self(number)
    }

    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Default for Whole<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

/// Times that are kept in picoseconds.
macro_rules! time {
    ($name:ident, $factor:expr) => {
        impl<const MAX: u64, const DEFAULT: u64> $name<MAX, DEFAULT> {
            /// A time from a program, which may be outside the range of documents.
            pub const fn from_ps(ps: u64) -> Self {
                Self(ps)
            }

            #[inline]
            pub const fn ps(self) -> u64 {
                self.0
            }
        }

        impl<const MAX: u64, const DEFAULT: u64> Default for $name<MAX, DEFAULT> {
            fn default() -> Self {
                Self(DEFAULT * $factor as u64)
            }
        }
    };
}

time!(Nanoseconds, PS_PER_NS);
time!(Seconds, PS_PER_S);
time!(PositiveSeconds, PS_PER_S);

impl<const LIMIT: u64> OffsetNanoseconds<LIMIT> {
    pub const fn ps(self) -> i64 {
        self.0
    }
}

impl<const LIMIT: u64> Ppm<LIMIT> {
    pub const fn ppb(self) -> i64 {
        self.0
    }
}

/// A line rate.
pub type RateBps = Whole<10_000_000, 800_000_000_000>;
/// Rate of a recirculation loop: a loop carries the streams of several ports.
pub type LoopRateBps = Whole<10_000_000, 3_200_000_000_000>;
/// A time on the way of a frame: up to a second.
pub type Latency = Nanoseconds<1_000_000_000>;
/// Frames that may wait for a port.
const MAX_QUEUE_FRAMES: u64 = 1_048_576;
/// Frames that wait.
pub type QueueFrames<const DEFAULT: u64> = Whole<0, MAX_QUEUE_FRAMES, DEFAULT>;
/// A probability, in parts per billion.
pub type Ppb = Whole<0, 1_000_000_000>;
/// A rate that limits something.
pub type RateFps = Whole<1, 1_000_000_000_000>;
/// The number of a port in a topology.
pub type PortNumber = Whole<1, 512>;

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> Result<u64, String> {
        let read: Result<Latency, _> = serde_json::from_str(text);
        read.map(Latency::ps).map_err(|error| error.to_string())
    }

    #[test]
    fn decimals_become_the_nearest_picosecond() {
        for (text, ps) in [
            ("1720", 1_720_000),
            ("0.1", 100),
            ("1.5", 1_500),
            ("0.0005", 0),
            ("0.0015", 2),
            ("0.0025", 2),
            ("0.00051", 1),
            ("1e-300", 0),
            ("2.0e3", 2_000_000),
            ("4.035", 4_035),
            ("999999999.9999", 1_000_000_000_000),
        ] {
            assert_eq!(ns(text), Ok(ps), "{text}");
        }
        let offset: OffsetNanoseconds<1_000> = serde_json::from_str("-0.58").unwrap();
        assert_eq!(offset.ps(), -580);
        let offset: Ppm<1_000> = serde_json::from_str("-2.5").unwrap();
        assert_eq!(offset.ppb(), -2_500);
    }

    #[test]
    fn what_is_outside_the_range_is_refused() {
        for text in ["-1", "1000000000.5", "1e300", "-0.001", "18446744073709551615"] {
            let error = ns(text).unwrap_err();
            assert!(error.contains("expected a number from 0 to 1000000000"), "{error}");
        }
        let positive = |text| serde_json::from_str::<PositiveSeconds<10>>(text);
        assert!(positive("0").is_err() && positive("0.5").is_ok() && positive("10.1").is_err());
        let whole = |text| serde_json::from_str::<Whole<2, 5>>(text);
        assert!(whole("1").is_err() && whole("2").is_ok() && whole("5").is_ok());
        let error = whole("6").unwrap_err().to_string();
        assert!(error.starts_with("invalid value: integer `6`, expected an integer from 2 to 5"));
    }

    #[test]
    fn a_type_has_its_default_in_the_unit_of_the_document() {
        let json = |value: &dyn Fn() -> serde_json::Value| value().to_string();
        assert_eq!(json(&|| serde_json::json!(Nanoseconds::<10, 3>::default())), "3");
        assert_eq!(json(&|| serde_json::json!(Latency::from_ps(2_500))), "2.5");
        assert_eq!(PositiveSeconds::<10, 3>::default().ps(), 3_000_000_000_000);
        assert_eq!(Whole::<1, 9, 7>::default().get(), 7);
    }
}
