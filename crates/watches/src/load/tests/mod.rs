mod ansible;
mod procedures;
mod schema;
mod status;
mod values;

use std::fmt::Write as _;
use std::path::Path;

use expect_test::{Expect, expect};
use steersman_model::Environment;

use crate::{Watch, Watches, WatchesError};

/// What loading a text says: the problems, or the watches with what was noticed. `CHART` in the text is the path of a
/// chart that loads.
fn check(text: &str, expect: &Expect) {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("web");
    write_chart(&chart);
    let file = folder.path().join("watches.yaml");
    std::fs::write(&file, text.replace("CHART", chart.to_str().unwrap())).unwrap();
    let variables = [("TAG", "v7"), ("COMMA", "a,b")];
    let environment: Environment = variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let said = match Watches::load(&file, &environment) {
        Ok(watches) => describe(&watches),
        Err(error) => format!("{error}\n"),
    };
    expect.assert_eq(&said.replace(folder.path().to_str().unwrap(), "DIR"));
}

/// The watches of a file with one entry that has these further lines, or what is wrong with it, without its folder.
fn load_entry(further: &str) -> Result<Watches, String> {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("web");
    write_chart(&chart);
    std::fs::write(chart.join("values.yaml"), "text: five\ncluster: {size: 3}\n").unwrap();
    let file = folder.path().join("watches.yaml");
    let chart = chart.display();
    let entry = format!("- group: example.com\n  version: v1\n  kind: Web\n  chart: {chart}\n{further}");
    std::fs::write(&file, entry).unwrap();
    let loaded = Watches::load(&file, &Environment::default());
    loaded.map_err(|error| {
        error
            .to_string()
            .replace(&folder.path().display().to_string(), "DIR")
    })
}

fn write_chart(folder: &Path) {
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    )
    .unwrap();
}

fn describe(watches: &Watches) -> String {
    let mut text = String::new();
    for watch in watches {
        let Watch {
            gvk,
            chart,
            watch_dependents,
            selector,
            reconcile_period,
            ..
        } = watch;
        let override_values = &watch.values.override_values;
        if let Some(namespace) = &watch.release_namespace {
            let _ = write!(text, "releases in {namespace}: ");
        }
        if watch.compat.reuse_values && watch.compat.manifest_in_status {
            let _ = write!(text, "as of old ");
        }
        if watch.crds != crate::CrdPolicy::default() {
            let _ = write!(text, "crds={:?} ", watch.crds);
        }
        if watch.conflicts == crate::ConflictPolicy::Fail {
            text.push_str("conflicts fail ");
        }
        if watch.expand_claims {
            text.push_str("claims grow ");
        }
        if let Some(tests) = watch.tests {
            let _ = write!(text, "{tests:?} ");
        }
        if watch.drift != crate::drift::DriftDetection::default() {
            let _ = writeln!(text, "{:?}", watch.drift);
        }
        if let Some(account) = &watch.service_account {
            let _ = write!(text, "as {account} ");
        }
        if let Some(confinement) = &watch.confinement {
            let _ = writeln!(text, "{confinement:?}");
        }
        let limit = watch.max_concurrent_reconciles;
        let _ = writeln!(
            text,
            "{} {} {}: chart={} override={override_values:?} dependents={watch_dependents} selector={selector} \
             period={reconcile_period:?} limit={limit:?}",
            watch.line,
            gvk.api_version(),
            gvk.kind,
            chart.name(),
        );
    }
    for notice in watches.notices() {
        let _ = writeln!(text, "notice {}: {}: {}", notice.line, notice.key, notice.message);
    }
    text
}

#[test]
fn an_entry_without_anything_optional_has_the_defaults_of_helm_operator() {
    check(
        "- group: example.com\n  version: v1\n  kind: Web\n  chart: CHART\n",
        &expect![[r"
            1 example.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn every_field_is_read() {
    check(
        r#"
- group: example.com
  version: v1alpha1
  kind: Web
  chart: CHART
  watchDependentResources: no
  reconcilePeriod: 1h30m
  dryRunOption: server
  maxConcurrentReconciles: 3
  releaseNamespace: sites
  crds: create-replace
  conflicts: fail
  expandClaims: true
  test: {enable: true, timeout: 5m}
  reuseValues: true
  manifestInStatus: true
  selector:
    matchLabels: {app: web, tier: 1}
    matchExpressions:
    - {key: example.com/env, operator: In, values: [dev, "yes"]}
    - {key: old, operator: DoesNotExist}
  overrideValues:
    image.tag: ${TAG}
    list: "{$COMMA}"
    shout: '{{ "loud" | upper }}-{{ env "TAG" }}-{{ expandenv "$TAG" }}'
    replicas: 3
    ratio: 1.50
    flag: on
    nothing:
"#,
        &expect![[r#"
            releases in sites: as of old crds=CreateReplace conflicts fail claims grow TestPolicy { after_each_revision: true, timeout: Some(300s) } 2 example.com/v1alpha1 Web: chart=web override={"flag": "true", "image.tag": "v7", "list": "{a,b}", "nothing": "", "ratio": "1.5", "replicas": "3", "shout": "LOUD-v7-v7"} dependents=false selector=app=web,tier=1,example.com/env in (dev,yes),!old period=Some(5400s) limit=Some(3)
        "#]],
    );
}

#[test]
fn keys_are_read_in_any_case() {
    check(
        "- Group: example.com\n  VERSION: v1\n  kind: Web\n  Chart: CHART\n",
        &expect![[r"
            1 example.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn one_kind_in_two_groups_and_versions_is_fine() {
    check(
        "- {group: a.com, version: v1, kind: Web, chart: CHART}\n\
         - {group: b.com, version: v1, kind: Web, chart: CHART}\n\
         - {group: a.com, version: v2, kind: Web, chart: CHART}\n\
         - {version: v1, kind: Web, chart: CHART}\n",
        &expect![[r"
            1 a.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
            2 b.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
            3 a.com/v2 Web: chart=web override={} dependents=true selector= period=None limit=None
            4 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn unknown_and_repeated_fields_are_noticed() {
    check(
        "- group: example.com\n  version: v1\n  kind: Web\n  chart: /nowhere\n  chart: CHART\n  reconcilePeroid: 1m\n  \
         colour: red\n  selector: {matchlabels: {a: b}, matchExpression: []}\n",
        &expect![[r"
            1 example.com/v1 Web: chart=web override={} dependents=true selector=a=b period=None limit=None
            notice 5: [0].chart: given twice: this one counts, not the one on line 4
            notice 6: [0].reconcilePeroid: unknown field is ignored; did you mean `reconcilePeriod`?
            notice 7: [0].colour: unknown field is ignored
            notice 8: [0].selector.matchExpression: unknown field is ignored; did you mean `matchExpressions`?
        "]],
    );
}

#[test]
fn anchors_and_merges_are_no_repetition() {
    check(
        "- &base {group: a.com, version: v1, kind: Web, chart: CHART}\n\
         - <<: *base\n  kind: Site\n",
        &expect![[r"
            1 a.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
            2 a.com/v1 Site: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn an_unset_variable_is_noticed() {
    check(
        "- {version: v1, kind: Web, chart: CHART, overrideValues: {a: '${NOPE}x', b: $TAG}}\n",
        &expect![[r#"
            1 v1 Web: chart=web override={"a": "x", "b": "v7"} dependents=true selector= period=None limit=None
            notice 1: [0].overrideValues.a: the environment variable `NOPE` is not set; nothing stands in its place
        "#]],
    );
}

#[test]
fn every_problem_is_reported_with_its_place() {
    check(
        "- group: Example.com\n  kind: My Web\n  chart: /nowhere\n\
         - version: 1\n  kind: Web\n\
         - [a]\n\
         - version: v1\n  kind: {}\n  chart: CHART\n  watchDependentResources: 'true'\n  reconcilePeriod: 60\n  \
           maxConcurrentReconciles: 0\n  overrideValues: [a]\n  selector: all\n",
        &expect![[r"
            DIR/watches.yaml:1:3: [0]: `version` must not be empty
            DIR/watches.yaml:1:10: [0].group: `Example.com` is not a group such as `example.com`
            DIR/watches.yaml:2:9: [0].kind: `My Web` is not a kind such as `Memcached`
            DIR/watches.yaml:3:10: [0].chart: cannot load chart `/nowhere`: failed to read `/nowhere`: No such file or directory (os error 2)
            DIR/watches.yaml:4:3: [1]: `chart` must not be empty
            DIR/watches.yaml:4:12: [1].version: `1` is not a version such as `v1alpha1`
            DIR/watches.yaml:6:3: [2]: expected a map, found a list
            DIR/watches.yaml:8:9: [3].kind: expected a text, found a map
            DIR/watches.yaml:10:28: [3].watchDependentResources: expected true or false, found the text `true`
            DIR/watches.yaml:11:20: [3].reconcilePeriod: expected a duration such as `1m30s`, found the number `60`
            DIR/watches.yaml:12:28: [3].maxConcurrentReconciles: expected a whole number from 1 to 1000000, found the number `0`
            DIR/watches.yaml:13:19: [3].overrideValues: expected a map of texts, found a list
            DIR/watches.yaml:14:13: [3].selector: expected a map, found the text `all`
        "]],
    );
}

#[test]
fn a_dry_run_option_that_helm_does_not_know_is_noticed() {
    check(
        "- {version: v1, kind: Web, chart: CHART, dryRunOption: maybe}\n",
        &expect![[r"
            1 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
            notice 1: [0].dryRunOption: `maybe` is none of `client`, `server`
        "]],
    );
    check(
        "- {version: v1, kind: Web, chart: CHART, dryRunOption: server}\n",
        &expect![[r"
            1 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn a_duplicate_names_both_lines() {
    check(
        "- group: a.com\n  version: v1\n  kind: Web\n  chart: CHART\n- chart: CHART\n  kind: Web\n  version: v1\n  group: a.com\n",
        &expect![[r"
            DIR/watches.yaml:5:3: [1]: Web in a.com/v1 is watched by the entry on line 1 already
        "]],
    );
}

#[test]
fn durations_are_checked() {
    let entry =
        |period: &str| format!("- {{version: v1, kind: Web, chart: CHART, reconcilePeriod: {period}}}\n");
    check(
        &entry("-1s"),
        &expect![[r"
        DIR/watches.yaml:1:73: [0].reconcilePeriod: `-1s` is negative
    "]],
    );
    check(
        &entry("1 minute"),
        &expect![[r"
        DIR/watches.yaml:1:73: [0].reconcilePeriod: `1 minute` is not a duration such as `30s`, `1m30s` or `2h`
    "]],
    );
    check(
        &entry("'60'"),
        &expect![[r"
        DIR/watches.yaml:1:73: [0].reconcilePeriod: `60` has no unit; write `60s`, `60m` or `60h`
    "]],
    );
    check(
        &entry("[1m]"),
        &expect![[r"
        DIR/watches.yaml:1:73: [0].reconcilePeriod: expected a duration such as `1m30s`, found a list
    "]],
    );
    check(
        &entry("0s"),
        &expect![[r"
            1 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn selectors_are_checked() {
    check(
        "- version: v1\n  kind: Web\n  chart: CHART\n  selector:\n    matchLabels:\n      -bad-: ok\n      good: not good\n      \
         Bad.Prefix/x: y\n      list: []\n    matchExpressions:\n    - {key: a, operator: in, values: [x]}\n    \
         - {key: a, operator: In}\n    - {key: a, operator: Exists, values: [x]}\n    - {operator: Exists}\n    - {key: a}\n    \
         - {key: a, operator: In, values: x}\n    - a\n",
        &expect![[r"
            DIR/watches.yaml:6:7: [0].selector.matchLabels.-bad-: `-bad-` cannot be the key of a label (a name such as `app`, or `example.com/app`)
            DIR/watches.yaml:7:13: [0].selector.matchLabels.good: `not good` cannot be the value of a label (at most 63 letters, digits, `-`, `_` and `.`)
            DIR/watches.yaml:8:7: [0].selector.matchLabels.Bad.Prefix/x: `Bad.Prefix/x` cannot be the key of a label (a name such as `app`, or `example.com/app`)
            DIR/watches.yaml:9:13: [0].selector.matchLabels.list: expected a text, found a list
            DIR/watches.yaml:11:26: [0].selector.matchExpressions[0].operator: `in` is none of `In`, `NotIn`, `Exists`, `DoesNotExist`
            DIR/watches.yaml:12:26: [0].selector.matchExpressions[1].operator: `In` needs at least one of `values`
            DIR/watches.yaml:13:26: [0].selector.matchExpressions[2].operator: `Exists` takes no `values`
            DIR/watches.yaml:14:7: [0].selector.matchExpressions[3]: `key` is missing
            DIR/watches.yaml:15:7: [0].selector.matchExpressions[4]: `operator` is missing: `In`, `NotIn`, `Exists` or `DoesNotExist`
            DIR/watches.yaml:16:26: [0].selector.matchExpressions[5].operator: `In` needs at least one of `values`
            DIR/watches.yaml:16:38: [0].selector.matchExpressions[5].values: expected a list of texts, found the text `x`
            DIR/watches.yaml:17:7: [0].selector.matchExpressions[6]: expected a map, found the text `a`
        "]],
    );
    check(
        "- {version: v1, kind: Web, chart: CHART, selector: {matchLabels: [a]}}\n",
        &expect![[r"
            DIR/watches.yaml:1:80: [0].selector.matchLabels: expected a map of labels, found a list
        "]],
    );
}

#[test]
fn override_values_are_checked() {
    check(
        "- version: v1\n  kind: Web\n  chart: CHART\n  overrideValues:\n    a: '{{ nope }}'\n    b: '{{ fail \"no\" }}'\n    \
         c: '{{ .x.y }}'\n    d: {e: f}\n    g: '{{'\n",
        &expect![[r#"
            DIR/watches.yaml:5:8: [0].overrideValues.a: cannot be evaluated: template: a:1: function "nope" not defined
            DIR/watches.yaml:6:8: [0].overrideValues.b: cannot be evaluated: template: b:1:3: executing "b" at <fail "no">: error calling fail: no
            DIR/watches.yaml:8:8: [0].overrideValues.d: expected a text, found a map
            DIR/watches.yaml:9:8: [0].overrideValues.g: cannot be evaluated: template: g:1: unclosed action
        "#]],
    );
}

#[test]
fn values_from_the_environment_are_known_as_such() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("web"));
    let file = folder.path().join("watches.yaml");
    let text = format!(
        "- version: v1\n  kind: Web\n  chart: {}\n  overrideValues:\n    a: $TAG\n    b: x-${{TAG}}\n    \
         c: '{{{{ env \"TAG\" }}}}'\n    d: '{{{{ \"x\" | upper }}}}'\n    e: plain\n    f: $UNSET\n",
        folder.path().join("web").display()
    );
    std::fs::write(&file, text).unwrap();
    let environment = [("TAG".to_owned(), "v7".to_owned())].into_iter().collect();
    let watches = Watches::load(&file, &environment).unwrap();
    let keys = &watches.iter().next().unwrap().values.from_environment;
    assert_eq!(keys.iter().collect::<Vec<_>>(), ["a", "b", "c", "f"]);
}

#[test]
fn a_broken_chart_is_a_problem_of_its_line() {
    check(
        "- version: v1\n  kind: Web\n  chart: /nowhere\n- version: v1\n  kind: Site\n  chart: /nowhere\n",
        &expect![[r"
            DIR/watches.yaml:3:10: [0].chart: cannot load chart `/nowhere`: failed to read `/nowhere`: No such file or directory (os error 2)
            DIR/watches.yaml:6:10: [1].chart: cannot load chart `/nowhere`, as line 3 says
        "]],
    );
    check(
        "- version: v1\n  kind: Web\n  chart: [a]\n",
        &expect![[r"
        DIR/watches.yaml:3:10: [0].chart: expected a text, found a list
    "]],
    );
}

#[test]
fn a_file_of_another_shape_is_refused() {
    check(
        "",
        &expect![[r"
            DIR/watches.yaml: names no watch, so there is nothing to do
        "]],
    );
    check(
        "---\n",
        &expect![[r"
            DIR/watches.yaml: names no watch, so there is nothing to do
        "]],
    );
    check(
        "[]\n",
        &expect![[r"
        DIR/watches.yaml:1: names no watch, so there is nothing to do
    "]],
    );
    check(
        "# nothing yet\n",
        &expect![[r"
            DIR/watches.yaml: names no watch, so there is nothing to do
        "]],
    );
    check(
        "group: a.com\n",
        &expect![[r"
        DIR/watches.yaml:1: expected a list of watches, found a map; entries start with `- `
    "]],
    );
    check(
        "hello\n",
        &expect![[r"
        DIR/watches.yaml:1: expected a list of watches
    "]],
    );
    check(
        "- a: b\n c: [\n",
        &expect![[r"
        DIR/watches.yaml:2: not valid YAML: did not find expected '-' indicator
    "]],
    );
    check(
        "- a: *nowhere\n",
        &expect![[r"
        DIR/watches.yaml:1: not valid YAML: unknown anchor 'nowhere' referenced
    "]],
    );
    check(
        "-\n",
        &expect![[r"
        DIR/watches.yaml:1:2: [0]: expected a map, found nothing
    "]],
    );
    check(
        "- null\n- 1\n",
        &expect![[r"
        DIR/watches.yaml:1:3: [0]: expected a map, found nothing
        DIR/watches.yaml:2:3: [1]: expected a map, found the number `1`
    "]],
    );
}

#[test]
fn texts_of_users_do_not_reach_the_terminal_as_they_are() {
    check(
        "- {version: \"v\\e[31m\", kind: \"W\\nX\", chart: CHART, \"k\\e[0m\": 1}\n",
        &expect![[r"
            DIR/watches.yaml:1:13: [0].version: `v\u{1b}[31m` is not a version such as `v1alpha1`
            DIR/watches.yaml:1:30: [0].kind: `W\nX` is not a kind such as `Memcached`
        "]],
    );
}

#[test]
fn an_absent_file_is_named_with_a_hint() {
    for path in ["watches-nowhere.yaml", "/nowhere/watches.yaml"] {
        let error = Watches::load(Path::new(path), &Environment::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to read watches file `{path}`"));
        assert!(error.hint().unwrap().contains("--watches-file"));
    }
}

#[test]
fn drift_detection_is_read_as_flux_writes_it() {
    check(
        r"
- group: example.com
  version: v1
  kind: Web
  chart: CHART
  driftDetection:
    mode: warn
    ignore:
    - paths: [/spec/replicas, /metadata/annotations/example.com~1a]
      target: {kind: Deployment, version: v1, name: web-.*, labelSelector: 'tier in (a, b)', annotationSelector: '!x'}
",
        &expect![[r#"
            DriftDetection { mode: Warn, ignore: [IgnoreRule { paths: [FieldPath { steps: ["spec", "replicas"] }, FieldPath { steps: ["metadata", "annotations", "example.com/a"] }], target: Target { group: None, version: Some(Pattern { text: "v1", regex: Regex("^(?:v1)$") }), kind: Some(Pattern { text: "Deployment", regex: Regex("^(?:Deployment)$") }), namespace: None, name: Some(Pattern { text: "web-.*", regex: Regex("^(?:web-.*)$") }), labels: Some(Selector([In("tier", {"a", "b"})])), annotations: Some(Selector([DoesNotExist("x")])) } }] }
            2 example.com/v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "#]],
    );
    check(
        r"
- group: example.com
  version: v1
  kind: Web
  chart: CHART
  crds: replace
  conflicts: theirs
  expandClaims: true
  confine: {kinds: {allow: ['*.apps']}}
  driftDetection:
    mode: sometimes
    modus: warn
    ignore:
    - target: {kind: '('}
    - paths: [spec, 7, /metadata/name]
      target: {labelSelector: app~web}
",
        &expect![[r"
            DIR/watches.yaml:6:9: [0].crds: `replace` is none of `create`, `create-replace`, `skip`
            DIR/watches.yaml:7:14: [0].conflicts: `theirs` is none of `overwrite`, `fail`
            DIR/watches.yaml:8:17: [0].expandClaims: no PersistentVolumeClaim may be changed: `confine.kinds.allow` of the watch has no `PersistentVolumeClaim`
            DIR/watches.yaml:11:11: [0].driftDetection.mode: `sometimes` is none of `enabled`, `warn`, `disabled`
            DIR/watches.yaml:14:7: [0].driftDetection.ignore[0]: `paths` is missing
            DIR/watches.yaml:14:22: [0].driftDetection.ignore[0].target.kind: `(` is not a regular expression
            DIR/watches.yaml:15:15: [0].driftDetection.ignore[1].paths: `spec` is not a JSON pointer such as `/spec/replicas`
            DIR/watches.yaml:15:21: [0].driftDetection.ignore[1].paths: expected a JSON pointer, found the number `7`
            DIR/watches.yaml:15:24: [0].driftDetection.ignore[1].paths: `/metadata/name` says which object it is, and can't be ignored
            DIR/watches.yaml:16:31: [0].driftDetection.ignore[1].target.labelSelector: `app~web` is not a part of a selector such as `tier=web`
        "]],
    );
}

#[test]
fn an_account_and_bounds_are_read() {
    check(
        "- {version: v1, kind: Web, chart: CHART, serviceAccountName: deployer, confine: {}}\n",
        &expect![[r"
            as deployer Confinement { namespaces: {Release}, cluster_scoped: false, allowed_kinds: None, denied_kinds: [], lookup: Release }
            1 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
    check(
        r"
- version: v1
  kind: Web
  chart: CHART
  confine:
    namespaces: [release, shared]
    clusterScoped: true
    kinds: {allow: [Service, '*.apps'], deny: [Secret]}
    lookup: none
",
        &expect![[r#"
            Confinement { namespaces: {Release, Named("shared")}, cluster_scoped: true, allowed_kinds: Some([KindPattern { kind: Some("Service"), group: None }, KindPattern { kind: None, group: Some("apps") }]), denied_kinds: [KindPattern { kind: Some("Secret"), group: None }], lookup: None }
            2 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "#]],
    );
}

#[test]
fn bounds_that_are_none_are_problems() {
    check(
        "- {version: v1, kind: Web, chart: CHART, serviceAccountName: , confine: }\n",
        &expect![[r"
            DIR/watches.yaml:1:76: [0].serviceAccountName: expected a text, found nothing
            DIR/watches.yaml:1:87: [0].confine: expected a map, found nothing
        "]],
    );
    check(
        r"
- version: v1
  kind: Web
  chart: CHART
  serviceAccountName: Deployer
  confine:
    namespaces: [release, Shared]
    clusterScoped: 'no'
    kinds: {allow: [Service, 7], deny: Secret, forbid: []}
    lookup: some
",
        &expect![[r"
            DIR/watches.yaml:5:23: [0].serviceAccountName: `Deployer` is not a serviceAccountName such as `deployer`
            DIR/watches.yaml:7:27: [0].confine.namespaces: `Shared` is neither `release` nor the name of a namespace
            DIR/watches.yaml:8:20: [0].confine.clusterScoped: expected true or false, found the text `no`
            DIR/watches.yaml:9:30: [0].confine.kinds.allow: expected a text, found the number `7`
            DIR/watches.yaml:9:40: [0].confine.kinds.deny: expected a list of kinds, found the text `Secret`
            DIR/watches.yaml:10:13: [0].confine.lookup: `some` is none of `release`, `none`, `all`
        "]],
    );
}

/// What an entry with these fields says of its order, or what is wrong with them.
fn check_order(fields: &str, expect: &Expect) {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("web");
    write_chart(&chart);
    let file = folder.path().join("watches.yaml");
    let entry = format!(
        "- group: example.com\n  version: v1\n  kind: Web\n  chart: {}\n{fields}",
        chart.display()
    );
    std::fs::write(&file, entry).unwrap();
    let mut said = String::new();
    match Watches::load(&file, &Environment::default()) {
        Ok(watches) => {
            let order = &watches.iter().next().unwrap().order;
            let _ = write!(said, "{:?}", order.wait);
            if let Some(convention) = order.convention {
                let _ = write!(said, " {convention:?}");
            }
            said.push('\n');
            for stage in &order.stages {
                let (name, targets) = (&stage.name, stage.objects.len());
                let _ = writeln!(
                    said,
                    "{name}: {targets} targets, {:?}, approve={}",
                    stage.timeout, stage.approve
                );
            }
        }
        Err(error) => {
            let _ = writeln!(said, "{error}");
        }
    }
    expect.assert_eq(&said.replace(folder.path().to_str().unwrap(), "DIR"));
}

#[test]
fn waiting_is_asked_for_in_a_word_or_with_numbers() {
    check_order(
        "  wait: true\n",
        &expect![[r"
        Some(Wait { timeout: 300s, jobs: false })
    "]],
    );
    check_order(
        "  wait: false\n",
        &expect![[r"
        None
    "]],
    );
    check_order(
        "  wait: {timeout: 20m, jobs: true}\n",
        &expect![[r"
        Some(Wait { timeout: 1200s, jobs: true })
    "]],
    );
    check_order(
        "  wait: 5\n",
        &expect![[r"
        DIR/watches.yaml:5:9: [0].wait: expected a map, found the number `5`
    "]],
    );
    check_order(
        "  wait: {timeout: 0s, job: true}\n",
        &expect![[r"
        DIR/watches.yaml:5:19: [0].wait.timeout: nothing gets ready in no time
    "]],
    );
}

#[test]
fn stages_have_names_and_objects() {
    check_order(
        r"
  stages:
  - {name: database, objects: [{kind: StatefulSet, name: .*-db}, {kind: Service}], timeout: 20m}
  - {name: web, objects: [{kind: Deployment}], approve: true}
",
        &expect![[r"
            None
            database: 2 targets, Some(1200s), approve=false
            web: 1 targets, None, approve=true
        "]],
    );
    check_order(
        r"
  stages:
  - {objects: [{kind: StatefulSet}]}
  - {name: Web, objects: [{kind: Deployment}]}
  - {name: unclaimed, objects: [{kind: '('}]}
  - {name: web}
  - {name: web, objects: [{}]}
  - {name: jobs, objects: {kind: Job}, timeout: soon, approve: 3}
  - jobs
",
        &expect![[r"
            DIR/watches.yaml:7:5: [0].stages[0]: `name` is missing
            DIR/watches.yaml:8:12: [0].stages[1].name: `Web` is not a name (at most 63 lower-case letters, digits and `-`)
            DIR/watches.yaml:9:12: [0].stages[2].name: `unclaimed` is what the objects are called that no stage claims
            DIR/watches.yaml:9:33: [0].stages[2].objects: matches every object, as it names nothing
            DIR/watches.yaml:9:40: [0].stages[2].objects[0].kind: `(` is not a regular expression
            DIR/watches.yaml:10:5: [0].stages[3]: `objects` names no object
            DIR/watches.yaml:11:12: [0].stages[4].name: two stages are called `web`
            DIR/watches.yaml:11:27: [0].stages[4].objects: matches every object, as it names nothing
            DIR/watches.yaml:12:27: [0].stages[5].objects: expected a list of targets such as `kind: StatefulSet`, found a map
            DIR/watches.yaml:12:49: [0].stages[5].timeout: `soon` is not a duration such as `30s`, `1m30s` or `2h`
            DIR/watches.yaml:12:64: [0].stages[5].approve: expected true or false, found the number `3`
            DIR/watches.yaml:13:5: [0].stages[6]: expected a map, found the text `jobs`
        "]],
    );
}

#[test]
fn an_order_is_said_once_and_in_known_words() {
    check_order(
        "  order: argocd\n",
        &expect![[r"
            None ArgoCd
        "]],
    );
    check_order(
        "  order: flux\n  stages:\n  - {name: web, objects: [{kind: Deployment}]}\n",
        &expect![[r"
            DIR/watches.yaml:5:10: [0].order: the order is said by `stages` already
            DIR/watches.yaml:5:10: [0].order: `flux` is none of `helm`, `argocd`, `nelm`
        "]],
    );
}

#[test]
fn a_health_check_is_read() {
    check(
        "- version: v1\n  kind: Web\n  chart: CHART\n  healthChecks:\n  - apiVersion: a.com/v1\n    kind: Db\n    \
         current: status.ready == true\n    failed: 'has(status.error)'\n  - {apiVersion: v1, kind: Pod, current: \
         'true', inProgress: ''}\n",
        &expect![[r"
            1 v1 Web: chart=web override={} dependents=true selector= period=None limit=None
        "]],
    );
}

#[test]
fn all_that_is_wrong_with_health_checks_is_said() {
    check(
        "- version: v1\n  kind: Web\n  chart: CHART\n  healthChecks:\n  - {apiVersion: a.com/v1, kind: Db, current: \
         'a ==', failed: 'reddy(a)'}\n  - {apiVersion: a.com/v1, kind: Cache, current: a, inProgres: b}\n  - \
         {apiVersion: a.com/v2, kind: Cache, current: a}\n  - {kind: db, current: [a]}\n  - {apiVersion: a/b/c, kind: \
         Db}\n  - nothing\n- {version: v1, kind: Site, chart: CHART, healthChecks: {a: b}}\n",
        &expect![[r"
            DIR/watches.yaml:5:47: [0].healthChecks[0].current: no expression: syntax error: mismatched input '<EOF>' expecting expression at column 5
            DIR/watches.yaml:5:63: [0].healthChecks[0].failed: no expression: the function `reddy` is not known
            DIR/watches.yaml:6:53: [0].healthChecks[1].inProgres: unknown field; did you mean `inProgress`?
            DIR/watches.yaml:7:5: [0].healthChecks[2]: Cache has a check on line 6 already: the version does not count
            DIR/watches.yaml:8:5: [0].healthChecks[3]: `apiVersion` must not be empty
            DIR/watches.yaml:8:25: [0].healthChecks[3].current: expected a text, found a list
            DIR/watches.yaml:9:5: [0].healthChecks[4]: `current` must not be empty
            DIR/watches.yaml:9:18: [0].healthChecks[4].apiVersion: `a/b/c` is no apiVersion such as `example.com/v1`
            DIR/watches.yaml:10:5: [0].healthChecks[5]: expected a map, found the text `nothing`
            DIR/watches.yaml:11:71: [1].healthChecks: expected a list of health checks, found a map
        "]],
    );
}

#[test]
fn dependencies_are_read_and_each_mistake_is_named() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path());
    let load = |depends_on: &str| {
        let entry = format!(
            "- group: example.com\n  version: v1\n  kind: Web\n  chart: {}\n  dependsOn:\n{depends_on}",
            folder.path().display()
        );
        let file = folder.path().join("watches.yaml");
        std::fs::write(&file, entry).unwrap();
        Watches::load(&file, &Environment::default())
    };
    let watches = load(
        "  - {apiVersion: apps/v1, kind: Deployment, name: '{{ .metadata.name }}-db', namespace: shared, readyExpr: 'true'}\n  \
         - {apiVersion: v1, kind: Secret, name: vault}\n",
    );
    let watches = watches.unwrap();
    let [deployment, secret] = watches.iter().next().unwrap().depends_on.as_slice() else {
        panic!("two dependencies");
    };
    assert_eq!(deployment.api.api_version(), "apps/v1");
    assert_eq!(
        (deployment.name.fixed(), secret.name.fixed()),
        (None, Some("vault"))
    );
    assert_eq!(
        deployment.namespace.as_ref().and_then(|name| name.fixed()),
        Some("shared")
    );
    assert!(deployment.ready.is_some() && secret.ready.is_none() && secret.namespace.is_none());

    let problems = load(
        "  - {kind: Secret, name: a}\n  - {apiVersion: v1, kind: Secret}\n  - {apiVersion: A/v1, kind: Secret, name: a}\n  - \
         {apiVersion: v1, kind: Secret, name: A}\n  - {apiVersion: v1, kind: Secret, name: '{{ env \"A\" }}'}\n  - \
         {apiVersion: v1, kind: Secret, name: a, readyExpr: '1 +'}\n  - {apiVersion: v1, kind: Secret, name: a, ready: a}\n",
    );
    let Err(WatchesError::Invalid { problems, .. }) = problems else {
        panic!("no problem was found");
    };
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}: {}", problem.line, problem.key, problem.message))
        .collect();
    expect![[r#"
        6 [0].dependsOn[0]: `apiVersion` must not be empty
        7 [0].dependsOn[1]: `name` must not be empty
        8 [0].dependsOn[2].apiVersion: `A/v1` is not a apiVersion such as `apps/v1`
        9 [0].dependsOn[3].name: `A` can't be the name of an object (at most 253 lower-case letters, digits, `-` and `.`)
        10 [0].dependsOn[4].name: template: text:1: function "env" not defined
        11 [0].dependsOn[5].readyExpr: no expression: syntax error: mismatched input '<EOF>' expecting expression at column 4
        12 [0].dependsOn[6].ready: unknown field
    "#]].assert_eq(&(told.join("\n") + "\n"));
}
