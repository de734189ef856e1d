//! Types that P4Info translates to strings (`@p4runtime_translation` with `sdn_string`): the number of the program that
//! a string stands for.
//!
//! The specification leaves the mapping to the target. Here a decimal number stands for itself, the
//! annotation `@p4runtime_translation_mappings` fixes pairs, and any other string gets the lowest
//! free number of the upper half of the type's range when it is first used. It keeps that number as
//! long as the pipeline config lives.

use std::collections::HashMap;
use std::sync::Mutex;

use bytes::Bytes;

use crate::refusal::{Outcome, Refusal};
use crate::target::lock;
use crate::value;

/// Strings of one type that are remembered.
const MAX_NAMES: usize = 65_536;
/// Length of a string in bytes.
const MAX_NAME_BYTES: usize = 1_024;

/// The strings of one type.
#[derive(Debug, Default)]
pub struct Names {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Bytes, u64>,
    texts: HashMap<u64, Bytes>,
    /// Where the search for a free number goes on.
    next: u64,
}

impl Known {
    fn remember(&mut self, text: Bytes, number: u64) {
        self.numbers.insert(text.clone(), number);
        self.texts.insert(number, text);
    }
}

/// The number that a string of decimal digits without leading zeros is.
fn decimal(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    canonical.then(|| digits.parse().ok()).flatten()
}

impl Names {
    /// The strings of a type with these annotations.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for mappings that cannot be read or that contradict each other.
    pub fn new(type_name: &str, annotations: &[String]) -> Outcome<Names> {
        let mut known = Known::default();
        for annotation in annotations {
            let Some(pairs) = annotation.strip_prefix("@p4runtime_translation_mappings") else {
                continue;
            };
            let bad = |problem: &str| {
                Refusal::invalid(format!(
                    "P4Info: type '{type_name}': p4runtime_translation_mappings {problem}"
                ))
            };
            for (text, number) in mappings(pairs).ok_or_else(|| bad("cannot be read"))? {
                if known.texts.contains_key(&number) || known.numbers.contains_key(&text) {
                    return Err(bad("has a string or a number twice"));
                }
                known.remember(text, number);
            }
        }
        Ok(Names { known: Mutex::new(known) })
    }

    /// The program's value of `width_bits` for a string; `what` names it in errors.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a string that is too long or no UTF-8, ALREADY_EXISTS for a number that
    /// another string stands for, RESOURCE_EXHAUSTED when no number is free.
    pub fn number(&self, text: &Bytes, width_bits: u32, what: impl Fn() -> String) -> Outcome<Vec<u8>> {
        let mut known = lock(&self.known);
        if let Some(number) = known.numbers.get(text) {
            return Ok(value::from_u64(*number).to_vec());
        }
        let greatest = u64::MAX >> (64 - width_bits.clamp(1, 64));
        let upper = greatest / 2 + 1;
        let number = decimal(text).filter(|number| *number <= greatest);
        if let Some(number) = number {
            if let Some(other) = known.texts.get(&number) {
                return Err(Refusal::exists(format!(
                    "{}: the string '{}' stands for {number} already",
                    what(),
                    String::from_utf8_lossy(other)
                )));
            }
            if number < upper {
                return Ok(value::from_u64(number).to_vec());
            }
        } else if text.len() > MAX_NAME_BYTES || std::str::from_utf8(text).is_err() {
            return Err(Refusal::invalid(format!(
                "{}: a string is UTF-8 of at most {MAX_NAME_BYTES} bytes",
                what()
            )));
        }
        let full = || Refusal::exhausted(format!("{}: there is no number for another string", what()));
        if known.numbers.len() >= MAX_NAMES {
            return Err(full());
        }
        let number = match number {
            Some(number) => number,
            None => {
                let first = known.next.max(upper);
                let mut free = (first..=greatest).filter(|number| !known.texts.contains_key(number));
                free.next().ok_or_else(full)?
            }
        };
        if decimal(text) != Some(number) {
            known.next = number.saturating_add(1);
        }
        known.remember(Bytes::copy_from_slice(text), number);
        Ok(value::from_u64(number).to_vec())
    }

    /// The string for a value of the program: its decimal number where no string stands for it.
    pub fn text(&self, bytes: &[u8]) -> Bytes {
        match value::to_u64(bytes) {
            Some(number) => match lock(&self.known).texts.get(&number) {
                Some(text) => text.clone(),
                None => Bytes::from(number.to_string()),
            },
            None => Bytes::from(format!("0x{}", value::hex(value::canonical(bytes)))),
        }
    }
}

/// The pairs of `({ {"text", number}, ... })`.
fn mappings(annotation: &str) -> Option<Vec<(Bytes, u64)>> {
    let mut pairs = Vec::new();
    let mut rest = annotation;
    while let Some(start) = rest.find('"') {
        let mut text = String::new();
        let mut inside = rest[start + 1..].char_indices();
        let after = loop {
            match inside.next()? {
                (at, '"') => break start + 1 + at + 1,
                (_, '\\') => text.push(inside.next()?.1),
                (_, other) => text.push(other),
            }
        };
        rest = rest[after..].trim_start().strip_prefix(',')?.trim_start();
        let end = rest.find('}')?;
        let number = rest[..end].trim();
        let (digits, radix) = number.strip_prefix("0x").map_or((number, 10), |digits| (digits, 16));
        if digits.starts_with('+') {
            return None; // The standard library takes a sign.
        }
        let number = u64::from_str_radix(digits, radix);
        pairs.push((Bytes::from(text), number.ok()?));
        rest = &rest[end..];
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    fn number(names: &Names, text: &'static str, width_bits: u32) -> Outcome<u64> {
        let bytes = names.number(&Bytes::from_static(text.as_bytes()), width_bits, || "x".into())?;
        Ok(value::to_u64(&bytes).unwrap())
    }

    #[test]
    fn numbers_are_themselves_and_names_get_the_upper_half() {
        let names = Names::default();
        assert_eq!(number(&names, "17", 9), Ok(17));
        assert_eq!(number(&names, "510", 9), Ok(510));
        assert_eq!(number(&names, "256", 9), Ok(256));
        assert_eq!(number(&names, "eth0", 9), Ok(257));
        assert_eq!(number(&names, "017", 9), Ok(258));
        assert_eq!(number(&names, "512", 9), Ok(259));
        assert_eq!(number(&names, "eth0", 9), Ok(257));
        assert_eq!(number(&names, "257", 9).unwrap_err().code, Code::AlreadyExists);
        assert_eq!(&names.text(&[1, 1])[..], b"eth0");
        assert_eq!(&names.text(&[17])[..], b"17");
    }

    #[test]
    fn names_end_where_the_numbers_end() {
        let names = Names::default();
        assert_eq!(number(&names, "a", 2), Ok(2));
        assert_eq!(number(&names, "b", 2), Ok(3));
        assert_eq!(number(&names, "c", 2).unwrap_err().code, Code::ResourceExhausted);
    }

    #[test]
    fn annotations_fix_pairs() {
        let given =
            ["@p4runtime_translation_mappings({ { \"\" , 0 } , { \"a \\\"b\\\"\" , 0x7 } })".to_string()];
        let names = Names::new("t", &given).unwrap();
        assert_eq!(number(&names, "", 4), Ok(0));
        assert_eq!(number(&names, "a \"b\"", 4), Ok(7));
        assert_eq!(&names.text(&[0])[..], b"");
        assert!(Names::new("t", &["@p4runtime_translation_mappings({ { \"x\" 1 } })".to_string()]).is_err());
        for number in ["+1", "0x+1", "1_0"] {
            let given = format!("@p4runtime_translation_mappings({{ {{ \"x\", {number} }} }})");
            assert!(Names::new("t", &[given]).is_err(), "{number}");
        }
        let twice = "@p4runtime_translation_mappings({ { \"x\", 1 }, { \"y\", 1 } })".to_string();
        assert!(Names::new("t", &[twice]).is_err());
    }
}
