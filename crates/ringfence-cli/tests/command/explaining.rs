//! `ringfence explain`

use serde_json::Value;

use crate::support::*;

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    folder.write("policy.yaml", POLICY);
    folder.write("keys.txt", "user-7\n");
    folder
}

const CARTS: [&str; 12] = [
    "explain",
    "--instances",
    "fleet.yaml",
    "--policy",
    "policy.yaml",
    "--zone",
    "az-1",
    "--path",
    "/carts/7?x=1",
    "--header",
    "x-user: User-7",
    "--format",
];

fn explain(folder: &Folder, args: &[&str]) -> Ran {
    folder.run_args(args)
}

#[test]
fn the_chain_is_golden_in_every_form() {
    let folder = shop();
    for (format, name) in [
        ("table", "explain.txt"),
        ("json", "explain.json"),
        ("csv", "explain.csv"),
    ] {
        let args: Vec<&str> = CARTS.into_iter().chain([format]).collect();
        assert_eq!(explain(&folder, &args).done(), golden(name), "{format}");
    }
}

#[test]
fn without_a_policy_it_is_what_route_says_of_ordinary_instances() {
    let folder = shop();
    let told = folder
        .run("explain --instances fleet.yaml --key user-7 --format json")
        .done();
    let told: Value = serde_json::from_str(&told).expect("JSON");
    // Gray instances get no ordinary request.
    folder.write(
        "fleet.yaml",
        SHOP.replace("version: gray }", "version: gray, enabled: false }"),
    );
    let routed = folder
        .run("route --instances fleet.yaml --keys keys.txt")
        .done();
    assert_eq!(
        format!(
            "key,owner\nuser-7,{}\n",
            told["final"]["id"].as_str().expect("an id")
        ),
        routed
    );
}

#[test]
fn what_the_program_says_is_believed_and_what_comes_from_outside_is_not() {
    let folder = shop();
    let told = |args: &str| {
        let args = format!(
            "explain --instances fleet.yaml --policy policy.yaml --format json --path /carts {args}"
        );
        let told = folder.run(&args).done();
        serde_json::from_str::<Value>(&told).expect("JSON")
    };
    let gray = told("--header x-user=a --gray next");
    assert_eq!(
        (&gray["gray"][0], &gray["final"]["id"]),
        (&"next".into(), &"cart-3".into())
    );
    let forged = told("--header x-user=a --header x-gray=next");
    assert_eq!(forged["gray"], Value::Null);
    assert_ne!(forged["final"]["id"], "cart-3");
    assert_eq!(
        told("--header x-user=a --tag tenant=acme")["tags"][0]["value"],
        "acme"
    );
    let claim = "ringfence: 1\nrules: [{ name: all, key: [{ claim: sub }, { peer: {} }] }]\n";
    folder.write("policy.yaml", claim);
    assert_eq!(told("--claim sub=me")["key"]["raw"], "me");
    assert_eq!(told("--peer 10.1.2.3")["sources"][1]["outcome"], "key");
}

#[test]
fn secrets_are_read_from_files_and_never_shown() {
    let folder = shop();
    folder.write(
        "policy.yaml",
        "ringfence: 1\nrules: [{ name: all, keyed_hash: pepper }]\n",
    );
    folder.write("pepper", "00112233445566778899aabbccddeeff\n");
    folder.write(
        "raw",
        [
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ],
    );
    let told = |file: &str| {
        folder.run(&format!(
            "explain --instances fleet.yaml --policy policy.yaml --key k --secret pepper={file}"
        ))
    };
    let hex = told("pepper");
    assert_eq!(hex, told("raw"));
    assert!(!hex.done().contains("0011"));
    folder.write("bad", "hunter2");
    assert_eq!(
        told("bad").fault(),
        "bad: expected 16 bytes or 32 hexadecimal digits"
    );
}

#[test]
fn wrong_requests_are_told() {
    let folder = shop();
    let fault = |args: &str| {
        folder
            .run(&format!("explain --instances fleet.yaml {args}"))
            .fault()
    };
    assert!(fault("--header x").starts_with("--header: expected NAME: VALUE"));
    assert!(fault("--path carts").starts_with("--path: "));
    assert!(fault("--tag tenant").starts_with("--tag tenant: expected NAME=VALUE"));
    for wrong in [
        "--tag =acme",
        "--tag tenant=",
        "--claim =me",
        "--claim sub=",
    ] {
        assert!(fault(wrong).ends_with(": expected NAME=VALUE"), "{wrong}");
    }
    assert_eq!(
        fault("--tag zone=a --tag zone=b"),
        "--tag zone: it is there twice"
    );
    assert_eq!(
        fault("--claim sub=a --claim sub=b"),
        "--claim sub: it is there twice"
    );
    assert!(fault("--max-attempts 0").starts_with("--max-attempts: "));
    folder.write("policy.yaml", POLICY.replace("limits", "limit"));
    let told = fault("--policy policy.yaml");
    assert!(
        told.starts_with("policy.yaml:10: rules[0].limit: ")
            && told.contains("did you mean `limits`?"),
        "{told}"
    );
}

fn warned(folder: &Folder, args: &str) -> String {
    let ran = folder.run(&format!("explain --instances fleet.yaml {args}"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("service   cart"), "{}", ran.out);
    ran.err
}

#[test]
fn what_the_program_puts_in_and_nobody_reads_is_told() {
    let folder = shop();
    assert_eq!(
        warned(&folder, "--policy policy.yaml --path /carts --key k"),
        "ringfence: --key is not read: the rule `carts` takes its key from header x-user\n"
    );
    assert_eq!(
        warned(
            &folder,
            "--policy policy.yaml --key k --claim sub=me --peer 10.0.0.9"
        ),
        "ringfence: --claim sub is not read: the rule `rest` takes its key from extension\n\
         ringfence: --peer is not read: the rule `rest` takes its key from extension\n"
    );
    folder.write(
        "both.yaml",
        "ringfence: 1\nrules: [{ name: all, key: [{ header: x-user }, { all: [{ claim: a }, { claim: b }] }, { extension: {} }] }]\n",
    );
    assert_eq!(
        warned(&folder, "--policy both.yaml --key k --header x-user=me"),
        "ringfence: --key is not read: header x-user has a key, and comes before it\n"
    );
    assert_eq!(
        warned(&folder, "--policy both.yaml --claim a=1 --claim b=2"),
        ""
    );
    // Headers may be a whole request's, of which a rule reads a few.
    assert_eq!(
        warned(&folder, "--policy policy.yaml --key k --header a=b"),
        ""
    );
    // Without a policy, or with one that is off, it is the key alone that counts.
    assert_eq!(
        warned(
            &folder,
            "--key k --header a=b --claim sub=me --peer 10.0.0.9 --path /x --method POST"
        ),
        "ringfence: --header is not read without a policy\n\
         ringfence: --claim is not read without a policy\n\
         ringfence: --peer is not read without a policy\n\
         ringfence: --path is not read without a policy\n\
         ringfence: --method is not read without a policy\n"
    );
    folder.write(
        "off.yaml",
        POLICY.replace("ringfence: 1", "ringfence: 1\nmode: off"),
    );
    assert_eq!(
        warned(&folder, "--policy off.yaml --claim sub=me"),
        "ringfence: --claim is not read while the policy is off\n"
    );
}

#[test]
fn releases_zones_and_secrets_that_mean_nothing_are_told() {
    let folder = shop();
    let fault = |args: &str| {
        folder
            .run(&format!("explain --instances fleet.yaml {args}"))
            .fault()
    };
    for option in [
        "gray next",
        "zone az-1",
        "region eu",
        "function f",
        "secret a=b",
    ] {
        let name = option.split(' ').next().expect("a name");
        let told = fault(&format!("--key k --{option}"));
        assert_eq!(
            told,
            format!("--{name}: it is a policy that reads this: add --policy FILE")
        );
    }
    assert_eq!(
        fault("--policy policy.yaml --key k --gray nxt"),
        "--gray nxt: policy.yaml has no such release, did you mean `next`?"
    );
    folder.write("none.yaml", "ringfence: 1\n");
    assert_eq!(
        fault("--policy none.yaml --key k --gray next"),
        "--gray next: none.yaml has no such release, nor any other"
    );
    assert_eq!(
        warned(&folder, "--policy policy.yaml --key k --gray next"),
        "ringfence: --gray next has no effect: the rule `rest` does not name it\n"
    );
    folder.write(
        "stopped.yaml",
        POLICY.replace("percent: 0", "percent: 0, enabled: false"),
    );
    assert_eq!(
        warned(
            &folder,
            "--policy stopped.yaml --header x-user=me --path /carts --gray next"
        ),
        "ringfence: --gray next has no effect: it is stopped\n"
    );
    folder.write("raw", [7; 16]);
    assert_eq!(
        warned(
            &folder,
            "--policy policy.yaml --key k --secret peper=raw --function f"
        ),
        "ringfence: --secret peper: no rule names it\nringfence: --function f: no rule names it\n"
    );
    // The same of a lint.
    let told = folder
        .run("lint --instances fleet.yaml --zone az-1")
        .fault();
    assert_eq!(
        told,
        "--zone: it is a policy that reads this: add --policy FILE"
    );
    let linted = folder.run("lint --policy policy.yaml --zone az-1 --function f");
    assert_eq!(linted.err, "ringfence: --function f: no rule names it\n");
}

#[test]
fn what_the_baseline_decides_has_no_final() {
    let folder = shop();
    for mode in ["observe", "{ enforce_percent: 0 }"] {
        folder.write(
            "policy.yaml",
            POLICY.replace("ringfence: 1", &format!("ringfence: 1\nmode: {mode}")),
        );
        let told = |format| {
            let args: Vec<&str> = CARTS.into_iter().chain([format]).collect();
            explain(&folder, &args).done()
        };
        let table = told("table");
        assert!(
            table.ends_with("\nwould be tried: cart-1, then cart-2\n"),
            "{table}"
        );
        let json: Value = serde_json::from_str(&told("json")).expect("JSON");
        assert_eq!(
            (&json["is_suggested"], &json["final"]),
            (&true.into(), &Value::Null)
        );
        let csv = golden("explain.csv").replace(",candidate", ",would be a candidate");
        assert_eq!(told("csv"), csv);
    }
}
