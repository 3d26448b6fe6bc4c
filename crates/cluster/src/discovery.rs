//! What the API server serves: kinds with their plural and scope, and `.Capabilities`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind};
use steersman_chart::{ApiVersions, Capabilities, HelmVersion, KubeVersion};
use steersman_model::ApiKind;
use tokio::time::Instant;

use crate::RequestError;

/// A kind that is missing is asked for again at most this often.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// `.Capabilities` of a rendering are at most this old.
const CAPABILITIES_AGE: Duration = Duration::from_mins(5);

/// The server can't be asked what it serves.
#[derive(Debug, thiserror::Error)]
#[error("failed to ask the API server for {what}")]
pub struct DiscoveryError {
    what: &'static str,
    source: RequestError,
}

/// How a kind is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// For clients.
    pub api: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether controllers write a status of their objects apart from them.
    pub has_status: bool,
}

impl Resource {
    /// The way to the objects of the kind: to those of `namespace`, where the kind has namespaces and one is named, or to
    /// all.
    pub fn objects<K>(&self, client: &Client, namespace: Option<&str>) -> Api<K>
    where
        K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        match namespace.filter(|name| self.namespaced && !name.is_empty()) {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.api),
            None => Api::all_with(client.clone(), &self.api),
        }
    }
}

/// What else a kind is called.
#[derive(Clone, Debug, Default)]
struct Names {
    singular: String,
    short: Vec<String>,
    categories: Vec<String>,
}

/// What a server serves at one moment.
///
/// ```
/// use steersman_cluster::discovery::Served;
/// use steersman_model::ApiKind;
///
/// // Before a server has been asked, nothing is served.
/// let served = Served::default();
/// assert_eq!(served.resource(&ApiKind::new("v1", "Service")), None);
/// assert!(served.named("services").is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Served {
    kinds: BTreeMap<ApiKind, Resource>,
    names: BTreeMap<ApiKind, Names>,
    /// API groups whose server does not answer now: their kinds may be missing here.
    unavailable_groups: BTreeSet<String>,
    capabilities: Capabilities,
}

impl Served {
    /// How objects of this kind are addressed; `None` if the server does not serve it.
    pub fn resource(&self, api: &ApiKind) -> Option<&Resource> {
        self.kinds.get(api)
    }

    /// How objects of this kind are addressed, in whichever version is served.
    pub fn any_version(&self, group: &str, kind: &str) -> Option<&Resource> {
        let same = |api: &ApiKind| api.group == group && api.kind == kind;
        self.kinds
            .iter()
            .find(|(api, _)| same(api))
            .map(|(_, resource)| resource)
    }

    /// Whether the server of a kind's group does not answer, so that the kind may be served although it is missing here.
    pub fn is_unavailable(&self, group: &str, kind: &str) -> bool {
        self.unavailable_groups.contains(group) && self.any_version(group, kind).is_none()
    }

    /// The kinds that a user may mean by `name`: a kind, its plural or singular in any case, with the group after a
    /// dot or without it; where there is none, the kinds with this short name. One version of each, the first that the
    /// server names.
    pub fn named(&self, name: &str) -> Vec<(&ApiKind, &Resource)> {
        let name = name.to_ascii_lowercase();
        let full = self.called(&name, |api, resource, names| {
            vec![&api.kind, &resource.api.plural, &names.singular]
        });
        if full.is_empty() {
            self.called(&name, |_, _, names| names.short.iter().collect())
        } else {
            full
        }
    }

    fn called<'a>(
        &'a self,
        name: &str,
        words: impl Fn(&'a ApiKind, &'a Resource, &'a Names) -> Vec<&'a String>,
    ) -> Vec<(&'a ApiKind, &'a Resource)> {
        static UNNAMED: Names = Names {
            singular: String::new(),
            short: Vec::new(),
            categories: Vec::new(),
        };
        let mut found: Vec<(&ApiKind, &Resource)> = Vec::new();
        for (api, resource) in &self.kinds {
            let names = self.names.get(api).unwrap_or(&UNNAMED);
            let is_meant = words(api, resource, names).into_iter().any(|word| {
                let word = word.to_ascii_lowercase();
                word == name || format!("{word}.{}", api.group) == name
            });
            let is_known =
                |(other, _): &(&ApiKind, &Resource)| other.group == api.group && other.kind == api.kind;
            if is_meant && !found.iter().any(is_known) {
                found.push((api, resource));
            }
        }
        found
    }

    /// Every kind, in one of its versions.
    pub fn kinds(&self) -> impl Iterator<Item = &Resource> {
        let mut seen = BTreeSet::new();
        self.kinds
            .iter()
            .filter(move |(api, _)| seen.insert((&api.group, &api.kind)))
            .map(|(_, resource)| resource)
    }

    /// The kinds whose definition has this category, each with all that it has. One version of each, the first that the
    /// server names.
    pub fn in_category(&self, category: &str) -> Vec<(&ApiKind, &Resource, &[String])> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (api, resource) in &self.kinds {
            let categories = self.names.get(api).map_or(&[][..], |names| &names.categories);
            let is_in = categories.iter().any(|one| one == category);
            if is_in && seen.insert((&api.group, &api.kind)) {
                found.push((api, resource, categories));
            }
        }
        found
    }

    /// `.Capabilities` of templates.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

/// The server's answer, kept until a kind is missed.
///
/// ```no_run
/// use steersman_cluster::client::Target;
/// use steersman_cluster::discovery::Discovery;
/// use steersman_model::Environment;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Target::default().connect(&Environment::of_process()).await?;
/// let discovery = Discovery::new(client);
/// let deployments = discovery.find("apps", "Deployment").await?.expect("every server has them");
/// assert!(deployments.namespaced);
/// assert_eq!(deployments.api.plural, "deployments");
/// # Ok(())
/// # }
/// ```
pub struct Discovery {
    client: Client,
    state: Mutex<State>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    served: Option<Arc<Served>>,
    asked: Option<Instant>,
}

impl Discovery {
    /// Nothing is asked yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            state: Mutex::default(),
        }
    }

    /// The last answer of the server, which is asked where there is none.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn served(&self) -> Result<Arc<Served>, DiscoveryError> {
        let known = self.lock().served.clone();
        match known {
            Some(served) => Ok(served),
            None => self.refresh().await,
        }
    }

    /// Drops the last answer: a kind that was served is not found.
    pub fn forget(&self) {
        self.lock().served = None;
    }

    /// An answer of at most five minutes ago, for `.Capabilities` of templates.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn served_lately(&self) -> Result<Arc<Served>, DiscoveryError> {
        let lately = self
            .lock()
            .asked
            .is_some_and(|asked| asked.elapsed() < CAPABILITIES_AGE);
        if lately {
            self.served().await
        } else {
            self.refresh().await
        }
    }

    /// Asks again, because definitions were applied.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn refresh(&self) -> Result<Arc<Served>, DiscoveryError> {
        let served = Arc::new(ask(&self.client).await?);
        let mut state = self.lock();
        state.asked = Some(Instant::now());
        state.served = Some(Arc::clone(&served));
        Ok(served)
    }

    /// What is served, asked for again when one of `kinds` is missing, but not too often.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn served_with<'a>(
        &self,
        kinds: impl IntoIterator<Item = &'a ApiKind>,
    ) -> Result<Arc<Served>, DiscoveryError> {
        let served = self.served().await?;
        let complete = kinds.into_iter().all(|kind| served.resource(kind).is_some());
        if complete || self.was_asked_lately() {
            Ok(served)
        } else {
            self.refresh().await
        }
    }

    /// How objects of a kind are addressed, in any version of it; `None` only where the server has just said that it
    /// does not serve the kind, so that no object of it exists.
    ///
    /// # Errors
    /// The server does not answer, or the one that serves the group does not.
    pub async fn find(&self, group: &str, kind: &str) -> Result<Option<Resource>, DiscoveryError> {
        let known = self.served().await?;
        if let Some(resource) = known.any_version(group, kind) {
            return Ok(Some(resource.clone()));
        }
        let served = if self.was_asked_lately() {
            known
        } else {
            self.refresh().await?
        };
        if served.is_unavailable(group, kind) {
            return Err(unavailable(group));
        }
        Ok(served.any_version(group, kind).cloned())
    }

    fn was_asked_lately(&self) -> bool {
        self.lock()
            .asked
            .is_some_and(|asked| asked.elapsed() < REFRESH_INTERVAL)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for a kind whose group's server does not answer.
pub fn unavailable(group: &str) -> DiscoveryError {
    DiscoveryError {
        what: "its kinds",
        source: RequestError::local(&format!("the server of the API group {group} does not answer")),
    }
}

async fn ask(client: &Client) -> Result<Served, DiscoveryError> {
    let failed = |what| {
        move |error: kube::Error| DiscoveryError {
            what,
            source: error.into(),
        }
    };
    let version = client.apiserver_version().await.map_err(failed("its version"))?;
    let core = client
        .list_core_api_versions_aggregated()
        .await
        .map_err(failed("its core kinds"))?;
    let groups = client
        .list_api_groups_aggregated()
        .await
        .map_err(failed("its kinds"))?;
    let mut kinds = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut api_versions = BTreeSet::new();
    let mut unavailable_groups = BTreeSet::new();
    for group in core.items.iter().chain(&groups.items) {
        let name = group
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.name.clone())
            .unwrap_or_default();
        for version in &group.versions {
            if version.freshness.as_deref() == Some("Stale") {
                unavailable_groups.insert(name.clone());
            }
            let number = version.version.clone().unwrap_or_default();
            let group_version = ApiKind::new(
                &if name.is_empty() {
                    number.clone()
                } else {
                    format!("{name}/{number}")
                },
                "",
            );
            api_versions.insert(group_version.api_version());
            for resource in &version.resources {
                let kind = resource
                    .response_kind
                    .as_ref()
                    .and_then(|kind| kind.kind.clone())
                    .unwrap_or_default();
                let plural = resource.resource.clone().unwrap_or_default();
                api_versions.insert(format!("{}/{kind}", group_version.api_version()));
                let parts = resource
                    .subresources
                    .iter()
                    .filter_map(|part| part.response_kind.as_ref()?.kind.as_ref());
                api_versions.extend(parts.map(|kind| format!("{}/{kind}", group_version.api_version())));
                let gvk = GroupVersionKind::gvk(&name, &number, &kind);
                let api = ApiKind {
                    kind,
                    ..group_version.clone()
                };
                let other_names = Names {
                    singular: resource.singular_resource.clone().unwrap_or_default(),
                    short: resource.short_names.clone(),
                    categories: resource.categories.clone(),
                };
                names.insert(api.clone(), other_names);
                kinds.insert(
                    api,
                    Resource {
                        api: ApiResource::from_gvk_with_plural(&gvk, &plural),
                        namespaced: resource.scope.as_deref() == Some("Namespaced"),
                        has_status: resource
                            .subresources
                            .iter()
                            .any(|part| part.subresource.as_deref() == Some("status")),
                    },
                );
            }
        }
    }
    let capabilities = Capabilities {
        kube_version: kube_version(&version.git_version, &version.major, &version.minor),
        api_versions: ApiVersions(api_versions.into_iter().collect()),
        helm_version: HelmVersion::default(),
    };
    Ok(Served {
        kinds,
        names,
        unavailable_groups,
        capabilities,
    })
}

/// What Helm makes of the server's version: as it is, with major and minor as the server says.
fn kube_version(git_version: &str, major: &str, minor: &str) -> KubeVersion {
    let mut version = KubeVersion::parse(git_version).unwrap_or_else(|_| KubeVersion {
        version: git_version.to_owned(),
        normalized: String::new(),
        major: String::new(),
        minor: String::new(),
    });
    // Helm does not normalize the version of a server, and templates can see that.
    version.normalized.clear();
    git_version.clone_into(&mut version.version);
    major.clone_into(&mut version.major);
    minor.clone_into(&mut version.minor);
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(kinds: &[(&str, &str, &str, &[&str])]) -> Served {
        let mut served = Served::default();
        for (api_version, kind, plural, short) in kinds {
            let api = ApiKind::new(api_version, kind);
            let gvk = GroupVersionKind::gvk(&api.group, &api.version, kind);
            let resource = Resource {
                api: ApiResource::from_gvk_with_plural(&gvk, plural),
                namespaced: true,
                has_status: false,
            };
            let names = Names {
                singular: format!("{}-one", kind.to_lowercase()),
                short: short.iter().map(|&name| name.to_owned()).collect(),
                categories: vec![format!("of-{}", api.version)],
            };
            served.kinds.insert(api.clone(), resource);
            served.names.insert(api, names);
        }
        served
    }

    #[test]
    fn a_kind_is_found_by_every_name_and_by_a_short_one_where_no_other_fits() {
        let served = served(&[
            ("a.com/v1", "Web", "webs", &["w"]),
            ("a.com/v2", "Web", "webs", &["w"]),
            ("b.com/v1", "Worker", "workers", &["w", "web"]),
        ]);
        let check = |name: &str, expect: &[&str]| {
            let found = served.named(name).into_iter();
            let found: Vec<String> = found
                .map(|(api, _)| format!("{}/{}", api.group, api.kind))
                .collect();
            assert_eq!(found, expect, "{name}");
        };
        for name in ["Web", "web", "WEBS", "web-one", "webs.a.com", "w.a.com"] {
            check(name, &["a.com/Web"]);
        }
        check("w", &["a.com/Web", "b.com/Worker"]);
        check("web.b.com", &["b.com/Worker"]);
        check("other", &[]);
    }

    #[test]
    fn a_kind_in_a_category_is_found_once() {
        let served = served(&[
            ("a.com/v1", "Web", "webs", &[]),
            ("b.com/v1", "Web", "webs", &[]),
            ("b.com/v2", "Web", "webs", &[]),
        ]);
        let found = |category| {
            let found = served.in_category(category).into_iter();
            let names: Vec<String> = found
                .map(|(api, _, categories)| format!("{} {}", api.group, categories.join(",")))
                .collect();
            names
        };
        assert_eq!(found("of-v1"), ["a.com of-v1", "b.com of-v1"]);
        assert_eq!(found("of-v2"), ["b.com of-v2"]);
        assert!(found("of").is_empty());
    }
}
