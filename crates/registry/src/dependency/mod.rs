//! What fills `charts/`: the dependencies that `Chart.yaml` declares, in the versions of `Chart.lock`.
//!
//! ```text
//! build    Chart.lock still belongs to Chart.yaml -> download what it says;  without one: update
//! update   refresh indexes -> resolve versions -> download -> write Chart.lock
//! ```
//!
//! The rules and texts are those of Helm's `pkg/downloader/manager.go` and `internal/resolver`.

mod digest;
mod download;
mod folder;
mod refresh;
mod resolve;

use std::collections::BTreeMap;
use std::path::Path;

use steersman_chart::{Chart, Dependency, Lock, Notice};

use super::address::{is_registry, is_same};
use super::client::{Access, Client, FetchError};
use super::index::Index;
use super::locate::read_index;
use super::settings::Settings;
use crate::oci::Registries;

/// Fills `charts/` of one chart.
///
/// A dependency that lies beside the chart needs no network:
///
/// ```
/// use futures::executor::block_on;
/// use steersman_registry::dependency::{Manager, Options};
/// use steersman_registry::{Access, Settings};
///
/// let folder = tempfile::tempdir()?;
/// let (web, library) = (folder.path().join("web"), folder.path().join("library"));
/// std::fs::create_dir_all(&web)?;
/// std::fs::create_dir_all(&library)?;
/// std::fs::write(library.join("Chart.yaml"), "{apiVersion: v2, name: library, version: 0.3.0}")?;
/// std::fs::write(
///     web.join("Chart.yaml"),
///     "{apiVersion: v2, name: web, version: 1.0.0, \
///       dependencies: [{name: library, version: ~0.3, repository: 'file://../library'}]}",
/// )?;
///
/// let settings = Settings::default();
/// let options = Options {
///     access: Access::default(),
///     skip_refresh: true,
///     debug: false,
///     now: jiff::Timestamp::UNIX_EPOCH,
///     modified: 0,
///     say: &|_| {},
///     notice: &|_| {},
/// };
/// let manager = Manager::new(&web, &settings, options)?;
/// block_on(manager.update())?;
/// assert!(web.join("charts/library-0.3.0.tgz").is_file());
/// assert!(std::fs::read_to_string(web.join("Chart.lock"))?.contains("version: 0.3.0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Manager<'a> {
    chart: &'a Path,
    settings: &'a Settings,
    options: Options<'a>,
    registries: Registries,
}

/// How dependencies are handled.
pub struct Options<'a> {
    /// How registries are talked to; repositories have their own settings.
    pub access: Access,
    /// Whether indexes are used as they were kept.
    pub skip_refresh: bool,
    /// Whether output names the source of each dependency.
    pub debug: bool,
    /// The time that archives and locks carry, in seconds since 1970.
    pub now: jiff::Timestamp,
    /// The time that files in archives carry.
    pub modified: u64,
    /// Takes output, with its line breaks.
    pub say: &'a dyn Fn(&str),
    /// Takes what Helm logs.
    pub notice: &'a dyn Fn(&Notice),
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("skip_refresh", &self.skip_refresh)
            .finish_non_exhaustive()
    }
}

impl<'a> Manager<'a> {
    /// A manager of the chart in a folder.
    ///
    /// # Errors
    /// A certificate or key cannot be used.
    pub fn new(chart: &'a Path, settings: &'a Settings, options: Options<'a>) -> Result<Self, FetchError> {
        let client = Client::new(&options.access)?;
        Ok(Self {
            chart,
            settings,
            registries: Registries::new(client, settings),
            options,
        })
    }

    /// Downloads what `Chart.lock` says; without one, as [`update`](Self::update).
    ///
    /// # Errors
    /// The lock does not belong to `Chart.yaml`, or something cannot be fetched; the text is Helm's.
    pub async fn build(&self) -> Result<(), String> {
        let chart = self.load()?;
        let Some(lock) = chart.lock() else {
            return self.update_chart(&chart).await;
        };
        let metadata = chart.metadata();
        let is_old = metadata.api_version == "v1";
        let mut wanted = metadata.dependencies.clone();
        let of_helm_2 = digest::of_helm_2(&wanted);
        self.resolve_names(&mut wanted)?;
        if digest::of(&wanted, &lock.dependencies) != lock.digest {
            if !is_old {
                return Err("the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please \
                            update the dependencies with 'helm dependency update'"
                    .to_owned());
            }
            (self.options.notice)(&Notice::info(
                "warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...",
            ));
            if of_helm_2 != lock.digest {
                return Err(
                    "the lock file (requirements.lock) is out of sync with the dependencies file \
                            (requirements.yaml). Please update the dependencies"
                        .to_owned(),
                );
            }
        }
        self.check_known(&lock.dependencies)?;
        if !self.options.skip_refresh {
            self.refresh_known().await?;
        }
        self.download(&mut lock.dependencies.clone()).await
    }

    /// Resolves the dependencies of `Chart.yaml` anew, downloads them and writes `Chart.lock`.
    ///
    /// # Errors
    /// No version fits, or something cannot be fetched; the text is Helm's.
    pub async fn update(&self) -> Result<(), String> {
        self.update_chart(&self.load()?).await
    }

    async fn update_chart(&self, chart: &Chart) -> Result<(), String> {
        let metadata = chart.metadata();
        if metadata.dependencies.is_empty() {
            return Ok(());
        }
        let mut wanted = metadata.dependencies.clone();
        let mut names = self.resolve_names(&mut wanted)?;
        self.refresh_unknown(&mut names, &wanted).await?;
        if !self.options.skip_refresh {
            self.refresh_known().await?;
        }
        let mut locked = self.resolve(&wanted, &names).await?;
        self.download(&mut locked).await?;
        let digest = digest::of(&wanted, &locked);
        if chart.lock().is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let lock = Lock {
            generated: self.options.now.to_string(),
            digest,
            dependencies: locked,
        };
        folder::write_lock(self.chart, &lock, metadata.api_version == "v1")
    }

    fn load(&self) -> Result<Chart, String> {
        let name = self.chart.display();
        match std::fs::metadata(self.chart) {
            Err(error) => {
                let text = error.to_string().to_lowercase();
                let text = text.split(" (os error").next().unwrap_or_default();
                Err(format!("could not find {name}: stat {name}: {text}"))
            }
            Ok(kind) if !kind.is_dir() => Err("only unpacked charts can be updated".to_owned()),
            Ok(_) => {
                let chart = Chart::load_any(self.chart).map_err(|error| error.to_string())?;
                chart.notices().iter().for_each(self.options.notice);
                Ok(chart)
            }
        }
    }

    /// The names of the repositories that the dependencies come from, by the dependencies' names; aliases among
    /// `dependencies` become URLs.
    fn resolve_names(&self, dependencies: &mut [Dependency]) -> Result<BTreeMap<String, String>, String> {
        let known = self.settings.repositories()?;
        let mut names = BTreeMap::new();
        let mut missing = Vec::new();
        for dependency in dependencies {
            let repository = dependency.repository.clone();
            if repository.is_empty() {
                continue;
            }
            if repository.starts_with("file://") {
                resolve::local_path(&repository, self.chart)?;
                if self.options.debug {
                    (self.options.say)(&format!("Repository from local path: {repository}\n"));
                }
                names.insert(dependency.name.clone(), repository);
                continue;
            }
            if is_registry(&repository) {
                names.insert(dependency.name.clone(), repository);
                continue;
            }
            let alias = repository
                .strip_prefix('@')
                .or_else(|| repository.strip_prefix("alias:"));
            let found = known.iter().find(|known| match alias {
                Some(alias) => known.name == alias,
                None => is_same(&known.url, &repository),
            });
            if let Some(found) = found {
                if alias.is_some() {
                    dependency.repository.clone_from(&found.url);
                }
                names.insert(dependency.name.clone(), found.name.clone());
            } else if !is_request_address(&repository) {
                missing.push(repository);
            }
        }
        if missing.is_empty() {
            return Ok(names);
        }
        Err(unknown_repositories(&missing))
    }

    /// Whether all repositories of a lock are known, without which nothing is fetched by it.
    fn check_known(&self, dependencies: &[Dependency]) -> Result<(), String> {
        let known = self.settings.repositories()?;
        let missing: Vec<&str> = dependencies
            .iter()
            .map(|dependency| dependency.repository.as_str())
            .filter(|url| !url.is_empty() && !url.starts_with("file://") && !is_registry(url))
            .filter(|url| !known.iter().any(|known| is_same(&known.url, url)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "no repository definition for {}. Please add the missing repos via 'helm repo add'",
            missing.join(", ")
        ))
    }

    /// The index of a repository as it was kept.
    fn index(&self, name: &str) -> Result<Index, String> {
        let mut notices = Vec::new();
        let index = read_index(&self.settings.index_file(name), &mut notices);
        notices.iter().for_each(self.options.notice);
        index
    }
}

/// Whether a text is a URL or an absolute path, as Go's `url.ParseRequestURI` has it.
fn is_request_address(text: &str) -> bool {
    text.starts_with('/') || reqwest::Url::parse(text).is_ok()
}

fn unknown_repositories(missing: &[String]) -> String {
    let mut message = format!(
        "no repository definition for {}. Please add them via 'helm repo add'",
        missing.join(", ")
    );
    let is_bare =
        |name: &String| !name.contains("//") && !name.starts_with('@') && !name.starts_with("alias:");
    if missing.iter().any(is_bare) {
        message.push_str(
            "\nNote that repositories must be URLs or aliases. For example, to refer to the \"example\"\nrepository, use \
             \"https://charts.example.com/\" or \"@example\" instead of\n\"example\". Don't forget to add the repo, too \
             ('helm repo add').",
        );
    }
    message
}
