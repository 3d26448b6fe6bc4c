//! The way of events to a log: bounded in their number and in their size.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::Event;

/// How many events wait to be read.
const MOST: usize = 1000;
/// How much these take together, in KiB.
const ROOM: usize = 8 << 10;
/// How long ansible-runner waits for a reader that is behind.
const PATIENCE: Duration = Duration::from_secs(10);

/// The events of a run, in their order, for a log.
///
/// A thousand of them, or 8 MiB, wait to be read; then the run waits, ten seconds for each, and goes on without those that
/// were not taken ([`Outcome::unlogged`](crate::Outcome::unlogged)). The outcome does not depend on them: who needs no
/// log drops this.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<Queued>,
}

impl Events {
    /// The next event, or none when the run is over.
    ///
    /// # Cancellation
    /// Safe to drop: no event is lost.
    pub async fn next(&mut self) -> Option<Event> {
        self.queue.recv().await.map(|queued| queued.event)
    }
}

#[derive(Debug)]
struct Queued {
    event: Event,
    /// Given back when the event is taken.
    _room: OwnedSemaphorePermit,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    queue: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
}

pub(crate) fn channel() -> (Sender, Events) {
    let (sender, receiver) = mpsc::channel(MOST);
    let sender = Sender {
        queue: sender,
        room: Arc::new(Semaphore::new(ROOM)),
    };
    (sender, Events { queue: receiver })
}

impl Sender {
    /// Whether the event waits to be read, or nobody reads events.
    pub(crate) async fn send(&self, event: Event) -> bool {
        if self.queue.is_closed() {
            return true;
        }
        let weight = (event.weight() >> 10).clamp(1, ROOM);
        let queued = async {
            let room = Arc::clone(&self.room).acquire_many_owned(weight as u32).await;
            let Ok(room) = room else { return };
            // An error says that the reader has gone.
            let _ = self.queue.send(Queued { event, _room: room }).await;
        };
        tokio::select! {
            () = self.queue.closed() => true,
            result = tokio::time::timeout(PATIENCE, queued) => result.is_ok(),
        }
    }
}
