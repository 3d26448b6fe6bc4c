//! Bundles with something wrong in them, each with what is to be found.

use serde_json::{Value, json};
use steersman_project::bundle::to_yaml;

use super::{ANNOTATIONS, DEFINITION, Files, SERVICE_VERSION, edited, good};

/// Whether the libraries find something of this weight; those of the format are in a part of operator-sdk that is no
/// library, so `None` says that nobody is asked.
pub(super) enum Judge {
    Error,
    Warning,
    Silent,
    NotAsked,
}

pub(super) struct Case {
    pub(super) files: Files,
    /// What we find.
    pub(super) expect: &'static str,
    pub(super) judge: Judge,
}

fn service_version(change: impl FnOnce(&mut Value), expect: &'static str, judge: Judge) -> Case {
    let files = edited(SERVICE_VERSION, change);
    Case { files, expect, judge }
}

fn definition(change: impl FnOnce(&mut Value), expect: &'static str, judge: Judge) -> Case {
    let files = edited(DEFINITION, change);
    Case { files, expect, judge }
}

fn annotations(change: impl FnOnce(&mut Value), expect: &'static str) -> Case {
    let files = edited(ANNOTATIONS, change);
    Case {
        files,
        expect,
        judge: Judge::NotAsked,
    }
}

fn with_file(path: &str, object: Value, expect: &'static str, judge: Judge) -> Case {
    let mut files = good();
    files.insert(path.to_owned(), to_yaml(&object));
    Case { files, expect, judge }
}

fn without(path: &str, expect: &'static str, judge: Judge) -> Case {
    let mut files = good();
    files.remove(path);
    Case { files, expect, judge }
}

fn set(pointer: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |object| *object.pointer_mut(pointer).unwrap() = value
}

fn remove(parent: &'static str, key: &'static str) -> impl FnOnce(&mut Value) {
    move |object| {
        object
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(key)
            .unwrap();
    }
}

fn add(parent: &'static str, key: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |object| object.pointer_mut(parent).unwrap()[key] = value
}

pub(super) fn examples(value: &Value) -> impl FnOnce(&mut Value) {
    set("/metadata/annotations/alm-examples", value.to_string().into())
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases_of_the_service_version() -> Vec<Case> {
    let sample = |spec: Value| json!([{"apiVersion": "cache.example.com/v1alpha1", "kind": "Cache", "metadata": {"name": "a"}, "spec": spec}]);
    let other_kind =
        json!([{"apiVersion": "cache.example.com/v1alpha1", "kind": "Other", "metadata": {"name": "a"}}]);
    vec![
        service_version(
            set("/metadata/name", "Cache_Operator".into()),
            "metadata.name: `Cache_Operator` is no name",
            Judge::Error,
        ),
        service_version(
            set("/metadata/name", format!("{}.v0.0.1", "a".repeat(60)).into()),
            "longer than 63",
            Judge::Error,
        ),
        service_version(
            set("/metadata/name", "other.v0.0.1".into()),
            "should be `cache-operator.v0.0.1`",
            Judge::Silent,
        ),
        service_version(
            add("/spec", "replaces", "Cache!".into()),
            "spec.replaces: `Cache!` is no name",
            Judge::Error,
        ),
        service_version(
            add("/spec", "replaces", "cache-operator.v0.0.1".into()),
            "spec.replaces: a version can't come after itself",
            Judge::Silent,
        ),
        service_version(
            add("/metadata/annotations", "olm.skiprange", ">0.0.0".into()),
            "should be spelled `olm.skipRange`",
            Judge::Error,
        ),
        service_version(
            add("/metadata/annotations", "olm.skipRange", "soon".into()),
            "no range of versions",
            Judge::Silent,
        ),
        service_version(
            add("/metadata/annotations", "olm.properties", "[]".into()),
            "belongs into metadata/properties.yaml",
            Judge::Warning,
        ),
        service_version(
            remove("/spec", "displayName"),
            "spec.displayName: is missing",
            Judge::Error,
        ),
        service_version(
            remove("/spec/install", "strategy"),
            "spec.install.strategy: is missing",
            Judge::Error,
        ),
        service_version(
            remove("/spec/install/spec", "deployments"),
            "spec.install.spec.deployments: is missing",
            Judge::Error,
        ),
        service_version(
            remove("/spec", "installModes"),
            "there are no install modes",
            Judge::Error,
        ),
        service_version(
            set(
                "/spec/installModes",
                json!([{"type": "AllNamespaces", "supported": false}]),
            ),
            "no install mode is supported",
            Judge::Error,
        ),
        service_version(
            remove("/spec", "minKubeVersion"),
            "spec.minKubeVersion: is missing",
            Judge::Warning,
        ),
        service_version(
            set("/spec/minKubeVersion", "1.25".into()),
            "spec.minKubeVersion: `1.25` is no semantic version",
            Judge::Error,
        ),
        service_version(
            remove("/metadata/annotations", "alm-examples"),
            "there are no `alm-examples`",
            Judge::Warning,
        ),
        service_version(
            set("/metadata/annotations/alm-examples", "[{".into()),
            "is no JSON",
            Judge::Error,
        ),
        service_version(
            examples(&json!([])),
            "there is no example of Cache",
            Judge::Warning,
        ),
        service_version(
            examples(&other_kind),
            "the operator does not own Other",
            Judge::Error,
        ),
        service_version(
            examples(&sample(json!({"replicas": "three"}))),
            "[0].spec.replicas: is a string and should be an integer",
            Judge::Silent,
        ),
        service_version(
            examples(&sample(json!({"replicas": -1}))),
            "[0].spec.replicas: breaks `minimum: 0`",
            Judge::Silent,
        ),
        service_version(
            examples(&sample(json!({"policy": "fifo"}))),
            "[0].spec.policy: is none of [\"lru\",\"lfu\"]",
            Judge::Silent,
        ),
        service_version(
            examples(&sample(json!({"extraArgs": ["a", 1]}))),
            "[0].spec.extraArgs[1]: is a number and should be a string",
            Judge::Silent,
        ),
        service_version(
            examples(&sample(json!({"size": 1}))),
            "[0].spec.size: is no field of the definition",
            Judge::Silent,
        ),
        service_version(
            set("/spec/customresourcedefinitions/owned/0/version", "v2".into()),
            "the bundle has no definition of Cache cache.example.com/v2",
            Judge::Error,
        ),
        service_version(
            set("/spec/customresourcedefinitions/owned", json!([])),
            "does not own caches.cache.example.com",
            Judge::Error,
        ),
        service_version(
            set(
                "/spec/install/spec/deployments/0/spec/selector/matchLabels",
                json!({"a": "b"}),
            ),
            "do not have the label `a`",
            Judge::Silent,
        ),
        service_version(
            set(
                "/spec/install/spec/permissions/0/serviceAccountName",
                "other".into(),
            ),
            "no Deployment runs as `other`",
            Judge::Silent,
        ),
        // What OperatorHub.io asks for, and what is advised.
        service_version(
            set("/spec/provider", json!({})),
            "spec.provider.name: is missing",
            Judge::Error,
        ),
        service_version(
            add("/spec", "maintainers", json!([{"name": "Ada"}])),
            "spec.maintainers[0]: needs both",
            Judge::Error,
        ),
        service_version(
            add("/spec", "maintainers", json!([{"name": "Ada", "email": "ada"}])),
            "`ada` is no address",
            Judge::Error,
        ),
        service_version(
            add("/spec", "links", json!([{"name": "Home"}])),
            "spec.links[0]: needs both",
            Judge::Error,
        ),
        service_version(
            add("/spec", "links", json!([{"name": "Home", "url": "nowhere"}])),
            "`nowhere` is no URL",
            Judge::Error,
        ),
        service_version(
            add("/spec", "icon", json!([{"base64data": "", "mediatype": ""}])),
            "spec.icon: needs both",
            Judge::Error,
        ),
        service_version(
            add(
                "/spec",
                "icon",
                json!([{"base64data": "AAAA", "mediatype": "image/bmp"}]),
            ),
            "`image/bmp` is none of",
            Judge::Error,
        ),
        service_version(
            set("/metadata/annotations/capabilities", "Great".into()),
            "`Great` is none of Basic Install",
            Judge::Error,
        ),
        service_version(
            add("/metadata/annotations", "categories", "Database, Games".into()),
            "`Games` is none of",
            Judge::Error,
        ),
        service_version(
            set("/spec/customresourcedefinitions/owned/0/description", "".into()),
            "description: is missing",
            Judge::Warning,
        ),
        service_version(
            remove(
                "/spec/install/spec/deployments/0/spec/template/spec/containers/0",
                "resources",
            ),
            "requests no cpu or no memory",
            Judge::Warning,
        ),
        service_version(
            add(
                "/spec/install/spec/permissions/0",
                "rules",
                json!([{"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["create"]}]),
            ),
            "may create definitions",
            Judge::Warning,
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases_of_the_rest() -> Vec<Case> {
    let account =
        |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let budget = |spec: Value| json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec});
    let default_class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 1, "globalDefault": true});
    let odd = json!({"apiVersion": "example.net/v1", "kind": "Oddity", "metadata": {"name": "o"}});
    let plural = "operators.operatorframework.io.bundle";
    vec![
        definition(
            set("/metadata/name", "cache.cache.example.com".into()),
            "metadata.name: `cache.cache.example.com` should be `caches.cache.example.com`",
            Judge::Error,
        ),
        definition(
            set("/spec/versions/0/storage", false.into()),
            "exactly one version must be the stored one",
            Judge::Error,
        ),
        definition(
            set("/spec/scope", "Galaxy".into()),
            "spec.scope: `Galaxy` is neither",
            Judge::Error,
        ),
        definition(
            set("/apiVersion", "apiextensions.k8s.io/v1beta1".into()),
            "Kubernetes has no `apiextensions.k8s.io/v1beta1`",
            Judge::NotAsked,
        ),
        without(DEFINITION, "the bundle has no definition of Cache", Judge::Error),
        without(SERVICE_VERSION, "there is no ClusterServiceVersion", Judge::Error),
        with_file(
            "manifests/sa.yaml",
            account("cache-operator-controller-manager"),
            "OLM makes the service account",
            Judge::Error,
        ),
        with_file(
            "manifests/pdb.yaml",
            budget(json!({"maxUnavailable": 0})),
            "no node could ever be drained",
            Judge::Error,
        ),
        with_file(
            "manifests/pdb.yaml",
            budget(json!({"minAvailable": "100%"})),
            "no node could ever be drained",
            Judge::Error,
        ),
        with_file(
            "manifests/class.yaml",
            default_class,
            "must not set the default",
            Judge::Error,
        ),
        with_file("manifests/odd.yaml", odd, "OLM takes no Oddity", Judge::NotAsked),
        with_file(
            "manifests/none.yaml",
            json!({"a": 1}),
            "this is no object of Kubernetes",
            Judge::NotAsked,
        ),
        with_file(
            "manifests/sub/sa.yaml",
            account("a"),
            "manifests/ must not have folders",
            Judge::Error,
        ),
        with_file(
            "manifests/.sa.yaml",
            account("a"),
            "manifests/ must not have hidden files",
            Judge::Error,
        ),
        with_file(
            "metadata/dependencies.yaml",
            json!({"dependencies": [{"type": "olm.magic"}]}),
            "`olm.magic` is no type of dependency",
            Judge::NotAsked,
        ),
        with_file(
            "metadata/dependencies.yaml",
            json!({"dependencies": [{"type": "olm.package", "value": {"packageName": "a"}}]}),
            "dependencies[0].value.version: is missing",
            Judge::NotAsked,
        ),
        without(
            ANNOTATIONS,
            "the bundle has no files in metadata/",
            Judge::NotAsked,
        ),
        annotations(
            remove("/annotations", "operators.operatorframework.io.bundle.package.v1"),
            "bundle.package.v1: the annotation is missing",
        ),
        annotations(
            set(
                "/annotations/operators.operatorframework.io.bundle.mediatype.v1",
                "plain+v0".into(),
            ),
            "is `plain+v0` and should be `registry+v1`",
        ),
        annotations(
            set(
                "/annotations/operators.operatorframework.io.bundle.channels.v1",
                "".into(),
            ),
            "bundle.channels.v1: is empty",
        ),
        annotations(
            set(
                "/annotations/operators.operatorframework.io.bundle.channel.default.v1",
                "fast".into(),
            ),
            "`fast` is none of the channels",
        ),
        Case {
            files: edited(ANNOTATIONS, |object| {
                object["annotations"][format!("{plural}.channels.v1")] = "alpha,stable".into();
            }),
            expect: "the channel `alpha` starts with none of",
            judge: Judge::Warning,
        },
    ]
}
