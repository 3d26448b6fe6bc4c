//! What each part of the operator may take of the memory that there is. Pure.

use steersman_cluster::client::AnswerLimits;
use steersman_gotemplate::Limits;

const MEBIBYTE: usize = 1 << 20;

/// The revisions of a release take no more than this, whatever there is: a Secret of a mebibyte can become a thousand.
const MOST_RECORDS: usize = 128 * MEBIBYTE;

/// What is assumed where nothing is known of the memory.
const UNKNOWN: u64 = 1 << 30;

/// What each part of the operator may take of the memory that there is.
///
/// The process itself takes about a fifth of the 128 MiB that a project's Deployment allows. Of the rest reconciles get the
/// most, as what they read and render is made by people; the others get what the largest thing that an API server keeps
/// needs.
///
/// ```
/// use steersman_operator::budget::Shares;
///
/// let shares = Shares::of(Some(128 << 20));
/// assert_eq!(shares.reconciles, 48 << 20);
/// assert!(shares.usual.all < shares.large.all && shares.large.all < shares.reconciles);
/// assert!(Shares::of(Some(4 << 30)).large.output > shares.large.output);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// All reconciles together that read revisions or render.
    pub reconciles: usize,
    /// A reconcile, unless it turns out to need more.
    pub usual: Allowance,
    /// One that needs more: there is one of these at a time.
    pub large: Allowance,
    /// The texts of all custom resources that are kept between reconciles.
    pub resources: usize,
    /// What is remembered of releases between reconciles, beyond what most have.
    pub releases: usize,
    /// A document of YAML while it is read.
    pub document: usize,
    /// What the API server answers.
    pub answers: AnswerLimits,
}

/// What one reconcile may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Everything below together.
    pub all: usize,
    /// The stored revisions of the release.
    pub records: usize,
    /// What templates make while they are executed.
    pub values: usize,
    /// What templates look up, as the server has it; it is there as values of templates, too.
    pub lookups: usize,
    /// What templates print. It is there several times: as the output of a template, in the manifest, and packed.
    pub output: usize,
    /// The objects of a revision. There are those of the next one beside them.
    pub objects: usize,
}

impl Shares {
    /// The shares of a process that may have so many bytes.
    pub fn of(limit: Option<u64>) -> Self {
        let limit = usize::try_from(limit.unwrap_or(UNKNOWN)).unwrap_or(usize::MAX);
        let reconciles = limit / 8 * 3;
        let large = Allowance::of(reconciles / 6 * 5);
        let object = (limit / 16).max(8 * MEBIBYTE);
        Self {
            reconciles,
            usual: Allowance::of(reconciles / 12),
            large,
            resources: limit / 16,
            releases: limit / 40,
            document: (limit / 12).min(64 * MEBIBYTE),
            answers: AnswerLimits {
                // An API server takes 3 MiB of an object, and etcd 1.5.
                bytes: (limit / 32).max(4 * MEBIBYTE),
                object,
                list: object.saturating_mul(2),
            },
        }
    }
}

impl Allowance {
    /// What comes of so many bytes. Charts never get more than the engine gives by itself.
    fn of(all: usize) -> Self {
        let usual = Limits::default();
        Self {
            all,
            records: (all / 3).min(MOST_RECORDS),
            values: (all / 8 * 3).min(usual.value_bytes),
            lookups: all / 8,
            output: (all / 10).min(usual.output_bytes),
            objects: all / 6,
        }
    }

    /// The limits of a rendering.
    pub fn limits(&self) -> Limits {
        Limits {
            output_bytes: self.output,
            value_bytes: self.values,
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all shares come to, with what answers take while they are read: their text twice, and their values twice.
    fn sum(shares: &Shares) -> usize {
        let answers = 2 * shares.answers.bytes + 2 * shares.answers.object;
        shares.reconciles + shares.resources + shares.releases + answers
    }

    #[test]
    fn the_shares_leave_room_for_the_process_itself() {
        for mebibytes in [128, 256, 512, 4096] {
            let limit = mebibytes * MEBIBYTE;
            let shares = Shares::of(Some(limit as u64));
            assert!(
                sum(&shares) <= limit / 100 * 65 + MEBIBYTE,
                "{mebibytes}: {shares:?}"
            );
            let Allowance {
                all,
                records,
                output,
                objects,
                values,
                lookups,
            } = shares.large;
            // While it is rendered, and afterwards.
            assert!(records + values + 2 * lookups + output <= all + all / 10);
            assert!(records + 3 * output + 2 * objects <= all + MEBIBYTE);
        }
    }

    #[test]
    fn others_go_on_beside_a_large_one() {
        let shares = Shares::of(Some(128 << 20));
        assert!(shares.large.all + 2 * shares.usual.all <= shares.reconciles);
    }

    #[test]
    fn with_enough_memory_the_engine_has_its_own_limits() {
        for limit in [None, Some(1 << 30), Some(u64::MAX)] {
            let shares = Shares::of(limit);
            assert_eq!(shares.large.limits(), Limits::default(), "{limit:?}");
            assert_eq!(shares.document, 64 * MEBIBYTE);
        }
    }
}
