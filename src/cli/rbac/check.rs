//! `rbac check`: what the operator may do, beside what it needs or has asked for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use steersman_cluster::permissions::{PermissionsError, granted};
use steersman_model::Environment;
use steersman_project::rbac::{
    Asked, Audited, Comparison, Difference, Granted, Purpose, Rule, base_rules_of, compare,
    leader_election_rules, metrics_rules, needed, signing_rules,
};

use super::generate::NeedsFlags;
use crate::cli::cluster::{ClusterFlags, block_on};
use crate::cli::style::harmless;
use crate::cli::{Failure, report};

const EXAMPLES: &str = "\
Examples:
  # Is the role in this file what the operator needs?
  steersman rbac check --role config/rbac/role.yaml

  # May the operator's account do in this cluster what it needs?
  steersman rbac check --user system:serviceaccount:shop-system:shop-operator

  # What has the operator asked for, what was refused, and what was never used?
  steersman rbac check --role config/rbac/role.yaml --audit-log audit.log \\
    --user system:serviceaccount:shop-system:shop-operator

Exit codes:
  0  nothing is missing, and nothing more is granted than is needed
  1  something is missing or unused
  2  it can't be told";

/// What `rbac check` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    needs: NeedsFlags,
    /// A file with the operator's roles, in place of the cluster's answer
    #[arg(long, value_name = "FILE")]
    role: Vec<PathBuf>,
    /// The operator's user: as whom the cluster is asked, and whose requests in the audit log count
    #[arg(long, value_name = "NAME", required_unless_present = "role")]
    user: Option<String>,
    /// What kube-apiserver has logged while the operator ran: what it has really asked for is what it needs
    #[arg(long, value_name = "FILE", requires = "user")]
    audit_log: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Compares, and prints what differs.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let differs = differences(arguments, environment).map_err(Failure::into_trouble)?;
    if differs { Err(Failure::Silent) } else { Ok(()) }
}

fn differences(arguments: &Args, environment: &Environment) -> Result<bool, Failure> {
    let watches = arguments.needs.rules(&arguments.cluster, environment)?;
    let namespaces = arguments.needs.namespaces();
    let base = base_rules_of(&watches);
    let mut rules = base.clone();
    let mut predicted = needed(&base, &namespaces);
    let mut looked_into = namespaces.clone();
    for watch in &watches {
        predicted.extend(watch.needed(&namespaces));
        rules.extend(watch.rules.iter().cloned());
        for (namespace, elsewhere) in watch.outside(&namespaces) {
            rules.extend(elsewhere.iter().cloned());
            looked_into.insert(namespace.clone());
        }
    }
    let granted = if arguments.role.is_empty() {
        block_on(of_cluster(arguments, &looked_into, environment))?
    } else {
        of_files(&arguments.role)?
    };
    let comparison = match (&arguments.audit_log, &arguments.user) {
        (Some(file), Some(user)) => by_audit(&audited(file, user)?, &granted, &rules, predicted),
        _ => compare(&granted, &predicted),
    };
    let comparison = without_optional(comparison);
    let is_same = comparison.missing.is_empty() && comparison.unused.is_empty();
    report::print_text(&if is_same {
        "The role is what the operator needs.\n".to_owned()
    } else {
        table(comparison, &rules)
    })?;
    Ok(!is_same)
}

/// What the cluster lets the operator's user do.
async fn of_cluster(
    arguments: &Args,
    namespaces: &BTreeSet<String>,
    environment: &Environment,
) -> Result<Vec<Granted>, Failure> {
    let cluster = arguments
        .cluster
        .connect_as(environment, arguments.user.clone())
        .await?;
    let answer = granted(&cluster.client, namespaces).await;
    answer.map_err(|error| {
        let hint = match &error {
            PermissionsError::Incomplete(_) => Some("name the roles by --role".to_owned()),
            PermissionsError::Request(_) => None,
        };
        Failure::failed(error, hint)
    })
}

/// What the roles in these files grant.
fn of_files(files: &[PathBuf]) -> Result<Vec<Granted>, Failure> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)
            .with_context(|| format!("failed to read {}", file.display()))
            .map_err(|error| Failure::usage(error, None))?;
        let granted = Granted::of_manifests(&text).map_err(|error| {
            Failure::usage(
                anyhow!(error).context(format!("failed to read {}", file.display())),
                None,
            )
        })?;
        found.extend(granted);
    }
    if found.is_empty() {
        return Err(Failure::usage(anyhow!("no role is in the files"), None));
    }
    Ok(found)
}

/// What a user has asked for.
fn audited(file: &Path, user: &str) -> Result<Audited, Failure> {
    let log = File::open(file).with_context(|| format!("failed to open {}", file.display()));
    let audited = log.and_then(|log| {
        Audited::read(BufReader::new(log), user).with_context(|| format!("failed to read {}", file.display()))
    });
    let audited = audited.map_err(|error| Failure::usage(error, None))?;
    if audited.requests == 0 {
        let hint = "the name of a ServiceAccount's user is system:serviceaccount:NAMESPACE:NAME";
        let error = anyhow!("{} has no request of the user {user}", file.display());
        return Err(Failure::usage(error, Some(hint.to_owned())));
    }
    Ok(audited)
}

/// What was refused, and what was never asked for; what the server only looks at is needed as predicted.
fn by_audit(audited: &Audited, granted: &[Granted], rules: &[Rule], mut predicted: Vec<Asked>) -> Comparison {
    let held = || rules.iter().filter(|rule| rule.purpose == Purpose::Held);
    predicted.retain(|asked| held().any(|rule| rule.allows(asked)));
    predicted.extend(audited.asked.iter().cloned());
    Comparison {
        missing: audited.forbidden.iter().cloned().collect(),
        unused: compare(granted, &predicted).unused,
    }
}

/// Without what an operator may have in its own namespace, wherever that is, and for guarded metrics, and what everybody may.
fn without_optional(comparison: Comparison) -> Comparison {
    let mut rules = leader_election_rules();
    rules.extend(signing_rules());
    rules.extend(metrics_rules());
    rules.push(Rule::new(
        "authorization.k8s.io",
        &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        &["create"],
        "everybody may",
    ));
    rules.push(Rule::new(
        "authentication.k8s.io",
        &["selfsubjectreviews"],
        &["create"],
        "everybody may",
    ));
    let is_optional = |asked: &Asked| rules.iter().any(|rule| rule.allows(asked));
    Comparison {
        unused: comparison
            .unused
            .into_iter()
            .filter(|asked| !is_optional(asked))
            .collect(),
        ..comparison
    }
}

/// One line for each resource.
fn table(comparison: Comparison, rules: &[Rule]) -> String {
    let head = ["", "RESOURCE", "WHERE", "VERBS", "WHY"];
    let mut rows = vec![head.map(str::to_owned)];
    for (side, asked) in [("missing", comparison.missing), ("unused", comparison.unused)] {
        for difference in Difference::all(asked, rules) {
            let Difference { name, namespace, .. } = difference;
            let place = match (namespace, name.as_str()) {
                (Some(namespace), "") => namespace,
                (None, "") => "everywhere".to_owned(),
                (Some(namespace), name) => format!("{namespace}/{name}"),
                (None, name) => name.to_owned(),
            };
            let verbs = difference.verbs.join(",");
            rows.push([
                side.to_owned(),
                difference.resource,
                place,
                verbs,
                difference.reason,
            ]);
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 5]| {
        let cells = std::iter::zip(row, widths).map(|(cell, width)| format!("{cell:width$}  "));
        let text = cells.collect::<String>() + &row[4];
        harmless(text.trim_end()) + "\n"
    };
    rows.iter().map(line).collect()
}
