use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use steersman_model::Environment;

use crate::{AnsibleContent, Watches, WatchesError};

/// A folder with a chart `web`, a role `cache` in a folder of roles and in a collection, and a playbook `site.yml`.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let make = |path: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(&path).unwrap();
        path
    };
    fs::write(
        make("web").join("Chart.yaml"),
        "{apiVersion: v2, name: web, version: 1.0.0}",
    )
    .unwrap();
    for role in [
        "below/roles/cache",
        "beside/other",
        "ansible_collections/acme/tools/roles/cache",
    ] {
        make(&format!("{role}/tasks"));
    }
    fs::write(folder.path().join("site.yml"), "[]").unwrap();
    folder
}

fn load(folder: &Path, text: &str, variables: &[(&str, &str)]) -> String {
    let place = folder.to_str().unwrap();
    let text = text.replace("DIR", place);
    let roles = format!("{place}/below:{place}/beside");
    let fixed = [
        ("ANSIBLE_ROLES_PATH", roles.as_str()),
        ("ANSIBLE_COLLECTIONS_PATH", place),
    ];
    let environment: Environment = variables
        .iter()
        .chain(&fixed)
        .map(|(name, value)| ((*name).to_owned(), value.replace("DIR", place)))
        .collect();
    let said = match Watches::read(text.as_bytes(), Path::new(""), BTreeMap::new(), &environment) {
        Ok(watches) => describe(&watches),
        Err(problems) => {
            let path = PathBuf::from("watches.yaml");
            let error = WatchesError::Invalid { path, problems };
            let hint = error.hint().map(|hint| {
                format!(
                    "hint: {hint}
"
                )
            });
            format!(
                "{error}
{}",
                hint.unwrap_or_default()
            )
        }
    };
    let current = std::env::current_dir().unwrap();
    said.replace(place, "DIR")
        .replace(current.to_str().unwrap(), "CURRENT")
}

fn describe(watches: &Watches) -> String {
    let mut text = String::new();
    for watch in watches {
        let _ = writeln!(
            text,
            "{} {}: chart {}",
            watch.line,
            watch.gvk.kind,
            watch.chart.name()
        );
    }
    for watch in watches.ansible() {
        let path = |content: &AnsibleContent| match content {
            AnsibleContent::Role(path) => format!("role {}", path.display()),
            AnsibleContent::Playbook(path) => format!("playbook {}", path.display()),
        };
        let (api, kind) = (watch.gvk.api_version(), &watch.gvk.kind);
        let _ = writeln!(text, "{} {api} {kind}: {}", watch.line, path(&watch.content));
        if !watch.vars.is_empty() {
            let _ = writeln!(text, "  vars {}", serde_json::to_string(&watch.vars).unwrap());
        }
        if let Some(finalizer) = &watch.finalizer {
            let what = finalizer
                .content
                .as_ref()
                .map_or_else(|| "the same".to_owned(), path);
            let vars = serde_json::to_string(&finalizer.vars).unwrap();
            let _ = writeln!(text, "  finalizer {}: {what} with {vars}", finalizer.name);
        }
        let switches = [
            ("status", watch.manage_status),
            ("dependents", watch.watch_dependents),
            ("cluster-scoped", watch.watch_cluster_scoped),
            ("snake", watch.snake_case_parameters),
            ("annotations", watch.watch_annotations),
            ("unsafe", watch.mark_unsafe),
            ("delete", watch.delete_dependents),
        ];
        let on = switches.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name);
        let _ = writeln!(
            text,
            "  {}; artifacts {}, period {:?}, limit {:?}, verbosity {:?}, selector `{}`, account {:?}",
            on.collect::<Vec<_>>().join(" "),
            watch.max_runner_artifacts,
            watch.reconcile_period,
            watch.max_concurrent_reconciles,
            watch.verbosity,
            watch.selector,
            watch.service_account,
        );
        for kind in &watch.blacklist {
            let _ = writeln!(text, "  never {} {}", kind.api_version(), kind.kind);
        }
    }
    for notice in watches.notices() {
        let _ = writeln!(text, "notice {}: {}: {}", notice.line, notice.key, notice.message);
    }
    text
}

fn check(text: &str, variables: &[(&str, &str)], expect: &Expect) {
    let folder = project();
    expect.assert_eq(&load(folder.path(), text, variables));
}

#[test]
fn an_entry_without_anything_optional_has_the_defaults_of_ansible_operator() {
    check(
        "- {version: v1, kind: ConfigMap, role: cache}\n",
        &[],
        &expect![[r"
            1 v1 ConfigMap: role DIR/below/roles/cache
              status dependents snake; artifacts 20, period None, limit None, verbosity None, selector ``, account None
        "]],
    );
}

#[test]
fn every_field_is_read_and_the_environment_stands_in_the_file() {
    check(
        r#"
- group: example.com
  version: v1
  kind: Web
  chart: DIR/web
- group: cache.example.com
  version: v1alpha1
  kind: Cache
  playbook: $PLACE/site.yml
  vars: {size: 3, names: [a, "${NAME}"], kept: "${NOWHERE} and $NOWHERE", nested: {on: true}, more: $MORE}
  maxRunnerArtifacts: 0
  reconcilePeriod: 90s
  manageStatus: False
  watchDependentResources: no
  watchClusterScopedResources: true
  snakeCaseParameters: false
  watchAnnotationsChanges: true
  markUnsafe: true
  blacklist:
  - {version: v1, kind: Pod}
  - {group: batch, version: v1, kind: Job}
  finalizer:
    name: cache.example.com/finalizer
    role: acme.tools.cache
    vars: {state: absent}
  selector: {matchLabels: {tier: cache}}
  maxConcurrentReconciles: 3
  serviceAccountName: runner
  deleteDependents: true
  verbose: 7
"#,
        &[
            ("PLACE", "DIR"),
            ("NAME", "b"),
            ("MORE", "{x: 1}"),
            ("ANSIBLE_VERBOSITY_CACHE_CACHE_EXAMPLE_COM", "4"),
            ("WORKER_CACHE_CACHE_EXAMPLE_COM", "5"),
        ],
        &expect![[r#"
            2 Web: chart web
            6 cache.example.com/v1alpha1 Cache: playbook DIR/site.yml
              vars {"kept":"${NOWHERE} and $NOWHERE","more":{"x":1},"names":["a","b"],"nested":{"true":true},"size":3}
              finalizer cache.example.com/finalizer: role DIR/ansible_collections/acme/tools/roles/cache with {"state":"absent"}
              cluster-scoped annotations unsafe delete; artifacts 20, period Some(90s), limit Some(5), verbosity Some(4), selector `tier=cache`, account Some("runner")
              never v1 Pod
              never batch/v1 Job
            notice 30: [1].verbose: unknown field is ignored
            notice 6: [1]: the environment variable `WORKER_CACHE_CACHE_EXAMPLE_COM` is deprecated; its new name is `MAX_CONCURRENT_RECONCILES_CACHE_CACHE_EXAMPLE_COM`
        "#]],
    );
}

#[test]
fn a_role_is_looked_for_where_ansible_operator_looks_for_it() {
    check(
        "- {version: v1, kind: A, role: cache}\n- {version: v1, kind: B, role: other}\n- {version: v1, kind: C, role: \
         acme.tools.cache, finalizer: {name: a/b, vars: {state: absent}}}\n- {version: v1, kind: D, role: DIR/beside/other}\n",
        &[
            ("ANSIBLE_VERBOSITY_A_", "9"),
            ("MAX_CONCURRENT_RECONCILES_A_", "none"),
        ],
        &expect![[r#"
            1 v1 A: role DIR/below/roles/cache
              status dependents snake; artifacts 20, period None, limit None, verbosity None, selector ``, account None
            2 v1 B: role DIR/beside/other
              status dependents snake; artifacts 20, period None, limit None, verbosity None, selector ``, account None
            3 v1 C: role DIR/ansible_collections/acme/tools/roles/cache
              finalizer a/b: the same with {"state":"absent"}
              status dependents snake; artifacts 20, period None, limit None, verbosity None, selector ``, account None
            4 v1 D: role DIR/beside/other
              status dependents snake; artifacts 20, period None, limit None, verbosity None, selector ``, account None
            notice 1: [0]: the environment variable `MAX_CONCURRENT_RECONCILES_A_` is not a whole number from 1 to 1000000, so it does not count
            notice 1: [0]: the environment variable `ANSIBLE_VERBOSITY_A_` is not a whole number from 0 to 7, so it does not count
        "#]],
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    check(
        "- {version: v1, kind: A, role: nowhere, finalizer: {name: a/b/c}, maxRunnerArtifacts: many, vars: [1]}\n\
         - {version: v1, kind: A, playbook: nowhere.yml, chart: DIR/web, blacklist: [{version: v1}], finalizer: {vars: {a: 1}}}\n\
         - {version: v1, kind: B, role: ''}\n",
        &[],
        &expect![[r"
            watches.yaml:1:32: [0].role: role `nowhere` was not found
            watches.yaml:1:52: [0].finalizer: a finalizer names a role, a playbook or vars
            watches.yaml:1:59: [0].finalizer.name: `a/b/c` is not a name such as `cache.example.com/finalizer`
            watches.yaml:1:87: [0].maxRunnerArtifacts: expected a whole number from 0 to 1000000, found the text `many`
            watches.yaml:1:99: [0].vars: expected a map of variables, found a list
            watches.yaml:2:3: [1]: A in v1 is watched by the entry on line 1 already
            watches.yaml:2:36: [1].playbook: playbook `nowhere.yml` was not found
            watches.yaml:2:56: [1].chart: an entry has either a chart, or a role or playbook
            watches.yaml:2:89: [1].blacklist[0]: `kind` must not be empty
            watches.yaml:2:116: [1].finalizer: `name` must not be empty
            watches.yaml:3:3: [2]: `role` or `playbook` must not be empty
            hint: it was looked for at DIR/below/nowhere, DIR/below/roles/nowhere, DIR/beside/nowhere, DIR/beside/roles/nowhere, CURRENT/roles/nowhere
        "]],
    );
}

#[test]
fn variables_that_change_the_list_are_a_problem() {
    let entry = "- {version: v1, kind: A, role: cache}\n$MORE\n";
    check(
        &entry.replace("$MORE", "# $MORE"),
        &[("MORE", "\n- {}")],
        &expect![[r"
            watches.yaml: the environment's variables change how many entries there are
        "]],
    );
    check(
        &entry.replace("$MORE", "# $MORE"),
        &[("MORE", "\n]")],
        &expect![[r"
            watches.yaml:3: not valid YAML: did not find expected '-' indicator
            hint: this is about the file with the environment's variables in it
        "]],
    );
}
