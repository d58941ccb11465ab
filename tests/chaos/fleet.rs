//! Instances that are processes of their own.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    process::{Child, ChildStdin, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ringfence::Instance;

/// Echo servers in processes of their own, which keep their addresses over restarts.
#[derive(Debug)]
pub(crate) struct Fleet {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    id: String,
    address: SocketAddr,
    process: Option<Process>,
}

/// Ended with its owner.
#[derive(Debug)]
struct Process {
    child: Child,
    orders: ChildStdin,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Fleet {
    pub(crate) fn start(count: usize) -> Self {
        let free: Vec<_> = (0..count)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let members = free.iter().zip(1..).map(|(port, n)| Member {
            id: format!("echo-{n}"),
            address: port.local_addr().unwrap(),
            process: None,
        });
        let members = members.collect();
        drop(free);
        let mut fleet = Self { members };
        for place in 0..count {
            fleet.launch(place);
        }
        fleet
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn address(&self, place: usize) -> SocketAddr {
        self.members[place].address
    }

    pub(crate) fn instance(&self, place: usize) -> Instance {
        let Member { id, address, .. } = &self.members[place];
        Instance::builder(id, address.to_string()).build().unwrap()
    }

    pub(crate) fn instances(&self) -> Vec<Instance> {
        (0..self.len()).map(|place| self.instance(place)).collect()
    }

    /// Starts it, and returns when it listens.
    pub(crate) fn launch(&mut self, place: usize) {
        let member = &mut self.members[place];
        let mut child = Command::new(env!("CARGO_BIN_EXE_chaos_server"))
            .args([&member.id, &member.address.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, says) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        member.process = Some(Process { child, orders });
        let mut line = String::new();
        BufReader::new(says).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{} does not listen", member.id);
    }

    /// Ends its process at once, frozen or not, as the system does when memory is short.
    pub(crate) fn kill(&mut self, place: usize) {
        self.members[place].process = None;
    }

    /// Lets it end what runs, and waits for its end.
    pub(crate) fn stop(&mut self, place: usize) {
        self.order(place, "stop");
        if let Some(mut process) = self.members[place].process.take() {
            process.child.wait().unwrap();
        }
    }

    /// The process gets no time, and its sockets stay open.
    pub(crate) fn freeze(&self, place: usize) {
        self.signal(place, Signal::SIGSTOP);
    }

    pub(crate) fn thaw(&self, place: usize) {
        self.signal(place, Signal::SIGCONT);
    }

    fn signal(&self, place: usize, signal: Signal) {
        let process = self.members[place].process.as_ref().unwrap();
        let pid = i32::try_from(process.child.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// One of the lines that the server understands.
    pub(crate) fn order(&mut self, place: usize, line: &str) {
        let process = self.members[place].process.as_mut().unwrap();
        writeln!(process.orders, "{line}").unwrap();
    }
}
