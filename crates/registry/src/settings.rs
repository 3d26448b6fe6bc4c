//! The files that Helm keeps for its user.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use steersman_model::Environment;

use super::client::Access;

/// Where Helm keeps what it knows of repositories and registries.
///
/// ```
/// use std::path::Path;
/// use steersman_model::Environment;
/// use steersman_registry::Settings;
///
/// let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
/// let environment: Environment = [set("HOME", "/home/me"), set("HELM_CACHE_HOME", "/cache")].into_iter().collect();
/// let settings = Settings::of(&environment);
/// assert_eq!(settings.repository_config, Path::new("/home/me/.config/helm/repositories.yaml"));
/// assert_eq!(settings.repository_cache, Path::new("/cache/repository"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `repositories.yaml`, which `helm repo add` writes.
    pub repository_config: PathBuf,
    /// The folder of the repositories' indexes.
    pub repository_cache: PathBuf,
    /// The credentials for registries, which `helm registry login` writes.
    pub registry_config: PathBuf,
    /// Docker's credentials for registries, which count where Helm has none.
    pub docker_config: PathBuf,
}

impl Settings {
    /// Helm's places, as the environment names them.
    pub fn of(environment: &Environment) -> Self {
        let set = |name: &str| {
            environment
                .get(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = set("HOME").unwrap_or_default();
        let place = |own: &str, common: &str, default: &str| {
            set(own).unwrap_or_else(|| set(common).unwrap_or_else(|| home.join(default)).join("helm"))
        };
        let config = place("HELM_CONFIG_HOME", "XDG_CONFIG_HOME", ".config");
        let cache = place("HELM_CACHE_HOME", "XDG_CACHE_HOME", ".cache");
        let docker = set("DOCKER_CONFIG").unwrap_or_else(|| home.join(".docker"));
        Self {
            repository_config: set("HELM_REPOSITORY_CONFIG")
                .unwrap_or_else(|| config.join("repositories.yaml")),
            repository_cache: set("HELM_REPOSITORY_CACHE").unwrap_or_else(|| cache.join("repository")),
            registry_config: set("HELM_REGISTRY_CONFIG")
                .unwrap_or_else(|| config.join("registry/config.json")),
            docker_config: docker.join("config.json"),
        }
    }

    /// The repositories that the user has added; none where there is no file.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub(super) fn repositories(&self) -> Result<Vec<Repository>, String> {
        let path = self.repository_config.display();
        let text = match std::fs::read(&self.repository_config) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("couldn't load repositories file ({path}): {error}")),
        };
        // No text of the file gets into a message: it holds passwords.
        let broken = || format!("couldn't load repositories file ({path}): it is not a list of repositories");
        let node = steersman_yaml::parse_bytes(&text).map_err(|_| broken())?;
        let file: Option<File> =
            serde_json::from_value(node.into_json().map_err(|_| broken())?).map_err(|_| broken())?;
        let repositories = file.unwrap_or_default().repositories.unwrap_or_default();
        Ok(repositories.into_iter().flatten().collect())
    }

    /// Where the index of a repository is kept.
    pub(super) fn index_file(&self, name: &str) -> PathBuf {
        // Names with a path in them stay in the folder.
        let name = name.replace(['/', '\\'], "-");
        self.repository_cache.join(format!("{name}-index.yaml"))
    }
}

#[derive(Debug, Default, Deserialize)]
struct File {
    repositories: Option<Vec<Option<Repository>>>,
}

/// A repository that the user has added.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Repository {
    pub(super) name: String,
    pub(super) url: String,
    username: String,
    password: String,
    cert_file: String,
    key_file: String,
    ca_file: String,
    #[serde(rename = "insecure_skip_tls_verify")]
    insecure: bool,
    #[serde(rename = "pass_credentials_all")]
    pass_credentials: bool,
}

impl Repository {
    /// A repository that only its URL is known of.
    pub(super) fn at(name: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            ..Self::default()
        }
    }

    /// How its server is talked to.
    pub(super) fn access(&self) -> Access {
        let path = |text: &str| {
            Some(text)
                .filter(|text| !text.is_empty())
                .map(|text| Path::new(text).to_owned())
        };
        Access {
            username: self.username.clone(),
            password: self.password.clone(),
            pass_credentials: self.pass_credentials,
            cert_file: path(&self.cert_file),
            key_file: path(&self.key_file),
            ca_file: path(&self.ca_file),
            insecure: self.insecure,
            plain_http: false,
        }
    }
}
