//! Where in a text a part of the document stands.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Location, Spanned};

/// A document as a tree of places.
#[derive(Debug)]
pub(super) enum Tree {
    Leaf,
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

/// Line and column, from 1.
pub(super) type Place = (u64, u64);

impl Tree {
    /// The place of the part that a path such as `rules[0].key` leads to, or of the last part on the way that there is.
    pub(super) fn place_of(&self, path: &str) -> Option<Place> {
        let mut place = None;
        let mut tree = self;
        let mut rest = path;
        while !rest.is_empty() {
            let next = match tree {
                Self::Leaf => None,
                Self::List(items) => rest.strip_prefix('[').and_then(|index| {
                    let (index, rest) = index.split_once(']')?;
                    let item = items.get(index.parse::<usize>().ok()?)?;
                    Some((place_at(&item.referenced), &item.value, rest))
                }),
                // Names can have dots in them.
                Self::Map(entries) => entries
                    .iter()
                    .filter_map(|(name, value)| {
                        let rest = rest.strip_prefix(&*name.value)?;
                        (rest.is_empty() || rest.starts_with(['.', '[']))
                            .then_some((name, value, rest))
                    })
                    .max_by_key(|(name, ..)| name.value.len())
                    .map(|(name, value, rest)| (place_at(&name.referenced), &value.value, rest)),
            };
            let Some((found, below, left)) = next else {
                break;
            };
            place = found.or(place);
            tree = below;
            rest = left.strip_prefix('.').unwrap_or(left);
        }
        place
    }

    /// The path to the part at a place, or to the one that this place lies in.
    pub(super) fn path_of(&self, place: Place) -> String {
        let mut path = String::new();
        let mut tree = self;
        loop {
            let parts: Vec<(Option<Place>, String, &Self)> = match tree {
                Self::Leaf => break,
                Self::List(items) => (0_usize..)
                    .zip(items)
                    .map(|(i, item)| (place_at(&item.referenced), format!("[{i}]"), &item.value))
                    .collect(),
                Self::Map(entries) => entries
                    .iter()
                    .map(|(name, value)| {
                        let dot = if path.is_empty() { "" } else { "." };
                        (
                            place_at(&name.referenced),
                            format!("{dot}{}", name.value),
                            &value.value,
                        )
                    })
                    .collect(),
            };
            let before =
                |part: &&(Option<Place>, String, &Self)| part.0.is_some_and(|at| at <= place);
            let Some((at, step, below)) = parts.iter().rfind(before) else {
                break;
            };
            path.push_str(step);
            tree = below;
            if *at == Some(place) && matches!(below, Self::Leaf) {
                break;
            }
        }
        path
    }
}

fn place_at(location: &Location) -> Option<Place> {
    (location.line() > 0).then(|| (location.line(), location.column()))
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
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, data: A) -> Result<Tree, A::Error> {
        let (IgnoredAny, _) = data.variant()?;
        Ok(Tree::Leaf)
    }
}
