//! Patches of one object, beside kubectl: `kubectl patch --local` for JSON patches and merge patches, `kubectl kustomize`
//! for strategic ones, and for lists that kustomize does not know `kubectl patch` again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod kubectl;

use std::fs;

use serde_json::{Value, json};
use steersman_kustomize::ObjectPatch;
use steersman_testkit::skip;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
}

const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": "web", "a/b": "c"}, "finalizers": ["one"]},
  "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [
      {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x", "y"],
       "ports": [{"containerPort": 80, "protocol": "TCP"}], "volumeMounts": [{"mountPath": "/data", "name": "data"}]},
      {"name": "log", "image": "log:1"}],
     "volumes": [{"name": "data", "emptyDir": {}}], "tolerations": [{"key": "a", "operator": "Exists"}]}}}}"#;
const SERVICE: &str = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
  "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "https", "port": 443, "protocol": "TCP"}]}}"#;
const CRON_JOB: &str = r#"{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web"}, "spec": {"schedule": "* * * * *",
  "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]}}}}}}"#;
const CONFIG_MAP: &str =
    r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "1", "b": "2"}}"#;
const CUSTOM: &str = r#"{"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "web"},
  "spec": {"containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}], "size": {"min": 1, "max": 2}}}"#;

/// Object, sort of patch, patch.
const CASES: &[(&str, Kind, &str)] = &[
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "log:2"}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "new"}}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "remove", "path": "/metadata/labels/a~1b"}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "test", "path": "/spec/replicas", "value": 2}, {"op": "replace", "path": "/spec/replicas", "value": 3}]"#,
    ),
    (
        CONFIG_MAP,
        Kind::Json,
        r#"[{"op": "move", "from": "/data/a", "path": "/data/c"}, {"op": "copy", "from": "/data/b", "path": "/data/d"}]"#,
    ),
    (
        CONFIG_MAP,
        Kind::Json,
        r#"[{"op": "add", "path": "/data", "value": {"only": "x"}}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "test", "path": "/spec/replicas", "value": 7}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "replace", "path": "/spec/none/deep", "value": 7}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "remove", "path": "/spec/none"}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Json,
        r#"[{"op": "add", "path": "/spec/template/spec/containers/7", "value": {}}]"#,
    ),
    (
        DEPLOYMENT,
        Kind::Merge,
        r#"{"spec": {"replicas": null, "paused": true, "template": {"spec": {"tolerations": [{"key": "b"}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Merge,
        r#"{"metadata": {"labels": {"tier": null, "new": "x"}, "annotations": {"a": "b"}}}"#,
    ),
    (CONFIG_MAP, Kind::Merge, r#"{"data": {"a": null, "c": "3"}}"#),
    (CONFIG_MAP, Kind::Merge, r#"{"data": null, "immutable": true}"#),
    (
        CUSTOM,
        Kind::Merge,
        r#"{"spec": {"containers": [{"name": "only"}], "size": {"min": null}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:2"}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "new", "image": "new:1"}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "log", "$patch": "delete"}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "web", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}], "args": ["z"]}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "web", "volumeMounts": [{"mountPath": "/data", "readOnly": true}]}], "volumes": [{"name": "more", "emptyDir": {}}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"replicas": null, "template": {"spec": {"tolerations": [{"key": "b"}]}}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"metadata": {"finalizers": ["two"], "labels": {"$patch": "replace", "only": "x"}}}"#,
    ),
    (
        DEPLOYMENT,
        Kind::Strategic,
        r#"{"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "only:1"}]}}}}"#,
    ),
    (
        SERVICE,
        Kind::Strategic,
        r#"{"spec": {"ports": [{"port": 443, "protocol": "TCP", "targetPort": 8443}]}}"#,
    ),
    (
        CRON_JOB,
        Kind::Strategic,
        r#"{"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:2"}]}}}}}}"#,
    ),
    (CONFIG_MAP, Kind::Strategic, r#"{"data": {"a": null, "c": "3"}}"#),
    (
        CUSTOM,
        Kind::Strategic,
        r#"{"spec": {"containers": [{"name": "log", "image": "log:2"}], "size": {"max": 3}}}"#,
    ),
];

/// Lists that Kubernetes has got since those that kustomize knows, in which an item of the patch joins the others.
const NEWER: &[(&str, &str)] = &[
    (
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "web"}],
            "resourceClaims": [{"name": "one", "resourceClaimName": "a"}, {"name": "two", "resourceClaimName": "b"}],
            "schedulingGates": [{"name": "one"}]}}"#,
        r#"{"spec": {"resourceClaims": [{"name": "two", "resourceClaimName": "c"}], "schedulingGates": [{"name": "two"}]}}"#,
    ),
    (
        r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {"template": {"spec": {
            "resourceClaims": [{"name": "one", "resourceClaimName": "a"}]}}}}"#,
        r#"{"spec": {"template": {"spec": {"resourceClaims": [{"name": "two", "resourceClaimName": "c"}]}}}}"#,
    ),
    (
        r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "web"},
            "webhooks": [{"name": "a.example.com", "matchConditions": [{"name": "one", "expression": "true"}]}]}"#,
        r#"{"webhooks": [{"name": "a.example.com", "matchConditions": [{"name": "two", "expression": "false"}]}]}"#,
    ),
    (
        r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "web"},
            "spec": {"matchConditions": [{"name": "one", "expression": "true"}], "variables": [{"name": "one", "expression": "1"}],
                     "validations": [{"expression": "true"}]}}"#,
        r#"{"spec": {"matchConditions": [{"name": "two", "expression": "false"}], "variables": [{"name": "one", "expression": "2"}],
                     "validations": [{"expression": "false"}]}}"#,
    ),
    (
        r#"{"apiVersion": "admissionregistration.k8s.io/v1alpha1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "web"},
            "spec": {"matchConditions": [{"name": "one", "expression": "true"}], "variables": [{"name": "one", "expression": "1"}],
                     "mutations": [{"patchType": "JSONPatch"}]}}"#,
        r#"{"spec": {"matchConditions": [{"name": "two", "expression": "false"}], "variables": [{"name": "two", "expression": "2"}],
                     "mutations": [{"patchType": "ApplyConfiguration"}]}}"#,
    ),
    (
        r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "finalizers": ["one"]},
            "spec": {"metrics": [{"type": "Resource"}]}}"#,
        r#"{"metadata": {"finalizers": ["two"]}, "spec": {"metrics": [{"type": "Pods"}]}}"#,
    ),
];

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn ours(object: &str, kind: Kind, patch: &str) -> Result<Value, String> {
    let patch = value(patch);
    let patch = match kind {
        Kind::Json => ObjectPatch::json(patch.as_array().unwrap()),
        Kind::Merge => ObjectPatch::merge(patch),
        Kind::Strategic => ObjectPatch::strategic(patch),
    };
    let patched = patch.and_then(|patch| patch.apply(value(object)));
    patched
        .map(|patched| patched.expect("it is not deleted"))
        .map_err(|error| error.to_string())
}

/// What `kubectl patch` makes of it.
fn by_patch(object: &str, kind: Kind, patch: &str) -> Option<Result<Value, String>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("object.json");
    fs::write(&file, object).unwrap();
    let sort = format!("--type={}", format!("{kind:?}").to_lowercase());
    let file = file.to_str().unwrap();
    let said = kubectl::judged(&["patch", "--local", "-o=json", &sort, "-p", patch, "-f", file])?;
    Some(said.map(|text| value(&text)))
}

/// A kustomization that applies the patch.
fn kustomization(object: &str, patch: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("object.yaml"), object).unwrap();
    let mut patch = value(patch);
    // It wants to know what a patch is for, and goes by its target.
    patch["apiVersion"] = value(object)["apiVersion"].clone();
    patch["kind"] = value(object)["kind"].clone();
    patch["metadata"]["name"] = "web".into();
    let patches = json!([{"target": {"name": "web"}, "patch": patch.to_string()}]);
    let kustomization = json!({"resources": ["object.yaml"], "patches": patches});
    fs::write(
        folder.path().join("kustomization.yaml"),
        kustomization.to_string(),
    )
    .unwrap();
    folder
}

/// What `kubectl kustomize` makes of it.
fn by_kustomize(object: &str, patch: &str) -> Option<Result<Value, String>> {
    let folder = kustomization(object, patch);
    let said = kubectl::judged(&["kustomize", folder.path().to_str().unwrap()])?;
    Some(said.map(|text| steersman_yaml::to_json(&text).unwrap()))
}

#[test]
fn objects_become_what_kubectl_makes_of_them() {
    for (object, kind, patch) in CASES {
        let judged = match kind {
            Kind::Json | Kind::Merge => by_patch(object, *kind, patch),
            Kind::Strategic => by_kustomize(object, patch),
        };
        let ours = ours(object, *kind, patch);
        match judged {
            Some(Ok(judged)) => assert_eq!(ours, Ok(judged), "{kind:?} {patch}"),
            Some(Err(error)) => assert!(ours.is_err(), "{kind:?} {patch}: {ours:?}, but kubectl: {error}"),
            None => return skip::not_judged("a patch", "there is no kubectl"),
        }
    }
}

#[test]
fn strategic_patches_mean_to_kubectl_what_they_mean_to_kustomize_but_for_the_order() {
    let of_kubernetes = CASES
        .iter()
        .filter(|(object, kind, _)| *kind == Kind::Strategic && *object != CUSTOM);
    let known = of_kubernetes.map(|(object, _, patch)| (object, patch));
    for (object, patch) in known.chain(NEWER.iter().map(|(object, patch)| (object, patch))) {
        let Some(judged) = by_patch(object, Kind::Strategic, patch) else {
            return skip::not_judged("a strategic patch", "there is no kubectl");
        };
        let (mut ours, mut judged) = (
            ours(object, Kind::Strategic, patch).unwrap(),
            judged.unwrap_or_else(|error| panic!("{patch}: {error}")),
        );
        sort(&mut ours);
        sort(&mut judged);
        assert_eq!(ours, judged, "{patch}");
    }
}

#[test]
fn lists_that_kustomize_does_not_know_are_replaced_in_a_build_and_merged_in_a_patch() {
    for (object, patch) in NEWER {
        let Some(judged) = by_kustomize(object, patch) else {
            return skip::not_judged("a strategic patch", "there is no kubectl");
        };
        let folder = kustomization(object, patch);
        let built = steersman_kustomize::build(folder.path()).unwrap();
        assert_eq!(built, [judged.unwrap()], "{patch}");
    }
}

/// Puts items of lists of maps into an order of their own.
fn sort(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(sort),
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            items.sort_by_key(ToString::to_string);
        }
        _ => {}
    }
}
