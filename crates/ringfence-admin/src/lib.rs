//! What a running Ringfence balancer does, for people and for programs: a page and JSON documents, as a tower `Service` that is
//! mounted in any HTTP server, or served by [`Admin::serve`] on a loopback port of its own.
//!
//! It is read-only, answers from memory, and asks no registry. It holds its balancers weakly: a page keeps nothing alive.
//!
//! ```
//! use http::{Request, StatusCode};
//! use ringfence_admin::Admin;
//! use ringfence_balancer::Balancer;
//! use ringfence_core::Instance;
//! use ringfence_discovery::StaticDiscovery;
//! use tower_service::Service;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = StaticDiscovery::new().with_service("cart", [Instance::builder("cart-1", "10.0.0.1:80").build()?]);
//! let balancer = Balancer::builder(source, "cart").build()?;
//! balancer.ready().await?;
//!
//! let mut admin = Admin::new().with_balancer(&balancer).service();
//! let answer = admin.call(Request::get("/healthz").body(())?).await?;
//! assert_eq!(answer.status(), StatusCode::OK);
//! # Ok(())
//! # }
//! ```
//!
//! # What is there
//! | path | what | parameters |
//! |---|---|---|
//! | `/` | the page: one HTML document that needs nothing else | |
//! | `/state` | all that the page shows but the ring; with an `ETag` | `service` |
//! | `/services` | the services | |
//! | `/snapshot` | the instances with their state and load | `service` |
//! | `/ring` | the ring of all instances: settings, fingerprint, shares, who owns which part of the key space | `service` |
//! | `/dump` | the ring and its instances in the form that `ringfence diff` compares, which has a version of its own | `service` |
//! | `/pools` | the pools that are prepared, and the stages of each route | `service` |
//! | `/explain` | how one request would be decided, as JSON and as text | `service`, `key`, `method`, `path`, `peer`, `header=name:value`, `tag=name:value`, `claim=name:value` |
//! | `/observe` | how far a policy that is only observed agrees with what is done without it; `null` where nothing was observed | `service` |
//! | `/decisions` | a bounded sample of the calls | `service` |
//! | `/changes` | the last changes of the membership and the ring | `service` |
//! | `/hot-keys` | the keys that come most often, as hashes | `service` |
//! | `/metrics` | what [`Admin::with_metrics`] gives | |
//! | `/healthz` | 200 while every balancer can serve, else 503 with the reasons | |
//!
//! A parameter that a path does not take is answered 400, but for `/metrics` and `/healthz`, which ignore them all: probes and scrapers
//! add some.
//!
//! Each JSON document but the dump has a field `"ringfence": 1`, the version of its form: fields may be added to it, none is taken
//! away.
//!
//! # Guarantees
//! | what | how |
//! |---|---|
//! | nothing can be changed | `GET` and `HEAD` alone; all else is answered 405 |
//! | no keys of users | decisions and hot keys have hashes; a key that is explained is told only to who asked |
//! | no values of tags | unless [`Admin::with_tags`] asks for them, nor fingerprints of rings that follow from a tenant's name, nor more of a policy's fault than its line and its part of the document; version, zone and region of an instance are shown, and so is the tag `hash_key` in `/dump`, which `ringfence diff` needs |
//! | bounded answers | but for the dump, which is whole: at most 1,000 instances, 256 pools and routes, 720 slices of a ring; what was left out is said in `truncated` |
//! | no foreign site can read it | no CORS, and [`Admin::serve`] refuses foreign `Host` headers (DNS rebinding) |
//! | no foreign text becomes markup | the page sets text alone, and its Content-Security-Policy allows no script but its own, by hash |

mod admin;
mod documents;
mod mounted;
mod page;
mod query;
mod respond;
mod routes;
mod serve;
mod service;

pub use self::{
    admin::Admin,
    serve::{AdminServer, ServeError},
    service::AdminService,
};
