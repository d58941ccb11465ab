//! The policy of a balancer from the key-value stores of real registries.

use std::{io, time::Duration};

use ringfence::{
    Balancer, Instance, StaticDiscovery,
    balancer::{PolicyContext, PolicyFault, PolicySourceStatus},
    discovery::DocumentSource,
};
use ringfence_consul::{ConsulConfig, ConsulKv};
use ringfence_etcd::{EtcdConfig, EtcdKey};
use ringfence_nacos::{NacosConfig, NacosConfigDocument};
use ringfence_testkit::registry::{Consul, Etcd, Nacos, RegistryServer};
use serde_json::{Value, json};

use super::{IN_TIME, within};

/// From a change in the store to requests that heed it.
const EFFECT: Duration = Duration::from_secs(2);

/// A registry as a place for a document.
trait Store: RegistryServer {
    type Source: DocumentSource;

    fn source(&self) -> Self::Source;

    async fn put(&self, document: &Value) -> io::Result<()>;

    async fn delete(&self) -> io::Result<()>;
}

fn done(status: u16) -> io::Result<()> {
    match status {
        200 => Ok(()),
        status => Err(io::Error::other(format!("status {status}"))),
    }
}

impl Store for Consul {
    type Source = ConsulKv;

    fn source(&self) -> ConsulKv {
        ConsulKv::new(ConsulConfig::new(self.url()), "ringfence/policy").expect("legal")
    }

    async fn put(&self, document: &Value) -> io::Result<()> {
        let path = "/v1/kv/ringfence/policy";
        done(self.request("PUT", path, document.clone()).await?.0)
    }

    async fn delete(&self) -> io::Result<()> {
        let path = "/v1/kv/ringfence/policy";
        done(self.request("DELETE", path, Value::Null).await?.0)
    }
}

impl Store for Etcd {
    type Source = EtcdKey;

    fn source(&self) -> EtcdKey {
        EtcdKey::new(EtcdConfig::new([self.url()]), "/ringfence/policy").expect("legal")
    }

    async fn put(&self, document: &Value) -> io::Result<()> {
        let put = Etcd::put(self, "/ringfence/policy", document.to_string());
        put.await.map(drop)
    }

    async fn delete(&self) -> io::Result<()> {
        Etcd::delete(self, "/ringfence/policy").await.map(drop)
    }
}

impl Store for Nacos {
    type Source = NacosConfigDocument;

    fn source(&self) -> NacosConfigDocument {
        let config = NacosConfig::new([self.address().to_string()]).expect("legal");
        NacosConfigDocument::new(config, "policy").expect("legal")
    }

    async fn put(&self, document: &Value) -> io::Result<()> {
        let content: String = document
            .to_string()
            .bytes()
            .map(|b| format!("%{b:02X}"))
            .collect();
        let form = format!("dataId=policy&group=DEFAULT_GROUP&content={content}");
        done(self.request("POST", "/nacos/v1/cs/configs", &form).await?.0)
    }

    async fn delete(&self) -> io::Result<()> {
        let form = "dataId=policy&group=DEFAULT_GROUP";
        done(
            self.request("DELETE", "/nacos/v1/cs/configs", form)
                .await?
                .0,
        )
    }
}

fn document(rule: &str) -> Value {
    json!({ "ringfence": 1, "rules": [{ "name": rule, "key": [{ "header": "x-user" }] }] })
}

fn rule(balancer: &Balancer) -> Option<String> {
    let policy = balancer.policy()?;
    let rule = policy.document().rules.first()?;
    Some(rule.name.clone())
}

fn status(balancer: &Balancer) -> PolicySourceStatus {
    balancer.status().policy_source.expect("it has a source")
}

async fn in_force(balancer: &Balancer, name: &str, limit: Duration) {
    let took = within(limit, async || rule(balancer).as_deref() == Some(name)).await;
    match took {
        Some(took) => println!("{name} in force after {took:?}"),
        None => panic!(
            "{name} is not in force after {limit:?}: {:?}",
            status(balancer)
        ),
    }
}

/// Whether a state of the source is reached, with this rule in force all the while.
async fn kept(
    balancer: &Balancer,
    name: &str,
    limit: Duration,
    reached: impl Fn(&PolicySourceStatus) -> bool,
) {
    let took = within(limit, async || {
        assert_eq!(rule(balancer).as_deref(), Some(name));
        reached(&status(balancer))
    });
    assert!(took.await.is_some(), "{:?}", status(balancer));
}

async fn reloaded(mut store: impl Store) {
    store.put(&document("first")).await.expect("up");
    let instance = Instance::builder("a", "127.0.0.1:9")
        .build()
        .expect("legal");
    let source = StaticDiscovery::new().with_service("order", [instance]);
    let balancer = Balancer::builder(source, "order")
        .with_policy_source(store.source(), PolicyContext::new())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("a list");
    assert_eq!(
        rule(&balancer).as_deref(),
        Some("first"),
        "from the first view on"
    );

    store.put(&document("second")).await.expect("up");
    in_force(&balancer, "second", EFFECT).await;
    let epoch = balancer.status().epoch;
    let bad = json!({ "ringfence": 1, "rules": [{ "name": "bad", "kee": [] }] });
    store.put(&bad).await.expect("up");
    kept(&balancer, "second", EFFECT, |status| status.rejected == 1).await;
    let Some(PolicyFault::Invalid(error)) = status(&balancer).fault else {
        panic!("{:?}", status(&balancer));
    };
    assert!(
        error.path().starts_with("rules[0]") && error.line() == Some(1),
        "{error}"
    );
    assert_eq!(balancer.status().epoch, epoch, "nothing was swapped");
    store.delete().await.expect("up");
    let is_absent = |status: &PolicySourceStatus| status.fault == Some(PolicyFault::Absent);
    kept(&balancer, "second", EFFECT, is_absent).await;
    store.put(&document("third")).await.expect("up");
    in_force(&balancer, "third", EFFECT).await;

    store.kill().expect("running");
    let is_away = |status: &PolicySourceStatus| status.read_error.is_some();
    kept(&balancer, "third", Duration::from_secs(10), is_away).await;
    store.restart().await.expect("a server");
    store.put(&document("fourth")).await.expect("up");
    in_force(&balancer, "fourth", IN_TIME).await;
    let status = status(&balancer);
    assert!(
        status.read_error.is_none() && status.fault.is_none(),
        "{status:?}"
    );
}

#[tokio::test]
async fn of_consul() {
    reloaded(Consul::start().await.expect("a server")).await;
}

#[tokio::test]
async fn of_etcd() {
    reloaded(Etcd::start().await.expect("a server")).await;
}

#[tokio::test]
async fn of_nacos() {
    reloaded(Nacos::start().await.expect("a server")).await;
}
