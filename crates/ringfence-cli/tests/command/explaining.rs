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
    let keyless = told("--key k");
    assert_eq!(
        (&keyless["key"], &keyless["final"]),
        (&Value::Null, &Value::Null),
        "this rule takes a header"
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
    assert!(fault("--max-attempts 0").starts_with("--max-attempts: "));
    folder.write("policy.yaml", POLICY.replace("limits", "limit"));
    let told = fault("--policy policy.yaml");
    assert!(
        told.starts_with("policy.yaml:10: rules[0].limit: ")
            && told.contains("did you mean `limits`?"),
        "{told}"
    );
}
