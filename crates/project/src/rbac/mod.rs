//! The permissions that an operator needs, from what its charts can produce and what its roles and playbooks ask for.
//!
//! Every rule names its verbs and says why it is there; there is no `*` but in what a chart's own roles grant. What the
//! charts leave open is a [notice](Rules::notices), not a guess.
//!
//! ```
//! use steersman_chart::Chart;
//! use steersman_project::CustomKind;
//! use steersman_project::rbac::{self, Options, Rules};
//!
//! let chart = Chart::from_files([
//!     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
//!     ("templates/service.yaml", b"apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
//! ])?;
//! let kind = CustomKind::new("example.com", "v1", "Web");
//! let rules = Rules::of(&kind, &chart, &Options::default())?;
//! let block = rbac::write::block(&rules);
//! assert!(block.contains("## Rules for example.com/v1, Kind: Web"));
//! assert!(block.contains("  - services\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod audit;
mod base;
mod chart;
mod compare;
mod difference;
mod elsewhere;
mod escalation;
mod manifest;
mod needs;
mod procedures;
mod recorded;
mod references;
mod resources;
mod rule;
mod tasks;
pub mod write;

pub use account::ActsAs;
pub use audit::Audited;
pub use base::{
    SIGNING_KEYS, base_rules, base_rules_of, leader_election_rules, metrics_rules, run_base_rules, run_rules,
    signing_rules,
};
pub use compare::{AggregatedRole, Asked, Comparison, Granted, compare, needed};
pub use difference::Difference;
pub use manifest::{RoleOptions, roles};
pub use needs::Needs;
pub use recorded::{Recorded, RecordedError, RecordedPlace, RecordedRequest};
pub use references::{Referred, ReferredPlace};
pub use resources::{KUBERNETES, Known, ResourceName};
pub use rule::{Purpose, Reach, Rule};
pub use tasks::{Follows, TaskOptions};

use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::Chart;
use steersman_chart::survey::Survey;

use crate::{CustomKind, Procedure};

/// What a chart's permissions depend on, besides the chart.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says something else")]
pub struct Options {
    /// Lets the operator write the chart's roles without having their rules: `escalate` and `bind`.
    pub allow_escalation: bool,
    /// Whether changes of the release's objects go unnoticed (`watchDependentResources: false`).
    pub ignores_dependents: bool,
    /// Whether the claims of a `StatefulSet` are expanded where one of its claim templates grows (`expandClaims: true`).
    pub expands_claims: bool,
    /// Whether the chart's tests are run: at all, where a resource asks for it, or after each revision (`test`).
    pub runs_tests: bool,
    /// As which ServiceAccount releases are made; `None` for the operator itself.
    pub acts_as: Option<ActsAs>,
    /// What resources refer to outside of their releases.
    pub references: Vec<Referred>,
    /// What is carried out for resources besides, with the kinds of its runs.
    pub procedures: Vec<Procedure>,
    /// Resources of kinds that neither Kubernetes nor the chart defines, by group and kind, as the cluster names them.
    pub known: Known,
}

/// What the operator needs for the custom resources of one kind.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Of the custom resources, as watches.yaml names it.
    pub kind: CustomKind,
    /// The operator's permissions, in a stable order.
    pub rules: Vec<Rule>,
    /// As whom releases are made, where that is not the operator itself.
    pub acts_as: Option<ActsAs>,
    /// What that ServiceAccount needs.
    pub account: Vec<Rule>,
    /// What an operator of some namespaces needs in others, which the chart names for some of its objects and for what
    /// it looks up. All of it is in `rules` as well.
    pub elsewhere: BTreeMap<String, Vec<Rule>>,
    /// What the person who reads the role has to know: kinds that values decide, names that were guessed.
    pub notices: Vec<String>,
    /// Whether its resources have releases of a chart, whose revisions are Secrets; otherwise runs of Ansible.
    pub has_releases: bool,
}

impl Rules {
    /// The permissions for the releases of `chart`.
    ///
    /// # Errors
    /// The chart's templates cannot be parsed.
    pub fn of(
        kind: &CustomKind,
        chart: &Chart,
        options: &Options,
    ) -> Result<Self, steersman_chart::RenderError> {
        let survey = Survey::of(chart)?;
        Ok(Self::of_survey(kind, &survey, options))
    }

    /// As [`of`](Self::of), for a chart that was surveyed already.
    pub fn of_survey(kind: &CustomKind, survey: &Survey, options: &Options) -> Self {
        let with_tests = options.runs_tests.then(|| survey.with_tests());
        let survey = with_tests.as_ref().unwrap_or(survey);
        let own = match &options.acts_as {
            Some(_) => Vec::new(),
            None => base::custom_resource(kind),
        };
        let mut rules = Self {
            kind: kind.clone(),
            rules: own,
            acts_as: options.acts_as.clone(),
            account: Vec::new(),
            elsewhere: BTreeMap::new(),
            notices: Vec::new(),
            has_releases: true,
        };
        chart::add(survey, options, &mut rules);
        escalation::add(survey, options, &mut rules);
        elsewhere::add(survey, options, &mut rules);
        if let Some(acts_as) = &options.acts_as {
            account::split(acts_as, &mut rules);
        }
        references::add(survey, options, &mut rules);
        procedures::add(options, &mut rules);
        rules
    }

    /// Each verb on each resource that an operator of these namespaces needs, or with none of them one of all.
    pub fn needed(&self, namespaces: &BTreeSet<String>) -> Vec<Asked> {
        let mut found = needed(&self.rules, namespaces);
        for (namespace, rules) in self.outside(namespaces) {
            found.extend(rules.iter().flat_map(|rule| rule.each(Some(namespace))));
        }
        found
    }

    /// What an operator of these namespaces needs in others.
    pub fn outside<'a>(
        &'a self,
        namespaces: &'a BTreeSet<String>,
    ) -> impl Iterator<Item = (&'a String, &'a Vec<Rule>)> {
        let is_outside = |namespace: &String| !namespaces.is_empty() && !namespaces.contains(namespace);
        self.elsewhere
            .iter()
            .filter(move |(namespace, _)| is_outside(namespace))
    }

    /// Whose the objects are, in notices.
    fn whose(&self) -> &'static str {
        if self.has_releases { "chart's" } else { "tasks'" }
    }

    /// The permissions for resources in namespaces; a `Role` can hold them.
    pub fn namespaced(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| rule.reach == Reach::Namespaces)
    }

    /// The permissions that only a `ClusterRole` can hold.
    pub fn cluster(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| rule.reach == Reach::Cluster)
    }
}

/// The documents of a text that are YAML.
fn documents(text: &str) -> Vec<serde_json::Value> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.starts_with("---") {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    let read = |document: &String| steersman_yaml::to_json(document).ok();
    documents.iter().filter_map(read).collect()
}

/// Rules with the same groups, verbs and names become one, with the reasons of both.
fn merged(rules: Vec<Rule>) -> Vec<Rule> {
    let mut found: BTreeMap<rule::Key, Rule> = BTreeMap::new();
    let mut order = Vec::new();
    for rule in rules {
        let key = rule.key();
        if let Some(known) = found.get_mut(&key) {
            known.join(rule);
        } else {
            order.push(key.clone());
            found.insert(key, rule);
        }
    }
    order.iter().filter_map(|key| found.remove(key)).collect()
}
