//! Four servers in a process of their own, on a core of their own where there are two.

use std::{
    env,
    error::Error,
    io::{BufRead as _, BufReader},
    pin::Pin,
    process::{Child, Command, Stdio},
    thread,
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::Pid,
};
use ringfence_echo::{
    EchoRequest, EchoResponse,
    pb::echo_server::{Echo, EchoServer},
};
use tokio::{net::TcpListener, runtime::Builder};
use tokio_stream::{Stream, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, Streaming, transport};

const SERVERS: usize = 4;

/// The process; it ends with this.
pub(crate) struct Server {
    process: Child,
    pub(crate) ports: Vec<u16>,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let ports = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<Vec<u16>, _>>()?;
        if ports.len() != SERVERS {
            return Err(format!("the servers did not start: {line:?}").into());
        }
        Ok(Self { process, ports })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Keeps this thread to one core, where there are several.
pub(crate) fn keep_to_core(core: usize) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if core >= cores.max(2) || cores < 2 {
        return;
    }
    let mut set = CpuSet::new();
    if set.set(core).is_err() || sched_setaffinity(Pid::from_raw(0), &set).is_err() {
        eprintln!("cannot keep to core {core}; figures are noisier");
    }
}

pub(crate) fn keep_to_all_cores() {
    let mut set = CpuSet::new();
    for core in 0..CpuSet::count() {
        let _ = set.set(core);
    }
    let _ = sched_setaffinity(Pid::from_raw(0), &set);
}

/// Serves until the input ends.
pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    keep_to_core(0);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut ports = Vec::new();
        for _ in 0..SERVERS {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            ports.push(listener.local_addr()?.port().to_string());
            let server = transport::Server::builder()
                .tcp_nodelay(true)
                .add_service(EchoServer::new(Echoing))
                .serve_with_incoming(TcpListenerStream::new(listener));
            tokio::spawn(server);
        }
        println!("{}", ports.join(" "));
        let (ended, end) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = ended.send(());
        });
        end.await?;
        Ok(())
    })
}

struct Echoing;

type Answers = Pin<Box<dyn Stream<Item = Result<EchoResponse, Status>> + Send>>;

#[tonic::async_trait]
impl Echo for Echoing {
    type ServerStreamStream = Answers;
    type BidiStreamStream = Answers;

    async fn unary(&self, request: Request<EchoRequest>) -> Result<Response<EchoResponse>, Status> {
        Ok(Response::new(EchoResponse {
            payload: request.into_inner().payload,
            ..EchoResponse::default()
        }))
    }

    async fn server_stream(&self, _: Request<EchoRequest>) -> Result<Response<Answers>, Status> {
        Err(Status::unimplemented("only unary calls are measured"))
    }

    async fn client_stream(
        &self,
        _: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<EchoResponse>, Status> {
        Err(Status::unimplemented("only unary calls are measured"))
    }

    async fn bidi_stream(
        &self,
        _: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Answers>, Status> {
        Err(Status::unimplemented("only unary calls are measured"))
    }
}
