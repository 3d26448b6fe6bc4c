//! Finding objects by our marks alone, where no stored revision names them.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use kube::api::ListParams;
use steersman_cluster::discovery::Resource;
use steersman_cluster::permissions::{PermissionsError, granted};
use steersman_cluster::{CHART_LABEL, OWNER_UID_LABEL, Owner, RequestError};
use steersman_model::{ObjectId, RESOURCE_POLICY, is_keep};
use steersman_project::rbac::{Asked, Granted};

use super::prune::PruneError;
use crate::apply::applier::Applier;
use crate::apply::error::ApplyError;

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
        let found = api
            .list_metadata(&selector)
            .await
            .map_err(|error| ApplyError::Request {
                attempt: "list objects like",
                id: Box::new(id("*".to_owned())),
                source: error.into(),
            })?;
        let ours = found.items.into_iter().filter(|object| {
            // What a controller derives from our objects carries our labels, too, but not our mark as owner.
            let references = object.metadata.owner_references.iter().flatten();
            references.into_iter().any(|reference| reference.uid == owner.uid)
        });
        Ok(ours.filter_map(|object| object.metadata.name.map(id)).collect())
    }

    /// Every object that carries the owner's UID and is not to be kept, whatever its kind. It costs a request for each
    /// kind that is served, so it is for releases whose revisions can't be read.
    ///
    /// An operator for some namespaces looks into that of the release alone. Kinds that can't be listed, or that the
    /// operator may not list, are left out.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn all_marked(&self, owner: &Owner) -> Result<Vec<ObjectId>, PruneError> {
        let served = self.discovery.refresh().await?;
        let granted = self.granted(&owner.release_namespace).await?;
        let may_list = |resource: &Resource, namespace: Option<&str>| match &granted {
            Some(granted) => may_list(granted, resource, namespace),
            None => namespace.is_none(),
        };
        let namespace = owner.release_namespace.as_str();
        let places: Vec<(Resource, Option<String>)> = served
            .kinds()
            .filter_map(|resource| {
                if may_list(resource, None) {
                    return Some((resource.clone(), None));
                }
                let is_there = resource.namespaced && may_list(resource, Some(namespace));
                is_there.then(|| (resource.clone(), Some(namespace.to_owned())))
            })
            .collect();
        let listed: Vec<Vec<ObjectId>> = futures::stream::iter(places)
            .map(|(resource, namespace)| async move {
                self.marked_of(owner, &resource, namespace.as_deref()).await
            })
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        Ok(listed.into_iter().flatten().collect())
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

    async fn marked_of(
        &self,
        owner: &Owner,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Result<Vec<ObjectId>, PruneError> {
        let parameters = ListParams::default().labels(&format!("{OWNER_UID_LABEL}={}", owner.uid));
        let mut found = self.api(resource, namespace).list_metadata(&parameters).await;
        if namespace.is_none() && resource.namespaced && found.as_ref().is_err_and(is_denied) {
            let api = self.api(resource, Some(&owner.release_namespace));
            found = api.list_metadata(&parameters).await;
        }
        match found.map_err(RequestError::from) {
            Ok(found) => Ok(found
                .items
                .into_iter()
                .map(|object| object.metadata)
                .filter(|metadata| {
                    let annotations = metadata.annotations.as_ref();
                    !annotations
                        .and_then(|all| all.get(RESOURCE_POLICY))
                        .is_some_and(|policy| is_keep(policy))
                })
                .map(|metadata| ObjectId {
                    group: resource.api.group.clone(),
                    kind: resource.api.kind.clone(),
                    namespace: metadata.namespace,
                    name: metadata.name.unwrap_or_default(),
                })
                .collect()),
            Err(source) if source.is_transient() => Err(PruneError::List {
                kind: resource.api.kind.clone(),
                source,
            }),
            Err(error) => {
                tracing::debug!(kind = %resource.api.kind, %error, "a kind can't be listed");
                Ok(Vec::new())
            }
        }
    }
}

fn may_list(granted: &[Granted], resource: &Resource, namespace: Option<&str>) -> bool {
    let asked = Asked {
        group: resource.api.group.clone(),
        resource: resource.api.plural.clone(),
        verb: "list".to_owned(),
        name: String::new(),
        namespace: namespace.map(str::to_owned),
    };
    granted.iter().any(|granted| granted.allows(&asked))
}

fn is_denied(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
