//! How all objects of a release are.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steersman_model::ObjectId;

use super::{Health, UNSEEN};

/// At most so many objects that are not ready are listed.
const MAX_NOT_READY: usize = 10;

/// How the objects of a release are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthSummary {
    ready: usize,
    not_ready: Vec<NotReady>,
    unseen: bool,
}

/// An object that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// In messages as `Deployment default/web`.
    pub id: ObjectId,
    /// Why.
    pub reason: String,
    /// Whether it will not become ready by itself, as [`Health::Failed`] says.
    pub failed: bool,
}

impl HealthSummary {
    /// Sums up the verdicts on objects. An object whose verdict is not known yet is not ready.
    pub fn new<'a>(verdicts: impl IntoIterator<Item = (&'a ObjectId, Option<Health>)>) -> Self {
        let mut summary = Self::default();
        for (id, verdict) in verdicts {
            summary.unseen |= matches!(verdict, None | Some(Health::Unseen));
            let (reason, failed) = match verdict {
                Some(Health::Ready | Health::Unsaid) => {
                    summary.ready += 1;
                    continue;
                }
                Some(Health::Unseen) => (UNSEEN.to_owned(), false),
                Some(Health::Progressing(reason)) => (reason, false),
                Some(Health::Failed(reason)) => (reason, true),
                None => ("nothing is known of it yet".to_owned(), false),
            };
            summary.not_ready.push(NotReady {
                id: id.clone(),
                reason,
                failed,
            });
        }
        summary
    }

    /// The same with what `shown` makes of the names and namespaces of the objects that are listed.
    #[must_use]
    pub fn with_names(mut self, shown: impl FnOnce(&[&str]) -> Vec<String>) -> Self {
        let listed = self.not_ready.iter_mut().take(MAX_NOT_READY);
        let mut names: Vec<&mut String> = listed
            .flat_map(|object| std::iter::once(&mut object.id.name).chain(&mut object.id.namespace))
            .collect();
        let said: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let shown = shown(&said);
        for (name, shown) in names.iter_mut().zip(shown) {
            **name = shown;
        }
        drop(names);
        self
    }

    /// Whether the first word is missing of what has become of an object.
    pub fn is_unseen(&self) -> bool {
        self.unseen
    }

    /// Whether every object is ready.
    pub fn is_ready(&self) -> bool {
        self.not_ready.is_empty()
    }

    /// The objects that are not ready.
    pub fn not_ready(&self) -> &[NotReady] {
        &self.not_ready
    }

    fn total(&self) -> usize {
        self.ready + self.not_ready.len()
    }

    /// Why it is not ready, in a sentence.
    pub(crate) fn message(&self) -> String {
        let named: Vec<String> = self
            .not_ready
            .iter()
            .take(3)
            .map(|object| format!("{}: {}", object.id, object.reason))
            .collect();
        let more = self.not_ready.len().saturating_sub(named.len());
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        format!(
            "{} of {} workloads are ready; {}{more}",
            self.ready,
            self.total(),
            named.join("; ")
        )
    }

    /// What the status says of it.
    pub(in crate::status) fn to_json(&self) -> Value {
        let listed = self.not_ready.iter().take(MAX_NOT_READY).map(|object| {
            let mut entry = BTreeMap::from([
                ("kind", object.id.kind.as_str()),
                ("name", object.id.name.as_str()),
                ("message", object.reason.as_str()),
            ]);
            if let Some(namespace) = &object.id.namespace {
                entry.insert("namespace", namespace);
            }
            json!(entry)
        });
        json!({ "ready": self.ready, "total": self.total(), "notReady": listed.collect::<Vec<_>>() })
    }
}
