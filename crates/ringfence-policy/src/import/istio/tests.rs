use super::*;
use crate::{PolicyContext, RingAlgorithm};

fn rule(hash: &str) -> String {
    format!(
        "kind: DestinationRule\nspec:\n  host: h\n  trafficPolicy:\n    tls: {{}}\n    loadBalancer:\n      consistentHash:\n{}",
        hash.lines()
            .map(|line| format!("        {line}\n"))
            .collect::<String>()
    )
}

#[test]
fn each_source_of_the_key() {
    for (hash, from, notes) in [
        (
            "httpHeaderName: x-user",
            KeyFrom::Header("x-user".into()),
            0,
        ),
        (
            "httpCookie: { name: sid, ttl: 0s }",
            KeyFrom::Cookie("sid".into()),
            1,
        ),
        ("useSourceIp: true", KeyFrom::Peer, 0),
        (
            "httpQueryParameterName: user",
            KeyFrom::Query("user".into()),
            0,
        ),
        (
            "httpHeaderName: x\nmaglev: { tableSize: 65537 }",
            KeyFrom::Header("x".into()),
            0,
        ),
    ] {
        let import = istio_destination_rule(&rule(hash)).expect(hash);
        assert_eq!(import.rule.key, [KeySource::from(from)], "{hash}");
        assert_eq!(import.notes.len(), notes, "{hash} {:?}", import.notes);
        assert_eq!(import.host.as_deref(), Some("h"));
    }
}

#[test]
fn a_switch_that_is_off_is_no_source() {
    let import = istio_destination_rule(&rule("useSourceIp: false")).expect("legal");
    assert_eq!((import.rule.key.len(), import.notes.len()), (0, 1));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    for (hash, path, line) in [
        ("httpHeaderName: x\nuseSourceIp: true", "useSourceIp", 9),
        (
            "httpCookie: { name: a }\nhttpQueryParameterName: b",
            "httpQueryParameterName",
            9,
        ),
        ("ringHash: {}\nmaglev: {}", "maglev", 9),
        (
            "ringHash:\n  minimumRingSize: 0",
            "ringHash.minimumRingSize",
            9,
        ),
        ("minimumRingSize: many", "minimumRingSize", 8),
        ("minimumRingSize: 8388609", "minimumRingSize", 8),
        ("maglev: { tableSize: 65536 }", "maglev.tableSize", 8),
        ("maglev:\n  tableSize: 5000077", "maglev.tableSize", 9),
        ("httpHeader: x", "httpHeader", 8),
    ] {
        let error = istio_destination_rule(&rule(hash)).expect_err(hash);
        assert_eq!(error.path(), format!("{HASH}.{path}"), "{hash}: {error}");
        assert_eq!(error.line(), Some(line), "{hash}: {error}");
    }
    let error = istio_destination_rule("kind: Gateway\nspec: {}").expect_err("another kind");
    assert_eq!(
        error.to_string(),
        "kind at line 1, column 1: `Gateway` is no DestinationRule"
    );
}

#[test]
fn a_size_that_cannot_be_is_told_what_is_allowed() {
    for (hash, told) in [
        (
            "minimumRingSize: many",
            "\"many\" is out of range, allowed is 1..=8388608",
        ),
        (
            "ringHash: { minimumRingSize: -1 }",
            "-1 is out of range, allowed is 1..=8388608",
        ),
        (
            "ringHash: { minimumRingSize: 4294967296 }",
            "4294967296 is out of range, allowed is 1..=8388608",
        ),
        (
            "maglev: { tableSize: 4294967311 }",
            "4294967311 is out of range, allowed is a prime number in 2..=5000011",
        ),
    ] {
        let error = istio_destination_rule(&rule(hash)).expect_err(hash);
        assert_eq!(error.reason(), told, "{hash}");
    }
}

#[test]
fn the_ring_size_may_be_a_text() {
    let import =
        istio_destination_rule(&rule("ringHash: { minimumRingSize: \"1024\" }")).expect("legal");
    assert_eq!(import.minimum_ring_size, Some(1_024));
    assert_eq!(import.points_per_instance(NonZeroU32::MIN), Some(1_024));
}

/// What the mesh's Envoys do can be done here too.
#[test]
fn the_mapping_of_the_mesh_is_a_section_of_a_document() {
    let plain = RingSettings::of(RingAlgorithm::EnvoyRing);
    let sized = RingSettings {
        min_ring_size: Some(2_048),
        ..plain.clone()
    };
    let maglev = RingSettings::of(RingAlgorithm::Maglev);
    let small = RingSettings {
        table_size: Some(251),
        ..maglev.clone()
    };
    for (hash, ring) in [
        ("httpHeaderName: x", plain.clone()),
        ("httpHeaderName: x\nringHash: {}", plain),
        (
            "httpHeaderName: x\nringHash: { minimumRingSize: 2048 }",
            sized.clone(),
        ),
        ("httpHeaderName: x\nminimumRingSize: 2048", sized),
        ("httpHeaderName: x\nmaglev: {}", maglev),
        ("httpHeaderName: x\nmaglev: { tableSize: \"251\" }", small),
    ] {
        let import = istio_destination_rule(&rule(hash)).expect(hash);
        assert_eq!(import.ring, ring, "{hash}");
        let document = PolicyDocument::default()
            .with_ring(import.ring)
            .with_rule(import.rule);
        assert!(document.compile(&PolicyContext::new()).is_ok(), "{hash}");
    }
}

#[test]
fn what_is_beside_the_hash_is_noted_and_the_hash_of_a_port_is_refused_with_its_place() {
    let rule = |policy: &str| {
        istio_destination_rule(&format!(
            "kind: DestinationRule\nspec:\n  trafficPolicy:\n{policy}"
        ))
    };
    let hash = "consistentHash: { httpHeaderName: x-user }";
    let import = rule(&format!(
        "    loadBalancer: {{ {hash}, localityLbSetting: {{ enabled: true }} }}
    outlierDetection: {{ consecutive5xxErrors: 7 }}
    connectionPool: {{ tcp: {{ maxConnections: 100 }} }}
    portLevelSettings: [{{ port: {{ number: 80 }}, loadBalancer: {{ simple: RANDOM }} }}]
"
    ))
    .expect("legal");
    assert_eq!(import.rule.key, [KeySource::header("x-user")]);
    for part in [
        "portLevelSettings",
        "outlierDetection",
        "connectionPool",
        "loadBalancer.localityLbSetting",
    ] {
        let start = format!("spec.trafficPolicy.{part} is not read: ");
        let told = import.notes.iter().filter(|note| note.starts_with(&start));
        assert_eq!(told.count(), 1, "{part}: {:?}", import.notes);
    }
    assert_eq!(import.notes.len(), 4, "{:?}", import.notes);

    let error = rule(&format!(
        "    portLevelSettings:\n      - port: {{ number: 80 }}\n      - {{ port: {{ number: 81 }}, loadBalancer: {{ {hash} }} }}\n"
    ))
    .expect_err("of a port");
    assert_eq!(error.path(), "spec.trafficPolicy.portLevelSettings[1]");
    assert_eq!(error.line(), Some(6), "{error}");
    assert!(error.reason().contains("for one port"), "{error}");
    let error = rule("    loadBalancer: { simple: RANDOM }\n").expect_err("no hash");
    assert!(
        error
            .reason()
            .contains("it has no loadBalancer.consistentHash"),
        "{error}"
    );
}

#[test]
fn what_is_imported_can_be_compiled_whatever_its_name() {
    for name in ["ratings", "default", " "] {
        let text = format!(
            "metadata: {{ name: '{name}' }}\n{}",
            rule("httpHeaderName: x-user")
        );
        let import = istio_destination_rule(&text).expect("legal");
        let document = PolicyDocument::default().with_rule(import.rule);
        document.compile(&PolicyContext::new()).expect(name);
    }
}

#[test]
fn settings_of_single_ports_are_not_passed_over_in_silence() {
    let ports =
        "    portLevelSettings: [{ port: { number: 80 }, loadBalancer: { simple: RANDOM } }]\n";
    let text = format!("{}{ports}", rule("httpHeaderName: x-user"));
    let import = istio_destination_rule(&text).expect("legal");
    assert!(
        import.notes[0].contains("portLevelSettings"),
        "{:?}",
        import.notes
    );
}
