//! A program together with the machine code that was made of it.

use crate::code::program::Program;
use crate::exec::native::NativeCode;

/// A program that is ready to run. Immutable, so that many switches share one.
pub struct Executable {
    pub(crate) program: Program,
    /// The same as machine code, where the machine and the system allow it.
    pub(crate) native: Option<NativeCode>,
}

impl Executable {
    pub fn new(program: Program) -> Executable {
        let native = NativeCode::compile(&program);
        Executable { program, native }
    }

    pub fn program(&self) -> &Program {
        &self.program
    }
}
