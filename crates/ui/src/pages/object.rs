//! One object of a release, as it is live.

use askama::Template;
use steersman_tree::{EventView, OwnerView};

/// The page of an object.
#[derive(Debug, Template)]
#[template(path = "object.html")]
pub(crate) struct ObjectPage<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) release: &'a str,
    pub(crate) address: String,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) logs: Vec<LogLink>,
    pub(crate) events: Vec<EventView>,
    pub(crate) owners: Vec<OwnerView>,
    /// As YAML, with what is secret masked.
    pub(crate) text: String,
}

/// Where what a container has written is.
#[derive(Debug)]
pub(crate) struct LogLink {
    pub(crate) container: String,
    pub(crate) address: String,
    pub(crate) former: String,
}
