//! A compiled program as data.

pub(crate) mod calculation;
pub(crate) mod ir;
pub(crate) mod layout;
pub(crate) mod marks;
pub(crate) mod program;
pub(crate) mod registers;
pub(crate) mod touches;
