//! An Envoy beside the client, with a ring over the servers.

use std::{
    env,
    error::Error,
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use super::{client::KEY_HEADER, server::keep_to_core};

/// Names the binary.
const BINARY: &str = "RINGFENCE_ENVOY";
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// The process; it ends with this.
pub(crate) struct Envoy {
    process: Child,
    pub(crate) port: u16,
    _folder: TempDir,
}

impl Envoy {
    /// `None` where no binary is named.
    pub(crate) fn start(servers: &[u16]) -> Result<Option<Self>, Box<dyn Error>> {
        let Some(binary) = env::var_os(BINARY) else {
            eprintln!("{BINARY} names no Envoy: its rows are left out");
            return Ok(None);
        };
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("envoy.json");
        fs::write(&path, config(port, servers).to_string())?;
        // It stays where this thread is when it starts: on the servers' core.
        keep_to_core(0);
        let process = Command::new(binary)
            .arg("--config-path")
            .arg(&path)
            .args([
                "--concurrency",
                "1",
                "--use-dynamic-base-id",
                "--log-level",
                "error",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let mut envoy = Self {
            process,
            port,
            _folder: folder,
        };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = envoy.process.try_wait()? {
                return Err(format!("Envoy ended: {status}").into());
            }
            if start.elapsed() > STARTS_WITHIN {
                return Err("Envoy does not listen".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(envoy))
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn config(port: u16, servers: &[u16]) -> serde_json::Value {
    let address =
        |port: u16| json!({ "socket_address": { "address": "127.0.0.1", "port_value": port } });
    let endpoints: Vec<_> = servers
        .iter()
        .map(|port| json!({ "endpoint": { "address": address(*port) } }))
        .collect();
    let http2 = json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": { "http2_protocol_options": {} },
        },
    });
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
    });
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "bench",
        "codec_type": "HTTP2",
        "route_config": {
            "virtual_hosts": [{
                "name": "echo",
                "domains": ["*"],
                "routes": [{
                    "match": { "prefix": "/" },
                    "route": { "cluster": "echo", "hash_policy": [{ "header": { "header_name": KEY_HEADER } }] },
                }],
            }],
        },
        "http_filters": [router],
    });
    json!({
        "static_resources": {
            "listeners": [{
                "address": address(port),
                "filter_chains": [{
                    "filters": [{
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": manager,
                    }],
                }],
            }],
            "clusters": [{
                "name": "echo",
                "type": "STATIC",
                "lb_policy": "RING_HASH",
                "typed_extension_protocol_options": http2,
                "load_assignment": {
                    "cluster_name": "echo",
                    "endpoints": [{ "lb_endpoints": endpoints }],
                },
            }],
        },
    })
}
