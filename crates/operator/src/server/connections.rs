//! The connections of a port: at most so many, of which an idle one goes when another client comes.
//!
//! Whoever reaches the port may open connections and say nothing. A client that has come for an answer always finds a
//! place: idle connections make room, those of the address with the most of them first, the oldest first.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// How many clients are served at a time. Probes and scrapes need two.
const MAX_CONNECTIONS: usize = 64;

/// Connections that are open, the oldest first. They end with this value.
#[derive(Default)]
pub(super) struct Connections {
    open: Vec<Connection>,
    tasks: JoinSet<()>,
}

struct Connection {
    peer: IpAddr,
    activity: Activity,
    task: AbortHandle,
}

/// Whether an answer is being made for a connection. Clones are of the same connection.
#[derive(Clone, Default)]
pub(super) struct Activity(Arc<AtomicBool>);

/// An answer is being made, as long as this is there.
pub(super) struct Answering(Activity);

impl Activity {
    /// An answer is being made from now on.
    pub(super) fn begin(&self) -> Answering {
        self.0.store(true, Ordering::Relaxed);
        Answering(self.clone())
    }

    fn is_idle(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Activity(is_answering) = &self.0;
        is_answering.store(false, Ordering::Relaxed);
    }
}

impl Connections {
    /// Serves a client, once there is room for it: where all others are being answered, that is when one of them has gone.
    ///
    /// # Cancellation
    /// Safe to drop; the client is not served then.
    pub(super) async fn serve<F>(&mut self, peer: IpAddr, serve: impl FnOnce(Activity) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.make_room().await;
        let activity = Activity::default();
        let task = self.tasks.spawn(serve(activity.clone()));
        self.open.push(Connection { peer, activity, task });
    }

    async fn make_room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.open.retain(|connection| !connection.task.is_finished());
            if self.open.len() < MAX_CONNECTIONS {
                return;
            }
            let idle = self
                .open
                .iter()
                .map(|connection| connection.activity.is_idle().then_some(connection.peer));
            match superfluous(idle) {
                Some(place) => self.open.remove(place).task.abort(),
                None => drop(self.tasks.join_next().await),
            }
        }
    }
}

/// Which of these goes: the first of the address that has the most. `None` stands for one that may not go.
fn superfluous(idle: impl Iterator<Item = Option<IpAddr>> + Clone) -> Option<usize> {
    let mut counts = BTreeMap::<IpAddr, usize>::new();
    for peer in idle.clone().flatten() {
        *counts.entry(peer).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    idle.into_iter()
        .position(|peer| peer.is_some_and(|peer| counts.get(&peer) == Some(&most)))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::server::{Port, Readiness};

    fn check(idle: &[Option<u8>], expect: Option<usize>) {
        let peers = idle
            .iter()
            .map(|peer| peer.map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))));
        assert_eq!(superfluous(peers), expect);
    }

    #[test]
    fn the_oldest_idle_connection_of_the_address_with_most_goes() {
        check(&[Some(1), Some(2), Some(3)], Some(0));
        check(&[None, Some(2), Some(3)], Some(1));
        check(&[Some(1), Some(2), Some(3), Some(2)], Some(1));
        check(&[None, None], None);
        check(&[], None);
    }

    /// Holds a connection open, and opens another one whenever it is closed.
    async fn hold(address: SocketAddr, sends: bool) {
        loop {
            if let Ok(mut stream) = TcpStream::connect(address).await {
                let mut answer = [0];
                while sends && stream.write_all(b"G").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let _ = stream.read(&mut answer).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn probe(address: SocketAddr) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address).await?;
        let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// As the kubelet judges: three times in a row without an answer within a second are the end of the process.
    async fn is_alive(address: SocketAddr) -> bool {
        for _ in 0..3 {
            let answer = tokio::time::timeout(Duration::from_secs(1), probe(address)).await;
            if answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.ends_with("ok"))) {
                return true;
            }
        }
        false
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn probes_are_answered_while_others_hold_connections() {
        let any_port = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let port = Port::health(any_port, Readiness::default()).await.unwrap();
        let address = port.address().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(port.serve());
        for number in 0..200 {
            tasks.spawn(hold(address, number % 2 == 0));
        }
        for number in 0..100 {
            assert!(is_alive(address).await, "probe {number}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
