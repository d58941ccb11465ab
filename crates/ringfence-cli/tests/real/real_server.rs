//! What `ringfence` shows of a service in Consul, Nacos and etcd.

mod running;
#[path = "../common/watch.rs"]
mod watch;

use std::{collections::BTreeSet, time::Duration};

use ringfence::{Balancer, Instance, PickRequest};
use ringfence_testkit::registry::{Consul, ConsulOptions, Etcd, Nacos, NacosOptions};
use ringfence_tests::{
    client::service,
    registry::{OnConsul, OnEtcd, OnNacos, Registry},
};
use serde_json::{Value, json};

use self::{
    running::{Run, command},
    watch::{Signal, Watch},
};

/// From a change in the registry to the line that tells of it.
const SEEN: Duration = Duration::from_secs(15);

fn order(n: u16) -> Instance {
    let address = format!("127.0.0.1:{}", 9_000 + n);
    let instance = Instance::builder(format!("order-{n}"), address).build();
    instance.expect("legal")
}

/// Waits until the registry itself lists so many.
async fn listed(registry: &impl Registry, count: usize) {
    for _ in 0..500 {
        if registry.listed().await.is_ok_and(|ids| ids.len() == count) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the registry never listed {count}");
}

async fn joins_and_leaves_are_watched<R: Registry>(url: impl Fn(&R) -> String) {
    let mut registry = R::start().await.expect("a server");
    for n in 1..=2 {
        registry.put(&order(n)).await.expect("up");
    }
    listed(&registry, 2).await;
    let args = format!("watch --format json --instances {}", url(&registry));
    let mut watch = Watch::start(command(&args, &[]));
    let is_present = |line: &Value| line["event"] == "present";
    let present: BTreeSet<String> = [(); 2]
        .map(|()| {
            watch.until(SEEN, is_present)["instance"]["id"]
                .as_str()
                .expect("an id")
                .to_owned()
        })
        .into();
    assert!(present.iter().eq(["order-1", "order-2"]), "{present:?}");

    registry.put(&order(3)).await.expect("up");
    let added = watch.until(SEEN, |line| line["event"] == "added");
    assert_eq!(added["instance"]["id"], "order-3");
    assert_eq!(added["instance"]["address"], "127.0.0.1:9003");
    let ring = watch.until(SEEN, |line| line["event"] == "ring");
    let moved = ring["ring"]["moved_share"].as_f64().expect("a share");
    assert!((0.25..0.42).contains(&moved), "a third: {ring}");

    registry.remove(&order(1)).await.expect("up");
    let removed = watch.until(SEEN, |line| line["event"] == "removed");
    assert_eq!(removed["instance"]["id"], "order-1");

    // An outage is a state, and ends nothing.
    registry.server().kill().expect("running");
    let away = watch.until(Duration::from_secs(40), |line| {
        line["event"] == "registry" && line["registry"] != "in contact"
    });
    assert!(
        away["registry"].as_str().expect("a text").contains("away"),
        "{away}"
    );
    assert!(watch.is_running());
    let (code, err) = watch.end(Signal::SIGINT);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

async fn one_look_tells_what_clients_do<R: Registry>(url: impl Fn(&R) -> String) {
    let mut registry = R::start().await.expect("a server");
    for n in 1..=3 {
        registry.put(&order(n)).await.expect("up");
    }
    listed(&registry, 3).await;
    let at = url(&registry);

    let balancer = Balancer::builder(registry.discovery().expect("set up"), service())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("a list");
    let fingerprint = balancer.status().fingerprint.expect("a ring").to_string();
    for key in ["user-1", "user-7", "user-88", "user-1024"] {
        let told = Run::of(&format!(
            "explain --key {key} --format json --instances {at}"
        ))
        .json();
        let decision = balancer
            .pick(&PickRequest::new().with_key(key))
            .expect("up");
        let picked: Vec<&str> = decision
            .candidates()
            .map(|c| c.instance().id().as_str())
            .collect();
        assert_eq!(told["candidates"], json!(picked), "{told}");
        assert_eq!(told["final"]["id"], picked[0]);
        assert_eq!(told["fingerprint"], fingerprint);
    }

    let seen = Run::of(&format!("inspect --format json --instances {at}")).json();
    let ids: Vec<&Value> = seen["instances"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|i| &i["instance"])
        .collect();
    assert_eq!(ids, ["order-1", "order-2", "order-3"]);
    assert_eq!(
        (&seen["fingerprint"], &seen["origin"]),
        (&json!(fingerprint), &json!(R::NAME.to_lowercase()))
    );

    let once = Run::of(&format!("watch --once --instances {at}")).out();
    assert!(
        once.contains("order-3") && once.contains("in contact"),
        "{once}"
    );
    let dump = Run::of(&format!("dump --instances {at}")).json();
    assert_eq!(dump["fingerprint"], json!(fingerprint));
    let plan = Run::of(&format!("plan --format json --instances {at}")).json();
    assert_eq!(plan["fingerprint"], json!(fingerprint));

    let report = Run::of(&format!("report - --instances {at}")).out();
    for id in ["order-1", "order-2", "order-3"] {
        assert!(report.contains(&format!("remove {id}")), "{report}");
    }
    assert!(report.contains(&fingerprint) && !report.contains("src="));

    registry.server().kill().expect("running");
    let fault = Run::of(&format!("inspect --instances {at}"));
    assert_eq!((fault.code, fault.out.as_str()), (Some(3), ""));
    assert!(fault.err.starts_with("ringfence: "), "{}", fault.err);
}

fn consul(registry: &OnConsul) -> String {
    format!(
        "consul://{}/{}",
        registry.consul().address(),
        service().name()
    )
}

fn nacos(registry: &OnNacos) -> String {
    format!(
        "nacos://{}/{}",
        registry.nacos().address(),
        service().name()
    )
}

fn etcd(registry: &OnEtcd) -> String {
    format!("etcd://{}/{}", registry.etcd().address(), service().name())
}

#[tokio::test(flavor = "multi_thread")]
async fn consul_is_watched() {
    joins_and_leaves_are_watched(consul).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nacos_is_watched() {
    joins_and_leaves_are_watched(nacos).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_watched() {
    joins_and_leaves_are_watched(etcd).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consul_is_explained_and_reported() {
    one_look_tells_what_clients_do(consul).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nacos_is_explained_and_reported() {
    one_look_tells_what_clients_do(nacos).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_explained_and_reported() {
    one_look_tells_what_clients_do(etcd).await;
}

/// Without the credentials of the environment each registry shows nothing, and they are in no output.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_come_from_the_environment_and_from_files() {
    let consul = Consul::start_with(ConsulOptions::default().with_acl());
    let consul = consul.await.expect("a server");
    let token = consul.read_only_token().await.expect("a token");
    let order = json!({ "ID": "order-1", "Name": "order", "Address": "127.0.0.1", "Port": 9_001 });
    let path = "/v1/agent/service/register";
    let (status, _) = consul.request("PUT", path, order).await.expect("up");
    assert_eq!(status, 200);
    let nacos = Nacos::start_with(NacosOptions::default().with_auth());
    let nacos = nacos.await.expect("a server");
    let admin = nacos.admin().expect("it has one");
    let mut etcd = Etcd::start().await.expect("a server");
    etcd.enable_auth().await.expect("up");
    let reader = etcd.user("/ringfence/", false).await.expect("up");

    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    let (of_admin, of_reader) = (
        format!("{}:{}", admin.user, admin.password),
        format!("{}:{}", reader.user, reader.password),
    );
    write("consul-reader", &token);
    write("nacos-reader", &of_admin);
    write("etcd-reader", &of_reader);
    let files = vec![(
        "RINGFENCE_CREDENTIALS",
        folder.path().to_str().expect("UTF-8"),
    )];

    let of_consul = format!("inspect --instances consul://{}/order", consul.address());
    let of_nacos = format!("inspect --instances nacos://{}/order", nacos.address());
    let of_etcd = format!("inspect --instances etcd://{}/order", etcd.address());
    for (args, variables, secret) in [
        (of_consul, vec![("CONSUL_HTTP_TOKEN", &*token)], &*token),
        (
            of_nacos,
            vec![
                ("NACOS_USERNAME", &*admin.user),
                ("NACOS_PASSWORD", &*admin.password),
            ],
            &*admin.password,
        ),
        (
            of_etcd,
            vec![("ETCDCTL_USER", &*of_reader)],
            &*reader.password,
        ),
    ] {
        let has_seen = |given: &[(&str, &str)]| {
            let ran = Run::with(&args, given);
            assert!(
                !ran.out.contains(secret) && !ran.err.contains(secret),
                "{args}"
            );
            // Consul shows an empty list to whoever may not read it, so that it needs an instance; the others refuse.
            match args.contains("consul") {
                true => ran.code == Some(0) && ran.out.contains("order-1"),
                false => ran.err.contains("no instance of `order` is listed"),
            }
        };
        assert!(!has_seen(&[]), "{args}");
        assert!(has_seen(&variables), "{args}");
        assert!(has_seen(&files), "{args}");
    }
}
