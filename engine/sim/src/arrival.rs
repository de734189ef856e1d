//! A frame at the moment at which its receiver acts on it.

use p4mesh_pipeline::Frame;

/// Whether the frame check sequence of a frame fits. It is as long as a number, so that frames are copied in whole words:
/// a shorter piece that was just written makes the processor wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum Fcs {
    #[default]
    Good,
    /// The bits of the frame changed on the way, or its sender wanted it so.
    Bad,
}

impl Fcs {
    #[inline]
    pub fn new(is_bad: bool) -> Fcs {
        match is_bad {
            true => Fcs::Bad,
            false => Fcs::Good,
        }
    }

    #[inline]
    pub fn is_bad(self) -> bool {
        self == Fcs::Bad
    }
}

/// A frame that a node receives. It stays in one place until the node takes the frame: to read it in other pieces than it
/// was written makes the processor wait.
#[derive(Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Arrival {
    pub frame: Frame,
    /// First bit after the start frame delimiter, at the receiver.
    pub first_bit_ps: u64,
    /// End of the FCS, at the receiver; in the future for a cut-through receiver.
    pub last_bit_ps: u64,
    pub fcs: Fcs,
}

impl Arrival {
    /// Takes the frame.
    #[inline]
    pub fn take_frame(&mut self) -> Frame {
        std::mem::take(&mut self.frame)
    }
}
