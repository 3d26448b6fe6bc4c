//! `create procedure`: what it adds to a project, and what it refuses.

use std::collections::BTreeMap;

use super::{MEMCACHED, Place, built, files, names};

const BACKUP: &[&str] = &[
    "create",
    "procedure",
    "backup",
    "--kind=Memcached",
    "--run-kind=CacheBackup",
];

/// A project with comments of somebody in its watches.yaml.
fn project() -> Place {
    let place = Place::new();
    place.succeed(MEMCACHED);
    place.edit(
        "watches.yaml",
        "  chart: helm-charts/memcached\n",
        "  chart: helm-charts/memcached # ours\n  # Nothing is changed by hand.\n  driftDetection:\n      mode: enabled\n",
    );
    place
}

/// What the commands write that a project is made by, besides what there is.
fn generated(place: &Place) -> BTreeMap<String, String> {
    let before = files(&place.project());
    place.succeed(&["crd", "--output-dir", "config/crd/bases"]);
    let after = files(&place.project());
    let changed = after
        .into_iter()
        .filter(|(path, text)| before.get(path) != Some(text));
    changed.collect()
}

#[test]
fn a_procedure_comes_with_all_that_it_needs() {
    let place = project();
    let before = files(&place.project());
    let said = place.succeed(&[BACKUP, &["--schedule=0 3 * * *", "--before-upgrade"]].concat());
    let next = "next: write the Job in helm-charts/memcached/procedures/backup.yaml, then `make install`; \
                `steersman procedure run backup memcached/NAME --wait` carries it out\n";
    assert!(said.stderr.ends_with(next), "{}", said.stderr);
    let after = files(&place.project());
    let new: Vec<&str> = after
        .keys()
        .filter(|path| !before.contains_key(*path))
        .map(String::as_str)
        .collect();
    assert_eq!(
        new,
        [
            "config/crd/bases/cache.example.com_cachebackups.yaml",
            "config/rbac/cachebackup_admin_role.yaml",
            "config/rbac/cachebackup_editor_role.yaml",
            "config/rbac/cachebackup_viewer_role.yaml",
            "config/samples/cache.example.com_v1alpha1_cachebackup.yaml",
            "helm-charts/memcached/procedures/backup.yaml",
        ]
    );
    let changed = before
        .iter()
        .filter(|(path, text)| after.get(*path) != Some(text));
    let changed: Vec<&str> = changed.map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        changed,
        [
            "config/crd/bases/cache.example.com_memcacheds.yaml",
            "config/crd/kustomization.yaml",
            "config/rbac/kustomization.yaml",
            "config/rbac/role.yaml",
            "config/samples/kustomization.yaml",
            "watches.yaml",
        ]
    );
    let entry = "  procedures:\n  - name: backup\n    kind: CacheBackup\n    job: procedures/backup.yaml\n    schedule: {cron: \
                 \"0 3 * * *\"}\n    before: {upgrade: true}\n";
    let marker = "# +kubebuilder:scaffold:watch";
    assert_eq!(
        after["watches.yaml"],
        before["watches.yaml"].replace(marker, &format!("{entry}{marker}"))
    );
    assert!(after["config/crd/bases/cache.example.com_memcacheds.yaml"].contains("lastSuccess:"));
    assert!(after["config/rbac/role.yaml"].contains("  - cachebackups/status\n"));

    // One more, with what a run says.
    place.succeed(&[
        "create",
        "procedure",
        "restore",
        "--kind=Memcached",
        "--parameter=snapshot",
        "--parameter=keepDays",
        "--confirm",
        "--exclusive",
    ]);
    let added = "  - name: restore\n    job: procedures/restore.yaml\n    exclusive: true\n    confirm: true\n    parameters:\n      \
                 snapshot: {required: true}\n      keepDays: {required: true}\n";
    assert_eq!(
        place.read("watches.yaml"),
        after["watches.yaml"].replace(marker, &format!("{added}{marker}"))
    );
    let job = place.read("helm-charts/memcached/procedures/restore.yaml");
    let variable =
        "            - name: KEEP_DAYS\n              value: {{ .Procedure.parameters.keepDays | quote }}\n";
    assert!(job.contains(variable), "{job}");
    let sample = place.read("config/samples/cache.example.com_v1alpha1_memcachedrestore.yaml");
    assert!(sample.contains("  resource: memcached-sample\n"), "{sample}");

    assert_eq!(place.succeed(&["check", "--strict"]).stdout, "nothing is wrong\n");
    assert_eq!(generated(&place), BTreeMap::new());
    place.succeed(&["rbac", "check", "--role=config/rbac/role.yaml"]);
    let printed = place.succeed(&["rbac", "generate"]).stdout;
    let rules = |role: &str| {
        let begin = role
            .find("## Rules for cache.example.com/v1alpha1, Kind: Memcached\n")
            .unwrap();
        let end = role[begin..].find("kubebuilder:scaffold:rules").unwrap();
        role[begin..begin + end]
            .trim_end_matches(['#', '+', ' ', '\n'])
            .to_owned()
    };
    assert_eq!(rules(&place.read("config/rbac/role.yaml")), rules(&printed));
    let objects = names(&built(&place.project(), "default"));
    for name in [
        "CustomResourceDefinition cachebackups.cache.example.com",
        "CustomResourceDefinition memcachedrestores.cache.example.com",
        "ClusterRole memcached-operator-cachebackup-editor-role",
    ] {
        assert!(objects.contains(name), "{name}: {objects:?}");
    }
    assert_eq!(built(&place.project(), "samples").len(), 3);
}

#[test]
fn what_cannot_be_added_changes_nothing() {
    let place = project();
    let kind = "--kind=Memcached";
    place.succeed(BACKUP);
    let before = files(&place.project());
    let refuse = |arguments: &[&str], expect: &str| {
        place.refuse(&[&["create", "procedure"], arguments].concat(), expect);
        assert_eq!(files(&place.project()), before, "{arguments:?}");
    };
    refuse(
        &["backup", kind],
        "Memcached has a procedure backup already, on line 11\n",
    );
    refuse(
        &["other", "--kind=Shop"],
        "failed to add procedure other to watches.yaml: there is no entry for the kind Shop\n",
    );
    refuse(
        &["other", kind, "--version=v2"],
        "there is no entry for the kind Memcached\n",
    );
    refuse(
        &["../other", kind],
        "the procedure's name `../other` has to consist of",
    );
    // What the loader says.
    let told = |arguments: &[&str], expect: &str| {
        let said = place.run(&[&["create", "procedure", "other", kind], arguments].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        for expect in ["failed to add procedure other: nothing was written", expect] {
            assert!(said.stderr.contains(expect), "{expect}: {}", said.stderr);
        }
        assert_eq!(files(&place.project()), before, "{arguments:?}");
    };
    told(&["--schedule=daily"], "watches.yaml:");
    told(
        &["--schedule=@daily", "--confirm"],
        "nobody confirms what begins by itself",
    );
    told(
        &["--run-kind=CacheBackup"],
        "`CacheBackup` is another kind already",
    );
    told(
        &["--parameter=resource"],
        "each run has the field `resource` already",
    );

    place.write(
        "memcached-operator/helm-charts/memcached/procedures/other.yaml",
        "mine: true\n",
    );
    let before = files(&place.project());
    let other = ["create", "procedure", "other", kind];
    place.refuse(
        &other,
        "these files exist:\n  helm-charts/memcached/procedures/other.yaml\n",
    );
    assert_eq!(files(&place.project()), before);
    place.succeed(&[&other[..], &["--force"]].concat());
}

#[test]
fn entries_that_cannot_be_extended_are_left_alone() {
    let entry = |fields: &str| {
        format!("- group: cache.example.com\n  version: v1alpha1\n  kind: Memcached\n{fields}")
    };
    let chart = "  chart: helm-charts/memcached\n";
    for (text, expect) in [
        (
            entry(&format!("{chart}  procedures: []\n")),
            "line 5: the list `procedures` is written in brackets",
        ),
        (
            entry(&format!("{chart}  procedures:\n")),
            "line 5: `procedures` is there, and is no list",
        ),
        (
            "- {group: cache.example.com, version: v1alpha1, kind: Memcached, chart: helm-charts/memcached}\n".to_owned(),
            "line 1: the entry is written in braces",
        ),
        (
            entry("  role: memcached\n"),
            "the entry for Memcached has no chart, and procedures are of charts",
        ),
        (
            entry(chart) + &entry(chart).replace("v1alpha1", "v1"),
            "there are several entries for the kind Memcached",
        ),
        (
            entry("  chart: ../charts/memcached\n"),
            "the chart of Memcached is not in this folder: ../charts/memcached",
        ),
    ] {
        let place = Place::new();
        place.succeed(MEMCACHED);
        place.write("memcached-operator/watches.yaml", &text);
        let before = files(&place.project());
        place.refuse(BACKUP, expect);
        assert_eq!(files(&place.project()), before);
    }
}

#[test]
fn edits_stay() {
    let place = project();
    let role = "config/rbac/role.yaml";
    let mine = "# By hand.\n- apiGroups: [example.org]\n  resources: [things]\n  verbs: [get]\n";
    let last = "# +kubebuilder:scaffold:rules";
    place.edit(role, last, &format!("{mine}{last}"));
    let definition = "config/crd/bases/cache.example.com_memcacheds.yaml";
    place.edit(definition, "Number of pods", "How many pods there are");
    let said = place.succeed(&[BACKUP, &["--schedule-value=backup.schedule", "--group=cache"]].concat());
    let note = "note: the values.yaml of helm-charts/memcached has no backup.schedule";
    assert!(said.stderr.contains(note), "{}", said.stderr);
    assert!(
        place
            .read("watches.yaml")
            .contains("    schedule: {value: backup.schedule}\n")
    );
    let text = place.read(role);
    assert!(
        text.contains(mine) && text.contains("  - cachebackups\n"),
        "{text}"
    );
    let text = place.read(definition);
    assert!(
        text.contains("How many pods there are") && text.contains("lastSuccess:"),
        "{text}"
    );

    // What the rules of the procedure are put after is gone.
    let text = place.read(role);
    let (rules, _) = text.split_once("# By hand.\n").unwrap();
    let (rules, _) = rules.rsplit_once("# ").unwrap();
    place.write(&format!("memcached-operator/{role}"), &format!("{rules}{last}\n"));
    let ours = place.read(role);
    let said = place.run(&["create", "procedure", "restore", "--kind=Memcached"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    for told in [
        "edited where the procedure changes them:\n  config/rbac/role.yaml\n",
        "\nhint: your version stays",
    ] {
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
    assert_eq!(place.read(role), ours);
    assert!(
        place
            .read("config/rbac/role.yaml.new")
            .contains("  - memcachedrestores\n")
    );
    assert!(place.read("watches.yaml").contains("  - name: restore\n"));
}
