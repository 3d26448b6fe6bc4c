//! Which claims are those of a set, and what is to be done with each. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::owner_uid;

use super::{Change, quantity};

const RELEASE_NAME: &str = "meta.helm.sh/release-name";

/// A set as it is live, or as it is to be created, and what its claims are to become.
pub(super) struct Set<'a> {
    name: String,
    uid: String,
    /// What its controller gives each claim.
    labels: BTreeMap<String, String>,
    /// The ordinals of the pods that it has or makes.
    first: i64,
    replicas: i64,
    growing: &'a [Change],
}

/// A claim that is to be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::apply) struct Expansion {
    pub(in crate::apply) claim: String,
    pub(in crate::apply) from: String,
    pub(in crate::apply) to: String,
    pub(super) uid: String,
    pub(super) version: Option<String>,
    pub(super) class: String,
}

/// What a claim is to a set whose templates grow.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is to be done with it.
    Other,
    /// A pod of the set uses it, and nothing but its name says that it is the set's.
    NotOfSet(&'static str),
    /// It is too small, and can't be expanded before it has a volume.
    Unbound,
    /// It is too small.
    Small(Expansion),
}

impl<'a> Set<'a> {
    pub(super) fn of(live: &DynamicObject, growing: &'a [Change]) -> Self {
        let uid = live.metadata.uid.clone();
        Self {
            uid: uid.unwrap_or_default(),
            ..Self::to_be(
                live.metadata.name.as_deref().unwrap_or_default(),
                &live.data,
                growing,
            )
        }
    }

    /// One that is to be created. It owns nothing yet: the server takes a set from its claims before it lets go of its name.
    pub(super) fn to_be(name: &str, set: &Value, growing: &'a [Change]) -> Self {
        let at = |pointer: &str| set.pointer(pointer);
        let labels = at("/spec/selector/matchLabels").cloned().unwrap_or_default();
        Self {
            name: name.to_owned(),
            uid: String::new(),
            labels: serde_json::from_value(labels).unwrap_or_default(),
            first: at("/spec/ordinals/start").and_then(Value::as_i64).unwrap_or(0),
            replicas: at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1),
            growing,
        }
    }

    /// The names of the claims that a template has made, in words: those of scaled-down pods are not among them.
    pub(super) fn claims_of(&self, template: &str) -> String {
        let claim = |ordinal: i64| format!("{template}-{}-{ordinal}", self.name);
        match self.replicas {
            ..=0 => format!("{template}-{}-ORDINAL", self.name),
            1 => claim(self.first),
            more => format!("{} to {}", claim(self.first), claim(self.first + more - 1)),
        }
    }

    /// What is to be done with a claim. Claims of ordinals that the set has no pods for are the set's, too: it uses them
    /// again when it is scaled up.
    pub(super) fn judge(&self, claim: &PersistentVolumeClaim, uid: &str) -> Standing {
        let metadata = &claim.metadata;
        let name = metadata.name.as_deref().unwrap_or_default();
        let Some((change, ordinal)) = self.template_of(name) else {
            return Standing::Other;
        };
        // The chart renders it itself, and says how large it is.
        let is_of_release = owner_uid(metadata).is_some_and(|owner| owner == uid);
        let spec = claim.spec.as_ref();
        let from = spec
            .and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"))
            .map(|size| size.0.clone())
            .unwrap_or_default();
        let is_small = quantity::parse(&from) < quantity::parse(&change.to);
        if is_of_release || metadata.deletion_timestamp.is_some() || !is_small {
            return Standing::Other;
        }
        if let Some(reason) = self.objection(metadata, ordinal) {
            let is_used = (self.first..self.first.saturating_add(self.replicas)).contains(&ordinal);
            return if is_used {
                Standing::NotOfSet(reason)
            } else {
                Standing::Other
            };
        }
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase != Some("Bound") {
            return Standing::Unbound;
        }
        let class = spec.and_then(|spec| spec.storage_class_name.clone());
        Standing::Small(Expansion {
            claim: name.to_owned(),
            to: change.to.clone(),
            uid: metadata.uid.clone().unwrap_or_default(),
            version: metadata.resource_version.clone(),
            class: class.unwrap_or_default(),
            from,
        })
    }

    /// The growing template that a claim has its name of, and the ordinal of its pod.
    fn template_of(&self, claim: &str) -> Option<(&Change, i64)> {
        self.growing.iter().find_map(|change| {
            let rest = claim.strip_prefix(&change.template)?.strip_prefix('-')?;
            let digits = rest.strip_prefix(&self.name)?.strip_prefix('-')?;
            let ordinal: u32 = digits.parse().ok()?;
            (ordinal.to_string() == digits).then_some((change, i64::from(ordinal)))
        })
    }

    /// What speaks against a claim of the right name being the set's. Its controller gives claims the labels of the set's
    /// selector, and as owner at most the set, or a pod that is scaled down.
    fn objection(&self, metadata: &ObjectMeta, ordinal: i64) -> Option<&'static str> {
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let is_set = |owner: &OwnerReference| {
            owner.kind == "StatefulSet" && !self.uid.is_empty() && owner.uid == self.uid
        };
        let pod = format!("{}-{ordinal}", self.name);
        let is_pod = |owner: &OwnerReference| owner.kind == "Pod" && owner.name == pod;
        let labels = metadata.labels.as_ref();
        let has = |(key, value): (&String, &String)| labels.and_then(|labels| labels.get(key)) == Some(value);
        let annotations = metadata.annotations.as_ref();
        if owners.iter().any(|owner| !is_set(owner) && !is_pod(owner)) {
            Some("something else owns it")
        } else if owner_uid(metadata).is_some()
            || annotations.is_some_and(|annotations| annotations.contains_key(RELEASE_NAME))
        {
            Some("it is marked as part of another release")
        } else if owners.iter().any(is_set) || (!self.labels.is_empty() && self.labels.iter().all(has)) {
            None
        } else {
            Some("it has not the labels of the set's selector")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn growing() -> Vec<Change> {
        vec![Change {
            template: "data".to_owned(),
            from: "1Gi".to_owned(),
            to: "2Gi".to_owned(),
            grows: true,
        }]
    }

    /// What a claim is to a set of two pods, from ordinal 1 on, if it has this beside what the controller gives it.
    fn judge(name: &str, change: impl FnOnce(&mut Value)) -> Standing {
        let live: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "store", "uid": "s-1"},
            "spec": {"replicas": 2, "ordinals": {"start": 1}, "selector": {"matchLabels": {"app": "store"}}},
        }))
        .unwrap();
        let mut claim = json!({
            "metadata": {"name": name, "uid": "c-1", "resourceVersion": "7", "labels": {"app": "store", "more": "yes"}},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        });
        change(&mut claim);
        Set::of(&live, &growing()).judge(&serde_json::from_value(claim).unwrap(), "u-1")
    }

    #[test]
    fn claims_of_the_set_are_told_by_name_and_labels() {
        let small = |name: &str| matches!(judge(name, |_| {}), Standing::Small(found) if found.claim == name);
        // One that is scaled down is used again some day.
        for name in ["data-store-1", "data-store-2", "data-store-0", "data-store-17"] {
            assert!(small(name), "{name}");
        }
        for name in [
            "data-store",
            "data-store-",
            "data-store-01",
            "data-store-1-0",
            "logs-store-1",
            "data-other-1",
            "data-store-x",
            "data-store-+1",
            "data-store-99999999999",
        ] {
            assert_eq!(judge(name, |_| {}), Standing::Other, "{name}");
        }
        assert_eq!(
            judge("data-store-1", |_| {}),
            Standing::Small(Expansion {
                claim: "data-store-1".to_owned(),
                from: "1Gi".to_owned(),
                to: "2Gi".to_owned(),
                uid: "c-1".to_owned(),
                version: Some("7".to_owned()),
                class: "fast".to_owned(),
            })
        );
    }

    #[test]
    fn a_claim_that_is_large_enough_or_goes_is_left_alone() {
        for size in ["2Gi", "2048Mi", "5Gi"] {
            let other = judge("data-store-1", |claim| {
                claim["spec"]["resources"]["requests"]["storage"] = size.into();
            });
            assert_eq!(other, Standing::Other, "{size}");
        }
        let going = judge("data-store-1", |claim| {
            claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        });
        assert_eq!(going, Standing::Other);
        let unbound = judge("data-store-1", |claim| {
            claim["status"]["phase"] = "Pending".into();
        });
        assert_eq!(unbound, Standing::Unbound);
    }

    #[test]
    fn a_name_alone_makes_no_claim_the_sets() {
        let owner = |kind: &str, name: &str, uid: &str| json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}]);
        let labels = json!({"app": "other"});
        let release = json!({"meta.helm.sh/release-name": "other"});
        for (field, value, expect) in [
            ("labels", labels, Some("labels")),
            ("labels", json!(null), Some("labels")),
            ("ownerReferences", owner("StatefulSet", "store", "s-1"), None),
            ("ownerReferences", owner("Pod", "store-1", "p-1"), None),
            ("ownerReferences", owner("Pod", "store-2", "p-2"), Some("owns it")),
            (
                "ownerReferences",
                owner("StatefulSet", "store", "s-2"),
                Some("owns it"),
            ),
            ("ownerReferences", owner("Web", "shop", "u-1"), Some("owns it")),
            ("annotations", release, Some("another release")),
        ] {
            let standing = |name: &str| judge(name, |claim| claim["metadata"][field] = value.clone());
            match (standing("data-store-1"), expect) {
                (Standing::Small(_), None) => {}
                (Standing::NotOfSet(reason), Some(words)) if reason.contains(words) => {}
                (other, _) => panic!("{field} {value}: {other:?}"),
            }
            // No pod of the set has it, so that it is in nobody's way.
            let unused = standing("data-store-3");
            assert_eq!(
                matches!(unused, Standing::Other),
                expect.is_some() || value[0]["kind"] == "Pod",
                "{unused:?}"
            );
        }
    }

    #[test]
    fn a_set_that_is_to_be_created_has_the_claims_of_a_former_one() {
        let set = json!({"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "store"}}}});
        let judge = |name: &str, labels: Value, owners: Value| {
            let claim = json!({
                "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"},
            });
            let growing = growing();
            Set::to_be("store", &set, &growing).judge(&serde_json::from_value(claim).unwrap(), "u-1")
        };
        let ours = json!({"app": "store"});
        for name in ["data-store-0", "data-store-5"] {
            assert!(matches!(judge(name, ours.clone(), json!([])), Standing::Small(_)));
        }
        let former = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "store", "uid": ""}]);
        for (labels, owners) in [(json!({"app": "other"}), json!([])), (ours, former)] {
            let standing = judge("data-store-0", labels.clone(), owners.clone());
            assert!(matches!(standing, Standing::NotOfSet(_)), "{standing:?}");
            assert_eq!(judge("data-store-1", labels, owners), Standing::Other);
        }
    }

    #[test]
    fn claims_are_named_in_words() {
        for (replicas, words) in [
            (0, "data-store-ORDINAL"),
            (1, "data-store-0"),
            (3, "data-store-0 to data-store-2"),
        ] {
            let live = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "store"}, "spec": {"replicas": replicas}});
            let live = serde_json::from_value(live).unwrap();
            assert_eq!(Set::of(&live, &growing()).claims_of("data"), words);
        }
    }
}
