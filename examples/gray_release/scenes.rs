//! The steps of the release, and what must hold at each.

use std::{collections::BTreeSet, fmt};

use ringfence::RequestTags;
use ringfence_examples::{Answers, BoxError, Client, Report, percent, request_of};

use crate::{
    policy_file::{PILOT, PolicyFile},
    rounds::{call_all, in_gray, should_be_in, users},
    traffic::Traffic,
};

pub(crate) async fn play(
    file: &PolicyFile,
    client: &Client,
    report: &mut Report,
) -> Result<(), BoxError> {
    let traffic = Traffic::start(client);
    report.scene("1. The file says 5 %, 20 %, 100 %, and stop");
    steps(file, client, report).await?;
    report.scene("2. Who else gets to the release");
    others(file, client, report).await?;
    report.scene("3. A broken file");
    broken(file, client, report).await?;

    let (calls, errors) = traffic.stop().await?;
    report.scene("4. Meanwhile");
    report.line(&format!("{calls} calls ran while the file was rewritten"));
    report.errors(&errors);
    report.check(calls > 0 && errors.is_empty(), "none of them failed");
    Ok(())
}

/// What was seen in one step.
struct Step {
    name: &'static str,
    inside: usize,
    /// Of the users, in per cent, and what the file says.
    share: f64,
    ideal: f64,
    /// Users who were in before, and are not any more though the release goes on.
    left: usize,
    /// Users outside of the release who changed instances since the step before.
    moved: usize,
    /// Users who changed instances between two rounds of the step.
    changed: usize,
    /// Users in gray who are not in by the policy, in either round.
    leaks: usize,
    /// Users who are in by the policy, and not in gray.
    missing: usize,
    failed: usize,
}

async fn steps(file: &PolicyFile, client: &Client, report: &mut Report) -> Result<(), BoxError> {
    report.line("step     in gray   share   left  moved  changed  leaks  failed");
    let mut steps = Vec::new();
    let mut before: Option<Answers> = None;
    for (name, percentage, enabled) in [
        ("5 %", 5, true),
        ("20 %", 20, true),
        ("100 %", 100, true),
        ("stop", 100, false),
    ] {
        let text = PolicyFile::text(percentage, enabled);
        file.change(&text, client.balancer()).await?;
        let (one, two) = (call_all(client).await?, call_all(client).await?);
        let (inside, expected) = (in_gray(&one), should_be_in(client.balancer())?);
        let was_inside = before.as_ref().map(in_gray).unwrap_or_default();
        let changed = |user: &String| one.homes.get(user) != two.homes.get(user);
        let leaks = [&inside, &in_gray(&two)].map(|gray| gray.difference(&expected).count());
        let step = Step {
            name,
            inside: inside.len(),
            share: percent(inside.len() as u64, users().count() as u64),
            ideal: if enabled { f64::from(percentage) } else { 0.0 },
            left: match enabled {
                true => was_inside.difference(&inside).count(),
                false => 0,
            },
            moved: match (&before, enabled) {
                (Some(before), true) => moved_outside(before, &one, &inside),
                _ => 0,
            },
            changed: users().filter(changed).count(),
            leaks: leaks.iter().sum(),
            missing: expected.difference(&inside).count(),
            failed: one.errors.len() + two.errors.len(),
        };
        report.line(&step.to_string());
        report.errors(&one.first_errors());
        steps.push(step);
        before = Some(one);
    }
    let mut check = |holds: fn(&Step) -> bool, claim| report.check(steps.iter().all(holds), claim);
    check(|step| step.failed == 0, "no call fails");
    check(Step::is_share_right, "the share is as the file says");
    check(
        |step| step.changed == 0,
        "sticky: nobody changes instances between two rounds",
    );
    check(
        |step| step.left == 0,
        "monotone: whoever is in stays in while the percentage rises",
    );
    check(
        |step| step.moved == 0,
        "whoever is not in stays on the same stable instance",
    );
    check(
        |step| step.leaks == 0,
        "no leaks: nobody is in gray who is not in by the policy",
    );
    check(
        |step| step.missing == 0,
        "whoever is in by the policy is in gray",
    );
    let last = steps.last();
    report.check(
        last.is_some_and(|step| step.inside == 0),
        "the stop takes everybody out at once",
    );
    Ok(())
}

impl Step {
    fn is_share_right(&self) -> bool {
        // Five standard deviations of so many draws.
        let variance = self.ideal * (100.0 - self.ideal) / users().count() as f64;
        (self.share - self.ideal).abs() <= 5.0 * variance.sqrt()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            inside,
            share,
            left,
            moved,
            changed,
            leaks,
            failed,
            ..
        } = self;
        write!(
            f,
            "{name:<7} {inside:>8} {share:>6.1}% {left:>6} {moved:>6} {changed:>8} {leaks:>6} {failed:>7}"
        )
    }
}

/// Users outside of the release who are on another stable instance than before.
fn moved_outside(before: &Answers, after: &Answers, inside: &BTreeSet<String>) -> usize {
    let outside = after
        .homes
        .iter()
        .filter(|(user, _)| !inside.contains(*user));
    outside
        .filter(|(user, home)| before.homes.get(*user) != Some(home))
        .count()
}

async fn others(file: &PolicyFile, client: &Client, report: &mut Report) -> Result<(), BoxError> {
    file.change(&PolicyFile::text(0, true), client.balancer())
        .await?;
    let mut tester = request_of("user-0001")?;
    tester.extensions_mut().insert(file.tester());
    let tester = client.call(tester).await?;
    let mut pilot = request_of("user-0002")?;
    let tags = RequestTags::new().with_tenant(PILOT);
    pilot
        .extensions_mut()
        .insert(file.authority().tags(tags, "login"));
    let pilot = client.call(pilot).await?;
    let mut forged = request_of("user-0003")?;
    forged.metadata_mut().insert("x-version", "gray".parse()?);
    let forged = client.call(forged).await?;
    report.line(&format!(
        "tester: {tester}, pilot tenant: {pilot}, forged header: {forged}"
    ));
    report.check(
        tester.starts_with("gray"),
        "a tester with the authority's token, at 0 %",
    );
    report.check(
        pilot.starts_with("gray"),
        "the tenant on the release's list, at 0 %",
    );
    report.check(
        forged.starts_with("stable"),
        "but nobody by a header that the rule does not trust",
    );
    Ok(())
}

async fn broken(file: &PolicyFile, client: &Client, report: &mut Report) -> Result<(), BoxError> {
    let before = call_all(client).await?;
    let wrong = PolicyFile::text(100, true).replace("percent", "procent");
    file.write(&wrong)?;
    let fault = || client.balancer().status().policy_source?.fault;
    ringfence_examples::until("the fault is noticed", || fault().is_some()).await?;
    let after = call_all(client).await?;
    let fault = fault().ok_or("it is gone")?;
    report.line(&fault.to_string());
    report.check(
        fault.line() == Some(3),
        "the status says in which line it is wrong",
    );
    report.check(
        before.homes == after.homes,
        "the policy before it stays in force",
    );
    Ok(())
}
