//! Whose turn it is to run.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::line::{Line, Place, Wish};

/// Lets so many run at a time, and fairly. Clones share the turns.
#[derive(Clone, Debug, Default)]
pub struct Turns(Option<Arc<Mutex<Line<oneshot::Sender<Turn>>>>>);

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub struct Turn(Option<(Turns, Place)>);

/// The turns of one kind, which counts as one of those that have runs until this is dropped.
#[derive(Debug)]
pub struct TurnsOfKind {
    turns: Turns,
    kind: Arc<str>,
}

/// Somebody in the line. Others go ahead when it is dropped.
#[derive(Debug)]
pub struct Waiting(oneshot::Receiver<Turn>);

impl Turns {
    /// So many at a time; as many as come where there is no limit.
    pub fn of(limit: Option<NonZeroUsize>) -> Self {
        Self(limit.map(|limit| Arc::new(Mutex::new(Line::new(limit)))))
    }

    /// For a kind that is followed from now on.
    pub fn of_kind(&self, kind: &str) -> TurnsOfKind {
        let kind: Arc<str> = kind.into();
        self.change(|line| line.follow(&kind));
        TurnsOfKind {
            turns: self.clone(),
            kind,
        }
    }

    /// Changes the line, and lets in who may go then. Who has gone away is not in the line any longer.
    fn change(&self, change: impl FnOnce(&mut Line<oneshot::Sender<Turn>>)) {
        let Some(line) = &self.0 else { return };
        let (mut change, mut refused) = (Some(change), Vec::new());
        loop {
            let mut let_in = Vec::new();
            {
                let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(change) = change.take() {
                    change(&mut line);
                }
                for place in refused.drain(..) {
                    line.leave(&place);
                }
                line.keep(|ticket| !ticket.is_closed());
                while let Some(next) = line.next() {
                    let_in.push(next);
                }
            }
            for (place, ticket) in let_in {
                // Who goes away at this moment leaves the turn to the next one.
                if let Err(mut turn) = ticket.send(Turn(Some((self.clone(), place)))) {
                    refused.extend(turn.0.take().map(|(_, place)| place));
                }
            }
            if refused.is_empty() {
                return;
            }
        }
    }
}

impl TurnsOfKind {
    /// Joins the line; `is_end` for what is done for a deletion.
    pub fn ask(&self, is_end: bool) -> Waiting {
        let (ticket, waiting) = oneshot::channel();
        if self.turns.0.is_none() {
            let _ = ticket.send(Turn(None));
        } else {
            let kind = Arc::clone(&self.kind);
            let wish = Wish { kind, is_end };
            self.turns.change(|line| line.join(wish, ticket));
        }
        Waiting(waiting)
    }
}

impl Drop for TurnsOfKind {
    fn drop(&mut self) {
        let kind = &self.kind;
        self.turns.change(|line| line.unfollow(kind));
    }
}

impl Waiting {
    /// The turn, if it is there already.
    pub fn now(&mut self) -> Option<Turn> {
        self.0.try_recv().ok()
    }

    /// Waits for it.
    ///
    /// # Cancellation
    /// Safe to drop; others go ahead then.
    pub async fn turn(self) -> Turn {
        // Who has the ticket answers.
        self.0.await.unwrap_or(Turn(None))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((turns, place)) = self.0.take() {
            turns.change(|line| line.leave(&place));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use futures::FutureExt as _;

    use super::Turns;

    #[test]
    fn who_comes_later_waits_until_a_turn_is_over() {
        let turns = Turns::of(NonZeroUsize::new(2)).of_kind("Web");
        let first = turns.ask(false).now().expect("a turn");
        let _second = turns.ask(false).now().expect("a turn");
        let gone = turns.ask(false);
        let mut waiting = turns.ask(false);
        assert!(waiting.now().is_none());
        drop(gone);
        drop(first);
        assert!(waiting.turn().now_or_never().is_some());
    }

    #[test]
    fn any_number_may_go_away() {
        let turns = Turns::of(NonZeroUsize::new(1)).of_kind("Web");
        let first = turns.ask(false).now().expect("a turn");
        let gone: Vec<_> = (0..5_000).map(|_| turns.ask(false)).collect();
        let mut waiting = turns.ask(false);
        drop(gone);
        drop(first);
        assert!(waiting.now().is_some());
        for _ in 0..100_000 {
            drop(turns.ask(false));
        }
    }

    #[test]
    fn a_kind_that_nobody_follows_any_longer_leaves_its_turn_to_others() {
        let turns = Turns::of(NonZeroUsize::new(2));
        let (web, site) = (turns.of_kind("Web"), turns.of_kind("Site"));
        let _first = web.ask(false).now().expect("a turn");
        let mut second = web.ask(false);
        assert!(second.now().is_none());
        drop(site);
        assert!(second.now().is_some());
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let turns = Turns::default().of_kind("Web");
        let all: Vec<_> = (0..1000).filter_map(|_| turns.ask(false).now()).collect();
        assert_eq!(all.len(), 1000);
    }
}
