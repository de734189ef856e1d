//! The exception of the module, and the guard that keeps bugs from unwinding into Python.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;

pyo3::create_exception!(
    _engine,
    EngineError,
    PyException,
    "The engine refused a request; the message says what, where and what is valid."
);

/// An [`EngineError`] with the text of `error`.
pub fn refused(error: impl ToString) -> PyErr {
    EngineError::new_err(error.to_string())
}

/// Runs `work` without the GIL. A panic, which is a bug of the engine, becomes a RuntimeError.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .unwrap_or_else(|panic| {
            Err(PyRuntimeError::new_err(format!(
                "bug in the engine: {}",
                text_of(&*panic)
            )))
        })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else {
        "no message"
    }
}
