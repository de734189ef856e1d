//! Machine code between the parts of a program, so that the host need not be asked: ingress follows the parser, deparser
//! and headers follow egress. It does as [`crate::exec::boundary`] does there.

use super::translate::Translator;
use super::x86::{Alu, Cond, Label, Reg};
use super::{Offsets, STATUS_STOPPED};
use crate::code::layout::packet_slot;

impl Translator<'_> {
    /// The end of a part: on to where the frame says, or back to the host.
    pub(super) fn emit_end(&mut self) {
        self.asm.bind(self.done);
        self.asm.load_frame(Reg::Rax, Offsets::THEN);
        self.asm.alu_imm(Alu::Cmp, Reg::Rax, 0);
        self.asm.jump_if(Cond::Equal, self.ended);
        self.asm.jump_rax();
    }

    /// Tells the program the verdict of the parser, and goes on with ingress.
    pub(super) fn emit_after_parser(&mut self) -> Label {
        let entry = self.asm.label();
        self.asm.bind(entry);
        let fields = &self.code.intrinsics;
        for (field, slot) in [
            (fields.parser_error, packet_slot::PARSER_ERROR),
            (fields.checksum_error, packet_slot::CHECKSUM_ERROR),
        ] {
            if let Some(field) = field {
                self.asm.load(Reg::Rax, slot);
                self.asm.mask(Reg::Rax, field.mask, Reg::Rcx);
                self.asm.store(field.slot, Reg::Rax);
            }
        }
        self.asm.imm(Reg::Rax, 0);
        self.asm.store_frame(Offsets::THEN, Reg::Rax);
        self.asm.restart_loops();
        self.asm.jump(self.label(self.code.ingress_entry));
        entry
    }

    /// Goes on with the deparser and with `emit`, unless egress asked for something or dropped the packet: then the host
    /// is told that the code has stopped.
    pub(super) fn emit_after_egress(&mut self, emit: Label) -> Label {
        let entry = self.asm.label();
        let stop = self.asm.label();
        self.asm.bind(entry);
        for slot in [packet_slot::ASSERT_FAILED, packet_slot::CLONE_SESSION] {
            self.asm.alu_slot_imm(Alu::Cmp, slot, 0);
            self.asm.jump_if(Cond::NotEqual, stop);
        }
        match self.code.intrinsics.egress_spec {
            Some(field) => self.asm.load(Reg::Rax, field.slot),
            None => self.asm.imm(Reg::Rax, 0),
        }
        self.asm.alu_frame(Alu::Cmp, Reg::Rax, Offsets::DROP_PORT);
        self.asm.jump_if(Cond::Equal, stop);
        self.asm.address(Reg::Rax, emit);
        self.asm.store_frame(Offsets::THEN, Reg::Rax);
        self.asm.restart_loops();
        self.asm.jump(self.label(self.code.deparser_entry));
        self.asm.bind(stop);
        self.asm.epilogue(STATUS_STOPPED);
        entry
    }
}
