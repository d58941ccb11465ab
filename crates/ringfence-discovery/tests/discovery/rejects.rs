//! What the log says of records that are no instances, and of services that nobody knows.

use ringfence_discovery::{RejectedRecord, Update, WatchConfig};
use ringfence_testkit::Warnings;

use crate::script::{Script, Step, during, gone, list, secs};

async fn warnings(updates: Vec<Update>) -> Vec<String> {
    let warnings = Warnings::capture();
    let steps = updates.into_iter();
    let steps = steps.flat_map(|update| [Step::Yield(Ok(update)), Step::Wait(secs(1))]);
    let script = Script::new([steps.collect()]);
    let config = WatchConfig::default().without_resync().without_staleness();
    during(&mut script.supervise(config), secs(60)).await;
    warnings.take()
}

fn rejecting(records: &[(&str, u64)]) -> Update {
    let records = records.iter().map(|(id, line)| {
        let record = RejectedRecord::new("no address");
        record.with_id(*id).with_line(*line)
    });
    list("a").with_rejected(records.collect())
}

#[tokio::test(start_paused = true)]
async fn a_rejected_record_is_told_once() {
    let updates = vec![
        rejecting(&[("x", 4)]),
        // It moved within the file.
        rejecting(&[("x", 5), ("y", 6)]),
        rejecting(&[("x", 5), ("y", 6)]),
    ];
    let told = warnings(updates).await;
    assert_eq!(told.len(), 2, "{told:?}");
    for (told, parts) in told.iter().zip([["\"x\"", "line=4"], ["\"y\"", "line=6"]]) {
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        assert!(
            told.contains("no address") && told.contains("script"),
            "{told}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_nothing_but_rejects_does_not_fill_the_log() {
    let ids: Vec<String> = (0..1_000).map(|n| format!("x{n}")).collect();
    let records: Vec<(&str, u64)> = ids.iter().map(|id| (&**id, 1)).collect();
    let told = warnings(vec![rejecting(&records)]).await;
    assert_eq!(told.len(), 21);
    assert!(told[20].contains("rest=980"), "{}", told[20]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_service_is_told_with_the_source() {
    let told = warnings(vec![gone()]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("script") && told[0].contains("order"),
        "{}",
        told[0]
    );
}
