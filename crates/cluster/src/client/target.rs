//! The cluster that a user's command means: kubeconfig, context, and what flags put over them.

use std::path::{Path, PathBuf};

use hyper::Uri;
use hyper::http::uri::InvalidUri;
use kube::Client;
use kube::config::{Context, Kubeconfig};
use steersman_model::Environment;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::{Bounded, ConnectError, Login, Options, Source, load_files, open, pod_namespace};

/// The namespace where nothing names one.
const DEFAULT_NAMESPACE: &str = "default";

/// What flags and variables say in place of a kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--namespace`: goes before that of the context.
    pub namespace: Option<String>,
    /// The context of the kubeconfig to use.
    pub context: Option<String>,
    /// The address of the API server.
    pub server: Option<String>,
    /// The bearer token.
    pub token: Option<String>,
    /// The file with the certificate authority of the API server.
    pub certificate_authority: Option<PathBuf>,
    /// The name that the API server's certificate must have.
    pub tls_server_name: Option<String>,
    /// Whether the API server's certificate is not checked.
    pub insecure: bool,
    /// The user to act as.
    pub user: Option<String>,
    /// The groups to act as.
    pub groups: Vec<String>,
}

/// The cluster that a command means.
///
/// ```
/// use steersman_cluster::client::{Overrides, Target};
/// use steersman_model::Environment;
///
/// let folder = tempfile::tempdir()?;
/// let kubeconfig = folder.path().join("config");
/// let contexts = "{current-context: dev, contexts: [{name: dev, context: {cluster: dev, namespace: team-a}}]}";
/// std::fs::write(&kubeconfig, contexts)?;
///
/// let environment = Environment::default();
/// let target = Target { kubeconfig: Some(kubeconfig), ..Target::default() };
/// assert_eq!(target.namespace(&environment), "team-a");
///
/// let overrides = Overrides { namespace: Some("team-b".to_owned()), ..Overrides::default() };
/// assert_eq!(Target { overrides, ..target }.namespace(&environment), "team-b");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The kubeconfig of `--kubeconfig`, before `KUBECONFIG` and `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// What goes before the kubeconfig.
    pub overrides: Overrides,
}

impl Target {
    /// The namespace: the one that is given, else that of the context, else that of the pod that we run in. What
    /// cannot be read counts as not there.
    pub fn namespace(&self, environment: &Environment) -> String {
        if let Some(namespace) = &self.overrides.namespace {
            return namespace.clone();
        }
        let of_context = self
            .read(environment)
            .and_then(|config| self.context(&config)?.namespace.filter(|name| !name.is_empty()));
        let in_pod = || {
            environment
                .get("KUBERNETES_SERVICE_HOST")
                .and_then(|_| pod_namespace())
        };
        of_context
            .or_else(in_pod)
            .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
    }

    /// What the cluster is called, for people: by the context, where there is one.
    pub fn title(&self, environment: &Environment) -> String {
        let named = self.overrides.context.clone();
        let named = named.or_else(|| self.read(environment)?.current_context);
        named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "the cluster".to_owned())
    }

    /// Connects to the API server, and has it answer once.
    ///
    /// # Errors
    /// There is none to connect to, it is not reached within ten seconds, or it does not let us in.
    pub async fn connect(&self, environment: &Environment) -> Result<Client, ConnectError> {
        open(self.login(environment).await?, Options::default()).await
    }

    /// The same for a client that gives up an answer with more bytes than these.
    ///
    /// # Errors
    /// As [`Target::connect`].
    pub async fn connect_within(
        &self,
        environment: &Environment,
        bytes: usize,
    ) -> Result<Client, ConnectError> {
        let options = Options::bounded(Bounded::of_text(bytes));
        open(self.login(environment).await?, options).await
    }

    /// What [`Target::connect`] connects by, for who brings credentials of others. The server is not asked.
    ///
    /// # Errors
    /// There is no configuration, or it can't be read.
    pub async fn configuration(&self, environment: &Environment) -> Result<kube::Config, ConnectError> {
        Ok(self.login(environment).await?.config)
    }

    async fn login(&self, environment: &Environment) -> Result<Login, ConnectError> {
        let overrides = &self.overrides;
        let files: Vec<PathBuf> = self
            .files(environment)
            .into_iter()
            .filter(|file| self.kubeconfig.is_some() || file.is_file())
            .collect();
        let mut login = match &overrides.server {
            _ if !files.is_empty() => load_files(&files, overrides.context.as_deref()).await?,
            Some(server) => Login::unnamed(kube::Config::new(address(server)?)),
            None => {
                Source::find(None, environment)
                    .ok_or(ConnectError::NoConfiguration)?
                    .load()
                    .await?
            }
        };
        let config = &mut login.config;
        if let Some(server) = &overrides.server {
            config.cluster_url = address(server)?;
        }
        if let Some(token) = &overrides.token {
            config.auth_info.token = Some(token.clone().into());
        }
        if let Some(file) = &overrides.certificate_authority {
            config.root_cert = Some(read_certificates(file)?);
        }
        if let Some(name) = &overrides.tls_server_name {
            config.tls_server_name = Some(name.clone());
        }
        config.accept_invalid_certs |= overrides.insecure;
        if let Some(user) = &overrides.user {
            config.auth_info.impersonate = Some(user.clone());
        }
        if !overrides.groups.is_empty() {
            config.auth_info.impersonate_groups = Some(overrides.groups.clone());
        }
        Ok(login)
    }

    /// The files that the kubeconfig is made of, as `kubectl` looks for them.
    fn files(&self, environment: &Environment) -> Vec<PathBuf> {
        if let Some(file) = &self.kubeconfig {
            return vec![file.clone()];
        }
        let listed: Vec<PathBuf> = std::env::split_paths(environment.get("KUBECONFIG").unwrap_or_default())
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        if !listed.is_empty() {
            return listed;
        }
        let home = environment
            .get("HOME")
            .map(|home| Path::new(home).join(".kube/config"));
        home.into_iter().collect()
    }

    /// The kubeconfig, of those files that are there.
    fn read(&self, environment: &Environment) -> Option<Kubeconfig> {
        let files = self.files(environment).into_iter().filter(|file| file.is_file());
        files.map(|file| Kubeconfig::read_from(file).ok()).try_fold(
            None,
            |merged: Option<Kubeconfig>, read| match merged {
                None => Some(read),
                Some(merged) => Some(Some(merged.merge(read?).ok()?)),
            },
        )?
    }

    fn context(&self, config: &Kubeconfig) -> Option<Context> {
        let name = self
            .overrides
            .context
            .as_ref()
            .or(config.current_context.as_ref())?;
        let found = config.contexts.iter().find(|context| context.name == *name)?;
        found.context.clone()
    }
}

fn address(server: &str) -> Result<Uri, ConnectError> {
    server
        .parse()
        .map_err(|error: InvalidUri| ConnectError::Unreachable {
            address: server.to_owned(),
            reason: error.to_string(),
        })
}

/// The certificates of a PEM file, as kube wants them.
fn read_certificates(file: &Path) -> Result<Vec<Vec<u8>>, ConnectError> {
    let failed = |reason: String| ConnectError::Kubeconfig {
        source_name: format!("`{}`", file.display()),
        reason,
    };
    let text = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|_| failed("it has no certificates".to_owned()))?;
    Ok(found
        .into_iter()
        .map(|certificate| certificate.to_vec())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_the_given_one_or_that_of_the_context() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(
            &file,
            "current-context: a\ncontexts:\n\
             - {name: a, context: {cluster: k, namespace: team-a}}\n\
             - {name: b, context: {cluster: k, namespace: team-b}}\n\
             - {name: c, context: {cluster: k}}\n",
        )
        .unwrap();
        let check = |namespace: Option<&str>, context: Option<&str>, expect: &str| {
            let target = Target {
                kubeconfig: Some(file.clone()),
                overrides: Overrides {
                    namespace: namespace.map(str::to_owned),
                    context: context.map(str::to_owned),
                    ..Overrides::default()
                },
            };
            let environment: Environment = std::iter::empty().collect();
            assert_eq!(target.namespace(&environment), expect);
        };
        check(None, None, "team-a");
        check(None, Some("b"), "team-b");
        check(None, Some("c"), "default");
        check(None, Some("gone"), "default");
        check(Some("mine"), Some("b"), "mine");
    }
}
