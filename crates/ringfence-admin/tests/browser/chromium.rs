//! A Chromium with its driver, which both end with the test, however it ends.

use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fantoccini::{Client, ClientBuilder, Locator, elements::Element, wd::Capabilities};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Time for anything that a page does by itself, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Chromium {
    pub(crate) page: Client,
    /// The session at the driver, for what is not in the standard.
    session: String,
    http: HttpClient<HttpConnector, Full<bytes::Bytes>>,
    _driver: Driver,
}

impl Chromium {
    pub(crate) async fn start() -> Self {
        let (driver, address) = Driver::start().await;
        let profile = driver.profile.path().display();
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            format!("--user-data-dir={profile}"),
        ];
        let capabilities = json!({
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": arguments },
        });
        let Value::Object(capabilities) = capabilities else {
            panic!("it is an object");
        };
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(Capabilities::from_iter(capabilities))
            .connect(&address)
            .await
            .expect("chromedriver starts Chromium");
        let id = page
            .session_id()
            .await
            .expect("it answers")
            .expect("there is a session");
        let chromium = Self {
            page,
            session: format!("{address}/session/{id}"),
            http: HttpClient::builder(TokioExecutor::new()).build_http(),
            _driver: driver,
        };
        // What a new browser has open is not the page's: it asks for it, and logs that.
        chromium.open("about:blank").await;
        for kind in ["browser", "performance"] {
            chromium.command("se/log", json!({ "type": kind })).await;
        }
        chromium.resize(1280, 900).await;
        chromium
    }

    /// A command of Chromium's driver that the standard has not.
    async fn command(&self, path: &str, body: Value) -> Value {
        let request = http::Request::post(format!("{}/{path}", self.session))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .expect("legal");
        let answer = self
            .http
            .request(request)
            .await
            .expect("the driver answers");
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("whole")
            .to_bytes();
        let mut body: Value = serde_json::from_slice(&body).expect("JSON");
        body["value"].take()
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.command("goog/cdp/execute", body).await
    }

    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    pub(crate) async fn open(&self, address: &str) {
        self.page.goto(address).await.expect("the page loads");
    }

    /// What a function body returns.
    pub(crate) async fn eval(&self, script: &str) -> Value {
        let evaluated = self.page.execute(script, Vec::new()).await;
        evaluated.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    pub(crate) async fn text(&self, css: &str) -> String {
        let script = format!(
            "const found = document.querySelector({css:?}); return found ? found.textContent : '';"
        );
        self.eval(&script)
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) async fn element(&self, css: &str) -> Element {
        let found = self.page.find(Locator::Css(css)).await;
        found.unwrap_or_else(|error| panic!("{css}: {error}"))
    }

    /// Types a key into the box and has it explained.
    pub(crate) async fn explain(&self, key: &str) {
        self.element("#key")
            .await
            .send_keys(key)
            .await
            .expect("it can be typed into");
        let button = self.element("#explain button[type=submit]").await;
        button.click().await.expect("it can be pressed");
        self.until("document.querySelector('#answer')").await;
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, expression: &str) {
        let started = Instant::now();
        let script = format!("return Boolean({expression})");
        while self.eval(&script).await != true {
            if started.elapsed() > PATIENCE {
                let page = self.eval("return document.body.innerText").await;
                panic!(
                    "it never came to {expression}; the page says:\n{}",
                    page.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Nothing of the page failed, and it asked nobody but its own server. Where `RINGFENCE_SCREENSHOTS` names a folder, what is shown is
    /// saved there, for people.
    pub(crate) async fn judge(&self, origin: &str) {
        if let Some(folder) = env::var_os("RINGFENCE_SCREENSHOTS") {
            let thread = thread::current();
            let name = thread.name().unwrap_or("page").replace("::", "-");
            let image = self.page.screenshot().await.expect("it is taken");
            fs::write(Path::new(&folder).join(name).with_extension("png"), image)
                .expect("it can be saved");
        }
        let said = self.command("se/log", json!({ "type": "browser" })).await;
        assert_eq!(said, json!([]), "the console is empty");
        let events = self
            .command("se/log", json!({ "type": "performance" }))
            .await;
        let mut asked = 0;
        for event in events.as_array().expect("a list") {
            let event: Value =
                serde_json::from_str(event["message"].as_str().expect("text")).expect("JSON");
            let (method, of) = (&event["message"]["method"], &event["message"]["params"]);
            if *method == "Network.requestWillBeSent" {
                let url = of["request"]["url"].as_str().expect("text");
                let is_own = url.starts_with(origin) || url.starts_with("data:");
                assert!(is_own, "it asked for {url}");
                asked += 1;
            } else if *method == "Network.responseReceived" {
                let status = of["response"]["status"].as_u64().expect("a number");
                assert!(status < 400, "{of}");
            } else if *method == "Network.loadingFailed" {
                // What was under way when the page was left, or reloaded.
                assert_eq!(of["canceled"], true, "{of}");
            }
        }
        assert!(asked > 0, "the log tells of the requests");
    }
}

/// A chromedriver on a port of its own.
struct Driver {
    process: Child,
    profile: tempfile::TempDir,
}

impl Driver {
    async fn start() -> (Self, String) {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is there: apt-get install chromium-driver");
        let output = process.stdout.take().expect("it is piped");
        let driver = Self {
            process,
            profile: tempfile::tempdir().expect("a folder"),
        };
        let output = tokio::process::ChildStdout::from_std(output).expect("a pipe");
        let mut lines = BufReader::new(output).lines();
        let port = async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some((_, port)) = line.split_once("started successfully on port ") {
                    return port.trim_end_matches('.').to_owned();
                }
            }
            panic!("chromedriver ended before it listened");
        };
        let port = tokio::time::timeout(PATIENCE, port)
            .await
            .expect("chromedriver listens");
        (driver, format!("http://127.0.0.1:{port}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Whom it has started is known before it is ended: afterwards they are somebody else's children.
        let mut all = descendants(self.process.id());
        all.reverse();
        let _ = self.process.kill();
        let _ = self.process.wait();
        for pid in all {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

/// The processes below one, parents first.
fn descendants(of: u32) -> Vec<Pid> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Behind the name, which may have anything in it: the state, and the parent.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let parent = behind
            .split_whitespace()
            .nth(1)
            .and_then(|parent| parent.parse::<i32>().ok());
        parents.extend(parent.map(|parent| (parent, pid)));
    }
    let mut found = vec![i32::try_from(of).unwrap_or(i32::MAX)];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|(of, _)| *of == parent)
                .map(|(_, pid)| *pid),
        );
        next += 1;
    }
    found.into_iter().skip(1).map(Pid::from_raw).collect()
}
