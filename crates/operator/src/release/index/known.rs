//! The Secrets of releases, by their names. Pure.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_model::Revision;

use crate::release::secret::{secret_name, secret_revision};

/// So many Secrets are remembered in all: 8 MB. Whoever may write Secrets can label any number of them.
const MOST: usize = 40_000;
/// So many of a release. Helm keeps ten, and may be told otherwise.
const MOST_OF_RELEASE: usize = 1000;

/// The Secrets of releases, by namespace and release. Where there are too many, a release counts as not known, or the
/// namespace that has the most: they are asked for then.
#[derive(Default)]
pub(super) struct KnownSecrets {
    namespaces: BTreeMap<Box<str>, Namespace>,
    /// How many Secrets are remembered.
    count: usize,
}

/// The releases of a namespace.
#[derive(Default)]
struct Namespace {
    releases: BTreeMap<Box<str>, Secrets>,
    count: usize,
    /// Whether it had too many, so that nothing is remembered of it.
    is_cut: bool,
}

/// What was written of a release, as a watch tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The newest revision that is not pending any longer.
    pub newest: Option<Revision>,
    /// The newest one that is pending: somebody is at work with it, or was left in the middle of that.
    pub pending: Option<Revision>,
    /// How often a revision was pending until there was a newer one: Helm may have put that in the place of another.
    pub late: u32,
}

/// The Secrets of a release.
#[derive(Default)]
struct Secrets {
    known: Vec<Known>,
    late: u32,
    /// Whether there were too many, so that none is remembered.
    is_cut: bool,
}

/// A Secret of a release, as its metadata names it.
pub(super) struct Sighting {
    namespace: Box<str>,
    release: Box<str>,
    name: Name,
    uid: Uid,
    is_pending: bool,
}

/// A UID as a number. Were two the same, a Secret would be asked for that is gone.
type Uid = u64;

struct Known {
    name: Name,
    source: Source,
    /// Whether its label says that somebody has not come to its end yet.
    is_pending: bool,
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

    fn revision(&self) -> Option<Revision> {
        match self {
            Self::Revision(revision) => Some(*revision),
            Self::Other(_) => None,
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
        let labels = metadata.labels.as_ref()?;
        let release = labels.get("name")?;
        Some(Self {
            is_pending: labels
                .get("status")
                .is_some_and(|status| status.starts_with("pending-")),
            namespace: metadata.namespace.as_deref()?.into(),
            release: release.as_str().into(),
            name: Name::new(release, metadata.name.as_deref()?),
            uid: number_of(metadata.uid.as_deref()?),
        })
    }
}

impl KnownSecrets {
    /// Those that the watch, or answers to our own requests, have told of. `None` where there were too many to remember.
    pub(super) fn names(&self, namespace: &str, release: &str) -> Option<Vec<String>> {
        let Some(namespace) = self.namespaces.get(namespace) else {
            return Some(Vec::new());
        };
        let secrets = namespace.releases.get(release);
        if namespace.is_cut || secrets.is_some_and(|secrets| secrets.is_cut) {
            return None;
        }
        let known = secrets.into_iter().flat_map(|secrets| &secrets.known);
        Some(known.map(|known| known.name.of(release)).collect())
    }

    /// What was written of a release; `None` where nothing was.
    pub(super) fn written(&self, namespace: &str, release: &str) -> Option<Written> {
        let secrets = self.namespaces.get(namespace)?.releases.get(release)?;
        let newest = |is_pending: bool| {
            let all = secrets
                .known
                .iter()
                .filter(|known| known.is_pending == is_pending);
            all.filter_map(|known| known.name.revision()).max()
        };
        Some(Written {
            newest: newest(false),
            pending: newest(true),
            late: secrets.late,
        })
    }

    /// The namespaces in which a release of this name has Secrets, so many at most. Those that had too many are left out.
    pub(super) fn namespaces_of(&self, release: &str, most: usize) -> Vec<String> {
        let of_release = self.namespaces.iter().filter(|(_, namespace)| {
            let secrets = namespace.releases.get(release);
            secrets.is_some_and(|secrets| !secrets.known.is_empty())
        });
        of_release.map(|(name, _)| name.to_string()).take(most).collect()
    }

    /// The watch tells of a Secret. Where it lags, it may tell what had its name before.
    pub(super) fn seen(&mut self, sighting: Sighting) {
        let Sighting {
            namespace,
            release,
            name,
            uid,
            is_pending,
        } = sighting;
        self.note(
            (&namespace, &release),
            name,
            (Source::Watch(uid), is_pending),
            |known| !matches!(known, Source::Answer(Some(answered)) if answered != uid),
        );
    }

    /// The watch tells of the end of a Secret. One that has taken its name stays.
    pub(super) fn gone(&mut self, sighting: &Sighting) {
        let Some(namespace) = self.namespaces.get_mut(&sighting.namespace) else {
            return;
        };
        let Some(secrets) = namespace.releases.get_mut(&sighting.release) else {
            return;
        };
        let uid = sighting.uid;
        let is_it = |source| source == Source::Watch(uid) || source == Source::Answer(Some(uid));
        let before = secrets.known.len();
        secrets
            .known
            .retain(|known| known.name != sighting.name || !is_it(known.source));
        let gone = before - secrets.known.len();
        if secrets.known.is_empty() && !secrets.is_cut {
            namespace.releases.remove(&sighting.release);
        }
        namespace.count -= gone;
        self.count -= gone;
        if namespace.releases.is_empty() && !namespace.is_cut {
            self.namespaces.remove(&sighting.namespace);
        }
    }

    /// An answer, or its absence, tells of a Secret.
    pub(super) fn answered(&mut self, namespace: &str, release: &str, name: &str, uid: Option<&str>) {
        let name = Name::new(release, name);
        let uid = uid.map(number_of);
        // The watch may have been quicker than the answer.
        let is_news = |known| uid.map(Source::Watch) != Some(known);
        self.note((namespace, release), name, (Source::Answer(uid), false), is_news);
    }

    /// Remembers a Secret, or another source of one that is known where `is_news` says of the former that it may.
    fn note(
        &mut self,
        (namespace, release): (&str, &str),
        name: Name,
        (source, is_pending): (Source, bool),
        is_news: impl Fn(Source) -> bool,
    ) {
        let of_namespace = self.namespaces.entry(namespace.into()).or_default();
        if of_namespace.is_cut {
            return;
        }
        let secrets = of_namespace.releases.entry(release.into()).or_default();
        if let Some(known) = secrets.known.iter_mut().find(|known| known.name == name) {
            if is_news(known.source) {
                let has_ended = known.is_pending && !is_pending;
                (known.source, known.is_pending) = (source, is_pending);
                let revision = name.revision().filter(|_| has_ended);
                let is_newer = |known: &Known| known.name.revision() > revision;
                let is_late = revision.is_some() && secrets.known.iter().any(is_newer);
                secrets.late = secrets.late.wrapping_add(u32::from(is_late));
            }
            return;
        }
        if secrets.is_cut {
            return;
        }
        secrets.known.push(Known {
            name,
            source,
            is_pending,
        });
        (of_namespace.count, self.count) = (of_namespace.count + 1, self.count + 1);
        if secrets.known.len() > MOST_OF_RELEASE {
            let cut = std::mem::take(&mut secrets.known).len();
            secrets.is_cut = true;
            of_namespace.count -= cut;
            self.count -= cut;
        }
        if self.count > MOST {
            self.cut_largest();
        }
    }

    /// Forgets the namespace with the most Secrets.
    fn cut_largest(&mut self) {
        let largest = self
            .namespaces
            .values_mut()
            .max_by_key(|namespace| namespace.count);
        if let Some(largest) = largest {
            self.count -= largest.count;
            *largest = Namespace {
                is_cut: true,
                ..Namespace::default()
            };
        }
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
    fn what_is_pending_is_not_the_newest_and_may_end_late() {
        let mut known = KnownSecrets::default();
        let second = || sighting("sh.helm.release.v1.shop.v2", "second");
        known.seen(sighting(FIRST, "first"));
        known.seen(Sighting {
            is_pending: true,
            ..second()
        });
        let written = |newest: u32, late: u32| {
            Some(Written {
                newest: Some(Revision(newest)),
                pending: None,
                late,
            })
        };
        let pending = |number: u32, newest: u32| {
            let pending = Some(Revision(number));
            written(newest, 0).map(|written| Written { pending, ..written })
        };
        assert_eq!(known.written("a", "shop"), pending(2, 1));
        known.seen(second());
        known.seen(sighting("other", "other"));
        assert_eq!(known.written("a", "shop"), written(2, 0));
        assert_eq!(known.written("b", "shop"), None);
        let third = || sighting("sh.helm.release.v1.shop.v3", "third");
        known.seen(Sighting {
            is_pending: true,
            ..third()
        });
        known.seen(sighting("sh.helm.release.v1.shop.v4", "fourth"));
        assert_eq!(known.written("a", "shop"), pending(3, 4));
        known.seen(third());
        assert_eq!(known.written("a", "shop"), written(4, 1));
        known.seen(third());
        assert_eq!(known.written("a", "shop"), written(4, 1));
    }

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
        assert_eq!(known.names("a", "shop").unwrap(), names);
        assert_eq!(known.names("b", "shop").unwrap(), [""; 0]);
        for name in names {
            known.gone(&sighting(name, name));
        }
        assert!(known.namespaces.is_empty() && known.count == 0);
    }

    /// The Secret of a release in a namespace.
    fn other(namespace: &str, release: &str, number: usize) -> Sighting {
        Sighting {
            namespace: namespace.into(),
            release: release.into(),
            name: Name::new(release, &format!("other-{number}")),
            uid: number as u64,
            is_pending: false,
        }
    }

    #[test]
    fn a_release_with_too_many_is_asked_for_and_its_neighbour_is_known() {
        let mut known = KnownSecrets::default();
        known.seen(sighting(FIRST, "uid"));
        for number in 0..3 * MOST_OF_RELEASE {
            known.seen(other("a", "flood", number));
        }
        assert_eq!(known.names("a", "flood"), None);
        assert_eq!(known.names("a", "shop").unwrap(), [FIRST]);
        known.gone(&other("a", "flood", 0));
        assert_eq!(known.names("a", "flood"), None, "others may be there");
        assert_eq!(known.count, 1);
    }

    #[test]
    fn the_namespace_with_the_most_is_forgotten_and_others_are_not() {
        let mut known = KnownSecrets::default();
        known.seen(sighting(FIRST, "uid"));
        for number in 0..MOST + 500 {
            known.seen(other("flood", &format!("release-{}", number / 100), number));
        }
        assert_eq!(known.names("flood", "release-0"), None);
        assert_eq!(known.names("flood", "none"), None);
        assert_eq!(known.names("a", "shop").unwrap(), [FIRST]);
        known.answered("a", "shop", "sh.helm.release.v1.shop.v2", None);
        assert_eq!(known.count, 2);
    }

    #[test]
    fn what_an_answer_tells_outlives_late_events_of_what_had_its_name() {
        let mut known = KnownSecrets::default();
        known.seen(sighting(FIRST, "old"));
        known.answered("a", "shop", FIRST, Some("new"));
        known.seen(sighting(FIRST, "old"));
        known.gone(&sighting(FIRST, "old"));
        assert_eq!(known.names("a", "shop").unwrap(), [FIRST]);
        known.seen(sighting(FIRST, "new"));
        known.gone(&sighting(FIRST, "new"));
        assert_eq!(known.names("a", "shop").unwrap(), [""; 0]);
    }

    #[test]
    fn what_may_have_been_written_stays_until_the_watch_tells_of_it() {
        let mut known = KnownSecrets::default();
        known.answered("a", "shop", FIRST, None);
        known.gone(&sighting(FIRST, "old"));
        assert_eq!(known.names("a", "shop").unwrap(), [FIRST]);
        known.seen(sighting(FIRST, "new"));
        // The answer to another request of ours comes late.
        known.answered("a", "shop", FIRST, Some("new"));
        known.gone(&sighting(FIRST, "new"));
        assert_eq!(known.names("a", "shop").unwrap(), [""; 0]);
    }
}
