//! Header stacks, unions, variable-length fields, lookahead, advance and value sets.

mod common;

use common::*;
use p4mesh_pipeline::*;

fn sent(frame: &[u8]) -> (u16, Vec<u8>) {
    load("structures").send_one(0, frame)
}

#[test]
fn stacks_shift_and_index() {
    // Three labels, the last one has the bottom bit.
    let labels = [0x02, 0x04, 0x07];
    let with = |argument: u8, tail: &[u8]| [&[1, argument], &labels[..], tail].concat();
    assert_eq!(sent(&with(0, &[9])), (1, with(0, &[9])));
    assert_eq!(sent(&with(1, &[9])).1, [1, 1, 0xaa, 0x02, 0x04, 0x07, 9]);
    assert_eq!(sent(&with(2, &[9])).1, [1, 2, 0x04, 0x07, 9]);
    // Element argument & 3 gets the value of element 0 plus one.
    assert_eq!(sent(&with(5, &[9])).1, [1, 5, 0x02, 0x04, 0x07, 9]);
    assert_eq!(sent(&with(6, &[9])).1, [1, 6, 0x02, 0x04, 0x05, 9]);
}

#[test]
fn pushing_onto_a_full_stack_loses_the_last_element() {
    assert_eq!(sent(&[1, 1, 2, 4, 6, 9]).1, [1, 1, 0xaa, 2, 4, 6]);
    // A fifth label does not fit: a parser error, and the bytes stay payload.
    assert_eq!(sent(&[1, 0, 2, 4, 6, 8, 9]), (2, vec![1, 0, 2, 4, 6, 8, 9]));
}

#[test]
fn variable_fields_keep_their_length() {
    for words in 0..9u8 {
        let mut frame = vec![2, 0, words];
        frame.extend((0..words).map(|byte| 0x10 + byte));
        frame.extend([0xee, 0xff]);
        assert_eq!(sent(&frame), (1, frame.clone()));
        frame[1] = 1;
        assert_eq!(sent(&frame).1, [2, 1, 0xee, 0xff], "the whole header goes");
    }
    assert_eq!(sent(&[2, 0, 9, 1, 2, 3]).0, 2, "verify fails");
    assert_eq!(sent(&[2, 0, 8, 1, 2, 3]).0, 2, "too short");
    assert_eq!(sent(&[2, 0]).0, 2, "nothing to look at");
}

#[test]
fn unions_hold_one_header() {
    assert_eq!(sent(&[3, 0, 0x00, 0x11]).1, [3, 0, 0xab, 0xcd, 0x11]);
    assert_eq!(sent(&[3, 0, 0x01, 0x11, 0x22]).1, [3, 0, 0xfe, 0xee, 0x22]);
}

/// A program numbers its errors itself: "no error" need not be 0, as it is in the program's comparison.
#[test]
fn a_frame_starts_with_the_number_of_no_error() {
    let text = program_text("structures").replace("[\"NoError\", 0]", "[\"NoError\", 1]");
    for execution in [Execution::Native, Execution::Interpreted] {
        let mut target = load_text(&text, SwitchConfig::default());
        target.switch.set_execution(execution);
        for frame in [&[0, 0][..], &[1, 0, 2, 4, 7, 9], &[2, 0, 1, 9], &[3, 0, 0, 9], &[4, 1, 9], &[0x77, 0]]
        {
            assert_eq!(target.send_one(0, frame).0, 2, "{frame:?}, {execution:?}");
        }
    }
}

#[test]
fn advance_skips_bytes_for_good() {
    assert_eq!(sent(&[4, 3, 1, 2, 3, 0xaa, 0xbb, 0xcc]).1, [4, 3, 0xaa, 0xbb, 0xcc]);
    assert_eq!(sent(&[4, 200, 1, 2]).0, 2);
    assert_eq!(sent(&[0x17, 0, 0xaa, 0xbb, 1]), (1, vec![0x17, 0, 0xaa, 0xbb, 1]));
}

#[test]
fn value_sets_change_the_parser() {
    let mut target = load("structures");
    let set = target.switch.program().value_sets()[0].clone();
    assert_eq!(set.width_bits, [8]);
    assert_eq!(target.send_one(0, &[0x77, 0]).0, 1);
    let members = vec![vec![exact(&[0x77])], vec![ternary(&[0x60], &[0xf0])]];
    target.switch.value_set_write(&set.name, &members).unwrap();
    assert_eq!(target.switch.value_set_read(&set.name).unwrap(), members);
    assert_eq!(target.send_one(0, &[0x77, 0]).0, 3);
    assert_eq!(target.send_one(0, &[0x65, 0]).0, 3);
    assert_eq!(target.send_one(0, &[0x78, 0]).0, 1);
    let error = target.switch.value_set_write(&set.name, &[vec![exact(&[1, 0])]]).unwrap_err();
    assert_eq!(error.kind(), ControlErrorKind::OutOfRange);
}
