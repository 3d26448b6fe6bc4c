//! The invariants of ARCHITECTURE.md that the compiler and the lints do not check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every crate of the workspace, with the crates of the workspace that it may depend on.
const DIRECTION: &[(&str, &[&str])] = &[
    ("steersman-gotemplate", &[]),
    ("steersman-yaml", &[]),
    ("steersman-sprig", &["steersman-gotemplate"]),
    (
        "steersman-chart",
        &["steersman-gotemplate", "steersman-sprig", "steersman-yaml"],
    ),
    ("steersman-kustomize", &["steersman-yaml"]),
    ("steersman-project", &["steersman-chart", "steersman-yaml"]),
    ("steersman-image", &[]),
    ("steersman-testkit", &[]),
    (
        "steersman",
        &[
            "steersman-chart",
            "steersman-gotemplate",
            "steersman-image",
            "steersman-kustomize",
            "steersman-project",
            "steersman-sprig",
            "steersman-yaml",
        ],
    ),
];

/// Crates that only these may depend on: the engine is usable, and compiles, without a cluster.
const CLUSTER_CRATES: &[&str] = &["kube", "k8s-openapi", "tokio", "hyper"];
const MAY_USE_A_CLUSTER: &[&str] = &["steersman", "steersman-testkit"];

/// The crates that render, the folders in them that look at files, and what nothing else in them may use: a template
/// reaches what its caller hands in.
const ENGINE: &[&str] = &[
    "crates/gotemplate/src",
    "crates/yaml/src",
    "crates/sprig/src",
    "crates/chart/src",
];
const MAY_READ_FILES: &[&str] = &["crates/chart/src/load", "crates/chart/src/lint"];
const OUTSIDE_WORLD: &[&str] = &[
    "std::env",
    "std::fs",
    "std::process",
    "std::os",
    "std::io::stdin",
    "Instant::now",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "ToSocketAddrs",
    "UdpSocket",
    "UnixStream",
];

#[test]
fn crates_depend_on_each_other_in_one_direction() {
    let packages = packages();
    let names: BTreeSet<&str> = packages.iter().map(|(name, _)| name.as_str()).collect();
    let known: BTreeSet<&str> = DIRECTION.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names, known,
        "a crate came or went: say in DIRECTION what it may depend on"
    );

    for (name, dependencies) in &packages {
        let (_, allowed) = DIRECTION
            .iter()
            .find(|(known, _)| known == name)
            .expect("checked above");
        for dependency in dependencies {
            assert!(
                !known.contains(dependency.as_str()) || allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn the_engine_builds_without_kube() {
    for (name, dependencies) in packages() {
        if MAY_USE_A_CLUSTER.contains(&name.as_str()) {
            continue;
        }
        for dependency in dependencies {
            assert!(
                !CLUSTER_CRATES.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn only_the_command_line_knows_anyhow() {
    for file in rust_files(&root().join("src")) {
        let inside = file.strip_prefix(root()).expect("a file below the root");
        if inside.starts_with("src/cli") || inside == Path::new("src/main.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a readable source file");
        assert!(
            !text.contains("anyhow::"),
            "{} uses anyhow: errors below the command line have a type",
            inside.display()
        );
    }
}

#[test]
fn rendering_touches_no_file_network_or_environment() {
    for file in ENGINE.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let inside = file.strip_prefix(root()).expect("a file below the root");
        if MAY_READ_FILES.iter().any(|folder| inside.starts_with(folder)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a readable source file");
        for word in OUTSIDE_WORLD {
            assert!(
                !text.contains(word),
                "{} uses {word}: what a rendering learns from outside comes through `World`",
                inside.display()
            );
        }
    }
}

#[test]
fn no_file_outgrows_a_reader() {
    for folder in ["src", "crates"] {
        for file in rust_files(&root().join(folder)) {
            let lines = std::fs::read_to_string(&file)
                .expect("a readable source file")
                .lines()
                .count();
            assert!(
                lines <= 900,
                "{} has {lines} lines: split it by reason to change",
                file.display()
            );
        }
    }
}

#[test]
fn every_case_that_compatibility_names_is_there() {
    let mut pages = vec![root().join("COMPATIBILITY.md")];
    for entry in std::fs::read_dir(root().join("docs/compatibility")).expect("a readable folder") {
        pages.push(entry.expect("a folder entry").path());
    }
    let texts = pages
        .iter()
        .map(|page| std::fs::read_to_string(page).expect("a readable file"));
    let text = texts.collect::<String>();
    let (mut cases, mut missing) = (0, Vec::new());
    // What stands between backquotes is every second piece.
    for name in text.split('`').skip(1).step_by(2) {
        if !["crates/", "src/", "tests/"]
            .iter()
            .any(|folder| name.starts_with(folder))
        {
            continue;
        }
        cases += 1;
        if !is_there(name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "these cases are not there: {missing:#?}");
    assert!(cases > 100, "only {cases} cases were found");
}

/// Whether a file or a folder is there, and what follows `::` in it.
fn is_there(case: &str) -> bool {
    let (path, function) = (case.split("::").next(), case.rsplit("::").next());
    let path = root().join(path.unwrap_or_default());
    if !path.is_file() {
        return path.exists();
    }
    let content = std::fs::read_to_string(&path).expect("a readable file");
    path.ends_with(case) || content.contains(function.unwrap_or_default())
}

/// Each package of the workspace, with the names of its normal and build dependencies.
fn packages() -> Vec<(String, Vec<String>)> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--offline",
            "--locked",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("JSON from cargo metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let normal = dependencies
                .iter()
                .filter(|dependency| dependency["kind"] != "dev");
            (
                text(&package["name"]),
                normal.map(|dependency| text(&dependency["name"])).collect(),
            )
        })
        .collect()
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a folder entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
