//! One object of a release, as it is live.

use askama::Template;
use steersman_tree::{Condition, ContainerView, EventView, OwnerView};

use super::Head;

/// The page of an object.
#[derive(Debug, Template)]
#[template(path = "object.html")]
pub(crate) struct ObjectPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) release: &'a str,
    pub(crate) address: String,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) containers: Vec<ContainerLine>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) events: Vec<EventView>,
    pub(crate) owners: Vec<OwnerView>,
    /// As YAML, with what is secret masked.
    pub(crate) text: String,
}

/// A container, and where what it has written is.
#[derive(Debug)]
pub(crate) struct ContainerLine {
    pub(crate) view: ContainerView,
    pub(crate) logs: String,
    /// That of the one before; empty where there was none.
    pub(crate) former: String,
}
