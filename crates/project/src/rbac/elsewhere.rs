//! What a chart has in namespaces that it names itself.

use std::collections::BTreeSet;

use steersman_chart::survey::{ObjectKind, Place, Survey};

use super::{Options, Rule, Rules, chart, escalation};

/// Adds what is needed in each namespace that the chart names.
pub(super) fn add(survey: &Survey, options: &Options, rules: &mut Rules) {
    // Their Jobs are where the release is.
    let options = &Options {
        procedures: Vec::new(),
        ..options.clone()
    };
    let of_objects = survey.objects.iter().flat_map(|object| &object.sources);
    let of_objects = of_objects.flat_map(|source| &source.namespaces);
    let of_lookups = survey
        .lookups
        .iter()
        .flat_map(|lookup| &lookup.namespaces)
        .flatten();
    let named: BTreeSet<&String> = of_objects.chain(of_lookups).collect();
    for namespace in named {
        let part = within(survey, namespace);
        let mut found = Rules {
            rules: Vec::new(),
            ..rules.clone()
        };
        chart::add(&part, options, &mut found);
        escalation::add(&part, options, &mut found);
        let found: Vec<Rule> = found.namespaced().cloned().collect();
        if !found.is_empty() {
            rules.elsewhere.insert(namespace.clone(), found);
        }
    }
}

/// What of a survey is about a namespace that the chart names.
fn within(survey: &Survey, namespace: &str) -> Survey {
    let mut places: BTreeSet<&Place> = BTreeSet::new();
    let mut objects = Vec::new();
    for object in &survey.objects {
        let sources = object
            .sources
            .iter()
            .filter(|source| source.namespaces.contains(namespace));
        let sources: Vec<_> = sources.collect();
        places.extend(sources.iter().map(|source| &source.place));
        objects.push(ObjectKind {
            sources: sources.into_iter().cloned().collect(),
            ..object.clone()
        });
    }
    objects.retain(|object| !object.sources.is_empty());
    let is_named = |names: &Option<BTreeSet<String>>| names.iter().any(|names| names.contains(namespace));
    Survey {
        objects,
        definitions: survey.definitions.clone(),
        lookups: survey
            .lookups
            .iter()
            .filter(|lookup| is_named(&lookup.namespaces))
            .cloned()
            .collect(),
        roles: survey
            .roles
            .iter()
            .filter(|role| places.contains(&role.place))
            .cloned()
            .collect(),
        bindings: survey
            .bindings
            .iter()
            .filter(|binding| places.contains(&binding.place))
            .cloned()
            .collect(),
        undetermined: Vec::new(),
        tests: None,
    }
}
