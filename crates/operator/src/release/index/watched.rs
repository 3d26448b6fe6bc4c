//! What one watch has told of the Secrets of releases. Pure.

use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use steersman_model::ReleaseName;

use super::known::{KnownSecrets, Sighting, Written};

/// What a watch has told so far.
#[derive(Default)]
pub(super) struct Watched {
    /// Absent until the first list has arrived.
    known: Option<KnownSecrets>,
    /// What the list that is arriving has named, if one is.
    arriving: Option<KnownSecrets>,
    /// Whether the watch has failed, and has told nothing since.
    is_silent: bool,
}

/// What is known of a release.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The names of its Secrets.
    Names(Vec<String>),
    /// Nothing until a list has arrived.
    Later,
    /// Nothing, as the watch fails, or as there were too many.
    Unknown,
}

/// What an event of the watch says.
pub(super) enum SecretEvent {
    ListBegins,
    Listed(Option<Sighting>),
    ListEnds,
    Written(Option<Sighting>),
    Deleted(Option<Sighting>),
    Failed,
}

impl Watched {
    /// What is known of a release.
    pub(super) fn answer(&self, namespace: &str, release: &ReleaseName) -> Answer {
        match (&self.known, &self.arriving) {
            _ if self.is_silent => Answer::Unknown,
            (Some(known), None) => known
                .names(namespace, release.as_str())
                .map_or(Answer::Unknown, Answer::Names),
            _ => Answer::Later,
        }
    }

    /// What was written of a release, if all of it is known.
    pub(super) fn written(&self, namespace: &str, release: &ReleaseName) -> Option<Written> {
        let known = self
            .known
            .as_ref()
            .filter(|_| !self.is_silent && self.arriving.is_none())?;
        known.written(namespace, release.as_str())
    }

    /// The namespaces in which a release of this name is known to have Secrets, so many at most.
    pub(super) fn namespaces_of(&self, release: &ReleaseName, most: usize) -> Vec<String> {
        let known = self.known.iter();
        known
            .flat_map(|known| known.namespaces_of(release.as_str(), most))
            .collect()
    }

    /// Takes an event in. Whether those that wait for a list are to ask again, is the answer.
    pub(super) fn observe(&mut self, event: SecretEvent) -> bool {
        match event {
            SecretEvent::ListBegins => self.arriving = Some(KnownSecrets::default()),
            SecretEvent::Listed(secret) => {
                if let (Some(arriving), Some(secret)) = (&mut self.arriving, secret) {
                    arriving.seen(secret);
                }
            }
            SecretEvent::ListEnds => {
                if let Some(arrived) = self.arriving.take() {
                    self.known = Some(arrived);
                    self.is_silent = false;
                }
                return true;
            }
            SecretEvent::Written(secret) => {
                if let (Some(known), Some(secret)) = (&mut self.known, secret) {
                    known.seen(secret);
                }
                self.is_silent = false;
            }
            SecretEvent::Deleted(secret) => {
                if let (Some(known), Some(secret)) = (&mut self.known, secret) {
                    known.gone(&secret);
                }
                // The watch goes on where it has failed: nothing is left out.
                self.is_silent = false;
            }
            SecretEvent::Failed => {
                self.arriving = None;
                self.is_silent = true;
                return true;
            }
        }
        false
    }

    /// Takes in what an answer to a request of ours tells, however old what the watch tells next is.
    pub(super) fn note(&mut self, namespace: &str, release: &ReleaseName, name: &str, uid: Option<&str>) {
        for known in self.known.iter_mut().chain(&mut self.arriving) {
            known.answered(namespace, release.as_str(), name, uid);
        }
    }
}

impl From<Event<PartialObjectMeta<Secret>>> for SecretEvent {
    fn from(event: Event<PartialObjectMeta<Secret>>) -> Self {
        match event {
            Event::Init => Self::ListBegins,
            Event::InitApply(secret) => Self::Listed(Sighting::new(&secret.metadata)),
            Event::InitDone => Self::ListEnds,
            Event::Apply(secret) => Self::Written(Sighting::new(&secret.metadata)),
            Event::Delete(secret) => Self::Deleted(Sighting::new(&secret.metadata)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    const FIRST: &str = "sh.helm.release.v1.shop.v1";
    const SECOND: &str = "sh.helm.release.v1.shop.v2";

    fn secret(name: &str) -> Option<Sighting> {
        Sighting::new(&ObjectMeta {
            namespace: Some("a".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(format!("uid of {name}")),
            labels: Some(BTreeMap::from([("name".to_owned(), "shop".to_owned())])),
            ..ObjectMeta::default()
        })
    }

    fn names(watched: &Watched, namespace: &str, release: &str) -> Answer {
        watched.answer(namespace, &ReleaseName::new(release.to_owned()).unwrap())
    }

    fn check(watched: &Watched, expect: &[&str]) {
        let expect = expect.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names(watched, "a", "shop"), Answer::Names(expect));
    }

    #[test]
    fn a_release_is_known_to_have_none_once_all_are_listed() {
        let mut watched = Watched::default();
        assert_eq!(names(&watched, "a", "shop"), Answer::Later);
        assert!(!watched.observe(SecretEvent::ListBegins));
        watched.observe(SecretEvent::Listed(secret(FIRST)));
        assert_eq!(
            names(&watched, "a", "other"),
            Answer::Later,
            "the list is not complete"
        );
        assert!(watched.observe(SecretEvent::ListEnds));
        check(&watched, &[FIRST]);
        for (namespace, release) in [("b", "shop"), ("a", "other")] {
            assert_eq!(names(&watched, namespace, release), Answer::Names(Vec::new()));
        }
        watched.observe(SecretEvent::Written(secret(SECOND)));
        watched.observe(SecretEvent::Deleted(secret(FIRST)));
        check(&watched, &[SECOND]);
        // The watch begins anew.
        watched.observe(SecretEvent::ListBegins);
        assert_eq!(names(&watched, "a", "shop"), Answer::Later);
        watched.observe(SecretEvent::ListEnds);
        check(&watched, &[]);
    }

    #[test]
    fn a_watch_that_has_failed_knows_nothing_until_it_tells_again() {
        let mut watched = Watched::default();
        watched.observe(SecretEvent::ListBegins);
        assert!(watched.observe(SecretEvent::Failed));
        assert_eq!(names(&watched, "a", "shop"), Answer::Unknown);
        // Who asks meanwhile does not wait for the next try.
        watched.observe(SecretEvent::ListBegins);
        assert_eq!(names(&watched, "a", "shop"), Answer::Unknown);
        watched.observe(SecretEvent::Listed(secret(FIRST)));
        watched.observe(SecretEvent::ListEnds);
        check(&watched, &[FIRST]);
        watched.observe(SecretEvent::Failed);
        assert_eq!(names(&watched, "a", "shop"), Answer::Unknown);
        watched.observe(SecretEvent::Written(secret(SECOND)));
        check(&watched, &[FIRST, SECOND]);
    }

    #[test]
    fn what_an_answer_tells_is_known_before_the_watch_and_a_list_tell_of_it() {
        let release = ReleaseName::new("shop".to_owned()).unwrap();
        let mut watched = Watched::default();
        watched.observe(SecretEvent::ListBegins);
        watched.note("a", &release, FIRST, Some("uid"));
        watched.observe(SecretEvent::ListEnds);
        check(&watched, &[FIRST]);
        watched.note("a", &release, SECOND, None);
        check(&watched, &[FIRST, SECOND]);
    }
}
