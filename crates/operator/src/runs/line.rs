//! Who goes next, of those that wait to run. Pure.
//!
//! A run may hang for as long as its time limit, so what holds turns must leave others one:
//!
//! - where several kinds have runs and there are two turns or more, a kind has all but one of them at most;
//! - the kind that has the fewest goes first, and within a kind who came first;
//! - what is done for a deletion has one turn of its own besides, and any other that is free.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Those who run and those who wait, each with a ticket.
#[derive(Debug)]
pub(super) struct Line<T> {
    limit: usize,
    /// By how many controllers each kind is followed.
    followed: BTreeMap<Arc<str>, usize>,
    /// How many turns each kind has, without that of deletions.
    held: BTreeMap<Arc<str>, usize>,
    is_end_held: bool,
    waiting: VecDeque<(Wish, T)>,
}

/// What somebody waits for.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) kind: Arc<str>,
    /// Whether it is for a deletion.
    pub(super) is_end: bool,
}

/// Which turn somebody has got.
#[derive(Debug)]
pub(super) enum Place {
    OfKind(Arc<str>),
    OfDeletions,
}

impl<T> Line<T> {
    pub(super) fn new(limit: NonZeroUsize) -> Self {
        Self {
            limit: limit.get(),
            followed: BTreeMap::new(),
            held: BTreeMap::new(),
            is_end_held: false,
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn follow(&mut self, kind: &Arc<str>) {
        *self.followed.entry(Arc::clone(kind)).or_default() += 1;
    }

    pub(super) fn unfollow(&mut self, kind: &Arc<str>) {
        take_one(&mut self.followed, kind);
    }

    pub(super) fn join(&mut self, wish: Wish, ticket: T) {
        self.waiting.push_back((wish, ticket));
    }

    /// Takes all others out of the line.
    pub(super) fn keep(&mut self, mut is_there: impl FnMut(&T) -> bool) {
        self.waiting.retain(|(_, ticket)| is_there(ticket));
    }

    /// Takes the next one out of the line that may go now.
    pub(super) fn next(&mut self) -> Option<(Place, T)> {
        if !self.is_end_held
            && let Some(first) = self.waiting.iter().position(|(wish, _)| wish.is_end)
        {
            let (_, ticket) = self.waiting.remove(first)?;
            self.is_end_held = true;
            return Some((Place::OfDeletions, ticket));
        }
        let going = self.waiting.iter().enumerate();
        let (first, _) = going
            .filter(|(_, (wish, _))| self.may_go(&wish.kind))
            .min_by_key(|(_, (wish, _))| self.held_by(&wish.kind))?;
        let (Wish { kind, .. }, ticket) = self.waiting.remove(first)?;
        *self.held.entry(Arc::clone(&kind)).or_default() += 1;
        Some((Place::OfKind(kind), ticket))
    }

    pub(super) fn leave(&mut self, place: &Place) {
        match place {
            Place::OfKind(kind) => take_one(&mut self.held, kind),
            Place::OfDeletions => self.is_end_held = false,
        }
    }

    fn may_go(&self, kind: &Arc<str>) -> bool {
        let is_alone = self.followed.keys().all(|other| other == kind);
        let most = if is_alone || self.limit == 1 {
            self.limit
        } else {
            self.limit - 1
        };
        self.held.values().sum::<usize>() < self.limit && self.held_by(kind) < most
    }

    fn held_by(&self, kind: &Arc<str>) -> usize {
        self.held.get(kind).copied().unwrap_or_default()
    }
}

fn take_one(counts: &mut BTreeMap<Arc<str>, usize>, kind: &Arc<str>) {
    if let Some(count) = counts.get_mut(kind) {
        *count -= 1;
        if *count == 0 {
            counts.remove(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::{Line, Place, Wish};

    /// A line of these kinds, and the turns that were given by their tickets.
    struct Told {
        line: Line<&'static str>,
        given: Vec<(&'static str, Place)>,
    }

    impl Told {
        fn new(limit: usize, kinds: &[&str]) -> Self {
            let mut line = Line::new(NonZeroUsize::new(limit).unwrap());
            for kind in kinds {
                line.follow(&(*kind).into());
            }
            Self {
                line,
                given: Vec::new(),
            }
        }

        /// These come, by kind, or `end` of a kind; then says who runs.
        fn come(&mut self, all: &[(&str, &'static str)]) -> Vec<&'static str> {
            for (kind, ticket) in all {
                let wish = Wish {
                    kind: (*kind).into(),
                    is_end: ticket.starts_with("end"),
                };
                self.line.join(wish, ticket);
            }
            self.run()
        }

        fn run(&mut self) -> Vec<&'static str> {
            while let Some((place, ticket)) = self.line.next() {
                self.given.push((ticket, place));
            }
            self.given.iter().map(|(ticket, _)| *ticket).collect()
        }

        fn end(&mut self, ticket: &str) -> Vec<&'static str> {
            let found = self.given.iter().position(|(given, _)| *given == ticket);
            let (_, place) = self.given.remove(found.unwrap());
            self.line.leave(&place);
            self.run()
        }
    }

    #[test]
    fn a_kind_leaves_one_turn_to_others() {
        let webs = [("Web", "web1"), ("Web", "web2"), ("Web", "web3")];
        let mut two = Told::new(2, &["Web", "Site"]);
        assert_eq!(two.come(&webs), ["web1"]);
        assert_eq!(two.come(&[("Site", "site1")]), ["web1", "site1"]);
        assert_eq!(two.end("web1"), ["site1", "web2"]);
        assert_eq!(two.end("site1"), ["web2"]);
        // One that is alone has all, and so has each where there is but one turn.
        assert_eq!(Told::new(2, &["Web"]).come(&webs), ["web1", "web2"]);
        assert_eq!(Told::new(1, &["Web", "Site"]).come(&webs), ["web1"]);
        // A kind in two versions is one.
        assert_eq!(Told::new(2, &["Web", "Web"]).come(&webs), ["web1", "web2"]);
    }

    #[test]
    fn the_kind_with_the_fewest_turns_is_next() {
        let mut told = Told::new(3, &["Web", "Site"]);
        let all = [
            ("Web", "web1"),
            ("Web", "web2"),
            ("Site", "site1"),
            ("Web", "web3"),
            ("Site", "site2"),
        ];
        assert_eq!(told.come(&all), ["web1", "site1", "web2"]);
        assert_eq!(told.end("web1"), ["site1", "web2", "web3"]);
        assert_eq!(told.end("web2"), ["site1", "web3", "site2"]);
    }

    #[test]
    fn a_deletion_has_a_turn_besides_and_no_more_than_one() {
        let mut told = Told::new(1, &["Web", "Site"]);
        assert_eq!(told.come(&[("Web", "web1")]), ["web1"]);
        let ends = [("Site", "end1"), ("Web", "end2")];
        assert_eq!(told.come(&ends), ["web1", "end1"]);
        assert_eq!(told.end("end1"), ["web1", "end2"]);
        assert_eq!(told.come(&[("Web", "end3")]), ["web1", "end2"]);
        assert_eq!(told.end("web1"), ["end2", "end3"]);
    }
}
