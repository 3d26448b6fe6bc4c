//! The targets of a project's Makefile that need no cluster; `tests/cluster/scaffold` has the others.

use std::fs;

use super::{MEMCACHED, Place, Said};
use crate::build::Crane;
use crate::program::Project;

const BINARY: &str = concat!("STEERSMAN=", env!("CARGO_BIN_EXE_steersman"));

/// What make does in the project; a static program stands in the place of ours, as nothing runs the image.
fn make(place: &Place, arguments: &[&str]) -> Said {
    let mut program = vec![0; 64];
    program[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
    (program[16], program[18], program[54]) = (2, 62, 56);
    fs::write(place.path("program"), program).unwrap();
    let arguments = [&[BINARY, "BINARIES=../program"], arguments].concat();
    super::run("make".as_ref(), &place.project(), &arguments)
}

#[track_caller]
fn must(place: &Place, arguments: &[&str]) -> String {
    let said = make(place, arguments);
    assert_eq!(
        said.code,
        Some(0),
        "make {arguments:?}: {}{}",
        said.stdout,
        said.stderr
    );
    said.stdout
}

#[test]
fn every_target_is_explained() {
    let place = Place::new();
    place.succeed(MEMCACHED);
    let help = must(&place, &["help"]);
    let makefile = place.read("Makefile");
    // Those of other programs do nothing.
    let own = ["all", "base", "kustomize helm-operator operator-sdk opm"];
    for target in makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: ")) {
        let is_told = help.contains(&format!("\u{1b}[36m{target} "));
        assert!(is_told || own.contains(&target), "{target}: {help}");
    }
    must(&place, &["kustomize", "helm-operator", "operator-sdk", "opm"]);
}

#[test]
fn images_are_made_and_pushed_without_a_container_engine() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let place = Place::new();
    place.succeed(MEMCACHED);
    let project = Project::new();
    let registry = crane.serve(&project);
    let base = format!("{}/team/memcached-operator", registry.address);
    let variables = [format!("IMG={base}:v1"), format!("IMAGE_TAG_BASE={base}")];
    for (target, file) in [
        ("docker-build", "bin/image.tar"),
        ("docker-push", ""),
        ("bundle", "bundle.Dockerfile"),
        ("bundle-build", "bin/bundle.tar"),
        ("bundle-push", ""),
        ("catalog-build", "bin/catalog.tar"),
        ("catalog-push", ""),
    ] {
        must(&place, &[target, &variables[0], &variables[1]]);
        assert!(place.project().join(file).exists(), "{target}");
    }
    for image in [
        format!("{base}:v1"),
        format!("{base}-bundle:v0.0.1"),
        format!("{base}-catalog:v0.0.1"),
    ] {
        crane.run(&project, &["validate", "--remote", &image]);
    }
    let version = place.read("bundle/manifests/memcached-operator.clusterserviceversion.yaml");
    assert!(version.contains(&format!("image: {base}:v1\n")), "{version}");
    assert!(place.read(".gitignore").contains("bin/\n"));
}

#[test]
fn a_program_that_no_image_can_have_is_said() {
    if cfg!(target_feature = "crt-static") {
        return;
    }
    let place = Place::new();
    place.succeed(MEMCACHED);
    let said = make(&place, &["docker-build", "BINARIES="]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("linked dynamically"), "{}", said.stderr);
}
