//! Documents that are not programs: a typed error that names the construct and the place, never a
//! panic. The mutations start from programs of this directory.

mod common;
#[path = "common/mutate.rs"]
mod mutate;

use common::*;
use p4mesh_pipeline::*;
use serde_json::Value;

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&program_text("router")).unwrap();
    change(&mut value);
    match Program::from_json(&value.to_string()) {
        Ok(_) => "accepted".to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refusals_name_construct_and_place() {
    assert!(refusal(|_| {}) == "accepted");
    assert_eq!(
        Program::from_json("{").err().map(|error| error.to_string()).unwrap(),
        "not valid JSON: EOF while parsing an object at line 1 column 1"
    );
    assert_eq!(Program::from_json("[]").err().unwrap().to_string(), "document: expected an object");
    assert_eq!(
        refusal(|value| value["__meta__"]["version"] = serde_json::json!([3, 1])),
        "BMv2 JSON version 3.1 is not supported; valid: 2.x"
    );
    assert_eq!(
        refusal(|value| value["extern_instances"] = serde_json::json!([{"name": "x", "type": "Cipher"}])),
        "extern_instances[0]: extern 'Cipher' is not supported"
    );
    assert_eq!(
        refusal(|value| value["calculations"][0]["algo"] = "md5".into()),
        "calculations[0].algo: hash algorithm 'md5' is not supported"
    );
    assert_eq!(
        refusal(|value| value["actions"][1]["primitives"][0]["op"] = "encrypt".into()),
        "actions[1].primitives[0]: primitive 'encrypt' is not supported"
    );
    assert_eq!(
        refusal(|value| value["pipelines"][0]["tables"][0]["key"] = 5.into()),
        "pipelines[0].tables[0].key: expected an array"
    );
    assert_eq!(
        refusal(|value| value["counter_arrays"][0]["size"] = serde_json::json!(1u64 << 40)),
        "counter_arrays[0]: size of all arrays in 64-bit words is 2199023255552, the limit is 134217728"
    );
    for (parser, architecture) in [("ingress_parser", "PSA"), ("main_parser", "PNA")] {
        // Named before any of its externs.
        let text = refusal(|value| {
            value["parsers"][0]["name"] = parser.into();
            value["extern_instances"] = serde_json::json!([{"name": "x", "type": "Counter"}]);
        });
        let start = format!("the program is written for {architecture} (its parser is '{parser}'); valid: ");
        assert!(text.starts_with(&start), "{text}");
    }
    assert_eq!(
        refusal(|value| value["parsers"] = serde_json::json!([])),
        "document: no parser named 'parser' in this program"
    );
}

#[test]
fn mutated_programs_and_random_frames_never_panic() {
    for (seed, name) in ["router", "copies", "structures", "matching"].iter().enumerate() {
        let base: Value = serde_json::from_str(&program_text(name)).unwrap();
        let mut random = mutate::Random::new(seed as u64 + 1);
        for _ in 0..150 {
            mutate::try_mutation(&base, &mut random);
        }
    }
}
