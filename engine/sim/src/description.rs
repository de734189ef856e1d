//! The keys of a network and of every device model as a JSON Schema, from which the schema of topologies is made.

use schemars::generate::SchemaSettings;
use schemars::JsonSchema;
use serde_json::{json, Map, Value};

use crate::config::NetworkConfig;
use crate::device::{EthernetSwitchConfig, P4Config, RouterConfig, TapConfig};

/// Gives the valid values in words, where rules alone are not enough.
const VALID: &str = "valid";

/// `network`: the document; `models`: the keys that each model adds to those of a node. In each rule `title` is the
/// meaning of a key, `description` gives the valid values in words.
pub fn description() -> Value {
    json!({
        "network": rule::<NetworkConfig>(),
        "models": {
            "ethernet_switch": rule::<EthernetSwitchConfig>(),
            "p4": rule::<P4Config>(),
            "router": rule::<RouterConfig>(),
            "tap": rule::<TapConfig>(),
        },
    })
}

fn rule<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut rule = tidy(schema.to_value());
    if let Value::Object(rule) = &mut rule {
        rule.shift_remove("title");
    }
    rule
}

/// A rule as people would write it: comments of the code become titles, additions of Rust go.
fn tidy(rule: Value) -> Value {
    let Value::Object(rule) = rule else {
        return rule;
    };
    let rule = without_null(rule);
    let mut rule = one_of_several(rule);
    rule.remove("format");
    if rule.get("default") == Some(&Value::Null) {
        rule.remove("default");
    }
    if let Some(Value::String(comment)) = rule.remove("description") {
        let _ = rule.shift_insert(0, "title".to_string(), title(&comment).into());
    }
    if let Some(valid) = rule.remove(VALID) {
        rule.insert("description".to_string(), valid);
    }
    for (key, value) in &mut rule {
        match key.as_str() {
            "properties" => {
                if let Value::Object(properties) = value {
                    properties.values_mut().for_each(|value| *value = tidy(value.take()));
                }
            }
            "anyOf" => {
                if let Value::Array(rules) = value {
                    rules.iter_mut().for_each(|rule| *rule = tidy(rule.take()));
                }
            }
            // The meaning of an item is that of its list.
            "items" | "additionalProperties" => {
                *value = tidy(value.take());
                if let Value::Object(item) = value {
                    item.shift_remove("title");
                }
            }
            _ => {}
        }
    }
    Value::Object(rule)
}

/// A comment as a phrase: without a full stop, and without a capital but in names.
fn title(comment: &str) -> String {
    let text = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix('.').unwrap_or(&text);
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_string(),
    }
}

/// A key that may be left out is absent, never null.
fn without_null(mut rule: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(types)) = rule.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            rule.insert("type".to_string(), only);
        }
    }
    let Some(Value::Array(rules)) = rule.get_mut("anyOf") else {
        return rule;
    };
    rules.retain(|it| it["type"] != "null");
    if let [Value::Object(only)] = rules.as_slice() {
        let only = only.clone();
        rule.remove("anyOf");
        for (key, value) in only {
            rule.entry(key).or_insert(value);
        }
    }
    rule
}

/// An enumeration of words, or a mapping with one of several keys.
fn one_of_several(mut rule: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(choices)) = rule.remove("oneOf") else {
        if rule.contains_key("enum") {
            rule.remove("type");
        }
        return rule;
    };
    let words: Vec<Value> = choices
        .iter()
        .flat_map(|choice| match (&choice["const"], &choice["enum"]) {
            (Value::Null, Value::Array(words)) => words.clone(),
            (Value::Null, _) => Vec::new(),
            (word, _) => vec![word.clone()],
        })
        .collect();
    if words.is_empty() {
        let mut properties = Map::new();
        for mut choice in choices {
            let comment = choice["description"].take();
            if let Value::Object(choice) = choice["properties"].take() {
                for (key, mut value) in choice {
                    if !comment.is_null() {
                        value["description"] = comment.clone();
                    }
                    properties.insert(key, value);
                }
            }
        }
        rule.insert("type".to_string(), "object".into());
        rule.insert("additionalProperties".to_string(), false.into());
        rule.insert("properties".to_string(), Value::Object(properties));
        rule.insert("minProperties".to_string(), 1.into());
        rule.insert("maxProperties".to_string(), 1.into());
    } else {
        rule.remove("type");
        rule.insert("enum".to_string(), Value::Array(words));
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `seen` with every key below a rule, and its own rule.
    fn walk(rule: &Value, seen: &mut impl FnMut(&str, &Value)) {
        for (key, value) in rule["properties"].as_object().into_iter().flatten() {
            seen(key, value);
            walk(value, seen);
            walk(&value["items"], seen);
        }
    }

    #[test]
    fn every_key_has_a_meaning_and_a_type_and_none_is_null() {
        let description = description();
        let mut keys = 0;
        for (model, rule) in description["models"].as_object().unwrap() {
            walk(rule, &mut |key, value| {
                keys += 1;
                assert!(value["title"].is_string(), "{model}: {key}: {value}");
                let typed = ["type", "enum", "anyOf"];
                // p4c's JSON may be anything.
                assert!(key == "program" || typed.iter().any(|it| !value[it].is_null()), "{key}");
                assert!(!value["type"].is_array(), "{key}");
            });
        }
        assert!(keys > 90, "{keys}");
    }

    #[test]
    fn a_rule_has_the_range_the_default_and_the_meaning_of_the_type() {
        let description = description();
        let switch = &description["models"]["ethernet_switch"]["properties"];
        let expected = json!({
            "title": "an address is forgotten after this time without a frame",
            "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000, "default": 300,
        });
        assert_eq!(switch["mac_table"]["properties"]["aging_s"], expected);
        let expected = json!({
            "title": "when a frame goes on",
            "enum": ["store_and_forward", "cut_through"], "default": "store_and_forward",
        });
        assert_eq!(switch["forwarding"], expected);
        assert_eq!(switch["jitter"]["maxProperties"], 1);
        let spike = &switch["jitter"]["properties"]["spike"];
        assert_eq!(spike["title"], "now and then the frame waits for a frame of the device's own");
        assert_eq!(spike["required"], json!(["delay_ns", "chance_ppb"]));
        assert_eq!(title("IPv4 and IPv6."), "IPv4 and IPv6");
    }
}
