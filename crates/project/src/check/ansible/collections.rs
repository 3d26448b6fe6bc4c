//! Collections: those that tasks use are named where they are installed from.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use steersman_yaml::{Content as Yaml, Node};

use super::{AnsibleWatched, at};
use crate::check::{Finding, LISTED, Project};
use crate::tasks::{Content, Search, read_documents};

/// Where projects say which collections they need.
const FILES: [&str; 3] = [
    "requirements.yml",
    "requirements.yaml",
    "collections/requirements.yml",
];

/// Those that are there wherever runs are: Ansible's own, ours, and the one that runs need.
const ALWAYS_THERE: [&str; 4] = [
    "ansible.builtin",
    "ansible.legacy",
    "kubernetes.core",
    "operator_sdk.util",
];

/// A file that names collections, in the project's folder.
struct Requirements {
    file: String,
    /// With their lines.
    collections: Vec<(String, u32)>,
}

/// The collections that a project's requirements name, each with file and line. What can't be read names none.
pub fn required_collections(search: &Search) -> Vec<(String, String, u32)> {
    let Ok(Some(requirements)) = read(search) else {
        return Vec::new();
    };
    let Requirements { file, collections } = requirements;
    let each = collections
        .into_iter()
        .map(|(name, line)| (name, file.clone(), line));
    each.collect()
}

pub(super) fn check(project: &Project<'_>, watched: &AnsibleWatched, findings: &mut Vec<Finding>) {
    let requirements = match read(project.search) {
        Ok(requirements) => requirements,
        Err(finding) => {
            findings.push(*finding);
            return;
        }
    };
    let named: BTreeSet<&str> = requirements
        .iter()
        .flat_map(|found| &found.collections)
        .map(|(name, _)| name.as_str())
        .collect();
    let own: BTreeSet<String> = watched.contents.iter().filter_map(collection_of).collect();
    let used = watched.survey.modules.iter().filter_map(|module| {
        let collection = collection(&module.name)?;
        let is_known =
            ALWAYS_THERE.contains(&collection) || named.contains(collection) || own.contains(collection);
        (!is_known).then_some((collection, module))
    });
    let mut said = BTreeSet::new();
    for (collection, module) in used {
        if said.len() == LISTED || !said.insert(collection) {
            continue;
        }
        let file = requirements.as_ref().map_or(FILES[0], |found| &found.file);
        let (place, line) = at(&module.place);
        let message = format!("{} is of {collection}, which {file} does not name", module.name);
        let hint = format!("images install what {file} names: `collections: [{{name: {collection}}}]`");
        findings.push(Finding::warning(place, line, message).with_hint(hint));
    }
}

/// `community.docker` of `community.docker.docker_image`.
fn collection(module: &str) -> Option<&str> {
    let (namespace, rest) = module.split_once('.')?;
    let (name, _) = rest.split_once('.')?;
    Some(&module[..namespace.len() + 1 + name.len()])
}

fn collection_of(content: &Content) -> Option<String> {
    let (Content::Role(path) | Content::Playbook(path)) = content;
    let mut names = path.components().skip_while(|part| !is_collections(part));
    names.next()?;
    let mut name = || Some(names.next()?.as_os_str().to_str()?.to_owned());
    Some(format!("{}.{}", name()?, name()?))
}

pub(super) fn is_in_collection(path: &Path) -> bool {
    path.components().any(|part| is_collections(&part))
}

fn is_collections(part: &Component<'_>) -> bool {
    part.as_os_str() == "ansible_collections"
}

fn read(search: &Search) -> Result<Option<Requirements>, Box<Finding>> {
    let mut paths = FILES.iter().map(|name| search.root.join(name));
    let Some(path) = paths.find(|path| path.is_file()) else {
        return Ok(None);
    };
    let file = search.shown(&path);
    let documents =
        read_documents(&path).map_err(|(line, message)| Box::new(Finding::error(&file, line, message)))?;
    let expected =
        |node: &Node, what: &str| Box::new(Finding::error(&file, node.line, format!("expected {what}")));
    let mut found = Vec::new();
    for document in &documents {
        // A list is of roles, as files were before there were collections.
        let Some(list) = document.get("collections") else {
            continue;
        };
        let Yaml::Sequence(items) = &list.value else {
            return Err(expected(list, "a list of collections"));
        };
        for item in items {
            let name = item.as_str().or_else(|| item.get("name")?.as_str());
            let name = name.or_else(|| item.get("source")?.as_str());
            let name = name.ok_or_else(|| expected(item, "a collection: a name, or a map with `name`"))?;
            found.push((name.split(':').next().unwrap_or(name).to_owned(), item.line));
        }
    }
    Ok(Some(Requirements {
        file,
        collections: found,
    }))
}
