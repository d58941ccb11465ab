//! What decides the owners of keys, for a look from outside.

use ringfence_core::{Pool, Selector};
use ringfence_policy::RingDump;

use crate::Balancer;

impl Balancer {
    /// The ring of all instances as a document, to be compared with that of another client: by `ringfence diff`, or
    /// [`RingDump::first_disagreement`]. It has no tags, and so no secrets. `None` before the first view and after a shutdown.
    ///
    /// It is written now, in the time of the caller: some microseconds for each instance.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::Balancer;
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::StaticDiscovery;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let source = StaticDiscovery::new().with_service("cart", [Instance::builder("cart-1", "10.0.0.1:80").build()?]);
    /// let balancer = Balancer::builder(source, "cart").build()?;
    /// balancer.ready().await?;
    /// let dump = balancer.dump().expect("there is a view");
    /// assert_eq!(dump.instances.len(), 1);
    /// println!("{}", dump.to_json());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn dump(&self) -> Option<RingDump> {
        let view = self.view()?;
        let everything = Pool::select(view.snapshot(), &Selector::any());
        Some(RingDump::of(&everything, view.whole_ring()))
    }
}
