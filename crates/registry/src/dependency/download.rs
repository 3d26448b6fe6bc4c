//! Fetching what was resolved into `charts/`.

use std::collections::BTreeSet;

use steersman_chart::{Chart, Dependency};
use steersman_sprig::semver::{Constraint, Version};

use super::Manager;
use super::folder::{self, Archive};
use super::resolve::{local_path, range};
use crate::address::{is_registry, is_same, resolve};
use crate::client::{Access, Client, FetchError};
use crate::index::{ChartVersion, Index};
use crate::locate::{ARCHIVES, MAX_CHART, MAX_INDEX, check_digest};
use crate::oci::Reference;

/// What all archives of one chart may have together.
const MAX_TOTAL: usize = 512 << 20;

/// Where an archive is in a repository.
struct Place {
    url: String,
    /// The repository, whose credentials are for its own server.
    owner: String,
    access: Access,
    digest: String,
}

impl Manager<'_> {
    /// Fetches the dependencies and puts them into `charts/`, all or none. Those on this machine get the version that
    /// they have.
    pub(super) async fn download(&self, dependencies: &mut [Dependency]) -> Result<(), String> {
        let charts = folder::prepare(self.chart)?;
        let say = self.options.say;
        say(&format!("Saving {} charts\n", dependencies.len()));
        let mut archives = Vec::new();
        let mut done = BTreeSet::new();
        for dependency in dependencies.iter_mut() {
            let fetched = if dependency.repository.is_empty() {
                say(&format!(
                    "Dependency {} did not declare a repository. Assuming it exists in the charts directory\n",
                    dependency.name
                ));
                self.check_local(dependency)?
            } else {
                self.fetch(dependency, &mut done).await
            };
            match fetched {
                Ok(archive) => archives.extend(archive),
                Err(error) => {
                    say(&format!("Save error occurred:  {error}\n"));
                    return Err(error);
                }
            }
            if archives
                .iter()
                .map(|archive: &Archive| archive.content.len())
                .sum::<usize>()
                > MAX_TOTAL
            {
                return Err(format!(
                    "the dependencies are larger than the maximum size {MAX_TOTAL}"
                ));
            }
        }
        folder::replace(&charts, &archives, dependencies, say)
    }

    /// Whether what lies in `charts/` is what is wanted. The outer error ends everything at once.
    fn check_local(&self, dependency: &Dependency) -> Result<Result<Option<Archive>, String>, String> {
        let Dependency { name, version, .. } = dependency;
        let path = self.chart.join("charts").join(name);
        let chart = Chart::load_any(&path)
            .map_err(|error| format!("unable to load chart '{}': {error}", path.display()))?;
        let range = Constraint::parse(version).map_err(|error| {
            format!("dependency {name} has an invalid version/constraint format: {error}")
        })?;
        let found = Version::parse(chart.version())
            .map_err(|error| format!("invalid version {version} for dependency {name}: {error}"))?;
        if range.check(&found) {
            return Ok(Ok(None));
        }
        Ok(Err(format!(
            "dependency {name} at version {} does not satisfy the constraint {version}",
            chart.version()
        )))
    }

    async fn fetch(
        &self,
        dependency: &mut Dependency,
        done: &mut BTreeSet<String>,
    ) -> Result<Option<Archive>, String> {
        if dependency.repository.starts_with("file://") {
            if self.options.debug {
                let Dependency { name, repository, .. } = &dependency;
                (self.options.say)(&format!("Archiving {name} from repo {repository}\n"));
            }
            return self.package(dependency).map(Some);
        }
        let Dependency {
            name,
            version,
            repository,
            ..
        } = &*dependency;
        let from = format!("{name} from repo {repository}\n");
        if is_registry(repository) {
            let url = format!("{repository}/{name}:{version}");
            if !done.insert(url.clone()) {
                (self.options.say)(&format!("Already downloaded {from}"));
                return Ok(None);
            }
            (self.options.say)(&format!("Downloading {from}"));
            let pulled = self.pull(&url, version).await;
            return pulled
                .map(Some)
                .map_err(|error| format!("could not download {repository}/{name}: {error}"));
        }
        let place = self.find(name, version, repository).await;
        let place = place.map_err(|error| format!("could not find : {error}"))?;
        if !done.insert(place.url.clone()) {
            (self.options.say)(&format!("Already downloaded {from}"));
            return Ok(None);
        }
        (self.options.say)(&format!("Downloading {from}"));
        let archive = self.get(&place).await;
        archive
            .map(Some)
            .map_err(|error| format!("could not download {}: {error}", place.url))
    }

    /// Packs a chart that lies on this machine.
    fn package(&self, dependency: &mut Dependency) -> Result<Archive, String> {
        let path = local_path(&dependency.repository, self.chart)?;
        let chart = Chart::load_any(&path).map_err(|error| error.to_string())?;
        let range = range(dependency)?;
        let version = Version::parse(chart.version()).map_err(|error| error.to_string())?;
        if !range.check(&version) {
            return Err(format!(
                "can't get a valid version for dependency {}",
                dependency.name
            ));
        }
        chart.version().clone_into(&mut dependency.version);
        let file = format!("{}-{}.tgz", chart.name(), chart.version());
        Archive::new(&file, chart.package(self.options.modified)?)
    }

    async fn pull(&self, url: &str, version: &str) -> Result<Archive, String> {
        let pull = async {
            let reference = self.registries.resolve(&Reference::parse(url)?, version).await?;
            let pulled = self.registries.pull(&reference).await?;
            Ok((reference.file_name(), pulled))
        };
        let (file, pulled) = pull.await.map_err(|error: FetchError| error.to_string())?;
        (self.options.say)(&pulled.report);
        Archive::new(&file, pulled.content)
    }

    /// Where a version of a chart is.
    async fn find(&self, name: &str, version: &str, repository: &str) -> Result<Place, String> {
        let repositories = self.settings.repositories()?;
        let Some(known) = repositories.iter().find(|known| is_same(&known.url, repository)) else {
            let found = self.find_unknown(name, version, repository).await;
            return found.map_err(|error| format!("chart {name} not found in {repository}: {error}"));
        };
        let index = self.index(&known.name)?;
        let versions = index.versions(name).ok_or("entry not found")?;
        let fits = |known: &&ChartVersion| {
            !known.urls.is_empty() && (version.is_empty() || is_same_version(version, &known.version))
        };
        let found = versions.iter().find(fits).ok_or("no matching version")?;
        let url = found.urls.first().map_or("", String::as_str);
        Ok(Place {
            url: resolve(repository, url)?,
            owner: known.url.clone(),
            access: known.access(),
            digest: found.digest.clone(),
        })
    }

    /// Where a version of a chart is in a repository that the user has not added.
    async fn find_unknown(&self, name: &str, version: &str, repository: &str) -> Result<Place, String> {
        let access = Access::default();
        let client = Client::new(&access).map_err(|error| error.to_string())?;
        let url = resolve(repository, "index.yaml")?;
        let text = client
            .get(&url, repository, None, MAX_INDEX)
            .await
            .map_err(|error| {
                format!(
                    "looks like {repository:?} is not a valid chart repository or cannot be reached: {error}"
                )
            })?;
        let mut notices = Vec::new();
        let index = Index::read(&text, repository, &mut notices)?;
        let found = index.find(name, version, &mut notices);
        notices.iter().for_each(self.options.notice);
        let what = format!("chart {name:?} version {version:?}");
        let found = found.map_err(|_| format!("{what} not found in {repository} repository"))?;
        let url = found
            .urls
            .first()
            .ok_or_else(|| format!("{what} has no downloadable URLs"))?;
        Ok(Place {
            url: resolve(repository, url)?,
            owner: repository.to_owned(),
            access,
            digest: found.digest.clone(),
        })
    }

    async fn get(&self, place: &Place) -> Result<Archive, String> {
        let client = Client::new(&place.access).map_err(|error| error.to_string())?;
        let content = client
            .get(&place.url, &place.owner, Some(ARCHIVES), MAX_CHART)
            .await;
        let content = content.map_err(|error| error.to_string())?;
        check_digest(&content, &place.digest, &place.url)?;
        let path = place.url.split(['?', '#']).next().unwrap_or_default();
        Archive::new(path.rsplit('/').next().unwrap_or_default(), content)
    }
}

/// Whether two versions are the same one, however they are written.
fn is_same_version(a: &str, b: &str) -> bool {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(a), Ok(b)) => a.compare(&b).is_eq(),
        (Err(_), _) => a == b,
        _ => false,
    }
}
