//! Which versions of its dependencies a chart gets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use steersman_chart::{Chart, Dependency};
use steersman_sprig::semver::{Constraint, Version};

use super::super::address::is_registry;
use super::super::index::ChartVersion;
use super::Manager;
use crate::oci::Reference;

impl Manager<'_> {
    /// The dependencies with the versions that fit best.
    pub(super) async fn resolve(
        &self,
        wanted: &[Dependency],
        names: &BTreeMap<String, String>,
    ) -> Result<Vec<Dependency>, String> {
        let mut locked = Vec::new();
        let mut missing = Vec::new();
        for dependency in wanted {
            match self.resolve_one(dependency, names).await? {
                Some(version) => locked.push(lock(dependency, &version)),
                None => missing.push(format!(
                    "{:?} (repository {:?}, version {:?})",
                    dependency.name, dependency.repository, dependency.version
                )),
            }
        }
        if missing.is_empty() {
            return Ok(locked);
        }
        Err(format!(
            "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or \
             change the version constraint in Chart.yaml",
            missing.len(),
            missing.join(", ")
        ))
    }

    /// The version of one dependency; none where no version fits.
    async fn resolve_one(
        &self,
        dependency: &Dependency,
        names: &BTreeMap<String, String>,
    ) -> Result<Option<String>, String> {
        let Dependency {
            name,
            version,
            repository,
            ..
        } = dependency;
        let range = range(dependency)?;
        if repository.is_empty() {
            local_path(&format!("charts/{name}"), self.chart)?;
            return Ok(Some(version.clone()));
        }
        if repository.starts_with("file://") {
            let chart = Chart::load_any(&local_path(repository, self.chart)?);
            let chart = chart.map_err(|error| error.to_string())?;
            let fits = Version::parse(chart.version()).is_ok_and(|version| range.check(&version));
            return Ok(fits.then(|| chart.version().to_owned()));
        }
        if is_registry(repository) {
            return self.resolve_in_registry(dependency, &range).await.map(Some);
        }
        let Some(known) = names.get(name) else {
            return Ok(Some(version.clone()));
        };
        let index = self.index(known).map_err(|error| {
            format!("no cached repository for {known} found. (try 'helm repo update'): {error}")
        })?;
        let Some(versions) = index.versions(name) else {
            return Err(format!("{name} chart not found in repo {repository}"));
        };
        let fits = |known: &&ChartVersion| {
            !known.urls.is_empty()
                && Version::parse(&known.version).is_ok_and(|version| range.check(&version))
        };
        Ok(versions.iter().find(fits).map(|found| found.version.clone()))
    }

    async fn resolve_in_registry(
        &self,
        dependency: &Dependency,
        range: &Constraint,
    ) -> Result<String, String> {
        let Dependency {
            name,
            version,
            repository,
            ..
        } = dependency;
        if Version::parse(version).is_ok() {
            return Ok(version.clone());
        }
        let reference = Reference::parse(&format!("{repository}/{name}"));
        let tags = match reference {
            Ok(reference) => self.registries.tags(&reference).await,
            Err(error) => Err(error),
        };
        let tags = tags.map_err(|error| {
            format!("could not retrieve list of tags for repository {repository}: {error}")
        })?;
        let fits = |tag: &&String| Version::parse(tag).is_ok_and(|version| range.check(&version));
        Ok(tags.iter().find(fits).unwrap_or(version).clone())
    }
}

fn lock(dependency: &Dependency, version: &str) -> Dependency {
    Dependency {
        name: dependency.name.clone(),
        repository: dependency.repository.clone(),
        version: version.to_owned(),
        ..Dependency::default()
    }
}

/// The range that a dependency may have versions of.
pub(super) fn range(dependency: &Dependency) -> Result<Constraint, String> {
    Constraint::parse(&dependency.version).map_err(|error| {
        let name = &dependency.name;
        format!("dependency {name:?} has an invalid version/constraint format: {error}")
    })
}

/// Where a dependency lies that is on this machine.
pub(super) fn local_path(repository: &str, chart: &Path) -> Result<PathBuf, String> {
    let path = chart.join(repository.strip_prefix("file://").unwrap_or(repository));
    if path.exists() {
        return Ok(path);
    }
    Err(format!("directory {} not found", cleaned(&path).display()))
}

fn cleaned(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if cleaned.file_name().is_some() => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}
