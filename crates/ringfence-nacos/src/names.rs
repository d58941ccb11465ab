use crate::NacosConfigError;

/// The group of services that name none.
pub(crate) const DEFAULT_GROUP: &str = "DEFAULT_GROUP";
/// The cluster of instances that name none.
pub(crate) const DEFAULT_CLUSTER: &str = "DEFAULT";
/// The namespace that servers know by two names, this one and the empty one.
pub(crate) const PUBLIC: &str = "public";

const EXPECTED: &str = "1 to 128 letters, digits, `_`, `.`, `:` or `-`, and neither `.` nor `..`";
const EXPECTED_SERVICE: &str = "1 to 200 letters, digits, `_`, `.`, `:`, `$` or `-`";

// The client library makes file names and keys of these names: a `/` or `..` would leave its folder, and `@@` would join
// two keys into one. So the sets are closed, and what the server would take beyond them is refused here.

pub(crate) fn check(field: &'static str, name: &str) -> Result<(), NacosConfigError> {
    let legal = !matches!(name, "" | "." | "..")
        && name.len() <= 128
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b));
    if legal {
        return Ok(());
    }
    Err(NacosConfigError::new(field, EXPECTED))
}

/// Service names may also hold `$`, since dubbo registers Java's inner interfaces.
pub(crate) fn check_service(name: &str) -> Result<(), NacosConfigError> {
    let legal = !matches!(name, "" | "." | "..")
        && name.len() <= 200
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.:$-".contains(&b));
    if legal {
        return Ok(());
    }
    Err(NacosConfigError::new("service name", EXPECTED_SERVICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_leave_a_folder_or_join_keys_are_refused() {
        for bad in [
            "", ".", "..", "../esc", "/abs", "a/b", "a\\b", "a@@b", "a@b", "a b", "ü", "a\n",
            "a%2Fb", "a,b", "a;b", "\0",
        ] {
            assert!(check("group", bad).is_err(), "{bad:?}");
            assert!(check_service(bad).is_err(), "{bad:?}");
        }
        assert!(check("group", &"x".repeat(129)).is_err());
        assert!(check_service(&"x".repeat(201)).is_err());
    }

    #[test]
    fn names_that_frameworks_register_are_legal() {
        for good in [
            "order",
            "order.grpc",
            "providers:com.acme.Orders$Inner:1.0.0:",
            "a..b",
            "0",
        ] {
            assert!(check_service(good).is_ok(), "{good:?}");
        }
        assert!(check("group", "DEFAULT_GROUP").is_ok());
        assert!(check("namespace", "c7ba173f-29e5-4c58-ae78-b102be11c4f9").is_ok());
    }
}
