//! Settings of other systems, read into a policy.

mod istio;

pub use self::istio::{IstioImport, istio_destination_rule};
