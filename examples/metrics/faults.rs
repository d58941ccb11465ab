//! What goes wrong, over and over.

use std::time::Duration;

use ringfence_echo::Fault;
use ringfence_examples::BoxError;
use tokio::time::sleep;
use tonic::Code;

use crate::fleet::Fleet;

const UNAVAILABLE: Fault = Fault::Status(Code::Unavailable);

/// The only server of the release.
const RELEASE: usize = 5;

/// Some twenty seconds a round.
pub(crate) async fn run(fleet: &mut Fleet) -> Result<(), BoxError> {
    loop {
        pause(1_000).await;
        // One server says no: its calls hop, and it is ejected.
        fleet.set_fault(Some(1), UNAVAILABLE);
        pause(2_000).await;
        fleet.set_fault(Some(1), Fault::None);
        pause(500).await;
        // Another one is gone, and comes back.
        fleet.kill(0).await;
        pause(2_000).await;
        fleet.restart(0).await?;
        pause(500).await;
        // The release is gone: its keys go where the others are.
        fleet.kill(RELEASE).await;
        pause(2_000).await;
        fleet.restart(RELEASE).await?;
        pause(500).await;
        // All say no: the retry budget is spent.
        fleet.set_fault(None, UNAVAILABLE);
        pause(1_500).await;
        fleet.set_fault(None, Fault::None);
        pause(1_000).await;
        // The registry talks nonsense, and then says that there is nobody.
        fleet.write("services: [")?;
        pause(1_000).await;
        fleet.write("services: { echo: [] }\n")?;
        pause(1_500).await;
        fleet.list()?;
        pause(1_000).await;
        // Keys move to an instance and away from it.
        fleet.set_weight(2, 200)?;
        pause(2_000).await;
        fleet.set_weight(2, 100)?;
        // The release is slow.
        fleet.set_fault(Some(RELEASE), Fault::Slow(Duration::from_millis(200)));
        pause(1_000).await;
        fleet.set_fault(Some(RELEASE), Fault::None);
    }
}

async fn pause(milliseconds: u64) {
    sleep(Duration::from_millis(milliseconds)).await;
}
