use super::*;

fn fault(text: &str) -> String {
    parse_instances_file(text).expect_err("a fault").to_string()
}

fn rejects(records: &str) -> Vec<String> {
    let text = format!("services:\n  order:\n{records}");
    let file = parse_instances_file(&text).expect("a document");
    let rejected = file.services()[0].rejected().iter();
    rejected.map(ToString::to_string).collect()
}

#[test]
fn every_field_is_read_and_texts_keep_their_spelling() {
    let text = "
services:
  order:
    - id: 007
      address: '[::1]:8080'
      scheme: https
      weight: 0
      version: 1.10
      region: eu
      zone: no
      tags: {tenant: acme, replicas: 3, ratio: 1.50, canary: true, none: ~}
      enabled: false
      healthy: False
";
    let file = parse_instances_file(text).expect("legal");
    let expected = Instance::builder("007", "[::1]:8080")
        .scheme(Scheme::Https)
        .weight(0)
        .version("1.10")
        .region("eu")
        .zone("no")
        .tenant("acme")
        .tag("replicas", "3")
        .tag("ratio", "1.50")
        .tag("canary", "true")
        .enabled(false)
        .healthy(false)
        .build()
        .expect("legal");
    assert_eq!(file.services()[0].instances(), [expected]);
    assert_eq!(file.services()[0].line(), 3);
}

#[test]
fn services_and_instances_keep_the_order_of_the_file() {
    let text = "services: {z: [{id: b, address: 'h:1'}, {id: a, address: 'h:2'}], a: [], m: []}";
    let file = parse_instances_file(text).expect("legal");
    let names: Vec<&str> = file.services().iter().map(FileService::name).collect();
    assert_eq!(names, ["z", "a", "m"]);
    let z = file.service("z").expect("there");
    let ids: Vec<&str> = z.instances().iter().map(|i| i.id().as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    assert_eq!(z.snapshot().instances()[0].id().as_str(), "a");
    assert!(file.service("q").is_none());
}

#[test]
fn json_is_read_with_tabs_and_escapes() {
    let text = "{\n\t\"services\": {\n\t\t\"order\": [\n\t\t\t{\"id\": \"a\\/1\", \"address\": \"h:1\",\n\t\t\t \"weight\": 5, \"healthy\": null, \"tags\": {\"x\": \"\\ud83d\\ude00\", \"y\": true}}\n\t\t]\n\t}\n}\r\n";
    let file = parse_instances_file(text).expect("legal");
    let instance = &file.services()[0].instances()[0];
    assert_eq!(instance.id().as_str(), "a/1");
    assert_eq!(instance.weight().get(), 5);
    assert_eq!(
        (instance.tag("x"), instance.tag("y")),
        (Some("😀"), Some("true"))
    );
    assert!(instance.is_healthy());
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "
services:
  order:
    - &base {id: a, address: 'h:1', zone: az-1}
    - <<: *base
      id: b
";
    let file = parse_instances_file(text).expect("legal");
    let zones: Vec<_> = file.services()[0]
        .instances()
        .iter()
        .map(Instance::zone)
        .collect();
    assert_eq!(zones, [Some("az-1"), Some("az-1")]);
}

#[test]
fn faults_of_the_document_name_line_and_column() {
    assert_eq!(
        fault("services:\n  order:\n    - id: a\n      adress: h:1\n"),
        "line 4, column 7: unknown field `adress`, did you mean `address`?"
    );
    assert_eq!(
        fault("services:\n  order:\n    - id: a\n      port: 80\n"),
        "line 4, column 7: unknown field `port`, there is: id, address, scheme, weight, version, region, zone, tags, enabled, healthy"
    );
    assert_eq!(
        fault("service: {}\n"),
        "line 1, column 1: unknown field `service`, did you mean `services`?"
    );
    assert_eq!(
        fault("services:\n  order: []\n  order: []\n"),
        "line 3, column 3: `order` is there twice"
    );
    assert_eq!(
        fault("services:\n  order:\n    - id: a\n      id: b\n"),
        "line 4, column 7: `id` is there twice"
    );
    assert_eq!(
        fault("services:\n  order:\n    - id: \"a\n"),
        "line 3, column 11: unclosed quote"
    );
    for (text, line) in [
        ("", 1),
        ("# nothing\n", 2),
        ("null", 1),
        ("[]", 1),
        ("services:\n", 1),
        ("services:\n  order:\n", 2),
        ("services:\n  order: {}\n", 2),
        ("services:\n  order:\n    - hello\n", 3),
        ("services:\n  order:\n    - id: [1]\n", 3),
        ("services:\n\torder: []\n", 2),
        ("services: {}\n---\nservices: {}\n", 2),
        ("services: {order: [{id: a, address: 'h:1'}", 1),
        ("other: 1\n", 1),
    ] {
        let error = parse_instances_file(text).expect_err(text);
        assert!(
            error.line().is_some_and(|l| l.abs_diff(line) <= 1),
            "{text:?} {error}"
        );
        assert!(!error.reason().contains(" at line "), "{error}");
    }
}

#[test]
fn faults_of_a_record_name_its_line_and_spare_the_rest() {
    let records = "
    - {id: good, address: 'h:1'}
    - id: a
      address: 10.0.0.1
    - {id: b, address: 'h:1', weight: 1000001}
    - {id: c, address: 'h:1', weight: -1}
    - {id: '', address: 'h:1'}
    - {address: 'h:1'}
    - {id: d}
    - {id: e, address: 'h:1', enabled: yes}
    - {id: f, address: 'h:1', scheme: ftp}
    - {id: g, address: 'h:1', tags: {'': x}}
    - {id: h, address: 'h:0'}
    - {}
";
    let rejected = rejects(records);
    let expected = [
        "line 6: instance \"a\": `10.0.0.1` is not an address",
        "line 7: instance \"b\": weight `1000001` is no whole number from 0 to 1000000",
        "line 8: instance \"c\": weight `-1` is no whole number from 0 to 1000000",
        "line 9: instance \"\": instance id must be 1 to 255 bytes",
        "line 10: the record has no `id`",
        "line 11: instance \"d\": the record has no `address`",
        "line 12: instance \"e\": enabled is `yes`, expected true or false",
        "line 13: instance \"f\": unknown scheme `ftp`",
        "line 14: instance \"g\": tag `` is empty",
        "line 15: instance \"h\": `h:0` is not an address",
        "line 16: the record has no `id`",
    ];
    assert_eq!(rejected.len(), expected.len(), "{rejected:#?}");
    for (is, should) in rejected.iter().zip(expected) {
        assert!(is.starts_with(should), "{is} / {should}");
    }
}

#[test]
fn of_two_records_with_one_id_the_lower_address_stays_in_its_place() {
    let records = "
    - {id: a, address: '10.0.0.2:80'}
    - {id: b, address: '10.0.0.3:80'}
    - {id: a, address: '10.0.0.1:80'}
    - {id: a, address: '10.0.0.9:80'}
";
    let text = format!("services:\n  order:\n{records}");
    let file = parse_instances_file(&text).expect("a document");
    let order = &file.services()[0];
    let addresses: Vec<_> = order
        .instances()
        .iter()
        .map(|i| i.address().to_string())
        .collect();
    assert_eq!(addresses, ["10.0.0.1:80", "10.0.0.3:80"]);
    let lines: Vec<_> = order.rejected().iter().map(|r| r.line).collect();
    assert_eq!(lines, [Some(4), Some(7)]);
}

#[test]
fn hostile_texts_are_refused_and_not_suffered() {
    let nested = format!("services: {}", "[".repeat(100_000));
    assert!(parse_instances_file(&nested).is_err());
    let mut laughs = "services:\n  a: &a [{id: x, address: 'h:1'}]\n".to_owned();
    for n in 0..40 {
        laughs.push_str(&format!("  b{n}: &b{n} [*a, *a, *a, *a]\n"));
    }
    assert!(parse_instances_file(&laughs).is_err());
    for text in [
        "\u{0}",
        "%YAML 9.9\n---\n",
        "&a *a",
        "!!binary x",
        "? ? ?",
        "services: !x",
    ] {
        assert!(parse_instances_file(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_large_file_is_within_the_readers_limits() {
    let mut text = "services:\n  order:\n".to_owned();
    for n in 0..30_000 {
        let port = n % 60_000 + 1;
        text.push_str(&format!(
            "    - {{id: i{n}, address: 'h:{port}', tags: {{a: b}}}}\n"
        ));
    }
    let file = parse_instances_file(&text).expect("legal");
    assert_eq!(file.services()[0].instances().len(), 30_000);
}

#[test]
fn a_complaint_about_an_alias_is_not_cut_in_two() {
    let text = "services:\n  order:\n    - {id: &x a, address: 'h:1', tags: *x}\n";
    let fault = fault(text);
    assert!(fault.starts_with("line 3, "), "{fault}");
    assert!(
        !fault.contains('(') && !fault.contains(" at line"),
        "{fault}"
    );
}
