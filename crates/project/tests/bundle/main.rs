//! Bundles: what becomes of the objects of a project.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod cataloged;
mod corpus;
mod described;
mod images;
mod judged;
mod permissions;
mod validated;
mod versions;

use serde_json::Value;
use steersman_project::bundle::{
    Bundle, Manifests, MetadataRequest, Request, annotations, dockerfile, generate,
};

const PROJECT: &str = include_str!("project.yaml");

pub(crate) fn objects() -> Vec<Value> {
    steersman_yaml::parse_documents(PROJECT)
        .unwrap()
        .into_iter()
        .map(|node| node.into_json().unwrap())
        .collect()
}

pub(crate) fn request() -> Request {
    Request {
        package: "cache-operator".to_owned(),
        version: Some("0.0.1".to_owned()),
        builder: "steersman-v0.1.0".to_owned(),
        layout: "helm.sdk.operatorframework.io/v1".to_owned(),
        ..Request::default()
    }
}

pub(crate) fn bundle_of(objects: Vec<Value>, request: &Request) -> Bundle {
    generate(Manifests::collect(objects).unwrap(), request).unwrap()
}

/// The object of a kind, to be changed.
pub(crate) fn of_kind<'a>(objects: &'a mut [Value], kind: &str) -> &'a mut Value {
    objects.iter_mut().find(|object| object["kind"] == kind).unwrap()
}

#[test]
fn a_bundle_has_what_olm_needs_and_no_more() {
    let bundle = bundle_of(objects(), &request());
    let files: Vec<String> = bundle.files().into_keys().collect();
    assert_eq!(
        files,
        [
            "manifests/cache-operator-cache-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "manifests/cache-operator-controller-manager-metrics-service_v1_service.yaml",
            "manifests/cache-operator.clusterserviceversion.yaml",
            "manifests/cache-operator_policy_v1_poddisruptionbudget.yaml",
            "manifests/cache.example.com_caches.yaml",
            "tests/scorecard/config.yaml",
        ]
    );
    assert!(
        !bundle
            .files()
            .values()
            .any(|text| text.contains("cache-operator-system"))
    );
    assert_eq!(
        bundle.notices,
        ["Oddity odd is left out: OLM takes no such kind in a bundle"]
    );
}

#[test]
fn what_is_no_bundle_is_refused() {
    let refuse = |change: fn(&mut Vec<Value>), request: &Request| {
        let mut objects = objects();
        change(&mut objects);
        Manifests::collect(objects)
            .and_then(|manifests| generate(manifests, request))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refuse(
            |objects| objects.retain(|object| object["kind"] != "Deployment"),
            &request()
        ),
        "there is no Deployment among the 13 objects"
    );
    let leading_zero = Request {
        version: Some("0.01.0".to_owned()),
        ..request()
    };
    assert!(refuse(|_| (), &leading_zero).starts_with("`0.01.0` is not a semantic version"));
    let second = |objects: &mut Vec<Value>| {
        let mut other = of_kind(objects, "Configuration").clone();
        other["metadata"]["name"] = "other".into();
        objects.push(other);
    };
    assert_eq!(
        refuse(second, &request()),
        "there are two scorecard configurations, `config` and `other`"
    );
}

#[test]
fn names_of_objects_lead_to_no_other_folder() {
    let mut objects = objects();
    of_kind(&mut objects, "Service")["metadata"]["name"] = "../../etc/passwd".into();
    let bundle = bundle_of(objects, &request());
    assert!(
        bundle
            .files()
            .keys()
            .all(|file| file.matches('/').count() <= 2 && !file.contains("../"))
    );
}

#[test]
fn labels_and_annotations_say_the_same() {
    let request = MetadataRequest {
        package: "cache-operator".to_owned(),
        channels: "alpha,stable".to_owned(),
        default_channel: Some("stable".to_owned()),
        builder: "steersman-v0.1.0".to_owned(),
        layout: "helm.sdk.operatorframework.io/v1".to_owned(),
        has_scorecard: true,
        folder: "bundle".to_owned(),
    };
    let annotations = steersman_yaml::to_json(&annotations(&request)).unwrap();
    let annotations = annotations["annotations"].as_object().unwrap();
    let dockerfile = dockerfile(&request);
    let labels: Vec<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("LABEL "))
        .collect();
    assert_eq!(labels.len(), 11);
    assert_eq!(annotations.len(), labels.len());
    for label in labels {
        let (key, value) = label.split_once('=').unwrap();
        assert_eq!(annotations[key], value);
    }
    assert!(dockerfile.ends_with("COPY bundle/tests/scorecard /tests/scorecard/\n"));
}
