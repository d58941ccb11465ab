//! What happens to the fleet, so that there is something to see.

use std::time::Duration;

use ringfence_examples::{BoxError, Cluster};
use tokio::time::sleep;

/// Between two events.
const PAUSE: Duration = Duration::from_secs(4);

/// One event after the other, and again from the start, until it is dropped.
pub(crate) async fn play(cluster: &mut Cluster) -> Result<(), BoxError> {
    let service = cluster.service().clone();
    loop {
        sleep(PAUSE).await;
        // It stays registered as healthy: only its failing calls tell, and outlier detection ejects it.
        cluster.kill("stable-3").await?;
        sleep(PAUSE).await;
        cluster
            .start("stable-7", |instance| {
                instance.version("stable").zone("zone-a")
            })
            .await?;
        sleep(PAUSE).await;
        cluster.restart(&["stable-3"]).await?;
        cluster.registry().set_weight(&service, "stable-5", 200)?;
        sleep(PAUSE).await;
        cluster.crash(&["gray-1", "gray-2"]).await?;
        sleep(PAUSE).await;
        cluster.restart(&["gray-1", "gray-2"]).await?;
        cluster.registry().set_weight(&service, "stable-5", 100)?;
        sleep(PAUSE).await;
        cluster.stop("stable-7").await?;
    }
}
