//! Rendering, on a thread that may block.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Value, json};
use steersman_chart::manifest::DeletePolicy;
use steersman_chart::{
    Chart, CrdFile, Hook, HookEvent, Limits, Metadata, Operation, ReleaseInfo, RenderError, RenderErrorKind,
    RenderInput, Rendered,
};
use tokio::runtime::Handle;

use super::Reconciler;
use super::error::ReconcileError;
use super::session::Session;
use crate::release::{ChartRecord, HookRecord, InfoRecord, ReleaseRecord, never_run};
use crate::status::Redactor;
use steersman_cluster::TRACE;
use steersman_cluster::lookup::{ClusterWorld, ShiftedClock};
use steersman_model::{ReleaseStatus, Revision};
use steersman_model::{RenderedObject, objects_of_text};
use steersman_watches::world::RENDER_TIMEOUT;

impl Reconciler {
    /// Renders the chart for a revision.
    pub(super) async fn render(
        &self,
        session: &Session,
        revision: Revision,
        operation: Operation,
    ) -> Result<Rendered, ReconcileError> {
        let rendering = self.render_once_or_twice(session, revision, operation, false);
        Ok(rendering.await?.0)
    }

    /// Renders the chart for a revision, and once more, at another time and with the same answers to what it looks
    /// up: what differs is random. `None` where the second rendering fails.
    pub(super) async fn render_twice(
        &self,
        session: &Session,
        revision: Revision,
        operation: Operation,
    ) -> Result<(Rendered, Option<Rendered>), ReconcileError> {
        self.render_once_or_twice(session, revision, operation, true)
            .await
    }

    async fn render_once_or_twice(
        &self,
        session: &Session,
        revision: Revision,
        operation: Operation,
        twice: bool,
    ) -> Result<(Rendered, Option<Rendered>), ReconcileError> {
        let chart = self.settings.chart.clone();
        let values = session.values.clone();
        let release = ReleaseInfo {
            name: session.release.to_string(),
            namespace: session.owner.release_namespace.clone(),
            revision: revision.0,
            operation,
        };
        let served = self.shared.discovery.served_lately().await?;
        let client = self.shared.client.clone();
        let discovery = Arc::clone(&self.shared.discovery);
        let runtime = Handle::current();
        let span = tracing::info_span!(target: TRACE, "render", chart = chart.name());
        let owner = session.owner.clone();
        let redactor = session.redactor.clone();
        let rendering = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let started = Instant::now();
            let mut world = ClusterWorld::new(client, discovery, runtime).remembering(owner);
            if twice {
                world = world.repeating();
            }
            let expired = || started.elapsed() > RENDER_TIMEOUT;
            let input = RenderInput {
                release: &release,
                values: &values,
                capabilities: served.capabilities(),
                world: &world,
                limits: Limits::default(),
                expired: Some(&expired),
                skip_schema_validation: false,
                subchart_notes: false,
            };
            let rendered = chart.render(&input);
            let rendered = rendered.map_err(|error| explained(error, &chart, &input, &world, redactor));
            let rendered = rendered.map(|rendered| {
                let later = ShiftedClock(&world);
                let again = RenderInput {
                    world: &later,
                    ..input
                };
                (rendered, twice.then(|| chart.render(&again).ok()).flatten())
            });
            (rendered, world.answers())
        });
        let (rendered, answers) = rendering.await.map_err(|_| ReconcileError::Renderer)?;
        *session.lookups.lock().unwrap_or_else(PoisonError::into_inner) = answers;
        rendered
    }

    /// Helm's record of a revision that is about to be applied.
    pub(super) fn record(
        &self,
        session: &Session,
        revision: Revision,
        rendered: &Rendered,
        manifest: String,
        first_deployed: Option<Timestamp>,
    ) -> ReleaseRecord {
        let now = (self.shared.now)();
        let first = revision == Revision::FIRST;
        let chart = &self.settings.chart;
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
                status: if first {
                    ReleaseStatus::PendingInstall
                } else {
                    ReleaseStatus::PendingUpgrade
                },
                notes: rendered.notes.clone(),
            },
            chart: ChartRecord {
                metadata: metadata(chart.metadata()),
                values: Value::Object(chart.values().clone()),
            },
            config: Some(session.values.clone()),
            manifest,
            hooks: Some(hook_records(rendered)),
            version: revision,
            namespace: session.owner.release_namespace.clone(),
            apply_method: "ssa".to_owned(),
        }
    }
}

/// Why a rendering failed, without a value that the chart would have put into a Secret.
fn explained(
    error: RenderError,
    chart: &Chart,
    input: &RenderInput<'_>,
    world: &ClusterWorld,
    mut redactor: Redactor,
) -> ReconcileError {
    let failure = world.take_failure();
    if failure.is_none()
        && matches!(
            error.kind(),
            RenderErrorKind::Template | RenderErrorKind::Manifest
        )
    {
        let salvage = chart.salvage(input);
        for text in &salvage.outputs {
            redactor.add_manifest(text);
        }
        if salvage.lacks_secrets {
            redactor.add_all(&Value::Object(input.values.clone()));
        }
    }
    for secret in world.secrets() {
        redactor.add_object(&secret);
    }
    match failure {
        Some(source) => {
            let words = error.to_string();
            let place = words.strip_suffix(source.words().as_str());
            let place = place.map_or("a template looks something up", |place| {
                place.trim_end_matches([':', ' '])
            });
            ReconcileError::Lookup {
                place: redactor.mask(place),
                source,
            }
        }
        None => error.without_values().reworded(|text| redactor.mask(text)).into(),
    }
}

/// The definitions in `crds/` folders.
pub(super) fn definitions(files: &[CrdFile]) -> Result<Vec<RenderedObject>, ReconcileError> {
    let mut objects = Vec::new();
    for file in files {
        objects.extend(objects_of_text(&file.source, &file.text)?);
    }
    Ok(objects)
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

pub(super) fn event_name(event: HookEvent) -> &'static str {
    match event {
        HookEvent::PreInstall => "pre-install",
        HookEvent::PostInstall => "post-install",
        HookEvent::PreDelete => "pre-delete",
        HookEvent::PostDelete => "post-delete",
        HookEvent::PreUpgrade => "pre-upgrade",
        HookEvent::PostUpgrade => "post-upgrade",
        HookEvent::PreRollback => "pre-rollback",
        HookEvent::PostRollback => "post-rollback",
        HookEvent::Test => "test",
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
