//! `template`: renders a chart, with the flags of `helm template`.

mod files;
mod flags;

use std::path::Path;

use anyhow::anyhow;
use steersman_chart::template::{
    Document, Selection, TemplateError, TemplateOutput, check_dependencies, check_name, check_type,
    name_from_template,
};
use steersman_chart::{
    Capabilities, Chart, Limits, Notice, Operation, ReleaseInfo, RenderError, RenderErrorKind, RenderInput,
    Values, World,
};

pub(super) use flags::Args;

use super::Failure;
use super::helm::{self, Settings, print};
use crate::config::Environment;
use crate::repository::Located;
use crate::repository::dependency::Manager;
use crate::world::{ResolvingWorld, SystemWorld};

/// The name of a release that is given none.
const DEFAULT_NAME: &str = "release-name";

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
    check_strategy(&arguments)?;
    let (release, chart) = name_and_chart(&arguments)?;
    let (chart, values) = load(&chart, &arguments, &settings, environment)?;
    check_name(&release).map_err(|error| refused_name(&error))?;
    let release = ReleaseInfo {
        name: release,
        namespace: settings.namespace(environment),
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
}

impl Rendering<'_> {
    fn show(&self) -> Result<(), Failure> {
        let resolving = ResolvingWorld(&SystemWorld);
        let world: &dyn World = if self.arguments.rendering.enable_dns {
            &resolving
        } else {
            &SystemWorld
        };
        let input = RenderInput {
            release: self.release,
            values: self.values,
            capabilities: self.capabilities,
            world,
            limits: Limits::default(),
            expired: None,
            skip_schema_validation: self.arguments.rendering.skip_schema_validation,
            subchart_notes: false,
        };
        let mut notices = Vec::new();
        let rendered = self.chart.render_with_notices(&input, &mut notices);
        notices.iter().for_each(helm::log);
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return Err(self.failed(error, &input)),
        };
        check_labels(&self.arguments.installing.labels)?;
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

/// Says what Helm says of flags that are out of use, and of values of flags that are.
fn warn_of_flags(arguments: &Args) {
    for (is_used, flag, advice) in arguments.installing.deprecated() {
        helm::deprecated(is_used, flag, advice);
    }
    helm::deprecated(
        arguments.rendering.validate,
        "validate",
        "use '--dry-run=server' instead",
    );
    let wait = |value: &str, strategy: &str| {
        helm::log(&Notice::warning(format!(
            "--wait={value} is deprecated (boolean value) and can be replaced with --wait={strategy}"
        )));
    };
    match arguments.installing.wait.as_deref() {
        Some("true") => wait("true", "watcher"),
        Some("false") => wait("false", "hookOnly"),
        _ => {}
    }
}

/// Refuses flags that contradict each other, and those that cannot be obeyed here.
fn check_flags(arguments: &Args) -> Result<(), Failure> {
    helm::check_count(
        !arguments.name_and_chart.is_empty(),
        "template",
        "requires at least 1 argument",
        "[NAME] [CHART]",
    )?;
    let rendering = &arguments.rendering;
    let both = rendering.validate && rendering.dry_run.is_some();
    if let Some(group) = both
        .then_some("validate dry-run")
        .or(arguments.installing.contradiction())
    {
        let mut given: Vec<&str> = group.split(' ').collect();
        given.sort_unstable();
        return Err(Failure::helm(anyhow!(
            "if any flags in the group [{group}] are set none of the others can be; [{}] were all set",
            given.join(" ")
        )));
    }
    let output = &arguments.output;
    if output.post_renderer.as_ref().is_some_and(|name| !name.is_empty()) {
        return Err(Failure::helm_with_hint(
            anyhow!("--post-renderer is not supported"),
            "post-renderers are plugins of Helm; pipe the output through the program instead",
        ));
    }
    Ok(())
}

fn check_strategy(arguments: &Args) -> Result<(), Failure> {
    let given = arguments.rendering.dry_run.as_deref().unwrap_or("client");
    let of = |choices: &str| Failure::helm(anyhow!("invalid dry-run value ({given:?}). Must be {choices}"));
    let client = match given {
        "client" => true,
        "unset" => {
            helm::log(&Notice::warning(
                "--dry-run is deprecated and should be replaced with '--dry-run=client'",
            ));
            true
        }
        "server" => false,
        "none" => return Err(of("\"server\" or \"client\"")),
        _ => match super::arguments::parse_bool(given) {
            Ok(true) => {
                helm::log(&Notice::warning(
                    "boolean '--dry-run=true' flag is deprecated and must be replaced with '--dry-run=client'",
                ));
                true
            }
            Ok(false) => return Err(of("\"server\" or \"client\"")),
            Err(_) => return Err(of("\"none\", \"server\", or \"client\"")),
        },
    };
    if client && !arguments.rendering.validate {
        return Ok(());
    }
    Err(Failure::helm_with_hint(
        anyhow!("--dry-run=server is not supported"),
        "there is no cluster to ask; `steersman run` renders against one",
    ))
}

/// The name of the release, and the chart.
fn name_and_chart(arguments: &Args) -> Result<(String, String), Failure> {
    let flags = &arguments.release;
    let given = &arguments.name_and_chart;
    if let [_, _, unexpected @ ..] = given.as_slice()
        && !unexpected.is_empty()
    {
        return Err(Failure::helm(anyhow!(
            "expected at most two arguments, unexpected arguments: {}",
            unexpected.join(", ")
        )));
    }
    let template = flags
        .name_template
        .as_ref()
        .filter(|template| !template.is_empty());
    match given.as_slice() {
        [_, _] if flags.generate_name => Err(Failure::helm(anyhow!(
            "cannot set --generate-name and also specify a name"
        ))),
        [_, _] if template.is_some() => Err(Failure::helm(anyhow!(
            "cannot set --name-template and also specify a name"
        ))),
        [name, chart] => Ok((name.clone(), chart.clone())),
        [chart] => match template {
            Some(template) => {
                let name = name_from_template(template, &SystemWorld);
                Ok((
                    name.map_err(|message| Failure::helm(anyhow!(message)))?,
                    chart.clone(),
                ))
            }
            None => Ok((DEFAULT_NAME.to_owned(), chart.clone())),
        },
        _ => Err(Failure::helm(anyhow!("no chart is given"))),
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

/// Refuses labels that Helm keeps for itself.
fn check_labels(labels: &[String]) -> Result<(), Failure> {
    const OF_THE_SYSTEM: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];
    let key = |label: &String| label.split('=').next().unwrap_or_default().to_owned();
    if labels
        .iter()
        .any(|label| OF_THE_SYSTEM.contains(&key(label).as_str()))
    {
        return Err(Failure::helm(anyhow!(
            "user supplied labels contains system reserved label name. System labels: [{}]",
            OF_THE_SYSTEM.join(" ")
        )));
    }
    Ok(())
}
