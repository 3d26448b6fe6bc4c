//! Whether there is what runs need: Python, Ansible, and what ansible-runner sends its events with.

mod interpreter;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

const PROBE: &str = include_str!("probe.py");

/// Python, by the oldest version that a run works with.
const PYTHON: &str = "3.9";
/// Packages, each with the oldest version that a run works with, if any one will do, and why it is needed.
const PACKAGES: &[(&str, &str, &str)] = &[
    ("ansible-core", "2.15", "it runs playbooks"),
    ("ansible-runner", "2.3", "it runs ansible-core"),
    (
        "ansible-runner-http",
        "1.0",
        "without it nothing is known of a run",
    ),
    // 0.3 and requests 2.32 do not work together.
    (
        "requests-unixsocket",
        "0.4",
        "ansible-runner-http sends events by it",
    ),
    ("kubernetes", "24.2", "modules reach the API server by it"),
];
const COLLECTIONS: &[(&str, &str, &str)] = &[("kubernetes.core", "2.4", "it has the modules for objects")];
/// The program whose interpreter counts: the others are found by it, and their packages have to be beside its own.
const RUNNER: &str = "ansible-runner";
/// The program whose interpreter runs modules, where nothing says otherwise.
const PLAYBOOK: &str = "ansible-playbook";
const PROGRAMS: &[&str] = &[RUNNER, PLAYBOOK];

/// Why it can't be told what there is.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// There is no such interpreter.
    #[error("failed to run `{}`", python.display())]
    Run {
        /// The interpreter.
        python: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// It does not say what there is.
    #[error("failed to ask `{}` what is installed: {said}", python.display())]
    Answer {
        /// The interpreter.
        python: PathBuf,
        /// The last line of what it says.
        said: String,
    },
}

/// What an interpreter of Python finds.
///
/// ```
/// use steersman_ansible::AnsibleEnvironment;
///
/// let environment = AnsibleEnvironment::parse(
///     r#"{"python": "3.12.4", "packages": {"ansible-core": "2.14.2"}, "collections": {}, "programs": {}}"#,
/// )?;
/// let missing: Vec<String> = environment.missing().iter().map(ToString::to_string).collect();
/// assert_eq!(missing[0], "ansible-core is 2.14.2, and 2.15 or newer is needed: pip install 'ansible-core>=2.15'");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AnsibleEnvironment {
    /// The version of the interpreter.
    pub python: String,
    /// By name, the versions of the packages that runs need; none where one is missing.
    pub packages: BTreeMap<String, Option<String>>,
    /// By name, the versions of collections; `unknown` where one does not say.
    pub collections: BTreeMap<String, Option<String>>,
    /// By name, where on `PATH` programs are.
    pub programs: BTreeMap<String, Option<PathBuf>>,
}

/// Something that runs need and that is not there, or is too old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// A package, a collection, a program or Python.
    pub what: String,
    /// Its version, where it is there.
    pub found: Option<String>,
    /// The oldest version that will do; empty where each will.
    pub needed: &'static str,
    /// What it is needed for.
    pub reason: &'static str,
    /// What the user can do.
    pub install: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            found,
            needed,
            reason,
            install,
        } = self;
        match found {
            Some(found) => write!(f, "{what} is {found}, and {needed} or newer is needed: {install}"),
            None => write!(f, "{what} is missing ({reason}): {install}"),
        }
    }
}

impl AnsibleEnvironment {
    /// The interpreter to ask: that of the ansible-runner which is found by this `PATH`, else `python3`.
    pub fn interpreter(path: &str) -> PathBuf {
        interpreter::find(path, RUNNER).unwrap_or_else(|| PathBuf::from("python3"))
    }

    /// The interpreter that modules on this machine are run by: that of the ansible-playbook which is found by this `PATH`, if it
    /// names one.
    pub fn module_interpreter(path: &str) -> Option<PathBuf> {
        interpreter::find(path, PLAYBOOK)
    }

    /// Asks an interpreter, such as `python3`, with variables on top of those of this process. That takes some tens of
    /// milliseconds.
    ///
    /// # Errors
    /// It does not run, or not to the end.
    pub fn find(python: &Path, environment: &BTreeMap<String, String>) -> Result<Self, EnvironmentError> {
        let names = |table: &[(&str, &str, &str)]| {
            let names: Vec<&str> = table.iter().map(|(name, ..)| *name).collect();
            names.join(" ")
        };
        let output = Command::new(python)
            .args(["-c", PROBE])
            .args([names(PACKAGES), names(COLLECTIONS), PROGRAMS.join(" ")])
            .envs(environment)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| EnvironmentError::Run {
                python: python.to_path_buf(),
                source,
            })?;
        Self::parse(&String::from_utf8_lossy(&output.stdout)).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().last().map(str::to_owned);
            EnvironmentError::Answer {
                python: python.to_path_buf(),
                said: last.unwrap_or_else(|| error.to_string()),
            }
        })
    }

    /// Reads what the probe has printed.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(printed: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(printed)
    }

    /// Whether something is a collection. A role can do without, and may bring one of its own.
    pub fn is_collection(missing: &Missing) -> bool {
        COLLECTIONS.iter().any(|(name, ..)| *name == missing.what)
    }

    /// What runs need and lack, all of it.
    pub fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        if is_older(&self.python, PYTHON) {
            missing.push(Missing {
                what: "Python".to_owned(),
                found: Some(self.python.clone()),
                needed: PYTHON,
                reason: "Ansible is written in it",
                install: "install a newer one".to_owned(),
            });
        }
        missing.extend(lacking(PACKAGES, &self.packages, |name, needed| {
            format!("pip install '{name}>={needed}'")
        }));
        missing.extend(lacking(COLLECTIONS, &self.collections, |name, needed| {
            format!("ansible-galaxy collection install '{name}:>={needed}'")
        }));
        for program in PROGRAMS {
            if self.programs.get(*program).is_none_or(Option::is_none) {
                missing.push(Missing {
                    what: format!("the program {program}"),
                    found: None,
                    needed: "",
                    reason: "runs are made with it",
                    install: "put the folder of its package's programs on PATH".to_owned(),
                });
            }
        }
        missing
    }
}

fn lacking(
    table: &[(&str, &'static str, &'static str)],
    found: &BTreeMap<String, Option<String>>,
    install: impl Fn(&str, &str) -> String,
) -> Vec<Missing> {
    let rows = table.iter().filter_map(|(name, needed, reason)| {
        let found = found.get(*name).cloned().flatten();
        let is_missing = found.as_ref().is_none_or(|found| is_older(found, needed));
        is_missing.then(|| Missing {
            what: (*name).to_owned(),
            found,
            needed,
            reason,
            install: install(name, needed),
        })
    });
    rows.collect()
}

/// Whether a version is older, by its numbers; one without numbers is not.
fn is_older(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> { text.split('.').map_while(leading_number).collect() };
    let (version, than) = (numbers(version), numbers(than));
    !version.is_empty() && version < than
}

/// `18` of `18rc1`.
fn leading_number(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use expect_test::expect;

    use super::{AnsibleEnvironment, is_older};

    #[test]
    fn what_is_missing_or_too_old_is_named_with_what_to_do() {
        let environment = AnsibleEnvironment::parse(
            r#"{
                "python": "3.8.10",
                "packages": {
                    "ansible-core": "2.18.18", "ansible-runner": "2.2.1", "ansible-runner-http": null,
                    "requests-unixsocket": "0.4.1", "kubernetes": "33.1.0"
                },
                "collections": {"kubernetes.core": "unknown"},
                "programs": {"ansible-runner": "/usr/bin/ansible-runner", "ansible-playbook": null}
            }"#,
        );
        let missing = environment.expect("JSON").missing();
        let lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
        expect![[r"
            Python is 3.8.10, and 3.9 or newer is needed: install a newer one
            ansible-runner is 2.2.1, and 2.3 or newer is needed: pip install 'ansible-runner>=2.3'
            ansible-runner-http is missing (without it nothing is known of a run): pip install 'ansible-runner-http>=1.0'
            the program ansible-playbook is missing (runs are made with it): put the folder of its package's programs on PATH"]]
        .assert_eq(&lines.join("\n"));
        assert!(!missing.iter().any(AnsibleEnvironment::is_collection));
    }

    #[test]
    fn collections_are_told_from_what_no_run_can_do_without() {
        let environment = AnsibleEnvironment::parse(
            r#"{"python": "3.12.1", "packages": {}, "collections": {"kubernetes.core": null}, "programs": {}}"#,
        );
        let missing = environment.expect("JSON").missing();
        let collections = missing
            .iter()
            .filter(|missing| AnsibleEnvironment::is_collection(missing));
        let names: Vec<&str> = collections.map(|missing| missing.what.as_str()).collect();
        assert_eq!(names, ["kubernetes.core"]);
        assert!(missing.len() > 5);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, than, expected) in [
            ("2.9", "2.15", true),
            ("2.15", "2.15", false),
            ("2.15.0", "2.15", false),
            ("3", "2.15", false),
            ("2", "2.15", true),
            ("2.15rc1", "2.15", false),
            ("unknown", "2.4", false),
        ] {
            assert_eq!(is_older(version, than), expected, "{version} {than}");
        }
    }

    #[test]
    fn an_interpreter_that_is_none_is_named() {
        let find = |python: &str| AnsibleEnvironment::find(Path::new(python), &BTreeMap::new());
        let error = find("/no/such/python").expect_err("none");
        assert_eq!(error.to_string(), "failed to run `/no/such/python`");
        let error = find("false").expect_err("none");
        assert!(error.to_string().starts_with("failed to ask `false`"), "{error}");
    }
}
