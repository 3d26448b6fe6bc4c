//! Differences: between two revisions, and between what is and what the operator would have.

use askama::Template;
use steersman_tree::{PlanView, RevisionChanges};

use super::{Change, Diff, Head};

/// What differs between two revisions.
#[derive(Debug, Template)]
#[template(path = "compare.html")]
pub(crate) struct ComparePage<'a> {
    head: Head<'a>,
    release: &'a str,
    address: String,
    from: u32,
    to: u32,
    /// All that there are.
    revisions: Vec<u32>,
    values: Option<Diff>,
    objects: Vec<Change>,
    /// Whether what was secret in one of them is not known.
    has_unknown: bool,
}

impl<'a> ComparePage<'a> {
    pub(crate) fn of(
        (head, release, address): (Head<'a>, &'a str, String),
        (from, to): (u32, u32),
        revisions: Vec<u32>,
        (changes, has_unknown): (&RevisionChanges, bool),
    ) -> Self {
        Self {
            head,
            release,
            address,
            from,
            to,
            revisions,
            values: changes.values.as_deref().map(Diff::of),
            objects: changes.objects.iter().map(Change::of).collect(),
            has_unknown,
        }
    }
}

/// What the operator would do.
#[derive(Debug, Template)]
#[template(path = "plan.html")]
pub(crate) struct PlanPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) release: &'a str,
    pub(crate) address: String,
    pub(crate) plan: Plan,
}

/// What the operator would do, as a part of pages.
#[derive(Debug, Template)]
#[template(path = "plan_body.html")]
pub(crate) struct Plan {
    decision: String,
    waits: Vec<String>,
    hooks: Vec<String>,
    stages: Vec<String>,
    objects: Vec<Change>,
    unchanged: usize,
    /// Why it is not known.
    problem: String,
}

impl Plan {
    pub(crate) fn of(plan: Result<PlanView, String>) -> Self {
        let (view, problem) = match plan {
            Ok(view) => (view, String::new()),
            Err(problem) => (PlanView::default(), problem),
        };
        Self {
            objects: view.objects.iter().map(Change::of).collect(),
            decision: view.decision,
            waits: view.waits,
            hooks: view.hooks,
            stages: view.stages,
            unchanged: view.unchanged,
            problem,
        }
    }
}
