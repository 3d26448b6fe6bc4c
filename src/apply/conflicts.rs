//! Fields of our objects that others manage.

use super::request::RequestError;

/// What is done about fields that the chart renders and another manager has set to something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// They are set to what the chart says, and become ours. Helm's and helm-operator's.
    #[default]
    Overwrite,
    /// The object stays as it is, and the release fails.
    Fail,
}

/// Which fields are whose: `spec.replicas is managed by "kubectl"`.
pub(super) fn in_words(refusal: &RequestError) -> String {
    let conflicts = refusal.causes.iter().map(|cause| {
        let field = cause.field.trim_start_matches('.');
        let manager = cause.manager.as_deref().unwrap_or_default();
        format!("{field} is managed by {manager:?}")
    });
    let conflicts: Vec<String> = conflicts.collect();
    conflicts.join(", ")
}
