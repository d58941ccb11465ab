//! What is shown, and what must hold.

use std::collections::{BTreeMap, BTreeSet};

use ringfence_examples::{Answers, BoxError, Cluster, Report, percent};

use crate::{
    DEDICATED, SHARED,
    callers::{Callers, instances},
};

const USERS: usize = 200;
/// Tenants that the document does not name.
const SMALL: usize = 40;
const SMALL_USERS: usize = 30;

/// Each tenant where the document says.
pub(crate) async fn apart(callers: &Callers, report: &mut Report) -> Result<(), BoxError> {
    report.scene("1. 200 users with the same names in each of five tenants");
    let mut rounds = BTreeMap::new();
    for (tenant, mode) in [
        ("acme", "dedicated"),
        ("globex", "own ring"),
        ("hooli", "shard of 2"),
        ("initech", "shared"),
        ("umbrella", "shard of 2"),
    ] {
        let answers = callers.round(tenant, USERS).await?;
        let served: Vec<_> = answers
            .counts()
            .iter()
            .map(|(id, count)| format!("{id}:{count}"))
            .collect();
        report.line(&format!("{tenant:<9} {mode:<11} {}", served.join(" ")));
        report.errors(&answers.first_errors());
        rounds.insert(tenant, answers);
    }
    let of = |tenant: &str| rounds.get(tenant).map(instances).unwrap_or_default();
    report.check(
        rounds.values().all(|answers| answers.homes.len() == USERS),
        "no request fails",
    );
    report.check(
        of("acme") == DEDICATED.into(),
        "acme is served by its own instances",
    );
    report.check(
        rounds
            .keys()
            .filter(|tenant| **tenant != "acme")
            .all(|tenant| of(tenant).is_disjoint(&DEDICATED.into())),
        "nobody else is",
    );
    report.check(
        of("initech") == SHARED.into() && of("globex") == SHARED.into(),
        "initech and globex use all shared instances",
    );
    let home = |tenant: &str, user: &String| rounds.get(tenant)?.homes.get(user).cloned();
    let users = rounds.get("globex").map(|answers| answers.homes.keys());
    let elsewhere = users
        .into_iter()
        .flatten()
        .filter(|user| home("globex", user) != home("initech", user))
        .count();
    report.line(&format!(
        "{elsewhere} of globex's users have another instance than initech's of the same name"
    ));
    report.check(
        percent(elsewhere as u64, USERS as u64) > 70.0,
        "on a ring of its own, most of globex's users are elsewhere",
    );
    report.check(
        ["hooli", "umbrella"]
            .iter()
            .all(|tenant| of(tenant).len() == 2),
        "hooli and umbrella use two shared instances each",
    );
    Ok(())
}

/// What a tenant breaks is broken for few others.
pub(crate) async fn shards(
    cluster: &mut Cluster,
    callers: &Callers,
    report: &mut Report,
) -> Result<(), BoxError> {
    report.scene("2. hooli's requests crash both instances that serve it");
    let tenants: Vec<_> = (0..SMALL).map(|n| format!("small-{n:02}")).collect();
    let before = callers.rounds(&tenants, SMALL_USERS).await?;
    let hooli = callers.round("hooli", USERS).await?;
    let broken = instances(&hooli);
    let ids: Vec<_> = broken.iter().copied().collect();
    cluster.crash(&ids).await?;
    cluster.seen_by(callers.client.balancer()).await?;

    let after = callers.rounds(&tenants, SMALL_USERS).await?;
    // By how many of its two instances a tenant has lost: how many there are, and how many of their requests failed.
    let mut by_lost: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut moved = 0;
    for (tenant, was) in &before {
        let lost = instances(was).intersection(&broken).count();
        let Some(is) = after.get(tenant) else {
            continue;
        };
        let entry = by_lost.entry(lost).or_default();
        entry.0 += 1;
        entry.1 += is.errors.len();
        moved += moved_needlessly(was, is, &broken);
    }
    for (lost, (count, failed)) in &by_lost {
        report.line(&format!(
            "{count:>3} tenants have {lost} of hooli's instances: {failed} failed requests"
        ));
    }
    let of = |lost: usize| by_lost.get(&lost).copied().unwrap_or_default();
    report.check(
        of(0).0 > 0 && of(0).1 == 0,
        "tenants without an instance in common with hooli do not notice",
    );
    report.check(
        of(1).0 > 0 && of(1).1 == 0,
        "tenants with one in common are served by their other one",
    );
    report.check(moved == 0, "no user is moved whose instance runs");
    report.check(
        percent(of(2).0 as u64, SMALL as u64) < 20.0,
        "fewer than a fifth of the tenants share hooli's fate (of shards of 2 of 6, a fifteenth is to be expected)",
    );
    report.check(
        of(2).1 == of(2).0 * SMALL_USERS,
        "and those fail, instead of spreading what broke hooli",
    );
    cluster.restart(&ids).await?;
    cluster.seen_by(callers.client.balancer()).await?;
    let back = callers.round_at("hooli", USERS, &hooli.homes).await?;
    report.errors(&back.first_errors());
    report.check(
        back.homes == hooli.homes,
        "both run again, and hooli's users are where they were",
    );
    Ok(())
}

/// A strict tenant never leaves its instances.
pub(crate) async fn dedicated_dies(
    cluster: &mut Cluster,
    callers: &Callers,
    report: &mut Report,
) -> Result<(), BoxError> {
    report.scene("3. All of acme's instances crash");
    let at_first = callers.round("acme", USERS).await?;
    let neighbour = callers.round("initech", USERS).await?;
    cluster.crash(&DEDICATED).await?;
    cluster.seen_by(callers.client.balancer()).await?;
    let shared = |cluster: &Cluster| -> u64 { cluster.requests().values().sum() };
    let requests = shared(cluster);
    let acme = callers.round("acme", USERS).await?;
    report.line(&format!(
        "{} of {USERS} of acme's requests fail; for example",
        acme.errors.len()
    ));
    report.line(acme.errors.values().next().map_or("", String::as_str));
    report.check(acme.errors.len() == USERS, "acme's requests fail");
    report.check(
        shared(cluster) == requests,
        "not one of them got to a shared instance: the servers counted none",
    );
    let others = callers.round("initech", USERS).await?;
    report.check(
        others.errors.is_empty() && others.homes == neighbour.homes,
        "initech's users are served where they were",
    );

    cluster.restart(&DEDICATED).await?;
    cluster.seen_by(callers.client.balancer()).await?;
    let back = callers.round_at("acme", USERS, &at_first.homes).await?;
    report.errors(&back.first_errors());
    report.check(
        back.homes == at_first.homes,
        "they run again, and acme's users are where they were",
    );
    Ok(())
}

fn moved_needlessly(was: &Answers, is: &Answers, broken: &BTreeSet<&str>) -> usize {
    let running = was
        .homes
        .iter()
        .filter(|(_, home)| !broken.contains(home.as_str()));
    running
        .filter(|(user, home)| is.homes.get(*user) != Some(home))
        .count()
}
