//! The form of `docker-compose.yml`, which no Docker engine checks here: what is pinned, closed, waited for and seeded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{root, text};

/// The registries: names of their services, and of what seeds them.
const REGISTRIES: [&str; 3] = ["consul", "etcd", "nacos"];

fn services() -> BTreeMap<String, Value> {
    let file: Value = serde_saphyr::from_str(&text("docker-compose.yml")).unwrap();
    let services = file["services"].as_object().unwrap();
    services.clone().into_iter().collect()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|item| item.as_str().unwrap())
        .collect()
}

fn is_seed(name: &str) -> bool {
    name.starts_with("seed-")
}

/// Whether a tag names one release: three numbers, or a day.
fn is_exact(image: &str) -> bool {
    let Some((_, tag)) = image.rsplit_once(':') else {
        return false;
    };
    tag.split('-').any(|part| {
        let numbers: Vec<&str> = part.trim_start_matches('v').split('.').collect();
        let numeric = numbers
            .iter()
            .all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        numeric && (numbers.len() == 3 || numbers[0].len() == 8)
    })
}

#[test]
fn only_tags_of_one_release_count_as_exact() {
    for exact in [
        "a/b:1.2.3",
        "q.io/c:v3.5.21",
        "rust:1.89.0-slim-bookworm",
        "d:bookworm-20250811-slim",
    ] {
        assert!(is_exact(exact), "{exact}");
    }
    for open in [
        "a/b",
        "a/b:latest",
        "a:1",
        "a:1.2",
        "a:v2.4",
        "a:1.2-slim",
        "a:bookworm-slim",
        "a:1..3",
    ] {
        assert!(!is_exact(open), "{open}");
    }
}

#[test]
fn every_image_is_pinned_to_one_release() {
    for (name, service) in services() {
        let image = service["image"].as_str().unwrap();
        // What is built here has no release.
        if service["build"].is_null() {
            assert!(is_exact(image), "{name}: {image}");
        }
    }
    let dockerfile = text("docker/echo.Dockerfile");
    let bases: Vec<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("FROM ")?.split(' ').next())
        .collect();
    assert_eq!(bases.len(), 2);
    for base in &bases {
        assert!(is_exact(base), "{base}");
    }
    // It must be able to build what is here.
    let manifest = text("Cargo.toml");
    let oldest = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .unwrap();
    assert!(
        bases[0].starts_with(&format!("rust:{oldest}.")),
        "{} and {oldest}",
        bases[0]
    );
}

#[test]
fn every_port_is_published_on_loopback_only() {
    let mut published = BTreeSet::new();
    for (name, service) in services() {
        assert!(service["network_mode"].is_null(), "{name}");
        for port in texts(&service["ports"]) {
            let parts: Vec<&str> = port.split(':').collect();
            assert!(
                matches!(parts[..], ["127.0.0.1", _, _]),
                "{name} publishes {port}"
            );
            assert!(published.insert(parts[1].to_owned()), "{port} twice");
        }
    }
    // Those that tests/registries/up uses, and those that the guides name.
    for port in [
        "8500", "8848", "9848", "2379", "50051", "50054", "9090", "3000",
    ] {
        assert!(published.contains(port), "{port}");
    }
}

#[test]
fn whoever_waits_waits_for_something_that_can_come() {
    let services = services();
    for (name, service) in &services {
        assert_eq!(
            service["healthcheck"]["test"].is_null(),
            is_seed(name),
            "{name}: servers have a health check, and what ends by itself has none"
        );
        for (other, wait) in service["depends_on"].as_object().into_iter().flatten() {
            let awaited = services.get(other);
            assert!(awaited.is_some(), "{name} waits for {other}");
            let expected = if is_seed(other) {
                "service_completed_successfully"
            } else {
                "service_healthy"
            };
            assert_eq!(wait["condition"], expected, "{name} waits for {other}");
        }
    }
}

#[test]
fn every_registry_refuses_strangers_and_is_seeded_by_the_scripts_that_are_tested() {
    let services = services();
    assert_eq!(
        services["nacos"]["environment"]["NACOS_AUTH_ENABLE"],
        "true"
    );
    let acl = text("tests/registries/consul.hcl");
    let acl: Vec<&str> = acl.split_whitespace().collect();
    assert!(
        acl.windows(3)
            .any(|words| words == ["enabled", "=", "true"])
    );
    assert!(
        acl.windows(3)
            .any(|words| words == ["default_policy", "=", "\"deny\""])
    );
    assert!(texts(&services["consul"]["command"]).contains(&"-config-file=/ringfence/consul.hcl"));

    for registry in REGISTRIES {
        let seed = &services[&format!("seed-{registry}")];
        let entrypoint = texts(&seed["entrypoint"]);
        assert_eq!(entrypoint[..2], ["sh", &format!("/seed/{registry}")]);
        let address = entrypoint[2].strip_prefix("http://").unwrap();
        let published = texts(&services[registry]["ports"]);
        let port = address.strip_prefix(&format!("{registry}:")).unwrap();
        assert!(published[0].ends_with(&format!(":{port}")), "{address}");
        assert_eq!(entrypoint[3], "/credentials");
        assert!(!seed["depends_on"][registry].is_null());
    }
}

#[test]
fn what_is_mounted_is_there() {
    let root = root();
    let file: Value = serde_saphyr::from_str(&text("docker-compose.yml")).unwrap();
    for (name, service) in services() {
        for mount in texts(&service["volumes"]) {
            let source = mount.split(':').next().unwrap();
            match source.strip_prefix("./") {
                Some(path) => assert!(root.join(path).exists(), "{name}: {source}"),
                None => assert!(
                    file["volumes"].get(source).is_some(),
                    "{name}: no volume {source}"
                ),
            }
        }
    }
}

#[test]
fn four_echo_servers_register_themselves_with_all_registries() {
    let entrypoint = text("docker/echo.Dockerfile");
    assert!(entrypoint.contains(r#""--register", "consul,nacos,etcd""#));
    let services = services();
    let echo: Vec<_> = services
        .iter()
        .filter(|(name, _)| name.starts_with("echo-"))
        .collect();
    assert_eq!(echo.len(), 4);
    for (name, service) in echo {
        let command = texts(&service["command"]);
        let flag = |flag: &str| {
            let at = command.iter().position(|word| *word == flag);
            at.and_then(|at| command.get(at + 1)).copied()
        };
        assert_eq!(flag("--id"), Some(name.as_str()));
        // Clients on this machine dial what is published.
        let port = texts(&service["ports"])[0].rsplit_once(':').unwrap();
        assert_eq!(flag("--advertise"), Some(port.0), "{name}");
        assert_eq!(port.1, "50051", "{name}");
        for registry in REGISTRIES {
            assert!(
                !service["depends_on"][format!("seed-{registry}")].is_null(),
                "{name} starts before {registry} has its credentials"
            );
        }
    }
}

#[test]
fn no_secret_is_written_down() {
    for (name, service) in services() {
        for variable in service["environment"].as_object().into_iter().flatten() {
            let (key, value) = variable;
            let secret = ["TOKEN", "PASSWORD", "SECRET", "KEY", "IDENTITY"]
                .iter()
                .any(|word| key.contains(word));
            // The name of a file that has it is none.
            let named = key.ends_with("__FILE") && value.as_str().unwrap().starts_with('/');
            assert!(!secret || named, "{name}: {key} is {value}");
        }
    }
    // The keys that Nacos needs at its start are drawn there.
    let start = text("docker/nacos-start");
    assert_eq!(start.matches("\"$(random ").count(), 2);
}
