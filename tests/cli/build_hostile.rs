//! Bases that are none, or not what they say: `build --from` says which, and takes nothing of them.

use std::time::Duration;

use serde_json::json;

use crate::base::Base;
use crate::build_from::roles;
use crate::program::{Ended, Project};
use crate::repository::Repository;

/// A project, and a folder of it that a registry serves.
fn served(base: &Base) -> (Project, Repository) {
    let project = roles();
    base.lay_out_registry(&project.path().join("registry"));
    let registry = Repository::serve(&project.path().join("registry"));
    (project, registry)
}

fn build(project: &Project, registry: &Repository, name: &str, more: &[&str]) -> Ended {
    let from = format!("{}/{name}", registry.url.trim_start_matches("http://"));
    let arguments = ["build", "--binary=program", "-t=a", "-o=a.tar", "--from", &from];
    project.run(&[&arguments[..], more].concat())
}

/// How a build upon a base fails that is like this.
#[track_caller]
fn check(change: impl FnOnce(&mut Base), expect: &str) {
    let mut base = Base::new();
    change(&mut base);
    let (project, registry) = served(&base);
    check_failure(
        &project,
        &build(&project, &registry, "team/python:1", &[]),
        expect,
    );
}

#[track_caller]
fn check_failure(project: &Project, ended: &Ended, expect: &str) {
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(expect),
        "no `{expect}` in: {}",
        ended.stderr
    );
    assert!(!project.path().join("a.tar").exists());
}

#[test]
fn a_base_that_says_what_it_is_is_taken() {
    let (project, registry) = served(&Base::new());
    let ended = build(&project, &registry, "team/python:1", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("fetching 58 B"), "{}", ended.stderr);
    assert!(project.path().join("a.tar").exists());
}

#[test]
fn what_is_no_image_is_named() {
    check(
        |base| base.manifest["config"]["mediaType"] = json!("application/vnd.cncf.helm.config.v1+json"),
        "can't be built upon: it is no image: its configuration is application/vnd.cncf.helm.config.v1+json",
    );
    check(
        |base| base.manifest = json!({"errors": []}),
        "it is no image: there is neither a manifest",
    );
    check(|base| base.manifest = json!("text"), "its manifest can't be read");
    check(
        |base| base.manifest["layers"][0]["mediaType"] = json!("application/x\nhostile\u{1b}[31m"),
        r"its type is not known: application/x\nhostile\u{1b}[31m",
    );
    check(
        |base| {
            base.manifest["layers"][0]["mediaType"] =
                json!("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip");
        },
        "it must not be distributed",
    );
}

#[test]
fn a_digest_that_is_not_that_of_the_content_is_found() {
    // As long as it was, and not the same.
    check(
        |base| base.layer[0] ^= 1,
        "has another content, with the digest sha256:",
    );
    check(|base| base.layer.truncate(7), "ends after 7 of 58 bytes");
    check(|base| base.layer.push(7), "is longer than the 58 bytes");
    check(
        |base| base.config["config"]["User"] = json!("0"),
        "its configuration has the digest sha256:",
    );
    let (project, registry) = served(&Base::new());
    let other = format!("sha256:{}", "0".repeat(64));
    let manifest = Base::new().manifest.to_string();
    project.write(&format!("registry/v2/team/python/manifests/{other}"), &manifest);
    let ended = build(&project, &registry, &format!("team/python@{other}"), &[]);
    check_failure(&project, &ended, "its manifest has the digest sha256:");
}

#[test]
fn a_layer_without_an_end_is_cut_off() {
    let base = Base::new();
    let (project, registry) = served(&base);
    project.write("registry/endless", base.layer_name());
    let ended = build(&project, &registry, "team/python:1", &[]);
    check_failure(&project, &ended, "is longer than the 58 bytes that are announced");
    assert!(ended.lasted < Duration::from_secs(5), "{:?}", ended.lasted);

    let (project, registry) = served(&base);
    project.write("registry/endless", "manifests/1");
    let ended = build(&project, &registry, "team/python:1", &[]);
    check_failure(&project, &ended, "is larger than the maximum size 4194304");
}

#[test]
fn a_base_that_is_not_there_is_named() {
    let (project, registry) = served(&Base::new());
    let ended = build(&project, &registry, "team/python:2", &[]);
    check_failure(&project, &ended, "/team/python:2: not found");
    let from = "--from=127.0.0.1:9/a/b:c";
    let ended = project.run(&["build", "--binary=program", "-t=a", from]);
    check_failure(&project, &ended, "error: failed to fetch 127.0.0.1:9/a/b:c: ");
    for (from, expect) in [
        ("docker-archive:none.tar", "failed to read `none.tar`"),
        (
            "oci:roles",
            "`roles` has neither an index.json nor a manifest.json",
        ),
        ("docker-archive:watches.yaml", "failed to read `watches.yaml`"),
    ] {
        let ended = project.run(&["build", "--binary=program", "-t=a", "-o=a.tar", "--from", from]);
        check_failure(&project, &ended, expect);
    }
    let ended = project.run(&["build", "--binary=program", "-t=a", "--from=./base.tar"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("docker-archive:FILE"), "{}", ended.stderr);
}

#[test]
fn a_layout_whose_files_are_others_is_found() {
    let check = |change: fn(&mut Base), expect: &str| {
        let project = roles();
        let mut base = Base::new();
        change(&mut base);
        base.lay_out_folder(&project.path().join("layout"));
        let ended = project.run(&[
            "build",
            "--binary=program",
            "-t=a",
            "-o=a.tar",
            "--from=oci:layout",
        ]);
        check_failure(&project, &ended, expect);
    };
    check(
        |base| base.layer[0] ^= 1,
        "has another content, with the digest sha256:",
    );
    check(|base| base.layer.push(7), "it has 59 bytes, and not 58");
    check(
        |base| base.manifest["layers"][0]["digest"] = json!("sha256:../../../../watches.yaml"),
        "the digest of its layer is",
    );
}

#[test]
fn a_login_is_for_the_registry_of_the_base_alone() {
    let base = Base::new();
    let (project, registry) = served(&base);
    let host = registry.url.trim_start_matches("http://");
    project.write("registry/token", r#"{"token": "canary"}"#);

    // Without a user, the registry that gives tokens to everybody lets us in.
    let ended = build(&project, &registry, "team/python:1", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    // The user of the flags is the one of the registry that the image is pushed to.
    let before = registry.requests().len();
    let from = format!("{host}/team/python:1");
    let arguments = [
        "build",
        "--binary=program",
        "--push",
        "-t=127.0.0.1:9/team/operator:v1",
        "--username=me",
        "--password=secret",
        "--from",
        &from,
    ];
    let ended = project.run(&arguments);
    assert!(
        ended.stderr.contains("failed to push 127.0.0.1:9"),
        "{}",
        ended.stderr
    );
    let asked = registry.requests().split_off(before);
    let tokens: Vec<&String> = asked.iter().filter(|line| line.starts_with("/token")).collect();
    assert_eq!(
        tokens,
        ["/token?scope=repository%3Ateam%2Fpython%3Apull&service=test"]
    );

    // What docker has stored for the registry goes there.
    let auths = json!({"auths": {host: {"username": "me", "password": "secret"}}});
    let file = project.write("docker/config.json", &auths.to_string());
    let project = project.with_variable("DOCKER_CONFIG", file.parent().unwrap().to_str().unwrap());
    let before = registry.requests().len();
    project.run(&arguments);
    let asked = registry.requests().split_off(before);
    assert!(
        asked
            .iter()
            .any(|line| line.starts_with("/token") && line.ends_with("Basic bWU6c2VjcmV0")),
        "{asked:?}"
    );
}

#[test]
fn a_login_is_not_for_a_server_that_the_registry_of_a_base_redirects_to() {
    let base = Base::new();
    let (project, elsewhere) = served(&base);
    project.write("registry/token", r#"{"token": "canary"}"#);
    project.write("front/redirect", &elsewhere.url);
    let registry = Repository::serve(&project.path().join("front"));
    let ended = build(
        &project,
        &registry,
        "team/python:1",
        &["--username=me", "--password=canary"],
    );
    check_failure(&project, &ended, "401 Unauthorized");
    let asked = elsewhere.requests();
    let is_harmless = |line: &String| line.starts_with("/v2/") && !line.contains(' ');
    assert!(!asked.is_empty() && asked.iter().all(is_harmless), "{asked:?}");
}
