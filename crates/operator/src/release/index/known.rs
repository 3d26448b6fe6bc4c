//! The Secrets of releases, by their names. Pure.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_model::Revision;

use crate::release::secret::{secret_name, secret_revision};

/// The Secrets of releases, by namespace and release.
#[derive(Default)]
pub(super) struct KnownSecrets(BTreeMap<Box<str>, BTreeMap<Box<str>, Vec<Known>>>);

/// A Secret of a release, as its metadata names it.
pub(super) struct Sighting {
    namespace: Box<str>,
    release: Box<str>,
    name: Name,
    uid: Uid,
}

/// A UID as a number. Were two the same, a Secret would be asked for that is gone.
type Uid = u64;

struct Known {
    name: Name,
    source: Source,
}

/// Where we know a Secret from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The watch has told of it.
    Watch(Uid),
    /// An answer to a request of ours has, and the watch has not yet. The UID is absent where we asked for the Secret to be
    /// made, and got no answer.
    Answer(Option<Uid>),
}

/// The name of a Secret; that of nearly all follows from release and revision.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    Revision(Revision),
    Other(Box<str>),
}

impl Name {
    fn new(release: &str, name: &str) -> Self {
        match secret_revision(release, name) {
            Some(revision) => Self::Revision(revision),
            None => Self::Other(name.into()),
        }
    }

    fn of(&self, release: &str) -> String {
        match self {
            Self::Revision(revision) => secret_name(release, *revision),
            Self::Other(name) => name.to_string(),
        }
    }
}

impl Sighting {
    /// The Secret with this metadata, if that says of which release it is.
    pub(super) fn new(metadata: &ObjectMeta) -> Option<Self> {
        let release = metadata.labels.as_ref()?.get("name")?;
        Some(Self {
            namespace: metadata.namespace.as_deref()?.into(),
            release: release.as_str().into(),
            name: Name::new(release, metadata.name.as_deref()?),
            uid: number_of(metadata.uid.as_deref()?),
        })
    }
}

impl KnownSecrets {
    /// Those that the watch, or answers to our own requests, have told of.
    pub(super) fn names(&self, namespace: &str, release: &str) -> Vec<String> {
        let known = self.0.get(namespace).and_then(|releases| releases.get(release));
        let known = known.into_iter().flatten();
        known.map(|known| known.name.of(release)).collect()
    }

    /// The watch tells of a Secret. Where it lags, it may tell what had its name before.
    pub(super) fn seen(&mut self, sighting: Sighting) {
        let all = self.of_release(&sighting.namespace, &sighting.release);
        let source = Source::Watch(sighting.uid);
        match all.iter_mut().find(|known| known.name == sighting.name) {
            Some(known) => {
                let is_former = matches!(known.source, Source::Answer(Some(uid)) if uid != sighting.uid);
                if !is_former {
                    known.source = source;
                }
            }
            None => all.push(Known {
                name: sighting.name,
                source,
            }),
        }
    }

    /// The watch tells of the end of a Secret. One that has taken its name stays.
    pub(super) fn gone(&mut self, sighting: &Sighting) {
        let Some(releases) = self.0.get_mut(&sighting.namespace) else {
            return;
        };
        let Some(all) = releases.get_mut(&sighting.release) else {
            return;
        };
        let uid = sighting.uid;
        let is_it = |source| source == Source::Watch(uid) || source == Source::Answer(Some(uid));
        all.retain(|known| known.name != sighting.name || !is_it(known.source));
        if all.is_empty() {
            releases.remove(&sighting.release);
        }
        if releases.is_empty() {
            self.0.remove(&sighting.namespace);
        }
    }

    /// An answer, or its absence, tells of a Secret.
    pub(super) fn answered(&mut self, namespace: &str, release: &str, name: &str, uid: Option<&str>) {
        let name = Name::new(release, name);
        let source = Source::Answer(uid.map(number_of));
        let all = self.of_release(namespace, release);
        match all.iter_mut().find(|known| known.name == name) {
            // The watch was quicker than the answer.
            Some(known) if uid.map(number_of).map(Source::Watch) == Some(known.source) => {}
            Some(known) => known.source = source,
            None => all.push(Known { name, source }),
        }
    }

    fn of_release(&mut self, namespace: &str, release: &str) -> &mut Vec<Known> {
        self.0
            .entry(namespace.into())
            .or_default()
            .entry(release.into())
            .or_default()
    }
}

fn number_of(uid: &str) -> Uid {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sighting(name: &str, uid: &str) -> Sighting {
        Sighting::new(&ObjectMeta {
            namespace: Some("a".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            labels: Some(BTreeMap::from([("name".to_owned(), "shop".to_owned())])),
            ..ObjectMeta::default()
        })
        .unwrap()
    }

    const FIRST: &str = "sh.helm.release.v1.shop.v1";

    #[test]
    fn secrets_are_known_by_any_name() {
        let mut known = KnownSecrets::default();
        let names = [
            FIRST,
            "sh.helm.release.v1.shop.v10",
            "sh.helm.release.v1.shop.v01",
            "other",
        ];
        for name in names {
            known.seen(sighting(name, name));
            known.seen(sighting(name, name));
        }
        assert_eq!(known.names("a", "shop"), names);
        assert_eq!(known.names("b", "shop"), [""; 0]);
        for name in names {
            known.gone(&sighting(name, name));
        }
        assert!(known.0.is_empty());
    }

    #[test]
    fn what_an_answer_tells_outlives_late_events_of_what_had_its_name() {
        let mut known = KnownSecrets::default();
        known.seen(sighting(FIRST, "old"));
        known.answered("a", "shop", FIRST, Some("new"));
        known.seen(sighting(FIRST, "old"));
        known.gone(&sighting(FIRST, "old"));
        assert_eq!(known.names("a", "shop"), [FIRST]);
        known.seen(sighting(FIRST, "new"));
        known.gone(&sighting(FIRST, "new"));
        assert_eq!(known.names("a", "shop"), [""; 0]);
    }

    #[test]
    fn what_may_have_been_written_stays_until_the_watch_tells_of_it() {
        let mut known = KnownSecrets::default();
        known.answered("a", "shop", FIRST, None);
        known.gone(&sighting(FIRST, "old"));
        assert_eq!(known.names("a", "shop"), [FIRST]);
        known.seen(sighting(FIRST, "new"));
        // The answer to another request of ours comes late.
        known.answered("a", "shop", FIRST, Some("new"));
        known.gone(&sighting(FIRST, "new"));
        assert_eq!(known.names("a", "shop"), [""; 0]);
    }
}
