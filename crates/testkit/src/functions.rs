//! Template snippets and what Helm's engine gives for them.
//!
//! The cases are looked for in `$STEERSMAN_FUNCTIONS` (a file), then at `../shared/functions/cases.jsonl`
//! beside the checkout. Each snippet is `templates/t.yaml` of chart `snippet` 1.2.3 (appVersion 4.5.6), release
//! `rel` in namespace `ns`, revision 1, an install, Kubernetes v1.36.0, Helm v4.3.1, time zone UTC.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::skip::skipped;

/// One snippet with the result of Helm's engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnippetCase {
    /// Name of the case.
    pub id: String,
    /// What the case is about, for counting.
    #[serde(default)]
    pub group: String,
    /// Text of `templates/t.yaml`.
    pub template: String,
    /// Values as a user gives them; every number is a float64.
    #[serde(default)]
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Text of `templates/_helpers.tpl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helpers: Option<String>,
    /// Files of the chart that are not templates, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What the engine writes; absent where it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How the engine fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why the snippet cases can't be had.
#[derive(Debug, thiserror::Error)]
pub enum FunctionsError {
    /// The file is in none of the places.
    #[error("{0} is not there")]
    Absent(PathBuf),
    /// The file is there and can't be read.
    #[error("cannot read {path}")]
    Read {
        /// The file of cases.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not a case.
    #[error("cannot read line {line} of {path} as a snippet case")]
    Parse {
        /// The file of cases.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// All snippet cases, in the order of the file.
///
/// # Errors
///
/// The file is absent, unreadable, or has a line that is no case.
pub fn cases() -> Result<Vec<SnippetCase>, FunctionsError> {
    let path = environment::path_variable("STEERSMAN_FUNCTIONS")
        .unwrap_or_else(|| environment::workspace_root().join("../shared/functions/cases.jsonl"));
    let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => FunctionsError::Absent(path.clone()),
        _ => FunctionsError::Read {
            path: path.clone(),
            source,
        },
    })?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| FunctionsError::Parse {
                path: path.clone(),
                line: index + 1,
                source,
            })
        })
        .collect()
}

/// All snippet cases, or none and a line that says why the test is skipped.
///
/// # Panics
///
/// The cases are there and can't be read, or they are absent and `CI=true`.
#[must_use]
pub fn cases_or_skip() -> Option<Vec<SnippetCase>> {
    match cases() {
        Ok(cases) => Some(cases),
        Err(absent @ FunctionsError::Absent(_)) => {
            skipped("the snippet cases", absent);
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}
