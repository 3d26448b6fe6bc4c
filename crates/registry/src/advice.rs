//! What is there instead, where a chart was not found.

use steersman_sprig::semver::Version;

use super::address::is_registry;
use super::client::Client;
use super::index::{Index, newest_first};
use super::locate::{Locator, read_index};
use crate::oci::{Reference, Registries};

/// How many versions or names are shown.
const SHOWN: usize = 6;

impl Locator<'_> {
    /// What the repository or registry has instead of a chart that [`locate`](Locator::locate) did not find: the nearest
    /// versions, or names of charts; none where that is not known. The repository or registry is asked for it.
    pub async fn advice(&self, name: &str) -> Option<String> {
        let name = name.trim();
        if let Some(repository) = self.repository {
            if is_registry(repository) {
                let repository = repository.trim_end_matches('/');
                return Some(format!(
                    "charts of a registry are named as a whole, without a repository: {repository}/{name}"
                ));
            }
            let index = self.fetch_index(repository, &mut Vec::new()).await.ok()?;
            return of_index(&index, name, self.version);
        }
        if is_registry(name) {
            let registries = Registries::new(Client::new(&self.access).ok()?, self.settings);
            let tags = registries.tags(&Reference::parse(name).ok()?).await.ok()?;
            return of_versions(&tags.iter().map(String::as_str).collect::<Vec<_>>(), self.version);
        }
        let is_known_by_name = !name.starts_with(['.', '/']) && !name.contains("://");
        let (repository, chart) = name.split_once('/').filter(|_| is_known_by_name)?;
        let known = self.settings.repositories().ok()?;
        let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
        if !names.contains(&repository) {
            return Some(match names.as_slice() {
                [] => "no repository is known; `helm repo add NAME URL` adds one".to_owned(),
                names => format!("the repositories that are known are {}", some(names, names.len())),
            });
        }
        let index = read_index(&self.settings.index_file(repository), &mut Vec::new());
        match index {
            Ok(index) => of_index(&index, chart, self.version),
            Err(_) => Some("`helm repo update` fetches what the repositories have".to_owned()),
        }
    }
}

fn of_index(index: &Index, name: &str, wanted: &str) -> Option<String> {
    if let Some(versions) = index.versions(name) {
        let versions: Vec<&str> = versions.iter().map(|known| known.version.as_str()).collect();
        return of_versions(&versions, wanted);
    }
    let all: Vec<&str> = index.names().collect();
    let is_like = |other: &&str| other.contains(name) || name.contains(*other);
    let like: Vec<&str> = all.iter().copied().filter(is_like).collect();
    let names = if like.is_empty() { &all } else { &like };
    (!names.is_empty()).then(|| format!("the repository has {}", some(names, all.len())))
}

/// The versions around the one that is wanted, of all versions with the newest first.
fn of_versions(versions: &[&str], wanted: &str) -> Option<String> {
    if versions.is_empty() {
        return None;
    }
    let wanted = wanted.trim_start_matches(|character: char| !character.is_ascii_digit());
    let is_older = |known: &&str| newest_first(known, wanted).is_gt();
    let middle = match Version::parse(wanted) {
        Ok(_) => versions.iter().position(is_older).unwrap_or(versions.len()),
        Err(_) => 0,
    };
    let start = middle
        .saturating_sub(SHOWN / 2)
        .min(versions.len().saturating_sub(SHOWN));
    let near = &versions[start..];
    Some(format!("there are the versions {}", some(near, versions.len())))
}

/// The first of `words`; of more than these in `all`, that there are more.
fn some(words: &[&str], all: usize) -> String {
    let shown = words.len().min(SHOWN);
    let more = if all > shown {
        format!(" (of {all})")
    } else {
        String::new()
    };
    format!("{}{more}", words[..shown].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_around_the_one_that_is_wanted_are_told() {
        let many = [
            "9.0.0", "8.0.0", "7.0.0", "6.0.0", "5.0.0", "4.0.0", "3.0.0", "2.0.0",
        ];
        let check = |wanted: &str, expect: &str| {
            let expect = format!("there are the versions {expect} (of 8)");
            assert_eq!(of_versions(&many, wanted), Some(expect), "{wanted}");
        };
        check("", "9.0.0, 8.0.0, 7.0.0, 6.0.0, 5.0.0, 4.0.0");
        check("5.5.0", "8.0.0, 7.0.0, 6.0.0, 5.0.0, 4.0.0, 3.0.0");
        check("^10", "9.0.0, 8.0.0, 7.0.0, 6.0.0, 5.0.0, 4.0.0");
        check("0.1.0", "7.0.0, 6.0.0, 5.0.0, 4.0.0, 3.0.0, 2.0.0");
        assert_eq!(
            of_versions(&["1.0.0"], "2"),
            Some("there are the versions 1.0.0".to_owned())
        );
        assert_eq!(of_versions(&[], "2"), None);
    }

    #[test]
    fn names_that_are_alike_are_told_before_others() {
        let text = "apiVersion: v1\nentries: {web: [], web-admin: [], shop: []}\n";
        let index = Index::read(text.as_bytes(), "here", &mut Vec::new()).unwrap();
        let told = |name: &str| of_index(&index, name, "").unwrap();
        assert_eq!(told("webs"), "the repository has web (of 3)");
        assert_eq!(told("store"), "the repository has shop, web, web-admin");
    }
}
