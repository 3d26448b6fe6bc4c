//! Finding objects by our marks alone, where no stored revision names them.

use std::collections::BTreeSet;

use futures::{FutureExt, StreamExt, TryStreamExt};
use kube::api::ListParams;
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::Resource;
use steersman_cluster::permissions::{PermissionsError, granted};
use steersman_cluster::{CHART_LABEL, Owner, RequestError};
use steersman_model::ObjectId;
use steersman_project::rbac::{Asked, Granted};

use super::prune::PruneError;
use crate::apply::applier::Applier;
use crate::apply::error::ApplyError;
use crate::dependents::{LiveObject, Place};

/// So many kinds are asked for at a time.
const PARALLEL: usize = 4;

impl Applier {
    /// The objects of a kind, in the namespace of `owner`'s release, that name `owner` as theirs.
    ///
    /// # Errors
    /// They can't be listed.
    pub async fn marked(&self, owner: &Owner, group: &str, kind: &str) -> Result<Vec<ObjectId>, ApplyError> {
        let served = self.discovery.served().await?;
        let Some(resource) = served
            .any_version(group, kind)
            .filter(|resource| resource.namespaced)
        else {
            return Ok(Vec::new());
        };
        let id = |name: String| ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(owner.release_namespace.clone()),
            name,
        };
        let selector = ListParams::default().labels(&format!("{CHART_LABEL}={}", owner.chart));
        let api = self.api(resource, Some(&owner.release_namespace));
        let failed = |error: kube::Error| ApplyError::Request {
            attempt: "list objects like",
            id: Box::new(id("*".to_owned())),
            source: error.into(),
        };
        let mut marked = Vec::new();
        let mut pages = Pages::of(&api, selector);
        while let Some(page) = pages.next_metadata().await.map_err(failed)? {
            let ours = page.into_iter().filter(|metadata| {
                // What a controller derives from our objects carries our labels, too, but not our mark as owner.
                let references = metadata.owner_references.iter().flatten();
                references.into_iter().any(|reference| reference.uid == owner.uid)
            });
            marked.extend(ours.filter_map(|metadata| metadata.name.map(id)));
        }
        Ok(marked)
    }

    /// Every object that is known to be the owner's, by its UID, of whatever kind, `own` being its namespace: where nothing names
    /// what there is, as not every revision of a release can be read, or no record of a run.
    ///
    /// A process looks at each kind that it may list once: those of which it has objects are watched from then on, and of
    /// the others it knows what it applies. An operator for some namespaces looks into this one alone. Kinds
    /// that can't be listed, or that the operator may not list, are left out; the log names those that it may create.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn all_marked(
        &self,
        owner_uid: &str,
        own: &str,
    ) -> Result<Vec<(ObjectId, LiveObject)>, PruneError> {
        let served = self.discovery.served_lately().await?;
        let own_place = |resource: &Resource| resource.namespaced.then_some(own);
        let is_unknown = |resource: &&Resource| {
            let namespace = own_place(resource);
            !self.dependents.knows(Place { resource, namespace })
        };
        let unknown: Vec<&Resource> = served.kinds().filter(is_unknown).collect();
        if !unknown.is_empty() {
            let granted = self.granted(own).await?;
            let (mut looks, mut passed_by) = (Vec::new(), Vec::new());
            for resource in unknown {
                let own_place = own_place(resource);
                let may = |verb: &str, place: Option<&str>| match &granted {
                    Some(granted) => may(granted, verb, resource, place),
                    None => place.is_none(),
                };
                let place = [None, own_place].into_iter().find(|place| may("list", *place));
                if let Some(namespace) = place {
                    looks.push(self.look(Place { resource, namespace }, own).boxed());
                    continue;
                }
                // Of reviews and the like nothing is left.
                if may("create", own_place) && ["get", "delete"].iter().any(|verb| may(verb, own_place)) {
                    passed_by.push(resource.api.kind.as_str());
                }
                let namespace = own_place;
                self.dependents.note_empty(Place { resource, namespace });
            }
            if !passed_by.is_empty() {
                let kinds = passed_by.join(", ");
                tracing::warn!(
                    kinds,
                    "what is left of a deleted resource is not looked for in these kinds: the operator may create them, and not list them"
                );
            }
            let looks = futures::stream::iter(looks).buffered(PARALLEL);
            looks.try_collect::<()>().await?;
        }
        Ok(self.dependents.owned(owner_uid))
    }

    /// Learns which objects of ours are in a place: where there is one, they are watched from now on.
    async fn look(&self, place: Place<'_>, own: &str) -> Result<(), PruneError> {
        let Place { resource, namespace } = place;
        let failed = |source| PruneError::List {
            kind: resource.api.kind.clone(),
            source,
        };
        let one = ListParams::default().labels(self.dependents.selector()).limit(1);
        let api = self.api(resource, namespace);
        let mut unanswered = 0;
        let found = loop {
            match api.list_metadata(&one).await.map_err(RequestError::from) {
                // Where connections break now and then, so many requests would fail each time without this.
                Err(error) if error.is_unanswered() && unanswered < 2 => unanswered += 1,
                found => break found,
            }
        };
        let found = match found {
            Ok(found) => found.items,
            // It may be granted in the owner's namespace.
            Err(error) if error.code == 403 && namespace.is_none() && resource.namespaced => {
                let namespace = Some(own);
                return Box::pin(self.look(Place { namespace, ..place }, own)).await;
            }
            Err(source) if source.is_transient() => return Err(failed(source)),
            Err(error) => {
                tracing::debug!(kind = %resource.api.kind, %error, "a kind can't be listed");
                Vec::new()
            }
        };
        if found.is_empty() {
            self.dependents.note_empty(place);
        } else if !self.dependents.watch(place).await {
            return Err(failed(RequestError::local(
                "the list of the watch has not arrived",
            )));
        }
        Ok(())
    }

    /// What the operator may do; `None` where the server does not say, so that each request is attempted.
    async fn granted(&self, namespace: &str) -> Result<Option<Vec<Granted>>, PruneError> {
        match granted(&self.client, &BTreeSet::from([namespace.to_owned()])).await {
            Ok(granted) => Ok(Some(granted)),
            Err(PermissionsError::Request(source)) if source.is_transient() => Err(PruneError::List {
                kind: "SelfSubjectRulesReview".to_owned(),
                source,
            }),
            Err(_) => Ok(None),
        }
    }
}

fn may(granted: &[Granted], verb: &str, resource: &Resource, namespace: Option<&str>) -> bool {
    let asked = Asked {
        group: resource.api.group.clone(),
        resource: resource.api.plural.clone(),
        verb: verb.to_owned(),
        name: String::new(),
        namespace: namespace.map(str::to_owned),
    };
    granted.iter().any(|granted| granted.allows(&asked))
}
