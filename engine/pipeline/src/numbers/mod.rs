//! Integers of many words, bit strings, random numbers.

pub(crate) mod bits;
pub(crate) mod rng;
pub(crate) mod words;
