//! From what a user calls a chart to the chart.

use std::path::{Path, PathBuf};

use reqwest::Url;
use sha2::{Digest as _, Sha256};
use steersman_chart::{Chart, LoadError, Notice};

use super::address::{is_registry, is_same, is_same_server, resolve};
use super::client::{Access, Client, FetchError};
use super::index::Index;
use super::settings::{Repository, Settings};
use crate::oci::{Reference, Registries};

/// The largest index that is read. The largest public ones have a quarter of it.
pub(super) const MAX_INDEX: u64 = 128 << 20;
/// The largest archive that is read; it is the limit for what is inside.
pub(super) const MAX_CHART: u64 = 100 << 20;
/// What a chart is asked for as.
pub(super) const ARCHIVES: &str = "application/gzip,application/octet-stream";

/// A chart that was found.
///
/// ```
/// use steersman_registry::Located;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("Chart.yaml"), "{apiVersion: v2, name: web, version: 1.2.0}")?;
/// let chart = Located::Path(folder.path().to_owned()).load()?;
/// assert_eq!((chart.name(), chart.version()), ("web", "1.2.0"));
///
/// let fetched = Located::Archive(chart.package(0)?);
/// assert_eq!(fetched.load()?.metadata(), chart.metadata());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Located {
    /// A directory or archive on this machine.
    Path(PathBuf),
    /// An archive that was fetched.
    Archive(Vec<u8>),
}

impl Located {
    /// Loads the chart, to be rendered.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub fn load(&self) -> Result<Chart, LoadError> {
        match self {
            Self::Path(path) => Chart::load(path),
            Self::Archive(content) => Chart::from_archive(content),
        }
    }

    /// Loads the chart, to be looked at.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub fn load_any(&self) -> Result<Chart, LoadError> {
        match self {
            Self::Path(path) => Chart::load_any(path),
            Self::Archive(content) => Chart::from_archive(content),
        }
    }
}

/// Where to look for a chart, and how.
///
/// ```
/// use futures::executor::block_on;
/// use steersman_registry::{Access, Located, Locator, Settings};
///
/// let locator = Locator {
///     settings: &Settings::default(),
///     repository: None,
///     version: "",
///     access: Access::default(),
///     notice: &|_| {},
///     say: &|_| {},
/// };
/// let folder = tempfile::tempdir()?;
/// let found = block_on(locator.locate(&folder.path().to_string_lossy()));
/// assert!(matches!(found, Ok(Located::Path(path)) if path == folder.path()));
/// assert_eq!(block_on(locator.locate("./no-chart")).unwrap_err(), r#"path "./no-chart" not found"#);
/// assert_eq!(block_on(locator.locate("stable/web")).unwrap_err(), "repo stable not found");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Locator<'a> {
    /// Helm's files.
    pub settings: &'a Settings,
    /// The repository of `--repo`.
    pub repository: Option<&'a str>,
    /// The version or range that is wanted; empty for the newest.
    pub version: &'a str,
    /// How the server is talked to.
    pub access: Access,
    /// Takes what Helm logs meanwhile.
    pub notice: &'a dyn Fn(&Notice),
    /// Takes what Helm says of charts from registries.
    pub say: &'a dyn Fn(&str),
}

impl std::fmt::Debug for Locator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Locator")
            .field("repository", &self.repository)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Locator<'_> {
    /// Finds a chart by its path, its URL, its reference in a registry, or as REPOSITORY/CHART.
    ///
    /// # Errors
    /// There is none, or it cannot be fetched; the text is Helm's where Helm has one.
    pub async fn locate(&self, name: &str) -> Result<Located, String> {
        let name = name.trim();
        if let Some(repository) = self.repository {
            let (url, digest) = self.find_in(repository, name).await?;
            let is_meant = match (Url::parse(repository), Url::parse(&url)) {
                (Ok(repository), Ok(url)) => is_same_server(&repository, &url),
                _ => false,
            };
            let mut access = self.access.clone();
            if !access.pass_credentials && !is_meant {
                access.username.clear();
                access.password.clear();
            }
            return self.fetch(&url, access, digest).await;
        }
        if Path::new(name).exists() {
            return Ok(Located::Path(Path::new(name).to_owned()));
        }
        if Path::new(name).is_absolute() || name.starts_with('.') {
            return Err(format!("path {name:?} not found"));
        }
        self.fetch(name, self.access.clone(), String::new()).await
    }

    /// The URL of a chart in a repository that only its own URL is known of, and the digest that its index promises.
    async fn find_in(&self, repository: &str, name: &str) -> Result<(String, String), String> {
        let mut notices = Vec::new();
        let index = self.fetch_index(repository, &mut notices).await?;
        let found = index.find(name, self.version, &mut notices);
        notices.iter().for_each(self.notice);
        let mut what = format!("chart {name:?}");
        if !self.version.is_empty() {
            what = format!("{what} version {:?}", self.version);
        }
        let Ok(found) = found else {
            return Err(format!("{what} not found in {repository} repository"));
        };
        let Some(url) = found.urls.first() else {
            return Err(format!("{what} has no downloadable URLs"));
        };
        let url = resolve(repository, url);
        let url = url.map_err(|error| format!("failed to make chart URL absolute: {error}"))?;
        Ok((url, found.digest.clone()))
    }

    /// The index of a repository that only its own URL is known of.
    pub(super) async fn fetch_index(
        &self,
        repository: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<Index, String> {
        let client = Client::new(&self.access).map_err(|error| error.to_string())?;
        let unusable = |error: String| {
            format!("looks like {repository:?} is not a valid chart repository or cannot be reached: {error}")
        };
        let url = resolve(repository, "index.yaml").map_err(unusable)?;
        let text = client.get(&url, repository, None, MAX_INDEX).await;
        let text = text.map_err(|error| unusable(error.to_string()))?;
        Index::read(&text, repository, notices).map_err(unusable)
    }

    /// Fetches what is no path. `promised` is the digest of its archive; empty where nobody has given one.
    async fn fetch(&self, name: &str, access: Access, promised: String) -> Result<Located, String> {
        if is_registry(name) {
            let content = self.pull(name, &access).await?;
            check_digest(&content, &promised, name)?;
            return Ok(Located::Archive(content));
        }
        let (url, owner, access, digest) = match Url::parse(name) {
            Ok(url) if url.has_host() => {
                let known = self.owner_of(name)?;
                let owner = known
                    .as_ref()
                    .map_or_else(|| name.to_owned(), |known| known.url.clone());
                let access = known.map_or(access.clone(), |known| access_of(&known, access));
                (name.to_owned(), owner, access, promised)
            }
            _ => self.find_known(name, access)?,
        };
        let client = Client::new(&access).map_err(|error| error.to_string())?;
        let content = client.get(&url, &owner, Some(ARCHIVES), MAX_CHART).await;
        let content = content.map_err(|error| error.to_string())?;
        check_digest(&content, &digest, &url)?;
        Ok(Located::Archive(content))
    }

    async fn pull(&self, name: &str, access: &Access) -> Result<Vec<u8>, String> {
        let pull = async {
            let registries = Registries::new(Client::new(access)?, self.settings);
            let reference = registries.resolve(&Reference::parse(name)?, self.version).await?;
            registries.pull(&reference).await
        };
        let pulled = pull.await.map_err(|error: FetchError| error.to_string())?;
        (self.say)(&pulled.report);
        Ok(pulled.content)
    }

    /// Where REPOSITORY/CHART is: URL, URL of the repository, access, digest.
    fn find_known(&self, name: &str, access: Access) -> Result<(String, String, Access, String), String> {
        let Some((repository, chart)) = name.split_once('/') else {
            return Err(format!(
                "non-absolute URLs should be in form of repo_name/path_to_chart, got: {name}"
            ));
        };
        let repositories = self.settings.repositories()?;
        let Some(known) = repositories.iter().find(|known| known.name == repository) else {
            return Err(format!("repo {repository} not found"));
        };
        if known.url.is_empty() {
            return Err(format!("no URL found for repository {repository}"));
        }
        let index = self
            .cached_index(known)
            .map_err(|error| format!("no cached repo found. (try 'helm repo update'): {error}"))?;
        let mut notices = Vec::new();
        let found = index.find(chart, self.version, &mut notices);
        notices.iter().for_each(self.notice);
        let found = found.map_err(|error| {
            let version = self.version;
            format!("chart {chart:?} matching {version} not found in {repository} index. (try 'helm repo update'): {error}")
        })?;
        let Some(url) = found.urls.first() else {
            return Err(format!("chart {name:?} has no downloadable URLs"));
        };
        let url = resolve(&known.url, url).map_err(|_| format!("invalid chart URL format: {name}"))?;
        Ok((
            url,
            known.url.clone(),
            access_of(known, access),
            found.digest.clone(),
        ))
    }

    /// The repository whose index names a URL.
    fn owner_of(&self, url: &str) -> Result<Option<Repository>, String> {
        for known in self.settings.repositories()? {
            let index = self
                .cached_index(&known)
                .map_err(|error| format!("no cached repo found. (try 'helm repo update'): {error}"))?;
            let is_it = |other: &String| is_same(url, other);
            if index.all().any(|version| version.urls.iter().any(is_it)) {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    fn cached_index(&self, known: &Repository) -> Result<Index, String> {
        let path = self.settings.index_file(&known.name);
        let mut notices = Vec::new();
        let index = read_index(&path, &mut notices);
        notices.iter().for_each(self.notice);
        index
    }
}

/// What flags say, with what is stored for the repository over it.
fn access_of(known: &Repository, given: Access) -> Access {
    let stored = known.access();
    let mut access = given;
    if stored.cert_file.is_some() || stored.key_file.is_some() || stored.ca_file.is_some() {
        access.cert_file = stored.cert_file;
        access.key_file = stored.key_file;
        access.ca_file = stored.ca_file;
    }
    if !stored.username.is_empty() && !stored.password.is_empty() {
        access.username = stored.username;
        access.password = stored.password;
        access.pass_credentials = stored.pass_credentials;
    }
    access
}

/// What a URL gives, as values: of the size of a chart at most.
///
/// # Errors
/// It cannot be fetched; the text is Helm's where Helm has one.
pub async fn fetch_file(url: &str) -> Result<Vec<u8>, String> {
    let client = Client::new(&Access::default()).map_err(|error| error.to_string())?;
    let content = client.get(url, url, None, MAX_CHART).await;
    content.map_err(|error| error.to_string())
}

/// Reads an index that was kept.
pub(super) fn read_index(path: &Path, notices: &mut Vec<Notice>) -> Result<Index, String> {
    let name = path.display();
    let text = std::fs::read(path).map_err(|error| {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
        format!("open {name}: {text}")
    })?;
    Index::read(&text, &name.to_string(), notices).map_err(|error| format!("error loading {name}: {error}"))
}

/// Whether an archive is what the index promised.
pub(super) fn check_digest(content: &[u8], promised: &str, url: &str) -> Result<(), String> {
    let promised = promised.rsplit(':').next().unwrap_or_default();
    if promised.is_empty() {
        return Ok(());
    }
    let bytes = Sha256::digest(content);
    let found = bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    if found.eq_ignore_ascii_case(promised) {
        return Ok(());
    }
    Err(format!(
        "{url} has the digest {found}, but the index of its repository says {promised}"
    ))
}
