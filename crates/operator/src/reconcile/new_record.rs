//! Helm's record of a revision.

use jiff::Timestamp;
use serde_json::{Value, json};
use steersman_chart::manifest::DeletePolicy;
use steersman_chart::{Chart, Hook, Metadata, Rendered};
use steersman_model::{ReleaseStatus, Revision};

use super::plan::NewRevision;
use super::session::{PreparedRelease, Session};
use crate::apply::event_name;
use crate::release::{ChartRecord, HookRecord, InfoRecord, ReleaseRecord, never_run};

/// What a revision is, in Helm's words, while it is brought into effect.
pub(super) fn pending_status(revision: Revision) -> ReleaseStatus {
    if revision == Revision::FIRST {
        ReleaseStatus::PendingInstall
    } else {
        ReleaseStatus::PendingUpgrade
    }
}

/// What is recorded of a revision that is about to be applied.
pub(super) fn record(
    session: &Session,
    prepared: &PreparedRelease,
    chart: &Chart,
    new: &NewRevision,
    first_deployed: Option<Timestamp>,
    now: Timestamp,
) -> ReleaseRecord {
    let NewRevision {
        revision,
        rendered,
        manifest,
        ..
    } = new;
    let first = *revision == Revision::FIRST;
    ReleaseRecord {
        name: session.release.to_string(),
        info: InfoRecord {
            first_deployed: Some(first_deployed.unwrap_or(now)),
            last_deployed: Some(now),
            description: if first {
                "Initial install underway"
            } else {
                "Preparing upgrade"
            }
            .to_owned(),
            status: pending_status(*revision),
            notes: rendered.notes.clone(),
        },
        chart: ChartRecord {
            metadata: metadata(chart.metadata()),
            values: Value::Object(chart.values().clone()),
        },
        config: Some(prepared.own_values.clone()),
        manifest: manifest.clone(),
        hooks: Some(hook_records(rendered)),
        version: *revision,
        namespace: session.owner.release_namespace.clone(),
        apply_method: "ssa".to_owned(),
    }
}

/// The objects of a rendering as Helm stores them. They are applied from this text too, as Helm
/// does: a block that ends a template without a line break gets one here.
pub(super) fn manifest(rendered: &Rendered) -> String {
    let mut text = String::new();
    for manifest in &rendered.manifests {
        text.push_str("---\n# Source: ");
        text.push_str(&manifest.source);
        text.push('\n');
        text.push_str(&manifest.text);
        text.push('\n');
    }
    text
}

/// The hooks of a rendering as Helm stores them.
pub(super) fn hook_records(rendered: &Rendered) -> Vec<HookRecord> {
    rendered.hooks.iter().map(hook).collect()
}

fn hook(hook: &Hook) -> HookRecord {
    HookRecord {
        name: hook.manifest.name.clone(),
        kind: hook.manifest.kind.clone(),
        path: hook.manifest.source.clone(),
        manifest: hook.manifest.text.clone(),
        events: hook
            .events
            .iter()
            .map(|event| event_name(*event).to_owned())
            .collect(),
        weight: hook.weight,
        delete_policies: hook
            .delete_policies
            .iter()
            .map(|policy| policy_name(policy).to_owned())
            .collect(),
        last_run: never_run(),
    }
}

fn policy_name(policy: &DeletePolicy) -> &str {
    match policy {
        DeletePolicy::BeforeHookCreation => "before-hook-creation",
        DeletePolicy::HookSucceeded => "hook-succeeded",
        DeletePolicy::HookFailed => "hook-failed",
        DeletePolicy::Other(name) => name,
    }
}

/// `Chart.yaml` as Helm writes it into its record: what is empty is left out.
fn metadata(metadata: &Metadata) -> Value {
    let maintainers: Vec<Value> = metadata
        .maintainers
        .iter()
        .map(|one| json!({ "name": one.name, "email": one.email, "url": one.url }))
        .collect();
    let dependencies: Vec<Value> = metadata
        .dependencies
        .iter()
        .map(|one| {
            json!({
                "name": one.name, "version": one.version, "repository": one.repository,
                "condition": one.condition, "tags": one.tags, "alias": one.alias,
            })
        })
        .collect();
    let full = json!({
        "name": metadata.name, "home": metadata.home, "sources": metadata.sources, "version": metadata.version,
        "description": metadata.description, "keywords": metadata.keywords, "maintainers": maintainers,
        "icon": metadata.icon, "apiVersion": metadata.api_version, "appVersion": metadata.app_version,
        "deprecated": metadata.deprecated, "annotations": metadata.annotations,
        "kubeVersion": metadata.kube_version, "dependencies": dependencies, "type": metadata.chart_type,
    });
    without_empty(full)
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)))
                .filter(|(_, value)| {
                    !matches!(value, Value::Null | Value::Bool(false))
                        && value.as_str() != Some("")
                        && value.as_array().is_none_or(|items| !items.is_empty())
                });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_in_chart_yaml_is_left_out_of_the_record() {
        let chart = Metadata {
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            api_version: "v2".to_owned(),
            ..Metadata::default()
        };
        assert_eq!(
            metadata(&chart),
            json!({"name": "web", "version": "1.0.0", "apiVersion": "v2"})
        );
    }
}
