//! Which marks an object gets, by how it is written and what is there already.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};
use steersman_cluster::{OWNER_UID_LABEL, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, PrimaryResource};

use super::fields::Fields;
use super::standing::{Standing, label, label_of_another};

/// How the objects of a run are marked as its owner's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// By an owner reference, or where Kubernetes allows none by annotations; and by the label, by which watches select.
    #[default]
    Full,
    /// By the label alone: nothing is deleted with the owner.
    Label,
    /// Not at all: bodies go on as they are. This is what `--inject-owner-ref=false` has always meant.
    None,
}

/// What becomes of an object that was there before, that nobody owns, and that a run replaces or applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unowned {
    /// It stays nobody's, as it was not made for the owner: otherwise it would be deleted with that.
    #[default]
    Leave,
    /// It becomes the owner's.
    Adopt,
}

/// How an object is written, by the body that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Create,
    /// What the body leaves out goes.
    Replace,
    /// What the body leaves out stays, and what another manager has set otherwise is a conflict.
    Apply,
}

/// Marks bodies for one owner, in one namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marker<'a> {
    pub(crate) owner: &'a PrimaryResource,
    pub(crate) marks: Marks,
    pub(crate) unowned: Unowned,
    /// That of the object.
    pub(crate) namespace: Option<&'a str>,
}

type Texts = BTreeMap<String, Value>;

impl Marker<'_> {
    /// Puts the marks into the metadata of a body, and keeps in it what a replacement would take from other owners. `live`
    /// is the object that is there.
    pub(super) fn mark(
        &self,
        way: Way,
        metadata: &mut Fields,
        live: Option<&ObjectMeta>,
    ) -> Result<(), serde_json::Error> {
        let Some(live) = live.filter(|_| way != Way::Create) else {
            return self.add(Way::Create, metadata, &ObjectMeta::default());
        };
        if way == Way::Replace {
            keep_references(metadata, live)?;
        }
        match Standing::of(live, self.owner) {
            Standing::Owned { .. } => self.add(way, metadata, live),
            Standing::Unowned if self.unowned == Unowned::Adopt => self.add(way, metadata, live),
            Standing::Another if way == Way::Replace => keep_marks(metadata, live),
            Standing::Primary | Standing::Another | Standing::Unowned => Ok(()),
        }
    }

    fn add(&self, way: Way, metadata: &mut Fields, live: &ObjectMeta) -> Result<(), serde_json::Error> {
        self.add_label(way, metadata, live)?;
        match self.marks {
            Marks::Full if self.owner.may_own(self.namespace) => self.add_reference(metadata, live),
            Marks::Full => self.add_annotations(way, metadata, live),
            Marks::Label | Marks::None => Ok(()),
        }
    }

    fn add_label(&self, way: Way, metadata: &mut Fields, live: &ObjectMeta) -> Result<(), serde_json::Error> {
        let uid = match label_of_another(live, self.owner) {
            Some(another) => another,
            None => &self.owner.uid,
        };
        // A value that another manager has set would be a conflict: it is changed after the run, by a patch.
        if way == Way::Apply && label(live).is_some_and(|there| there != uid) {
            return Ok(());
        }
        insert(metadata, "labels", &[(OWNER_UID_LABEL, uid.clone())])
    }

    fn add_reference(&self, metadata: &mut Fields, live: &ObjectMeta) -> Result<(), serde_json::Error> {
        let mut references: Vec<Value> = metadata.get("ownerReferences")?.unwrap_or_default();
        if references
            .iter()
            .any(|reference| reference["uid"] == self.owner.uid.as_str())
        {
            return Ok(());
        }
        // One that is there stays as it is: another value would be a conflict.
        let mut there = live.owner_references.iter().flatten();
        let reference = match there.find(|reference| reference.uid == self.owner.uid) {
            Some(reference) => json!(reference),
            None => self.owner.reference(),
        };
        references.push(reference);
        metadata.set("ownerReferences", &references)
    }

    fn add_annotations(
        &self,
        way: Way,
        metadata: &mut Fields,
        live: &ObjectMeta,
    ) -> Result<(), serde_json::Error> {
        let wanted = [
            (PRIMARY_RESOURCE, self.owner.primary()),
            (PRIMARY_RESOURCE_TYPE, self.owner.resource_type()),
        ];
        let there = |name: &str| live.annotations.as_ref().and_then(|all| all.get(name));
        if wanted
            .iter()
            .any(|(name, value)| there(name).is_some_and(|there| there != value))
        {
            return match way {
                Way::Replace => keep_marks(metadata, live),
                Way::Create | Way::Apply => Ok(()),
            };
        }
        insert(metadata, "annotations", &wanted)
    }
}

/// A replacement that says nothing of owner references does not end them.
fn keep_references(metadata: &mut Fields, live: &ObjectMeta) -> Result<(), serde_json::Error> {
    let named: Option<Vec<Value>> = metadata.get("ownerReferences")?;
    match &live.owner_references {
        Some(references) if named.is_none() => {
            metadata.set::<Vec<OwnerReference>>("ownerReferences", references)
        }
        _ => Ok(()),
    }
}

/// A replacement does not take an object from its owner.
fn keep_marks(metadata: &mut Fields, live: &ObjectMeta) -> Result<(), serde_json::Error> {
    if let Some(label) = label(live) {
        insert(metadata, "labels", &[(OWNER_UID_LABEL, label.clone())])?;
    }
    let annotations = live.annotations.iter().flatten();
    let marks =
        annotations.filter(|(name, _)| matches!(name.as_str(), PRIMARY_RESOURCE | PRIMARY_RESOURCE_TYPE));
    let marks: Vec<(&str, String)> = marks
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    insert(metadata, "annotations", &marks)
}

fn insert(metadata: &mut Fields, key: &str, more: &[(&str, String)]) -> Result<(), serde_json::Error> {
    if more.is_empty() {
        return Ok(());
    }
    let mut texts: Texts = metadata.get(key)?.unwrap_or_default();
    texts.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_str().into())),
    );
    metadata.set(key, &texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> PrimaryResource {
        PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: Some("team-a".to_owned()),
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        }
    }

    /// The metadata that becomes of `metadata`, where `live` is there.
    fn marked(way: Way, namespace: Option<&str>, metadata: &Value, live: Option<Value>) -> Value {
        let owner = owner();
        let marker = Marker {
            owner: &owner,
            marks: Marks::Full,
            unowned: Unowned::Leave,
            namespace,
        };
        let mut fields: Fields = serde_json::from_value(metadata.clone()).unwrap();
        let live = live.map(|live| serde_json::from_value(live).unwrap());
        marker.mark(way, &mut fields, live.as_ref()).unwrap();
        serde_json::to_value(fields).unwrap()
    }

    fn label(uid: &str) -> Value {
        json!({OWNER_UID_LABEL: uid})
    }

    fn other() -> Value {
        json!({"apiVersion": "example.com/v1", "kind": "Shop", "name": "books", "uid": "u-2"})
    }

    fn annotations(name: &str) -> Value {
        json!({PRIMARY_RESOURCE: name, PRIMARY_RESOURCE_TYPE: "Shop.example.com"})
    }

    #[test]
    fn what_is_created_is_the_owners() {
        let here = marked(Way::Create, Some("team-a"), &json!({"name": "a"}), None);
        assert_eq!(
            here,
            json!({"name": "a", "labels": label("u-1"), "ownerReferences": [owner().reference()]})
        );
        for namespace in [Some("team-b"), None] {
            let elsewhere = marked(Way::Create, namespace, &json!({}), None);
            assert_eq!(
                elsewhere,
                json!({"labels": label("u-1"), "annotations": annotations("team-a/toys")})
            );
        }
        let own = json!({"labels": {"a": "b", OWNER_UID_LABEL: "u-9"}, "ownerReferences": [other()], "annotations": null});
        let kept = marked(Way::Create, Some("team-a"), &own, None);
        assert_eq!(kept["labels"], json!({"a": "b", OWNER_UID_LABEL: "u-1"}));
        assert_eq!(kept["ownerReferences"], json!([other(), owner().reference()]));
        assert_eq!(
            marked(Way::Create, Some("team-a"), &kept, None),
            kept,
            "once is enough"
        );
    }

    #[test]
    fn a_replacement_keeps_the_marks_of_all_owners() {
        let mut ours = owner().reference();
        ours["blockOwnerDeletion"] = true.into();
        let live = json!({"labels": label("u-1"), "ownerReferences": [ours, other()]});
        let silent = marked(Way::Replace, Some("team-a"), &json!({}), Some(live.clone()));
        assert_eq!(silent, live);
        // What the body says of references counts, but for the owner's own.
        let said = marked(
            Way::Replace,
            Some("team-a"),
            &json!({"ownerReferences": []}),
            Some(live),
        );
        assert_eq!(said["ownerReferences"], json!([ours]));
        let both = json!({"labels": label("u-2"), "ownerReferences": [other(), ours]});
        let shared = marked(
            Way::Replace,
            Some("team-a"),
            &json!({"labels": {"a": "b"}}),
            Some(both),
        );
        assert_eq!(shared["labels"], json!({"a": "b", OWNER_UID_LABEL: "u-2"}));
    }

    #[test]
    fn what_is_anothers_is_not_taken_over() {
        let by_reference = json!({"labels": label("u-2"), "ownerReferences": [other()]});
        let by_annotation = json!({"labels": label("u-2"), "annotations": annotations("team-b/books")});
        for live in [by_reference, by_annotation] {
            assert_eq!(
                marked(Way::Replace, Some("team-a"), &json!({}), Some(live.clone())),
                live
            );
            assert_eq!(
                marked(Way::Apply, Some("team-a"), &json!({}), Some(live)),
                json!({})
            );
        }
    }

    #[test]
    fn what_nobody_owns_stays_as_it_is_or_is_adopted() {
        let live = json!({"uid": "x", "labels": {"a": "b"}});
        for way in [Way::Replace, Way::Apply] {
            assert_eq!(
                marked(way, Some("team-a"), &json!({}), Some(live.clone())),
                json!({})
            );
            assert_eq!(
                marked(way, Some("team-a"), &json!({}), Some(json!({"uid": "u-1"}))),
                json!({}),
                "the owner"
            );
        }
        let owner = owner();
        let marker = Marker {
            owner: &owner,
            marks: Marks::Full,
            unowned: Unowned::Adopt,
            namespace: Some("team-a"),
        };
        let mut fields = Fields::default();
        let live: ObjectMeta = serde_json::from_value(live).unwrap();
        marker.mark(Way::Apply, &mut fields, Some(&live)).unwrap();
        let adopted = json!({"labels": label("u-1"), "ownerReferences": [owner.reference()]});
        assert_eq!(serde_json::to_value(fields).unwrap(), adopted);
    }

    #[test]
    fn an_apply_makes_no_conflict() {
        let mut ours = owner().reference();
        ours["apiVersion"] = "example.com/v0".into();
        let live = json!({"labels": label("u-0"), "ownerReferences": [ours]});
        let applied = marked(Way::Apply, Some("team-a"), &json!({"name": "a"}), Some(live));
        assert_eq!(applied, json!({"name": "a", "ownerReferences": [ours]}));
        let absent = marked(Way::Apply, Some("team-a"), &json!({"name": "a"}), None);
        assert_eq!(absent["labels"], label("u-1"));
    }

    #[test]
    fn a_label_alone_is_a_mark_without_consequences() {
        let owner = owner();
        let marker = Marker {
            owner: &owner,
            marks: Marks::Label,
            unowned: Unowned::Leave,
            namespace: Some("team-a"),
        };
        let mut fields = Fields::default();
        marker.mark(Way::Create, &mut fields, None).unwrap();
        assert_eq!(
            serde_json::to_value(fields).unwrap(),
            json!({"labels": label("u-1")})
        );
    }
}
