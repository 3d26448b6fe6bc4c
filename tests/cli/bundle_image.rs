//! Images of bundles and catalogs, judged by crane, a registry and the Operator Framework's libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use steersman_testkit::bundle_judge::BundleJudge;

use crate::build::{Crane, layers};
use crate::bundle::{project, run};
use crate::program::Project;

/// The files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn add(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    add(folder, folder, &mut found);
    found
}

/// Unpacks an image of a registry into a folder of the project, and gives its labels.
fn unpack(crane: &Crane, project: &Project, name: &str, folder: &str) -> Value {
    crane.run(project, &["validate", "--remote", name]);
    crane.run(project, &["export", name, "image.tar"]);
    let folder = project.path().join(folder);
    fs::create_dir(&folder).unwrap();
    let content = fs::read(project.path().join("image.tar")).unwrap();
    tar::Archive::new(content.as_slice()).unpack(&folder).unwrap();
    let config: Value = serde_json::from_str(&crane.run(project, &["config", name])).unwrap();
    config["config"]["Labels"].clone()
}

/// The labels that a Dockerfile sets.
fn labels_of(dockerfile: &Path) -> Value {
    let text = fs::read_to_string(dockerfile).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("LABEL "));
    let labels = lines.map(|line| line.split_once('=').unwrap());
    labels
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn sound(folder: &Path) {
    if let Some(judge) = BundleJudge::find_or_skip() {
        let findings = judge.bundle(folder);
        assert!(
            findings.iter().all(|finding| finding.level != "Error"),
            "{findings:?}"
        );
    }
}

#[test]
fn the_image_of_a_bundle_is_what_its_dockerfile_says() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = project();
    run(&project, &["--version=0.0.1", "--channels=stable,fast"]);
    project.write("bundle/notes.txt", "not of the bundle");
    let registry = crane.serve(&project);
    let name = format!("{}/team/web-bundle:v0.0.1", registry.address);
    let pushed = run(&project, &["build", "--push", "-t", &name]);
    let digest = crane.run(&project, &["digest", &name]);
    assert!(pushed.ends_with(&format!("pushed {name}@{digest}")), "{pushed}");
    let labels = unpack(&crane, &project, &name, "image");
    assert_eq!(labels, labels_of(&project.path().join("bundle.Dockerfile")));
    fs::remove_file(project.path().join("bundle/notes.txt")).unwrap();
    let image = project.path().join("image");
    assert_eq!(files(&image), files(&project.path().join("bundle")));
    sound(&image);

    // Once more, and for another processor, too.
    let both = format!("{}/team/web-bundle:both", registry.address);
    run(&project, &["build", "-t", &name, "-o=again.tar"]);
    crane.run(&project, &["push", "again.tar", &both]);
    assert_eq!(layers(&crane, &project, &both), layers(&crane, &project, &name));
    run(
        &project,
        &[
            "build",
            "--push",
            "-t",
            &both,
            "--platform=linux/arm64,linux/amd64",
            "--label=a=b",
        ],
    );
    let index: Value = serde_json::from_str(&crane.run(&project, &["manifest", &both])).unwrap();
    assert_eq!(index["manifests"].as_array().map(Vec::len), Some(2));
    crane.run(&project, &["validate", "--remote", &both]);
}

#[test]
fn the_same_bundle_gives_the_same_image() {
    let [one, two] = [project(), project()].map(|project| {
        let project = project.with_variable("SOURCE_DATE_EPOCH", "1700000000");
        run(&project, &["--version=0.0.1"]);
        run(&project, &["build", "-t=b:v1"]);
        run(
            &project,
            &[
                "catalog",
                "bundle=registry.example.com/b:v1",
                "-t=c:v1",
                "-o=c.tar",
            ],
        );
        ["b.tar", "c.tar"].map(|name| fs::read(project.path().join(name)).unwrap())
    });
    assert!(one == two, "the images differ");
}

#[test]
fn the_image_of_a_catalog_is_what_opm_reads() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = project();
    run(&project, &["--version=0.0.1", "--channels=stable"]);
    run(
        &project,
        &["catalog", "bundle=registry.example.com/web-bundle:v0.0.1"],
    );
    let registry = crane.serve(&project);
    let name = format!("{}/team/web-catalog:v0.0.1", registry.address);
    run(&project, &["catalog", "--push", "-t", &name]);
    let labels = unpack(&crane, &project, &name, "image");
    assert_eq!(labels, labels_of(&project.path().join("catalog.Dockerfile")));
    let configs = project.path().join("image/configs");
    assert_eq!(files(&configs), files(&project.path().join("catalog")));
    if let Some(judge) = BundleJudge::find_or_skip() {
        let verdict = judge.catalog(&configs);
        assert_eq!((verdict.error.as_str(), verdict.heads.len()), ("", 1));
    }
}

#[test]
fn what_is_not_sound_has_no_image() {
    let project = project();
    run(&project, &["--version=0.0.1"]);
    fs::remove_file(project.path().join("bundle/manifests/example.com_webs.yaml")).unwrap();
    for (arguments, code, expect) in [
        (&["build", "-t=b:v1"][..], 1, "bundle `bundle` is not sound"),
        (&["build", "other", "-t=b:v1"], 2, "failed to read folder `other`"),
        (&["build", "bundle"], 2, "--tag <NAME>"),
        (&["catalog", "-t=c:v1"], 2, "failed to read folder `catalog`"),
        (
            &["catalog", "-t=c:v1", "--output-dir=charts"],
            2,
            "there is no catalog in `charts`",
        ),
        (&["catalog", "bundle=a", "--push"], 2, "--tag <NAME>"),
        (&["catalog"], 2, "<DIR=IMAGE>"),
    ] {
        let ended = project.run(&[&["bundle"], arguments].concat());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expect), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!project.path().join("b.tar").exists() && !project.path().join("c.tar").exists());
}

/// A project of `init` with everything switched on.
fn scaffold() -> Project {
    let project = Project::new();
    fs::remove_file(project.path().join("watches.yaml")).unwrap();
    let ended = project.run(&[
        "init",
        "--project-name=shop-operator",
        "--domain=example.com",
        "--kind=Shop",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let path = "config/default/kustomization.yaml";
    let text = fs::read_to_string(project.path().join(path)).unwrap();
    project.write(path, &text.replace("#- ../prometheus", "- ../prometheus"));
    project
}

#[test]
fn the_targets_of_a_new_project_need_no_container_engine() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = scaffold();
    let registry = crane.serve(&project);
    let base = format!("{}/team/shop", registry.address);
    let output = Command::new("make")
        .args([
            "bundle",
            "bundle-build",
            "bundle-push",
            "catalog-build",
            "catalog-push",
        ])
        .arg(format!("STEERSMAN={}", env!("CARGO_BIN_EXE_steersman")))
        .arg(format!("IMAGE_TAG_BASE={base}"))
        .args([
            "IMG=registry.example.com/shop:v1",
            "VERSION=0.0.3",
            "CHANNELS=stable",
        ])
        .env_remove("CONTAINER_TOOL")
        .env_remove("MAKEFLAGS")
        .current_dir(project.path())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    unpack(&crane, &project, &format!("{base}-bundle:v0.0.3"), "bundle-image");
    let bundle = project.path().join("bundle-image");
    sound(&bundle);
    unpack(
        &crane,
        &project,
        &format!("{base}-catalog:v0.0.3"),
        "catalog-image",
    );
    if let Some(judge) = BundleJudge::find_or_skip() {
        let verdict = judge.catalog(&project.path().join("catalog-image/configs"));
        assert_eq!(verdict.error, "");
        assert_eq!(verdict.heads["shop-operator/stable"], "shop-operator.v0.0.3");
    }
    assert!(project.path().join("bin/bundle.tar").exists());
    assert!(project.path().join("bin/catalog.tar").exists());
}

#[test]
fn what_stands_beside_the_operator_is_in_its_bundle() {
    let project = scaffold();
    let ended = project.run(&["bundle", "--version=0.0.1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("is left out"), "{}", ended.stderr);
    sound(&project.path().join("bundle"));
    let kinds: Vec<Value> = files(&project.path().join("bundle/manifests"))
        .values()
        .map(|text| steersman_yaml::to_json(std::str::from_utf8(text).unwrap()).unwrap()["kind"].clone())
        .collect();
    for kind in [
        "ServiceMonitor",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "Service",
        "CustomResourceDefinition",
    ] {
        assert!(kinds.contains(&json!(kind)), "{kind}: {kinds:?}");
    }
}
