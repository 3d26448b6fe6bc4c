//! What is stored of a release that goes.

use crate::reconcile::error::ReconcileError;
use crate::reconcile::session::Session;
use crate::release::{HistoryError, Stored};

/// The revisions of a release that is deleted or orphaned: damage is no reason to keep it.
#[derive(Debug)]
pub(crate) struct LeavingRelease {
    /// Those that can be read, the oldest first.
    pub(crate) revisions: Vec<Stored>,
    /// Why others can't.
    pub(crate) unreadable: Vec<HistoryError>,
}

impl LeavingRelease {
    pub(crate) async fn read(session: &Session) -> Result<Self, ReconcileError> {
        let (revisions, unreadable) = match session.history.load_readable().await {
            // The release is another resource's; this one never had any.
            Err(HistoryError::Owned { .. }) => (Vec::new(), Vec::new()),
            loaded => loaded?,
        };
        if !revisions.iter().any(Stored::is_signed) {
            session.check_namespace().await?;
        }
        Ok(Self {
            revisions,
            unreadable,
        })
    }

    /// Whether the revisions may not name every object: some can't be read, or all were lost.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.unreadable.is_empty() || self.revisions.is_empty()
    }
}
