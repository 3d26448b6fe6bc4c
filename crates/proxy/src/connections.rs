//! The connections of the port: at most so many, of which an idle one goes when another client comes.
//!
//! Every process of the machine reaches the port, and may open connections and say nothing. Those that have shown no
//! credential go first, then the oldest.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// How many clients are served at a time. A run needs a few: its modules come one after the other, and some watch.
const MAX_CONNECTIONS: usize = 512;

/// Connections that are open, the oldest first. They end with this value.
#[derive(Default)]
pub(crate) struct Connections {
    open: Vec<Connection>,
    tasks: JoinSet<()>,
}

struct Connection {
    activity: Activity,
    task: AbortHandle,
}

/// What a connection is doing. Clones are of the same connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity(Arc<State>);

#[derive(Debug, Default)]
struct State {
    answers: AtomicUsize,
    is_known: AtomicBool,
}

/// Something is being answered, as long as this is there.
#[derive(Debug)]
pub(crate) struct Answering(Activity);

impl Activity {
    /// Something is being answered from now on.
    pub(crate) fn begin(&self) -> Answering {
        self.0.answers.fetch_add(1, Ordering::Relaxed);
        Answering(self.clone())
    }

    /// The client has shown a credential.
    pub(crate) fn is_known(&self) {
        self.0.is_known.store(true, Ordering::Relaxed);
    }

    /// How far it is from being closed for another; `None` while something is answered.
    fn rank(&self) -> Option<bool> {
        let is_idle = self.0.answers.load(Ordering::Relaxed) == 0;
        is_idle.then(|| self.0.is_known.load(Ordering::Relaxed))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Activity(state) = &self.0;
        state.answers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    /// Serves a client, once there is room for it: where all others are being answered, that is when one of them has gone.
    ///
    /// # Cancellation
    /// Safe to drop; the client is not served then.
    pub(crate) async fn serve<F>(&mut self, serve: impl FnOnce(Activity) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.make_room().await;
        let activity = Activity::default();
        let task = self.tasks.spawn(serve(activity.clone()));
        self.open.push(Connection { activity, task });
    }

    async fn make_room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.open.retain(|connection| !connection.task.is_finished());
            if self.open.len() < MAX_CONNECTIONS {
                return;
            }
            match superfluous(self.open.iter().map(|connection| connection.activity.rank())) {
                Some(place) => self.open.remove(place).task.abort(),
                None => drop(self.tasks.join_next().await),
            }
        }
    }
}

/// Which of these goes: the first of those of the lowest rank. `None` stands for one that may not go.
fn superfluous(ranks: impl Iterator<Item = Option<bool>>) -> Option<usize> {
    let ranked = ranks.enumerate().filter_map(|(place, rank)| Some((rank?, place)));
    ranked.min().map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_strangers_go_first_then_the_oldest() {
        let check = |ranks: &[Option<bool>], expect| assert_eq!(superfluous(ranks.iter().copied()), expect);
        check(&[Some(true), Some(false), Some(false)], Some(1));
        check(&[None, Some(true), Some(true)], Some(1));
        check(&[None, None], None);
        check(&[], None);
    }

    #[test]
    fn a_connection_is_idle_between_answers() {
        let activity = Activity::default();
        assert_eq!(activity.rank(), Some(false));
        let answers = [activity.begin(), activity.begin()];
        assert_eq!(activity.rank(), None);
        drop(answers);
        activity.is_known();
        assert_eq!(activity.rank(), Some(true));
    }
}
