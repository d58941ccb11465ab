//! Asking an instance whether it serves, over connections of the probe's own.

#[cfg(feature = "tonic")]
mod grpc_health;
#[cfg(feature = "hyper")]
mod http_get;

#[cfg(feature = "tonic")]
pub use self::grpc_health::GrpcHealthProbe;
#[cfg(feature = "hyper")]
pub use self::http_get::HttpProbe;
