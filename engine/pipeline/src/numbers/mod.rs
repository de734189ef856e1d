//! Integers of many words, bit strings, random numbers, the unit of time stamps.

pub(crate) mod bits;
pub(crate) mod rng;
pub(crate) mod tick;
pub(crate) mod words;
