//! The compiled test program belongs to its source: `stamps.source-hash` holds the FNV-1a hash of
//! the source from which `stamps.json` was compiled.

#[test]
fn the_compiled_program_is_that_of_its_source() {
    let source = include_bytes!("programs/stamps.p4");
    let hash = source.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    assert_eq!(
        format!("{hash:016x}"),
        include_str!("programs/stamps.source-hash").trim(),
        "stamps.p4 has changed: compile it again as its head says, then write its hash into stamps.source-hash"
    );
}
