//! What applying the objects of a release did, object by object.

use std::collections::BTreeMap;
use std::fmt;

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

/// What the server has noted of the fields that we applied in an object.
///
/// ```
/// use steersman_model::{Digest, OwnedFields};
///
/// let left = OwnedFields { digest: Digest::of(b"f:data"), changed_at: Some(1) };
/// assert!(left.are_those_of(left));
/// // Somebody has taken our name and applied the same fields with other values.
/// assert!(!left.are_those_of(OwnedFields { changed_at: Some(2), ..left }));
/// // Nobody noted when it was that they were left so.
/// assert!(OwnedFields { changed_at: None, ..left }.are_those_of(left));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedFields {
    /// That of their names.
    pub digest: Digest,
    /// When an apply in our name changed anything last, in seconds since 1970; `None` where that was not noted.
    pub changed_at: Option<i64>,
}

impl OwnedFields {
    /// Whether an object whose fields were left like this has been applied by nobody since, and still has all of them:
    /// `live` is what the server says.
    #[must_use]
    pub fn are_those_of(self, live: Self) -> bool {
        self.digest == live.digest && (self.changed_at.is_none() || self.changed_at == live.changed_at)
    }
}

/// An applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Which object it is, whatever it is called: some kinds are served under two API groups.
    pub uid: String,
    /// The version of its API.
    pub version: String,
    /// Our fields in it.
    pub fields: Option<OwnedFields>,
    /// Whether it is new.
    pub change: Change,
    /// Whether the chart wants it kept.
    pub kept: bool,
    /// What was taken out of it so that the server takes it, for people.
    pub mended: Vec<String>,
}

/// What was done about the claims of a `StatefulSet` whose claim templates ask for another size. Its text goes on after the
/// set's name.
///
/// ```
/// use steersman_model::ClaimChange;
///
/// let change = ClaimChange::Expanded {
///     claim: "data-store-0".to_owned(),
///     from: "1Gi".to_owned(),
///     to: "2Gi".to_owned(),
/// };
/// assert_eq!(change.to_string(), "expands claim data-store-0 from 1Gi to 2Gi");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimChange {
    /// A claim asks for more.
    Expanded {
        /// Its name; it is in the namespace of its set.
        claim: String,
        /// What it has asked for.
        from: String,
        /// What it asks for.
        to: String,
    },
    /// The set asks for less, and its claims, and those that it makes, stay as large as before.
    Kept {
        /// Their names, in words.
        claims: String,
        /// What they ask for.
        size: String,
    },
}

impl fmt::Display for ClaimChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expanded { claim, from, to } => write!(f, "expands claim {claim} from {from} to {to}"),
            Self::Kept { claims, size } => {
                write!(f, "keeps {size} for claims ({claims}), as these do not shrink")
            }
        }
    }
}

/// What an application did, per object.
pub type ChangeSet = BTreeMap<ObjectId, Applied>;
