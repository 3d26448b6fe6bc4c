//! Numbers and states of revisions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a revision, from 1; what Helm calls a release's version.
///
/// ```
/// use steersman_model::Revision;
///
/// let upgrade = Revision::FIRST.next();
/// assert_eq!(upgrade.to_string(), "2");
/// assert!(upgrade > Revision::FIRST);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub u32);

impl Revision {
    /// The revision of an installation.
    pub const FIRST: Self = Self(1);

    /// The revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What Helm says about a revision.
///
/// ```
/// use steersman_model::ReleaseStatus;
///
/// let status: ReleaseStatus = serde_json::from_str(r#""pending-install""#)?;
/// assert_eq!(status, ReleaseStatus::PendingInstall);
/// assert_eq!(status.to_string(), "pending-install");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseStatus {
    /// Every object of it was applied, and what it no longer wants was deleted.
    Deployed,
    /// It was removed, its history kept.
    Uninstalled,
    /// A later revision was deployed.
    Superseded,
    /// It could not be applied as a whole.
    Failed,
    /// Its objects are being deleted.
    Uninstalling,
    /// It was written down as the first revision; its objects are being applied.
    PendingInstall,
    /// It was written down after another one; its objects are being applied.
    PendingUpgrade,
    /// Helm is going back to an earlier revision.
    PendingRollback,
    /// Nothing is known; also what an unknown word is read as.
    #[serde(other)]
    Unknown,
}

impl ReleaseStatus {
    /// Helm's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Deployed => "deployed",
            Self::Uninstalled => "uninstalled",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalling => "uninstalling",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
        }
    }
}

impl fmt::Display for ReleaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_as_helm_writes_it() {
        for status in [
            ReleaseStatus::Deployed,
            ReleaseStatus::PendingInstall,
            ReleaseStatus::PendingUpgrade,
            ReleaseStatus::Superseded,
        ] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        assert_eq!(
            serde_json::from_str::<ReleaseStatus>("\"later\"").unwrap(),
            ReleaseStatus::Unknown
        );
    }
}
