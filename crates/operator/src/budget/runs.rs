//! How many runs of Ansible the memory has room for. Pure.

use std::num::NonZeroUsize;

/// What a run takes at its peak, all of its processes together: ansible-runner, ansible-playbook with a fork of it for the task
/// and the interpreter of a module that has loaded the client of Kubernetes.
const OF_A_RUN: u64 = 120 << 20;

/// What stays with the operator itself and with the libraries that it has loaded for runs, as the memory of these is none of what
/// it divides among its own parts.
const OF_THE_OPERATOR: u64 = 160 << 20;

/// How many runs can be made at a time with so much memory, besides the one that a deletion always may have: at least one, as
/// nothing would ever be made without. `None` where nothing is known of the memory.
///
/// ```
/// use steersman_operator::budget::runs_at_a_time;
///
/// let pod = runs_at_a_time(Some(768 << 20)).unwrap();
/// assert_eq!(pod.get(), 4);
/// assert_eq!(runs_at_a_time(None), None);
/// ```
pub fn runs_at_a_time(memory: Option<u64>) -> Option<NonZeroUsize> {
    let runs = memory?.saturating_sub(OF_THE_OPERATOR) / OF_A_RUN;
    let runs = usize::try_from(runs).unwrap_or(usize::MAX) - usize::from(runs > 0);
    Some(NonZeroUsize::new(runs).unwrap_or(NonZeroUsize::MIN))
}

#[cfg(test)]
mod tests {
    use super::{OF_A_RUN, OF_THE_OPERATOR, runs_at_a_time};

    #[test]
    fn there_is_always_room_for_one() {
        for (memory, runs) in [
            (0, 1),
            (OF_THE_OPERATOR, 1),
            (OF_THE_OPERATOR + 3 * OF_A_RUN - 1, 1),
            (OF_THE_OPERATOR + 3 * OF_A_RUN, 2),
            // The limit of a scaffolded Deployment, and its request.
            (768 << 20, 4),
            (256 << 20, 1),
        ] {
            assert_eq!(runs_at_a_time(Some(memory)).unwrap().get(), runs, "{memory}");
        }
        assert!(runs_at_a_time(Some(u64::MAX)).is_some());
    }
}
