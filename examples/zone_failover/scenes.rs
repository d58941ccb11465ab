//! What happens to the zone, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use ringfence::core::Spill;
use ringfence_examples::{Answers, BoxError, Client, Cluster, Report, percent, request_of};

use crate::HOME;

const USERS: usize = 800;

/// Who was served where.
type Homes = BTreeMap<String, String>;

pub(crate) async fn play(
    cluster: &mut Cluster,
    clients: &[Client; 2],
    report: &mut Report,
) -> Result<(), BoxError> {
    report.scene("1. All of the zone is well");
    let at_first = round(cluster, clients, report).await?;
    report.check(
        abroad(&at_first).is_empty(),
        "every request stays in its zone",
    );

    report.scene("2. One of its three instances crashes");
    cluster.crash(&["az-1a"]).await?;
    let one_lost = round(cluster, clients, report).await?;
    judge_spill(&at_first, &one_lost, 2, report);

    report.scene("3. A second one crashes");
    cluster.crash(&["az-1b"]).await?;
    let two_lost = round(cluster, clients, report).await?;
    judge_spill(&at_first, &two_lost, 1, report);
    report.check(
        abroad(&one_lost).is_subset(&abroad(&two_lost)),
        "whoever was abroad before still is",
    );

    report.scene("4. The zone is lost");
    cluster.crash(&["az-1c"]).await?;
    let all_lost = round(cluster, clients, report).await?;
    report.check(
        abroad(&all_lost).len() == USERS,
        "the other zones serve everybody",
    );
    report.check(
        abroad(&two_lost)
            .iter()
            .all(|user| all_lost.get(*user) == two_lost.get(*user)),
        "whoever was abroad before is served by the same instance",
    );

    report.scene("5. The zone is back");
    cluster.restart(&["az-1a", "az-1b", "az-1c"]).await?;
    let back = round(cluster, clients, report).await?;
    report.check(
        back == at_first,
        "everybody is home again, on the instance of the beginning",
    );
    Ok(())
}

/// One request of each user through each client.
async fn round(
    cluster: &Cluster,
    [one, other]: &[Client; 2],
    report: &mut Report,
) -> Result<Homes, BoxError> {
    for client in [one, other] {
        cluster.seen_by(client.balancer()).await?;
    }
    let (first, second) = (call_all(one).await?, call_all(other).await?);
    let mut zones: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, count) in first.counts() {
        *zones.entry(id.get(..4).unwrap_or(id)).or_default() += count;
    }
    for (zone, count) in zones {
        report.line(&format!(
            "{zone} {count:>6} {:>6.1}%",
            percent(count, USERS as u64)
        ));
    }
    let errors = [first.first_errors(), second.first_errors()].concat();
    report.errors(&errors);
    report.check(errors.is_empty(), "no request fails");
    report.check(
        first.homes == second.homes,
        "both clients send the same users to the same instances",
    );
    Ok(first.homes)
}

async fn call_all(client: &Client) -> Result<Answers, BoxError> {
    let requests = (0..USERS).map(|n| {
        let user = format!("user-{n:04}");
        Ok((user.clone(), request_of(&user)?))
    });
    let requests = requests.collect::<Result<Vec<_>, BoxError>>()?;
    Ok(client.calls(requests).await)
}

/// The published share of the keys is abroad, and nobody who stays is moved but from what is lost.
fn judge_spill(before: &Homes, after: &Homes, usable: u64, report: &mut Report) {
    let expected = f64::from(Spill::default().share(usable, 3)) / 10.0;
    let abroad = abroad(after);
    let share = percent(abroad.len() as u64, USERS as u64);
    report.line(&format!(
        "{share:.1}% of the users are abroad, predicted are {expected:.1}%"
    ));
    // Five standard deviations of so many draws.
    let tolerance = 5.0 * (expected * (100.0 - expected) / USERS as f64).sqrt();
    report.check(
        (share - expected).abs() < tolerance,
        "the share that is abroad is the predicted one",
    );
    let lost = |home: &String| after.values().all(|other| other != home);
    report.check(
        before
            .iter()
            .filter(|(user, home)| !abroad.contains(user) && !lost(home))
            .all(|(user, home)| after.get(user) == Some(home)),
        "whoever stays, and whose instance does, stays there",
    );
}

fn abroad(homes: &Homes) -> BTreeSet<&String> {
    let abroad = homes.iter().filter(|(_, home)| !home.starts_with(HOME));
    abroad.map(|(user, _)| user).collect()
}
