//! What is live, by its owner. Pure, but for the clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use steersman_model::ObjectId;
use tokio::time::Instant;

use super::awaited::Awaited;
use super::expired::{End, Expired};
use super::missed::Missed;
use super::watched_kind::WatchedKind;
use super::{LiveObject, Scope, StatusAge, Wake};

/// So long what is live of an owner stays known when nobody asks for it any longer: a controller that is replaced comes
/// back for it.
const GRACE: Duration = Duration::from_mins(1);
/// So many objects are remembered. Of more, those stay unknown that others have given to an owner with more than
/// [`FEW`]; each takes about 400 bytes.
const MOST: usize = 40_000;
/// So many objects of an owner are remembered, however many there are in all.
const FEW: usize = 500;

/// The live objects of those owners that are known, and of no others: anybody may write a label with a UID.
#[derive(Default)]
pub(super) struct Known {
    owners: BTreeMap<String, KnownOwner>,
    objects: usize,
    routes: u64,
    /// How many lists have begun.
    lists: u64,
    missed: Missed,
    /// Owners without a route, and since when, the first ones first.
    left: VecDeque<(Instant, String)>,
}

#[derive(Default)]
struct KnownOwner {
    route: Option<Waker>,
    /// The watch that the owner is of: it says how its objects are judged.
    watch: Option<WatchedKind>,
    awaited: Option<Awaited>,
    objects: BTreeMap<ObjectId, Entry>,
    expired: Expired,
    /// Where objects of it may have been seen that are not remembered.
    unseen: BTreeSet<Scope>,
    /// Where there were more objects of it than are remembered.
    cut: BTreeSet<Scope>,
    /// What was lost while it is acted for, by the version of that; none where a list was without it.
    lost: Option<BTreeMap<ObjectId, Option<u64>>>,
}

/// Who is woken by changes of an owner's objects.
struct Waker {
    /// That of its route.
    number: u64,
    wake: Wake,
    /// Whether by all of them, not only by what it waits for.
    by_all: bool,
}

struct Entry {
    live: LiveObject,
    /// The version that its health is of: an apply of ours tells of a version, and nothing of health.
    judged: Option<u64>,
    /// Which list was the last one to begin when it was seen.
    list: u64,
    /// Whether we are about to delete it.
    goes: bool,
}

/// What an object was before a change.
pub(super) enum Before {
    /// Nobody asks for the objects of its owner, or there are too many.
    Unwanted,
    /// Nobody has told of it, or it was gone.
    Unknown,
    /// The state that was replaced.
    Known(LiveObject),
    /// Our own apply is ahead of the watch.
    Newer,
}

impl Known {
    /// Calls `wake` from now on when an object of the owner changes: any of them where that is `by_all`, else one that it
    /// waits for. `watched` is what is watched: objects of the owner may have
    /// been seen there.
    pub(super) fn route<'a>(
        &mut self,
        owner: &str,
        by_all: bool,
        wake: Wake,
        watched: impl Iterator<Item = &'a Scope>,
        now: Instant,
    ) -> u64 {
        self.drop_left(now);
        self.routes += 1;
        let number = self.routes;
        let known = self.owners.entry(owner.to_owned()).or_insert_with(|| {
            let missed = watched.filter(|scope| self.missed.may_have(owner, &scope.group, &scope.kind));
            KnownOwner {
                unseen: missed.cloned().collect(),
                ..KnownOwner::default()
            }
        });
        known.route = Some(Waker { number, wake, by_all });
        number
    }

    /// An owner is of this watch. Where it was of another one, what is known of its objects in `judged` is to be looked at anew.
    pub(super) fn note_watch<'a>(
        &mut self,
        owner: &str,
        watch: WatchedKind,
        judged: impl Iterator<Item = &'a Scope>,
    ) {
        if let Some(known) = self.owners.get_mut(owner) {
            let former = known.watch.replace(watch);
            if former.is_some() && former != known.watch {
                known.unseen.extend(judged.cloned());
            }
        }
    }

    /// The watch that an owner is of, as long as anything is remembered of it.
    pub(super) fn watch_of(&self, owner: &str) -> Option<&WatchedKind> {
        self.owners.get(owner)?.watch.as_ref()
    }

    /// The route with this number ends.
    pub(super) fn leave(&mut self, owner: &str, number: u64, now: Instant) {
        if let Some(known) = self.owners.get_mut(owner)
            && known.route.as_ref().is_some_and(|waker| waker.number == number)
        {
            known.route = None;
            known.awaited = None;
            self.left.push_back((now, owner.to_owned()));
        }
        self.drop_left(now);
    }

    /// Forgets the objects of those who have left a while ago.
    fn drop_left(&mut self, now: Instant) {
        while let Some((_, owner)) = self.left.pop_front_if(|(at, _)| now.duration_since(*at) >= GRACE) {
            if self.owners.get(&owner).is_none_or(|known| known.route.is_some()) {
                continue;
            }
            let known = self.owners.remove(&owner).unwrap_or_default();
            self.objects -= known.objects.len();
            for id in known.objects.keys() {
                self.missed.note(&owner, &id.group, &id.kind);
            }
            for scope in known.unseen.iter().chain(&known.cut) {
                self.missed.note(&owner, &scope.group, &scope.kind);
            }
        }
    }

    /// An owner waits for an object.
    pub(super) fn expect(&mut self, owner: &str, mut awaited: Awaited) {
        awaited.list = self.lists;
        if let Some(known) = self.owners.get_mut(owner) {
            known.awaited = Some(awaited);
        }
    }

    pub(super) fn expect_nothing(&mut self, owner: &str) {
        if let Some(known) = self.owners.get_mut(owner) {
            known.awaited = None;
        }
    }

    /// What an owner waits for.
    pub(super) fn awaited(&self, owner: &str) -> Option<&Awaited> {
        self.owners.get(owner)?.awaited.as_ref()
    }

    /// Whether an owner has a route.
    pub(super) fn can_wake(&self, owner: &str) -> bool {
        self.owners.get(owner).is_some_and(|known| known.route.is_some())
    }

    /// An object is there, as a watch says, or a list that began as this one. Who waits for that is woken.
    pub(super) fn has_changed(
        &mut self,
        (owner, id): (&str, &ObjectId),
        new: &LiveObject,
        list: Option<u64>,
    ) {
        let lists = self.lists;
        let Some(known) = self.owners.get_mut(owner) else {
            return;
        };
        known.awaited_comes(|awaited| {
            if awaited.id != *id {
                return false;
            }
            // After a restore of the cluster versions are lower than before. A list has those of now.
            let is_former = list.is_some_and(|list| awaited.list < list);
            awaited.list = lists;
            let version = new.version.filter(|_| !is_former);
            awaited.is_over_with(new, version)
        });
    }

    /// Nothing tells what happens in a place: who waits for something there looks at it.
    pub(super) fn end_waits(&mut self, scope: &Scope) {
        for known in self.owners.values_mut() {
            known.awaited_comes(|awaited| scope.contains(&awaited.id) && awaited.is_over_without(None));
        }
    }

    /// As the last event, or our own apply, has left it.
    pub(super) fn live(&self, owner: &str, id: &ObjectId) -> Option<&LiveObject> {
        Some(&self.owners.get(owner)?.objects.get(id)?.live)
    }

    /// How many bytes are kept of the owner's other objects for expressions.
    pub(super) fn excerpts_beside(&self, owner: &str, id: &ObjectId) -> usize {
        let known = self.owners.get(owner);
        let others = known.into_iter().flat_map(|known| &known.objects);
        let others = others.filter(|(other, _)| *other != id);
        let excerpts = others.filter_map(|(_, entry)| entry.live.excerpt.as_ref());
        excerpts.map(|excerpt| excerpt.len()).sum()
    }

    /// The same, with nothing of its health where that is of a state before our last apply.
    pub(super) fn judged(&self, owner: &str, id: &ObjectId) -> Option<LiveObject> {
        let entry = self.owners.get(owner)?.objects.get(id)?;
        let mut live = entry.live.clone();
        if is_older(entry.judged, live.version) {
            (live.health, live.end) = (None, End::Open);
        }
        Some(live)
    }

    /// Whether it is a Job that has done its work and is gone by itself.
    pub(super) fn has_expired(&self, owner: &str, id: &ObjectId) -> bool {
        let known = self.owners.get(owner);
        known.is_some_and(|known| known.expired.has(id))
    }

    /// The same of one that was gone before anybody asked, as is written down.
    pub(super) fn note_expired(&mut self, owner: &str, id: &ObjectId) {
        let known = self.owners.get_mut(owner);
        if let Some(known) = known.filter(|known| !known.objects.contains_key(id)) {
            known.expired.note(id);
        }
    }

    /// In the order of their identities; empty for strangers.
    pub(super) fn owned(&self, owner: &str) -> impl Iterator<Item = (&ObjectId, &LiveObject)> {
        let known = self.owners.get(owner).into_iter();
        known.flat_map(|known| known.objects.iter().map(|(id, entry)| (id, &entry.live)))
    }

    /// Where objects of an owner may be that are not known.
    pub(super) fn unseen(&self, owner: &str) -> Vec<Scope> {
        let known = self.owners.get(owner);
        known
            .map(|known| known.unseen.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// What an owner has in a place is known.
    pub(super) fn note_seen(&mut self, owner: &str, scope: &Scope) {
        if let Some(known) = self.owners.get_mut(owner) {
            known.unseen.remove(scope);
        }
    }

    /// The objects of an owner that there was no room for count as not seen from now on. Gives whether there were any.
    pub(super) fn forget_what_was_cut(&mut self, owner: &str) -> bool {
        let Some(known) = self.owners.get_mut(owner) else {
            return false;
        };
        let cut = std::mem::take(&mut known.cut);
        let was_cut = !cut.is_empty();
        known.unseen.extend(cut);
        was_cut
    }

    /// Somebody begins to act for the owner, and will tell at the end what answers have said: what is lost meanwhile is
    /// remembered until then.
    pub(super) fn begin(&mut self, owner: &str) {
        if let Some(known) = self.owners.get_mut(owner) {
            known.lost = Some(BTreeMap::new());
        }
    }

    /// Nothing more of that is told.
    pub(super) fn end(&mut self, owner: &str) {
        if let Some(known) = self.owners.get_mut(owner) {
            known.lost = None;
        }
    }

    /// An answer to who acts for the owner has shown an object, a while ago: what is newer stays.
    pub(super) fn note_answered(&mut self, owner: &str, id: &ObjectId, live: LiveObject) {
        let known = self.owners.get(owner);
        let is_newer = known
            .and_then(|known| known.objects.get(id))
            .is_some_and(|entry| live.is_older_than(&entry.live));
        let lost = known.and_then(|known| known.lost.as_ref()?.get(id));
        let is_lost = lost.is_some_and(|lost| lost.is_none() || is_older(live.version, *lost));
        if !is_newer && !is_lost {
            self.note_applied(owner, id, live);
        }
    }

    /// Our own apply has made an object this.
    pub(super) fn note_applied(&mut self, owner: &str, id: &ObjectId, live: LiveObject) {
        let list = self.lists;
        match self.owners.get_mut(owner) {
            Some(known) => {
                let before = known.objects.get(id);
                let judged = before.and_then(|entry| entry.judged);
                let health = before.and_then(|entry| entry.live.health.clone());
                let age = before.map_or(StatusAge::Current, |entry| entry.live.age);
                let end = before.map_or(End::Open, |entry| entry.live.end);
                let same = before.filter(|entry| entry.live.uid == live.uid);
                let excerpt = same.and_then(|entry| entry.live.excerpt.clone());
                let live = LiveObject {
                    health,
                    age,
                    end,
                    excerpt,
                    ..live
                };
                let goes = false;
                let entry = Entry {
                    live,
                    judged,
                    list,
                    goes,
                };
                known.expired.forget(id);
                let before = known.objects.insert(id.clone(), entry);
                self.objects += usize::from(before.is_none());
            }
            None => self.missed.note(owner, &id.group, &id.kind),
        }
    }

    /// A list begins. What was seen before it is as the list says.
    pub(super) fn begin_list(&mut self, now: Instant) -> u64 {
        self.drop_left(now);
        self.lists += 1;
        self.lists
    }

    /// A list has ended: what it did not name, and was not seen since it began, is gone, and its owners are told.
    pub(super) fn end_list(&mut self, scope: &Scope, list: u64) {
        for known in self.owners.values_mut() {
            let before = known.objects.len();
            let mut memory = known.lost.as_mut();
            let expired = &mut known.expired;
            known.objects.retain(|id, entry| {
                let stays = entry.list >= list || !scope.contains(id);
                if let Some(lost) = memory.as_mut().filter(|_| !stays) {
                    lost.insert(id.clone(), None);
                }
                if !stays && entry.expires() {
                    expired.note(id);
                }
                stays
            });
            let gone = before - known.objects.len();
            self.objects -= gone;
            // It may have gone before anybody knew of it.
            known.awaited_comes(|awaited| {
                awaited.list < list && scope.contains(&awaited.id) && awaited.is_over_without(None)
            });
            if gone > 0 {
                known.wake(Duration::ZERO);
            }
        }
    }

    /// A watch, or a list that began as this one, shows an object. Gives what it was before.
    pub(super) fn show(
        &mut self,
        (owner, id): (&str, &ObjectId),
        scope: &Scope,
        new: &LiveObject,
        list: Option<u64>,
    ) -> Before {
        let Some(known) = self.owners.get_mut(owner) else {
            self.missed.note(owner, &id.group, &id.kind);
            return Before::Unwanted;
        };
        if let Some(lost) = &mut known.lost {
            lost.remove(id);
        }
        known.expired.forget(id);
        let Some(entry) = known.objects.get_mut(id) else {
            if self.objects >= MOST && known.objects.len() >= FEW {
                known.cut.insert(scope.clone());
                return Before::Unwanted;
            }
            let live = new.clone();
            known.objects.insert(
                id.clone(),
                Entry {
                    judged: live.version,
                    live,
                    list: self.lists,
                    goes: false,
                },
            );
            self.objects += 1;
            return Before::Unknown;
        };
        // After a restore of the cluster versions are lower than before. A list has those of now.
        let is_former = list.is_some_and(|list| entry.list < list);
        entry.list = self.lists;
        // The answer to our own apply may be ahead of the watch, and says nothing of health. The watch may be ahead of a list.
        if !is_former && new.is_older_than(&entry.live) && entry.live.uid == new.uid {
            if !is_older(new.version, entry.judged) {
                entry.live.health.clone_from(&new.health);
                entry.live.end = new.end;
                entry.live.excerpt.clone_from(&new.excerpt);
                entry.judged = new.version;
            }
            return Before::Newer;
        }
        entry.judged = new.version;
        entry.goes &= entry.live.uid == new.uid;
        Before::Known(std::mem::replace(&mut entry.live, new.clone()))
    }

    /// Has its reconcile follow, by its route.
    pub(super) fn wake(&self, owner: &str, pause: Duration) {
        if let Some(known) = self.owners.get(owner) {
            known.wake(pause);
        }
    }

    /// Has the owner's reconcile follow for something else than its objects.
    pub(super) fn rouse(&self, owner: &str, pause: Duration) {
        let known = self.owners.get(owner);
        if let Some(waker) = known.and_then(|known| known.route.as_ref()) {
            (waker.wake)(pause);
        }
    }

    /// Somebody gave the object another owner's mark: its former owner has lost it.
    pub(super) fn take_from_others(&mut self, owner: &str, id: &ObjectId) {
        for (other, known) in &mut self.owners {
            if other != owner && known.objects.remove(id).is_some() {
                self.objects -= 1;
                known.awaited_comes(|awaited| awaited.id == *id && awaited.is_over_without(None));
                known.wake(Duration::ZERO);
            }
        }
    }

    /// Who has the object, as far as is known.
    pub(super) fn owners_of(&self, id: &ObjectId) -> Vec<String> {
        let had = self
            .owners
            .iter()
            .filter(|(_, known)| known.objects.contains_key(id));
        had.map(|(owner, _)| owner.clone()).collect()
    }

    /// The object that `owner` has is about to be deleted by us.
    pub(super) fn note_going(&mut self, owner: &str, id: &ObjectId) {
        let known = self.owners.get_mut(owner);
        if let Some(entry) = known.and_then(|known| known.objects.get_mut(id)) {
            entry.goes = true;
        }
    }

    /// The object that `owner` had is, as `seen`, not there or not its own, and who has it is told.
    pub(super) fn lose(&mut self, owner: &str, id: &ObjectId, version: Option<u64>) {
        let Some(known) = self.owners.get_mut(owner) else {
            return;
        };
        known.awaited_comes(|awaited| awaited.id == *id && awaited.is_lost(version));
        // A newer object of the same name was created by us meanwhile.
        let is_newer = |entry: &Entry| is_older(version, entry.live.version);
        if known.objects.get(id).is_some_and(is_newer) {
            return;
        }
        if let Some(lost) = known.lost.as_mut().filter(|lost| lost.len() < FEW) {
            lost.insert(id.clone(), version);
        }
        if let Some(entry) = known.objects.remove(id) {
            self.objects -= 1;
            if entry.expires() {
                known.expired.note(id);
            }
            if !entry.goes {
                known.wake(Duration::ZERO);
            }
        }
    }
}

impl Entry {
    /// Whether nothing is missing when it is gone: what is said of that is of its present state.
    fn expires(&self) -> bool {
        self.live.end == End::Expires && !is_older(self.judged, self.live.version)
    }
}

impl KnownOwner {
    /// Tells of a change, unless the owner waits for something else.
    fn wake(&self, pause: Duration) {
        let waker = self.route.as_ref().filter(|waker| waker.by_all);
        if let Some(waker) = waker.filter(|_| self.awaited.is_none()) {
            (waker.wake)(pause);
        }
    }

    /// Tells that the wait is over, where it is for this.
    fn awaited_comes(&mut self, is_over: impl FnOnce(&mut Awaited) -> bool) {
        if self.awaited.as_mut().is_some_and(is_over)
            && let Some(waker) = &self.route
        {
            (waker.wake)(Duration::ZERO);
        }
    }
}

impl LiveObject {
    fn is_older_than(&self, other: &Self) -> bool {
        is_older(self.version, other.version)
    }
}

pub(super) fn is_older(version: Option<u64>, than: Option<u64>) -> bool {
    matches!((version, than), (Some(version), Some(than)) if version < than)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::status::Health;

    fn scope() -> Scope {
        Scope {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
        }
    }

    fn id(name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("a".to_owned()),
            name: name.to_owned(),
        }
    }

    fn live(version: u64) -> LiveObject {
        LiveObject {
            uid: "o".to_owned(),
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

    fn route(known: &mut Known, owner: &str, now: Instant) -> (u64, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let wake: Wake = Box::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let watched = [scope()];
        (known.route(owner, true, wake, watched.iter(), now), woken)
    }

    fn shown(known: &mut Known, owner: &str, name: &str, version: u64, list: Option<u64>) -> Before {
        known.show((owner, &id(name)), &scope(), &live(version), list)
    }

    #[test]
    fn what_was_seen_of_strangers_is_looked_for_once_they_are_known() {
        let mut known = Known::default();
        let now = Instant::now();
        assert!(matches!(shown(&mut known, "u", "one", 1, None), Before::Unwanted));
        assert_eq!(known.objects, 0);
        route(&mut known, "other", now);
        assert!(known.unseen("other").is_empty(), "a new one costs no request");
        let (number, _) = route(&mut known, "u", now);
        assert_eq!(known.unseen("u"), [scope()]);
        shown(&mut known, "u", "one", 1, None);
        known.note_seen("u", &scope());
        assert!(known.unseen("u").is_empty() && known.live("u", &id("one")).is_some());

        // A controller that is replaced finds it as it was; who stays away is forgotten.
        known.leave("u", number, now);
        let (number, _) = route(&mut known, "u", now + GRACE / 2);
        assert!(known.live("u", &id("one")).is_some());
        known.leave("u", number, now + GRACE / 2);
        known.begin_list(now + 2 * GRACE);
        assert_eq!((known.objects, known.owned("u").count()), (0, 0));
        route(&mut known, "u", now + 2 * GRACE);
        assert_eq!(known.unseen("u"), [scope()]);
    }

    #[test]
    fn health_is_never_that_of_an_earlier_version() {
        let mut known = Known::default();
        route(&mut known, "u", Instant::now());
        let told = |known: &mut Known, version: u64| {
            let told = LiveObject {
                health: Some(Health::Progressing(version.to_string())),
                ..live(version)
            };
            known.show(("u", &id("one")), &scope(), &told, None);
            let Some(Health::Progressing(judged)) = &known.live("u", &id("one")).unwrap().health else {
                panic!("no health");
            };
            judged.parse::<u64>().unwrap()
        };
        // A list that began before the last change is late.
        assert_eq!(
            [10, 12, 11].map(|version| told(&mut known, version)),
            [10, 12, 12]
        );
        // Our own apply is ahead.
        known.note_applied("u", &id("one"), live(20));
        assert_eq!(
            [14, 16, 15].map(|version| told(&mut known, version)),
            [14, 16, 16]
        );
    }

    #[test]
    fn what_another_watch_has_judged_is_looked_at_anew() {
        let mut known = Known::default();
        let (number, _) = route(&mut known, "u", Instant::now());
        let of = |version| WatchedKind::of(&kube::core::GroupVersionKind::gvk("a.com", version, "Web"));
        let judged = [scope()];
        known.note_watch("u", of("v1"), judged.iter());
        assert!(known.unseen("u").is_empty(), "nothing was judged before");
        shown(&mut known, "u", "one", 1, None);
        // A controller that is replaced is of the same watch; the resource may be written in another version then.
        known.leave("u", number, Instant::now());
        route(&mut known, "u", Instant::now());
        known.note_watch("u", of("v1"), judged.iter());
        assert!(known.unseen("u").is_empty());
        known.note_watch("u", of("v2"), judged.iter());
        assert_eq!(known.unseen("u"), judged);
        assert_eq!(known.watch_of("u"), Some(&of("v2")));
        assert_eq!(known.watch_of("stranger"), None);
    }

    #[test]
    fn what_an_answer_has_said_is_no_news_when_something_newer_is_known() {
        let mut known = Known::default();
        route(&mut known, "u", Instant::now());
        known.begin("u");
        let version =
            |known: &Known, name: &str| known.live("u", &id(name)).map(|live| live.version.unwrap());
        // An answer has said 10, and others have written since.
        shown(&mut known, "u", "changed", 10, None);
        shown(&mut known, "u", "changed", 12, None);
        known.note_answered("u", &id("changed"), live(10));
        assert_eq!(version(&known, "changed"), Some(12));
        // Somebody has deleted what an answer had shown; and again, after which it was made anew.
        for (name, made) in [("deleted", 10), ("again", 14)] {
            shown(&mut known, "u", name, 10, None);
            known.lose("u", &id(name), Some(12));
            known.note_answered("u", &id(name), live(made));
        }
        assert_eq!(
            (version(&known, "deleted"), version(&known, "again")),
            (None, Some(14))
        );
        // A list was without it.
        shown(&mut known, "u", "unlisted", 10, None);
        let list = known.begin_list(Instant::now());
        known.end_list(&scope(), list);
        known.note_answered("u", &id("unlisted"), live(10));
        assert_eq!(version(&known, "unlisted"), None);
        // What nobody has told of yet is news.
        known.note_answered("u", &id("new"), live(9));
        assert_eq!(version(&known, "new"), Some(9));
        known.end("u");
        known.note_answered("u", &id("deleted"), live(10));
        assert_eq!(version(&known, "deleted"), Some(10));
    }

    #[test]
    fn a_list_names_all_that_there_is() {
        let mut known = Known::default();
        let (_, woken) = route(&mut known, "u", Instant::now());
        for name in ["stays", "goes"] {
            shown(&mut known, "u", name, 100, None);
        }
        let list = known.begin_list(Instant::now());
        known.note_applied("u", &id("applied"), live(101));
        shown(&mut known, "u", "stays", 100, Some(list));
        known.end_list(&scope(), list);
        let left: Vec<String> = known.owned("u").map(|(id, _)| id.name.clone()).collect();
        assert_eq!((left.concat().as_str(), known.objects), ("appliedstays", 2));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_list_is_right_though_versions_are_lower_than_before() {
        let mut known = Known::default();
        route(&mut known, "u", Instant::now());
        shown(&mut known, "u", "one", 1000, None);
        assert!(matches!(shown(&mut known, "u", "one", 9, None), Before::Newer));
        let list = known.begin_list(Instant::now());
        assert!(matches!(
            shown(&mut known, "u", "one", 10, Some(list)),
            Before::Known(_)
        ));
        assert!(matches!(
            shown(&mut known, "u", "one", 11, None),
            Before::Known(_)
        ));
        // The answer to an apply is newer than a list that began before.
        known.note_applied("u", &id("one"), live(20));
        assert!(matches!(
            shown(&mut known, "u", "one", 12, Some(list)),
            Before::Newer
        ));
    }

    #[test]
    fn a_crowd_takes_no_room_from_others() {
        let mut known = Known::default();
        route(&mut known, "crowd", Instant::now());
        route(&mut known, "usual", Instant::now());
        for number in 0..MOST + 10 {
            shown(&mut known, "crowd", &number.to_string(), 1, None);
        }
        shown(&mut known, "usual", "one", 1, None);
        assert_eq!(known.objects, MOST + 1);
        assert!(known.live("usual", &id("one")).is_some() && !known.forget_what_was_cut("usual"));
        assert!(known.unseen("crowd").is_empty());
        assert!(known.forget_what_was_cut("crowd") && !known.forget_what_was_cut("crowd"));
        assert_eq!(known.unseen("crowd"), [scope()]);
    }
}
