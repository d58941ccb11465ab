//! A real Prometheus on a free port, and its HTTP interface.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Uri;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::processes::Process;

const START_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Prometheus {
    address: String,
    client: Client<HttpConnector, Empty<Bytes>>,
    _process: Process,
    _folder: TempDir,
}

impl Prometheus {
    /// With the configuration of the containers, but for what depends on where it runs.
    pub(crate) async fn start(configuration: &str, rules: &str, target: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules_file = folder.path().join("rules.yml");
        fs::write(&rules_file, rules).unwrap();
        let mut adapted = configuration.to_owned();
        for (what, here) in [
            ("/etc/prometheus/rules.yml", rules_file.to_str().unwrap()),
            ("host.docker.internal:9464", target),
            ("scrape_interval: 5s", "scrape_interval: 1s"),
            ("evaluation_interval: 5s", "evaluation_interval: 1s"),
        ] {
            assert!(adapted.contains(what), "the configuration has {what}");
            adapted = adapted.replace(what, here);
        }
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, adapted).unwrap();

        // Prometheus takes no listener, so there is a moment in which somebody else could have it; then it does not start.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let log = folder.path().join("log");
        let mut process = Process::start(
            Command::new("prometheus")
                .arg(format!("--config.file={}", file.display()))
                .arg(format!(
                    "--storage.tsdb.path={}",
                    folder.path().join("data").display()
                ))
                .arg(format!("--web.listen-address={address}"))
                .stdout(Stdio::null())
                .stderr(fs::File::create(&log).unwrap()),
        );
        let client = Client::builder(TokioExecutor::new()).build_http();
        let begun = Instant::now();
        let ready = format!("http://{address}/-/ready");
        while get(&client, &ready).await.is_none() {
            assert!(
                begun.elapsed() < START_LIMIT && process.ended().is_none(),
                "Prometheus does not start: {}",
                fs::read_to_string(&log).unwrap()
            );
            sleep(Duration::from_millis(100)).await;
        }
        Self {
            address,
            client,
            _process: process,
            _folder: folder,
        }
    }

    /// The value of each series that a query gives now.
    pub(crate) async fn query(&self, query: &str) -> Vec<f64> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.ask(&format!("/api/v1/query?query={encoded}")).await;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap();
        let values = series.iter().map(|one| one["value"][1].as_str().unwrap());
        // A division by zero is no data.
        let values = values.map(|value| value.parse::<f64>().unwrap());
        values.filter(|value| !value.is_nan()).collect()
    }

    /// Name, health and last error of each rule that was evaluated.
    pub(crate) async fn rules(&self) -> Vec<(String, String, String)> {
        let answer = self.ask("/api/v1/rules").await;
        let groups = answer["data"]["groups"].as_array().unwrap();
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap());
        let field = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        rules
            .map(|rule| {
                (
                    field(rule, "name"),
                    field(rule, "health"),
                    field(rule, "lastError"),
                )
            })
            .collect()
    }

    async fn ask(&self, path: &str) -> Value {
        let text = get(&self.client, &format!("http://{}{path}", self.address)).await;
        serde_json::from_slice(&text.expect("Prometheus answers")).unwrap()
    }
}

/// The body of an answer with 200.
async fn get(client: &Client<HttpConnector, Empty<Bytes>>, address: &str) -> Option<Bytes> {
    let response = client.get(address.parse::<Uri>().unwrap()).await.ok()?;
    let is_well = response.status().is_success();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    is_well.then_some(body)
}
