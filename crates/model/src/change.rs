//! What applying the objects of a release did, object by object.

use std::collections::BTreeMap;

use crate::{Digest, ObjectId};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Created,
    /// It could not become what it is to be, was deleted, and is new.
    Recreated,
    /// It was there before; it may have been the same already.
    Configured,
}

/// An applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Which object it is, whatever it is called: some kinds are served under two API groups.
    pub uid: String,
    /// The version of its API.
    pub version: String,
    /// The digest of our fields in it.
    pub digest: Option<Digest>,
    /// Whether it is new.
    pub change: Change,
    /// Whether the chart wants it kept.
    pub kept: bool,
    /// What was taken out of it so that the server takes it, for people.
    pub mended: Vec<String>,
}

/// What an application did, per object.
pub type ChangeSet = BTreeMap<ObjectId, Applied>;
