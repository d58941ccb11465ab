//! What a person learns of a server that is not registered.

use ringfence_testkit::Warnings;

use super::*;

fn about_registering(warnings: &Warnings) -> Vec<String> {
    let lines = warnings.take();
    lines
        .into_iter()
        .filter(|line| line.contains("not registered"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_never_registered_tells_so_once() {
    let warnings = Warnings::capture();
    let fake = Fake::default();
    fake.then(AWAY);
    let registration = fake.start().await.expect("goes on");
    sleep(600 * SECOND).await;
    let told = about_registering(&warnings);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("order") && told[0].contains("scripted"));
    fake.then(Answer::Fine);
    sleep(10 * SECOND).await;
    assert!(registration.state().is_registered());
    fake.then(AWAY);
    sleep(60 * SECOND).await;
    assert_eq!(about_registering(&warnings).len(), 1, "a new outage");
}

/// A registry that comes back and then refuses needs a person, unlike one that is away.
#[tokio::test(start_paused = true)]
async fn another_kind_of_failure_is_told_too() {
    let warnings = Warnings::capture();
    let fake = Fake::default();
    fake.then(AWAY);
    let _registration = fake.start().await.expect("goes on");
    sleep(60 * SECOND).await;
    for _ in 0..5 {
        fake.then(Answer::Fail(ErrorKind::Unauthorized));
        sleep(60 * SECOND).await;
        fake.then(AWAY);
        sleep(60 * SECOND).await;
    }
    let told = about_registering(&warnings);
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_tried_again_does_not_say_that_it_is() {
    let warnings = Warnings::capture();
    let fake = Fake::default();
    fake.then(Answer::Fail(ErrorKind::Unauthorized));
    assert!(fake.start().await.is_err());
    assert_eq!(about_registering(&warnings), [""; 0]);
}
