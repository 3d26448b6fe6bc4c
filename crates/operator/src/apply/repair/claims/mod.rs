//! Claims of a `StatefulSet` whose claim templates ask for another size. Pure, but for `expand`.
//!
//! Neither the templates of a set nor the claims that were made from them follow a change: the server refuses it. So the
//! claims are expanded one by one, and the set is deleted without its pods and claims and created again. Nothing shrinks. Where
//! the set is gone and its claims are not, they are expanded before it is created.

mod error;
mod expand;
mod judge;
mod quantity;

use std::sync::{Mutex, PoisonError};

pub use error::ClaimsError;
pub(in crate::apply) use expand::ClaimsPlan;
use judge::Expansion;
use serde_json::Value;
use steersman_model::{ClaimChange, ObjectId};

const TEMPLATES: &str = "/spec/volumeClaimTemplates";
const STORAGE: &str = "/spec/resources/requests/storage";

/// What is done where a claim template asks for another size than it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimPolicy {
    /// It is a change like any other that the server refuses.
    #[default]
    Leave,
    /// Claims grow with it. One that asks for less is refused.
    Expand,
    /// Claims grow with it. One that asks for less stays as it is: what is applied is an earlier state of the release, and
    /// claims do not go back.
    ExpandOrKeep,
}

/// What was done about claims of sets, as soon as it was.
#[derive(Debug, Default)]
pub struct ClaimNotes(Mutex<Vec<(ObjectId, ClaimChange)>>);

impl ClaimNotes {
    /// This was done about claims of the set with this identity.
    pub(super) fn note(&self, set: &ObjectId, change: ClaimChange) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((set.clone(), change));
    }

    /// All of it, in order.
    pub fn into_changes(self) -> Vec<(ObjectId, ClaimChange)> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A claim template that asks for another size than the live one of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    template: String,
    from: String,
    to: String,
    grows: bool,
}

/// The claim templates of a set that ask for another size than those of the `live` one. Sizes that can't be read are for
/// the server to refuse.
fn changes(wanted: &Value, live: &Value) -> Vec<Change> {
    let templates = |set| templates(set).filter_map(|template| Some((name(template)?, storage(template)?)));
    let live: Vec<_> = templates(live).collect();
    let changed = templates(wanted).filter_map(|(template, to)| {
        let (_, from) = live.iter().find(|(name, _)| *name == template)?;
        let sizes = (quantity::parse(from)?, quantity::parse(&to)?);
        (sizes.0 != sizes.1).then(|| Change {
            template: template.to_owned(),
            from: from.clone(),
            grows: sizes.1 > sizes.0,
            to,
        })
    });
    changed.collect()
}

/// The claim templates of a set that is to be created, as if none of their claims were there yet.
fn sizes(set: &Value) -> Vec<Change> {
    let sized = templates(set).filter_map(|template| {
        let to = storage(template)?;
        quantity::parse(&to)?;
        Some(Change {
            template: name(template)?.to_owned(),
            from: String::new(),
            to,
            grows: true,
        })
    });
    sized.collect()
}

/// The set with what these changes say of sizes taken back.
fn without(changes: &[Change], set: &Value) -> Value {
    let mut set = set.clone();
    let templates = set.pointer_mut(TEMPLATES).and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten() {
        let Some(change) = changes
            .iter()
            .find(|change| name(template) == Some(change.template.as_str()))
        else {
            continue;
        };
        if let Some(storage) = template.pointer_mut(STORAGE) {
            *storage = change.from.as_str().into();
        }
    }
    set
}

fn templates(set: &Value) -> impl Iterator<Item = &Value> {
    let list = set.pointer(TEMPLATES).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn name(template: &Value) -> Option<&str> {
    template.pointer("/metadata/name")?.as_str()
}

/// A size as it is written; charts write some as numbers.
fn storage(template: &Value) -> Option<String> {
    match template.pointer(STORAGE)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(templates: &[(&str, Value)]) -> Value {
        let template = |(name, storage): &(&str, Value)| {
            json!({"metadata": {"name": name},
            "spec": {"resources": {"requests": {"storage": storage}}}})
        };
        json!({"spec": {"volumeClaimTemplates": templates.iter().map(template).collect::<Vec<_>>()}})
    }

    #[test]
    fn only_sizes_of_templates_that_are_there_count() {
        let live = set(&[
            ("data", json!("1Gi")),
            ("logs", json!("2Gi")),
            ("same", json!("1Gi")),
        ]);
        let wanted = set(&[
            ("data", json!("2Gi")),
            ("logs", json!("1Gi")),
            ("same", json!("1024Mi")),
            ("new", json!("1Gi")),
            ("odd", json!("lots")),
        ]);
        let change = |template: &str, from: &str, to: &str, grows| Change {
            template: template.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            grows,
        };
        assert_eq!(
            changes(&wanted, &live),
            [
                change("data", "1Gi", "2Gi", true),
                change("logs", "2Gi", "1Gi", false)
            ]
        );
        assert_eq!(changes(&json!({}), &live), []);
        assert_eq!(changes(&set(&[("data", json!(1_073_741_824))]), &live), []);
        assert_eq!(changes(&set(&[("data", json!("lots"))]), &live), []);
        let created = sizes(&wanted).into_iter().map(|size| (size.template, size.to));
        let expect = [
            ("data", "2Gi"),
            ("logs", "1Gi"),
            ("same", "1024Mi"),
            ("new", "1Gi"),
        ];
        assert!(created.eq(expect.map(|(name, size)| (name.to_owned(), size.to_owned()))));
    }

    #[test]
    fn what_is_taken_back_is_the_size_and_nothing_else() {
        let (live, wanted) = (
            set(&[("data", json!("2Gi")), ("logs", json!("1Gi"))]),
            set(&[("data", json!("1Gi")), ("logs", json!("2Gi"))]),
        );
        let mut shrinking = changes(&wanted, &live);
        shrinking.retain(|change| !change.grows);
        assert_eq!(
            without(&shrinking, &wanted),
            set(&[("data", json!("2Gi")), ("logs", json!("2Gi"))])
        );
    }
}
