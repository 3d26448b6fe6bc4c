//! The invariants of ARCHITECTURE.md that the compiler and the lints do not check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[path = "architecture/code.rs"]
mod code;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/manifests.rs"]
mod manifests;

/// Every crate of the workspace, with the crates of the workspace that it may depend on.
const DIRECTION: &[(&str, &[&str])] = &[
    ("gotemplate", &[]),
    ("expressions", &[]),
    ("yaml", &[]),
    ("image", &[]),
    ("testkit", &[]),
    ("sprig", &["gotemplate"]),
    ("chart", &["gotemplate", "sprig", "yaml"]),
    ("kustomize", &["yaml"]),
    ("project", &["chart", "yaml"]),
    ("model", &["sprig", "yaml"]),
    ("ansible", &["model"]),
    ("registry", &["chart", "image", "model", "sprig", "yaml"]),
    (
        "watches",
        &[
            "chart",
            "expressions",
            "gotemplate",
            "kustomize",
            "model",
            "sprig",
            "yaml",
        ],
    ),
    (
        "cluster",
        &["chart", "gotemplate", "model", "project", "watches", "yaml"],
    ),
    ("proxy", &["cluster", "model", "yaml"]),
    (
        "operator",
        &[
            "ansible",
            "chart",
            "cluster",
            "expressions",
            "gotemplate",
            "model",
            "project",
            "proxy",
            "watches",
            "yaml",
        ],
    ),
    (
        "tree",
        &["chart", "cluster", "model", "operator", "watches", "yaml"],
    ),
    ("ui", &["cluster", "model", "operator", "tree", "watches"]),
    (
        "",
        &[
            "ansible",
            "chart",
            "cluster",
            "gotemplate",
            "image",
            "kustomize",
            "model",
            "operator",
            "project",
            "registry",
            "sprig",
            "tree",
            "ui",
            "watches",
            "yaml",
        ],
    ),
];

/// What a crate must not depend on, besides what DIRECTION says: who may ask a cluster, run tasks, or speak to a terminal.
const PROHIBITED: &[(&[&str], &[&str])] = &[
    (
        &["kube", "kube-client", "kube-runtime"],
        &["cluster", "operator", "proxy", "testkit", "tree", "ui", ""],
    ),
    (
        &["k8s-openapi", "kube-core"],
        &["cluster", "operator", "proxy", "testkit", "tree", "watches", ""],
    ),
    (
        &["tokio", "hyper"],
        &["ansible", "cluster", "operator", "proxy", "testkit", "ui", ""],
    ),
    (&["reqwest"], &["operator", "registry"]),
    (&["clap"], &["testkit", ""]),
    (&["anyhow", "indicatif"], &[""]),
];

/// The crates that render, the folders in them that look at files, and what nothing else in them may use: a template
/// reaches what its caller hands in.
const ENGINE: &[&str] = &[
    "crates/gotemplate/src",
    "crates/yaml/src",
    "crates/sprig/src",
    "crates/chart/src",
    "crates/expressions/src",
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
        for dependency in dependencies.iter().filter_map(|name| short(name)) {
            assert!(
                allowed.contains(&dependency),
                "`{name}` must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn clusters_tasks_and_terminals_are_known_where_they_belong() {
    let packages = packages();
    for (libraries, crates) in PROHIBITED {
        for (name, dependencies) in &packages {
            for dependency in dependencies {
                assert!(
                    crates.contains(&name.as_str()) || !libraries.contains(&dependency.as_str()),
                    "`{name}` must not depend on {dependency}"
                );
            }
        }
    }
}

#[test]
fn no_folder_needs_what_needs_it() {
    let mut sources = vec![root().join("src")];
    sources.extend(
        DIRECTION
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, _)| root().join("crates").join(name).join("src")),
    );
    let mut folders = 0;
    for source in sources {
        let files = rust_files(&source);
        let uses = imports::uses_in(&source, &files);
        folders += uses.len();
        if let Some(circle) = imports::circle(&uses) {
            let next = circle.iter().cycle().skip(1);
            let steps: Vec<&str> = circle
                .iter()
                .zip(next)
                .map(|(from, to)| uses[from][to].as_str())
                .collect();
            panic!("a circle:\n{}", steps.join("\n"));
        }
    }
    assert!(folders > 60, "only {folders} modules that use others were found");
}

#[test]
fn deciding_is_pure() {
    let reconcile = root().join("crates/operator/src/reconcile");
    let pure = [
        "awaited_runs.rs",
        "decide.rs",
        "gate.rs",
        "state.rs",
        "sources/content.rs",
        "sources/pace.rs",
    ];
    let mut files: Vec<_> = pure.map(|name| reconcile.join(name)).into();
    let runs = root().join("crates/operator/src/runs");
    files.extend(["decide.rs", "left.rs", "line.rs", "report.rs", "state.rs"].map(|name| runs.join(name)));
    let procedures = root().join("crates/operator/src/procedures");
    let of_procedures = [
        "decide.rs",
        "due.rs",
        "known.rs",
        "record.rs",
        "report.rs",
        "resource_status.rs",
        "state.rs",
    ];
    files.extend(of_procedures.map(|name| procedures.join(name)));
    let coordination = root().join("crates/operator/src/coordination");
    files.extend(["agreement.rs", "held.rs"].map(|name| coordination.join(name)));
    files.extend(rust_files(&reconcile.join("plan")));
    let references = root().join("crates/operator/src/references");
    files.extend(["awaited.rs", "graph.rs", "ready.rs"].map(|name| references.join(name)));
    // Which plan it is depends on what the chart renders, and that may look things up.
    files.retain(|file| !file.ends_with("planner.rs"));
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable source file");
        for word in ["async ", ".await", "Client", "Api<", "Applier"] {
            assert!(
                !text.contains(word),
                "{} has {word}: what is decided is decided without asking anybody",
                file.display()
            );
        }
    }
}

#[test]
fn only_the_command_line_knows_anyhow() {
    for file in rust_files(&root().join("src/deploy")) {
        let inside = file.strip_prefix(root()).expect("a file below the root");
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
fn every_case_that_a_page_names_is_there() {
    let mut pages = ["COMPATIBILITY.md", "SECURITY.md"]
        .map(|page| root().join(page))
        .to_vec();
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
    let packages = manifests::packages().into_iter().map(|(name, declared)| {
        let normal = declared.iter().filter(|dependency| dependency["kind"] != "dev");
        (
            short(&name).expect("a crate of ours").to_owned(),
            normal.map(|dependency| text(&dependency["name"])).collect(),
        )
    });
    packages.collect()
}

/// The name of a crate of the workspace as its folder has it; empty for the root.
fn short(package: &str) -> Option<&str> {
    let rest = package.strip_prefix("steersman")?;
    Some(rest.strip_prefix('-').unwrap_or(rest))
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
