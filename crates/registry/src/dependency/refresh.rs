//! Fetching the indexes of repositories, and keeping them where Helm keeps them.

use std::collections::BTreeMap;
use std::fs;

use sha2::{Digest as _, Sha256};
use steersman_chart::Dependency;

use super::{Manager, folder};
use crate::address::resolve;
use crate::client::Client;
use crate::index::Index;
use crate::locate::MAX_INDEX;
use crate::settings::Repository;

/// How repositories are called that the user has not added.
const UNMANAGED: &str = "helm-manager-";

impl Manager<'_> {
    /// Fetches the indexes of all repositories that the user has added.
    pub(super) async fn refresh_known(&self) -> Result<(), String> {
        let known = self.settings.repositories()?;
        if known.is_empty() {
            return Ok(());
        }
        let say = self.options.say;
        say("Hang tight while we grab the latest from your chart repositories...\n");
        self.refresh(&known).await?;
        say("Update Complete. ⎈Happy Helming!⎈\n");
        Ok(())
    }

    /// Gives names to the repositories that the user has not added, and fetches their indexes.
    pub(super) async fn refresh_unknown(
        &self,
        names: &mut BTreeMap<String, String>,
        dependencies: &[Dependency],
    ) -> Result<(), String> {
        let mut unknown = Vec::new();
        for dependency in dependencies {
            let url = &dependency.repository;
            if url.is_empty() || names.contains_key(&dependency.name) {
                continue;
            }
            let bytes = Sha256::digest(url.as_bytes());
            let name = bytes
                .iter()
                .fold(UNMANAGED.to_owned(), |name, byte| format!("{name}{byte:02x}"));
            unknown.push(Repository::at(&name, url));
            names.insert(dependency.name.clone(), name);
        }
        if self.options.skip_refresh || unknown.is_empty() {
            return Ok(());
        }
        (self.options.say)("Getting updates for unmanaged Helm repositories...\n");
        self.refresh(&unknown).await
    }

    /// Fetches indexes. One that cannot be fetched is reported and no failure: an older one may do.
    async fn refresh(&self, repositories: &[Repository]) -> Result<(), String> {
        let mut done: Vec<&str> = Vec::new();
        for repository in repositories {
            let url = repository.url.trim_end_matches('/');
            if done.contains(&url) {
                continue;
            }
            done.push(url);
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            if !matches!(scheme, "http" | "https") {
                return Err(format!("could not find protocol handler for: {scheme}"));
            }
            let Repository { name, url, .. } = repository;
            let line = match (self.fetch_index(repository).await, name.starts_with(UNMANAGED)) {
                (Ok(()), true) => {
                    format!("...Successfully got an update from the {url:?} chart repository\n")
                }
                (Ok(()), false) => {
                    format!("...Successfully got an update from the {name:?} chart repository\n")
                }
                (Err(error), true) => {
                    format!("...Unable to get an update from the {url:?} chart repository:\n\t{error}\n")
                }
                (Err(error), false) => {
                    format!(
                        "...Unable to get an update from the {name:?} chart repository ({url}):\n\t{error}\n"
                    )
                }
            };
            (self.options.say)(&line);
        }
        Ok(())
    }

    async fn fetch_index(&self, repository: &Repository) -> Result<(), String> {
        let client = Client::new(&repository.access()).map_err(|error| error.to_string())?;
        let url = resolve(&repository.url, "index.yaml")?;
        let text = client.get(&url, &repository.url, None, MAX_INDEX).await;
        let text = text.map_err(|error| error.to_string())?;
        // What is no index does not replace one.
        let mut notices = Vec::new();
        Index::read(&text, &repository.url, &mut notices)?;
        notices.iter().for_each(self.options.notice);
        let file = self.settings.index_file(&repository.name);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let cache = &self.settings.repository_cache;
        fs::create_dir_all(cache)
            .and_then(|()| folder::write(cache, &name, &text))
            .map_err(|error| format!("failed to write {}: {error}", file.display()))
    }
}
