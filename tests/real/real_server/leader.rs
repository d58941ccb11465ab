//! Three etcd nodes whose leader fails while instances change, under traffic.

use std::{collections::BTreeMap, time::Duration};

use ringfence::Balancer;
use ringfence_etcd::{EtcdConfig, EtcdDiscovery};
use ringfence_testkit::registry::{EtcdCluster, RegistryServer as _, connections};
use ringfence_tests::{client::service, fleet::Fleet, registry::OnEtcd};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};

use super::{IN_TIME, traffic::Traffic};

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Every tenth update adds an instance, the others change a weight.
const UPDATES: u32 = 120;
const PAUSE: Duration = Duration::from_millis(100);

/// Something that etcd acknowledged. Weights only rise, so a view that is further has seen it.
#[derive(Clone, Debug)]
struct Update {
    id: String,
    weight: u32,
    acknowledged: Instant,
}

/// Writes to the nodes that work, and knows what they acknowledged.
struct Writer {
    cluster: EtcdCluster,
    broken: Option<usize>,
    fleet: Fleet,
    truth: BTreeMap<String, u32>,
    auditors: Vec<UnboundedSender<Update>>,
}

impl Writer {
    /// Puts an instance by whichever node takes it.
    async fn put(&mut self, id: &str, weight: u32) {
        let instance = self.fleet.instance(id).weight(weight);
        let instance = instance.build().expect("legal");
        let (key, value) = (OnEtcd::key(&instance), OnEtcd::value(&instance));
        let end = Instant::now() + Duration::from_secs(20);
        let mut nodes = (0..3).cycle();
        loop {
            let node = nodes.next().expect("endless");
            if Some(node) == self.broken {
                continue;
            }
            match self.cluster.nodes()[node].put(&key, &value).await {
                Ok(_) => break,
                Err(error) => assert!(Instant::now() < end, "no node takes `{id}`: {error}"),
            }
            sleep(Duration::from_millis(50)).await;
        }
        let update = Update {
            id: id.to_owned(),
            weight,
            acknowledged: Instant::now(),
        };
        self.truth.insert(update.id.clone(), weight);
        for auditor in &self.auditors {
            auditor.send(update.clone()).expect("it listens");
        }
    }

    async fn update(&mut self, numbers: std::ops::Range<u32>) {
        for number in numbers {
            if number % 10 == 9 {
                self.put(&format!("new-{}", number / 10), 100).await;
            } else {
                let id = IDS[number as usize % IDS.len()];
                self.put(id, 101 + number).await;
            }
            sleep(PAUSE).await;
        }
    }

    /// What a node that works has now: ids and weights.
    async fn stored(&self) -> BTreeMap<String, u32> {
        let node = (0..3).find(|node| Some(*node) != self.broken);
        let node = &self.cluster.nodes()[node.expect("two of them work")];
        let records = OnEtcd::records(node).await.expect("it works");
        let weight = |value: &serde_json::Value| value["weight"].as_u64();
        let weight = |value| weight(value).and_then(|weight| u32::try_from(weight).ok());
        let records = records.iter();
        records
            .map(|(id, value)| (id.clone(), weight(value).expect("a weight")))
            .collect()
    }

    /// Clients on default settings, of which at least one watches by the leader and one by another node.
    async fn clients(&self, leader: usize) -> Vec<Balancer> {
        let address = self.cluster.nodes()[leader].address();
        let before = connections(address).expect("Linux");
        let mut clients = Vec::new();
        loop {
            let source = EtcdDiscovery::new(EtcdConfig::new(self.cluster.urls())).expect("legal");
            let balancer = Balancer::builder(source, service());
            let balancer = balancer.build().expect("in a runtime");
            balancer.ready().await.expect("all nodes work");
            clients.push(balancer);
            let by_leader = connections(address).expect("Linux") - before;
            if (1..clients.len()).contains(&by_leader) {
                println!("{by_leader} of {} clients sit on the leader", clients.len());
                return clients;
            }
            assert!(clients.len() < 50, "which node is first is drawn");
        }
    }
}

fn seen(balancer: &Balancer) -> BTreeMap<String, u32> {
    let view = balancer.view();
    let instances = view.iter().flat_map(|view| view.snapshot().instances());
    instances
        .map(|instance| (instance.id().to_string(), instance.weight().get()))
        .collect()
}

/// Sees to it that each update shows in time, and returns how late the latest was.
async fn audit(
    balancer: Balancer,
    mut updates: UnboundedReceiver<Update>,
    limit: Duration,
) -> Duration {
    let mut latest = Duration::ZERO;
    while let Some(update) = updates.recv().await {
        let shown = async {
            let behind = |weight: &u32| *weight < update.weight;
            while seen(&balancer).get(&update.id).is_none_or(behind) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = timeout_at(update.acknowledged + limit, shown).await;
        assert!(
            in_time.is_ok(),
            "{update:?} is lost after {limit:?}: {:?}",
            balancer.status()
        );
        latest = latest.max(update.acknowledged.elapsed());
    }
    latest
}

/// What is done to the leader, and how it comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Killed,
    Frozen,
}

async fn leader_fails(fault: Fault, limit: Duration) {
    let cluster = EtcdCluster::start().await.expect("etcd");
    let added = (0..UPDATES / 10).map(|n| format!("new-{n}"));
    let all = IDS.map(str::to_owned).into_iter().chain(added);
    let mut writer = Writer {
        cluster,
        broken: None,
        fleet: Fleet::start(all).await,
        truth: BTreeMap::new(),
        auditors: Vec::new(),
    };
    for id in IDS {
        writer.put(id, 100).await;
    }
    let leader = writer.cluster.leader().await.expect("a leader");
    let clients = writer.clients(leader).await;
    let mut audits = JoinSet::new();
    for client in &clients {
        let (sender, receiver) = unbounded_channel();
        writer.auditors.push(sender);
        audits.spawn(audit(client.clone(), receiver, limit));
    }
    let traffic = Traffic::start(&clients);

    writer.update(0..29).await;
    match fault {
        Fault::Killed => writer.cluster.nodes_mut()[leader].kill().expect("killed"),
        Fault::Frozen => writer.cluster.nodes()[leader].pause().expect("frozen"),
    }
    writer.broken = Some(leader);
    let broken = Instant::now();
    // An attempt that etcd gave up may still be made when the leader is back: it adds what nothing changes later.
    writer.update(29..30).await;
    println!("{fault:?}: an update after {:.1?}", broken.elapsed());
    writer.update(30..80).await;
    if fault == Fault::Frozen {
        sleep(Duration::from_secs(20).saturating_sub(broken.elapsed())).await;
        writer.cluster.nodes()[leader].resume().expect("thawed");
    } else {
        let node = &mut writer.cluster.nodes_mut()[leader];
        node.restart().await.expect("back");
    }
    writer.update(80..UPDATES).await;

    // Without anybody who writes, the auditors end with the last update.
    writer.auditors.clear();
    let late = audits.join_all().await;
    println!("{fault:?}: each view's latest update was {late:.1?} late");
    assert_eq!(writer.stored().await, writer.truth, "etcd lost something");
    for client in &clients {
        assert_eq!(seen(client), writer.truth, "{:?}", client.status());
    }
    let tally = traffic.end().await;
    println!("{fault:?}: {tally}");
    tally.assert_flawless();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_and_no_update_is_lost_when_the_leader_is_killed() {
    leader_fails(Fault::Killed, IN_TIME).await;
}

/// A watch on the frozen node is given up after 12 s of silence and 3 s without an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_and_no_update_is_lost_when_the_leader_is_frozen() {
    leader_fails(Fault::Frozen, IN_TIME + Duration::from_secs(15)).await;
}
