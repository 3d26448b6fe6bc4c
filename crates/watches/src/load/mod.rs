//! From the file to checked watches.

mod ansible;
mod confine;
mod dependencies;
mod drift;
mod entry;
mod expand;
mod fields;
mod health;
mod options;
mod order;
mod overrides;
mod post_render;
mod procedures;
mod selector;
mod sources;
mod status;
mod values;
mod values_from;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use steersman_chart::Chart;
use steersman_model::Environment;
use steersman_yaml::{Content, Node};

use crate::Watches;
use crate::error::{Problem, WatchesError};
use crate::load::ansible::is_ansible;
use crate::load::entry::Loader;
use crate::load::expand::{Templates, expand_known};
use crate::load::fields::Findings;
pub use crate::load::values_from::read_value_sources;

/// The smallest file that works, for those who have none.
const EXAMPLE: &str = "an entry looks like this:\n  - group: example.com\n    version: v1alpha1\n    kind: Memcached\n    \
                       chart: helm-charts/memcached";

impl Watches {
    /// Loads a watches.yaml and the charts that it names. Paths of charts are relative to the working directory.
    ///
    /// # Errors
    /// The file cannot be read, is not a list of entries, has no entry, or anything in it is wrong: then every
    /// problem is in the error, with its place.
    pub fn load(path: &Path, environment: &Environment) -> Result<Self, WatchesError> {
        let bytes = fs::read(path).map_err(|source| WatchesError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::load_planned(path, &bytes, [], environment)
    }

    /// What [`load`](Self::load) would find where the file had this text, and there were these charts at their paths: for what is
    /// going to be written.
    ///
    /// # Errors
    /// As there.
    pub fn load_planned(
        path: &Path,
        text: &[u8],
        charts: impl IntoIterator<Item = (PathBuf, Chart)>,
        environment: &Environment,
    ) -> Result<Self, WatchesError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let charts = charts.into_iter().map(|(path, chart)| (path, Ok(chart)));
        let watches = Self::read(text, folder, charts.collect(), environment);
        watches.map_err(|problems| WatchesError::Invalid {
            path: path.to_owned(),
            problems,
        })
    }

    /// Reads the text of a watches.yaml in this folder. The list of problems is not empty.
    fn read(
        bytes: &[u8],
        folder: &Path,
        charts: BTreeMap<PathBuf, Result<Chart, u32>>,
        environment: &Environment,
    ) -> Result<Self, Vec<Problem>> {
        let node = parse(bytes)?;
        let items = entries(&node).map_err(|problem| vec![*problem])?;
        let is_expanded = items.iter().any(is_ansible);
        let expanded = is_expanded
            .then(|| expanded(bytes, items, environment))
            .transpose()?;
        let expanded = expanded.as_ref().map_or(Ok(items), entries);
        let expanded = expanded.map_err(|problem| vec![*problem])?;
        let mut loader = Loader {
            environment,
            folder,
            templates: Templates::new(environment),
            charts,
            kinds: Vec::new(),
            run_kinds: Vec::new(),
            findings: Findings::default(),
        };
        let (mut charts, mut ansible) = (Vec::new(), Vec::new());
        for (index, (item, expanded)) in items.iter().zip(expanded).enumerate() {
            if is_ansible(item) {
                ansible.extend(loader.ansible_entry(index, expanded));
            } else {
                charts.extend(loader.entry(index, item));
            }
        }
        loader.check_run_kinds();
        let Findings {
            mut problems,
            notices,
        } = loader.findings;
        if problems.is_empty() {
            return Ok(Self {
                charts,
                ansible,
                notices,
            });
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(problems)
    }
}

fn parse(bytes: &[u8]) -> Result<Node, Vec<Problem>> {
    steersman_yaml::parse_bytes(bytes).map_err(|error| {
        vec![Problem {
            line: error.line(),
            column: 0,
            key: String::new(),
            message: format!("not valid YAML: {}", error.message()),
            hint: None,
        }]
    })
}

/// The file with the variables of the environment in it, as Ansible's entries are read. A variable that is not set stays as
/// it is written.
fn expanded(bytes: &[u8], items: &[Node], environment: &Environment) -> Result<Node, Vec<Problem>> {
    let text = String::from_utf8_lossy(bytes);
    let text = expand_known(&text, environment);
    let node = parse(text.as_bytes()).map_err(|mut problems| {
        for problem in &mut problems {
            problem.hint = Some("this is about the file with the environment's variables in it".to_owned());
        }
        problems
    })?;
    if entries(&node).is_ok_and(|expanded| expanded.len() == items.len()) {
        return Ok(node);
    }
    Err(vec![Problem {
        line: 0,
        column: 0,
        key: String::new(),
        message: "the environment's variables change how many entries there are".to_owned(),
        hint: None,
    }])
}

/// The items of the list that the file should be.
fn entries(node: &Node) -> Result<&[Node], Box<Problem>> {
    let problem = |message: &str| {
        Box::new(Problem {
            line: if node.value == Content::Null { 0 } else { node.line },
            column: 0,
            key: String::new(),
            message: message.to_owned(),
            hint: Some(EXAMPLE.to_owned()),
        })
    };
    match &node.value {
        Content::Sequence(items) if !items.is_empty() => Ok(items),
        Content::Null | Content::Sequence(_) => Err(problem("names no watch, so there is nothing to do")),
        Content::Mapping(_) => Err(problem(
            "expected a list of watches, found a map; entries start with `- `",
        )),
        _ => Err(problem("expected a list of watches")),
    }
}

#[cfg(test)]
mod tests;
