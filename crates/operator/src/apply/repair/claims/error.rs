//! Why claims are not expanded.

use steersman_cluster::RequestError;

/// Why the claims of a `StatefulSet` are not expanded.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// A template asks for less than its claims have.
    #[error(
        "claim template `{template}` asks for {to} instead of {from}, and claims ({claims}) do not shrink; ask for no less \
         than {from}, or replace the set and its claims yourself"
    )]
    Shrinks {
        /// The template's name.
        template: String,
        /// What the live set asks for.
        from: String,
        /// What the chart asks for.
        to: String,
        /// The names of its claims, or the pattern of these.
        claims: String,
    },
    /// The storage class does not allow it.
    #[error(
        "PersistentVolumeClaim {claim} can't be expanded from {from} to {to}, as storage class `{class}` does not allow it; \
         set `allowVolumeExpansion: true` in the class, or undo the change"
    )]
    Class {
        /// With its namespace.
        claim: String,
        /// What it asks for.
        from: String,
        /// What it would ask for.
        to: String,
        /// The class' name.
        class: String,
        /// What the server said.
        source: RequestError,
    },
    /// The server does not expand a claim that has no volume.
    #[error(
        "PersistentVolumeClaim {claim} is not bound to a volume yet, and can be expanded only then{advice}"
    )]
    Unbound {
        /// With its namespace.
        claim: String,
        /// What helps besides a volume, behind a semicolon; empty where nothing does.
        advice: &'static str,
    },
    /// A pod of the set has a claim that nothing but its name makes the set's.
    #[error(
        "PersistentVolumeClaim {claim} has the name of one of the set's, but {reason}, so it is left alone; expand it \
         yourself, or undo the change"
    )]
    NotOfSet {
        /// With its namespace.
        claim: String,
        /// What speaks against it.
        reason: &'static str,
    },
    /// There are more than are kept in memory.
    #[error("the set has more than {limit} claims")]
    TooMany {
        /// How many are expanded at once.
        limit: usize,
    },
    /// The server refused a request.
    #[error("failed to {attempt}")]
    Request {
        /// Such as `expand PersistentVolumeClaim shop/data-store-0 of class `fast` from 1Gi to 2Gi`.
        attempt: String,
        /// What the server said.
        source: RequestError,
    },
}

impl ClaimsError {
    /// Whether only a change helps: of the values, of a claim, or of its class.
    pub fn needs_change(&self) -> bool {
        match self {
            Self::Shrinks { .. } | Self::Class { .. } | Self::NotOfSet { .. } | Self::TooMany { .. } => true,
            Self::Unbound { .. } | Self::Request { .. } => false,
        }
    }
}
