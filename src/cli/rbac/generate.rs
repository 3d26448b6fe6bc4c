//! `rbac generate`: the roles of the operator of watches.yaml.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use steersman_cluster::permissions::{custom_kind, known_to, options};
use steersman_model::Environment;
use steersman_project::rbac::{ActsAs, Known, Recorded, RoleOptions, Rules, TaskOptions, roles};
use steersman_project::tasks::TaskSurvey;
use steersman_watches::{AnsibleWatch, Watch, Watches};

use crate::cli::ansible;
use crate::cli::cluster::{ClusterFlags, block_on, failed};
use crate::cli::style::{Style, Tone, harmless};
use crate::cli::{Failure, report};

const EXAMPLES: &str = "\
Examples:
  # The roles for this project's watches.yaml
  steersman rbac generate --output config/rbac/role.yaml

  # Roles in the two namespaces that the operator watches, with bindings
  steersman rbac generate --watch-namespace shop,museum --service-account shop-operator

  # A small role for the operator, and one for the accounts as which it makes releases
  steersman rbac generate --impersonate

  # With what runs of roles have asked for, as `run --record-permissions` has written it
  steersman rbac generate --recorded permissions.yaml";

/// Where operator-sdk's projects have their definitions.
const DEFINITIONS: &str = "config/crd/bases";

/// What `rbac generate` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    needs: NeedsFlags,
    /// The name of the roles
    #[arg(long, value_name = "NAME", default_value = "manager-role")]
    name: String,
    /// The operator's namespace, for its lease and its account
    #[arg(long, value_name = "NAMESPACE", default_value = "system")]
    operator_namespace: String,
    /// The operator's account: bind the roles to it
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// Leave out the role for leader election
    #[arg(long)]
    no_leader_election: bool,
    /// Let the operator ask who may see /metrics (`--metrics-require-rbac`)
    #[arg(long)]
    metrics_require_rbac: bool,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// What decides what an operator needs.
#[derive(Debug, clap::Args)]
pub(super) struct NeedsFlags {
    /// The watches.yaml of the operator
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    /// Files or directories with the definitions of kinds [default: config/crd/bases, where it exists]
    #[arg(long, value_name = "PATH")]
    crds: Vec<PathBuf>,
    /// The namespaces that the operator watches (`WATCH_NAMESPACE`) [default: all]
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    watch_namespace: Vec<String>,
    /// Ask the cluster what the resources of kinds are called that nothing here defines
    #[arg(long)]
    discover: bool,
    /// Let the operator write the charts' roles without having their rules (`escalate`, `bind`)
    #[arg(long)]
    allow_escalation: bool,
    /// The ServiceAccount of entries that name none, as the flag of `run` has it
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<String>,
    /// Part the rights of entries that name no ServiceAccount, too: those of the operator, and those of an account
    #[arg(long)]
    impersonate: bool,
    /// What runs of roles and playbooks have asked for, as `run --record-permissions` has written it
    #[arg(long, value_name = "FILE")]
    recorded: Vec<PathBuf>,
}

/// Writes the roles.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let watches = arguments.needs.rules(&arguments.cluster, environment)?;
    let style = Style::of(&io::stderr(), environment);
    for rules in &watches {
        for notice in &rules.notices {
            say(style, &format!("{}: {notice}", rules.kind.kind));
        }
    }
    for (api_version, kind) in arguments.needs.recorded()?.kinds() {
        let is_it = |rules: &Rules| {
            !rules.has_releases
                && (rules.kind.api_version().as_str(), rules.kind.kind.as_str()) == (api_version, kind)
        };
        if !watches.iter().any(is_it) {
            let what = "no entry of watches.yaml with a role or playbook is for";
            say(style, &format!("recorded: {what} {api_version}, kind {kind}"));
        }
    }
    let text = roles(
        &watches,
        &RoleOptions {
            name: arguments.name.clone(),
            namespace: arguments.operator_namespace.clone(),
            service_account: arguments.service_account.clone(),
            watch_namespaces: arguments.needs.namespaces(),
            elects_leader: !arguments.no_leader_election,
            guards_metrics: arguments.metrics_require_rbac,
        },
    );
    match &arguments.output {
        None => report::print_text(&text),
        Some(file) => fs::write(file, text)
            .with_context(|| format!("failed to write {}", file.display()))
            .map_err(Failure::from),
    }
}

/// Something that people should know, beside the output.
fn say(style: Style, text: &str) {
    let line = format!("{} {}\n", style.paint(Tone::Doubtful, "note:"), harmless(text));
    // Nobody may read any more (a closed pipe).
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

impl NeedsFlags {
    /// The permissions for each entry of watches.yaml.
    pub(super) fn rules(
        &self,
        cluster: &ClusterFlags,
        environment: &Environment,
    ) -> Result<Vec<Rules>, Failure> {
        let watches = Watches::load(&self.watches_file, environment)?;
        let mut known = self.defined()?;
        if self.discover {
            known.extend(block_on(discovered(cluster, environment))?);
        }
        let recorded = self.recorded()?;
        let charts = watches.iter().map(|watch| self.of_watch(watch, &known));
        let mut rules = charts.collect::<Result<Vec<Rules>, Failure>>()?;
        let search = ansible::search(environment);
        for watch in watches.ansible() {
            let survey = TaskSurvey::of(&ansible::contents(watch), &search);
            let kind = ansible::kind(watch, &known);
            let options = self.task_options(watch, known.clone(), recorded.clone());
            rules.push(Rules::of_tasks(&kind, &survey, &options));
        }
        Ok(rules)
    }

    /// What all records have together.
    fn recorded(&self) -> Result<Recorded, Failure> {
        let mut recorded = Recorded::default();
        for file in &self.recorded {
            let attempt = || format!("failed to read {}", file.display());
            let text = fs::read_to_string(file).with_context(attempt);
            let text = text.map_err(|error| Failure::usage(error, None))?;
            let read = Recorded::read(&text).with_context(attempt);
            recorded.extend(&read.map_err(|error| Failure::usage(error, None))?);
        }
        Ok(recorded)
    }

    fn task_options(&self, watch: &AnsibleWatch, known: Known, recorded: Recorded) -> TaskOptions {
        let account = watch.service_account.clone().map(ActsAs::Account);
        TaskOptions {
            acts_as: account.or_else(|| self.impersonate.then_some(ActsAs::AnyAccount)),
            recorded,
            allow_escalation: self.allow_escalation,
            ..ansible::task_options(watch, known)
        }
    }

    /// The namespaces that are watched; none for all of them.
    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        self.watch_namespace.iter().cloned().collect()
    }

    fn of_watch(&self, watch: &Watch, known: &Known) -> Result<Rules, Failure> {
        let mut options = options(watch, known.clone(), self.allow_escalation);
        let given = self.default_service_account.clone().map(ActsAs::Account);
        let given = given.or_else(|| self.impersonate.then_some(ActsAs::AnyAccount));
        options.acts_as = options.acts_as.or(given);
        let kind = custom_kind(watch, known);
        Rules::of(&kind, &watch.chart, &options).map_err(|error| {
            let error = anyhow!(error).context(format!(
                "failed to survey the chart {}",
                watch.chart_path.display()
            ));
            Failure::usage(error, None)
        })
    }

    /// What the project's own definitions say.
    fn defined(&self) -> Result<Known, Failure> {
        let usual = PathBuf::from(DEFINITIONS);
        let mut paths = self.crds.clone();
        if paths.is_empty() && usual.is_dir() {
            paths.push(usual);
        }
        let mut known = Known::new();
        for path in paths {
            for file in files(&path)? {
                let text = fs::read_to_string(&file)
                    .with_context(|| format!("failed to read {}", file.display()))
                    .map_err(|error| Failure::usage(error, None))?;
                known.extend(Known::of_definitions(&text));
            }
        }
        Ok(known)
    }
}

/// The YAML files that a path means, in order.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)
        .with_context(|| format!("failed to read the directory {}", path.display()))
        .map_err(|error| Failure::usage(error, None))?;
    let is_yaml = |file: &PathBuf| {
        file.extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml")
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_yaml)
        .collect();
    found.sort();
    Ok(found)
}

/// What a cluster serves.
async fn discovered(flags: &ClusterFlags, environment: &Environment) -> Result<Known, Failure> {
    let cluster = flags.connect(environment).await?;
    let served = cluster.discovery.served().await.map_err(failed)?;
    Ok(known_to(&served))
}
