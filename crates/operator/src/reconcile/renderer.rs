//! Rendering, on a thread that may block.

use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use serde_json::Value;
use steersman_chart::{
    Chart, Operation, ReleaseInfo, RenderError, RenderErrorKind, RenderInput, Rendered, SkippedHook,
};
use steersman_cluster::TRACE;
use steersman_cluster::discovery::Discovery;
use steersman_cluster::lookup::{ClusterWorld, ShiftedClock};
use steersman_model::Revision;
use steersman_watches::Confinement;
use steersman_watches::post_render::PostRender;
use steersman_watches::values::ValuesError;
use steersman_watches::world::RENDER_TIMEOUT;
use tokio::runtime::Handle;

use super::error::ReconcileError;
use super::secrets::LookedUp;
use super::session::{PreparedRelease, Session};
use crate::status::Redactor;
use crate::telemetry::masked_before;

/// Renders the chart of a watch, with what the cluster says to its templates.
#[derive(Clone)]
pub(super) struct Renderer {
    pub(super) client: Client,
    pub(super) discovery: Arc<Discovery>,
    pub(super) chart: Chart,
    pub(super) confinement: Option<Confinement>,
    pub(super) post_render: Arc<PostRender>,
}

impl Renderer {
    /// What the cluster says to templates of a release in `namespace`.
    pub(super) fn world(&self, namespace: &str) -> ClusterWorld {
        ClusterWorld::new(
            self.client.clone(),
            Arc::clone(&self.discovery),
            Handle::current(),
        )
        .within(self.confinement.as_ref(), namespace)
    }

    /// Renders the chart for a revision, with the patches of the watch in it. What is secret in its hooks, and in what it
    /// looks up, is masked from now on.
    pub(super) async fn render(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        operation: Operation,
    ) -> Result<Rendered, ReconcileError> {
        let rendering = self.render_once_or_twice(session, prepared, revision, operation, false);
        let (rendered, _) = rendering.await?;
        tell_of_skipped(&rendered, session.redactor.snapshot());
        Ok(rendered)
    }

    /// Renders the chart for a revision, and once more, at another time and with the same answers to what it looks
    /// up: what differs is random. `None` where the second rendering fails.
    pub(super) async fn render_twice(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        operation: Operation,
    ) -> Result<(Rendered, Option<Rendered>), ReconcileError> {
        self.render_once_or_twice(session, prepared, revision, operation, true)
            .await
    }

    /// Renders a file of the chart that is none of its templates as one of them, with `more` beside what others see. What is
    /// secret in what it looks up is masked from now on.
    pub(super) async fn render_file(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        (path, more): (String, (&'static str, Value)),
    ) -> Result<String, ReconcileError> {
        let of = (revision, Operation::Upgrade, false);
        let more = [more];
        let rendering = self.in_background(session, prepared, of, move |work| {
            let rendered = work.chart.render_file(&path, &more, work.input);
            rendered.map_err(|error| work.explained(error))
        });
        rendering.await
    }

    async fn render_once_or_twice(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        operation: Operation,
        twice: bool,
    ) -> Result<(Rendered, Option<Rendered>), ReconcileError> {
        let post_render = Arc::clone(&self.post_render);
        let of = (revision, operation, twice);
        let rendering = self.in_background(session, prepared, of, move |work| {
            let Work { chart, input, .. } = *work;
            let rendered = chart.render(input).map_err(|error| work.explained(error))?;
            let patched = |rendered: Rendered| post_render.apply(rendered, &input.release.namespace);
            let rendered = patched(rendered)?.rendered;
            let later = ShiftedClock(work.world);
            let again = RenderInput {
                world: &later,
                ..*input
            };
            let again = || Some(patched(chart.render(&again).ok()?).ok()?.rendered);
            Ok((rendered, twice.then(again).flatten()))
        });
        let rendered = rendering.await?;
        let mut secrets = Redactor::default();
        for hook in &rendered.0.hooks {
            secrets.add_manifest(&hook.manifest.text);
        }
        session.redactor.learn(secrets);
        Ok(rendered)
    }

    /// Does `work` with what a rendering is made of, on a thread that may block. What is secret in what is looked up is masked
    /// from now on.
    async fn in_background<T: Send + 'static>(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        (revision, operation, twice): (Revision, Operation, bool),
        work: impl FnOnce(&Work<'_>) -> Result<T, ReconcileError> + Send + 'static,
    ) -> Result<T, ReconcileError> {
        if !prepared.is_whole {
            return Err(ReconcileError::Values(ValuesError::Incomplete));
        }
        let (chart, values) = (self.chart.clone(), prepared.values.clone());
        let release = ReleaseInfo {
            name: session.release.to_string(),
            namespace: session.owner.release_namespace.clone(),
            revision: revision.0,
            operation,
        };
        let allowance = session.share.take().await;
        let limits = allowance.limits();
        let served = self.discovery.served_lately().await?;
        let world = self
            .world(&session.owner.release_namespace)
            .allowing(allowance.lookups);
        let found = LookedUp::default();
        let mut world = world
            .remembering(session.owner.clone())
            .showing_secrets_to(found.learner());
        if twice {
            world = world.repeating();
        }
        let span = tracing::info_span!(target: TRACE, "render", steersman.chart.name = chart.name());
        let redactor = session.redactor.snapshot();
        let rendering = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let started = Instant::now();
            let expired = || started.elapsed() > RENDER_TIMEOUT;
            let input = RenderInput {
                release: &release,
                values: &values,
                capabilities: served.capabilities(),
                world: &world,
                limits,
                expired: Some(&expired),
                skip_schema_validation: false,
                subchart_notes: false,
            };
            let done = work(&Work {
                chart: &chart,
                input: &input,
                world: &world,
                redactor: &redactor,
                found: &found,
            });
            (done, world.answers(), found.take())
        });
        let (done, answers, looked_up) = rendering.await.map_err(|_| ReconcileError::Renderer)?;
        session.redactor.learn(looked_up.clone());
        session.progress.note_lookups(answers, looked_up);
        done
    }
}

/// What a rendering is made of, and what explains its failure.
struct Work<'a> {
    chart: &'a Chart,
    input: &'a RenderInput<'a>,
    world: &'a ClusterWorld,
    redactor: &'a Redactor,
    found: &'a LookedUp,
}

impl Work<'_> {
    fn explained(&self, error: RenderError) -> ReconcileError {
        let redactor = self.redactor.clone();
        explained(error, self.chart, self.input, self.world, redactor, self.found)
    }
}

/// Says in the log which hooks are left out, without a value that the chart puts into a Secret.
fn tell_of_skipped(rendered: &Rendered, mut redactor: Redactor) {
    if rendered.skipped_hooks.is_empty() {
        return;
    }
    for manifest in &rendered.manifests {
        redactor.add_manifest(&manifest.text);
    }
    let skipped = &rendered.skipped_hooks;
    let sources = skipped.iter().map(|SkippedHook { source, .. }| source.as_str());
    let events = skipped.iter().map(|SkippedHook { events, .. }| events.as_str());
    let masked = redactor.mask_all(&sources.chain(events).collect::<Vec<_>>());
    let (sources, events) = masked.split_at(skipped.len());
    masked_before(|| {
        for (template, events) in sources.iter().zip(events) {
            tracing::warn!(template, hookTypes = events, "Skipping unknown hooks");
        }
    });
}

/// Why a rendering failed, without a value that the chart would have put into a Secret.
fn explained(
    error: RenderError,
    chart: &Chart,
    input: &RenderInput<'_>,
    world: &ClusterWorld,
    mut redactor: Redactor,
    found: &LookedUp,
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
    redactor.extend(found.so_far());
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
