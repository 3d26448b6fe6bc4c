//! `template`: renders a chart, with the flags of `helm template`.

mod checks;
mod files;
mod flags;
mod server;
mod watched;

use std::path::Path;
use std::time::Instant;

use anyhow::anyhow;
use checks::{asks_server, check_flags, check_labels, name_and_chart, warn_of_flags};
pub(super) use flags::Args;
use server::Server;
use steersman_chart::template::{
    Document, Selection, TemplateError, TemplateOutput, check_dependencies, check_name, check_type,
};
use steersman_chart::{
    Capabilities, Chart, Limits, Notice, Operation, ReleaseInfo, RenderError, RenderErrorKind, RenderInput,
    Values, World,
};
use steersman_model::Environment;
use steersman_registry::Located;
use steersman_registry::dependency::Manager;
use steersman_watches::Watch;
use steersman_watches::world::{RENDER_TIMEOUT, ResolvingWorld, SystemWorld};
use watched::{Watched, as_taken};

use super::Failure;
use super::helm::{self, Settings, print};

/// What Helm adds to an error of a template.
const ADVICE: &str = "\n\nUse --debug flag to render out invalid YAML";

/// Renders the chart to standard output, or into files.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    warn_of_flags(&arguments);
    check_flags(&arguments)?;
    let settings = Settings::new(&arguments.global, environment)?;
    let mut capabilities = Capabilities::default();
    if let Some(version) = helm::kube_version(arguments.rendering.kube_version.as_ref())? {
        capabilities.kube_version = version;
    }
    let extra = arguments.rendering.api_versions.iter().cloned();
    capabilities.api_versions.0.extend(extra);
    let asks_server = asks_server(&arguments)?;
    let watched = Watched::read(&arguments, environment)?;
    let (release, chart, values) = if let Some(watched) = &watched {
        (
            watched.name.clone(),
            watched.watch.chart.clone(),
            watched.values.clone(),
        )
    } else {
        let (release, chart) = name_and_chart(&arguments)?;
        let (chart, values) = load(&chart, &arguments, &settings, environment)?;
        (release, chart, values)
    };
    let server = asks_server
        .then(|| Server::connect(&settings, environment))
        .transpose()?;
    if let Some(server) = &server {
        capabilities = server.capabilities();
    }
    check_name(&release).map_err(|error| refused_name(&error))?;
    let release = ReleaseInfo {
        name: release,
        namespace: watched
            .as_ref()
            .and_then(|watched| watched.namespace.clone())
            .unwrap_or_else(|| settings.namespace(environment)),
        revision: 1,
        operation: if arguments.release.is_upgrade {
            Operation::Upgrade
        } else {
            Operation::Install
        },
    };
    let rendering = Rendering {
        arguments: &arguments,
        debug: settings.debug,
        chart: &chart,
        values: &values,
        release: &release,
        capabilities: &capabilities,
        server: server.as_ref(),
        watch: watched.as_ref().map(|watched| &watched.watch),
    };
    rendering.show()
}

/// A chart with everything that it is rendered with.
struct Rendering<'a> {
    arguments: &'a Args,
    debug: bool,
    chart: &'a Chart,
    values: &'a Values,
    release: &'a ReleaseInfo,
    capabilities: &'a Capabilities,
    /// The cluster that is asked, if one is.
    server: Option<&'a Server>,
    /// The entry of watches.yaml that says how, if one does.
    watch: Option<&'a Watch>,
}

impl Rendering<'_> {
    fn show(&self) -> Result<(), Failure> {
        let cluster = self.server.map(Server::world);
        let world: &dyn World = cluster.as_ref().map_or(&SystemWorld, |cluster| cluster);
        let resolving = ResolvingWorld(world);
        let world = if self.arguments.rendering.enable_dns {
            &resolving
        } else {
            world
        };
        let started = Instant::now();
        let input = RenderInput {
            release: self.release,
            values: self.values,
            capabilities: self.capabilities,
            world,
            limits: Limits::default(),
            expired: Some(&|| started.elapsed() > RENDER_TIMEOUT),
            skip_schema_validation: self.arguments.rendering.skip_schema_validation,
            subchart_notes: false,
        };
        let mut notices = Vec::new();
        let rendered = self.chart.render_with_notices(&input, &mut notices);
        notices.iter().for_each(helm::log);
        let has_crds = rendered.as_ref().map_or_else(
            |_| !self.chart.crds().is_empty(),
            |rendered| !rendered.crds.is_empty(),
        );
        if self.server.is_some() && has_crds && !self.arguments.installing.skip_crds {
            helm::log(&Notice::warning(
                "This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.",
            ));
        }
        let rendered = match (rendered, self.watch) {
            (Ok(rendered), Some(watch)) => as_taken(watch, rendered, &self.release.namespace)?,
            (Ok(rendered), None) => rendered,
            (Err(error), _) => return Err(self.failed(error, &input)),
        };
        let installing = &self.arguments.installing;
        check_labels(&installing.labels)?;
        if let Some(server) = self.server {
            let may_exist = self.arguments.release.is_upgrade || installing.take_ownership;
            server.check(&rendered.manifests, self.release, may_exist)?;
        }
        let output = &self.arguments.output;
        let selection = Selection {
            include_crds: output.include_crds,
            no_hooks: output.no_hooks,
            skip_tests: output.skip_tests,
        };
        self.write(&selection.of(rendered))
    }

    fn write(&self, output: &TemplateOutput) -> Result<(), Failure> {
        let flags = &self.arguments.output;
        let folder = flags.output_dir.as_deref().filter(|folder| !folder.is_empty());
        let output = match folder {
            Some(folder) => {
                let below = flags.release_name.then_some(self.release.name.as_str());
                files::write(output, Path::new(folder), below)?;
                // What went into files is not shown again: what is left is an empty line.
                &TemplateOutput::default()
            }
            None => output,
        };
        if flags.show_only.is_empty() {
            return print(&output.text());
        }
        print(&output.text_of(&flags.show_only).map_err(Failure::helm)?)
    }

    /// The failure, after the output that there is in spite of it was printed for `--debug`.
    fn failed(&self, error: RenderError, input: &RenderInput<'_>) -> Failure {
        match error.kind() {
            RenderErrorKind::Values => {
                let text = error.to_string();
                if let Some(cause) = text.strip_prefix("chart dependencies processing failed: ") {
                    helm::log(&Notice::error("chart dependencies processing failed").with("error", cause));
                }
                return Failure::helm(error);
            }
            RenderErrorKind::Schema => return Failure::helm(error),
            RenderErrorKind::Budget => {
                return Failure::helm_with_hint(
                    error,
                    "the chart needs more than one rendering may use; look for a template without an end",
                );
            }
            _ => {}
        }
        if !self.debug {
            return Failure::helm(anyhow!("{error}{ADVICE}"));
        }
        let text = match error.kind() {
            RenderErrorKind::Manifest => self.unsorted(input),
            _ => TemplateOutput::default().text(),
        };
        if let Err(failure) = print(&text) {
            return failure;
        }
        Failure::helm(error)
    }

    /// What the templates give, where that is not YAML of objects.
    fn unsorted(&self, input: &RenderInput<'_>) -> String {
        let files = self.chart.render_files(input).unwrap_or_default();
        let documents = files
            .into_iter()
            .filter(|(name, text)| !name.ends_with("NOTES.txt") && !text.trim().is_empty())
            .map(|(source, text)| Document { source, text })
            .collect();
        TemplateOutput {
            documents,
            ..TemplateOutput::default()
        }
        .text()
    }
}

/// The chart, with its dependencies brought up to date where that is wanted and some are missing.
fn load(
    name: &str,
    arguments: &Args,
    settings: &Settings,
    environment: &Environment,
) -> Result<(Chart, Values), Failure> {
    let located = helm::locate(name, &arguments.chart, settings)?;
    let values = arguments.values.sources().merge(&helm::read_file_or_url);
    let values = values.map_err(|message| Failure::helm(anyhow!(message)))?;
    let chart = located.load().map_err(Failure::helm)?;
    chart.notices().iter().for_each(helm::log);
    check_type(&chart).map_err(Failure::helm)?;
    if chart.metadata().deprecated {
        helm::log(&Notice::warning("this chart is deprecated"));
    }
    match (check_dependencies(&chart), located) {
        (Ok(()), _) => Ok((chart, values)),
        (Err(_), Located::Path(path)) if arguments.rendering.dependency_update => {
            let options = super::dependency::options(settings, environment)?;
            let manager = Manager::new(&path, &settings.repository, options).map_err(Failure::helm)?;
            helm::block_on(manager.update())?.map_err(|message| Failure::helm(anyhow!(message)))?;
            let chart = Chart::load(&path);
            let chart = chart.map_err(|error| {
                Failure::helm(anyhow!("failed reloading chart after repo update: {error}"))
            })?;
            Ok((chart, values))
        }
        (Err(error), _) => Err(Failure::helm(error)),
    }
}

fn refused_name(error: &TemplateError) -> Failure {
    let text = error.to_string();
    let cause = text.strip_prefix("release name check failed: ").unwrap_or(&text);
    helm::log(&Notice::error("release name check failed").with("error", cause));
    Failure::helm(anyhow!(text))
}
