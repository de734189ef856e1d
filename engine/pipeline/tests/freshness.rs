//! The compiled programs belong to their sources. After a change of a source:
//! `p4c-bm2-ss --p4v 16 -o NAME.json NAME.p4`, then this test with `UPDATE_MANIFEST=1`.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// FNV-1a, enough to notice a change.
fn fingerprint(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

#[test]
fn compiled_programs_belong_to_their_sources() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "p4" || extension == "json") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.insert(name, fingerprint(&std::fs::read(&path).unwrap()));
        }
    }
    let text: String = found.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    let manifest = directory.join("manifest.txt");
    if std::env::var_os("UPDATE_MANIFEST").is_some() {
        std::fs::write(&manifest, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&manifest).unwrap();
    assert_eq!(text, expected, "a program changed; recompile it and update {}", manifest.display());
}
