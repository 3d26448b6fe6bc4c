//! Which of several watched versions of one kind a custom resource is released under.
//!
//! The API server shows an object in every version of its kind, so each of their controllers sees
//! each custom resource, and one of them must act on it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{GroupVersionKind, Selector, SelectorExt};
use steersman_model::FIELD_MANAGER;
use steersman_watches::Watches;

/// The watched versions of one kind, as one of their controllers sees them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Versions {
    own: GroupVersionKind,
    /// In the order of the file, the own one among them.
    all: Vec<(GroupVersionKind, Selector)>,
}

impl Versions {
    /// All resources of the kind are released under it.
    pub(crate) fn alone(own: &GroupVersionKind) -> Self {
        Self {
            own: own.clone(),
            all: Vec::new(),
        }
    }

    /// What the entry of a kind has to heed among all of `watches`, those with charts and those with roles.
    pub(crate) fn of(own: &GroupVersionKind, watches: &Watches) -> Self {
        let charts = watches.iter().map(|watch| (&watch.gvk, &watch.selector));
        let ansible = watches
            .ansible()
            .iter()
            .map(|watch| (&watch.gvk, &watch.selector));
        let is_same = |gvk: &GroupVersionKind| (&gvk.group, &gvk.kind) == (&own.group, &own.kind);
        let all = charts.chain(ansible).filter(|(gvk, _)| is_same(gvk));
        Self {
            own: own.clone(),
            all: all
                .map(|(gvk, selector)| (gvk.clone(), selector.clone()))
                .collect(),
        }
    }

    /// Whether the custom resource is released under the own version: of the versions whose
    /// selector it matches, the one in which its spec was written last, else the first of the file.
    pub(super) fn claims(&self, metadata: &ObjectMeta) -> bool {
        let nothing = BTreeMap::new();
        let labels = metadata.labels.as_ref().unwrap_or(&nothing);
        let candidates = || {
            self.all
                .iter()
                .filter(|(gvk, selector)| *gvk == self.own || selector.matches(labels))
                .map(|(gvk, _)| gvk)
        };
        if candidates().count() < 2 {
            return true;
        }
        let written = last_written(metadata, |api_version| {
            candidates().find(|gvk| gvk.api_version() == api_version)
        });
        written.or_else(|| candidates().next()) == Some(&self.own)
    }
}

/// The version that `find` knows and in which somebody else wrote the spec last.
fn last_written<'a>(
    metadata: &ObjectMeta,
    find: impl Fn(&str) -> Option<&'a GroupVersionKind>,
) -> Option<&'a GroupVersionKind> {
    let entries = metadata.managed_fields.iter().flatten();
    let of_spec = entries.filter(|entry| {
        entry.manager.as_deref() != Some(FIELD_MANAGER)
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
            && entry
                .fields_v1
                .as_ref()
                .is_some_and(|fields| fields.0.get("f:spec").is_some())
    });
    let found = of_spec.filter_map(|entry| {
        let gvk = find(entry.api_version.as_deref()?)?;
        Some((entry.time.as_ref().map(|time| time.0), gvk))
    });
    found.max_by_key(|(time, _)| *time).map(|(_, gvk)| gvk)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn gvk(version: &str) -> GroupVersionKind {
        GroupVersionKind::gvk("example.com", version, "Web")
    }

    fn versions(own: &str, selectors: [Selector; 2]) -> Versions {
        let [first, second] = selectors;
        Versions {
            own: gvk(own),
            all: vec![(gvk("v1"), first), (gvk("v2"), second)],
        }
    }

    fn entry(manager: &str, version: &str, second: u8, fields: &Value) -> Value {
        json!({"manager": manager, "operation": "Update", "apiVersion": format!("example.com/{version}"),
               "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    /// Which of two versions without selectors has a resource with these entries.
    fn check(entries: &[Value], expect: &str) {
        let metadata = serde_json::from_value(json!({ "managedFields": entries })).unwrap();
        for own in ["v1", "v2"] {
            let versions = versions(own, [Selector::default(), Selector::default()]);
            assert_eq!(versions.claims(&metadata), own == expect, "{own}: {entries:?}");
        }
    }

    #[test]
    fn a_resource_belongs_to_the_version_in_which_its_spec_was_written_last() {
        let spec = &json!({"f:spec": {"f:a": {}}});
        let labels = &json!({"f:metadata": {"f:labels": {}}});
        check(&[], "v1");
        check(&[entry("kubectl", "v2", 1, spec)], "v2");
        check(
            &[entry("kubectl", "v2", 1, spec), entry("editor", "v1", 2, spec)],
            "v1",
        );
        check(
            &[
                entry("kubectl", "v2", 1, spec),
                entry("labeller", "v1", 2, labels),
            ],
            "v2",
        );
        check(
            &[entry("kubectl", "v2", 1, spec), entry("steersman", "v1", 2, spec)],
            "v2",
        );
        check(&[entry("kubectl", "v3", 1, spec)], "v1");
    }

    #[test]
    fn selectors_that_exclude_each_other_go_before_versions() {
        let team = |name: &str| Selector::from_iter([("team".to_owned(), name.to_owned())]);
        let spec = &json!({"f:spec": {"f:a": {}}});
        let metadata = serde_json::from_value(
            json!({"labels": {"team": "b"}, "managedFields": [entry("kubectl", "v1", 1, spec)]}),
        )
        .unwrap();
        assert!(versions("v2", [team("a"), team("b")]).claims(&metadata));
    }
}
