//! What the commands that look at a cluster share: which cluster, and which resources of it.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;
use steersman_cluster::RequestError;
use steersman_cluster::client::{ConnectError, Overrides, Target};
use steersman_cluster::discovery::{Discovery, Resource, Served};
use steersman_model::{ApiKind, Environment, FIELD_MANAGER, chain};
use tokio::runtime::Builder;

use super::Failure;

/// Threads of what serves many for long.
const FEW: usize = 2;

/// Which cluster, and which namespace of it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterFlags {
    /// The namespace of resources that name none [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The kubeconfig to use, before KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A cluster that has answered.
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) discovery: Discovery,
}

/// A resource that the user names: `web/shop`, or `web shop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: String,
    pub(super) name: String,
}

impl ClusterFlags {
    /// The namespace, where the command line names one.
    pub(super) fn named_namespace(&self) -> Option<String> {
        self.namespace.clone()
    }

    /// The namespace of resources that name none.
    pub(super) fn namespace(&self, environment: &Environment) -> String {
        self.target(None).namespace(environment)
    }

    /// What the cluster is called, for people: the context, or its user's word for it.
    pub(super) fn title(&self, environment: &Environment) -> String {
        self.target(None).title(environment)
    }

    /// How the cluster is reached, whoever asks.
    pub(super) async fn configuration(&self, environment: &Environment) -> Result<kube::Config, Failure> {
        let target = self.target(None);
        target.configuration(environment).await.map_err(refused)
    }

    /// A client as the kubeconfig's own user, which gives up an answer with more bytes than these.
    pub(super) async fn connect_within(
        &self,
        environment: &Environment,
        bytes: usize,
    ) -> Result<Client, Failure> {
        let target = self.target(None);
        target.connect_within(environment, bytes).await.map_err(refused)
    }

    fn target(&self, user: Option<String>) -> Target {
        Target {
            kubeconfig: self.kubeconfig.clone(),
            overrides: Overrides {
                namespace: self.namespace.clone(),
                context: self.context.clone(),
                user,
                ..Overrides::default()
            },
        }
    }

    /// As the kubeconfig's own user.
    pub(super) async fn connect(&self, environment: &Environment) -> Result<Cluster, Failure> {
        self.connect_as(environment, None).await
    }

    /// Connects to the cluster, to act as a user.
    pub(super) async fn connect_as(
        &self,
        environment: &Environment,
        user: Option<String>,
    ) -> Result<Cluster, Failure> {
        let target = self.target(user);
        let client = target.connect(environment).await.map_err(refused)?;
        Ok(Cluster {
            namespace: target.namespace(environment),
            discovery: Discovery::new(client.clone()),
            client,
        })
    }
}

impl Cluster {
    /// The way to the objects of a kind.
    pub(super) fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        let namespace = namespace.unwrap_or(&self.namespace);
        resource.objects(&self.client, Some(namespace))
    }

    /// The kind that a user's word means, and the way to its objects. Where several have that name, only those count
    /// that are `preferred`.
    pub(super) fn kind(
        served: &Served,
        word: &str,
        preferred: impl Fn(&ApiKind) -> bool,
    ) -> Result<(ApiKind, Resource), Failure> {
        let mut found = served.named(word);
        if found.iter().any(|(api, _)| preferred(api)) {
            found.retain(|(api, _)| preferred(api));
        }
        match found.as_slice() {
            [(api, resource)] => Ok(((*api).clone(), (*resource).clone())),
            [] => {
                let error = anyhow!("the API server serves no kind `{}`", word.escape_debug());
                Err(Failure::usage(error, None))
            }
            several => {
                let name = |(api, resource): &(&ApiKind, &Resource)| {
                    format!("{}.{}", resource.api.plural, api.group)
                };
                let names: Vec<_> = several.iter().map(name).collect();
                let error = anyhow!(
                    "`{}` means several kinds: {}",
                    word.escape_debug(),
                    names.join(", ")
                );
                Err(Failure::usage(
                    error,
                    Some("name the kind with its group".to_owned()),
                ))
            }
        }
    }

    /// Gives a resource an annotation, or takes it off where there is no value, as long as the resource is as it was read.
    /// Another one of its name gets none; without a `resourceVersion` a changed one gets it, too.
    pub(super) async fn annotate(
        &self,
        resource: &Resource,
        object: &DynamicObject,
        annotation: &str,
        value: Option<&str>,
    ) -> Result<(), RequestError> {
        let metadata = &object.metadata;
        let mut patch = json!({"metadata": {"uid": metadata.uid, "annotations": {(annotation): value}}});
        if let Some(version) = &metadata.resource_version {
            patch["metadata"]["resourceVersion"] = version.as_str().into();
        }
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let api = self.api(resource, metadata.namespace.as_deref());
        let name = metadata.name.as_deref().unwrap_or_default();
        api.patch_metadata(name, &parameters, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Reads a resource; one that is not there is a failure.
    pub(super) async fn get(
        &self,
        api: &ApiKind,
        resource: &Resource,
        name: &str,
    ) -> Result<DynamicObject, Failure> {
        let found = self.api(resource, None).get_opt(name).await;
        let found = found.map_err(|error| {
            anyhow!(RequestError::from(error)).context(format!("failed to read {} {name}", api.kind))
        })?;
        found.ok_or_else(|| {
            let place = if resource.namespaced {
                format!(" in namespace {}", self.namespace)
            } else {
                String::new()
            };
            Failure::failed(anyhow!("there is no {} `{name}`{place}", api.kind), None)
        })
    }
}

impl Named {
    /// Reads the words of the command line: `KIND/NAME …`, or `KIND NAME …`.
    pub(super) fn read(words: &[String]) -> Result<Vec<Self>, Failure> {
        let resource = |kind: &str, name: &str| Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        let (with, without): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.contains('/'));
        match (with.as_slice(), without.as_slice()) {
            (with, []) => with
                .iter()
                .map(|word| match word.split_once('/') {
                    Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                        Ok(resource(kind, name))
                    }
                    _ => Err(wrong_words(word)),
                })
                .collect(),
            ([], [kind, names @ ..]) if !names.is_empty() => {
                Ok(names.iter().map(|name| resource(kind, name)).collect())
            }
            (_, without) => Err(wrong_words(without.first().map_or("", |word| word.as_str()))),
        }
    }
}

fn wrong_words(word: &str) -> Failure {
    Failure::usage(
        anyhow!("`{}` does not name a resource", word.escape_debug()),
        Some("write KIND/NAME, or KIND NAME".to_owned()),
    )
}

fn refused(error: ConnectError) -> Failure {
    let hint = error.hint().map(str::to_owned);
    Failure::failed(error, hint)
}

/// Runs a command's work on threads of its own.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on_any(&mut Builder::new_multi_thread(), work)
}

/// The same on so few threads that what all of them hold at a time fits into memory, on however large a machine.
pub(super) fn block_on_few<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on_any(Builder::new_multi_thread().worker_threads(FEW), work)
}

fn block_on_any<T>(
    builder: &mut Builder,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("failed to start the threads of the command")?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

/// A failure to do something, for the user.
pub(super) fn failed(error: impl std::error::Error + 'static) -> Failure {
    Failure::failed(anyhow!(chain(&error)), None)
}

#[cfg(test)]
mod tests {
    use super::Named;

    fn check(words: &str, expect: Option<&[(&str, &str)]>) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let found = Named::read(&words).ok();
        let found = found.map(|found| {
            found
                .into_iter()
                .map(|one| (one.kind, one.name))
                .collect::<Vec<_>>()
        });
        let expect = expect.map(|all| {
            let owned = all
                .iter()
                .map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()));
            owned.collect::<Vec<_>>()
        });
        assert_eq!(found, expect, "{words:?}");
    }

    #[test]
    fn resources_are_named_as_for_kubectl() {
        check("web/shop", Some(&[("web", "shop")]));
        check(
            "web/shop webs.example.com/b",
            Some(&[("web", "shop"), ("webs.example.com", "b")]),
        );
        check("web shop other", Some(&[("web", "shop"), ("web", "other")]));
        check("", Some(&[]));
        check("web", None);
        check("web/", None);
        check("web/shop other", None);
        check("a/b/c", None);
    }
}
