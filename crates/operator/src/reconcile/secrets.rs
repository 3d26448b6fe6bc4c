//! The secrets of a release, which are masked wherever something is shown of it.

use serde_json::Value;
use steersman_model::RenderedObject;

use crate::release::Stored;
use crate::status::Redactor;

/// The secrets in `objects`, and in what `revisions` are made of and consist of.
/// A manifest that can't be read names no secret that could be shown.
pub(super) fn secrets_of<'a>(
    revisions: impl IntoIterator<Item = &'a Stored>,
    objects: &[RenderedObject],
) -> Redactor {
    let mut redactor = Redactor::new(objects, &Value::Null);
    for stored in revisions {
        if let Some(config) = stored.record.config.clone() {
            redactor.add_values(&Value::Object(config));
        }
        redactor.add_manifest(&stored.record.manifest);
        for hook in stored.record.hooks.iter().flatten() {
            redactor.add_manifest(&hook.manifest);
        }
    }
    redactor
}
