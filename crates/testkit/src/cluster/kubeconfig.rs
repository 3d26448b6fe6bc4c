//! Kubeconfigs of the users of a control plane.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::certificates::KeyFiles;
use super::error::{ControlPlaneError, io_failed};

/// Somebody whom the API server knows by name.
#[derive(Debug, Clone)]
pub struct User {
    name: String,
    kubeconfig: PathBuf,
}

impl User {
    pub(super) fn new(name: &str, kubeconfig: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            kubeconfig,
        }
    }

    /// The name that RBAC and the audit log know.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kubeconfig with the user's credentials.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The configuration of a client that acts as this user.
    ///
    /// # Errors
    ///
    /// The kubeconfig is unreadable or incomplete.
    pub async fn config(&self) -> Result<Config, ControlPlaneError> {
        let kubeconfig = read(&self.kubeconfig)?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(failed(&self.kubeconfig))
    }

    /// A client that acts as this user. It belongs to the async runtime it is made in, so a test makes its own.
    ///
    /// # Errors
    ///
    /// The kubeconfig is unreadable or incomplete.
    pub async fn client(&self) -> Result<Client, ControlPlaneError> {
        Client::try_from(self.config().await?).map_err(failed(&self.kubeconfig))
    }
}

/// Writes a kubeconfig that authenticates with a client certificate.
pub(super) fn write_with_certificate(
    path: &Path,
    server: &str,
    authority: &Path,
    user: &str,
    credentials: &KeyFiles,
) -> Result<(), ControlPlaneError> {
    write(
        path,
        &json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "steersman", "cluster": {"server": server, "certificate-authority": authority}}],
            "users": [{
                "name": user,
                "user": {"client-certificate": credentials.certificate, "client-key": credentials.key},
            }],
            "contexts": [{"name": "steersman", "context": {"cluster": "steersman", "user": user}}],
            "current-context": "steersman",
        }),
    )
}

/// Writes a copy of `original` whose users all act as `user` in `groups`.
pub(super) fn write_impersonating(
    path: &Path,
    original: &Path,
    user: &str,
    groups: &[&str],
) -> Result<(), ControlPlaneError> {
    let mut kubeconfig = read(original)?;
    for named in &mut kubeconfig.auth_infos {
        let credentials = named.auth_info.get_or_insert_with(AuthInfo::default);
        credentials.impersonate = Some(user.to_owned());
        credentials.impersonate_groups = Some(groups.iter().map(ToString::to_string).collect());
    }
    let value = serde_json::to_value(&kubeconfig).map_err(failed(original))?;
    write(path, &value)
}

/// Writes a copy of `original` that leads to another server, known by another authority.
pub(super) fn write_for_server(
    path: &Path,
    original: &Path,
    server: &str,
    authority: &Path,
) -> Result<(), ControlPlaneError> {
    let mut kubeconfig = read(original)?;
    for cluster in kubeconfig
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        cluster.server = Some(server.to_owned());
        cluster.certificate_authority = Some(authority.display().to_string());
        cluster.certificate_authority_data = None;
    }
    let value = serde_json::to_value(&kubeconfig).map_err(failed(original))?;
    write(path, &value)
}

fn read(path: &Path) -> Result<Kubeconfig, ControlPlaneError> {
    Kubeconfig::read_from(path).map_err(failed(path))
}

/// JSON is YAML, so every client reads it.
fn write(path: &Path, kubeconfig: &serde_json::Value) -> Result<(), ControlPlaneError> {
    fs::write(path, format!("{kubeconfig:#}\n")).map_err(io_failed("write", path))
}

fn failed<E: std::error::Error + Send + Sync + 'static>(path: &Path) -> impl FnOnce(E) -> ControlPlaneError {
    let path = path.to_path_buf();
    move |source| ControlPlaneError::Kubeconfig {
        path,
        source: Box::new(source),
    }
}
