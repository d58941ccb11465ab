//! `ringfence dump` and `ringfence diff`

use crate::support::*;

fn dumped(folder: &Folder, name: &str, fleet: &str, args: &str) {
    folder.write("fleet.yaml", fleet);
    let ran = folder.run(&format!(
        "dump --instances fleet.yaml --output {name} {args}"
    ));
    assert_eq!(ran.done(), "");
}

fn three() -> String {
    orders(&[(1, 100), (2, 50), (3, 0)])
}

/// The form is kept between versions.
#[test]
fn a_dump_is_golden_and_has_no_tags() {
    let folder = Folder::new();
    let tagged = three().replace("weight: 50", "weight: 50, tags: { password: hunter2 }");
    dumped(&folder, "a.json", &tagged, "");
    assert_eq!(folder.read("a.json"), golden("dump-v1.json"));
    assert_eq!(
        folder.run("dump --instances fleet.yaml").done(),
        golden("dump-v1.json")
    );
    let with = folder.run("dump --instances fleet.yaml --tags").done();
    assert!(with.contains("\"password\": \"hunter2\""), "{with}");
}

#[test]
fn the_first_cause_and_the_exit_code_are_told() {
    let folder = Folder::new();
    dumped(&folder, "here.json", &three(), "");
    let told = |fleet: &str, args: &str| {
        dumped(&folder, "there.json", fleet, args);
        let ran = folder.run("diff here.json there.json");
        assert_eq!(ran.err, "");
        (ran.code, ran.out)
    };
    let different = |cause: &str| (Some(1), format!("{cause}\n"));
    let equal = "no difference: they send each key to the same instance\n".to_owned();
    assert_eq!(told(&three(), ""), (Some(0), equal.clone()));
    let moved = three().replace("10.0.0.1", "10.9.9.9");
    assert_eq!(
        told(&moved, ""),
        (Some(0), equal),
        "addresses are not hashed"
    );
    assert_eq!(
        told(&orders(&[(1, 100), (2, 60), (3, 0)]), ""),
        different("the weight of instance `order-svc-2` differs: 50 and 60")
    );
    assert_eq!(
        told(&orders(&[(1, 100), (2, 60)]), ""),
        different("the instances differ: only the first has `order-svc-3`")
    );
    assert_eq!(
        told(
            &orders(&[(1, 100), (2, 60)]).replace("id: order-svc-1", "id: x"),
            ""
        ),
        different("the instance at 10.0.0.1:8080 has the id `order-svc-1` here and `x` there")
    );
    assert_eq!(
        told(&orders(&[(1, 100)]), "--set seed=7"),
        different("the setting `seed` differs: 0 and 7")
    );
    assert_eq!(
        told(&three(), "--set max_ring_points=1000"),
        different("the setting `max_ring_points` differs: 4194304 and 1000"),
        "other instances may be mapped otherwise"
    );
    for algorithm in ["envoy-ring", "maglev", "nginx", "ketama"] {
        let plain = format!("--algorithm {algorithm}");
        dumped(&folder, "here.json", &three(), &plain);
        assert_eq!(
            told(&three(), &format!("{plain} --set seed=7")),
            different("the setting `seed` differs: 0 and 7"),
            "{algorithm}"
        );
    }
    dumped(&folder, "here.json", &three(), "");
    assert_eq!(
        told(&orders(&[(1, 100)]), "--algorithm maglev"),
        different("the algorithm differs: `ring` and `maglev`")
    );
}

#[test]
fn answers_have_other_forms_too() {
    let folder = Folder::new();
    dumped(&folder, "a.json", &three(), "");
    dumped(&folder, "b.json", &three(), "--set seed=7");
    let json = folder.run("diff a.json b.json --format json");
    assert_eq!(json.code, Some(1));
    assert_eq!(
        json.out,
        "{\"equal\":false,\"cause\":\"the setting `seed` differs: 0 and 7\"}\n"
    );
    let csv = folder.run("diff a.json a.json --format csv").done();
    assert_eq!(csv, "equal,cause\ntrue,\n");
}

#[test]
fn the_verdict_stands_where_nobody_reads_it() {
    let folder = Folder::new();
    dumped(&folder, "a.json", &three(), "");
    dumped(&folder, "b.json", &three(), "--set seed=7");
    for format in ["table", "json", "csv"] {
        let unread = |name: &str| {
            let args = format!("diff - {name} --format {format}");
            let ran = folder.run_unread(&args, folder.read("a.json").as_bytes());
            (ran.code, ran.err)
        };
        assert_eq!(unread("b.json"), (Some(1), String::new()), "{format}");
        assert_eq!(unread("a.json"), (Some(0), String::new()), "{format}");
    }
}

#[test]
fn what_is_no_dump_is_refused() {
    let folder = Folder::new();
    dumped(&folder, "a.json", &three(), "");
    let newer = folder
        .read("a.json")
        .replace("\"ringfence_dump\": 1", "\"ringfence_dump\": 2");
    folder.write("newer.json", newer);
    let fault = folder.run("diff a.json newer.json").fault();
    assert_eq!(fault, "newer.json: the dump has version 2, known is 1");
    folder.write("cut.json", "{\n  \"ringfence_dump\": 1,\n");
    let fault = folder.run("diff cut.json a.json").fault();
    assert!(
        fault.starts_with("cut.json:3: no dump of a ring: "),
        "{fault}"
    );
    let fault = folder.run("diff a.json nowhere.json").fault();
    assert!(fault.starts_with("nowhere.json: "), "{fault}");
    let fault = folder
        .run("dump --instances fleet.yaml --output no/such/folder.json")
        .fault();
    assert!(fault.starts_with("no/such/folder.json: "), "{fault}");
}
