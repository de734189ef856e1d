//! Bytes of frames, and a pool of their buffers.

/// Bytes of one frame, without FCS. Buffers come from and go back to a [`FramePool`], so that a
/// target in steady state allocates nothing per frame.
pub type Frame = Vec<u8>;

/// Buffers that a pool keeps; the rest goes back to the allocator, so that a target which brings
/// buffers of its own does not fill the memory.
const MAX_FREE_FRAMES: usize = 65_536;

/// A stack of buffers that are ready for reuse.
#[derive(Default)]
pub struct FramePool {
    free: Vec<Frame>,
}

impl FramePool {
    /// An empty buffer, reused where one is free.
    pub fn take(&mut self) -> Frame {
        self.free.pop().unwrap_or_default()
    }

    /// A buffer that holds a copy of `bytes`.
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.take();
        frame.extend_from_slice(bytes);
        frame
    }

    /// Hands a buffer back.
    pub fn give(&mut self, mut frame: Frame) {
        if self.free.len() < MAX_FREE_FRAMES {
            frame.clear();
            self.free.push(frame);
        }
    }
}
