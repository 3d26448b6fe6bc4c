//! What a chart says itself: its defaults, and its defaults with every switch turned on.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::evaluate::Nobody;
use super::{Definition, HookUse, Place, Source, Survey};
use crate::chart::Chart;
use crate::input::RenderInput;
use crate::manifest::{Hook, HookEvent, Manifest, Rendered};
use crate::release::ReleaseInfo;
use crate::values::Values;
use crate::{Capabilities, Limits};

/// Adds the kinds that are rendered and were not found by reading the templates, and what definitions among them say.
pub(super) fn add(chart: &Chart, survey: &mut Survey) {
    for values in [Values::new(), switched_on(chart.values())] {
        if let Some(rendered) = render(chart, &values) {
            add_rendered(&rendered, survey);
        }
    }
}

/// Adds the definitions in `crds/`, and what they say.
pub(super) fn add_definitions(chart: &Chart, survey: &mut Survey) {
    for file in chart.crds() {
        for text in crate::manifest::documents(&file.text) {
            if let Ok(object) = steersman_yaml::to_json(text) {
                survey.definitions.extend(definition(&object));
                add_object(&file.source, HookUse::Never, &object, survey);
            }
        }
    }
}

fn render(chart: &Chart, values: &Values) -> Option<Rendered> {
    let release = ReleaseInfo {
        name: "release".to_owned(),
        namespace: "namespace".to_owned(),
        revision: 1,
        operation: crate::Operation::Install,
    };
    let capabilities = Capabilities::default();
    let rendered = chart.render(&RenderInput {
        release: &release,
        values,
        capabilities: &capabilities,
        world: &Nobody,
        limits: Limits::default(),
        expired: None,
        skip_schema_validation: true,
        subchart_notes: false,
    });
    rendered.ok()
}

fn add_rendered(rendered: &Rendered, survey: &mut Survey) {
    let objects = rendered
        .manifests
        .iter()
        .map(|manifest| (manifest, HookUse::Never));
    let is_needed = |hook: &&Hook| hook.events.iter().any(|event| *event != HookEvent::Test);
    let (needed, tests): (Vec<&Hook>, Vec<&Hook>) = rendered.hooks.iter().partition(is_needed);
    let needed = needed.iter().map(|hook| (&hook.manifest, HookUse::Always));
    for (manifest, hook) in objects.chain(needed) {
        add_manifest(manifest, hook, survey);
    }
    for hook in tests {
        add_manifest(&hook.manifest, HookUse::Always, survey.tests());
    }
}

fn add_manifest(manifest: &Manifest, hook: HookUse, survey: &mut Survey) {
    let object = manifest.object();
    survey.definitions.extend(definition(&object));
    add_object(&manifest.source, hook, &object, survey);
}

/// Adds the kind of an object, or of the items of a list.
fn add_object(source: &str, hook: HookUse, object: &Json, survey: &mut Survey) {
    let text = |key: &str| object.get(key).and_then(Json::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if kind.ends_with("List")
        && let Some(items) = object.get("items").and_then(Json::as_array)
    {
        return items
            .iter()
            .for_each(|item| add_object(source, hook, item, survey));
    }
    if api_version.is_empty() || kind.is_empty() {
        return;
    }
    let found = survey.object(api_version, kind);
    let is_known = found
        .sources
        .iter()
        .any(|known| known.template == source && (known.hook == hook || known.hook == HookUse::Sometimes));
    if !is_known {
        found.sources.push(Source {
            template: source.to_owned(),
            place: Place {
                file: source.into(),
                line: 0,
            },
            hook,
            namespaces: BTreeSet::new(),
        });
    }
}

/// What a `CustomResourceDefinition` defines.
fn definition(object: &Json) -> Option<Definition> {
    if object.get("kind")?.as_str()? != "CustomResourceDefinition" {
        return None;
    }
    let text = |path: &str| object.pointer(path).and_then(Json::as_str).map(str::to_owned);
    Some(Definition {
        group: text("/spec/group")?,
        kind: text("/spec/names/kind")?,
        plural: text("/spec/names/plural")?,
        is_namespaced: text("/spec/scope")? == "Namespaced",
    })
}

/// The values in which every `false` is true.
fn switched_on(values: &Values) -> Values {
    fn switch(value: &Json) -> Json {
        match value {
            Json::Bool(_) => Json::Bool(true),
            Json::Object(entries) => {
                let entry = |(key, value): (&String, &Json)| (key.clone(), switch(value));
                Json::Object(entries.iter().map(entry).collect())
            }
            other => other.clone(),
        }
    }
    values
        .iter()
        .map(|(key, value)| (key.clone(), switch(value)))
        .collect()
}
