//! What the health endpoint sends, as far as it is used. Wide numbers and `null` everywhere, since Consul checks little.

use std::collections::BTreeMap;

use ringfence_discovery::{DiscoveryError, ErrorKind};
use serde::{Deserialize, Deserializer};

use crate::NAME;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Entry {
    pub(crate) node: Node,
    pub(crate) service: Service,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Node {
    pub(crate) node: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) address: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) datacenter: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) locality: Locality,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Service {
    #[serde(rename = "ID")]
    pub(crate) id: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) address: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) port: i64,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) tags: Vec<String>,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) meta: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) weights: Weights,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) locality: Locality,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Weights {
    pub(crate) passing: f64,
    pub(crate) warning: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            passing: 1.0,
            warning: 1.0,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Locality {
    #[serde(deserialize_with = "or_null")]
    pub(crate) region: String,
    #[serde(deserialize_with = "or_null")]
    pub(crate) zone: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Check {
    #[serde(rename = "CheckID", default, deserialize_with = "or_null")]
    pub(crate) id: String,
    #[serde(default, deserialize_with = "or_null")]
    pub(crate) status: String,
}

fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Records of a list. No service has as many, and trash can be as short as one byte.
pub(crate) const MAX_RECORDS: usize = 1 << 20;

/// The records of a JSON list, unread. Each is read by itself, so that one with a broken value does not hide the others; a
/// list that is cut off, whose brackets do not match, or which is endless is refused as a whole.
pub(crate) fn split_list(body: &[u8]) -> Result<Vec<&[u8]>, DiscoveryError> {
    let malformed =
        || DiscoveryError::new(ErrorKind::Malformed, NAME, "the answer is no whole list");
    let body = body.trim_ascii();
    if body == b"null" {
        return Ok(Vec::new());
    }
    let list = body
        .strip_prefix(b"[")
        .and_then(|body| body.strip_suffix(b"]"));
    let list = list.ok_or_else(malformed)?;
    let (mut records, mut start) = (Vec::new(), 0);
    // The brackets that are open, so that each is closed by its own kind.
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in list.iter().enumerate() {
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(*byte) => return Err(malformed()),
            b',' if open.is_empty() => {
                if records.len() == MAX_RECORDS - 1 {
                    return Err(malformed());
                }
                records.push(list.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    if in_string || !open.is_empty() {
        return Err(malformed());
    }
    let last = list.get(start..).unwrap_or_default();
    if !(records.is_empty() && last.trim_ascii().is_empty()) {
        records.push(last);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_into_its_records() {
        for (body, expected) in [
            ("null", &[][..]),
            ("[]", &[]),
            (" [ ] \n", &[]),
            ("[1]", &["1"]),
            (
                r#"[{"a":[1,2]},"x,]}\"",NaN]"#,
                &[r#"{"a":[1,2]}"#, r#""x,]}\"""#, "NaN"],
            ),
        ] {
            let records = split_list(body.as_bytes()).expect(body);
            let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(records, expected, "{body}");
        }
    }

    #[test]
    fn what_is_no_whole_list_is_refused() {
        let whole = br#"[{"a":"b","c":[1]},{"d":{}}]"#;
        for cut in 0..whole.len() {
            assert!(split_list(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for bad in ["", "{}", "<html>", "[{]}", "[\"]", "[}]", "[][", "\u{0}"] {
            assert!(split_list(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
