//! The tenants' users.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ringfence::{RequestTags, TagAuthority};
use ringfence_examples::{Answers, BoxError, Client, request_of};
use tokio::time::{Instant, sleep};

/// Servers that run again must be used again by then: those that were found failing are left alone for some seconds.
const RETURN_LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Callers {
    pub(crate) client: Client,
    pub(crate) authority: TagAuthority,
}

impl Callers {
    /// One request of each of a tenant's users.
    pub(crate) async fn round(&self, tenant: &str, users: usize) -> Result<Answers, BoxError> {
        let requests = (0..users).map(|n| {
            let user = format!("user-{n:03}");
            let mut request = request_of(&user)?;
            let tags = RequestTags::new().with_tenant(tenant);
            let token = self.authority.tags(tags, "login");
            request.extensions_mut().insert(token);
            Ok((user, request))
        });
        let requests = requests.collect::<Result<Vec<_>, BoxError>>()?;
        Ok(self.client.calls(requests).await)
    }

    /// Rounds of a tenant's users until all are back at these instances; the last round where that takes too long.
    pub(crate) async fn round_at(
        &self,
        tenant: &str,
        users: usize,
        homes: &BTreeMap<String, String>,
    ) -> Result<Answers, BoxError> {
        let started = Instant::now();
        loop {
            let answers = self.round(tenant, users).await?;
            if answers.homes == *homes || started.elapsed() > RETURN_LIMIT {
                return Ok(answers);
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Rounds of many tenants, by tenant.
    pub(crate) async fn rounds(
        &self,
        tenants: &[String],
        users: usize,
    ) -> Result<BTreeMap<String, Answers>, BoxError> {
        let mut rounds = BTreeMap::new();
        for tenant in tenants {
            rounds.insert(tenant.clone(), self.round(tenant, users).await?);
        }
        Ok(rounds)
    }
}

/// The instances that served.
pub(crate) fn instances(answers: &Answers) -> BTreeSet<&str> {
    answers.counts().into_keys().collect()
}
