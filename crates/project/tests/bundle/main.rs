//! Bundles: what becomes of the objects of a project.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod cataloged;
mod corpus;
mod judged;
mod validated;

use serde_json::{Value, json};
use steersman_project::bundle::{
    Bundle, BundleError, Manifests, MetadataRequest, Replaces, Request, ResourceReference, annotations, base,
    dockerfile, generate, image_names, pin_images,
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
fn the_operators_roles_are_its_permissions() {
    let bundle = bundle_of(objects(), &request());
    let install = &bundle.service_version["spec"]["install"];
    assert_eq!(install["strategy"], "deployment");
    let cluster = &install["spec"]["clusterPermissions"];
    assert_eq!(
        cluster[0]["serviceAccountName"],
        "cache-operator-controller-manager"
    );
    assert_eq!(
        cluster[0]["rules"].as_array().unwrap().len(),
        2,
        "a rule stands once"
    );
    assert_eq!(
        install["spec"]["permissions"][0]["rules"][0]["resources"],
        json!(["leases"])
    );
    let deployment = &install["spec"]["deployments"][0];
    assert_eq!(deployment["name"], "cache-operator-controller-manager");
    assert_eq!(deployment["label"]["control-plane"], "controller-manager");
}

#[test]
fn a_binding_with_other_subjects_stays_beside() {
    let mut objects = objects();
    let binding = of_kind(&mut objects, "ClusterRoleBinding");
    let other = json!({"kind": "ServiceAccount", "name": "cache-operator-controller-manager", "namespace": "elsewhere"});
    binding["subjects"].as_array_mut().unwrap().push(other);
    let bundle = bundle_of(objects, &request());
    let file = "cache-operator-manager-rolebinding_rbac.authorization.k8s.io_v1_clusterrolebinding.yaml";
    assert!(bundle.objects.contains_key(file), "{:?}", bundle.objects.keys());
    let cluster = &bundle.service_version["spec"]["install"]["spec"]["clusterPermissions"];
    assert_eq!(cluster.as_array().unwrap().len(), 1);
}

#[test]
fn roles_of_extra_service_accounts_are_permissions_too() {
    let mut objects = objects();
    objects.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"kind": "ClusterRole", "name": "cache-operator-cache-viewer-role"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "x"}],
    }));
    let request = Request {
        extra_service_accounts: vec!["viewer".to_owned()],
        ..request()
    };
    let bundle = bundle_of(objects, &request);
    let cluster = &bundle.service_version["spec"]["install"]["spec"]["clusterPermissions"];
    assert_eq!(cluster[1]["serviceAccountName"], "viewer");
    assert!(!bundle.objects.keys().any(|file| file.contains("viewer")));
}

fn modes(bundle: &Bundle) -> Vec<bool> {
    let modes = bundle.service_version["spec"]["installModes"].as_array().unwrap();
    let names: Vec<&str> = modes.iter().map(|mode| mode["type"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "OwnNamespace",
            "SingleNamespace",
            "MultiNamespace",
            "AllNamespaces"
        ]
    );
    modes
        .iter()
        .map(|mode| mode["supported"].as_bool().unwrap())
        .collect()
}

#[test]
fn install_modes_are_those_in_which_the_deployment_works() {
    let follows = bundle_of(objects(), &request());
    assert_eq!(modes(&follows), [true, true, true, true]);
    let container = &follows.service_version["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]
        ["spec"]["containers"][0];
    assert_eq!(
        container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"],
        "metadata.annotations['olm.targetNamespaces']"
    );

    let mut without = objects();
    let deployment = of_kind(&mut without, "Deployment");
    deployment["spec"]["template"]["spec"]["containers"][0]["env"] = json!([]);
    assert_eq!(
        modes(&bundle_of(without, &request())),
        [false, false, false, true]
    );

    let mut cluster_wide = objects();
    of_kind(&mut cluster_wide, "CustomResourceDefinition")["spec"]["scope"] = "Cluster".into();
    assert_eq!(
        modes(&bundle_of(cluster_wide, &request())),
        [false, false, false, true]
    );

    let mut restricted = objects();
    of_kind(&mut restricted, "ClusterServiceVersion")["spec"]["installModes"] =
        json!([{"type": "OwnNamespace", "supported": true}, {"type": "AllNamespaces", "supported": false}]);
    assert_eq!(
        modes(&bundle_of(restricted, &request())),
        [true, false, false, false]
    );
}

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
fn the_image_is_that_of_the_operator() {
    let with_image = |containers: Value| {
        let mut objects = objects();
        of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"] = containers;
        let request = Request {
            image: Some("registry.example.com/cache-operator:v0.0.1".to_owned()),
            ..request()
        };
        generate(Manifests::collect(objects).unwrap(), &request).map(|bundle| {
            image_names(&bundle.service_version)
                .into_iter()
                .collect::<Vec<_>>()
        })
    };
    let set = "registry.example.com/cache-operator:v0.0.1".to_owned();
    assert_eq!(
        with_image(json!([{"name": "any", "image": "a"}])),
        Ok(vec![set.clone()])
    );
    assert_eq!(
        with_image(json!([{"name": "proxy", "image": "p"}, {"name": "manager", "image": "a"}])),
        Ok(vec!["p".to_owned(), set])
    );
    assert!(with_image(json!([{"name": "b", "image": "b"}, {"name": "a", "image": "a"}])).is_err());
}

#[test]
fn images_of_variables_are_related() {
    let mut objects = objects();
    let container = &mut of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([
        {"name": "RELATED_IMAGE_CACHE_SERVER", "value": "server:1"},
        {"name": "RELATED_IMAGE_EXPORTER", "value": "exporter:2"},
    ]);
    let mut bundle = bundle_of(objects.clone(), &request());
    assert_eq!(
        bundle.service_version["spec"]["relatedImages"],
        json!([{"name": "cache-server", "image": "server:1"}, {"name": "exporter", "image": "exporter:2"}])
    );
    let pinned = [("server:1".to_owned(), "server@sha256:00".to_owned())].into();
    pin_images(&mut bundle.service_version, &pinned);
    assert_eq!(
        bundle.service_version["spec"]["relatedImages"],
        json!([
            {"name": "cache-server", "image": "server@sha256:00"},
            {"name": "exporter", "image": "exporter:2"},
            {"name": "manager", "image": "controller:latest"},
        ])
    );
    assert!(
        bundle.files()["manifests/cache-operator.clusterserviceversion.yaml"]
            .contains("value: server@sha256:00")
    );

    let container = &mut of_kind(&mut objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([{"name": "RELATED_IMAGE_X", "valueFrom": {}}]);
    let refused = generate(Manifests::collect(objects).unwrap(), &request());
    assert!(
        matches!(refused, Err(BundleError::RelatedImage { .. })),
        "{refused:?}"
    );
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
        base: Some(base("cache-operator", &[])),
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
