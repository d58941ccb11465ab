use std::io;

use serde_json::json;

use super::{Etcd, EtcdOptions, etcd::Ports, etcd_api::number};

/// Three etcd nodes of one cluster.
#[derive(Debug)]
pub struct EtcdCluster {
    nodes: Vec<Etcd>,
}

impl EtcdCluster {
    /// Starts three nodes and waits until all are ready.
    ///
    /// # Errors
    /// When there is no etcd on this machine, or one does not become ready.
    pub async fn start() -> io::Result<Self> {
        let ports = [Ports::claim()?, Ports::claim()?, Ports::claim()?];
        let members: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(at, ports)| format!("n{at}={}", ports.peer_url()))
            .collect();
        let members = members.join(",");
        let mut nodes = Vec::new();
        for (at, ports) in ports.into_iter().enumerate() {
            let mut node =
                Etcd::prepare(&format!("n{at}"), ports, &members, EtcdOptions::default())?;
            // None becomes ready before the others are there.
            node.begin()?;
            nodes.push(node);
        }
        for node in &nodes {
            node.ready().await?;
        }
        Ok(Self { nodes })
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Etcd] {
        &self.nodes
    }

    /// The nodes, to do something to one.
    pub fn nodes_mut(&mut self) -> &mut [Etcd] {
        &mut self.nodes
    }

    /// `http://` and the address of each node.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Etcd::url).collect()
    }

    /// Which node leads, by its place in [`nodes`](Self::nodes), as the first node that answers sees it.
    ///
    /// # Errors
    /// When no node knows.
    pub async fn leader(&self) -> io::Result<usize> {
        let mut ids = Vec::new();
        let mut leader = None;
        for node in &self.nodes {
            let Ok(status) = node.call("maintenance/status", json!({})).await else {
                ids.push(None);
                continue;
            };
            // Ids are unsigned there; all that matters is that equal ones are equal.
            ids.push(status["header"]["member_id"].as_str().map(str::to_owned));
            if leader.is_none() && number(&status["raftTerm"]).is_ok() {
                leader = status["leader"].as_str().map(str::to_owned);
            }
        }
        leader
            .and_then(|leader| ids.iter().position(|id| id.as_ref() == Some(&leader)))
            .ok_or_else(|| io::Error::other("no node leads"))
    }
}
