//! A newer chart in a project that people have edited.

use super::{MEMCACHED, Place, built, files};

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
    assert!(
        place
            .read("config/crd/bases/cache.example.com_memcacheds.yaml")
            .contains("fresh:\n")
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
    place.succeed(UPDATE);
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
