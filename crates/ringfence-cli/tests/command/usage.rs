//! Wrong usages and inputs: one line that says where and why, and exit code 2.

use crate::support::*;

const ROUTE: &str = "route --instances fleet.yaml --keys keys.txt";

#[test]
fn faults_of_the_instances_have_a_file_and_a_line() {
    let folder = Folder::with_orders();
    let fault = |text: &str| {
        folder.write("fleet.yaml", text);
        folder.run(ROUTE).fault()
    };
    let cases = [
        (
            "services:\n  order:\n    - { id: a, adress: h:80 }\n",
            "fleet.yaml:3: unknown field `adress`, did you mean `address`?",
        ),
        (
            "services:\n  order:\n    - { id: a, address: h:80 }\n    - { id: b, address: h }\n",
            "fleet.yaml:4: instance `b`: ",
        ),
        (
            "services:\n  order:\n    - id: a\n      address: h:80\n      weight: -1\n",
            "fleet.yaml:5: instance `a`: weight `-1` is no whole number",
        ),
        (
            "services:\n  order:\n    - { id: a, address: h:80, weight: 0 }\n",
            "fleet.yaml: no instance takes traffic",
        ),
        (
            "services:\n  order: []\n",
            "fleet.yaml: no instance takes traffic",
        ),
        ("services: {}\n", "fleet.yaml: the file has no service"),
        (
            "services:\n  \"a\\e[2J\": []\n  b: []\n",
            "fleet.yaml: several services, choose one with --service: a\\u{1b}[2J, b",
        ),
        (
            "services:\n  a: []\n  b: []\n",
            "fleet.yaml: several services, choose one with --service: a, b",
        ),
    ];
    for (text, told) in cases {
        let fault = fault(text);
        assert!(fault.starts_with(told), "{fault}");
    }
    folder.write("fleet.yaml", b"services:\n  \xff: []\n");
    assert_eq!(folder.run(ROUTE).fault(), "fleet.yaml:2: not UTF-8");
}

#[test]
fn a_service_is_chosen_by_its_name() {
    let folder = Folder::with_orders();
    let (a, b) = (
        "a: [{ id: a, address: h:80 }]",
        "b: [{ id: b, address: h:80 }]",
    );
    folder.write("fleet.yaml", format!("services:\n  {a}\n  {b}\n"));
    folder.write("keys.txt", "k");
    assert_eq!(
        folder.run(&format!("{ROUTE} --service b")).done(),
        "key,owner\nk,b\n"
    );
    let fault = folder.run(&format!("{ROUTE} --service c")).fault();
    assert_eq!(fault, "fleet.yaml: no service `c`; the file has: a, b");
}

#[test]
fn settings_are_those_of_the_policy_and_their_faults_name_them() {
    let folder = Folder::with_orders();
    let fault = |args: &str| folder.run(&format!("{ROUTE} {args}")).fault();
    assert_eq!(
        fault("--algorithm md5"),
        "--algorithm: no algorithm `md5`; there are: ring, envoy-ring, maglev, nginx, ketama, jump, rendezvous, slots"
    );
    assert!(fault("--algorithm modulo").starts_with("--algorithm: no algorithm `modulo`"));
    assert_eq!(
        fault("--set probes"),
        "--set probes: expected KEY=VALUE, such as probes=5"
    );
    assert!(fault("--set probes=many").starts_with("--set probes: "));
    assert_eq!(
        fault("--set points_per_instance=0"),
        "--set points_per_instance: points_per_instance is 0, allowed is 1..=65536"
    );
    assert!(fault("--set table_size=7").contains("`table_size` is no setting of `ring`"));
    assert_eq!(
        fault("--set algorithm=maglev"),
        "--set algorithm: use --algorithm"
    );
    assert!(fault("--algorithm maglev --set table_size=8").starts_with("--set table_size: "));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::with_orders();
    let missing = folder
        .run("route --instances nowhere.yaml --keys keys.txt")
        .fault();
    assert!(missing.starts_with("nowhere.yaml: "), "{missing}");
    let missing = folder
        .run("route --instances fleet.yaml --keys nowhere.txt")
        .fault();
    assert!(missing.starts_with("nowhere.txt: "), "{missing}");
    let folder_as_keys = folder.run("route --instances fleet.yaml --keys .");
    assert_eq!(folder_as_keys.code, Some(2));
    assert!(
        folder_as_keys.err.starts_with("ringfence: .:1: "),
        "{}",
        folder_as_keys.err
    );
    for args in [
        "route --instances - --keys -",
        "simulate --instances - --to -",
        "simulate --instances fleet.yaml --change add:- --keys -",
        "diff - -",
    ] {
        let fault = folder.run(args).fault();
        assert!(fault.contains("standard input"), "{fault}");
    }
}

#[test]
fn help_has_examples_and_a_wrong_usage_is_told() {
    let folder = Folder::new();
    assert!(folder.run("--version").done().starts_with("ringfence 0."));
    for command in ["route", "plan", "simulate", "dump", "diff"] {
        let help = folder.run(&format!("{command} --help")).done();
        assert!(
            help.contains(&format!("Examples:\n  ringfence {command} ")),
            "{help}"
        );
    }
    assert!(
        folder
            .run("route --help")
            .done()
            .contains("empty lines are skipped")
    );
    for wrong in [
        "",
        "rout",
        "route",
        "route --walk",
        "plan --instances f --imbalance-bound 0.5",
    ] {
        let ran = folder.run(wrong);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(2), ""),
            "{wrong}: {}",
            ran.err
        );
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}
