//! Where something is confirmed that changes a release.

use askama::Template;

use super::compare::Plan;
use super::{Diff, Head};

/// What is going to be done, and the form that says so.
#[derive(Debug, Template)]
#[template(path = "action.html")]
pub(crate) struct ActionPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) release: &'a str,
    /// Of the release.
    pub(crate) address: String,
    /// Where the form goes.
    pub(crate) target: String,
    pub(crate) word: &'static str,
    pub(crate) effect: String,
    pub(crate) steps: Vec<String>,
    pub(crate) fields: Vec<Field>,
    /// What the form carries, besides what people fill in.
    pub(crate) hidden: Vec<(&'static str, String)>,
    pub(crate) diff: Option<Diff>,
    pub(crate) plan: Option<Plan>,
    /// Why it was not done; empty before that.
    pub(crate) refused: String,
}

/// Something that people fill in.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) about: String,
    pub(crate) value: String,
    pub(crate) is_needed: bool,
    /// What it may be, where that is a few.
    pub(crate) allowed: Vec<String>,
}
