//! Reading a file over and over.

use std::{sync::Arc, time::Duration};

use ringfence_core::ConfigError;
use tokio::time::sleep;

use super::{
    changes::{Changes, Observed},
    read::{Content, FileReader},
};
use crate::{BoxStream, DiscoveryError, unfold};

/// Time between two reads, unless it is set.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) fn checked_interval(interval: Duration) -> Result<Duration, ConfigError> {
    let range = Duration::from_millis(10)..=Duration::from_secs(3_600);
    ConfigError::check("poll_interval", interval, range)
}

/// Tells what `parse` makes of each new content, and each fault once.
pub(crate) fn follow<T, P, Fut>(
    reader: FileReader,
    interval: Duration,
    parse: P,
) -> BoxStream<'static, Result<T, DiscoveryError>>
where
    T: Send + 'static,
    P: Fn(Content) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, DiscoveryError>> + Send + 'static,
{
    let shared = Arc::new((reader, parse));
    unfold(None, move |changes: Option<Changes>| {
        let shared = Arc::clone(&shared);
        async move {
            let (reader, parse) = &*shared;
            let mut pause = changes.is_some();
            let mut changes = changes.unwrap_or_default();
            loop {
                if pause {
                    sleep(interval).await;
                }
                pause = true;
                let told = match changes.observe(reader.read().await) {
                    Observed::Nothing => None,
                    Observed::Fault(error) => Some(Err(error)),
                    Observed::New(content) => changes.parsed(parse(content).await),
                };
                if let Some(told) = told {
                    return Some((told, Some(changes)));
                }
            }
        }
    })
}
