//! Fields of our objects that others manage.

use steersman_cluster::RequestError;

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
