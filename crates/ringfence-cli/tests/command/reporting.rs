//! `ringfence report`

use crate::support::*;

#[test]
fn it_is_one_file_that_needs_nothing_else() {
    let folder = Folder::new();
    folder.write(
        "fleet.yaml",
        SHOP.replace("cart-2", "<script>alert(1)</script>"),
    );
    for algorithm in [
        "ring",
        "envoy-ring",
        "maglev",
        "nginx",
        "ketama",
        "jump",
        "rendezvous",
        "slots",
    ] {
        let args = format!(
            "report {algorithm}.html --instances fleet.yaml --algorithm {algorithm} --sample 5000"
        );
        assert_eq!(folder.run(&args).done(), "");
        let html = folder.read(&format!("{algorithm}.html"));
        // All that a browser would ask for.
        for asks in [
            "src=", "href=", "url(", "@import", "<script", "<link", "<iframe",
        ] {
            assert!(!html.contains(asks), "{algorithm}: {asks}");
        }
        let pictures = html.matches("<svg role=\"img\" aria-label=\"").count();
        assert_eq!(
            (pictures, html.matches("</svg>").count()),
            (3, 3),
            "{algorithm}"
        );
        for told in [
            "<!DOCTYPE html>",
            "prefers-color-scheme: dark",
            "@media print",
            "name=\"viewport\"",
            "&lt;script&gt;alert(1)",
        ] {
            assert!(html.contains(told), "{algorithm}: {told}");
        }
        assert!(
            !html.contains("NaN") && !html.contains("inf"),
            "{algorithm}"
        );
    }
}

/// The numbers are those of plan and simulate.
#[test]
fn its_numbers_are_those_of_the_other_commands() {
    let folder = Folder::with_orders();
    let html = folder.run("report - --instances fleet.yaml").done();
    let plan = folder.run("plan --instances fleet.yaml").done();
    let shares = plan
        .lines()
        .rev()
        .take(3)
        .filter_map(|line| line.split("  ").find(|cell| cell.ends_with('%')));
    for share in shares.map(str::trim) {
        assert!(html.contains(&format!("<td>{share}</td>")), "{share}");
    }
    let simulated = folder
        .run("simulate --instances fleet.yaml --change remove:order-svc-2")
        .done();
    let exact = simulated
        .lines()
        .find_map(|line| line.strip_prefix("exact"))
        .expect("it is")
        .trim();
    assert!(html.contains(&format!(">{exact}</text>")), "{exact}");
}

#[test]
fn one_instance_alone_is_a_whole_turn() {
    let folder = Folder::new();
    let html = folder.run("report - --instances static:a:1").done();
    assert!(
        html.contains("The ring of 1 instances") || html.contains("The ring of 1 instance "),
        "{html}"
    );
    let none = folder.run("report - --instances static:a:0");
    assert_eq!(none.code, Some(2), "a port of 0 is none");
    folder.write("fleet.yaml", "services: { a: [] }");
    assert!(
        folder
            .run("report - --instances fleet.yaml")
            .fault()
            .contains("the service `a` has no instance")
    );
    assert!(
        folder
            .run("report nowhere/r.html --instances static:a:1")
            .fault()
            .starts_with("nowhere/r.html: ")
    );
}

#[test]
fn the_keys_that_changes_were_counted_over_are_told() {
    let folder = Folder::with_orders();
    let report = |args: &str| {
        let args = format!("report - --instances fleet.yaml {args}");
        folder.run(&args).done()
    };
    let counted = "<p class=\"faint\">Counted over 1500 generated keys.</p>";
    assert!(report("--algorithm rendezvous --sample 1500").contains(counted));
    assert!(!report("--sample 1500").contains("Counted over"));
}
