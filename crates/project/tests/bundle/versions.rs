//! One version after the other, and the base that people edit.

use serde_json::{Value, json};
use steersman_project::bundle::{BundleError, CapabilityLevel, Manifests, Replaces, Request, base, generate};

use crate::{bundle_of, objects, of_kind, request};

#[test]
fn a_second_version_replaces_the_first() {
    let mut first = bundle_of(objects(), &request());
    first.stamp(None, "2026-01-01T00:00:00Z");
    let second = |replaces: Replaces, version: &str| {
        let request = Request {
            version: Some(version.to_owned()),
            replaces,
            previous: Some(first.service_version.clone()),
            ..request()
        };
        generate(Manifests::collect(objects()).unwrap(), &request)
            .map(|bundle| bundle.service_version["spec"].get("replaces").cloned())
    };
    assert_eq!(
        second(Replaces::Automatic, "0.0.2"),
        Ok(Some("cache-operator.v0.0.1".into()))
    );
    assert_eq!(second(Replaces::Automatic, "0.0.1"), Ok(None));
    assert_eq!(second(Replaces::Automatic, "0.0.1-rc.1"), Ok(None));
    assert_eq!(second(Replaces::Nothing, "0.0.2"), Ok(None));
    assert_eq!(
        second(Replaces::Named("0.0.0".to_owned()), "0.0.2"),
        Ok(Some("cache-operator.v0.0.0".into()))
    );
    assert_eq!(
        second(Replaces::Named("cache-operator.v0.0.2".to_owned()), "0.0.2"),
        Err(BundleError::ReplacesItself {
            name: "cache-operator.v0.0.2".to_owned()
        })
    );
}

#[test]
fn writing_the_same_version_again_keeps_what_it_replaces() {
    let replaces = |previous: Option<Value>, version: &str, replaces: Replaces| {
        let request = Request {
            version: Some(version.to_owned()),
            replaces,
            previous,
            ..request()
        };
        bundle_of(objects(), &request).service_version
    };
    let second = replaces(None, "0.0.2", Replaces::Named("0.0.1".to_owned()));
    let again = replaces(Some(second), "0.0.2", Replaces::Automatic);
    assert_eq!(again["spec"]["replaces"], "cache-operator.v0.0.1");
}

#[test]
fn the_time_of_creation_changes_with_the_content_only() {
    let created_at = |previous: Option<&Value>, version: &str, now: &str| {
        let request = Request {
            version: Some(version.to_owned()),
            previous: previous.cloned(),
            replaces: Replaces::Nothing,
            ..request()
        };
        let mut bundle = bundle_of(objects(), &request);
        bundle.stamp(previous, now);
        bundle.service_version
    };
    let time = |object: &Value| object["metadata"]["annotations"]["createdAt"].clone();
    let first = created_at(None, "0.0.1", "2026-01-01T00:00:00Z");
    assert_eq!(time(&first), "2026-01-01T00:00:00Z");
    let same = created_at(Some(&first), "0.0.1", "2026-02-02T00:00:00Z");
    assert_eq!(time(&same), "2026-01-01T00:00:00Z");
    let other = created_at(Some(&first), "0.0.2", "2026-02-02T00:00:00Z");
    assert_eq!(time(&other), "2026-02-02T00:00:00Z");
}

#[test]
fn what_people_wrote_into_the_base_stays() {
    let mut objects = objects();
    let spec = &mut of_kind(&mut objects, "ClusterServiceVersion")["spec"];
    spec["maturity"] = "stable".into();
    spec["nativeAPIs"] = json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]);
    spec["replaces"] = "cache-operator.v0.0.0-alpha".into();
    spec["customresourcedefinitions"]["required"] =
        json!([{"name": "x.example.com", "version": "v1", "kind": "X"}]);
    let bundle = bundle_of(objects, &request());
    let spec = &bundle.service_version["spec"];
    assert_eq!(spec["maturity"], "stable");
    assert_eq!(spec["nativeAPIs"][0]["kind"], "ConfigMap");
    assert_eq!(spec["replaces"], "cache-operator.v0.0.0-alpha");
    assert_eq!(spec["customresourcedefinitions"]["required"][0]["kind"], "X");
    assert_eq!(spec.get("icon"), None, "a placeholder is no icon");
}

#[test]
fn a_project_without_a_base_gets_one() {
    let mut objects = objects();
    objects.retain(|object| object["kind"] != "ClusterServiceVersion");
    let request = Request {
        base: Some(base("cache-operator", &[], CapabilityLevel::default())),
        version: None,
        ..request()
    };
    let bundle = bundle_of(objects, &request);
    assert_eq!(bundle.version, "0.0.1");
    assert_eq!(
        bundle.service_version["metadata"]["name"],
        "cache-operator.v0.0.1"
    );
    assert_eq!(bundle.service_version["spec"]["displayName"], "Cache Operator");
}
