//! What an operator lacks for the releases of a chart.

use std::collections::BTreeSet;

use steersman_chart::survey::Survey;

use super::{Difference, Granted, Options, Rule, Rules, base_rules, compare, needed};
use crate::CustomKind;

/// What the releases of a chart need, besides what every operator does.
///
/// ```
/// use std::collections::BTreeSet;
/// use steersman_chart::{Chart, survey::Survey};
/// use steersman_project::{CustomKind, rbac::{Needs, Options}};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("templates/service.yaml", b"apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
/// ])?;
/// let kind = CustomKind::new("example.com", "v1", "Web");
/// let needs = Needs::of_survey(&kind, &Survey::of(&chart)?, &Options::default());
/// let missing = needs.missing(&BTreeSet::new(), &[]);
/// assert!(missing.iter().any(|difference| difference.resource == "services"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Needs {
    /// With the rules of the chart's own roles.
    strict: Rules,
    /// With the leave to write these without having them.
    escalating: Rules,
}

impl Needs {
    /// For a chart that was surveyed. Both ways to write the chart's roles count, whatever the options say of them.
    pub fn of_survey(kind: &CustomKind, survey: &Survey, options: &Options) -> Self {
        let rules = |allow_escalation| {
            let options = Options {
                allow_escalation,
                ..options.clone()
            };
            Rules::of_survey(kind, survey, &options)
        };
        Self {
            strict: rules(false),
            escalating: rules(true),
        }
    }

    /// Where something is needed by an operator of these namespaces.
    pub fn namespaces(&self, watched: &BTreeSet<String>) -> BTreeSet<String> {
        let outside = self.strict.outside(watched).map(|(namespace, _)| namespace);
        watched.iter().chain(outside).cloned().collect()
    }

    /// What an operator of these namespaces, or with none of them one of all, lacks that is granted this.
    pub fn missing(&self, watched: &BTreeSet<String>, granted: &[Granted]) -> Vec<Difference> {
        let missing = |rules: &Rules| compare(granted, &rules.needed(watched)).missing;
        let mut lacks = missing(&self.escalating);
        let mut rules = &self.escalating;
        // Whoever may write roles without having their rules need not have them.
        if lacks.iter().any(|asked| asked.verb == "escalate") {
            rules = &self.strict;
            lacks = missing(rules);
        }
        let base = base_rules();
        lacks.extend(compare(granted, &needed(&base, watched)).missing);
        let elsewhere = rules.elsewhere.values().flatten();
        let all: Vec<Rule> = base
            .iter()
            .chain(&rules.rules)
            .chain(elsewhere)
            .cloned()
            .collect();
        Difference::all(lacks, &all)
    }
}
