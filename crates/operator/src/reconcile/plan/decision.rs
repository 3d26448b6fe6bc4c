//! What a plan is to the release.

use std::fmt;

use steersman_model::Revision;

use crate::reconcile::state::Cause;

/// What a plan is to the release.
///
/// ```
/// use steersman_model::Revision;
/// use steersman_operator::reconcile::{Cause, Decision};
///
/// let decision = Decision::Upgrade(Revision(2), Cause::Chart);
/// assert_eq!(
///     format!("release web {decision}"),
///     "release web would be upgraded to revision 2, as the chart has changed"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The first revision would be installed.
    Install,
    /// Another revision would follow.
    Upgrade(Revision, Cause),
    /// The revision, which is deployed and not signed, would become ours as it is.
    TakeOver(Revision),
    /// The last revision would be brought into effect, from its stored manifest.
    Recover(Revision),
    /// The revision is deployed, and only drift would be corrected.
    Keep(Revision),
    /// The revision, which was deployed before another one failed, would be applied again.
    RollBack(Revision),
    /// The resource is being deleted.
    Uninstall,
}

impl Decision {
    /// What is being done with `release`, for its status. `None` where nothing is told of it before it has an end: drift is
    /// corrected within a moment, and an uninstallation is told with what is still there.
    ///
    /// ```
    /// use steersman_model::Revision;
    /// use steersman_operator::reconcile::{Cause, Decision};
    ///
    /// let upgrade = Decision::Upgrade(Revision(2), Cause::Chart);
    /// assert_eq!(
    ///     upgrade.underway("web").as_deref(),
    ///     Some("release web is being upgraded to revision 2, as the chart has changed")
    /// );
    /// assert_eq!(Decision::Keep(Revision(2)).underway("web"), None);
    /// ```
    pub fn underway(&self, release: &str) -> Option<String> {
        Some(match self {
            Self::Install => format!("release {release} is being installed"),
            Self::Upgrade(revision, cause) => {
                let why = why(*cause);
                format!("release {release} is being upgraded to revision {revision}, as {why}")
            }
            Self::TakeOver(revision) => {
                format!("revision {revision} of release {release} is being taken over as it is")
            }
            Self::Recover(revision) => {
                format!(
                    "revision {revision} of release {release} is being applied, as that has not succeeded yet"
                )
            }
            Self::RollBack(revision) => format!("release {release} is going back to revision {revision}"),
            Self::Keep(_) | Self::Uninstall => return None,
        })
    }
}

/// What goes on after `as`.
fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::TakenOver => "the last one is not the operator's",
        Cause::Identity => "the last one is of another resource of this name",
        Cause::Chart => "the chart has changed",
        Cause::Values => "the values have changed",
        Cause::PostRender => "`postRender` has changed",
        Cause::Lookups => "what the chart looks up has changed",
        Cause::NotDeployed => "the last one is not deployed",
    }
}

impl fmt::Display for Decision {
    /// What goes on after the release's name: `would be upgraded to revision 2, as …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install => f.write_str("would be installed"),
            Self::Upgrade(revision, cause) => {
                let why = why(*cause);
                write!(f, "would be upgraded to revision {revision}, as {why}")
            }
            Self::TakeOver(revision) => write!(f, "revision {revision} would be taken over as it is"),
            Self::Recover(revision) => write!(
                f,
                "revision {revision} would be applied, as that has not succeeded yet"
            ),
            Self::Keep(revision) => write!(f, "revision {revision} would stay"),
            Self::RollBack(revision) => write!(f, "would go back to revision {revision}"),
            Self::Uninstall => f.write_str("is being deleted"),
        }
    }
}
