//! A newer chart in a project that people have edited.

use std::fs;

use steersman_chart::Chart;
use steersman_testkit::program::operator_sdk_or_say;

use super::{MEMCACHED, Place, built, files, run};
use crate::repository::Repository;

const UPDATE: &[&str] = &["create", "api", "--update", "--helm-chart", "../charts/newer"];

/// A project of the memcached chart, and a newer chart beside it.
fn outdated() -> Place {
    let place = Place::new();
    place.succeed(MEMCACHED);
    place.write_chart(
        "charts/newer",
        "0.0.3",
        "# -- Number of pods\nreplicaCount: 3\n\n# -- The image\nimage: memcached:1.6\n\n# -- New\nfresh: true\n",
    );
    place.write(
        "charts/newer/templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    place
}

#[test]
fn a_newer_chart_changes_what_nobody_has_edited() {
    let place = outdated();
    place.edit(
        "config/samples/cache_v1alpha1_memcached.yaml",
        "replicaCount: 3",
        "replicaCount: 1",
    );
    place.edit(
        "config/rbac/role.yaml",
        "##\n## Rules for",
        "# ours\n##\n## Rules for",
    );
    place.edit(
        "config/crd/bases/cache.example.com_memcacheds.yaml",
        "  scope: Namespaced",
        "    shortNames: [mc]\n  scope: Namespaced",
    );
    let before = files(&place.project());
    let shown = place.succeed(&[UPDATE, &["--dry-run"]].concat()).stdout;
    assert!(shown.contains("+  fresh: true\n"), "{shown}");
    assert_eq!(files(&place.project()), before);

    place.succeed(UPDATE);
    let sample = place.read("config/samples/cache_v1alpha1_memcached.yaml");
    assert!(
        sample.contains("replicaCount: 1\n") && sample.contains("memcached:1.6\n"),
        "{sample}"
    );
    let definition = place.read("config/crd/bases/cache.example.com_memcacheds.yaml");
    assert!(
        definition.contains("fresh:\n") && definition.contains("shortNames: [mc]\n"),
        "{definition}"
    );
    let role = place.read("config/rbac/role.yaml");
    assert!(
        role.contains("- configmaps\n") && role.contains("# ours\n"),
        "{role}"
    );
    assert!(
        place
            .read("helm-charts/memcached/Chart.yaml")
            .contains("version: 0.0.3\n")
    );
    built(&place.project(), "default");
    // A second time there is nothing to do.
    let before = files(&place.project());
    let said = place.succeed(UPDATE);
    assert_eq!(
        said.stderr,
        "helm-charts/memcached has everything of 0.0.3 already\n"
    );
    assert_eq!(files(&place.project()), before);
}

#[test]
fn no_edit_is_lost_to_a_newer_chart() {
    let place = outdated();
    place.edit(
        "config/samples/cache_v1alpha1_memcached.yaml",
        "memcached:1.5",
        "mine:1",
    );
    let said = place.run(UPDATE);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("\n  config/samples/cache_v1alpha1_memcached.yaml\n"),
        "{}",
        said.stderr
    );
    assert!(
        place
            .read("config/samples/cache_v1alpha1_memcached.yaml")
            .contains("mine:1\n")
    );
    assert!(
        place
            .read("config/samples/cache_v1alpha1_memcached.yaml.new")
            .contains("memcached:1.6\n")
    );
    // What was said is not said again.
    let before = files(&place.project());
    place.succeed(UPDATE);
    assert_eq!(files(&place.project()), before);

    let place = outdated();
    place.edit(
        "config/samples/cache_v1alpha1_memcached.yaml",
        "memcached:1.5",
        "mine:1",
    );
    let said = place.run(&[UPDATE, &["--conflict-markers"]].concat());
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let sample = place.read("config/samples/cache_v1alpha1_memcached.yaml");
    assert!(
        sample.contains("mine:1\n") && sample.contains("memcached:1.6\n"),
        "{sample}"
    );
}

#[test]
fn an_edited_chart_is_noticed_and_merged() {
    let place = outdated();
    place.edit(
        "helm-charts/memcached/values.yaml",
        "replicaCount: 3",
        "replicaCount: 7",
    );
    place.write(
        "memcached-operator/helm-charts/memcached/templates/own.yaml",
        "# ours\n",
    );
    place.refuse(UPDATE, "files of helm-charts/memcached were edited");
    place.succeed(&[UPDATE, &["--base-chart", "../charts/memcached"]].concat());
    let values = place.read("helm-charts/memcached/values.yaml");
    assert!(
        values.contains("replicaCount: 7\n") && values.contains("fresh: true\n"),
        "{values}"
    );
    assert_eq!(place.read("helm-charts/memcached/templates/own.yaml"), "# ours\n");
    place.refuse(&["create", "api", "--update"], "the newer chart is missing");
    place.refuse(
        &[UPDATE, &["--kind", "Other"]].concat(),
        "no kind of the project is called so",
    );
}

#[test]
fn the_plural_of_a_kind_is_remembered() {
    let place = outdated();
    fs::remove_dir_all(place.project()).unwrap();
    fs::create_dir(place.project()).unwrap();
    place.succeed(&[MEMCACHED, &["--plural=memcached"]].concat());
    assert!(place.read("PROJECT").contains("  plural: memcached\n"));
    place.refuse(
        &["create", "api", "--group=cache", "--kind=Memcached"],
        "the API resource already exists",
    );
    place.succeed(UPDATE);
    let definition = place.read("config/crd/bases/cache.example.com_memcached.yaml");
    assert!(definition.contains("fresh:\n"), "{definition}");
}

/// The flags of a repository that has the chart of the project, and the newer one.
fn shelf(place: &Place) -> [String; 2] {
    let mut index = "apiVersion: v1\nentries:\n  memcached:\n".to_owned();
    for (folder, version) in [("charts/newer", "0.0.3"), ("charts/memcached", "0.0.2")] {
        let chart = Chart::load(&place.path(folder)).unwrap();
        let file = format!("memcached-{version}.tgz");
        fs::create_dir_all(place.path("served")).unwrap();
        fs::write(place.path("served").join(&file), chart.package(0).unwrap()).unwrap();
        index.extend([format!(
            "  - {{apiVersion: v2, name: memcached, version: {version}, urls: [{file}]}}\n"
        )]);
    }
    place.write("served/index.yaml", &index);
    let repository = Repository::serve(&place.path("served"));
    [
        "--helm-chart=memcached".to_owned(),
        format!("--helm-chart-repo={}", repository.url),
    ]
}

#[test]
fn what_an_edited_chart_was_made_of_is_where_the_newer_one_is() {
    let place = outdated();
    let source = shelf(&place);
    let update = ["create", "api", "--update", &source[0], &source[1]];
    place.edit(
        "helm-charts/memcached/values.yaml",
        "replicaCount: 3",
        "replicaCount: 7",
    );
    place.succeed(&update);
    let values = place.read("helm-charts/memcached/values.yaml");
    assert!(
        values.contains("replicaCount: 7\n") && values.contains("fresh: true\n"),
        "{values}"
    );
    let before = files(&place.project());
    place.succeed(&update);
    assert_eq!(files(&place.project()), before);
}

#[test]
fn a_project_of_operator_sdk_takes_a_newer_chart() {
    let Some(sdk) = operator_sdk_or_say("an update of a project") else {
        return;
    };
    let place = outdated();
    let source = shelf(&place);
    fs::remove_dir_all(place.project()).unwrap();
    fs::create_dir(place.project()).unwrap();
    let kind = [
        "--group=cache",
        "--version=v1alpha1",
        "--kind=Memcached",
        "--helm-chart-version=0.0.2",
    ];
    let init = [
        &[
            "init",
            "--plugins=helm",
            "--domain=example.com",
            &source[0],
            &source[1],
        ],
        &kind[..],
    ]
    .concat();
    let said = run(&sdk, &place.project(), &init);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    place.edit(
        "helm-charts/memcached/templates/deployment.yaml",
        "kind: Deployment",
        "# ours\nkind: Deployment",
    );
    let role = place.read("config/rbac/role.yaml");

    let update = ["create", "api", "--update", &source[0], &source[1]];
    let said = place.run(&update);
    // What operator-sdk grants is not what the older chart would have been granted: only that is left to a person.
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let conflicts: Vec<&str> = said
        .stderr
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_eq!(conflicts, ["  config/rbac/role.yaml"], "{}", said.stderr);
    assert_eq!(place.read("config/rbac/role.yaml"), role);
    assert!(place.read("config/rbac/role.yaml.new").contains("- configmaps\n"));
    let read = |path: &str, part: &str| {
        let text = place.read(path);
        assert!(text.contains(part), "{path}: {text}");
    };
    read("helm-charts/memcached/Chart.yaml", "version: 0.0.3\n");
    read("helm-charts/memcached/templates/deployment.yaml", "# ours\n");
    read("config/crd/bases/cache.example.com_memcacheds.yaml", "fresh:\n");
    read("config/samples/cache_v1alpha1_memcached.yaml", "fresh: true\n");
    built(&place.project(), "default");

    let before = files(&place.project());
    place.succeed(&update);
    assert_eq!(files(&place.project()), before);
}
