//! Who waits for a change of which object, and over which connection that is seen. Pure.

use std::collections::{BTreeMap, BTreeSet};

use steersman_cluster::client::ServiceAccount;
use steersman_watches::Reference;

/// How many objects are watched by their names: each is a connection. More of them share one for their kind and namespace; one
/// that is alone there could not share any.
const MOST_BY_NAME: usize = 32;

/// An object that is waited for, and as whom that is done; `None` is the operator itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) account: Option<ServiceAccount>,
    pub(crate) reference: Reference,
}

/// What one connection shows: an object by its name, or all of a kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope {
    pub(super) account: Option<ServiceAccount>,
    pub(super) api: steersman_model::ApiKind,
    pub(super) namespace: String,
    /// `None` for all of them.
    pub(super) name: Option<String>,
}

/// What an object is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// To be ready.
    Dependency,
    /// For another content.
    Values,
}

/// Who waits for an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiter {
    pub(super) uid: String,
    pub(super) purpose: Purpose,
}

/// A version of an object: `None` is that it is not there.
pub(crate) type Version = Option<String>;

/// What a connection is to begin or end with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) begin: Option<Scope>,
    pub(super) end: Vec<Scope>,
}

/// What is waited for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    targets: BTreeMap<Target, Wait>,
    scopes: BTreeSet<Scope>,
    /// Those that show nothing now.
    failing: BTreeSet<Scope>,
}

#[derive(Debug, Default)]
struct Wait {
    /// What its connection has shown last; `None` before it has shown anything.
    seen: Option<Version>,
    /// Who waits, and the version that was judged there.
    by: BTreeMap<Waiter, Judgement>,
}

#[derive(Debug)]
struct Judgement {
    version: Version,
    /// Whether what has happened since is shown.
    is_followed: bool,
}

impl Target {
    fn scope(&self, by_name: bool) -> Scope {
        Scope {
            account: self.account.clone(),
            api: self.reference.api.clone(),
            namespace: self.reference.namespace.clone(),
            name: by_name.then(|| self.reference.name.clone()),
        }
    }
}

impl Scope {
    fn of_all(&self) -> Self {
        Self {
            name: None,
            ..self.clone()
        }
    }

    fn shows(&self, target: &Target) -> bool {
        let is_named = |name: &String| *name == target.reference.name;
        self.account == target.account
            && self.api == target.reference.api
            && self.namespace == target.reference.namespace
            && self.name.as_ref().is_none_or(is_named)
    }
}

impl Awaited {
    /// Somebody waits for another version of an object than this. Gives whether that is known to be there already, or may have
    /// been missed.
    pub(super) fn wait(
        &mut self,
        waiter: &Waiter,
        target: &Target,
        version: Version,
        change: &mut Change,
    ) -> bool {
        let (one, all) = (target.scope(true), target.scope(false));
        let mut judgement = Judgement {
            version,
            is_followed: true,
        };
        if let Some(wait) = self.targets.get_mut(target) {
            let is_news = wait
                .seen
                .as_ref()
                .is_some_and(|seen| is_news(seen, &judgement.version));
            judgement.is_followed = !is_news;
            wait.by.insert(waiter.clone(), judgement);
            return is_news;
        }
        // What has happened before is not shown again.
        let is_late = self.scopes.contains(&all);
        judgement.is_followed = !is_late;
        let wait = Wait {
            seen: None,
            by: BTreeMap::from([(waiter.clone(), judgement)]),
        };
        self.targets.insert(target.clone(), wait);
        if is_late {
            return true;
        }
        let by_name = self.scopes.iter().filter(|scope| scope.name.is_some()).count();
        let is_alone = !self.scopes.iter().any(|scope| scope.of_all() == all);
        let begun = if by_name < MOST_BY_NAME || is_alone {
            one
        } else {
            all
        };
        if begun.name.is_none() {
            let beside = self.scopes.iter().filter(|scope| scope.of_all() == begun);
            change.end.extend(beside.cloned());
            self.scopes.retain(|scope| !change.end.contains(scope));
            for (target, wait) in &mut self.targets {
                if begun.shows(target) {
                    wait.seen = None;
                }
            }
        }
        self.scopes.insert(begun.clone());
        change.begin = Some(begun);
        false
    }

    /// Whether somebody waits for an object.
    pub(super) fn is_known(&self, target: &Target) -> bool {
        self.targets.contains_key(target)
    }

    /// Somebody waits for these alone from now on. What nobody waits for any longer is not watched.
    pub(super) fn keep(&mut self, waiter: &Waiter, targets: &BTreeSet<Target>) -> Vec<Scope> {
        for (target, wait) in &mut self.targets {
            if !targets.contains(target) {
                wait.by.remove(waiter);
            }
        }
        self.targets.retain(|_, wait| !wait.by.is_empty());
        let targets = &self.targets;
        let is_idle = |scope: &Scope| !targets.keys().any(|target| scope.shows(target));
        let idle: Vec<Scope> = self
            .scopes
            .iter()
            .filter(|scope| is_idle(scope))
            .cloned()
            .collect();
        self.scopes.retain(|scope| !idle.contains(scope));
        self.failing.retain(|scope| !idle.contains(scope));
        idle
    }

    /// Whether an object is as it was judged there, as far as is shown: it is watched, and nothing has happened since.
    pub(super) fn is_as_judged(&self, waiter: &Waiter, target: &Target, version: &Version) -> bool {
        let wait = self.targets.get(target);
        let judgement = wait.and_then(|wait| wait.by.get(waiter));
        let is_same = |judgement: &Judgement| judgement.is_followed && judgement.version == *version;
        judgement.is_some_and(is_same) && !self.failing.iter().any(|scope| scope.shows(target))
    }

    /// A connection shows nothing for a while, or shows something again.
    pub(super) fn note_failing(&mut self, scope: &Scope, is_failing: bool) {
        if !is_failing {
            self.failing.remove(scope);
        } else if self.scopes.contains(scope) {
            self.failing.insert(scope.clone());
        }
    }

    /// A connection shows an object in this version. Gives who has not judged it yet.
    pub(super) fn show(&mut self, scope: &Scope, name: &str, version: &Version) -> Vec<Waiter> {
        let shown = self
            .targets
            .iter_mut()
            .filter(|(target, _)| scope.shows(target) && target.reference.name == name);
        shown.flat_map(|(_, wait)| wait.show(version)).collect()
    }

    /// A list of a connection is at its end, and has named these alone. Gives who has judged something else.
    pub(super) fn list(&mut self, scope: &Scope, names: &BTreeSet<String>) -> Vec<Waiter> {
        let missing = self
            .targets
            .iter_mut()
            .filter(|(target, _)| scope.shows(target) && !names.contains(&target.reference.name));
        missing.flat_map(|(_, wait)| wait.show(&None)).collect()
    }

    /// Whether any of these is waited for over this connection, so that its name is worth remembering.
    pub(super) fn is_awaited(&self, scope: &Scope, name: &str) -> bool {
        let mut targets = self.targets.keys();
        targets.any(|target| scope.shows(target) && target.reference.name == name)
    }

    /// Who waits for anything that this connection shows.
    pub(super) fn waiting(&self, scope: &Scope) -> Vec<Waiter> {
        let shown = self.targets.iter().filter(|(target, _)| scope.shows(target));
        let by: BTreeSet<&Waiter> = shown.flat_map(|(_, wait)| wait.by.keys()).collect();
        by.into_iter().cloned().collect()
    }
}

impl Wait {
    /// Those who are told have it as judged: the same is told once.
    fn show(&mut self, version: &Version) -> Vec<Waiter> {
        self.seen = Some(version.clone());
        let mut woken = Vec::new();
        for (waiter, judgement) in &mut self.by {
            if is_news(version, &judgement.version) {
                judgement.version.clone_from(version);
                judgement.is_followed = false;
                woken.push(waiter.clone());
            }
        }
        woken
    }
}

/// Whether what is shown is another version than the one that was judged, and not one from before it.
fn is_news(shown: &Version, judged: &Version) -> bool {
    let number = |version: &Version| version.as_ref().and_then(|version| version.parse::<u64>().ok());
    let is_older = matches!((number(shown), number(judged)), (Some(shown), Some(judged)) if shown < judged);
    shown != judged && !is_older
}

#[cfg(test)]
mod tests {
    use steersman_model::ApiKind;

    use super::*;

    fn target(namespace: &str, name: &str) -> Target {
        Target {
            account: None,
            reference: Reference {
                api: ApiKind::new("v1", "Secret"),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
        }
    }

    fn at(version: u64) -> Version {
        Version::from(version.to_string())
    }

    fn waiter(uid: &str) -> Waiter {
        Waiter {
            uid: uid.to_owned(),
            purpose: Purpose::Dependency,
        }
    }

    fn uids(waiters: Vec<Waiter>) -> Vec<String> {
        waiters.into_iter().map(|waiter| waiter.uid).collect()
    }

    fn waiting(judged: Version) -> (Awaited, Scope) {
        let mut awaited = Awaited::default();
        let mut change = Change::default();
        assert!(!awaited.wait(&waiter("web"), &target("shop", "zk"), judged, &mut change));
        (awaited, change.begin.unwrap())
    }

    #[test]
    fn a_change_is_told_once_to_whom_it_is_one() {
        let (mut awaited, scope) = waiting(at(5));
        let none = Vec::<String>::new();
        assert_eq!(uids(awaited.show(&scope, "zk", &at(5))), none);
        assert_eq!(uids(awaited.show(&scope, "zk", &at(4))), none);
        assert_eq!(uids(awaited.show(&scope, "other", &at(9))), none);
        assert_eq!(uids(awaited.show(&scope, "zk", &at(7))), ["web"]);
        assert_eq!(uids(awaited.show(&scope, "zk", &at(7))), none);
        assert_eq!(uids(awaited.show(&scope, "zk", &None)), ["web"]);
        assert_eq!(uids(awaited.list(&scope, &BTreeSet::new())), none);
        assert_eq!(uids(awaited.show(&scope, "zk", &at(9))), ["web"]);
        assert_eq!(
            uids(awaited.list(&scope, &BTreeSet::from(["zk".to_owned()]))),
            none
        );
        assert_eq!(uids(awaited.list(&scope, &BTreeSet::new())), ["web"]);
    }

    #[test]
    fn what_was_seen_before_it_is_waited_for_is_no_lost_sign() {
        let (mut awaited, scope) = waiting(at(5));
        awaited.show(&scope, "zk", &at(8));
        let change = &mut Change::default();
        let zk = target("shop", "zk");
        assert!(awaited.wait(&waiter("late"), &zk, at(7), change));
        assert!(!awaited.wait(&waiter("newer"), &zk, at(9), change));
        assert!(awaited.wait(&waiter("absent"), &zk, None, change));
        assert_eq!(*change, Change::default());
    }

    #[test]
    fn a_connection_ends_with_who_waits_last() {
        let (mut awaited, scope) = waiting(None);
        let change = &mut Change::default();
        awaited.wait(&waiter("other"), &target("shop", "zk"), None, change);
        assert_eq!(uids(awaited.waiting(&scope)), ["other", "web"]);
        assert_eq!(awaited.keep(&waiter("web"), &BTreeSet::new()), []);
        assert_eq!(awaited.keep(&waiter("other"), &BTreeSet::new()), [scope]);
    }

    #[test]
    fn many_objects_share_a_connection() {
        let mut awaited = Awaited::default();
        for number in 0..MOST_BY_NAME {
            let mut change = Change::default();
            let namespace = if number < 20 { "shop" } else { "other" };
            awaited.wait(
                &waiter("web"),
                &target(namespace, &format!("s-{number}")),
                at(1),
                &mut change,
            );
            assert!(change.begin.unwrap().name.is_some());
        }
        let mut change = Change::default();
        assert!(!awaited.wait(&waiter("web"), &target("shop", "more"), at(1), &mut change));
        let all = change.begin.unwrap();
        assert_eq!((all.name.as_ref(), change.end.len()), (None, 20));
        // What happened while the connections changed is in the first list of the new one.
        assert_eq!(uids(awaited.show(&all, "s-3", &at(2))), ["web"]);
        assert_eq!(uids(awaited.show(&all, "s-25", &at(2))), Vec::<String>::new());
        // One more shows nothing of what was before, so that it is looked at again.
        let mut change = Change::default();
        assert!(awaited.wait(&waiter("web"), &target("shop", "yet-more"), at(1), &mut change));
        assert_eq!(change, Change::default());
        assert!(awaited.is_awaited(&all, "more") && !awaited.is_awaited(&all, "stranger"));
    }

    #[test]
    fn what_is_not_shown_is_not_known_to_be_as_it_was() {
        let (mut awaited, scope) = waiting(at(5));
        let (web, zk) = (waiter("web"), target("shop", "zk"));
        assert!(awaited.is_as_judged(&web, &zk, &at(5)) && !awaited.is_as_judged(&web, &zk, &at(4)));
        awaited.note_failing(&scope, true);
        assert!(!awaited.is_as_judged(&web, &zk, &at(5)));
        awaited.note_failing(&scope, false);
        assert!(awaited.is_as_judged(&web, &zk, &at(5)));
        awaited.show(&scope, "zk", &at(7));
        assert!(!awaited.is_as_judged(&web, &zk, &at(5)) && !awaited.is_as_judged(&web, &zk, &at(7)));
        awaited.wait(&web, &zk, at(7), &mut Change::default());
        assert!(awaited.is_as_judged(&web, &zk, &at(7)));
        let values = Waiter {
            purpose: Purpose::Values,
            ..web
        };
        assert!(!awaited.is_as_judged(&values, &zk, &at(7)));
    }
}
