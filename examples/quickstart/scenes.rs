//! The claims, one after another.

use std::{
    collections::BTreeMap,
    error::Error,
    net::SocketAddr,
    time::{Duration, Instant},
};

use ringfence::RequestTags;
use ringfence_examples::{Report, percent};

use crate::{
    client::{Client, Homes, Round, is_gray, tenants},
    fleet::{Fleet, GRAY, STABLE},
};

type SceneResult<T> = Result<T, Box<dyn Error>>;

/// The instance that is killed and comes back.
const VICTIM: &str = "stable-6";
/// How long the client may take to see a change of the registry: the merge window and some.
const APPLY_LIMIT: Duration = Duration::from_secs(3);

/// Each tenant has one instance, gray tenants have gray ones, and the load follows the weights.
pub(crate) async fn affinity(
    client: &Client,
    fleet: &Fleet,
    report: &mut Report,
) -> SceneResult<Homes> {
    report.scene("1. Eight instances, three requests of each of 1,000 tenants");
    let mut rounds = Vec::new();
    for _ in 0..3 {
        rounds.push(client.round().await);
    }
    let errors = rounds.iter().map(|round| round.errors.len()).sum::<usize>();
    let homes = rounds.pop().map(|round| round.homes).unwrap_or_default();
    let counts = fleet.requests();

    report.line("ordinary tenants on stable instances:");
    let ideal = fleet.ideal_shares(STABLE);
    report.shares(&counts, &ideal);
    report.line("gray tenants on gray instances:");
    report.shares(&counts, &fleet.ideal_shares(GRAY));

    report.check(errors == 0, "no request failed");
    report.check(
        rounds.iter().all(|round| round.homes == homes),
        "every tenant was served by the same instance each time",
    );
    report.check(
        homes
            .iter()
            .all(|(tenant, home)| is_gray(tenant) == home.starts_with(GRAY)),
        "gray tenants used gray instances only, and nobody else used them",
    );
    report.check(
        near_ideal(&counts, &ideal),
        "every stable instance served between 0.7 and 1.3 times its ideal share",
    );
    Ok(homes)
}

/// A caller that names its zone stays in it.
pub(crate) async fn zones(client: &Client, fleet: &Fleet, report: &mut Report) -> SceneResult<()> {
    report.scene("2. 300 tenants ask for zone-b");
    let mut served: BTreeMap<String, u64> = BTreeMap::new();
    for tenant in tenants().filter(|tenant| !is_gray(tenant)).take(300) {
        let tags = RequestTags::new().with_zone("zone-b");
        *served
            .entry(client.call_with(&tenant, tags).await?)
            .or_default() += 1;
    }
    report.line(&format!("served by {served:?}"));
    report.check(
        served
            .keys()
            .all(|id| fleet.zone(id).as_deref() == Some("zone-b")),
        "every request was served in the zone that it asked for",
    );
    Ok(())
}

/// One instance more takes its share, and nothing else moves.
pub(crate) async fn scale_out(
    client: &Client,
    fleet: &mut Fleet,
    before: &Homes,
    report: &mut Report,
) -> SceneResult<Homes> {
    report.scene("3. Scale-out from 6 to 7 stable instances");
    let newcomer = fleet.scale_out().await?;
    wait_until_known(client, newcomer).await?;
    let Round { homes, errors } = client.round().await;

    let moved = moves(before, &homes);
    let stable = count(before.keys().filter(|tenant| !is_gray(tenant)));
    let (share, ideal) = (
        percent(count(&moved), stable),
        fleet.ideal_shares(STABLE)[newcomer] * 100.0,
    );
    report.line(&format!(
        "{} of {stable} tenants moved: {share:.1}%, ideal {ideal:.1}%",
        moved.len()
    ));
    report.check(errors.is_empty(), "no request failed");
    report.check(
        !moved.is_empty() && moved.iter().all(|(_, (_, to))| to == newcomer),
        "every tenant that moved went to the new instance",
    );
    report.check(
        (ideal * 0.7..=ideal * 1.3).contains(&share),
        "the share that moved is between 0.7 and 1.3 times the ideal",
    );
    Ok(homes)
}

/// A crash under load: requests hop to the next instance, and only the dead one's tenants move.
pub(crate) async fn kill_under_load(
    client: &Client,
    fleet: &mut Fleet,
    before: &Homes,
    report: &mut Report,
) -> SceneResult<(Homes, SocketAddr)> {
    report.scene("4. stable-6, which has double weight, is killed under load and stays registered");
    let hops_before = hops(client);
    let load = tokio::spawn({
        let client = client.clone();
        async move {
            let mut errors = Vec::new();
            for _ in 0..2 {
                errors.extend(client.round().await.errors);
            }
            errors
        }
    });
    // In the middle of the first round.
    let target = fleet.requests().values().sum::<u64>() + 300;
    while fleet.requests().values().sum::<u64>() < target && !load.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let address = fleet.kill(VICTIM).await?;
    let mut errors = load.await?;
    let round = client.round().await;
    errors.extend(round.errors);
    let hops = hops(client) - hops_before;

    let moved = moves(before, &round.homes);
    let mut destinations: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, to) in moved.values() {
        *destinations.entry(to).or_default() += 1;
    }
    let names: Vec<_> = moved.keys().take(4).cloned().collect();
    report.line(&format!(
        "{hops} hops; {} tenants moved ({}, ...), to {destinations:?}",
        moved.len(),
        names.join(", ")
    ));
    report.errors(&errors);
    report.check(errors.is_empty(), "no request failed");
    report.check(hops > 0, "requests hopped to the next instance on the ring");
    let of_victim = count(before.values().filter(|home| *home == VICTIM));
    report.check(
        count(&moved) == of_victim && moved.values().all(|(from, _)| from == VICTIM),
        "exactly the dead instance's tenants moved",
    );
    Ok((round.homes, address))
}

/// The instance comes back where it was, and so do its tenants: the client dials it again within a second.
pub(crate) async fn come_back(
    client: &Client,
    fleet: &mut Fleet,
    before: &Homes,
    (after_kill, address): &(Homes, SocketAddr),
    report: &mut Report,
) -> SceneResult<()> {
    report.scene("5. stable-6 starts again");
    fleet.restart(VICTIM, *address).await?;
    let started = Instant::now();
    let (mut errors, mut homes) = (Vec::new(), Homes::new());
    while homes != *before && started.elapsed() < APPLY_LIMIT {
        let round = client.round().await;
        errors.extend(round.errors);
        homes = round.homes;
    }
    report.errors(&errors);
    report.line(&format!(
        "{} tenants moved back, {:.1} s after the start",
        moves(after_kill, &homes).len(),
        started.elapsed().as_secs_f64()
    ));
    report.check(errors.is_empty(), "no request failed");
    report.check(homes == *before, "every tenant is home again");
    Ok(())
}

async fn wait_until_known(client: &Client, id: &str) -> SceneResult<()> {
    let known = async {
        while client
            .balancer()
            .view()
            .is_none_or(|view| view.snapshot().get(id).is_none())
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    Ok(tokio::time::timeout(APPLY_LIMIT, known).await?)
}

/// Tenants whose instance is another one now: from, to.
fn moves(before: &Homes, after: &Homes) -> BTreeMap<String, (String, String)> {
    after
        .iter()
        .filter_map(|(tenant, to)| {
            let from = before.get(tenant)?;
            (from != to).then(|| (tenant.clone(), (from.clone(), to.clone())))
        })
        .collect()
}

/// Attempts after the first one, so far.
fn hops(client: &Client) -> u64 {
    let counters = client.balancer().status().counters;
    counters.hops_granted + counters.hops_free
}

fn near_ideal(counts: &BTreeMap<String, u64>, ideal: &BTreeMap<String, f64>) -> bool {
    let total: u64 = ideal.keys().filter_map(|id| counts.get(id)).sum();
    ideal.iter().all(|(id, ideal)| {
        let share = percent(counts.get(id).copied().unwrap_or(0), total) / 100.0;
        (ideal * 0.7..=ideal * 1.3).contains(&share)
    })
}

fn count(items: impl IntoIterator) -> u64 {
    items.into_iter().fold(0, |n, _| n + 1)
}
