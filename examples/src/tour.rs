//! What the examples against real registries show, and whether it holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    process::ExitCode,
    time::{Duration, Instant},
};

use ringfence::{
    Balancer, Discovery, Instance, RequestTags, ServiceKey,
    discovery::{ErrorKind, Registrar},
};

use crate::{BoxError, Fleet, Report, Server};

const USERS: usize = 60;
/// How long the client may take to see a change: registries announce it in milliseconds, and a lost announcement of Nacos is
/// made up for within 12 s.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an example may take in all.
const LIMIT: Duration = Duration::from_secs(90);

/// The client of the service.
pub trait Caller {
    /// One request of a user; gives the id of the server that answered.
    fn call(
        &mut self,
        user: &str,
        tags: RequestTags,
    ) -> impl Future<Output = Result<String, BoxError>>;
}

/// Runs an example within its limit; its exit code says whether all that it claims holds.
pub async fn judge(example: impl AsyncFnOnce(&mut Report) -> Result<(), BoxError>) -> ExitCode {
    let started = Instant::now();
    let mut report = Report::default();
    match tokio::time::timeout(LIMIT, example(&mut report)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report.fail(&format!("the run ended early: {error}")),
        Err(_) => report.fail(&format!("the run ended within {} s", LIMIT.as_secs())),
    }
    report.end(started.elapsed())
}

/// Shows that credentials of a client do not let it register anything. `as_client` uses them.
///
/// # Errors
/// None of the registry's; only that of making an instance.
pub async fn writes_are_refused(
    as_client: &impl Registrar,
    service: &ServiceKey,
    report: &mut Report,
) -> Result<(), BoxError> {
    report.scene("The client tries to register a server with its own credentials");
    let intruder = Instance::builder("intruder", "127.0.0.1:1").build()?;
    let outcome = as_client.register(service, intruder).await;
    let refused = matches!(&outcome, Err(error) if error.kind() == ErrorKind::Unauthorized);
    report.line(&match outcome {
        Ok(registration) => format!("{registration:?}"),
        Err(error) => error.to_string(),
    });
    report.check(refused, "the registry refuses it");
    Ok(())
}

/// Users keep their server, gray requests go to the gray one, a server that leaves is left in time, and in the end the registry
/// has nothing of it any more. `discovery` reads with the client's credentials.
///
/// # Errors
/// What kept it from being shown.
pub async fn tour<S: Server>(
    balancer: &Balancer,
    discovery: &impl Discovery,
    caller: &mut impl Caller,
    mut fleet: Fleet<S>,
    report: &mut Report,
) -> Result<(), BoxError> {
    let shown = scenes(balancer, caller, &mut fleet, report).await;
    report.scene("Everything deregisters");
    balancer.shutdown().await;
    let retired = fleet.retire_all().await;
    shown.and(retired)?;
    let empty = until(async || {
        let left = discovery.fetch(balancer.service()).await?;
        Ok(left.state.instance_count() == 0)
    })
    .await?;
    report.check(
        empty.is_some(),
        "the registry has no instance of the service left",
    );
    Ok(())
}

async fn scenes<S: Server>(
    balancer: &Balancer,
    caller: &mut impl Caller,
    fleet: &mut Fleet<S>,
    report: &mut Report,
) -> Result<(), BoxError> {
    report.scene("Four servers registered themselves; 60 users call");
    let expected: BTreeSet<String> = fleet.ids().map(str::to_owned).collect();
    let took = until(async || Ok(seen(balancer) == expected)).await?;
    report.check(took.is_some(), "the client sees all four");
    let homes = round(caller).await?;
    report.line(&format!("users per server: {:?}", loads(&homes)));
    let again = round(caller).await?;
    report.check(homes == again, "every user stays on one server");
    report.check(
        homes.values().all(|home| home.starts_with("stable-")),
        "nobody reaches the gray server unasked",
    );

    report.scene("The same users ask for the gray release");
    let mut gray = BTreeSet::new();
    for user in users() {
        let tags = RequestTags::new().with_version("gray");
        gray.insert(caller.call(&user, tags).await?);
    }
    report.line(&format!("served by {gray:?}"));
    report.check(
        gray.iter().all(|server| server.starts_with("gray-")),
        "the gray server served all of them",
    );

    let leaver = expected
        .iter()
        .find(|id| id.starts_with("stable-2"))
        .ok_or("there is no stable-2")?;
    report.scene(&format!("{leaver} drains, then deregisters and stops"));
    fleet.drain(leaver).await?;
    let took = until(async || Ok(!takes_traffic(balancer, leaver))).await?;
    report.line(&format!("the client saw the drain {}", after(took)));
    let drained = round(caller).await?;
    report.check(
        drained.values().all(|home| home != leaver),
        "nobody is sent to it any more, though it still runs",
    );
    let moved: BTreeSet<_> = homes
        .iter()
        .filter(|(user, home)| drained[*user] != **home)
        .collect();
    report.check(
        !moved.is_empty() && moved.iter().all(|(_, home)| *home == leaver),
        "its users moved, and nobody else",
    );
    fleet.retire(leaver).await?;
    let took = until(async || Ok(!seen(balancer).contains(leaver))).await?;
    report.line(&format!("the client saw it leave {}", after(took)));
    report.check(took.is_some(), "it is gone from the client's view");
    report.check(
        round(caller).await? == drained,
        "that moved nobody a second time",
    );
    Ok(())
}

/// Where each user is served; the first failure is the outcome, since none may happen here.
async fn round(caller: &mut impl Caller) -> Result<BTreeMap<String, String>, BoxError> {
    let mut homes = BTreeMap::new();
    for user in users() {
        let home = caller
            .call(&user, RequestTags::new())
            .await
            .map_err(|error| format!("{user}: {error}"))?;
        homes.insert(user, home);
    }
    Ok(homes)
}

fn users() -> impl Iterator<Item = String> {
    (0..USERS).map(|i| format!("user-{i}"))
}

fn loads(homes: &BTreeMap<String, String>) -> BTreeMap<&str, usize> {
    let mut loads = BTreeMap::new();
    for home in homes.values() {
        *loads.entry(home.as_str()).or_default() += 1;
    }
    loads
}

/// The ids in the client's view.
fn seen(balancer: &Balancer) -> BTreeSet<String> {
    balancer.view().map_or_else(BTreeSet::new, |view| {
        let instances = view.snapshot().instances();
        instances
            .iter()
            .map(|instance| instance.id().to_string())
            .collect()
    })
}

fn takes_traffic(balancer: &Balancer, id: &str) -> bool {
    balancer.view().is_some_and(|view| {
        let instance = view.snapshot().get(id);
        instance.is_some_and(|instance| instance.takes_traffic())
    })
}

/// How long it took until that held; `None` if it did not in time.
async fn until(
    mut holds: impl AsyncFnMut() -> Result<bool, BoxError>,
) -> Result<Option<Duration>, BoxError> {
    let started = Instant::now();
    while !holds().await? {
        if started.elapsed() > PATIENCE {
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(Some(started.elapsed()))
}

fn after(took: Option<Duration>) -> String {
    took.map_or_else(
        || "never".to_owned(),
        |took| format!("after {} ms", took.as_millis()),
    )
}
