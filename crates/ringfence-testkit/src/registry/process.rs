use std::{
    ffi::OsString,
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use super::program;

/// Stands between a test and its server, in a process group of its own. It ends the server when the test closes the pipe,
/// which the system does for a test that was killed; the folder goes too unless the test says that it takes care of it.
const GUARD: &str = r#"
log=$1 folder=$2; shift 2
"$@" </dev/null >>"$log" 2>&1 &
echo $!; exec >&-
read -r keep
kill -9 $! 2>/dev/null; wait
[ "$keep" = keep ] || rm -rf -- "$folder"
"#;

/// A server's program, its private folder, and its process while it runs.
#[derive(Debug)]
pub(super) struct Server {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    running: Option<Running>,
    // After the process, which is dropped before.
    folder: TempDir,
}

#[derive(Debug)]
struct Running {
    guard: Child,
    stop: ChildStdin,
    pid: Pid,
}

impl Server {
    pub(super) fn new(name: &'static str) -> io::Result<Self> {
        Ok(Self {
            name,
            program: program(name)?,
            arguments: Vec::new(),
            variables: Vec::new(),
            running: None,
            folder: tempfile::Builder::new()
                .prefix(&format!("ringfence-{name}-"))
                .tempdir()?,
        })
    }

    pub(super) fn arguments<A: Into<OsString>>(&mut self, arguments: impl IntoIterator<Item = A>) {
        self.arguments = arguments.into_iter().map(Into::into).collect();
    }

    pub(super) fn variable(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Where it keeps its data.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file for it, which a wipe leaves alone.
    pub(super) fn file(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts it, if it does not run.
    pub(super) fn launch(&mut self) -> io::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        fs::create_dir_all(self.data())?;
        let mut guard = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard"])
            .args([self.log_path().as_path(), self.folder.path()])
            .arg(&self.program)
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let broken = || io::Error::other("the guard of a server has no pipes");
        let stop = guard.stdin.take().ok_or_else(broken)?;
        let mut line = String::new();
        BufReader::new(guard.stdout.take().ok_or_else(broken)?).read_line(&mut line)?;
        let pid = line.trim().parse().map_err(io::Error::other)?;
        self.running = Some(Running {
            guard,
            stop,
            pid: Pid::from_raw(pid),
        });
        Ok(())
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        let Some(Running {
            mut guard,
            mut stop,
            ..
        }) = self.running.take()
        else {
            return Ok(());
        };
        // A guard that is gone already reads nothing.
        let _ = stop.write_all(b"keep\n");
        drop(stop);
        guard.wait().map(drop)
    }

    pub(super) fn stop(&mut self) -> io::Result<()> {
        if self.running.is_none() {
            return Ok(());
        }
        self.signal(Signal::SIGTERM)?;
        let end = Instant::now() + Duration::from_secs(10);
        while self.lives() && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        self.kill()
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let running = self
            .running
            .as_ref()
            .ok_or_else(|| io::Error::other(format!("{} does not run", self.name)))?;
        Ok(kill(running.pid, signal)?)
    }

    /// Whether it runs. Its guard lets it be a zombie, so its number is nobody else's.
    pub(super) fn lives(&self) -> bool {
        self.running.as_ref().is_some_and(|running| {
            fs::read_to_string(format!("/proc/{}/stat", running.pid))
                .ok()
                .and_then(|stat| Some(stat.rsplit_once(')')?.1.trim_start().starts_with('Z')))
                == Some(false)
        })
    }

    /// Takes its data away; it must not run.
    pub(super) fn wipe(&self) -> io::Result<()> {
        remove(&self.data())
    }

    pub(super) fn log(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let tail = log.len().saturating_sub(4_000);
        String::from_utf8_lossy(log.get(tail..).unwrap_or_default()).into_owned()
    }

    /// Waits until `probe` says yes.
    pub(super) async fn ready<F>(&self, mut probe: impl FnMut() -> F) -> io::Result<()>
    where
        F: Future<Output = bool>,
    {
        let end = Instant::now() + Duration::from_secs(60);
        while self.lives() {
            if probe().await {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(self.failure("is not ready after 60 s"));
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        Err(self.failure("ended at once"))
    }

    fn failure(&self, what: &str) -> io::Error {
        io::Error::other(format!(
            "{} {what}; its log ends with:\n{}",
            self.name,
            self.log()
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.kill();
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The methods of [`RegistryServer`](super::RegistryServer) that are the same for every server: they concern its process, the
/// field `server`, and its own `launch`.
macro_rules! on_its_process {
    () => {
        fn kill(&mut self) -> std::io::Result<()> {
            self.server.kill()
        }

        fn stop(&mut self) -> std::io::Result<()> {
            self.server.stop()
        }

        fn pause(&self) -> std::io::Result<()> {
            self.server.signal(nix::sys::signal::Signal::SIGSTOP)
        }

        fn resume(&self) -> std::io::Result<()> {
            self.server.signal(nix::sys::signal::Signal::SIGCONT)
        }

        fn restart(&mut self) -> ringfence_discovery::BoxFuture<'_, std::io::Result<()>> {
            Box::pin(async {
                self.server.kill()?;
                self.launch().await
            })
        }

        fn log(&self) -> String {
            self.server.log()
        }
    };
}
pub(super) use on_its_process;
