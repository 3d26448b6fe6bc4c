//! Judging objects as they arrive: by the health checks of the watch that their owner is of, else by kstatus' rules.
//!
//! The watches on objects are shared, and two watches may judge one kind in two ways. Whose an object is decides, and that is
//! known by the owner's route, not by what the object says: its owner's resource is of one watch. Checks are evaluated here,
//! as an object arrives and without the lock; what they may take is bounded, and objects of strangers are not looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use steersman_watches::HealthCheck;

use super::excerpt::Excerpt;
use super::watched_kind::WatchedKind;
use super::{Dependents, End, Scope, State};
use crate::status::{Health, checked, has_ended, has_health, health};

/// How the watches judge kinds in other ways than kstatus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthChecks(BTreeMap<WatchedKind, Vec<HealthCheck>>);

/// What the status of an object says.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) health: Option<Health>,
    pub(super) end: End,
    /// Whether it tells of which state of the object it is.
    pub(super) names_generation: bool,
    /// What expressions of the owner's watch look at.
    pub(super) excerpt: Option<Arc<Excerpt>>,
}

/// An object as it has arrived.
pub(super) enum Arrived {
    /// What is of interest of it: nobody has a check or an expression for its kind.
    Reduced(Box<ObjectMeta>, Said),
    /// All of it, until it is known whose it is.
    Whole(Arc<ApiResource>, Box<DynamicObject>),
}

impl HealthChecks {
    /// Adds those of the watch on a kind of custom resources.
    pub fn add(&mut self, watch: &GroupVersionKind, checks: &[HealthCheck]) {
        if !checks.is_empty() {
            self.0.insert(WatchedKind::of(watch), checks.to_owned());
        }
    }

    /// Whether a watch has one for this kind.
    pub(super) fn has(&self, group: &str, kind: &str) -> bool {
        self.0.values().flatten().any(|check| check.is_for(group, kind))
    }

    /// That of a watch for objects of a kind; the version does not count.
    fn get(&self, watch: Option<&WatchedKind>, group: &str, kind: &str) -> Option<&HealthCheck> {
        let mut checks = self.0.get(watch?)?.iter();
        checks.find(|check| check.is_for(group, kind))
    }
}

impl Arrived {
    /// An object of a kind that says nothing of its health.
    pub(super) fn unjudged(metadata: ObjectMeta) -> Self {
        Self::Reduced(Box::new(metadata), Said::default())
    }

    pub(super) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Reduced(metadata, _) => metadata,
            Self::Whole(_, object) => &object.metadata,
        }
    }
}

impl Dependents {
    /// Whether objects of a kind are judged or looked at by anybody, so that all of them is to be read.
    pub(super) fn judges(&self, scope: &Scope) -> bool {
        has_health(&scope.group, &scope.kind) || self.is_of_watch(&scope.group, &scope.kind)
    }

    /// Whether what is kept of objects of a kind depends on the watch of their owner.
    pub(super) fn is_of_watch(&self, group: &str, kind: &str) -> bool {
        self.checks.has(group, kind) || self.excerpts.has(group, kind)
    }

    /// What is kept of an object until it is looked at.
    pub(super) fn arrived(&self, scope: &Scope, api: &Arc<ApiResource>, object: DynamicObject) -> Arrived {
        if self.is_of_watch(&scope.group, &scope.kind) {
            return Arrived::Whole(Arc::clone(api), Box::new(object));
        }
        let said = by_kstatus(scope, &object);
        Arrived::Reduced(Box::new(object.metadata), said)
    }

    /// What an object of this owner says, and the state under the lock in which that is so.
    pub(super) fn judge(
        &self,
        scope: &Scope,
        owner: &str,
        arrived: &Arrived,
    ) -> (Said, MutexGuard<'_, State>) {
        let (api, object) = match arrived {
            Arrived::Reduced(_, said) => return (said.clone(), self.lock()),
            Arrived::Whole(api, object) => (api, object),
        };
        let mut watch = self.lock().known.watch_of(owner).cloned();
        loop {
            let mut said = by_kstatus(scope, object);
            if let Some(check) = self.checks.get(watch.as_ref(), &scope.group, &scope.kind) {
                said.health = Some(checked(check, api, object));
            }
            if let Some(reads) = self.excerpts.get(watch.as_ref(), &scope.group, &scope.kind) {
                said.excerpt = Some(Arc::new(self.room.excerpt(reads, api, object)));
            }
            let state = self.lock();
            // The owner may have become known meanwhile, or be another watch's.
            if state.known.watch_of(owner) == watch.as_ref() {
                return (said, state);
            }
            watch = state.known.watch_of(owner).cloned();
        }
    }
}

fn by_kstatus(scope: &Scope, object: &DynamicObject) -> Said {
    let (group, kind) = (&scope.group, &scope.kind);
    let health = health(group, kind, object.metadata.generation, &object.data);
    Said {
        end: end_of(scope, object, health.as_ref()),
        health,
        names_generation: object.data.pointer("/status/observedGeneration").is_some(),
        excerpt: None,
    }
}

fn end_of(scope: &Scope, object: &DynamicObject, health: Option<&Health>) -> End {
    if !has_ended(&scope.group, &scope.kind, &object.data) {
        return End::Open;
    }
    let expires = object.data.pointer("/spec/ttlSecondsAfterFinished");
    if health == Some(&Health::Ready) && expires.is_some() {
        End::Expires
    } else {
        End::Ended
    }
}

#[cfg(test)]
mod tests {
    use steersman_expressions::Expression;

    use super::*;

    #[test]
    fn a_check_is_for_its_own_watch_and_for_a_kind_in_any_version() {
        let check = |kind: &str, current: &str| HealthCheck {
            group: "acme.com".to_owned(),
            kind: kind.to_owned(),
            current: Expression::parse(current).unwrap(),
            in_progress: None,
            failed: None,
        };
        let [web, site, other] =
            ["Web", "Site", "Other"].map(|kind| GroupVersionKind::gvk("a.com", "v1", kind));
        let mut checks = HealthChecks::default();
        checks.add(&web, &[check("Db", "status.ready")]);
        checks.add(&site, &[check("Db", "true"), check("Cache", "true")]);
        checks.add(&other, &[]);
        let found = |watch: &GroupVersionKind, kind: &str| {
            let found = checks.get(Some(&WatchedKind::of(watch)), "acme.com", kind);
            found.map(|check| check.current.source().to_owned())
        };
        assert_eq!(found(&web, "Db").as_deref(), Some("status.ready"));
        assert_eq!(found(&site, "Db").as_deref(), Some("true"));
        assert_eq!((found(&web, "Cache"), found(&other, "Db")), (None, None));
        assert_eq!(checks.get(None, "acme.com", "Db"), None, "of a stranger");
        assert!(checks.has("acme.com", "Cache") && !checks.has("", "Cache"));
    }
}
