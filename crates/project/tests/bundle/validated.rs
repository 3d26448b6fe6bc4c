//! What our own validation finds, beside what the Operator Framework's libraries find.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steersman_project::bundle::to_yaml;
use steersman_project::bundle::validate::{Finding, Optional, Severity, validate};
use steersman_testkit::bundle_judge::BundleJudge;
use tempfile::TempDir;

use crate::judged::{files_of, write};
use crate::{bundle_of, objects, request};

const SERVICE_VERSION: &str = "manifests/cache-operator.clusterserviceversion.yaml";
const DEFINITION: &str = "manifests/cache.example.com_caches.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

type Files = BTreeMap<String, String>;

fn good() -> Files {
    let mut bundle = bundle_of(objects(), &request());
    bundle.stamp(None, "2026-01-01T00:00:00Z");
    files_of(&bundle)
}

/// Changes the object in a file.
fn edit(files: &mut Files, path: &str, change: impl FnOnce(&mut Value)) {
    let mut object = steersman_yaml::to_json(&files[path]).unwrap();
    change(&mut object);
    files.insert(path.to_owned(), to_yaml(&object));
}

fn edited(path: &str, change: impl FnOnce(&mut Value)) -> Files {
    let mut files = good();
    edit(&mut files, path, change);
    files
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{} {finding}", finding.severity.name()))
        .collect()
}

#[test]
fn a_good_bundle_has_no_findings() {
    assert_eq!(texts(&validate(&good(), &[])), [""; 0]);
    assert_eq!(
        texts(&validate(&good(), &Optional::ALL)),
        [format!("warning {SERVICE_VERSION}: spec.icon: is missing")]
    );
}

/// Whether the libraries find something of this weight; those of the format are in a part of operator-sdk that is no
/// library, so `None` says that nobody is asked.
enum Judge {
    Error,
    Warning,
    Silent,
    NotAsked,
}

struct Case {
    files: Files,
    /// What we find.
    expect: &'static str,
    judge: Judge,
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

fn examples(value: &Value) -> impl FnOnce(&mut Value) {
    set("/metadata/annotations/alm-examples", value.to_string().into())
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases_of_the_service_version() -> Vec<Case> {
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
fn cases_of_the_rest() -> Vec<Case> {
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

#[test]
fn what_the_operator_framework_finds_is_found_here_too() {
    let judge = BundleJudge::find_or_skip();
    let temporary = TempDir::new().unwrap();
    let mut differences = Vec::new();
    let cases = cases_of_the_service_version()
        .into_iter()
        .chain(cases_of_the_rest());
    for (index, case) in cases.enumerate() {
        let findings = validate(&case.files, &Optional::ALL);
        let ours = findings
            .iter()
            .find(|finding| finding.to_string().contains(case.expect))
            .unwrap_or_else(|| panic!("`{}` is not among {:#?}", case.expect, texts(&findings)));
        let Some(judge) = &judge else {
            continue;
        };
        let level = match case.judge {
            Judge::NotAsked => continue,
            Judge::Silent => None,
            Judge::Error => Some(("Error", Severity::Error)),
            Judge::Warning => Some(("Warning", Severity::Warning)),
        };
        let folder = temporary.path().join(index.to_string());
        write(&case.files, &folder);
        let theirs: Vec<String> = judge
            .bundle(&folder)
            .into_iter()
            // The good bundle has no icon either.
            .filter(|finding| !finding.detail.ends_with("csv.Spec.Icon not specified"))
            .map(|finding| format!("{} {}", finding.level, finding.detail))
            .collect();
        let agree = match level {
            None => theirs.is_empty(),
            Some((level, severity)) => {
                ours.severity == severity && theirs.iter().any(|text| text.starts_with(level))
            }
        };
        if !agree {
            differences.push(format!("{ours:?}\n  {theirs:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_null_is_no_difference_but_in_a_list() {
    let with = |spec: Value| {
        let sample = json!([{"apiVersion": "cache.example.com/v1alpha1", "kind": "Cache", "spec": spec}]);
        texts(&validate(&edited(SERVICE_VERSION, examples(&sample)), &[]))
    };
    assert_eq!(with(json!({"policy": null})), [""; 0]);
    let findings = with(json!({"extraArgs": [null]}));
    assert!(findings[0].contains("spec.extraArgs[0]: is null"), "{findings:?}");
}

#[test]
fn files_that_are_no_yaml_are_named() {
    let mut files = good();
    files.insert("manifests/broken.yaml".to_owned(), "a: [".to_owned());
    files.insert("manifests/empty.yaml".to_owned(), "# nothing\n".to_owned());
    files.insert(
        "manifests/two.yaml".to_owned(),
        format!("{0}---\n{0}", files[DEFINITION]),
    );
    let findings = texts(&validate(&files, &[]));
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings[0].starts_with("error manifests/broken.yaml: this is no YAML"),
        "{findings:?}"
    );
    assert_eq!(findings[1], "error manifests/empty.yaml: the file is empty");
    assert!(findings[2].contains("several objects"), "{findings:?}");
}

#[test]
fn a_bundle_that_is_too_large_is_refused() {
    let mut files = good();
    // Digits of a generator: text that hardly compresses.
    let mut state = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{:x}", state >> 33)
    })
    .take(300_000)
    .collect();
    let large =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"a": noise}});
    files.insert("manifests/large.yaml".to_owned(), to_yaml(&large));
    let findings = texts(&validate(&files, &[]));
    assert!(findings[0].starts_with("error the bundle takes "), "{findings:?}");
    if let Some(judge) = BundleJudge::find_or_skip() {
        let temporary = TempDir::new().unwrap();
        let folder = temporary.path().join("bundle");
        write(&files, &folder);
        assert!(
            judge
                .bundle(&folder)
                .iter()
                .any(|finding| finding.detail.contains("size exceeded"))
        );
    }
}
