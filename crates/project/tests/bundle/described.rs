//! What forms and examples show of a kind.

use serde_json::{Value, json};
use steersman_project::bundle::{Request, ResourceReference};

use crate::{bundle_of, objects, of_kind, request};

#[test]
fn fields_are_described_for_forms() {
    let request = Request {
        resources: [(
            "caches.cache.example.com".to_owned(),
            vec![ResourceReference {
                kind: "StatefulSet".to_owned(),
                version: "v1".to_owned(),
            }],
        )]
        .into(),
        ..request()
    };
    let bundle = bundle_of(objects(), &request);
    let owned = &bundle.service_version["spec"]["customresourcedefinitions"]["owned"][0];
    assert_eq!(
        owned["displayName"], "A cache of our own",
        "what the base says stays"
    );
    assert_eq!(owned["description"], "A cache in memory");
    assert_eq!(
        owned["resources"],
        json!([{"kind": "StatefulSet", "name": "", "version": "v1"}])
    );
    let described = |list: &Value| -> Vec<(String, String)> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                let kinds: Vec<&str> = entry["x-descriptors"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|kind| kind.as_str().unwrap().rsplit("descriptor:").next().unwrap())
                    .collect();
                (entry["path"].as_str().unwrap().to_owned(), kinds.join(" "))
            })
            .collect()
    };
    let pair = |path: &str, kind: &str| (path.to_owned(), kind.to_owned());
    assert_eq!(
        described(&owned["specDescriptors"]),
        [
            pair("adminPassword", "com.tectonic.ui:password"),
            pair("existingSecret", "io.kubernetes:Secret"),
            pair("policy", "com.tectonic.ui:select:lru com.tectonic.ui:select:lfu"),
            pair("replicas", "com.tectonic.ui:podCount"),
            pair("resources", "com.tectonic.ui:resourceRequirements"),
            pair("image.pullPolicy", "com.tectonic.ui:imagePullPolicy"),
            pair("image.tag", "com.tectonic.ui:text"),
            pair("metrics.enabled", "com.tectonic.ui:booleanSwitch"),
        ]
    );
    assert_eq!(
        described(&owned["statusDescriptors"]),
        [
            pair("conditions", "io.kubernetes.conditions"),
            pair("revision", "com.tectonic.ui:text"),
        ]
    );
    assert_eq!(
        owned["specDescriptors"][3]["description"],
        "How many pods there are"
    );
}

#[test]
fn the_number_of_described_fields_is_bounded() {
    let mut objects = objects();
    let definition = of_kind(&mut objects, "CustomResourceDefinition");
    let many: serde_json::Map<String, Value> = (0..200)
        .map(|number| (format!("field{number}"), json!({"type": "string"})))
        .collect();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        many.into();
    let bundle = bundle_of(objects, &request());
    let owned = &bundle.service_version["spec"]["customresourcedefinitions"]["owned"][0];
    assert_eq!(owned["specDescriptors"].as_array().unwrap().len(), 40);
}

#[test]
fn examples_are_the_samples() {
    let bundle = bundle_of(objects(), &request());
    let annotations = &bundle.service_version["metadata"]["annotations"];
    assert_eq!(
        annotations["alm-examples"],
        "[\n  {\n    \"apiVersion\": \"cache.example.com/v1alpha1\",\n    \"kind\": \"Cache\",\n    \"metadata\": \
         {\n      \"name\": \"cache-sample\"\n    },\n    \"spec\": {\n      \"policy\": \"lru\",\n      \
         \"replicas\": 3\n    }\n  }\n]"
    );
    let mut without = objects();
    without.retain(|object| object["kind"] != "Cache");
    let bundle = bundle_of(without, &request());
    assert!(
        bundle
            .notices
            .contains(&"there is no sample of Cache cache.example.com/v1alpha1 for alm-examples".to_owned())
    );
}
