//! Metadata whose values are not always texts.

use std::collections::BTreeMap;

use serde_json::Value;

/// A map of anything; what is neither text, number nor truth value cannot be a label and is left out.
pub(super) fn texts(map: Option<BTreeMap<String, Value>>) -> BTreeMap<String, String> {
    let entries = map.unwrap_or_default().into_iter();
    entries
        .filter_map(|(name, value)| Some((name, text(value)?)))
        .collect()
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The same for a value that need not be a map at all.
pub(super) fn texts_of_value(value: Option<Value>) -> BTreeMap<String, String> {
    match value {
        Some(Value::Object(map)) => texts(Some(map.into_iter().collect())),
        _ => BTreeMap::new(),
    }
}

/// The pairs as a field mapping takes them.
pub(super) fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    map.iter().map(|(name, value)| (&**name, &**value))
}
