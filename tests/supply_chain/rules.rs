//! The rules of `deny.toml`, held against the crates that are compiled.

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::crates::{locked, used};
use crate::manifests::packages;
use crate::read;

/// The parts of `deny.toml` that are rules.
#[derive(Deserialize)]
struct Rules {
    #[serde(default)]
    advisories: Advisories,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Default, Deserialize)]
struct Advisories {
    #[serde(default)]
    ignore: Vec<Accepted>,
}

#[derive(Deserialize)]
struct Accepted {
    id: String,
    reason: String,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    wildcards: String,
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
}

fn rules() -> Rules {
    basic_toml::from_str(&read("deny.toml")).unwrap()
}

/// The advisories that are known, and accepted for a reason.
pub(crate) fn accepted_advisories() -> Vec<String> {
    let accepted = rules().advisories.ignore.into_iter();
    accepted
        .inspect(|accepted| assert!(!accepted.reason.is_empty(), "{} has no reason", accepted.id))
        .map(|accepted| accepted.id)
        .collect()
}

/// Whether an expression such as `MIT OR Apache-2.0` can be met by licences that are allowed. Crates of old write `/`.
fn is_allowed(licence: &str, allowed: &[Licensee]) -> bool {
    let parsed = Expression::parse_mode(licence, ParseMode::LAX);
    parsed.is_ok_and(|expression| {
        expression.evaluate(|wanted| allowed.iter().any(|licence| licence.satisfies(wanted)))
    })
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let rules = rules();
    let allowed: Vec<Licensee> = rules
        .licenses
        .allow
        .iter()
        .map(|licence| Licensee::parse(licence).unwrap())
        .collect();
    let used = used();
    assert!(used.len() > 200, "only {used:?}");
    let refused: Vec<String> = used
        .iter()
        .filter(|found| !is_allowed(&found.licence, &allowed))
        .map(|found| format!("{} {}: {:?}", found.name, found.version, found.licence))
        .collect();
    assert!(refused.is_empty(), "deny.toml allows none of {refused:#?}");

    for (licence, expect) in [
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0 WITH Classpath-exception-2.0", false),
        ("", false),
        ("of my own", false),
    ] {
        assert_eq!(is_allowed(licence, &allowed), expect, "{licence}");
    }
}

#[test]
fn no_dependency_is_banned() {
    let banned = rules().bans.deny;
    assert!(!banned.is_empty());
    for found in used() {
        if let Some(banned) = banned.iter().find(|banned| banned.name == found.name) {
            panic!("{} {} is banned: {}", found.name, found.version, banned.reason);
        }
    }
}

/// All come from the registry that Cargo asks where a manifest names none.
#[test]
fn every_dependency_comes_from_the_registry() {
    let rules = rules();
    let levels = [
        rules.sources.unknown_registry,
        rules.sources.unknown_git,
        rules.bans.wildcards,
    ];
    assert!(levels.iter().all(|level| level == "deny"), "{levels:?}");

    let mut sources: Vec<String> = locked().into_iter().filter_map(|locked| locked.source).collect();
    sources.sort();
    sources.dedup();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources[0].starts_with("registry+"), "{sources:?}");
    for (package, dependency) in declared() {
        let (name, source) = (&dependency["name"], &dependency["source"]);
        assert!(dependency["registry"].is_null(), "{package}: {name}");
        if dependency["path"].is_null() {
            assert_eq!(*source, sources[0], "{package}: {name}");
            assert_ne!(dependency["req"], "*", "{package}: {name} may be of any version");
        }
    }
}

/// What the manifests of the workspace ask for, each with the package that asks.
fn declared() -> Vec<(String, serde_json::Value)> {
    let mut declared = Vec::new();
    for (package, dependencies) in packages() {
        declared.extend(dependencies.into_iter().map(|found| (package.clone(), found)));
    }
    assert!(declared.len() > 100);
    declared
}
