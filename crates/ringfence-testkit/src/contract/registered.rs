use std::collections::BTreeMap;

use ringfence_core::{Instance, InstanceId};

/// What a [`Subject`](super::Subject) has registered, for registries that take instances one by one.
///
/// ```
/// use ringfence_core::Instance;
/// use ringfence_testkit::contract::Registered;
///
/// # fn main() -> Result<(), ringfence_core::InstanceError> {
/// let [a, b] = [Instance::builder("a", "10.0.0.1:80").build()?, Instance::builder("b", "10.0.0.2:80").build()?];
/// let mut registered = Registered::default();
/// registered.change_to(&[a.clone()]);
/// let (put, gone) = registered.change_to(&[b.clone()]);
/// assert_eq!((put, gone), (vec![b], vec![a]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Registered(BTreeMap<InstanceId, Instance>);

impl Registered {
    /// Makes `instances` all that is registered, and gives those that must be written for that and those that must go.
    pub fn change_to(&mut self, instances: &[Instance]) -> (Vec<Instance>, Vec<Instance>) {
        let mut gone = std::mem::take(&mut self.0);
        let mut put = Vec::new();
        for instance in instances {
            if gone.remove(instance.id()).as_ref() != Some(instance) {
                put.push(instance.clone());
            }
            self.0.insert(instance.id().clone(), instance.clone());
        }
        (put, gone.into_values().collect())
    }

    /// What is registered, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Instance> {
        self.0.values()
    }

    /// The registry has lost everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
