//! Why a bundle can't be made.

use crate::OperatorImageError;

/// Why a bundle can't be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleError {
    /// The version is not a strict semantic version.
    #[error("`{text}` is not a semantic version: {reason}")]
    Version {
        /// As it was given: `v1.0`, for example.
        text: String,
        /// The rule of semantic versions that it breaks.
        reason: String,
    },
    /// More than one scorecard configuration.
    #[error("there are two scorecard configurations, `{first}` and `{second}`")]
    TwoScorecards {
        /// The name of the first.
        first: String,
        /// The name of the second.
        second: String,
    },
    /// Nothing that OLM could install.
    #[error("there is no Deployment among the {count} objects")]
    NoDeployment {
        /// How many objects there are.
        count: usize,
    },
    /// No container that is plainly the operator's.
    #[error(transparent)]
    Image(#[from] OperatorImageError),
    /// An image that stands for another is taken from somewhere else.
    #[error("the variable `{variable}` of container `{container}` is not a plain value")]
    RelatedImage {
        /// The variable's name.
        variable: String,
        /// The container's name.
        container: String,
    },
    /// The version before is the version itself.
    #[error("`{name}` can't replace itself")]
    ReplacesItself {
        /// The name of the `ClusterServiceVersion`.
        name: String,
    },
}
