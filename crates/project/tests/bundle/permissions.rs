//! Roles as permissions, and the install modes that follow from the Deployment.

use serde_json::json;
use steersman_project::bundle::{Bundle, Request};

use crate::{bundle_of, objects, of_kind, request};

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
