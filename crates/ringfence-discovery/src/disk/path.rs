//! Names of files, made of names that may hold anything.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::ServiceKey;

/// Longest part of a name. Two of them and the ends fit into the 255 bytes of most file systems.
const MAX_PART: usize = 100;

/// The folder of a registry's copies.
pub(super) fn folder(dir: &Path, registry: &str) -> PathBuf {
    // Of no name it would be the folder above.
    dir.join(format!("{}@", part(registry)))
}

/// The copy of a service in there. A process of a version with another format leaves it alone.
pub(super) fn file(folder: &Path, service: &ServiceKey) -> PathBuf {
    let namespace = part(service.namespace().unwrap_or_default());
    folder.join(format!("{}@{namespace}.v1", part(service.name())))
}

/// Different for different texts, also without regard to case, and without `.`, `/` and `@`.
fn part(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02x}")),
        }
    }
    if encoded.len() > MAX_PART {
        let digest = format!("~{:016x}", xxh3_64(text.as_bytes()));
        encoded.truncate(MAX_PART - digest.len());
        encoded.push_str(&digest);
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn path(registry: &str, service: &ServiceKey) -> String {
        let path = file(&folder(Path::new("d"), registry), service);
        path.to_str().expect("text").to_owned()
    }

    #[test]
    fn hostile_names_stay_in_the_folder() {
        let hostile = ServiceKey::new("a@@b/../c");
        assert_eq!(path("x", &hostile), "d/x@/a%40%40b%2f%2e%2e%2fc@.v1");
        assert_eq!(path("..", &ServiceKey::new("..")), "d/%2e%2e@/%2e%2e@.v1");
        assert_eq!(path("", &ServiceKey::new("")), "d/@/@.v1");
        let spaced = ServiceKey::new("order").with_namespace("Prod");
        assert_eq!(path("consul", &spaced), "d/consul@/order@%50rod.v1");
    }

    #[test]
    fn names_that_are_easily_mixed_up_have_files_of_their_own() {
        let long = "x".repeat(5_000);
        let services = [
            ServiceKey::new("order"),
            ServiceKey::new("Order"),
            ServiceKey::new("prod/order"),
            ServiceKey::new("order").with_namespace("prod"),
            ServiceKey::new("prod").with_namespace("order"),
            ServiceKey::new("order@prod"),
            ServiceKey::new("%4frder"),
            ServiceKey::new(&long),
            ServiceKey::new(format!("{long}y")),
            ServiceKey::new(format!("{long}z")),
        ];
        let paths: HashSet<_> = services
            .iter()
            .map(|service| path("r", service).to_lowercase())
            .collect();
        assert_eq!(paths.len(), services.len());
    }

    proptest! {
        #[test]
        fn any_name_is_one_short_plain_part(one in ".{0,300}", other in ".{0,300}") {
            let (a, b) = (part(&one), part(&other));
            prop_assert!(a.len() <= MAX_PART);
            prop_assert!(a.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_%~".contains(&byte)));
            prop_assert_eq!(a == b, one == other);
        }
    }
}
