//! Values that a release takes from Secrets and `ConfigMap`s: read, and known by a digest that tells nothing of them.

mod content;
mod known_secrets;
mod named_keys;
mod pace;

use std::sync::Arc;
use std::time::Duration;

use content::{Content, Object, SignedSources, laid, secrets_in, stored};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use known_secrets::ReadContent;
pub(super) use known_secrets::SecretsOfSources;
use kube::api::Api;
use kube::core::{ApiResource, GroupVersionKind};
use named_keys::NamedKeys;
use pace::Pace;
use steersman_chart::Values;
use steersman_chart::values::overlay;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, Digest, Inputs, chain};
use steersman_watches::controls::VALUES_FROM;
use steersman_watches::{NamedSource, Reference, SourceKind, Subject, ValueSource, read_value_sources};
use tokio::time::Instant;

use super::ReconcileSettings;
use super::error::ReconcileError;
use super::release_cache::ReleaseCache;
use super::renderer::Renderer;
use super::session::{PreparedRelease, Session};
use crate::references::{Judged, Purpose, References, Target, UNWATCHED, Version};
use crate::release::{Signer, StoredSource};
use crate::status::Redactor;

/// Reads the sources of a release.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) settings: &'a ReconcileSettings,
    pub(super) references: &'a Arc<References>,
    pub(super) renderer: &'a Renderer,
    pub(super) signer: &'a Signer,
}

/// What is remembered of sources between reconciles: nothing of what they have but what is masked.
#[derive(Debug, Default)]
pub(super) struct KnownSources {
    /// As they were read last.
    read: Option<ReadSources>,
    pace: Pace,
}

#[derive(Clone, Debug)]
struct ReadSources {
    named: Vec<(NamedSource, ValueSource)>,
    versions: Vec<(Target, Version)>,
    digests: Vec<Digest>,
    stored: Vec<StoredSource>,
}

/// What the sources of a release give.
#[derive(Clone, Debug, Default)]
pub(super) struct Sourced {
    /// By each key that signs, the newest first: the digest of what they have.
    digests: Vec<Digest>,
    /// What they have, laid over each other; `None` where it was not read, as it is as it was.
    pub(super) values: Option<Values>,
    /// What a revision says of them.
    pub(super) stored: Vec<StoredSource>,
}

/// Values can't be had from a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    /// For people, without secrets.
    pub(super) message: String,
    /// When to look again, where no watch tells.
    pub(super) pause: Option<Duration>,
    /// Whether another content helps, and not only another object.
    pub(super) is_content: bool,
}

impl Unusable {
    /// Nothing helps but another resource, or another entry.
    pub(super) fn of(session: &Session, error: &ReconcileError) -> Self {
        Self {
            message: error.masked(&session.redactor),
            pause: None,
            is_content: true,
        }
    }
}

impl KnownSources {
    /// There is no room for what is secret in them: they are read again.
    pub(super) fn forget_secrets(&mut self) {
        self.read = None;
    }
}

impl Sourced {
    /// What a release is made of with these sources besides `own` values: by whichever key it was signed, if that is what
    /// `last` is made of.
    fn inputs(&self, own: Inputs, last: Option<Inputs>) -> (Inputs, Option<Digest>) {
        let with = |digest: &Digest| Inputs {
            values: joined(own.values, *digest),
            ..own
        };
        let known = last.and_then(|last| {
            self.digests
                .iter()
                .find(|digest| with(digest).values == last.values)
        });
        match known.or(self.digests.first()) {
            Some(digest) => (with(digest), Some(*digest)),
            None => (own, None),
        }
    }
}

/// The digest of values and of the sources below them.
fn joined(own: Digest, sources: Digest) -> Digest {
    Digest::of(format!("{own}/{sources}").as_bytes())
}

impl Sources<'_> {
    /// Whether a resource has any sources.
    pub(super) fn are_named(&self, session: &Session) -> bool {
        let annotations = session.object().metadata.annotations.as_ref();
        let from = &self.settings.values_from;
        !from.sources.is_empty()
            || from.from_resources && annotations.is_some_and(|all| all.contains_key(VALUES_FROM))
    }

    /// Puts what the sources of the resource give under its values. Where nothing of it has changed since it was read, it is
    /// read only if `is_wanted`, and the inputs alone are set.
    ///
    /// # Errors
    /// A source can't be named, is out of bounds, or gives nothing that can be used. The inputs are none then that a revision
    /// is made of.
    pub(super) async fn lay(
        &self,
        session: &Session,
        current: &mut PreparedRelease,
        cache: &mut ReleaseCache,
        is_wanted: bool,
    ) -> Result<(), Unusable> {
        if !self.are_named(session) {
            current.is_whole = true;
            if self.settings.values_from.from_resources {
                cache.sources = KnownSources::default();
                self.references
                    .expect_nothing(&session.owner.uid, Purpose::Values);
            }
            return Ok(());
        }
        let sourced = self.sourced(session, current, cache, is_wanted).await;
        let sourced = sourced.inspect_err(|_| {
            cache.sources.read = None;
            let nothing = Digest::of(b"no values can be had");
            current.inputs.values = joined(current.own_inputs.values, nothing);
        })?;
        // What was read just now is masked, and what was read before where it is remembered.
        if sourced.values.is_none() && !cache.secrets.sources.has_those(&sourced.stored) {
            session.redactor.hide_words_of_others();
        }
        self.take(session, current, cache, sourced)
    }

    async fn sourced(
        &self,
        session: &Session,
        current: &PreparedRelease,
        cache: &mut ReleaseCache,
        is_wanted: bool,
    ) -> Result<Sourced, Unusable> {
        let named = self
            .sources(session)
            .and_then(|sources| self.named(session, current, &sources));
        let named = named.map_err(|error| Unusable::of(session, &error))?;
        let known = self.known(&session.owner.uid, cache, &named);
        match known.filter(|_| !is_wanted) {
            Some(known) => Ok(known),
            None => self.read(session, cache, named).await,
        }
    }

    /// The resource is made of what its sources give. Another content of theirs alone waits for its [`Pace`].
    fn take(
        &self,
        session: &Session,
        current: &mut PreparedRelease,
        cache: &mut ReleaseCache,
        sourced: Sourced,
    ) -> Result<(), Unusable> {
        let last = cache.known.as_ref().and_then(|known| known.last.as_ref());
        let last = last.and_then(|last| last.inputs);
        let (inputs, digest) = sourced.inputs(current.own_inputs, last);
        current.inputs = inputs;
        let last = last.map(|last| last.values);
        let pace = &mut cache.sources.pace;
        let rest = pace.rest(current.own_inputs.values, last, digest, Instant::now());
        if let (Some(rest), Some(last)) = (rest, last) {
            current.inputs.values = last;
            self.references.look_again(&session.owner.uid, rest);
        }
        if let Some(values) = sourced.values {
            let mut below = self.settings.values.below();
            overlay(&mut below, values);
            let object = &session.object().data;
            let own = self.settings.values.over(below.clone(), object);
            let own = own.map_err(|error| Unusable::of(session, &error.into()))?;
            current.values = current.held.of(own, below);
            current.is_whole = true;
        }
        current.sources = sourced.stored;
        Ok(())
    }

    /// The sources of the watch, and those that the resource names.
    fn sources(&self, session: &Session) -> Result<Vec<ValueSource>, ReconcileError> {
        let mut sources = self.settings.values_from.sources.clone();
        let annotations = session.object().metadata.annotations.as_ref();
        let named = annotations.and_then(|all| all.get(VALUES_FROM));
        if let Some(text) = named.filter(|_| self.settings.values_from.from_resources) {
            let more = read_value_sources(text).map_err(|reason| ReconcileError::Annotation {
                name: VALUES_FROM,
                reason,
            })?;
            sources.extend(more);
        }
        Ok(sources)
    }

    fn named(
        &self,
        session: &Session,
        current: &PreparedRelease,
        sources: &[ValueSource],
    ) -> Result<Vec<(NamedSource, ValueSource)>, ReconcileError> {
        let subject: Subject = self.settings.subject(session.object(), &current.own_values);
        let named = sources.iter().enumerate().map(|(index, source)| {
            let named = source.named(&subject);
            let named = named.map_err(|error| ReconcileError::ReferenceName {
                field: "valuesFrom",
                index,
                source: error,
            })?;
            let owner = &session.owner;
            let id = reference(&named, &owner.release_namespace).id();
            self.settings.admit_reference("valuesFrom", owner, id)?;
            Ok((named, source.clone()))
        });
        named.collect()
    }

    /// What is known of the sources, if nothing of it has changed since.
    fn known(
        &self,
        uid: &str,
        cache: &ReleaseCache,
        named: &[(NamedSource, ValueSource)],
    ) -> Option<Sourced> {
        let read = cache.sources.read.as_ref()?;
        let is_current = |(target, version): &(Target, Version)| {
            self.references
                .is_as_judged(uid, Purpose::Values, target, version)
        };
        let is_known = read.named == named && read.versions.iter().all(is_current);
        is_known.then(|| Sourced {
            digests: read.digests.clone(),
            values: None,
            stored: read.stored.clone(),
        })
    }

    /// Reads the sources, each object once. The resource is woken by their next change.
    async fn read(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        named: Vec<(NamedSource, ValueSource)>,
    ) -> Result<Sourced, Unusable> {
        let mut objects: Vec<(Target, Result<Option<Object>, RequestError>)> = Vec::new();
        for (source, _) in &named {
            let target = self.target(session, source);
            if !objects.iter().any(|(known, _)| *known == target) {
                let object = self.object(&target, source.kind).await;
                objects.push((target, object));
            }
        }
        let versions: Vec<(Target, Version)> = objects
            .iter()
            .filter_map(|(target, object)| {
                let object = object.as_ref().ok()?;
                let version = object.as_ref().and_then(|object| object.version.clone());
                Some((target.clone(), version))
            })
            .collect();
        let judged = versions.iter().map(|(target, version)| Judged {
            target: target.clone(),
            resource: resource_of(target),
            version: version.clone(),
        });
        self.references
            .expect(&session.owner.uid, Purpose::Values, judged.collect());
        let mut contents = Vec::new();
        let mut secrets: Vec<Redactor> = Vec::new();
        let named_keys = NamedKeys::of(&self.settings.chart);
        for (source, how) in &named {
            let target = self.target(session, source);
            let found = objects.iter().find(|(known, _)| *known == target);
            let content = match found.map(|(_, object)| object) {
                Some(Ok(Some(object))) => object.content(&source.values_key),
                Some(Ok(None)) | None => Content::NoObject,
                Some(Err(error)) => {
                    let message = format!("{source} can't be read: {}", chain(error));
                    return Err(Unusable {
                        message: session.redactor.mask(&message),
                        pause: Some(error.retry_after().unwrap_or(UNWATCHED)),
                        is_content: false,
                    });
                }
            };
            secrets.push(secrets_in(how, &content, &named_keys));
            contents.push(content);
        }
        drop(objects);
        // Before anything of it can fail.
        for secrets in &secrets {
            session.redactor.learn(secrets.clone());
        }
        let keys = self.signer.keys();
        let known = self.known_contents(session, &named, &contents, secrets);
        cache.secrets.sources.note_read(known);
        let values = laid(&named, &contents, &session.owner.release_namespace);
        let values = values.map_err(|unusable| Unusable {
            message: session.redactor.mask_own(&unusable.message),
            ..unusable
        })?;
        let digests = keys.macs(&SignedSources {
            uid: &session.owner.uid,
            sources: &named,
            contents: &contents,
        });
        let stored = stored(&session.owner.uid, &named, &contents, |sources| {
            keys.macs(sources).first().copied()
        });
        cache.sources.read = Some(ReadSources {
            named,
            versions,
            digests: digests.clone(),
            stored: stored.clone(),
        });
        Ok(Sourced {
            digests,
            values: Some(values),
            stored,
        })
    }

    /// What is secret in these contents, by what revisions say of them.
    fn known_contents(
        &self,
        session: &Session,
        named: &[(NamedSource, ValueSource)],
        contents: &[Content],
        secrets: Vec<Redactor>,
    ) -> Vec<ReadContent> {
        let keys = self.signer.keys();
        let macs = |source: &(NamedSource, ValueSource), content: &Content| {
            keys.macs(&SignedSources {
                uid: &session.owner.uid,
                sources: std::slice::from_ref(source),
                contents: std::slice::from_ref(content),
            })
        };
        let each = named.iter().zip(contents).zip(secrets);
        let read = each.map(|((source, content), secrets)| ReadContent {
            macs: macs(source, content),
            secrets,
        });
        // Where an object may be missing, nothing is known to be secret in that.
        let optional = named.iter().filter(|(_, how)| how.optional);
        let absent = optional.map(|source| ReadContent {
            macs: macs(source, &Content::NoObject),
            secrets: Redactor::default(),
        });
        absent.chain(read).collect()
    }

    fn target(&self, session: &Session, named: &NamedSource) -> Target {
        Target {
            reference: reference(named, &session.owner.release_namespace),
            account: self.settings.account(&session.owner),
        }
    }

    async fn object(&self, target: &Target, kind: SourceKind) -> Result<Option<Object>, RequestError> {
        let Reference { namespace, name, .. } = &target.reference;
        let client = self.renderer.client.clone();
        Ok(match kind {
            SourceKind::Secret => {
                let found: Option<Secret> = Api::namespaced(client, namespace).get_opt(name).await?;
                found.map(Object::of_secret)
            }
            SourceKind::ConfigMap => {
                let found: Option<ConfigMap> = Api::namespaced(client, namespace).get_opt(name).await?;
                found.map(Object::of_config_map)
            }
        })
    }
}

fn reference(named: &NamedSource, namespace: &str) -> Reference {
    Reference {
        api: ApiKind::new("v1", named.kind.as_str()),
        namespace: namespace.to_owned(),
        name: named.name.clone(),
    }
}

/// How objects with values are addressed, which every server serves.
fn resource_of(target: &Target) -> Resource {
    let kind = &target.reference.api.kind;
    let gvk = GroupVersionKind::gvk("", "v1", kind);
    Resource {
        api: ApiResource::from_gvk_with_plural(&gvk, &format!("{}s", kind.to_ascii_lowercase())),
        namespaced: true,
        has_status: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn own() -> Inputs {
        Inputs {
            chart: digest("chart"),
            values: digest("own"),
            identity: digest("identity"),
            post_render: None,
        }
    }

    #[test]
    fn a_new_key_that_signs_makes_no_other_inputs() {
        let (old, new) = (digest("by the old key"), digest("by the new key"));
        let sourced = Sourced {
            digests: vec![new, old],
            ..Sourced::default()
        };
        let of_old = Inputs {
            values: joined(own().values, old),
            ..own()
        };
        assert_eq!(sourced.inputs(own(), Some(of_old)), (of_old, Some(old)));
        let (inputs, by) = sourced.inputs(own(), Some(own()));
        assert_eq!((inputs.values, by), (joined(own().values, new), Some(new)));
        assert_eq!(sourced.inputs(own(), None).1, Some(new));
    }
}
