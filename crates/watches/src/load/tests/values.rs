//! Files of values, overrides and patches of an entry.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use steersman_chart::{
    Capabilities, Limits, Manifest, Operation, ReleaseInfo, RenderInput, Rendered, Values,
};
use steersman_model::{Environment, chain};

use crate::Watches;
use crate::world::SystemWorld;

const ENTRY: &str = "- version: v1\n  kind: Web\n  chart: DIR/web\n";

/// A folder with a chart and these files.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    super::write_chart(&folder.path().join("web"));
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// What is said of an entry with these lines.
fn load(folder: &Path, lines: &str) -> Result<Watches, String> {
    let text = format!("{ENTRY}{lines}").replace("DIR", folder.to_str().unwrap());
    let file = folder.join("watches.yaml");
    fs::write(&file, text).unwrap();
    let watches = Watches::load(&file, &Environment::default());
    watches.map_err(|error| {
        let hint = error
            .hint()
            .map_or_else(String::new, |hint| format!("hint: {hint}\n"));
        format!("{error}\n{hint}").replace(folder.to_str().unwrap(), "DIR")
    })
}

fn refused(files: &[(&str, &str)], lines: &str, expect: &Expect) {
    let folder = project(files);
    expect.assert_eq(&load(folder.path(), lines).map(|_| ()).unwrap_err());
}

fn values(folder: &Path, lines: &str, spec: &Value) -> Value {
    let watches = load(folder, lines).unwrap();
    let values = &watches.iter().next().unwrap().values;
    Value::Object(values.of(&json!({ "spec": spec })).unwrap())
}

#[test]
fn files_lie_beside_the_file_or_in_the_chart() {
    let folder = project(&[
        ("a.yaml", "from: a\na: true\nreplicas: 3\n"),
        ("web/b.yaml", "from: b\nb: true\nnothing: null\n"),
        ("web/both.yaml", "from: both\n"),
        ("both.yaml", "from: both\n"),
        ("web/other.yaml", "from: chart\n"),
        ("other.yaml", "from: here\n"),
    ]);
    assert_eq!(
        values(
            folder.path(),
            "  valueFiles: [a.yaml, b.yaml]\n",
            &json!({"c": 1})
        ),
        json!({"from": "b", "a": true, "b": true, "nothing": null, "replicas": 3.0, "c": 1})
    );
    assert_eq!(
        values(
            folder.path(),
            "  valueFiles: [b.yaml, DIR/a.yaml]\n",
            &json!({"from": "spec"})
        )["from"],
        "spec"
    );
    // The same text in both places is no question.
    assert_eq!(
        values(folder.path(), "  valueFiles: [both.yaml]\n", &json!({})),
        json!({"from": "both"})
    );
    assert_eq!(
        values(folder.path(), "  valueFiles: [./other.yaml]\n", &json!({})),
        json!({"from": "here"})
    );
    let watches = load(folder.path(), "  valueFiles: [a.yaml, b.yaml]\n").unwrap();
    let files = &watches.iter().next().unwrap().values.files;
    let paths: Vec<_> = files.iter().map(|file| file.path.is_some()).collect();
    assert_eq!(paths, [true, false], "one of the chart comes with it");
}

#[test]
fn a_file_of_values_that_cannot_be_used_is_a_problem_of_its_line() {
    refused(
        &[("web/a.yaml", "from: chart\n"), ("a.yaml", "from: here\n")],
        "  valueFiles: [a.yaml]\n",
        &expect![[r"
            DIR/watches.yaml:4:16: [0].valueFiles[0]: `a.yaml` is both beside this file and in the chart
            hint: `./a.yaml` is the one beside this file
        "]],
    );
    refused(
        &[("list.yaml", "[a]\n"), ("broken.yaml", "a: [\n")],
        "  valueFiles:\n  - none.yaml\n  - list.yaml\n  - broken.yaml\n  - web\n  - {}\n",
        &expect![[r"
            DIR/watches.yaml:5:5: [0].valueFiles[0]: value file `none.yaml` was not found
            DIR/watches.yaml:6:5: [0].valueFiles[1]: cannot read value file `list.yaml`: cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}
            DIR/watches.yaml:7:5: [0].valueFiles[2]: cannot read value file `broken.yaml`: cannot unmarshal yaml document: error converting YAML to JSON: yaml: line 1: did not find expected node content
            DIR/watches.yaml:8:5: [0].valueFiles[3]: cannot read value file `DIR/web`: it is no file
            DIR/watches.yaml:9:5: [0].valueFiles[4]: expected the path of a file, found a map
            hint: it was looked for at DIR/none.yaml, and among the files of the chart that `.helmignore` leaves there
        "]],
    );
    let deep = format!("{}1{}", "{a: ".repeat(101), "}".repeat(101));
    refused(
        &[("deep.yaml", &deep)],
        "  valueFiles: [deep.yaml]\n  overrides: [a]\n",
        &expect![[r"
            DIR/watches.yaml:4:16: [0].valueFiles[0]: cannot read value file `deep.yaml`: it is nested too deeply
            DIR/watches.yaml:5:14: [0].overrides: expected a map of values, found a list
        "]],
    );
    refused(
        &[],
        &format!("  overrides: {deep}\n"),
        &expect![[r"
        DIR/watches.yaml:4:14: [0].overrides: is nested too deeply
    "]],
    );
}

#[test]
fn overrides_keep_their_types() {
    let folder = project(&[]);
    let lines = "  overrides: {replicas: 3, debug: yes, image: {tag: 1.5}, none: null}\n";
    assert_eq!(
        values(
            folder.path(),
            lines,
            &json!({"replicas": 1, "none": "x", "image": {"tag": "a", "name": "web"}})
        ),
        json!({"replicas": 3, "debug": true, "none": null, "image": {"tag": 1.5, "name": "web"}})
    );
}

#[test]
fn a_role_has_no_use_for_what_is_about_charts() {
    let folder = project(&[("role/tasks/main.yml", "")]);
    let text = "- version: v1\n  kind: Web\n  role: DIR/role\n  valueFiles: [a.yaml]\n  Overrides: {a: b}\n  postRender: []\n  wait: {}\n  \
                stages: []\n  healthChecks: []\n  expandClaims: true\n  dependsOn: []\n  \
                valuesFrom: []\n  test: {}\n  order: helm\n";
    let file = folder.path().join("watches.yaml");
    fs::write(&file, text.replace("DIR", folder.path().to_str().unwrap())).unwrap();
    let error = Watches::load(&file, &Environment::default()).unwrap_err();
    let said = error.to_string().replace(folder.path().to_str().unwrap(), "DIR");
    expect![[r"
        DIR/watches.yaml:4:3: [0].valueFiles: is for entries with a chart
        DIR/watches.yaml:5:3: [0].overrides: is for entries with a chart
        DIR/watches.yaml:6:3: [0].postRender: is for entries with a chart
        DIR/watches.yaml:7:3: [0].wait: is for entries with a chart
        DIR/watches.yaml:8:3: [0].stages: is for entries with a chart
        DIR/watches.yaml:9:3: [0].healthChecks: is for entries with a chart
        DIR/watches.yaml:10:3: [0].expandClaims: is for entries with a chart
        DIR/watches.yaml:11:3: [0].dependsOn: is for entries with a chart
        DIR/watches.yaml:12:3: [0].valuesFrom: is for entries with a chart
        DIR/watches.yaml:13:3: [0].test: is for entries with a chart
        DIR/watches.yaml:14:3: [0].order: is for entries with a chart"]]
    .assert_eq(&said);
    assert_eq!(error.hint().as_deref(), Some("`vars` are variables of each run"));
}

#[test]
fn a_patch_that_cannot_be_read_is_a_problem_of_its_line() {
    refused(
        &[],
        r#"  postRender:
  - patch: []
  - target: {}
  - {target: {}, patch: [], merge: {}}
  - {target: {kind: '('}, merge: {}}
  - {target: {}, patch: {metadata: {}}}
  - {target: {}, patch: 7}
  - {target: {}, merge: [a]}
  - {target: {}, strategicMerge: {spec: {$patch: drop}}}
  - target: {}
    patch:
    - {op: add, path: /a, value: b}
    - {op: ad, path: /a, value: b}
    - {op: remove, path: a}
    - {op: replace, path: /a}
  - {target: {}, patch: "a: ["}
  - {target: {}, patch: "[{op: add}]"}
"#,
        &expect![[r"
            DIR/watches.yaml:5:5: [0].postRender[0]: `target` is missing; `{}` is every object
            DIR/watches.yaml:6:5: [0].postRender[1]: exactly one of `patch`, `merge`, `strategicMerge` is needed
            DIR/watches.yaml:7:5: [0].postRender[2]: exactly one of `patch`, `merge`, `strategicMerge` is needed
            DIR/watches.yaml:8:21: [0].postRender[3].target.kind: `(` is not a regular expression
            DIR/watches.yaml:9:25: [0].postRender[4].patch: expected a list of operations, found a map
            DIR/watches.yaml:10:25: [0].postRender[5].patch: expected a list of operations, found the number `7`
            DIR/watches.yaml:11:25: [0].postRender[6].merge: expected a map, found a list
            DIR/watches.yaml:12:34: [0].postRender[7].strategicMerge: it is no strategic merge patch: unknown patch strategy `drop`
            DIR/watches.yaml:16:7: [0].postRender[8].patch[1]: is no operation of a JSON patch: unknown variant `ad`, expected one of `add`, `remove`, `replace`, `move`, `copy`, `test`
            DIR/watches.yaml:17:7: [0].postRender[8].patch[2]: is no operation of a JSON patch: json pointer failed to parse; does not start with a slash ('/') and is not empty
            DIR/watches.yaml:18:7: [0].postRender[8].patch[3]: is no operation of a JSON patch: missing field `value`
            DIR/watches.yaml:19:25: [0].postRender[9].patch: is not valid YAML in its line 2: did not find expected node content
            DIR/watches.yaml:20:25: [0].postRender[10].patch[0]: is no operation of a JSON patch: missing field `path`
            hint: a map is given by `merge` (JSON merge patch) or `strategicMerge`
        "]],
    );
}

#[test]
fn patches_are_the_same_wherever_they_stand() {
    let folder = project(&[]);
    let digest = |lines: &str| {
        let watches = load(folder.path(), lines).unwrap();
        (watches.iter().next().unwrap().post_render.digest(), watches)
    };
    let lines = "  postRender: [{target: {}, merge: {a: b}}]\n";
    let (one, first) = digest(lines);
    let (other, second) = digest(&format!("\n\n{lines}"));
    assert_eq!(one, other);
    assert!(first.say_the_same(&second));
    let (changed, third) = digest(&lines.replace("a: b", "a: c"));
    assert_ne!(one, changed);
    assert!(!first.say_the_same(&third));
    let (none, _) = digest("");
    let (empty, _) = digest("  postRender: []\n");
    assert_eq!((none, empty), (None, None));
}

const TEMPLATES: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: web}}   # a comment
spec: {replicas: 1, template: {spec: {containers: [{name: web, image: web:1}, {name: log, image: log:1}]}}}
---
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: other}, data: {a: b}}
---
# untouched
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "1"}}
"#;

/// What comes of the chart and these patches, as JSON, or why nothing does.
fn patched(patches: &str) -> Result<(Rendered, Vec<usize>), String> {
    let folder = project(&[("web/templates/all.yaml", TEMPLATES)]);
    let watches = load(folder.path(), &format!("  postRender:\n{patches}"))?;
    let watch = watches.iter().next().unwrap();
    let release = ReleaseInfo {
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    let rendered = watch.chart.render(&RenderInput {
        release: &release,
        values: &Values::default(),
        capabilities: &Capabilities::default(),
        world: &SystemWorld,
        limits: Limits::default(),
        expired: None,
        skip_schema_validation: false,
        subchart_notes: false,
    });
    let applied = watch.post_render.apply(rendered.unwrap(), "shop");
    let applied = applied.map_err(|error| chain(&*error))?;
    Ok((applied.rendered, applied.used.into_iter().collect()))
}

fn objects(rendered: &Rendered) -> Vec<Value> {
    rendered.manifests.iter().map(Manifest::object).collect()
}

#[test]
fn patches_change_the_objects_that_they_are_for_and_leave_others_as_they_are_written() {
    let (rendered, used) = patched(
        r#"
  - {target: {kind: Deployment, labelSelector: tier=web}, patch: [{op: replace, path: /spec/replicas, value: 3}]}
  - {target: {kind: Deployment}, strategicMerge: {spec: {template: {spec: {containers: [{name: log, image: log:2}]}}}}}
  - {target: {kind: ConfigMap, namespace: shop}, merge: {data: {a: null, c: d}}}
  - {target: {kind: ConfigMap, name: tw}, merge: {data: {never: x}}}
  - {target: {kind: Job}, merge: {metadata: {labels: {a: b}, annotations: {helm.sh/hook-weight: "5"}}}}
  - target: {kind: Deployment}
    patch: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, labels: {again: "yes"}}
"#,
    )
    .unwrap();
    assert_eq!(
        used,
        [0, 1, 2, 4, 5],
        "the fourth is for nothing: names are whole words"
    );
    let objects = objects(&rendered);
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let deployment = of_kind("Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(
        deployment["metadata"]["labels"],
        json!({"tier": "web", "again": "yes"})
    );
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"],
        json!([{"name": "log", "image": "log:2"}, {"name": "web", "image": "web:1"}])
    );
    let maps = &of_kind("ConfigMapList")["items"];
    assert_eq!(
        [&maps[0]["data"], &maps[1]["data"]],
        [&json!({"c": "d"}), &json!({"a": "b"})]
    );
    let service = rendered
        .manifests
        .iter()
        .find(|manifest| manifest.kind == "Service");
    assert!(service.unwrap().text.contains("# untouched"));
    let hook = &rendered.hooks[0];
    assert_eq!(
        (
            hook.weight,
            hook.manifest.object()["metadata"]["labels"]["a"].as_str()
        ),
        (5, Some("b"))
    );
}

#[test]
fn an_object_may_be_deleted_and_become_a_hook() {
    let (rendered, _) = patched(
        r"
  - {target: {kind: Deployment}, strategicMerge: {$patch: delete}}
  - {target: {name: one}, strategicMerge: {$patch: delete}}
  - {target: {kind: Service}, merge: {metadata: {annotations: {helm.sh/hook: post-install}}}}
  - {target: {kind: Job}, merge: {metadata: {annotations: {helm.sh/hook: null}}}}
",
    )
    .unwrap();
    let kinds: Vec<&str> = rendered
        .manifests
        .iter()
        .map(|manifest| manifest.kind.as_str())
        .collect();
    assert_eq!(kinds, ["Job", "ConfigMapList"]);
    assert_eq!(objects(&rendered)[1]["items"].as_array().unwrap().len(), 1);
    assert_eq!(rendered.hooks[0].manifest.kind, "Service");
}

#[test]
fn a_patch_that_does_not_fit_names_itself_and_the_object() {
    for (patch, expect) in [
        (
            "  - {target: {kind: Job}, patch: [{op: replace, path: /spec/x, value: 1}]}\n",
            "web/templates/all.yaml: [0].postRender[0] on line 5 of watches.yaml can't be applied to Job shop/migrate: \
             operation 1, `replace /spec/x`: path is invalid",
        ),
        (
            "  - {target: {}, merge: {}}\n  - {target: {name: two}, merge: {metadata: {name: three}}}\n",
            "web/templates/all.yaml: [0].postRender[1] on line 6 of watches.yaml can't be applied to ConfigMap other/two: \
             it changes `metadata.name`, so it would be another object",
        ),
    ] {
        assert_eq!(patched(patch).unwrap_err(), expect);
    }
}
