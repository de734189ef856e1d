//! The compiled test programs belong to their sources: `NAME.source-hash` holds the FNV-1a hash of
//! the source from which `NAME.json` was compiled.

#[test]
fn the_compiled_programs_are_those_of_their_sources() {
    let programs: [(&str, &[u8], &str); 2] = [
        ("stamps", include_bytes!("programs/stamps.p4"), include_str!("programs/stamps.source-hash")),
        ("waiting", include_bytes!("programs/waiting.p4"), include_str!("programs/waiting.source-hash")),
    ];
    for (name, source, stored) in programs {
        let hash = source.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        assert_eq!(
            format!("{hash:016x}"),
            stored.trim(),
            "{name}.p4 has changed: compile it again as its head says, then write its hash into {name}.source-hash"
        );
    }
}
