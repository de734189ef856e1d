//! Encodes the few x86-64 instructions that the translation needs.
//!
//! Memory operands are 8-byte words at `[rbx + 8 * slot]` (packet slots) or `[rbp + offset]` (the
//! frame that the code shares with the host).

use crate::code::layout::Slot;

/// A register that may be an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reg {
    Rax = 0,
    Rcx = 1,
    Rdx = 2,
}

/// Two-operand arithmetic, by the opcode of its `reg, r/m` form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alu {
    Add = 0x03,
    Or = 0x0b,
    And = 0x23,
    Sub = 0x2b,
    Xor = 0x33,
    Cmp = 0x3b,
}

impl Alu {
    /// Opcode extension of the immediate form.
    fn extension(self) -> u8 {
        (self as u8) >> 3
    }
}

/// Condition codes of jumps, sets and moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    Below = 2,
    NotBelow = 3,
    Equal = 4,
    NotEqual = 5,
    Above = 7,
    Less = 12,
    NotLess = 13,
    Greater = 15,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left = 4,
    Right = 5,
    RightSigned = 7,
}

/// A place in the code that is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

#[derive(Default)]
pub(super) struct Assembler {
    pub bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// (position of a 32-bit displacement, its target).
    fixups: Vec<(usize, Label)>,
}

impl Assembler {
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    pub fn offset_of(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    /// Resolves jumps; `None` if a label was never bound.
    pub fn finish(&mut self) -> Option<()> {
        for (at, label) in std::mem::take(&mut self.fixups) {
            let target = self.labels[label.0]? as i64;
            let displacement = i32::try_from(target - (at as i64 + 4)).ok()?;
            self.bytes[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        }
        Some(())
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn imm32(&mut self, value: i32) {
        self.emit(&value.to_le_bytes());
    }

    /// ModRM with `[rbx + 8 * slot]`.
    fn slot(&mut self, reg: u8, slot: Slot) {
        self.emit(&[0x80 | reg << 3 | 3]);
        self.imm32(i32::from(slot) * 8);
    }

    /// ModRM with `[rbp + offset]`.
    fn frame(&mut self, reg: u8, offset: u8) {
        self.emit(&[0x40 | reg << 3 | 5, offset]);
    }

    pub fn load(&mut self, reg: Reg, slot: Slot) {
        self.emit(&[0x48, 0x8b]);
        self.slot(reg as u8, slot);
    }

    pub fn store(&mut self, slot: Slot, reg: Reg) {
        self.emit(&[0x48, 0x89]);
        self.slot(reg as u8, slot);
    }

    /// `reg` = address of the frame
    pub fn move_frame(&mut self, reg: Reg) {
        self.emit(&[0x48, 0x8b, 0xc0 | (reg as u8) << 3 | 5]);
    }

    pub fn load_frame(&mut self, reg: Reg, offset: u8) {
        self.emit(&[0x48, 0x8b]);
        self.frame(reg as u8, offset);
    }

    pub fn store_frame(&mut self, offset: u8, reg: Reg) {
        self.emit(&[0x48, 0x89]);
        self.frame(reg as u8, offset);
    }

    /// `[base + displacement] = reg`
    pub fn store_at(&mut self, base: Reg, displacement: i32, reg: Reg) {
        self.emit(&[0x48, 0x89, 0x80 | (reg as u8) << 3 | base as u8]);
        self.imm32(displacement);
    }

    pub fn alu_frame(&mut self, op: Alu, reg: Reg, offset: u8) {
        self.emit(&[0x48, op as u8]);
        self.frame(reg as u8, offset);
    }

    pub fn add_frame_imm(&mut self, offset: u8, value: i32) {
        self.emit(&[0x48, 0x81]);
        self.frame(0, offset);
        self.imm32(value);
    }

    /// `reg = [base + displacement]`
    pub fn load_at(&mut self, reg: Reg, base: Reg, displacement: i32) {
        self.emit(&[0x48, 0x8b, 0x80 | (reg as u8) << 3 | base as u8]);
        self.imm32(displacement);
    }

    /// `cmp reg, [base + displacement]`
    pub fn cmp_at(&mut self, reg: Reg, base: Reg, displacement: i32) {
        self.emit(&[0x48, 0x3b, 0x80 | (reg as u8) << 3 | base as u8]);
        self.imm32(displacement);
    }

    /// `reg = [base + 4 * index]`, 32 bits.
    pub fn load_half_indexed(&mut self, reg: Reg, base: Reg, index: Reg) {
        self.emit(&[0x8b, (reg as u8) << 3 | 4, 0x80 | (index as u8) << 3 | base as u8]);
    }

    /// `reg += 1` in 32 bits; the upper ones become 0.
    pub fn increment_half(&mut self, reg: Reg) {
        self.emit(&[0xff, 0xc0 | reg as u8]);
    }

    /// Clears the address of the row (r13).
    pub fn clear_row(&mut self) {
        self.emit(&[0x45, 0x31, 0xed]);
    }

    /// Sets the address of the row to `[base + displacement] + offset + distance`.
    pub fn set_row(&mut self, base: Reg, displacement: i32, offset: Reg, distance: i32) {
        self.emit(&[0x4c, 0x8b, 0x80 | 5 << 3 | base as u8]);
        self.imm32(displacement);
        self.emit(&[0x4d, 0x8d, 0x80 | 5 << 3 | 4, (offset as u8) << 3 | 5]);
        self.imm32(distance);
    }

    /// Compares the address of the row with 0.
    pub fn test_row(&mut self) {
        self.emit(&[0x4d, 0x85, 0xed]);
    }

    /// `reg = [row + displacement]`
    pub fn load_from_row(&mut self, reg: Reg, displacement: i32) {
        self.emit(&[0x49, 0x8b, 0x80 | (reg as u8) << 3 | 5]);
        self.imm32(displacement);
    }

    /// `[row + displacement] = reg`
    pub fn store_in_row(&mut self, displacement: i32, reg: Reg) {
        self.emit(&[0x49, 0x89, 0x80 | (reg as u8) << 3 | 5]);
        self.imm32(displacement);
    }

    /// `[base + displacement] += reg`
    pub fn add_at(&mut self, base: Reg, displacement: i32, reg: Reg) {
        self.emit(&[0x48, 0x01, 0x80 | (reg as u8) << 3 | base as u8]);
        self.imm32(displacement);
    }

    /// `[base + displacement] += value`
    pub fn add_at_imm(&mut self, base: Reg, displacement: i32, value: i32) {
        self.emit(&[0x48, 0x81, 0x80 | base as u8]);
        self.imm32(displacement);
        self.imm32(value);
    }

    pub fn imm(&mut self, reg: Reg, value: u64) {
        if let Ok(value) = u32::try_from(value) {
            self.emit(&[0xb8 + reg as u8]);
            self.emit(&value.to_le_bytes());
        } else {
            self.emit(&[0x48, 0xb8 + reg as u8]);
            self.emit(&value.to_le_bytes());
        }
    }

    /// `[slot] = value`, sign-extended.
    pub fn store_imm(&mut self, slot: Slot, value: i32) {
        self.emit(&[0x48, 0xc7]);
        self.slot(0, slot);
        self.imm32(value);
    }

    pub fn alu(&mut self, op: Alu, reg: Reg, slot: Slot) {
        self.emit(&[0x48, op as u8]);
        self.slot(reg as u8, slot);
    }

    pub fn alu_reg(&mut self, op: Alu, reg: Reg, other: Reg) {
        self.emit(&[0x48, op as u8, 0xc0 | (reg as u8) << 3 | other as u8]);
    }

    /// `reg = other & 0xffff`
    pub fn move_low_half(&mut self, reg: Reg, other: Reg) {
        self.emit(&[0x0f, 0xb7, 0xc0 | (reg as u8) << 3 | other as u8]);
    }

    pub fn alu_imm(&mut self, op: Alu, reg: Reg, value: i32) {
        let register = 0xc0 | op.extension() << 3 | reg as u8;
        match i8::try_from(value) {
            Ok(value) => self.emit(&[0x48, 0x83, register, value as u8]),
            Err(_) => {
                self.emit(&[0x48, 0x81, register]);
                self.imm32(value);
            }
        }
    }

    /// `op [slot], value` for add, sub and cmp.
    pub fn alu_slot_imm(&mut self, op: Alu, slot: Slot, value: i32) {
        match i8::try_from(value) {
            Ok(value) => {
                self.emit(&[0x48, 0x83]);
                self.slot(op.extension(), slot);
                self.emit(&[value as u8]);
            }
            Err(_) => {
                self.emit(&[0x48, 0x81]);
                self.slot(op.extension(), slot);
                self.imm32(value);
            }
        }
    }

    pub fn multiply(&mut self, reg: Reg, slot: Slot) {
        self.emit(&[0x48, 0x0f, 0xaf]);
        self.slot(reg as u8, slot);
    }

    pub fn multiply_imm(&mut self, reg: Reg, value: i32) {
        self.emit(&[0x48, 0x69, 0xc0 | (reg as u8) << 3 | reg as u8]);
        self.imm32(value);
    }

    pub fn not(&mut self, reg: Reg) {
        self.emit(&[0x48, 0xf7, 0xd0 | reg as u8]);
    }

    /// Clears the register of four words.
    pub fn clear_quad(&mut self) {
        self.emit(&[0xc5, 0xf9, 0xef, 0xc0]);
    }

    /// Loads four words from `[base + displacement]` into the register of four words.
    pub fn load_quad(&mut self, base: Reg, displacement: i32) {
        self.emit(&[0xc5, 0xfe, 0x6f, 0x80 | base as u8]);
        self.imm32(displacement);
    }

    /// Stores the register of four words from a slot on.
    pub fn store_quad(&mut self, first: Slot) {
        self.emit(&[0xc5, 0xfe, 0x7f]);
        self.slot(0, first);
    }

    /// Ends the use of the register of four words, which slows older instructions down.
    pub fn end_quads(&mut self) {
        self.emit(&[0xc5, 0xf8, 0x77]);
    }

    pub fn negate(&mut self, reg: Reg) {
        self.emit(&[0x48, 0xf7, 0xd8 | reg as u8]);
    }

    pub fn move_reg(&mut self, to: Reg, from: Reg) {
        self.emit(&[0x48, 0x8b, 0xc0 | (to as u8) << 3 | from as u8]);
    }

    pub fn byte_swap(&mut self, reg: Reg) {
        self.emit(&[0x48, 0x0f, 0xc8 | reg as u8]);
    }

    /// By a constant of 1..=63.
    pub fn shift(&mut self, shift: Shift, reg: Reg, amount: u8) {
        self.emit(&[0x48, 0xc1, 0xc0 | (shift as u8) << 3 | reg as u8, amount]);
    }

    /// By `cl`.
    pub fn shift_by_cl(&mut self, shift: Shift, reg: Reg) {
        self.emit(&[0x48, 0xd3, 0xc0 | (shift as u8) << 3 | reg as u8]);
    }

    /// `reg -= reg + carry`: all ones after a comparison that was below, else 0.
    pub fn carry_mask(&mut self, reg: Reg) {
        self.emit(&[0x48, 0x1b, 0xc0 | (reg as u8) << 3 | reg as u8]);
    }

    /// `reg &= mask` in the shortest form.
    pub fn mask(&mut self, reg: Reg, mask: u64, scratch: Reg) {
        let code = 0xc0 | (reg as u8) << 3 | reg as u8;
        match mask {
            u64::MAX => {}
            0xff => self.emit(&[0x48, 0x0f, 0xb6, code]),
            0xffff => self.emit(&[0x48, 0x0f, 0xb7, code]),
            0xffff_ffff => self.emit(&[0x8b, code]),
            _ => match i32::try_from(mask as i64) {
                Ok(value) => self.alu_imm(Alu::And, reg, value),
                Err(_) => {
                    self.imm(scratch, mask);
                    self.alu_reg(Alu::And, reg, scratch);
                }
            },
        }
    }

    /// `reg = condition ? 1 : 0`
    pub fn set(&mut self, cond: Cond, reg: Reg) {
        self.emit(&[0x0f, 0x90 + cond as u8, 0xc0 | reg as u8]);
        self.emit(&[0x0f, 0xb6, 0xc0 | (reg as u8) << 3 | reg as u8]);
    }

    pub fn move_if(&mut self, cond: Cond, to: Reg, from: Reg) {
        self.emit(&[0x48, 0x0f, 0x40 + cond as u8, 0xc0 | (to as u8) << 3 | from as u8]);
    }

    pub fn jump(&mut self, label: Label) {
        self.emit(&[0xe9]);
        self.displacement(label);
    }

    pub fn jump_if(&mut self, cond: Cond, label: Label) {
        self.emit(&[0x0f, 0x80 + cond as u8]);
        self.displacement(label);
    }

    fn displacement(&mut self, label: Label) {
        self.fixups.push((self.bytes.len(), label));
        self.imm32(0);
    }

    /// Saves the registers of the caller and takes over its three arguments: slots in rbx, frame
    /// in rbp, then goes to the third. r12 counts loops, r13 is the address of a row of registers, r14 holds where an action
    /// returns to.
    pub fn prologue(&mut self) {
        // push rbx; push rbp; push r12; push r13; push r14
        self.emit(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56]);
        // mov rbx, rdi; mov rbp, rsi; xor r12d, r12d; jmp rdx
        self.emit(&[0x48, 0x89, 0xfb, 0x48, 0x89, 0xf5, 0x45, 0x31, 0xe4, 0xff, 0xe2]);
    }

    /// Gives `status` to the caller.
    pub fn epilogue(&mut self, status: u32) {
        self.imm(Reg::Rax, u64::from(status));
        // pop r14; pop r13; pop r12; pop rbp; pop rbx; ret
        self.emit(&[0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3]);
    }

    /// Begins to count loops anew.
    pub fn restart_loops(&mut self) {
        // xor r12d, r12d
        self.emit(&[0x45, 0x31, 0xe4]);
    }

    /// Counts a loop and goes to `label` above `limit`.
    pub fn count_loop(&mut self, limit: i32, label: Label) {
        // inc r12d; cmp r12d, limit
        self.emit(&[0x41, 0xff, 0xc4, 0x41, 0x81, 0xfc]);
        self.imm32(limit);
        self.jump_if(Cond::Above, label);
    }

    /// `r14 = [rbp + offset]`
    pub fn load_return(&mut self, offset: u8) {
        self.emit(&[0x4c, 0x8b]);
        self.frame(6, offset);
    }

    /// `r14 = [base + displacement]`
    pub fn load_return_at(&mut self, base: Reg, displacement: i32) {
        self.emit(&[0x4c, 0x8b, 0x80 | 6 << 3 | base as u8]);
        self.imm32(displacement);
    }

    /// `r14` = address of a label
    pub fn set_return(&mut self, label: Label) {
        // lea r14, [rip + displacement]
        self.emit(&[0x4c, 0x8d, 0x35]);
        self.displacement(label);
    }

    /// `reg` = address of a label
    pub fn address(&mut self, reg: Reg, label: Label) {
        // lea reg, [rip + displacement]
        self.emit(&[0x48, 0x8d, (reg as u8) << 3 | 5]);
        self.displacement(label);
    }

    pub fn jump_return(&mut self) {
        self.emit(&[0x41, 0xff, 0xe6]);
    }

    pub fn jump_rax(&mut self) {
        self.emit(&[0xff, 0xe0]);
    }

    /// `host(rbp, argument)`; the result is in rax.
    pub fn call(&mut self, host: u64, argument: u32) {
        // mov rdi, rbp; mov esi, argument
        self.emit(&[0x48, 0x89, 0xef, 0xbe]);
        self.emit(&argument.to_le_bytes());
        // mov rax, host; call rax; test rax, rax
        self.emit(&[0x48, 0xb8]);
        self.emit(&host.to_le_bytes());
        self.emit(&[0xff, 0xd0, 0x48, 0x85, 0xc0]);
    }
}
