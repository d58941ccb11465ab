use ringfence_core::{Health, Scheme};

use super::*;

fn config() -> ConsulConfig {
    ConsulConfig::new("http://127.0.0.1:8500")
}

fn read_with(config: &ConsulConfig, records: &[&str]) -> (Vec<Instance>, Vec<String>) {
    let body = format!("[{}]", records.join(","));
    let parsed = parse(body.as_bytes(), config).expect("a list");
    let reasons = parsed.rejected.iter().map(ToString::to_string).collect();
    (parsed.instances, reasons)
}

fn read(record: &str) -> Instance {
    let (mut instances, rejected) = read_with(&config(), &[record]);
    assert_eq!(rejected, Vec::<String>::new());
    instances.pop().expect("one")
}

/// A record with these fields of the service and these checks.
fn record(service: &str, checks: &str) -> String {
    format!(
        r#"{{"Node":{{"ID":"x","Node":"n1","Address":"10.0.0.9","Datacenter":"dc1","TaggedAddresses":null}},
            "Service":{{"ID":"s-1","Service":"s","TaggedAddresses":{{"lan_ipv4":{{"Address":"1.2.3.4","Port":1}}}},{service}}},
            "Checks":[{checks}],"Unknown":{{}}}}"#
    )
}

#[test]
fn fields_are_read_and_what_is_null_or_missing_is_absent() {
    let full = read(&record(
        r#""Address":"10.0.0.1","Port":80,"Tags":["version=v1","lane=blue","primary"],
           "Meta":{"zone":"az-1","region":"eu","tenant":"acme","secure":"true","weight":"33"}"#,
        "",
    ));
    assert_eq!(full.id().as_str(), "dc1/n1/s-1");
    assert_eq!(full.address().to_string(), "10.0.0.1:80");
    assert_eq!(full.scheme(), Scheme::Https);
    assert_eq!(
        (full.version(), full.zone(), full.region(), full.tenant()),
        (Some("v1"), Some("az-1"), Some("eu"), Some("acme"))
    );
    assert_eq!(full.weight().get(), 33);
    assert_eq!(
        (full.tag("lane"), full.tag("primary")),
        (Some("blue"), Some("true"))
    );
    let bare = read(
        r#"{"Node":{"Node":"n1","Address":"10.0.0.9"},
            "Service":{"ID":"s-1","Port":80,"Tags":null,"Meta":null,"Weights":null},"Checks":null}"#,
    );
    assert_eq!(bare.id().as_str(), "/n1/s-1");
    assert_eq!(bare.weight().get(), 100);
    assert!(bare.is_healthy() && bare.is_enabled());
}

#[test]
fn the_node_stands_in_for_an_empty_address_and_v6_gets_brackets() {
    for (address, expected) in [
        ("", "10.0.0.9:80"),
        (" ", "10.0.0.9:80"),
        ("::1", "[::1]:80"),
        ("[::1]", "[::1]:80"),
        ("Orders.internal", "orders.internal:80"),
    ] {
        let service = format!(r#""Address":"{address}","Port":80"#);
        assert_eq!(
            read(&record(&service, "")).address().to_string(),
            expected,
            "{address:?}"
        );
    }
}

#[test]
fn the_worst_check_of_service_and_node_decides() {
    let check = |status: &str| format!(r#"{{"CheckID":"c","Status":"{status}"}}"#);
    let service = r#""Port":80,"Weights":{"Passing":3,"Warning":2}"#;
    let judge = |config: &ConsulConfig, statuses: &[&str]| {
        let checks: Vec<String> = statuses.iter().map(|status| check(status)).collect();
        let (instances, _) = read_with(config, &[&record(service, &checks.join(","))]);
        let instance = instances.first().expect("one");
        assert!(instance.is_enabled());
        (instance.health(), instance.weight().get())
    };
    let (lenient, strict) = (config(), config().with_warning(WarningPolicy::Unhealthy));
    for (statuses, expected, when_strict) in [
        (&[][..], (Health::Healthy, 300), (Health::Healthy, 300)),
        (
            &["passing", "passing"],
            (Health::Healthy, 300),
            (Health::Healthy, 300),
        ),
        (
            &["passing", "warning"],
            (Health::Healthy, 200),
            (Health::Unhealthy, 300),
        ),
        (
            &["warning", "critical"],
            (Health::Unhealthy, 300),
            (Health::Unhealthy, 300),
        ),
        (
            &["critical", "passing"],
            (Health::Unhealthy, 300),
            (Health::Unhealthy, 300),
        ),
        (
            &["passing", "on fire"],
            (Health::Unhealthy, 300),
            (Health::Unhealthy, 300),
        ),
        (&[""], (Health::Unhealthy, 300), (Health::Unhealthy, 300)),
    ] {
        assert_eq!(judge(&lenient, statuses), expected, "{statuses:?}");
        assert_eq!(
            judge(&strict, statuses),
            when_strict,
            "{statuses:?}, strict"
        );
    }
}

#[test]
fn a_warning_weight_of_zero_drains_and_maintenance_disables() {
    let warned = read(&record(
        r#""Port":80,"Weights":{"Passing":1,"Warning":0}"#,
        r#"{"CheckID":"c","Status":"warning"}"#,
    ));
    assert!(warned.is_healthy() && !warned.takes_traffic());
    for id in ["_service_maintenance:s-1", "_node_maintenance"] {
        let check = format!(r#"{{"CheckID":"{id}","Status":"critical"}}"#);
        let drained = read(&record(r#""Port":80"#, &check));
        assert!(!drained.is_enabled() && !drained.is_healthy(), "{id}");
    }
}

#[test]
fn identities_are_distinct_or_the_service_id() {
    assert_eq!(qualified("a/b", "c%", "d/e"), "a%2Fb/c%25/d/e");
    assert_ne!(qualified("a", "b/c", "d"), qualified("a", "b", "c/d"));
    let plain = config().with_identity(InstanceIdentity::ServiceId);
    let (instances, _) = read_with(&plain, &[&record(r#""Port":80"#, "")]);
    assert_eq!(instances.first().map(|i| i.id().as_str()), Some("s-1"));
}

#[test]
fn bad_records_are_left_out_with_a_reason_and_the_rest_is_used() {
    let huge = "x".repeat(1 << 20);
    let (records, words): (Vec<String>, Vec<&str>) = [
        (record(r#""Port":70000"#, ""), "70000"),
        (record(r#""Port":0"#, ""), "address"),
        (record(r#""Port":-1"#, ""), "address"),
        (record(r#""Port":99999999999999999999"#, ""), "invalid"),
        (record(r#""Port":"80""#, ""), "invalid type"),
        (record(r#""Port":80,"Address":"no host""#, ""), "address"),
        (
            record(r#""Port":80,"Weights":{"Passing":NaN,"Warning":1}"#, ""),
            "expected",
        ),
        (
            record(r#""Port":80,"Weights":{"Passing":1e999,"Warning":1}"#, ""),
            "number",
        ),
        (
            record(r#""Port":80,"Weights":{"Passing":-1,"Warning":1}"#, ""),
            "weight",
        ),
        (record(r#""Port":80,"Meta":{"weight":"NaN"}"#, ""), "weight"),
        (
            record(r#""Port":80,"Meta":{"weight":{}}"#, ""),
            "invalid type",
        ),
        (
            record(&format!(r#""Port":80,"Meta":{{"version":"{huge}"}}"#), ""),
            "version",
        ),
        (record(r#""Port":80,"Meta":{"a":"\ud800"}"#, ""), "hex"),
        (r#"{"Node":{},"Service":{}}"#.into(), "missing field"),
        ("7".into(), "invalid type"),
        ("null".into(), "invalid type"),
        (String::new(), "EOF"),
        (
            record(r#""Port":80"#, "").replace("\"s-1\"", "\"\""),
            "no service id",
        ),
        (
            record(r#""Port":80"#, "").replace("s-1", &huge),
            "id must be",
        ),
    ]
    .into_iter()
    .unzip();
    let good = record(&format!(r#""Port":80,"Meta":{{"note":"{huge}"}}"#), "");
    let mut all: Vec<&str> = records.iter().map(String::as_str).collect();
    all.insert(3, &good);
    let (instances, reasons) = read_with(&config(), &all);
    assert_eq!(instances.len(), 1, "{reasons:?}");
    assert_eq!(reasons.len(), words.len());
    for (reason, word) in reasons.iter().zip(words) {
        assert!(reason.contains(word), "{word:?} is not in {reason:?}");
        assert!(reason.len() < 600, "{} bytes", reason.len());
    }
}

#[test]
fn bytes_that_are_no_text_spoil_their_record_alone() {
    let good = record(r#""Port":80"#, "");
    let mut body = format!(r#"[{good},{{"Node":{{"Node":"?"}}}}]"#).into_bytes();
    let at = body.iter().position(|b| *b == b'?').expect("there");
    body[at] = 0xff;
    let parsed = parse(&body, &config()).expect("a list");
    assert_eq!((parsed.instances.len(), parsed.rejected.len()), (1, 1));
}

#[test]
fn a_list_without_one_readable_record_is_no_list() {
    let error = parse(br#"[{"name":"a"},{"name":"b"}]"#, &config()).expect_err("foreign");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    // A registry that holds nothing but nonsense says so, record by record.
    let (instances, reasons) = read_with(&config(), &[&record(r#""Port":0"#, "")]);
    assert_eq!((instances.len(), reasons.len()), (0, 1));
    assert_eq!(read_with(&config(), &[]).0.len(), 0);
}

#[test]
fn metadata_that_is_left_out_or_cut_is_counted() {
    let huge = "x".repeat(1 << 20);
    let meta = format!(r#""Port":80,"Meta":{{"note":"{huge}","a\u0007b":"c","lane":"blue"}}"#);
    let body = format!("[{},{}]", record(&meta, ""), record(r#""Port":81"#, ""));
    let parsed = parse(body.as_bytes(), &config()).expect("a list");
    assert_eq!((parsed.instances.len(), parsed.altered), (2, 2));
}
