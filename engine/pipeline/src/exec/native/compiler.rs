//! Makes machine code of the functions that others build.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{types::I32, types::I64, AbiParam, Function, Signature, Type};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Bytes of code at whose multiples functions begin.
const ALIGNMENT: usize = 32;

pub(super) struct Compiler {
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    bytes: Vec<u8>,
}

impl Compiler {
    /// `None` where the processor is of a kind for which no code is made.
    pub fn new() -> Option<Compiler> {
        let mut flags = settings::builder();
        flags.set("opt_level", "speed").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        flags.set("enable_pinned_reg", "true").ok()?;
        flags.set("unwind_info", "false").ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        Some(Compiler {
            isa,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            bytes: Vec::new(),
        })
    }

    pub fn signature(&self, parameters: &[Type], result: Type) -> Signature {
        let mut signature = Signature::new(self.isa.default_call_conv());
        signature.params.extend(parameters.iter().map(|&parameter| AbiParam::new(parameter)));
        signature.returns.push(AbiParam::new(result));
        signature
    }

    /// Lets `build` build a function of two addresses, in the place of the last one.
    pub fn build<T>(&mut self, build: impl FnOnce(FunctionBuilder) -> T) -> T {
        self.context.clear();
        self.context.func = Function::new();
        self.context.func.signature = self.signature(&[I64, I64], I32);
        build(FunctionBuilder::new(&mut self.context.func, &mut self.builder))
    }

    /// Makes the code of the function that was built last; gives its offset.
    pub fn compile(&mut self) -> Option<usize> {
        let compiled = self.context.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        if !compiled.buffer.relocs().is_empty() {
            return None;
        }
        let offset = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(compiled.code_buffer());
        Some(offset)
    }

    /// The code of all functions.
    pub fn code(self) -> Vec<u8> {
        self.bytes
    }
}
