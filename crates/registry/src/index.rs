//! `index.yaml` of a repository.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use steersman_chart::{Metadata, Notice};
use steersman_sprig::semver::{Constraint, Version};
use steersman_yaml::{Content, Node};

/// The charts of a repository.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    entries: BTreeMap<String, Vec<ChartVersion>>,
}

/// An entry of `index.yaml`: one archive, and the URLs that it is fetched from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChartVersion {
    pub(super) version: String,
    pub(super) urls: Vec<String>,
    /// The SHA-256 digest of the archive; empty where the repository gives none.
    pub(super) digest: String,
}

impl Index {
    /// Reads an index from `source`. Entries that are no charts are left out, with a notice for each.
    ///
    /// # Errors
    /// The text is no index; the message is Helm's.
    pub(super) fn read(text: &[u8], source: &str, notices: &mut Vec<Notice>) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty index.yaml file".to_owned());
        }
        let node = steersman_yaml::parse_bytes(text).map_err(|error| error.converting())?;
        let mut index = Self::default();
        if let Some(Content::Mapping(charts)) = node.get("entries").map(|node| &node.value) {
            for (name, versions) in charts {
                let name = name.key_string().map_err(|error| error.converting())?;
                let versions = read_versions(&name, versions, source, notices);
                index.entries.insert(name, versions);
            }
        }
        let api_version = node.get("apiVersion").and_then(Node::as_str);
        if api_version.is_none_or(str::is_empty) {
            return Err("no API version specified".to_owned());
        }
        Ok(index)
    }

    /// All versions of a chart, the newest first.
    pub(super) fn versions(&self, name: &str) -> Option<&[ChartVersion]> {
        self.entries.get(name).map(Vec::as_slice)
    }

    /// The names of all charts.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Each archive that the index names, to find the repository of a URL.
    pub(super) fn all(&self) -> impl Iterator<Item = &ChartVersion> {
        self.entries.values().flatten()
    }

    /// The newest version of a chart that fits; the newest release where nothing is asked for.
    ///
    /// # Errors
    /// There is none, or `wanted` is no version or range.
    pub(super) fn find(
        &self,
        name: &str,
        wanted: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<&ChartVersion, String> {
        let versions = self.versions(name).ok_or("no chart name found")?;
        if versions.is_empty() {
            return Err("no chart version found".to_owned());
        }
        let range = Constraint::parse(if wanted.is_empty() { "*" } else { wanted });
        let range = range.map_err(|error| error.to_string())?;
        if let Some(exact) = versions
            .iter()
            .find(|known| !wanted.is_empty() && known.version == wanted)
        {
            return Ok(exact);
        }
        let fits =
            |known: &&ChartVersion| Version::parse(&known.version).is_ok_and(|version| range.check(&version));
        let found = versions
            .iter()
            .find(fits)
            .ok_or_else(|| format!("no chart version found for {name}-{wanted}"))?;
        if !wanted.is_empty() && !is_range(wanted) {
            notices.push(
                Notice::warning(
                    "unable to find exact version requested; falling back to closest available version",
                )
                .with("chart", name)
                .with("requested", wanted)
                .with("selected", &found.version),
            );
        }
        Ok(found)
    }
}

/// Whether a range is asked for and not one version.
fn is_range(wanted: &str) -> bool {
    let core = wanted.split(['-', '+']).next().unwrap_or_default();
    wanted.contains(['^', '~', '<', '>', '=', '!', '*'])
        || wanted.contains("||")
        || wanted.contains(" - ")
        || core.contains(['x', 'X'])
}

fn read_versions(name: &str, node: &Node, source: &str, notices: &mut Vec<Notice>) -> Vec<ChartVersion> {
    let Content::Sequence(items) = &node.value else {
        return Vec::new();
    };
    let mut versions = Vec::new();
    for item in items.iter().rev() {
        if matches!(item.value, Content::Null) {
            notices.push(
                Notice::warning("skipping loading invalid entry for chart: empty entry")
                    .with("name", name)
                    .with("source", source),
            );
            continue;
        }
        match read_version(item) {
            Ok(version) => versions.push(version),
            Err((version, error)) => notices.push(
                Notice::warning("skipping loading invalid entry for chart")
                    .with("name", name)
                    .with("version", version)
                    .with("source", source)
                    .with("error", error),
            ),
        }
    }
    versions.reverse();
    versions.sort_by(|a, b| newest_first(&a.version, &b.version));
    versions
}

fn read_version(node: &Node) -> Result<ChartVersion, (String, String)> {
    let text = |key: &str| {
        node.get(key)
            .and_then(Node::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let version = match Metadata::read(node) {
        Ok(metadata) => metadata.version,
        // An old index may name a dependency twice, which is no reason to hide the chart.
        Err(error) if error.starts_with("validation: more than one dependency with name or alias") => {
            text("version")
        }
        Err(error) => return Err((text("version"), error)),
    };
    let urls = match node.get("urls").map(|node| &node.value) {
        Some(Content::Sequence(items)) => items.iter().filter_map(Node::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(ChartVersion {
        version,
        urls,
        digest: text("digest"),
    })
}

/// The order of versions in an index; what is none comes last.
pub(super) fn newest_first(a: &str, b: &str) -> Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(a), Ok(b)) => b.compare(&a),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "\
apiVersion: v1
entries:
  web:
  - {name: web, version: 1.2.0, urls: [web-1.2.0.tgz], digest: abc}
  - null
  - {name: web, version: 2.0.0-rc.1, urls: [web-2.0.0-rc.1.tgz]}
  - {name: web, version: 1.10.0, urls: [web-1.10.0.tgz]}
  - {name: ../web, version: 9.0.0, urls: [x]}
  - {name: web, version: nine, urls: [x]}
  empty: null
";

    fn find(wanted: &str) -> String {
        let index = Index::read(INDEX.as_bytes(), "here", &mut Vec::new()).unwrap();
        match index.find("web", wanted, &mut Vec::new()) {
            Ok(found) => found.version.clone(),
            Err(error) => error,
        }
    }

    #[test]
    fn the_newest_version_that_fits_is_found() {
        assert_eq!(find(""), "1.10.0");
        assert_eq!(find("~1.2"), "1.2.0");
        assert_eq!(find(">0.0.0-0"), "2.0.0-rc.1");
        assert_eq!(find("2.0.0-rc.1"), "2.0.0-rc.1");
        assert_eq!(find("3"), "no chart version found for web-3");
    }

    #[test]
    fn entries_that_are_no_charts_are_left_out_with_a_notice() {
        let mut notices = Vec::new();
        Index::read(INDEX.as_bytes(), "here", &mut notices).unwrap();
        let notices: Vec<String> = notices.iter().map(ToString::to_string).collect();
        assert_eq!(
            notices,
            [
                r#"level=WARN msg="skipping loading invalid entry for chart" name=web version=nine source=here error="validation: chart.metadata.version \"nine\" is invalid""#,
                r#"level=WARN msg="skipping loading invalid entry for chart" name=web version=9.0.0 source=here error="validation: chart.metadata.name \"../web\" is invalid""#,
                r#"level=WARN msg="skipping loading invalid entry for chart: empty entry" name=web source=here"#,
            ]
        );
    }

    #[test]
    fn what_is_no_index_is_refused() {
        let read = |text: &str| Index::read(text.as_bytes(), "here", &mut Vec::new()).err();
        assert_eq!(read("").as_deref(), Some("empty index.yaml file"));
        assert_eq!(read("entries: {}\n").as_deref(), Some("no API version specified"));
        assert_eq!(read("null").as_deref(), Some("no API version specified"));
        assert!(read("<html>: [").is_some());
    }
}
