//! Records of all kinds: the rest of the list is served, and what was left out is told.

use std::{sync::Arc, time::Duration};

use ringfence_discovery::{Discovery as _, Supervisor, WatchConfig};
use ringfence_testkit::{Answer, Backend, Behaviour, Warnings};

use crate::{
    bad_answers::snapshot,
    fake::{config, consul, ids, key, list, within},
};

/// What an operator looks at: who was left out, why, and that the others are served.
#[tokio::test]
async fn what_was_left_out_is_in_the_status_and_counted_once() {
    let good = list(&["good"]);
    let good = good.trim_start_matches('[').trim_end_matches(']');
    let with = |id: &str, more: &str| {
        format!(
            r#"{{"Node":{{"Node":"n","Address":"10.0.0.1","Datacenter":"dc"}},"Service":{{"ID":"{id}",{more}}}}}"#
        )
    };
    let huge = "x".repeat(1 << 20);
    let records = [
        with("port", r#""Port":70000"#),
        with("weight", r#""Port":80,"Meta":{"weight":"NaN"}"#),
        with(
            "huge",
            &format!(r#""Port":80,"Meta":{{"version":"{huge}"}}"#),
        ),
        with("broken", r#""Port":8 0"#),
        with("latin", r#""Port":80,"Meta":{"?":"v"}"#),
        good.to_owned(),
    ];
    let mut body = format!("[{}]", records.join(",")).into_bytes();
    let at = body.iter().position(|byte| *byte == b'?').expect("there");
    body[at] = 0xff;
    let backend = Backend::start().await.expect("a port");
    for index in ["7", "8"] {
        backend.then(Answer::ok(body.clone()).header("x-consul-index", index));
    }
    backend.always(Behaviour::Hang);
    let source = Arc::new(consul(config(&backend)));
    let mut supervisor = Supervisor::new(source, key(), WatchConfig::default());
    assert_eq!(within(5, snapshot(&mut supervisor)).await, ["good"]);
    let more = tokio::time::timeout(Duration::from_millis(500), snapshot(&mut supervisor)).await;
    assert!(more.is_err(), "the second answer says the same: {more:?}");
    let status = supervisor.status();
    assert_eq!(status.counters.rejected_records, 5, "{:?}", status.rejected);
    let told: Vec<String> = status.rejected.iter().map(ToString::to_string).collect();
    for (id, reason) in [
        ("dc/n/port", "70000"),
        ("dc/n/weight", "weight"),
        ("dc/n/huge", "version"),
        ("", "expected"),
        ("", "unicode"),
    ] {
        assert!(
            told.iter()
                .any(|line| line.contains(id) && line.contains(reason)),
            "{id} {reason}: {told:#?}"
        );
    }
}

#[tokio::test]
async fn metadata_that_is_left_out_or_cut_is_logged() {
    let huge = "x".repeat(1 << 20);
    let record = list(&["a"]).replace(
        r#""Port":80"#,
        &format!(r#""Port":80,"Meta":{{"note":"{huge}"}}"#),
    );
    let backend = Backend::start().await.expect("a port");
    backend.then(Answer::ok(record).header("x-consul-index", "7"));
    let logged = Warnings::capture_from(tracing::Level::DEBUG);
    let update = consul(config(&backend)).fetch(&key()).await;
    assert_eq!(ids(&update.expect("a list")), ["a"]);
    let lines = logged.take();
    let told = |line: &&String| line.contains("service=order") && line.contains("altered=1");
    assert_eq!(lines.iter().filter(told).count(), 1, "{lines:#?}");
}
