//! The mark that the object of a hook carries: for which revision it was made, at which event, by which hook.
//!
//! `3/pre-upgrade of 2026-01-01T00:00:00Z`, and `3/pre-upgrade+1/2 of …` for the second hook that makes this object at the event,
//! of a revision that was undone twice; a test has the number of its run behind the event, as in `3/test~2 of …`. The time is that of the revision's writing, as its number is used again where somebody
//! has deleted it.

use jiff::Timestamp;
use steersman_model::Revision;

/// Of a revision, for an event and one of the hooks that make the same object then, the first of which is 0.
pub(super) fn hook_mark(
    revision: Revision,
    (event, turn): (&str, usize),
    undone: u32,
    written: Option<Timestamp>,
) -> String {
    let turn = match turn {
        0 => String::new(),
        turn => format!("+{turn}"),
    };
    let undone = match undone {
        0 => String::new(),
        undone => format!("/{undone}"),
    };
    let written = written.map_or_else(String::new, |written| format!(" of {written}"));
    format!("{revision}/{event}{turn}{undone}{written}")
}

/// What a mark says.
struct Parts<'m> {
    /// The revision, and when it was written.
    revision: (&'m str, &'m str),
    event: &'m str,
    turn: usize,
    undone: u32,
}

impl<'m> Parts<'m> {
    fn read(mark: &'m str) -> Option<Self> {
        let (run, written) = mark.split_once(" of ")?;
        let (revision, run) = run.split_once('/')?;
        let (run, undone) = match run.split_once('/') {
            Some((run, undone)) => (run, undone.parse().ok()?),
            None => (run, 0),
        };
        let (event, turn) = match run.split_once('+') {
            Some((event, turn)) => (event, turn.parse().ok()?),
            None => (run, 0),
        };
        Some(Self {
            revision: (revision, written),
            event,
            turn,
            undone,
        })
    }

    fn comes_after(&self, event: &str) -> bool {
        let pair = (self.event.strip_prefix("post-"), event.strip_prefix("pre-"));
        matches!(pair, (Some(after), Some(before)) if after == before)
    }
}

/// Whether an object with the mark `found` was started for the same event of the same revision as one with `mark`, but before
/// that was undone.
///
/// ```
/// use steersman_operator::release::is_of_undone;
///
/// assert!(is_of_undone("3/pre-delete of 2026-01-01T00:00:00Z", "3/pre-delete/1 of 2026-01-01T00:00:00Z"));
/// assert!(!is_of_undone("2/pre-delete of 2026-01-01T00:00:00Z", "3/pre-delete/1 of 2026-01-01T00:00:00Z"));
/// ```
pub fn is_of_undone(found: &str, mark: &str) -> bool {
    let (Some(found), Some(mark)) = (Parts::read(found), Parts::read(mark)) else {
        return false;
    };
    let is_of = found.revision == mark.revision && found.event == mark.event && found.turn == mark.turn;
    is_of && found.undone != mark.undone
}

/// Whether the mark `found` is `mark`, or that of a hook that makes the object later: at the same event of the same revision, or
/// at the one that comes after that.
///
/// ```
/// use steersman_operator::release::has_come_to;
///
/// let mark = "3/pre-install of 2026-01-01T00:00:00Z";
/// assert!(has_come_to(mark, mark));
/// assert!(has_come_to("3/pre-install+1 of 2026-01-01T00:00:00Z", mark));
/// assert!(has_come_to("3/post-install of 2026-01-01T00:00:00Z", mark));
/// assert!(!has_come_to(mark, "3/post-install of 2026-01-01T00:00:00Z"));
/// assert!(!has_come_to("2/pre-install of 2026-01-01T00:00:00Z", mark));
/// ```
pub fn has_come_to(found: &str, mark: &str) -> bool {
    if found == mark {
        return true;
    }
    let (Some(found), Some(mark)) = (Parts::read(found), Parts::read(mark)) else {
        return false;
    };
    let is_of_run = found.revision == mark.revision && found.undone == mark.undone;
    let is_later = found.event == mark.event && found.turn > mark.turn;
    is_of_run && (is_later || found.comes_after(mark.event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let written = Some(Timestamp::UNIX_EPOCH);
        let mark = |event, turn, undone| hook_mark(Revision::FIRST, (event, turn), undone, written);
        let plain = mark("pre-upgrade", 0, 0);
        assert_eq!(plain, "1/pre-upgrade of 1970-01-01T00:00:00Z");
        let later = mark("pre-upgrade", 1, 2);
        assert_eq!(later, "1/pre-upgrade+1/2 of 1970-01-01T00:00:00Z");
        assert!(has_come_to(&later, &mark("pre-upgrade", 0, 2)));
        assert!(!has_come_to(&later, &mark("pre-upgrade", 2, 2)));
        assert!(!has_come_to(&later, &plain), "it was undone since");
        assert!(is_of_undone(&plain, &mark("pre-upgrade", 0, 2)));
        assert!(!has_come_to(&mark("post-install", 0, 0), &plain));
        assert!(!has_come_to("", &plain));
    }
}
