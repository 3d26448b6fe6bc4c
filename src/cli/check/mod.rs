//! `check`: what is wrong with a project, without a cluster.

mod patches;
mod stages;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueEnum;
use serde_json::{Value, json};
use steersman_chart::{Capabilities, KubeVersion};
use steersman_cluster::permissions::{added_status, procedures, references};
use steersman_model::Environment;
use steersman_project::check::{
    AnsibleWatched, Deployed, Finding, Manifests, Project, Severity, Watched, check, required_collections,
};
use steersman_project::rbac::Known;
use steersman_project::tasks::{Search, TaskSurvey};
use steersman_project::{CustomKind, Scope};
use steersman_watches::world::SystemWorld;
use steersman_watches::{AnsibleWatch, Watch, Watches, WatchesError};

use patches::Patching;
use stages::Staging;

use super::Failure;
use super::ansible::{self, Ansible};
use super::report::print_text;
use super::style::{Style, Tone, harmless};

const EXAMPLES: &str = "\
Examples:
  # The project in this directory
  steersman check

  # Would it work with another version of Kubernetes? Warnings count, too
  steersman check --kube-version 1.38 --strict

What is checked:
  watches.yaml       every field, and what it names; `postRender` and `stages` on renderings
  charts             dependencies, lint, rendering with the defaults and with each sample
  definitions        in config/crd/bases and deploy/crds: one for each kind, that takes the
                     chart's defaults
  procedures         definitions of their runs, there, too; whether `confine` lets them make Jobs
  samples            in config/samples and deploy/samples: against the definitions
  roles, playbooks   what they name is there, ansible-playbook --syntax-check, collections of
                     requirements.yml, meta/argument_specs.yml against the defaults
  roles of RBAC      in config/rbac and deploy/rbac: whether they hold what charts and tasks need
  kustomizations     of config/default, else deploy: that it can be built, and what of the above
                     it deploys
  Kubernetes' kinds  those of the charts that are deprecated or gone

Exit codes:
  0  nothing is wrong
  1  something is wrong
  2  that could not be found out";

/// How long all charts may be rendered.
const RENDERED_WITHIN: Duration = Duration::from_mins(5);

/// What `check` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The watches.yaml of the project; its other files are looked for in the working directory
    #[arg(long, short, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    /// The version of Kubernetes that the project is for
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// Fail on warnings, too
    #[arg(long)]
    strict: bool,
    /// Print a line for each finding, or JSON for programs
    #[arg(long, short, value_enum, default_value_t = Form::Text)]
    output: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// A list of objects
    Json,
}

/// Prints what is wrong.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    // The exit code 1 says that something is wrong, so it can't say that something failed.
    let findings = findings(arguments, environment).map_err(Failure::into_trouble)?;
    let text = match arguments.output {
        Form::Text => text_of(&findings, Style::of(&io::stdout(), environment)),
        Form::Json => format!("{:#}\n", Value::Array(findings.iter().map(json_of).collect())),
    };
    print_text(&text)?;
    let fails = |finding: &Finding| arguments.strict || finding.severity == Severity::Error;
    if findings.iter().any(fails) {
        return Err(Failure::Silent);
    }
    Ok(())
}

fn findings(arguments: &Args, environment: &Environment) -> Result<Vec<Finding>, Failure> {
    let kube_version = match &arguments.kube_version {
        None => Capabilities::default().kube_version,
        Some(version) => KubeVersion::parse(version)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("`{version}` is not a version of Kubernetes"))
            .map_err(|error| Failure::usage(error, None))?,
    };
    let file = arguments.watches_file.display().to_string();
    let file = file.trim_start_matches("./");
    let manifests = Manifests::read(Path::new("")).map_err(|error| Failure::usage(error, None))?;
    let mut findings = manifests.findings().to_vec();
    let watches = match Watches::load(&arguments.watches_file, environment) {
        Ok(watches) => watches,
        Err(WatchesError::Invalid { problems, .. }) => {
            findings.extend(problems.into_iter().map(|problem| Finding {
                file: file.to_owned(),
                line: problem.line,
                severity: Severity::Error,
                message: keyed(&problem.key, &problem.message),
                hint: problem.hint,
            }));
            return Ok(findings);
        }
        Err(error) => return Err(error.into()),
    };
    findings.extend(watches.notices().iter().map(|notice| Finding {
        file: file.to_owned(),
        line: notice.line,
        severity: Severity::Warning,
        message: keyed(&notice.key, &notice.message),
        hint: None,
    }));
    let deployed = built(&mut findings);
    let entries: Vec<Watched> = watches.iter().map(watched).collect();
    let search = ansible::search(environment);
    let of_ansible = watches.ansible().iter();
    let of_ansible: Vec<AnsibleWatched> = of_ansible.map(|watch| ansible_watched(watch, &search)).collect();
    let (patching, staging) = (Patching::new(&watches), Staging::new(&watches));
    let begun = Instant::now();
    let project = Project {
        watches: &entries,
        ansible: &of_ansible,
        search: &search,
        manifests: &manifests,
        deployed: deployed
            .as_ref()
            .map(|(file, objects)| Deployed { file, objects }),
        kube_version: &kube_version,
        world: &SystemWorld,
        post_render: Some(&|watched: &Watched, rendered| {
            let Some(watch) = watches.iter().find(|watch| watch.line == watched.line) else {
                return Ok(rendered);
            };
            let rendered = patching.apply(watch, rendered)?;
            staging.look_at(watch, &rendered)?;
            Ok(rendered)
        }),
        expired: Some(&|| begun.elapsed() > RENDERED_WITHIN),
    };
    findings.extend(check(&project, file));
    findings.extend(patching.unused(file));
    findings.extend(staging.findings(file));
    if !of_ansible.is_empty() {
        ask_ansible(&of_ansible, file, &search, environment, &mut findings)?;
    }
    Ok(findings)
}

/// What Ansible itself says of roles and playbooks; where there is none, that it was not asked.
fn ask_ansible(
    watched: &[AnsibleWatched],
    file: &str,
    search: &Search,
    environment: &Environment,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let Some(ansible) = Ansible::find(search, environment)? else {
        let style = Style::of(&io::stderr(), environment);
        let text = "the syntax of roles and playbooks was not checked: ansible-playbook is not on PATH";
        let line = format!("{} {text}\n", style.paint(Tone::Doubtful, "note:"));
        // Nobody may read any more (a closed pipe).
        let _ = io::stderr().lock().write_all(line.as_bytes());
        return Ok(());
    };
    for watched in watched {
        for content in &watched.contents {
            let found = ansible.check(content, (file, watched.line))?;
            // What is said already is not said in other words; of a file that is missing Ansible does not say where it is
            // named.
            let is_new = |found: &Finding| {
                if found.file == file {
                    return watched.survey.problems.is_empty();
                }
                let mut known = findings.iter();
                !known.any(|known| known.file == found.file && known.line == found.line)
            };
            findings.extend(found.filter(is_new));
        }
    }
    for (name, file, line) in ansible.lacking(required_collections(search))? {
        findings.push(Finding {
            hint: Some(format!(
                "`ansible-galaxy collection install -r {file}` installs it"
            )),
            message: format!("collection {name} is not installed here"),
            severity: Severity::Warning,
            file,
            line,
        });
    }
    Ok(())
}

fn ansible_watched(watch: &AnsibleWatch, search: &Search) -> AnsibleWatched {
    let contents = ansible::contents(watch);
    AnsibleWatched {
        kind: ansible::kind(watch, &Known::new()),
        survey: TaskSurvey::of(&contents, search),
        contents,
        options: ansible::task_options(watch, Known::new()),
        line: watch.line,
    }
}

/// The file of the kustomization that `deploy` takes, and its objects; one that can't be built is a finding.
fn built(findings: &mut Vec<Finding>) -> Option<(String, Vec<Value>)> {
    let file = super::manifests::kustomization()?;
    let folder = file.parent()?;
    let name = file.display().to_string();
    match steersman_kustomize::build_within(Path::new("."), folder) {
        Ok(objects) => Some((name, objects)),
        Err(error) => {
            let hint = error.hint().map(str::to_owned);
            findings.push(Finding {
                file: name,
                line: 0,
                severity: Severity::Error,
                message: format!("{:#}", anyhow::Error::new(error)),
                hint,
            });
            None
        }
    }
}

fn keyed(key: &str, message: &str) -> String {
    if key.is_empty() {
        message.to_owned()
    } else {
        format!("{key}: {message}")
    }
}

fn watched(watch: &Watch) -> Watched {
    let mut kind = CustomKind::new(&watch.gvk.group, &watch.gvk.version, &watch.gvk.kind);
    if watch.release_namespace.is_some() {
        kind.scope = Scope::Cluster;
    }
    let denied_jobs = watch.confinement.as_ref();
    let denied_jobs = denied_jobs.and_then(|bounds| bounds.admit_kind("batch", "Job").err());
    Watched {
        procedures: procedures(watch, &kind, &Known::new()),
        denied_jobs: denied_jobs.map(|denied| denied.to_string()),
        kind,
        chart: watch.chart.clone(),
        chart_path: watch.chart_path.display().to_string(),
        below: watch.values.below(),
        overrides: watch.values.above(),
        release_namespace: watch.release_namespace.clone(),
        ignores_dependents: !watch.watch_dependents,
        expands_claims: watch.expand_claims,
        runs_tests: watch.tests.is_some(),
        service_account: watch.service_account.clone(),
        is_confined: watch.confinement.is_some(),
        references: references(watch),
        checked_kinds: watch
            .health_checks
            .iter()
            .map(|check| (check.group.clone(), check.kind.clone()))
            .collect(),
        looked_at_kinds: watch.reads().into_keys().collect(),
        status: added_status(watch),
        line: watch.line,
    }
}

fn text_of(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for finding in findings {
        let place = match finding.line {
            0 => format!("{}:", finding.file),
            line => format!("{}:{line}:", finding.file),
        };
        let tone = match finding.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Doubtful,
        };
        let severity = style.paint(tone, &format!("{}:", finding.severity.as_str()));
        let message = harmless(&finding.message).replace('\n', "\n    ");
        let _ = writeln!(
            text,
            "{} {severity} {message}",
            style.paint(Tone::Place, &harmless(&place))
        );
        if let Some(hint) = &finding.hint {
            let hint = harmless(hint).replace('\n', "\n    ");
            let _ = writeln!(text, "  {} {hint}", style.paint(Tone::Faint, "hint:"));
        }
    }
    let count = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let summary = match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => style.paint(Tone::Good, "nothing is wrong"),
        (errors, warnings) => style.paint(Tone::Bold, &format!("errors: {errors}, warnings: {warnings}")),
    };
    let _ = writeln!(text, "{summary}");
    text
}

fn json_of(finding: &Finding) -> Value {
    let mut object = json!({
        "file": finding.file,
        "severity": finding.severity.as_str(),
        "message": finding.message,
    });
    if finding.line > 0 {
        object["line"] = json!(finding.line);
    }
    if let Some(hint) = &finding.hint {
        object["hint"] = json!(hint);
    }
    object
}
