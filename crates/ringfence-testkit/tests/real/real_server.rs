use std::{
    net::{SocketAddr, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use ringfence_testkit::{
    TestCa,
    registry::{
        Consul, ConsulOptions, Etcd, EtcdCluster, EtcdOptions, Nacos, NacosOptions, RegistryServer,
    },
};
use serde_json::{Value, json};

#[tokio::test]
async fn consul_keeps_its_data_over_a_restart_and_loses_it_by_a_wipe() {
    let mut consul = Consul::start().await.unwrap();
    let service = json!({ "ID": "a", "Name": "order", "Address": "10.0.0.1", "Port": 80 });
    let (status, answer) = consul
        .request("PUT", "/v1/agent/service/register", service)
        .await
        .unwrap();
    assert_eq!(status, 200, "{answer}");
    let listed = async |consul: &Consul| {
        let (_, list) = consul
            .request("GET", "/v1/health/service/order", Value::Null)
            .await
            .unwrap();
        list.as_array().unwrap().len()
    };
    assert_eq!(listed(&consul).await, 1);
    let address = consul.address();

    consul.kill().unwrap();
    assert!(TcpStream::connect(address).is_err());
    assert!(consul.pause().is_err(), "it does not run");
    consul.restart().await.unwrap();
    assert_eq!((listed(&consul).await, consul.address()), (1, address));

    consul.wipe().await.unwrap();
    assert_eq!(listed(&consul).await, 0);
}

#[tokio::test]
async fn consul_refuses_what_a_token_does_not_allow() {
    let mut consul = Consul::start_with(ConsulOptions::default().with_acl())
        .await
        .unwrap();
    let management = consul.management_token().unwrap().to_owned();
    for _ in 0..2 {
        let [reads, writes] = [
            consul.read_only_token().await.unwrap(),
            consul.write_token().await.unwrap(),
        ];
        assert!(reads != writes && reads != management);
        let register = async |token: &str| {
            let path = format!("/v1/agent/service/register?token={token}");
            let body = json!({ "Name": "order", "Port": 80 });
            let client = Consul::request(&consul, "PUT", &path, body);
            client.await.unwrap().0
        };
        // The token in the query wins over that in the header.
        assert_eq!(register(&reads).await, 403);
        assert_eq!(register(&writes).await, 200);
        consul.wipe().await.unwrap();
    }
}

#[tokio::test]
async fn etcd_keeps_its_data_over_a_restart_and_loses_it_by_a_wipe() {
    let mut etcd = Etcd::start().await.unwrap();
    let first = etcd.put("/a/1", b"\xff\x00").await.unwrap();
    etcd.put("/a/2", "x").await.unwrap();
    etcd.stop().unwrap();
    etcd.restart().await.unwrap();
    let last = etcd.delete_prefix("/a/").await.unwrap();
    assert_eq!(last, first + 2);
    etcd.wipe().await.unwrap();
    assert!(etcd.put("/a/1", "x").await.unwrap() < last);
}

#[tokio::test]
async fn etcd_asks_for_passwords_once_told_to() {
    let mut etcd = Etcd::start_with(EtcdOptions::default().with_argument("--auth-token-ttl=5"))
        .await
        .unwrap();
    let root = etcd.enable_auth().await.unwrap();
    assert_eq!(etcd.root(), Some(&root));
    assert!(!format!("{etcd:?} {root:?}").contains(&root.password));
    etcd.put("/a/1", "x").await.unwrap();
    etcd.user("/a/", false).await.unwrap();
    etcd.wipe().await.unwrap();
    etcd.put("/a/1", "x").await.unwrap();
}

#[tokio::test]
async fn servers_speak_tls_when_told_to() {
    let ca = TestCa::new().unwrap();
    let identity = ca.server(&["localhost", "127.0.0.1"]).unwrap();
    let consul = Consul::start_with(ConsulOptions::default().with_tls(&ca, &identity, true))
        .await
        .unwrap();
    let etcd = Etcd::start_with(EtcdOptions::default().with_tls(&ca, &identity, true))
        .await
        .unwrap();
    for address in [consul.https_address(), etcd.https_address()] {
        TcpStream::connect(address).unwrap();
    }
}

#[tokio::test]
async fn three_etcd_nodes_elect_another_leader_when_theirs_is_killed() {
    let mut cluster = EtcdCluster::start().await.unwrap();
    let leader = cluster.leader().await.unwrap();
    cluster.nodes_mut()[leader].kill().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match cluster.leader().await {
            Ok(next) if next != leader => break,
            _ => assert!(Instant::now() < end, "no new leader"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let other = (leader + 1) % 3;
    cluster.nodes()[other].put("/a/1", "x").await.unwrap();
    cluster.nodes_mut()[leader].restart().await.unwrap();
    assert_eq!(cluster.urls().len(), 3);
}

#[tokio::test]
async fn a_frozen_server_answers_nothing_until_it_goes_on() {
    let etcd = Etcd::start().await.unwrap();
    etcd.pause().unwrap();
    let put = tokio::time::timeout(Duration::from_secs(1), etcd.put("/a/1", "x")).await;
    assert!(put.is_err());
    TcpStream::connect(etcd.address()).expect("the system still takes connections");
    etcd.resume().unwrap();
    etcd.put("/a/1", "x").await.unwrap();
    // Frozen servers can be ended too.
    etcd.pause().unwrap();
}

#[tokio::test]
async fn nacos_takes_instances_and_forgets_them_by_a_wipe() {
    let mut nacos = Nacos::start().await.unwrap();
    let instance = "serviceName=order&ip=10.0.0.1&port=80&ephemeral=true";
    for _ in 0..2 {
        let (status, answer) = nacos
            .request("POST", "/nacos/v1/ns/instance", instance)
            .await
            .unwrap();
        assert_eq!(status, 200, "{answer}");
        let list = nacos
            .request("GET", "/nacos/v1/ns/instance/list", "serviceName=order")
            .await
            .unwrap()
            .1;
        assert_eq!(list["hosts"].as_array().map(Vec::len), Some(1), "{list}");
        nacos.wipe().await.unwrap();
        let list = nacos
            .request("GET", "/nacos/v1/ns/instance/list", "serviceName=order")
            .await
            .unwrap()
            .1;
        assert_eq!(list["hosts"].as_array().map_or(0, Vec::len), 0, "{list}");
    }
}

#[tokio::test]
async fn a_new_nacos_keeps_a_configuration_from_the_start() {
    const CONFIGURATIONS: &str = "/nacos/v1/cs/configs";
    let mut nacos = Nacos::start().await.unwrap();
    // Some in a hundred starts of rnacos fail inside, so one says little.
    for round in 0..20 {
        let form = format!("dataId=policy&group=DEFAULT_GROUP&content=round-{round}");
        let (status, _) = nacos.request("POST", CONFIGURATIONS, &form).await.unwrap();
        assert_eq!(status, 200);
        let read = nacos
            .request("GET", CONFIGURATIONS, "dataId=policy&group=DEFAULT_GROUP")
            .await
            .unwrap();
        assert_eq!(
            read,
            (200, json!(format!("round-{round}"))),
            "{}",
            nacos.log()
        );
        nacos.wipe().await.unwrap();
    }
}

#[tokio::test]
async fn nacos_asks_for_a_login_when_told_to() {
    let mut nacos = Nacos::start_with(NacosOptions::default().with_auth())
        .await
        .unwrap();
    for _ in 0..2 {
        nacos.access_token().await.unwrap();
        let list = nacos
            .request("GET", "/nacos/v1/ns/instance/list", "serviceName=order")
            .await
            .unwrap();
        assert_eq!(list.0, 200, "{list:?}");
        nacos.restart().await.unwrap();
        nacos.access_token().await.unwrap();
        nacos.wipe().await.unwrap();
    }
}

/// Runs only as the other process of the test below.
#[tokio::test]
#[ignore = "waits to be killed"]
async fn waits_to_be_killed() {
    let etcd = Etcd::start().await.unwrap();
    println!("{}", etcd.address());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_test_that_is_killed_leaves_no_server_and_no_folder() {
    use std::io::{BufRead as _, BufReader};
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--nocapture",
            "--exact",
            "real_server::waits_to_be_killed",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let address = BufReader::new(other.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.rsplit(' ').next()?.parse::<SocketAddr>().ok())
        .unwrap();
    TcpStream::connect(address).unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < end, "the server outlived its test");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_server_ends_with_its_handle() {
    let etcd = Etcd::start().await.unwrap();
    let address = etcd.address();
    drop(etcd);
    assert!(TcpStream::connect(address).is_err());
}
