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
            "services:\n  order:\n    - { id: a, address: h:80 }\n    - { id: a, address: h:81 }\n",
            "fleet.yaml:4: instance `a`: the id is there twice; clients use the record with the lowest address",
        ),
        (
            "services:\n  order:\n    - { id: a, address: h:80, weight: 0 }\n",
            "fleet.yaml: no instance takes traffic",
        ),
        (
            "services:\n  order: []\n",
            "fleet.yaml: the service `order` has no instance",
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
        "--algorithm: no algorithm `md5`, there is: ring, envoy-ring, maglev, nginx, ketama, jump, rendezvous, slots"
    );
    assert_eq!(
        fault("--algorithm envoy_ring"),
        "--algorithm: no algorithm `envoy_ring`, did you mean `envoy-ring`?"
    );
    assert!(fault("--set point_per_instance=5").contains("did you mean `points_per_instance`?"));
    assert!(fault("--algorithm maglev --set tablesize=7").contains("did you mean `table_size`?"));
    let value = folder.run(&format!("{ROUTE} --format jsn"));
    assert!(
        value.err.contains("a similar value exists: 'json'"),
        "{}",
        value.err
    );
    assert!(fault("--algorithm modulo").starts_with("--algorithm: no algorithm `modulo`"));
    assert_eq!(
        fault("--set probes"),
        "--set probes: expected KEY=VALUE, such as probes=5"
    );
    assert!(fault("--set probes=many").starts_with("--set probes: "));
    assert_eq!(
        fault("--set probes=3 --set probes=5"),
        "--set probes: it is there twice"
    );
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
    for command in COMMANDS {
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

/// What some editors write before everything else is no part of a key or an instance.
#[test]
fn a_byte_order_mark_is_passed_over() {
    let folder = Folder::with_orders();
    let plain = folder.run(ROUTE).done();
    let marked = |name: &str| format!("\u{feff}{}", folder.read(name));
    folder.write("keys.txt", marked("keys.txt"));
    folder.write("fleet.yaml", marked("fleet.yaml"));
    assert_eq!(folder.run(ROUTE).done(), plain);
    folder.write("keys.txt", "a\n\u{feff}b\n");
    assert!(
        folder.run(ROUTE).done().contains("\u{feff}b"),
        "one in the middle is a part"
    );
}

#[test]
fn exit_codes_are_in_the_help() {
    let help = Folder::new().run("--help").done();
    for told in [
        "Exit codes:",
        "  3  the registry did not answer",
        "CONSUL_HTTP_TOKEN",
        "RINGFENCE_CREDENTIALS",
    ] {
        assert!(help.contains(told), "{help}");
    }
}

/// The short help must not tell less than the long one does.
#[test]
fn both_helps_have_the_same_exit_codes() {
    let folder = Folder::new();
    let codes = |help: &str| {
        let help = folder.run(help).done();
        let (_, codes) = help.split_once("Exit codes:").expect("it has some");
        codes.trim().to_owned()
    };
    let long = codes("--help");
    assert_eq!(codes("-h"), long);
    assert!(long.contains("lists no instance"), "{long}");
}

#[test]
fn help_is_as_wide_as_the_terminal_says_and_no_wider_than_can_be_read() {
    let folder = Folder::new();
    let widest = |columns: &str| {
        let mut command = folder.command("inspect --help");
        let ran = command.env("COLUMNS", columns).output().expect("it starts");
        let help = String::from_utf8(ran.stdout).expect("UTF-8");
        // Examples are to be copied as they are.
        let (help, _) = help.split_once("Examples:").expect("it has some");
        let widths = help.lines().map(|line| line.chars().count());
        widths.max().expect("lines")
    };
    assert!((60..=80).contains(&widest("80")), "{}", widest("80"));
    assert!((80..=100).contains(&widest("500")), "{}", widest("500"));
    // Words that are longer stay whole, and so does the line of the usage.
    assert!(widest("20") < 70, "{}", widest("20"));
}

#[test]
fn sources_that_are_no_files_are_checked() {
    let folder = Folder::with_orders();
    let fault = |source: &str| folder.run(&format!("plan --instances {source}")).fault();
    assert_eq!(
        fault("consol://a/b"),
        "no registry `consol`, did you mean `consul`?"
    );
    assert!(fault("consul://me:hunter2@a/b").contains("holds no user and password"));
    assert!(!fault("consul://me:hunter2@a/b").contains("hunter2"));
    assert_eq!(
        fault("static:10.0.0.1"),
        "static:10.0.0.1: `10.0.0.1` is not an address: expected `host:port` with an IP address or DNS name and a port from 1 to 65535"
    );
    assert_eq!(
        fault("static:"),
        "static: expected host:port, or id=host:port"
    );
    assert_eq!(fault("static:a:1,a:1"), "static:a:1: it is there twice");
    for list in ["a:1,", ",a:1", "a:1,,b:1"] {
        let told = fault(&format!("static:{list}"));
        assert_eq!(told, "static: an address is missing beside a comma");
    }
    let listed = folder.run(
        "route --instances static:order-svc-1=h:1,order-svc-2=h:2,order-svc-3=h:3 --keys keys.txt",
    );
    assert_eq!(listed.done(), folder.run(ROUTE).done());
    assert_eq!(
        folder
            .run("route --instances file:fleet.yaml --keys keys.txt")
            .done(),
        folder.run(ROUTE).done()
    );
}

/// Passwords go astray in addresses; a message is kept in logs.
#[test]
fn no_password_of_an_address_is_repeated() {
    let folder = Folder::with_orders();
    for source in [
        "consul://me:hunt?er2@h/x",
        "etcd://me:hunt/er2@h/x",
        "consul:me:hunter2@h/x",
        "consul:/me:hunter2@h/x",
        "etcd+https:me:hunter2@h/x",
        "file://me:hunter2@h/x",
        "file:me:hunter2@h",
        "me:hunter2@h",
        "https://me:hunter2@h/x",
        "me:hunter2@consul://h/x",
        "static:me:hunter2@h",
        "static:me:hunter2@h:80",
        "static:a:1,me:hunt,er2@h:80",
        "static:x=me:hunter2@h:80",
    ] {
        for command in ["plan", "dump", "inspect", "watch --once"] {
            let fault = folder
                .run(&format!("{command} --instances {source}"))
                .fault();
            assert!(
                !fault.contains("hunt") && !fault.contains("er2"),
                "{source}: {fault}"
            );
        }
    }
    for (variable, registry) in [
        ("CONSUL_HTTP_ADDR", "consul"),
        ("ETCD_ENDPOINTS", "etcd"),
        ("NACOS_SERVER_ADDR", "nacos"),
    ] {
        for service in ["order", ""] {
            let mut command = folder.command("dump --instances");
            command.arg(format!("{registry}:///{service}"));
            let ran = command
                .env(variable, "http://me:hunter2@127.0.0.1:1")
                .output();
            let ran = ran.expect("it starts");
            let told = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(2), "{told}");
            assert!(
                told.contains(variable) && !told.contains("hunter2"),
                "{told}"
            );
        }
    }
    // An `@` alone is no password.
    let fault = folder.run("plan --instances fleet@2.yaml").fault();
    assert!(fault.starts_with("fleet@2.yaml: "), "{fault}");
    assert!(
        folder
            .run("plan --instances static:a@b=h:1")
            .done()
            .contains("a@b")
    );
}

/// Nobody listens there: it is said at once which registry it is, and the exit code is of its own.
#[test]
fn a_registry_that_is_away_has_an_exit_code_of_its_own() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    drop(listener);
    for command in ["inspect", "explain --key k", "watch --once --for 2"] {
        let ran = Folder::new().run(&format!("{command} --instances consul://{address}/order"));
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(3), ""),
            "{command}: {}",
            ran.err
        );
        let told = format!("ringfence: consul://{address}/order: ");
        assert!(ran.err.starts_with(&told), "{command}: {}", ran.err);
    }
}
