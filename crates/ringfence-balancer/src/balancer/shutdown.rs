//! Ending a balancer.

use std::{sync::Arc, time::Duration};

use ringfence_core::MovementWindow;
use tokio::time::{sleep, timeout};

use crate::{Balancer, published::ViewCell};

/// The longest that [`Balancer::shutdown`] waits for the task.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);
/// How often [`Balancer::shutdown_within`] looks whether attempts are running.
const LOOK_EACH: Duration = Duration::from_millis(5);

/// Lets go of the instances, also where nobody waits to the end.
struct LetGo<'a>(&'a ViewCell);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.forget();
    }
}

impl Balancer {
    /// Refuses new picks and those who wait for admission, then ends the task and waits until it is gone, at most five seconds.
    /// Attempts that are running may finish, for as long as the transport lets those on instances that left the service; see
    /// [`shutdown_within`](Self::shutdown_within) for waiting until they have. A call that has looked for one instance alone goes to no
    /// other any more. Calling it again does no harm.
    ///
    /// # Cancel safety
    /// Picks are refused and the task is told to end at the first poll; dropping the future only
    /// stops the waiting.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn shutdown(&self) {
        let _let_go = LetGo(&self.guard.shared.cell);
        self.close().await;
    }

    async fn close(&self) {
        self.guard.shared.cell.close();
        self.guard.shared.admission.close();
        self.guard.abort();
        let mut answered = self.guard.answered.clone();
        let gone = async { while answered.changed().await.is_ok() {} };
        if timeout(SHUTDOWN_LIMIT, gone).await.is_err() {
            tracing::warn!(service = %self.service(), "the balancer's task did not end in time");
        }
        let shared = &self.guard.shared;
        let nothing = MovementWindow::new(shared.config.movement_window());
        shared.movement.store(Arc::new(nothing));
        // What still runs on an instance is what is left of it.
        for node in self.guard.shared.index.alive() {
            node.set_present(false);
        }
    }

    /// [`shutdown`](Self::shutdown), and waits until all that was given out is over, at most `limit`: attempts with their response
    /// bodies, and decisions that were kept. What still runs then is cut off where the transport can do that, as `TonicConnector`
    /// does by closing its connections. Gives the number of instances on which something was left; 0: all ended by itself.
    ///
    /// A server that is itself called through others deregisters first, waits until its callers have seen that, and then drains.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::{Balancer, PickRequest};
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::StaticDiscovery;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let source = StaticDiscovery::new().with_service("order", [Instance::builder("a", "10.0.0.1:80").build()?]);
    /// let balancer = Balancer::builder(source, "order").build()?;
    /// balancer.ready().await?;
    /// let running = balancer.pick(&PickRequest::new())?.first().begin();
    /// assert_eq!(balancer.shutdown_within(Duration::from_millis(10)).await, 1);
    /// drop(running);
    /// assert_eq!(balancer.shutdown_within(Duration::from_millis(10)).await, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// As [`shutdown`](Self::shutdown); nothing is cut off then.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    #[must_use = "above 0, something was cut off"]
    pub async fn shutdown_within(&self, limit: Duration) -> usize {
        let shared = &self.guard.shared;
        let let_go = LetGo(&shared.cell);
        let over = async {
            self.close().await;
            // Until then a call whose instance fails goes to another one.
            while shared.index.alive().iter().any(|node| node.in_flight() > 0) {
                sleep(LOOK_EACH).await;
            }
            shared.cell.forget();
            shared.nodes.none_left().await;
        };
        if timeout(limit, over).await.is_ok() {
            return 0;
        }
        drop(let_go);
        let nodes = shared.index.alive();
        nodes.iter().for_each(|node| node.cut());
        let left = nodes.len();
        tracing::warn!(service = %self.service(), instances = left, ?limit, "requests were still running at the end of the shutdown");
        left
    }
}
