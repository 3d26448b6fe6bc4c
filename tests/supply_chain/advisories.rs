//! What is known against dependencies: the advisories of `RustSec`, of which `advisories.tsv` is a snapshot.
//!
//! `ADVISORY_DB` names a clone of the database to judge by in its place; with `UPDATE_EXPECT=1`, the snapshot is written.

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::{Unit, Zoned};
use semver::{Version, VersionReq};
use serde::Deserialize;
use steersman_testkit::skip::outdated;

use crate::crates::locked;
use crate::{read, root, rules};

const SNAPSHOT: &str = "tests/supply_chain/advisories.tsv";
/// How old the snapshot may be, in days, before it is warned of.
const MAX_AGE: i32 = 90;

/// The advisories of a day.
struct Database {
    date: Date,
    advisories: Vec<Advisory>,
}

/// An advisory, as far as it says which versions it is about. Ranges are as Cargo reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Advisory {
    id: String,
    package: String,
    /// `unmaintained`, `unsound` or `notice`; empty for a vulnerability.
    kind: String,
    patched: Vec<String>,
    unaffected: Vec<String>,
}

impl Advisory {
    fn affects(&self, version: &Version) -> bool {
        let ranges = self.patched.iter().chain(&self.unaffected);
        let mut ranges = ranges.map(|range| VersionReq::parse(range).unwrap());
        !ranges.any(|range| range.matches(version))
    }

    fn line(&self) -> String {
        let (patched, unaffected) = (self.patched.join(" || "), self.unaffected.join(" || "));
        let line = [&self.id, &self.package, &self.kind, &patched, &unaffected].map(String::as_str);
        line.join("\t")
    }

    fn of_line(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, package, kind, patched, unaffected] = fields[..] else {
            panic!("{SNAPSHOT}: {line:?} has not five fields");
        };
        let ranges = |text: &str| {
            let ranges = text.split(" || ").filter(|range| !range.is_empty());
            ranges.map(str::to_owned).collect()
        };
        Self {
            id: id.to_owned(),
            package: package.to_owned(),
            kind: kind.to_owned(),
            patched: ranges(patched),
            unaffected: ranges(unaffected),
        }
    }
}

impl Database {
    fn snapshot() -> Self {
        let text = read(SNAPSHOT);
        let (head, lines) = text.split_once('\n').unwrap();
        let (_, date) = head.rsplit_once(' ').unwrap();
        Self {
            date: date.parse().unwrap(),
            advisories: lines.lines().map(Advisory::of_line).collect(),
        }
    }

    /// Reads a checkout of the database: `crates/NAME/ID.md`, each with TOML at its head.
    fn checkout(folder: &Path) -> Self {
        let mut found = Self {
            date: Date::MIN,
            advisories: Vec::new(),
        };
        for package in entries(&folder.join("crates")) {
            for file in entries(&package) {
                let text = std::fs::read_to_string(&file).unwrap();
                let head = text
                    .strip_prefix("```toml\n")
                    .and_then(|rest| rest.split_once("\n```"));
                let (head, _) = head.unwrap_or_else(|| panic!("{} has no head", file.display()));
                let File { advisory, versions } = basic_toml::from_str(head).unwrap();
                found.date = found.date.max(advisory.date);
                if advisory.withdrawn.is_none() {
                    found.advisories.push(Advisory {
                        id: advisory.id,
                        package: advisory.package,
                        kind: advisory.informational,
                        patched: versions.patched,
                        unaffected: versions.unaffected,
                    });
                }
            }
        }
        found
            .advisories
            .sort_by(|a, b| (&a.package, &a.id).cmp(&(&b.package, &b.id)));
        found
    }

    fn text(&self) -> String {
        let head = format!("# RustSec advisory database, of {}\n", self.date);
        let lines = self.advisories.iter().map(|advisory| advisory.line() + "\n");
        std::iter::once(head).chain(lines).collect()
    }
}

/// The head of an advisory.
#[derive(Deserialize)]
struct File {
    advisory: Head,
    #[serde(default)]
    versions: Versions,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    package: String,
    date: Date,
    withdrawn: Option<String>,
    #[serde(default)]
    informational: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Versions {
    patched: Vec<String>,
    unaffected: Vec<String>,
}

/// The entries of a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The database of `ADVISORY_DB`, or else the snapshot.
fn database() -> Database {
    let Some(folder) = std::env::var_os("ADVISORY_DB") else {
        return Database::snapshot();
    };
    let found = Database::checkout(Path::new(&folder));
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(root().join(SNAPSHOT), found.text()).unwrap();
    }
    found
}

#[test]
fn nothing_is_known_against_a_dependency() {
    let Database { date, advisories } = database();
    assert!(advisories.len() > 1000, "only {} advisories", advisories.len());
    let age = Zoned::now().date().since((Unit::Day, date)).unwrap().get_days();
    if age > MAX_AGE {
        outdated(
            SNAPSHOT,
            format!("its newest advisory is {age} days old, of {date}"),
        );
    }
    let accepted = rules::accepted_advisories();
    let mut against = Vec::new();
    let mut unused: Vec<&str> = accepted.iter().map(String::as_str).collect();
    for locked in locked() {
        let about = advisories
            .iter()
            .filter(|advisory| advisory.package == locked.name);
        for advisory in about.filter(|advisory| advisory.affects(&locked.version)) {
            unused.retain(|id| *id != advisory.id);
            if !accepted.contains(&advisory.id) {
                against.push(format!("{} {}: {}", locked.name, locked.version, advisory.line()));
            }
        }
    }
    assert!(against.is_empty(), "{against:#?}");
    assert!(
        unused.is_empty(),
        "deny.toml accepts what is not there: {unused:?}"
    );
}

#[test]
fn a_version_is_affected_unless_a_range_says_that_it_is_not() {
    let advisory = Advisory::of_line("RUSTSEC-0\tweb\t\t>= 1.2.3 || ^0.9.4\t< 0.8");
    assert_eq!(advisory.line(), "RUSTSEC-0\tweb\t\t>= 1.2.3 || ^0.9.4\t< 0.8");
    for (version, expect) in [
        ("1.2.2", true),
        ("1.2.3", false),
        ("0.9.3", true),
        ("0.9.5", false),
        ("0.8.0", true),
        ("0.7.9", false),
    ] {
        assert_eq!(advisory.affects(&version.parse().unwrap()), expect, "{version}");
    }
    let unmaintained = Advisory::of_line("RUSTSEC-1\tweb\tunmaintained\t\t");
    assert!(unmaintained.affects(&Version::new(9, 9, 9)));
}

#[test]
fn a_checkout_of_the_database_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, head: &str| {
        let file = folder.path().join("crates/web").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("```toml\n{head}\n```\n\n# Title\n")).unwrap();
    };
    let versions = "[versions]\npatched = [\">= 1.2\",\n \"^0.9\"]";
    let head = "[advisory]\nid = \"B\"\npackage = \"web\"\ndate = \"2026-01-02\"";
    write("b.md", &format!("{head}\n{versions}"));
    let head =
        "[advisory]\nid = \"A\"\npackage = \"web\"\ndate = \"2026-01-03\"\ninformational = \"unsound\"";
    write("a.md", head);
    write("c.md", &format!("{head}\nwithdrawn = \"2026-01-03\""));
    assert_eq!(
        Database::checkout(folder.path()).text(),
        "# RustSec advisory database, of 2026-01-03\nA\tweb\tunsound\t\t\nB\tweb\t\t>= 1.2 || ^0.9\t\n"
    );
}
