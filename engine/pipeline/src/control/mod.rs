//! A switch: a program and its state together, and its control plane by name.

mod arrays;
pub(crate) mod dispatch;
pub(crate) mod switch;
mod tables;
