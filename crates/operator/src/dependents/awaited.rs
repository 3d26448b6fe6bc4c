//! Objects that releases wait for: a hook until it has ended, what is deleted until it is gone.
//!
//! Who waits for an object is woken by that alone, and looks at the rest afterwards.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_model::ObjectId;

use super::follow::version;
use super::known::is_older;
use super::{Dependents, End, LiveObject};
use crate::status::Health;

/// Why what was waited for until its end has failed, where nobody has seen that end.
pub const DELETED: &str = "it was deleted before its end was seen";

/// Until when an object is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Its status says that it has ended, or it is going.
    Ended,
    /// Nothing of its UID is there.
    Gone,
}

/// The object that an owner waits for.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) id: ObjectId,
    uid: Option<String>,
    /// In which it was seen.
    version: Option<u64>,
    until: Until,
    is_over: bool,
    /// How it has ended, or why it has failed, as its last state says: it may be gone when it is looked at.
    outcome: Option<Result<(), String>>,
    /// Which list was the last one to begin when it was seen, or when the wait began.
    pub(super) list: u64,
}

impl Dependents {
    /// Wakes the owner from now on when it need not wait for this object any longer, and by nothing else. `seen` is what
    /// the server has said of it; what it says now is to be looked at after this.
    pub fn expect(&self, owner: &str, id: &ObjectId, seen: &ObjectMeta, until: Until) {
        let awaited = Awaited {
            id: id.clone(),
            uid: seen.uid.clone(),
            version: version(seen),
            until,
            is_over: false,
            outcome: None,
            list: 0,
        };
        self.lock().known.expect(owner, awaited);
    }

    /// Any change of its objects wakes the owner again.
    pub fn expect_nothing(&self, owner: &str) {
        self.lock().known.expect_nothing(owner);
    }

    /// Whether the owner waits for nothing, or what it waits for has come.
    pub fn has_come(&self, owner: &str) -> bool {
        let state = self.lock();
        state.known.awaited(owner).is_none_or(|awaited| awaited.is_over)
    }

    /// How what the owner waits for has ended, or why it has failed, if a watch has told that.
    pub fn outcome(&self, owner: &str) -> Option<Result<(), String>> {
        self.lock().known.awaited(owner)?.outcome.clone()
    }

    /// Whether there is somebody to wake for an owner.
    pub fn can_wake(&self, owner: &str) -> bool {
        self.lock().known.can_wake(owner)
    }
}

impl Awaited {
    /// An object of its name is there. `true` where that ends the wait.
    pub(super) fn is_over_with(&mut self, new: &LiveObject, version: Option<u64>) -> bool {
        let has_ended = new.end != End::Open;
        let is_same = self.uid.as_deref() == Some(new.uid.as_str());
        match &new.health {
            Some(Health::Failed(reason)) if is_same && has_ended => self.outcome = Some(Err(reason.clone())),
            // One that was being deleted has failed before it ended.
            _ if is_same && has_ended => _ = self.outcome.get_or_insert(Ok(())),
            _ => {}
        }
        let is_it = !is_same || (self.until == Until::Ended && (has_ended || new.deleting));
        let is_over = is_it && self.is_over_without(version);
        if is_over && self.until == Until::Ended && !has_ended && is_same {
            self.outcome = Some(Err(DELETED.to_owned()));
        }
        is_over
    }

    /// It was deleted, or is not the owner's any longer. `true` where that ends the wait.
    pub(super) fn is_lost(&mut self, version: Option<u64>) -> bool {
        let is_over = self.is_over_without(version);
        // Its end would have been told before.
        if is_over && self.until == Until::Ended {
            self.outcome = Some(Err(DELETED.to_owned()));
        }
        is_over
    }

    /// It is not there. `true` where that ends the wait.
    pub(super) fn is_over_without(&mut self, version: Option<u64>) -> bool {
        // What is told late is about an earlier object of the name, or was seen already.
        let is_late = is_older(version, self.version) || (version.is_some() && version == self.version);
        let is_news = !self.is_over && !is_late;
        self.is_over |= is_news;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::Instant;

    use super::super::Scope;
    use super::super::known::Known;
    use super::*;
    use crate::dependents::StatusAge;

    fn scope() -> Scope {
        Scope {
            group: "batch".to_owned(),
            kind: "Job".to_owned(),
            namespace: None,
        }
    }

    fn job(name: &str) -> ObjectId {
        ObjectId {
            group: "batch".to_owned(),
            kind: "Job".to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    fn live(uid: &str, version: u64) -> LiveObject {
        LiveObject {
            uid: uid.to_owned(),
            fields: None,
            health: None,
            age: StatusAge::Current,
            end: End::Open,
            deleting: false,
            kept: false,
            excerpt: None,
            version: Some(version),
        }
    }

    fn ended(uid: &str, version: u64) -> LiveObject {
        LiveObject {
            end: End::Ended,
            ..live(uid, version)
        }
    }

    /// Somebody who waits for a Job of this UID as it was in version 7, and how often they are woken.
    fn waiting(until: Until) -> (Known, Arc<AtomicUsize>) {
        let mut known = Known::default();
        let woken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&woken);
        let wake = Box::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        known.route("owner", true, wake, std::iter::empty(), Instant::now());
        let awaited = Awaited {
            id: job("migrate"),
            uid: Some("uid".to_owned()),
            version: Some(7),
            until,
            is_over: false,
            outcome: None,
            list: 0,
        };
        known.expect("owner", awaited);
        (known, woken)
    }

    #[test]
    fn nothing_but_news_of_the_awaited_object_ends_a_wait() {
        let (mut known, woken) = waiting(Until::Ended);
        known.wake("owner", Duration::ZERO);
        known.has_changed(("owner", &job("other")), &ended("uid", 8), None);
        known.has_changed(("owner", &job("migrate")), &ended("former", 6), None);
        known.lose("owner", &job("migrate"), Some(6));
        known.has_changed(("owner", &job("migrate")), &live("uid", 8), None);
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        known.has_changed(("owner", &job("migrate")), &ended("uid", 9), None);
        known.lose("owner", &job("migrate"), Some(10));
        assert_eq!(woken.load(Ordering::Relaxed), 1, "once");
    }

    #[test]
    fn what_is_to_go_has_gone_when_it_is_deleted_or_another_one_is_there() {
        let (mut known, woken) = waiting(Until::Gone);
        known.has_changed(("owner", &job("migrate")), &ended("uid", 8), None);
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        known.lose("owner", &job("migrate"), Some(9));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        let (mut known, woken) = waiting(Until::Gone);
        known.has_changed(("owner", &job("migrate")), &live("another", 8), None);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_list_without_what_is_awaited_ends_the_wait() {
        let (mut known, woken) = waiting(Until::Ended);
        let list = known.begin_list(Instant::now());
        known.has_changed(("owner", &job("migrate")), &live("uid", 7), Some(list));
        known.end_list(&scope(), list);
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        let list = known.begin_list(Instant::now());
        known.end_list(&scope(), list);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn how_it_has_ended_is_told_when_it_is_gone() {
        let outcome = |known: &Known| known.awaited("owner").unwrap().outcome.clone();
        let (mut known, _) = waiting(Until::Ended);
        known.has_changed(("owner", &job("migrate")), &ended("uid", 8), None);
        known.lose("owner", &job("migrate"), Some(9));
        assert_eq!(outcome(&known), Some(Ok(())));
        let (mut known, _) = waiting(Until::Ended);
        known.lose("owner", &job("migrate"), Some(9));
        assert_eq!(outcome(&known), Some(Err(DELETED.to_owned())));
        let (mut known, _) = waiting(Until::Ended);
        let deleting = LiveObject {
            deleting: true,
            ..live("uid", 8)
        };
        known.has_changed(("owner", &job("migrate")), &deleting, None);
        known.has_changed(("owner", &job("migrate")), &ended("uid", 9), None);
        assert_eq!(outcome(&known), Some(Err(DELETED.to_owned())));
        let (mut known, _) = waiting(Until::Ended);
        known.end_waits(&scope());
        assert_eq!(outcome(&known), None, "nobody has seen it");
    }

    #[test]
    fn a_watch_that_fails_ends_the_wait() {
        let (mut known, woken) = waiting(Until::Ended);
        let elsewhere = Scope {
            kind: "Pod".to_owned(),
            ..scope()
        };
        known.end_waits(&elsewhere);
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        known.end_waits(&scope());
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_list_is_believed_though_versions_are_lower_than_before() {
        let (mut known, woken) = waiting(Until::Ended);
        let list = known.begin_list(Instant::now());
        known.has_changed(("owner", &job("migrate")), &ended("uid", 3), Some(list));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }
}
