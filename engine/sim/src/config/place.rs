//! Places in the document, and the errors there.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use thiserror::Error;

/// One step on the way from the whole document to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The place of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<Step>);

impl Place {
    /// The value of a key here.
    pub fn key(&self, key: &str) -> Place {
        self.and(Step::Key(key.to_string()))
    }

    /// An item of the list here.
    pub fn index(&self, index: usize) -> Place {
        self.and(Step::Index(index))
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The error that the value here is not `valid`.
    pub fn invalid(&self, problem: impl Into<String>, valid: impl Into<String>) -> ConfigError {
        ConfigError { place: self.clone(), problem: problem.into(), valid: Some(valid.into()) }
    }

    /// Reads the value that is here.
    pub fn read<'de, T: DeserializeOwned, D>(&self, from: D) -> Result<T, ConfigError>
    where
        D: serde::Deserializer<'de>,
        D::Error: fmt::Display,
    {
        serde_path_to_error::deserialize(from).map_err(|error| {
            let steps = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(Step::Index(*index)),
                Segment::Map { key } => Some(Step::Key(key.clone())),
                Segment::Enum { variant } => Some(Step::Key(variant.clone())),
                Segment::Unknown => None,
            });
            ConfigError {
                place: Place(self.0.iter().cloned().chain(steps).collect()),
                problem: error.inner().to_string(),
                valid: None,
            }
        })
    }

    fn and(&self, step: Step) -> Place {
        Place(self.0.iter().cloned().chain([step]).collect())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => write!(formatter, "{key}")?,
                Step::Key(key) => write!(formatter, ".{key}")?,
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Reason why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    pub place: Place,
    pub problem: String,
    /// Valid values there; `None` where the problem names them.
    pub valid: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if !self.place.0.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        write!(formatter, "{}", self.problem)?;
        match &self.valid {
            Some(valid) => write!(formatter, "; valid: {valid}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_what_and_what_is_valid() {
        let place = Place::default().key("nodes").index(2).key("ports");
        let error = place.invalid("no port 3", "1, 2");
        assert_eq!(error.to_string(), "nodes[2].ports: no port 3; valid: 1, 2");
        let error = place.read::<Vec<u8>, _>(&serde_json::json!([1, "x"])).unwrap_err();
        assert_eq!(error.place, place.index(1));
        assert_eq!(error.valid, None);
        assert!(error.to_string().starts_with("nodes[2].ports[1]: invalid type: string \"x\""));
    }
}
