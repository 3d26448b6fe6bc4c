//! `dependency`, beside Helm's, with a repository on this machine.

use std::fs;

use crate::helm::Helm;
use crate::program::Project;
use crate::repository::{Repository, folder_of_charts, lay_out_registry};

/// A project with a home of its own, and a chart on this machine to depend on.
fn project() -> Project {
    let project = Project::new();
    let home = project.path().join("home").display().to_string();
    project.write(
        "source/local/Chart.yaml",
        "apiVersion: v2\nname: local\nversion: 0.3.0\n",
    );
    project.with_variable("HOME", &home)
}

fn write_parent(project: &Project, repository: &str, version: &str) {
    let text = format!(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n\
         - {{name: web, version: '{version}', repository: '{repository}', alias: w, tags: [t]}}\n\
         - {{name: local, version: ~0.3, repository: 'file://../source/local', import-values: [{{child: a, parent: b}}]}}\n"
    );
    project.write("parent/Chart.yaml", &text);
}

/// What a run has left in the chart: the files of charts/, and the lock without its time.
fn left(project: &Project) -> (Vec<String>, String) {
    let folder = project.path().join("parent");
    let entries = fs::read_dir(folder.join("charts"))
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let lock = fs::read_to_string(folder.join("Chart.lock")).unwrap_or_default();
    let lock = lock
        .lines()
        .filter(|line| !line.starts_with("generated:"))
        .collect::<Vec<_>>()
        .join("\n");
    (files, lock)
}

fn reset(project: &Project, keep_lock: bool) {
    let folder = project.path().join("parent");
    let _ = fs::remove_dir_all(folder.join("charts"));
    if !keep_lock {
        let _ = fs::remove_file(folder.join("Chart.lock"));
    }
}

/// Runs a command with Helm and with us from the same start, and compares what is said and what is left.
#[track_caller]
fn compare(helm: &Helm, project: &Project, arguments: &[&str], keep_lock: bool) {
    reset(project, keep_lock);
    let expect = helm.run(project, arguments);
    let expect_left = left(project);
    reset(project, keep_lock);
    let ended = project.run(arguments);
    assert_eq!(ended.stdout, expect.stdout, "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stderr, expect.stderr, "{arguments:?}");
    assert_eq!(ended.code, expect.code, "{arguments:?}");
    assert_eq!(left(project), expect_left, "{arguments:?}");
}

#[test]
fn charts_are_fetched_and_locked_as_by_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let repository = Repository::serve(&folder_of_charts(&helm, &project));
    for (url, version) in [
        (repository.url.as_str(), ">=1.0.0 <2"),
        (repository.url.as_str(), ">=3"),
        (repository.url.as_str(), "not a version"),
        ("@unknown", "1.0.0"),
        ("bare", "1.0.0"),
        ("file://../nowhere", "1.0.0"),
        ("", "1.0.0"),
    ] {
        write_parent(&project, url, version);
        compare(&helm, &project, &["dependency", "update", "parent"], false);
    }
    write_parent(&project, &repository.url, "1.0.0");
    helm.must(&project, &["dependency", "update", "parent"]);
    // Without having been added, no repository is used by its lock.
    compare(&helm, &project, &["dependency", "build", "parent"], true);
    helm.must(&project, &["repo", "add", "here", &repository.url]);
    compare(&helm, &project, &["dependency", "build", "parent"], true);
    compare(
        &helm,
        &project,
        &["dep", "build", "parent", "--skip-refresh"],
        true,
    );
    compare(&helm, &project, &["dependency", "build", "parent"], false);
    write_parent(&project, "@here", "^1");
    compare(&helm, &project, &["dependency", "build", "parent"], true);
    compare(&helm, &project, &["dependency", "update", "parent"], false);
    write_parent(&project, "alias:here", "^1");
    compare(&helm, &project, &["dep", "up", "parent"], false);
}

#[test]
fn what_is_declared_is_listed_as_by_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let repository = Repository::serve(&folder_of_charts(&helm, &project));
    write_parent(&project, &repository.url, "^1");
    helm.compare(&project, &["dependency", "list", "parent"]);
    helm.must(&project, &["dependency", "update", "parent"]);
    helm.compare(&project, &["dependency", "list", "parent"]);
    helm.compare(
        &project,
        &["dependency", "list", "parent", "--max-col-width", "12"],
    );
    // What is wrong with an archive is said by libraries, and they differ.
    project.write("parent/charts/web-9.0.0.tgz", "not an archive");
    helm.compare_output(&project, &["dependency", "list", "parent"]);
    fs::remove_file(project.path().join("parent/charts/web-9.0.0.tgz")).unwrap();
    write_parent(&project, &repository.url, "^2");
    fs::rename(
        project.path().join("parent/charts/local-0.3.0.tgz"),
        project.path().join("parent/charts/other.tgz"),
    )
    .unwrap();
    for chart in [
        "parent",
        "./parent/",
        "source/../parent",
        "source/local",
        "nowhere",
    ] {
        helm.compare(&project, &["dep", "ls", chart]);
    }
}

#[test]
fn credentials_go_to_their_own_server_alone() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let folder = folder_of_charts(&helm, &project);
    let other = Repository::serve(&folder);
    helm.must(&project, &["repo", "index", "repository", "--url", &other.url]);
    let repository = Repository::serve(&folder);
    let flags = ["--username", "me", "--password", "canary"];
    let template = ["template", "web", "--repo", &repository.url];
    let ended = project.run(&[template.as_slice(), &flags].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        repository.requests()[0].contains("Basic"),
        "{:?}",
        repository.requests()
    );
    assert_eq!(other.requests(), ["/web-2.0.0.tgz"]);
    let ended = project.run(&[template.as_slice(), &flags, &["--pass-credentials"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(other.requests()[1].contains("Basic"), "{:?}", other.requests());
}

#[test]
fn charts_are_rendered_from_where_helm_finds_them() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let repository = Repository::serve(&folder_of_charts(&helm, &project));
    let archive = format!("{}/web-1.0.0.tgz", repository.url);
    helm.must(&project, &["repo", "add", "here", &repository.url]);
    for arguments in [
        vec!["template", "demo", &archive],
        vec!["template", "demo", "web", "--repo", &repository.url],
        vec![
            "template",
            "demo",
            "web",
            "--repo",
            &repository.url,
            "--version",
            "~1.1",
        ],
        vec![
            "template",
            "demo",
            "web",
            "--repo",
            &repository.url,
            "--version",
            "7",
        ],
        vec!["template", "demo", "gone", "--repo", &repository.url],
        vec!["template", "demo", "here/web"],
        vec!["template", "demo", "here/web", "--version", "^1"],
        vec!["template", "demo", "here/web", "--version", "1.1.0"],
        vec!["template", "demo", "here/gone"],
        vec!["template", "demo", "gone/web"],
        vec!["template", "demo", "bare"],
        vec!["show", "chart", "here/web"],
        vec!["show", "chart", &archive],
    ] {
        helm.compare(&project, &arguments);
    }
    project.write("repository/values.yaml", "a: b\n");
    let values = format!("{}/values.yaml", repository.url);
    helm.compare(&project, &["template", "demo", "here/web", "-f", &values]);
}

#[test]
fn charts_come_from_a_registry_as_with_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let folder = folder_of_charts(&helm, &project);
    lay_out_registry(&folder);
    let registry = Repository::serve(&folder);
    let host = registry.url.trim_start_matches("http://");
    let chart = format!("oci://{host}/charts/web");
    let (tagged, gone) = (format!("{chart}:1.0.0"), format!("oci://{host}/charts/gone"));
    // The second time, the registry gives tokens, and nothing without one.
    for token in [None, Some("{\"token\": \"canary\"}")] {
        if let Some(token) = token {
            project.write("repository/token", token);
        }
        for arguments in [
            vec!["template", "demo", &chart],
            vec!["template", "demo", &chart, "--version", "^1"],
            vec!["template", "demo", &chart, "--version", "1.0.0"],
            vec!["template", "demo", &tagged],
            vec!["template", "demo", &tagged, "--version", "1.2.0"],
            vec!["template", "demo", &chart, "--version", "7.x"],
            vec!["show", "chart", &chart],
        ] {
            helm.compare(&project, &[arguments.as_slice(), &["--plain-http"]].concat());
        }
        helm.compare_output(
            &project,
            &["template", "demo", &gone, "--plain-http", "--version", "1.0.0"],
        );
        write_parent(&project, &format!("oci://{host}/charts"), "^1");
        compare(
            &helm,
            &project,
            &["dependency", "update", "parent", "--plain-http"],
            false,
        );
        compare(
            &helm,
            &project,
            &["dependency", "build", "parent", "--plain-http"],
            true,
        );
    }
    let ended = project.run(&[
        "template",
        "demo",
        &chart,
        "--plain-http",
        "--username",
        "me",
        "--password",
        "secret",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let asked = registry.requests();
    assert!(
        asked
            .iter()
            .any(|line| line.starts_with("/token") && line.ends_with("Basic bWU6c2VjcmV0")),
        "{asked:?}"
    );
}

#[test]
fn a_login_is_not_for_a_server_that_a_registry_redirects_to() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let folder = folder_of_charts(&helm, &project);
    lay_out_registry(&folder);
    let elsewhere = Repository::serve(&folder);
    project.write("registry/redirect", &elsewhere.url);
    let registry = Repository::serve(&project.path().join("registry"));
    let chart = registry.url.replace("http://", "oci://") + "/charts/web";
    let flags = ["--plain-http", "--username", "me", "--password", "canary"];
    let template = [&["template", "demo", chart.as_str()][..], &flags].concat();
    let ended = project.run(&template);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    // The same server asks for a login, with tokens of its own.
    project.write("repository/token", "{\"token\": \"canary\"}");
    let before = elsewhere.requests().len();
    let ended = project.run(&template);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("401 Unauthorized"), "{}", ended.stderr);
    let asked = elsewhere.requests().split_off(before);
    assert!(!asked.is_empty());
    let is_harmless = |line: &String| line.starts_with("/v2/") && !line.contains(' ');
    assert!(asked.iter().all(is_harmless), "{asked:?}");
}

#[test]
fn a_chart_that_is_not_what_the_registry_says_is_refused() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let folder = folder_of_charts(&helm, &project);
    lay_out_registry(&folder);
    for entry in fs::read_dir(folder.join("v2/charts/web/blobs"))
        .unwrap()
        .flatten()
    {
        fs::write(entry.path(), "something else").unwrap();
    }
    let registry = Repository::serve(&folder);
    let chart = registry.url.replace("http://", "oci://") + "/charts/web";
    let ended = project.run(&["template", "demo", &chart, "--plain-http"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("the chart has not the digest sha256:"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_archive_that_is_not_what_the_index_says_is_refused() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let folder = folder_of_charts(&helm, &project);
    let repository = Repository::serve(&folder);
    fs::copy(folder.join("web-1.0.0.tgz"), folder.join("web-2.0.0.tgz")).unwrap();
    write_parent(&project, &repository.url, "^2");
    let ended = project.run(&["dependency", "update", "parent"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("has the digest"), "{}", ended.stderr);
    assert_eq!(left(&project), (Vec::new(), String::new()));
    for command in [&["template", "demo"][..], &["show", "chart"]] {
        let ended = project.run(&[command, &["web", "--repo", &repository.url]].concat());
        assert_eq!(ended.code, Some(1));
        let complaint = format!("{}/web-2.0.0.tgz has the digest", repository.url);
        assert!(ended.stderr.contains(&complaint), "{}", ended.stderr);
    }
}
