//! Which revisions are too many. Pure.

use std::num::NonZeroUsize;

use steersman_model::{ReleaseStatus, Revision};

/// Which revisions go when at most `keep` may stay: the oldest ones that are neither the one
/// `current` nor needed to find objects again.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use steersman_model::ReleaseStatus::{Deployed, Failed, Superseded};
/// use steersman_model::Revision;
/// use steersman_operator::release::surplus;
///
/// let history = [(Revision(1), Superseded), (Revision(2), Deployed), (Revision(3), Failed)];
/// let keep = NonZeroUsize::MIN;
/// assert_eq!(surplus(&history, Revision(3), keep), [Revision(1)], "the deployed one stays");
/// ```
pub fn surplus(
    revisions: &[(Revision, ReleaseStatus)],
    current: Revision,
    keep: NonZeroUsize,
) -> Vec<Revision> {
    let excess = revisions.len().saturating_sub(keep.get());
    let mut old: Vec<_> = revisions
        .iter()
        .filter(|(revision, _)| *revision < current)
        .collect();
    old.sort();
    // Where the last deployed revision was superseded and nothing took its place, it alone says that there ever was one.
    let was_in_effect = |status| matches!(status, ReleaseStatus::Deployed | ReleaseStatus::Superseded);
    let in_effect = revisions.iter().filter(|(_, status)| was_in_effect(*status));
    let last_in_effect = in_effect.map(|(revision, _)| *revision).max();
    old.into_iter()
        .filter(|(revision, status)| *status != ReleaseStatus::Deployed && Some(*revision) != last_in_effect)
        .take(excess)
        .map(|(revision, _)| *revision)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stored: &[(u32, ReleaseStatus)], current: u32, keep: usize, expect: &[u32]) {
        let stored: Vec<_> = stored
            .iter()
            .map(|&(number, status)| (Revision(number), status))
            .collect();
        let gone: Vec<u32> = surplus(&stored, Revision(current), NonZeroUsize::new(keep).unwrap())
            .iter()
            .map(|revision| revision.0)
            .collect();
        assert_eq!(gone, expect);
    }

    #[test]
    fn the_oldest_revisions_go_first() {
        use ReleaseStatus::{Deployed, Failed, Superseded};
        let three = [(1, Superseded), (2, Failed), (3, Deployed)];
        check(&three, 3, 3, &[]);
        check(&three, 3, 2, &[1]);
        check(&three, 3, 1, &[1, 2]);
        check(&[(1, Deployed), (2, Failed), (3, Failed)], 3, 2, &[2]);
        check(
            &[(1, Superseded), (2, Superseded), (3, Failed), (4, Failed)],
            4,
            1,
            &[1, 3],
        );
    }
}
