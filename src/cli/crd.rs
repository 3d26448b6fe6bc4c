//! `crd`: the definitions of the kinds that watches.yaml names, with schemas from their charts, roles and procedures.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use serde_json::Value;
use steersman_chart::{Chart, Values};
use steersman_cluster::permissions::{added_status, custom_kind, procedures};
use steersman_model::Environment;
use steersman_project::definition::{Definition, DefinitionError, Options, RoleOptions, distinguish};
use steersman_project::rbac::Known;
use steersman_project::{CustomKind, Procedure, Role, Scope};
use steersman_watches::{AnsibleWatch, Watch, Watches};

use super::Failure;
use super::report::print_text;
use super::scaffold::{is_of_kubernetes, options_of, roles_of};
use super::style::{Style, Tone, harmless};

const EXAMPLES: &str = "\
Examples:
  # The definitions of the project in this directory, into the cluster
  steersman crd | kubectl apply -f -

  # Into a file for each kind
  steersman crd --output-dir config/crd/bases

  # For a chart without a project
  steersman crd --chart helm-charts/visitors \\
    --group example.com --version v1alpha1 --kind VisitorsSite";

/// What `crd` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The watches.yaml to use
    #[arg(
        long,
        short,
        value_name = "FILE",
        default_value = "./watches.yaml",
        conflicts_with = "chart"
    )]
    watches_file: PathBuf,
    /// The kind, such as Memcached, with those of the runs of its procedures; all of watches.yaml if none is named
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// A chart, in place of watches.yaml: a directory or a `.tgz` file
    #[arg(long, value_name = "PATH", requires_all = ["group", "version", "kind"])]
    chart: Option<PathBuf>,
    /// The API group of the chart's kind
    #[arg(long, value_name = "GROUP", requires = "chart")]
    group: Option<String>,
    /// The version of the chart's kind
    #[arg(long, value_name = "VERSION", requires = "chart")]
    version: Option<String>,
    /// The plural of the kind, where it is not the regular one
    #[arg(long, value_name = "PLURAL", requires = "kind")]
    plural: Option<String>,
    /// Whether resources of the chart's kind are in namespaces
    #[arg(long, value_enum, default_value_t = ScopeName::Namespaced, requires = "chart")]
    scope: ScopeName,
    /// Write the defaults of the chart or role into each resource when it is created. They stay there when those change
    #[arg(long)]
    defaults: bool,
    /// Print YAML or JSON
    #[arg(long, short, value_enum, default_value_t = Form::Yaml)]
    output: Form,
    /// Write a file for each kind into this directory, in place of the output: `GROUP_PLURAL.yaml`
    #[arg(long, value_name = "DIRECTORY")]
    output_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeName {
    Namespaced,
    Cluster,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Documents
    Yaml,
    /// An object, or a List of them
    Json,
}

/// A kind, and what its definition follows from.
struct Subject {
    kind: CustomKind,
    source: Source,
}

enum Source {
    Chart(Box<Chart>, Options),
    Roles(Vec<Role>, RoleOptions),
    /// Of resources of this kind.
    Runs(CustomKind, Procedure),
}

impl Subject {
    fn definition(&self) -> Result<Definition, DefinitionError> {
        match &self.source {
            Source::Chart(chart, options) => Definition::of(&self.kind, chart, options),
            Source::Roles(roles, options) => Definition::of_roles(&self.kind, roles, options),
            Source::Runs(of, procedure) => Definition::of_procedure(of, procedure),
        }
    }
}

/// Prints the definitions.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let subjects = match &arguments.chart {
        Some(path) => vec![of_chart(arguments, path)?],
        None => of_watches(arguments, environment)?,
    };
    let style = Style::of(&io::stderr(), environment);
    let mut definitions = Vec::new();
    for subject in &subjects {
        let definition = subject
            .definition()
            .map_err(|error| Failure::usage(error, None))?;
        for notice in definition.notices() {
            say(style, &format!("{} {notice}", subject.kind.kind));
        }
        definitions.push(definition);
    }
    distinguish(&mut definitions);
    match &arguments.output_dir {
        Some(folder) => write_all(folder, arguments.output, &subjects, &definitions),
        None => print_text(&joined(arguments.output, &definitions)),
    }
}

/// Something that people should know, beside the output.
fn say(style: Style, text: &str) {
    let line = format!("{} {}\n", style.paint(Tone::Doubtful, "note:"), harmless(text));
    // Nobody may read any more (a closed pipe).
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

fn of_chart(arguments: &Args, path: &Path) -> Result<Subject, Failure> {
    let chart = Chart::load(path).with_context(|| format!("failed to load the chart `{}`", path.display()));
    let chart = chart.map_err(|error| Failure::usage(error, None))?;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut kind = CustomKind::new(
        text(&arguments.group),
        text(&arguments.version),
        text(&arguments.kind),
    );
    kind.scope = match arguments.scope {
        ScopeName::Namespaced => Scope::Namespaced,
        ScopeName::Cluster => Scope::Cluster,
    };
    kind.plural = arguments.plural.clone().unwrap_or(kind.plural);
    Ok(Subject {
        kind,
        source: Source::Chart(Box::new(chart), options(arguments, Values::new())),
    })
}

fn of_watches(arguments: &Args, environment: &Environment) -> Result<Vec<Subject>, Failure> {
    let watches = Watches::load(&arguments.watches_file, environment)?;
    let is_wanted = |kind: &str| {
        let wanted = arguments.kind.as_ref();
        wanted.is_none_or(|wanted| kind.eq_ignore_ascii_case(wanted))
    };
    let mut subjects: Vec<Subject> = watches
        .iter()
        .flat_map(|watch| of_watch(arguments, watch, is_wanted))
        .collect();
    let mut is_defined = false;
    for watch in watches
        .ansible()
        .iter()
        .filter(|watch| is_wanted(&watch.gvk.kind))
    {
        if is_of_kubernetes(watch) {
            let style = Style::of(&io::stderr(), environment);
            say(
                style,
                &format!(
                    "{} is a kind of Kubernetes' own, which defines it",
                    watch.gvk.kind
                ),
            );
            is_defined = true;
            continue;
        }
        subjects.push(of_ansible(arguments, watch, environment)?);
    }
    if is_defined && subjects.is_empty() {
        return Ok(subjects);
    }
    if subjects.is_empty() {
        return Err(unknown_kind(arguments, &watches));
    }
    let named = subjects.iter().filter(|subject| is_wanted(&subject.kind.kind));
    if arguments.plural.is_some() && named.count() > 1 {
        return Err(Failure::usage(
            anyhow!("--plural is for one kind, and there are several of this name"),
            None,
        ));
    }
    Ok(subjects)
}

fn unknown_kind(arguments: &Args, watches: &Watches) -> Failure {
    let wanted = arguments.kind.as_deref().unwrap_or_default();
    let of_charts = watches.iter().map(|watch| &watch.gvk);
    let known = of_charts.chain(watches.ansible().iter().map(|watch| &watch.gvk));
    let runs = watches.iter().flat_map(|watch| &watch.procedures);
    let known = known.map(|gvk| gvk.kind.as_str());
    let known: Vec<&str> = known
        .chain(runs.map(|procedure| procedure.run_kind.as_str()))
        .collect();
    let hint = format!("its kinds are {}", known.join(", "));
    let file = arguments.watches_file.display();
    Failure::usage(anyhow!("`{file}` has no kind {wanted}"), Some(hint))
}

/// The kind of an entry and those of its runs, or of the latter those that are asked for alone.
fn of_watch(arguments: &Args, watch: &Watch, is_wanted: impl Fn(&str) -> bool) -> Vec<Subject> {
    let named = |mut kind: CustomKind| {
        let plural = arguments.plural.clone().filter(|_| is_wanted(&kind.kind));
        kind.plural = plural.unwrap_or(kind.plural);
        kind
    };
    let kind = named(custom_kind(watch, &Known::new()));
    let runs = procedures(watch, &kind, &Known::new());
    let with_all = is_wanted(&kind.kind);
    let runs = runs.into_iter().map(|mut procedure| {
        procedure.runs = named(procedure.runs);
        Subject {
            kind: procedure.runs.clone(),
            source: Source::Runs(kind.clone(), procedure),
        }
    });
    let mut subjects = Vec::new();
    if with_all {
        let options = Options {
            has_procedures: !watch.procedures.is_empty(),
            status: added_status(watch),
            ..options(arguments, watch.values.alone())
        };
        subjects.push(Subject {
            kind: kind.clone(),
            source: Source::Chart(Box::new(watch.chart.clone()), options),
        });
    }
    subjects.extend(runs.filter(|subject| with_all || is_wanted(&subject.kind.kind)));
    subjects
}

fn of_ansible(arguments: &Args, watch: &AnsibleWatch, environment: &Environment) -> Result<Subject, Failure> {
    let gvk = &watch.gvk;
    let mut kind = CustomKind::new(&gvk.group, &gvk.version, &gvk.kind);
    kind.plural = arguments.plural.clone().unwrap_or(kind.plural);
    let roles = roles_of(watch, environment)?;
    Ok(Subject {
        kind,
        source: Source::Roles(roles, options_of(watch, arguments.defaults)),
    })
}

fn options(arguments: &Args, given: Values) -> Options {
    Options {
        defaults: arguments.defaults,
        given,
        ..Options::default()
    }
}

fn text_of(form: Form, definition: &Definition) -> String {
    match form {
        Form::Yaml => definition.to_yaml(),
        Form::Json => format!("{:#}\n", definition.value()),
    }
}

fn joined(form: Form, definitions: &[Definition]) -> String {
    match (form, definitions) {
        (Form::Yaml, _) => {
            let texts: Vec<String> = definitions
                .iter()
                .map(|definition| text_of(form, definition))
                .collect();
            texts.join("---\n")
        }
        (Form::Json, [definition]) => text_of(form, definition),
        (Form::Json, _) => {
            let items: Vec<&Value> = definitions.iter().map(Definition::value).collect();
            format!(
                "{:#}\n",
                serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items})
            )
        }
    }
}

fn write_all(
    folder: &Path,
    form: Form,
    subjects: &[Subject],
    definitions: &[Definition],
) -> Result<(), Failure> {
    let failed = |attempt: &str, path: &Path| format!("failed to {attempt} `{}`", path.display());
    std::fs::create_dir_all(folder).with_context(|| failed("create the directory", folder))?;
    let ending = match form {
        Form::Yaml => "yaml",
        Form::Json => "json",
    };
    for (subject, definition) in subjects.iter().zip(definitions) {
        let path = folder.join(format!("{}_{}.{ending}", subject.kind.group, subject.kind.plural));
        std::fs::write(&path, text_of(form, definition)).with_context(|| failed("write", &path))?;
        print_text(&format!("{}\n", path.display()))?;
    }
    Ok(())
}
