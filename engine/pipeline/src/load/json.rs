//! Typed access to the JSON document that remembers where it is, so that every refusal names the fault and its place.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::Value;

use crate::vocabulary::error::LoadError;

pub(crate) type Load<T> = Result<T, LoadError>;

enum Step {
    Key(String),
    Index(usize),
}

struct Link {
    parent: Path,
    step: Step,
}

/// Way from the root of the document to a value.
#[derive(Clone)]
pub(crate) struct Path(Option<Rc<Link>>);

impl Path {
    fn join(&self, step: Step) -> Path {
        Path(Some(Rc::new(Link { parent: self.clone(), step })))
    }

    fn render(&self, text: &mut String) {
        if let Some(link) = &self.0 {
            link.parent.render(text);
            match &link.step {
                Step::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
                Step::Index(index) => {
                    let _ = write!(text, "[{index}]");
                }
            }
        }
    }
}

/// A value of the document together with its path.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    pub value: &'a Value,
    path: Path,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Node<'a> {
        Node { value, path: Path(None) }
    }

    /// The path as text, for messages.
    pub fn at(&self) -> String {
        let mut text = String::new();
        self.path.render(&mut text);
        if text.is_empty() {
            text.push_str("document");
        }
        text
    }

    pub fn malformed<T>(&self, problem: impl Into<String>) -> Load<T> {
        Err(LoadError::Malformed { at: self.at(), problem: problem.into() })
    }

    pub fn unsupported<T>(&self, construct: impl Into<String>) -> Load<T> {
        Err(LoadError::Unsupported { at: self.at(), construct: construct.into() })
    }

    pub fn unknown<T>(&self, kind: &'static str, name: &str) -> Load<T> {
        Err(LoadError::UnknownName { at: self.at(), kind, name: name.to_string() })
    }

    pub fn too_large<T>(&self, what: &'static str, value: u64, limit: u64) -> Load<T> {
        Err(LoadError::TooLarge { at: self.at(), what, value, limit })
    }

    /// Adds a name that must be new, and an index that must fit.
    pub fn unique<T>(&self, names: &mut HashMap<String, T>, name: &str, index: T) -> Load<()> {
        if names.len() >= usize::from(u16::MAX) {
            return self.too_large("number of objects of one kind", names.len() as u64 + 1, 65_535);
        }
        if names.insert(name.to_string(), index).is_some() {
            return self.malformed(format!("a second object named '{name}'"));
        }
        Ok(())
    }

    /// Member `key`, absent when missing or null.
    pub fn opt(&self, key: &str) -> Option<Node<'a>> {
        match self.value.get(key) {
            None | Some(Value::Null) => None,
            Some(value) => Some(Node { value, path: self.path.join(Step::Key(key.to_string())) }),
        }
    }

    pub fn get(&self, key: &str) -> Load<Node<'a>> {
        match self.opt(key) {
            Some(node) => Ok(node),
            None => Err(LoadError::Missing { at: self.at(), what: format!("'{key}'") }),
        }
    }

    /// Elements of an array.
    pub fn items(&self) -> Load<Vec<Node<'a>>> {
        match self.value {
            Value::Array(values) => Ok(values
                .iter()
                .enumerate()
                .map(|(index, value)| Node { value, path: self.path.join(Step::Index(index)) })
                .collect()),
            _ => self.malformed("expected an array"),
        }
    }

    /// Elements of the array `key`; a missing array is empty.
    pub fn list(&self, key: &str) -> Load<Vec<Node<'a>>> {
        match self.opt(key) {
            Some(node) => node.items(),
            None => Ok(Vec::new()),
        }
    }

    pub fn index(&self, index: usize) -> Load<Node<'a>> {
        match self.value.get(index) {
            Some(value) => Ok(Node { value, path: self.path.join(Step::Index(index)) }),
            None => Err(LoadError::Missing { at: self.at(), what: format!("element {index}") }),
        }
    }

    pub fn str(&self) -> Load<&'a str> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => self.malformed("expected a string"),
        }
    }

    pub fn text(&self, key: &str) -> Load<&'a str> {
        self.get(key)?.str()
    }

    pub fn bool(&self) -> Load<bool> {
        match self.value {
            Value::Bool(value) => Ok(*value),
            _ => self.malformed("expected true or false"),
        }
    }

    /// A member that is false when missing.
    pub fn flag(&self, key: &str) -> Load<bool> {
        self.opt(key).map_or(Ok(false), |node| node.bool())
    }

    pub fn u64(&self) -> Load<u64> {
        match self.value.as_u64() {
            Some(value) => Ok(value),
            None => self.malformed("expected a non-negative integer"),
        }
    }

    /// An unsigned integer no greater than `limit`.
    pub fn bounded(&self, what: &'static str, limit: u64) -> Load<u64> {
        let value = self.u64()?;
        if value > limit {
            return self.too_large(what, value, limit);
        }
        Ok(value)
    }

    pub fn number(&self, key: &str) -> Load<u64> {
        self.get(key)?.u64()
    }

    /// An identifier, which BMv2 keeps in 31 bits.
    pub fn id(&self, key: &str) -> Load<u32> {
        Ok(self.get(key)?.bounded("id", u64::from(u32::MAX))? as u32)
    }

    /// A "0x..." string: sign and magnitude, big-endian bytes without leading zeros removed.
    pub fn hex(&self) -> Load<(bool, Vec<u8>)> {
        let text = self.str()?;
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
            return self.malformed(format!("'{text}' is not a hexadecimal number"));
        }
        let nibble = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
        let digits = digits.as_bytes();
        let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
        let (head, tail) = digits.split_at(digits.len() % 2);
        if let [c] = head {
            bytes.push(nibble(*c));
        }
        bytes.extend(tail.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
        Ok((negative, bytes))
    }

    /// A non-negative hexadecimal string as bytes.
    pub fn hex_bytes(&self) -> Load<Vec<u8>> {
        match self.hex()? {
            (false, bytes) => Ok(bytes),
            (true, _) => self.malformed("a negative number is not valid here"),
        }
    }
}
