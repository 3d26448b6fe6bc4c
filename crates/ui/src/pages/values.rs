//! The values of a release, each with where it comes from.

use askama::Template;
use steersman_tree::ValueView;

use super::Head;

/// The page of values.
#[derive(Debug, Template)]
#[template(path = "values.html")]
pub(crate) struct ValuesPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) release: &'a str,
    pub(crate) address: String,
    pub(crate) values: Vec<ValueView>,
    /// Objects that have values, too, of which nothing is shown.
    pub(crate) from: Vec<String>,
    /// How many values there are besides those that are shown.
    pub(crate) more: usize,
}
