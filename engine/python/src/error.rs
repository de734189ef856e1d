//! The exception of the module, and the guard that keeps bugs from unwinding into Python.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use p4mesh_sim::config::Step;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::IntoPyObjectExt;

pyo3::create_exception!(
    _engine,
    EngineError,
    PyException,
    "The engine refused a request; the message says what, where and what is valid."
);

pyo3::create_exception!(
    _engine,
    ConfigError,
    EngineError,
    "The document of a network is not valid: `problem` is wrong at `place`, where `valid` is valid."
);

/// A [`ConfigError`] with the path of the value (keys and indexes), the fault, and the valid values, or None where the
/// fault names them.
pub fn misconfigured(py: Python<'_>, error: &p4mesh_sim::ConfigError) -> PyErr {
    let raise = || -> PyResult<PyErr> {
        let steps = error.place.steps().iter().map(|step| match step {
            Step::Key(key) => key.into_bound_py_any(py),
            Step::Index(index) => index.into_bound_py_any(py),
        });
        let place = PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
        let raised = ConfigError::new_err(error.to_string());
        let value = raised.value(py);
        value.setattr("place", place)?;
        value.setattr("problem", &error.problem)?;
        value.setattr("valid", error.valid.as_deref())?;
        Ok(raised)
    };
    raise().unwrap_or_else(|failed| failed)
}

/// An [`EngineError`] with the text of `error`.
pub fn refused(error: impl ToString) -> PyErr {
    EngineError::new_err(error.to_string())
}

/// Runs `work` without the GIL. A panic, which is a bug of the engine, becomes a RuntimeError.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).unwrap_or_else(|panic| {
        Err(PyRuntimeError::new_err(format!("bug in the engine: {}", text_of(&*panic))))
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
