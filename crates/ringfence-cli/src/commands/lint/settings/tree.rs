//! Names with their values and lines.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_saphyr::Spanned;

use super::Fault;

/// A value with the names that lead to it, joined by dots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Nothing where there is none, or a section without settings.
    pub(super) value: Option<String>,
    pub(super) line: u64,
}

enum Tree {
    Value(String),
    Map(Vec<(Spanned<String>, Tree)>),
}

/// Sections may be nested or be written with dots: `watch: { fetch_timeout: 2s }` and `watch.fetch_timeout: 2s` are the same.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, Fault> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // Whoever reads the entries tells of those that are there twice, under their whole names.
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        budget: serde_saphyr::budget! { max_depth: 8, max_nodes: 10_000, max_events: 20_000 },
    };
    let read = serde_saphyr::from_str_with_options::<Option<Tree>>(text, options);
    let tree = read.map_err(|error| Fault {
        line: error
            .location()
            .map(|at| at.line())
            .filter(|line| *line > 0),
        name: None,
        reason: error.to_string(),
    })?;
    let mut entries = Vec::new();
    match tree {
        None => {}
        Some(Tree::Map(map)) => flatten("", map, &mut entries),
        Some(Tree::Value(_)) => {
            return Err(Fault {
                line: Some(1),
                name: None,
                reason: "expected settings, such as `max_attempts: 3`".to_owned(),
            });
        }
    }
    Ok(entries)
}

fn flatten(prefix: &str, map: Vec<(Spanned<String>, Tree)>, entries: &mut Vec<Entry>) {
    for (key, tree) in map {
        let name = match prefix {
            "" => key.value.clone(),
            prefix => format!("{prefix}.{}", key.value),
        };
        let line = key.referenced.line();
        match tree {
            // What jump and slots are given is a value of the ring's, whatever its form.
            Tree::Map(map) if name == "ring.slots" => entries.push(Entry {
                value: Some(flow(&map)),
                name,
                line,
            }),
            Tree::Map(map) if map.is_empty() => entries.push(Entry {
                name,
                value: None,
                line,
            }),
            Tree::Map(map) => flatten(&name, map, entries),
            Tree::Value(value) => entries.push(Entry {
                name,
                value: Some(value),
                line,
            }),
        }
    }
}

/// A map in one line, as documents may have it.
fn flow(map: &[(Spanned<String>, Tree)]) -> String {
    let pairs = map.iter().map(|(key, tree)| {
        let value = match tree {
            Tree::Value(value) => value.clone(),
            Tree::Map(map) => flow(map),
        };
        format!("{}: {value}", key.value)
    });
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a section")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Value(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Value(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Value(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Value(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Value(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Map(Vec::new()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element::<String>()? {
            values.push(value);
        }
        Ok(Tree::Value(format!("[{}]", values.join(", "))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_dotted_names_are_the_same_and_have_lines() {
        let told = |text: &str| {
            let entries = entries(text).unwrap().into_iter();
            let told = entries.map(|e| {
                let value = e.value.unwrap_or_else(|| "nothing".to_owned());
                format!("{}:{}={value}", e.line, e.name)
            });
            told.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            told("a: 1\nb:\n  c: 2s\n  d: { e: true }\n"),
            "1:a=1 3:b.c=2s 4:b.d.e=true"
        );
        assert_eq!(told("b.c: 2s\n"), "1:b.c=2s");
        assert_eq!(told(""), "");
        assert_eq!(
            told("a:\nb: {}\nc: { d: }"),
            "1:a=nothing 2:b=nothing 3:c.d=nothing"
        );
        assert_eq!(told("ring: { buckets: [a, b] }"), "1:ring.buckets=[a, b]");
        assert_eq!(
            told("ring:\n  slots: { owners: { 0-9: a } }"),
            "2:ring.slots={ owners: { 0-9: a } }"
        );
        assert!(entries("a: [").unwrap_err().line.is_some());
        assert!(entries("3").is_err());
    }
}
