//! Leaves out what the traffic manager would tell a program that never reads it.

use crate::code::layout::{FieldRef, Layout};
use crate::code::program::Code;
use crate::load::effects::effects;

/// Takes the fields for a packet's time in a queue away where nothing reads one of them: to fill them takes divisions.
pub(super) fn leave_out_unread(code: &mut Code, layout: &Layout) {
    let queueing: Vec<FieldRef> = code.intrinsics.queueing().into_iter().filter_map(|field| *field).collect();
    if !queueing.iter().any(|&field| is_read(code, layout, field)) {
        code.intrinsics.queueing().into_iter().for_each(|field| *field = None);
    }
}

fn is_read(code: &Code, layout: &Layout, field: FieldRef) -> bool {
    let first = field.slot as usize;
    let of_field = first..first + field.limbs();
    let overlaps = |start: usize, count: usize| start < of_field.end && of_field.start < start + count;
    let lists = code.field_lists.values().chain(code.digests.iter().map(|digest| &digest.fields));
    let is_kept = lists.flatten().any(|it| overlaps(it.slot as usize, it.limbs()));
    is_kept
        || code.ops.iter().any(|op| {
            effects(code, layout, op).is_none_or(|effects| {
                let contents = effects.contents.iter().any(|&header| {
                    let place = &layout.headers[header as usize];
                    overlaps(place.base as usize, layout.shape_of(header).slots as usize)
                });
                contents || effects.reads.iter().any(|&(start, count)| overlaps(start as usize, count))
            })
        })
}
