//! In which namespaces a visitor sees resources of a kind: as far as their rights go.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Resource;

/// So many namespaces are asked about where nobody has named them.
const MOST_ASKED: u32 = 2000;
/// Each namespace is a watch of each kind.
const MOST_WATCHED: usize = 100;
const AT_ONCE: usize = 8;

/// Where it is looked.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Empty for all that the visitor may see.
    pub(crate) namespaces: Vec<String>,
    /// Where to look if nothing else is known.
    pub(crate) home: String,
}

/// A list of resources, and the namespace that it is of alone.
pub(crate) type Listed = (Option<String>, Api<DynamicObject>);

impl Scope {
    /// The lists of a kind: one of all namespaces where none is named and that is allowed; else one for each namespace in which it
    /// is. Where that is nowhere, a list is there all the same, whose refusal is said. Whether there were more is beside it.
    ///
    /// # Errors
    /// The server does not say what is allowed: nothing follows from that, and it is to be asked again.
    pub(crate) async fn lists(
        &self,
        client: &Client,
        kind: &Resource,
    ) -> Result<(Vec<Listed>, bool), RequestError> {
        let all = kind.objects(client, None);
        if !kind.namespaced || (self.namespaces.is_empty() && may_list(&all).await?) {
            return Ok((vec![(None, all)], false));
        }
        let (candidates, mut is_cut) = self.candidates(client).await?;
        let lists = candidates.iter().map(|namespace| {
            let list = kind.objects(client, Some(namespace));
            (Some(namespace.clone()), list)
        });
        let lists: Vec<Listed> = lists.collect();
        let asked = stream::iter(lists).map(async |(namespace, list)| {
            let may_list = may_list(&list).await;
            may_list.map(|may_list| may_list.then_some((namespace, list)))
        });
        let allowed: Vec<Option<Listed>> = asked.buffered(AT_ONCE).try_collect().await?;
        let mut allowed: Vec<Listed> = allowed.into_iter().flatten().collect();
        if allowed.is_empty() {
            let home = candidates.first().unwrap_or(&self.home);
            let list = kind.objects(client, Some(home));
            return Ok((vec![(Some(home.clone()), list)], false));
        }
        is_cut |= allowed.len() > MOST_WATCHED;
        allowed.truncate(MOST_WATCHED);
        Ok((allowed, is_cut))
    }

    /// The namespaces that are named, or those that the visitor may list, or else the one that is home.
    async fn candidates(&self, client: &Client) -> Result<(Vec<String>, bool), RequestError> {
        if !self.namespaces.is_empty() {
            return Ok((self.namespaces.clone(), false));
        }
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let namespaces: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let asked = ListParams::default().limit(MOST_ASKED);
        let found = match namespaces.list_metadata(&asked).await {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if status.code == 403 => {
                return Ok((vec![self.home.clone()], false));
            }
            Err(error) => return Err(error.into()),
        };
        let is_cut = found.metadata.continue_.is_some_and(|next| !next.is_empty());
        let names = found.items.into_iter().filter_map(|one| one.metadata.name);
        let names = names.filter(|name| *name != self.home);
        // What is home comes first: its refusal is said where all refuse.
        Ok((std::iter::once(self.home.clone()).chain(names).collect(), is_cut))
    }
}

/// Whether a list is not refused. An error that passes says nothing of it.
pub(crate) async fn may_list(list: &Api<DynamicObject>) -> Result<bool, RequestError> {
    match list.list_metadata(&ListParams::default().limit(1)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(false),
        Err(error) => Err(error.into()),
    }
}
