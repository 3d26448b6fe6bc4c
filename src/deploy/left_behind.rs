//! What a deployed operator leaves behind in its namespace: no manifest has it, as the operator creates it itself.

use steersman_model::{ApiKind, RenderedObject};
use steersman_project::rbac::SIGNING_KEYS;

use super::plan::Plan;

const NAME: &str = "--leader-election-id";
const NAMESPACE: &str = "--leader-election-namespace";

/// The leases that the operators of a plan hold, by the arguments of their containers. Those of operators that name none
/// are not known.
pub(super) fn leases(plan: &Plan) -> Vec<RenderedObject> {
    let mut leases = Vec::new();
    for deployment in plan.deployments() {
        let containers = deployment
            .value
            .pointer("/spec/template/spec/containers")
            .and_then(|containers| containers.as_array());
        for container in containers.into_iter().flatten() {
            let arguments: Vec<&str> = ["command", "args"]
                .iter()
                .filter_map(|key| container[*key].as_array())
                .flatten()
                .filter_map(|argument| argument.as_str())
                .collect();
            let Some(name) = value_of(NAME, &arguments) else {
                continue;
            };
            let namespace = value_of(NAMESPACE, &arguments).map(str::to_owned);
            let namespace = namespace.or_else(|| deployment.namespace.clone());
            let api = ApiKind::new("coordination.k8s.io/v1", "Lease");
            leases.push(left_behind(api, name, namespace));
        }
    }
    leases
}

/// The Secrets with the keys that sign releases, in the namespaces that come and go with the plan: no release is left by then.
pub(super) fn signing_keys(plan: &Plan) -> Vec<RenderedObject> {
    let namespaces = plan.namespaces.iter().map(|namespace| namespace.name.clone());
    namespaces
        .map(|namespace| left_behind(ApiKind::new("v1", "Secret"), SIGNING_KEYS, Some(namespace)))
        .collect()
}

/// The value of a flag, in one argument or in two.
fn value_of<'a>(flag: &str, arguments: &[&'a str]) -> Option<&'a str> {
    let joined = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix(flag)?.strip_prefix('='));
    let next = || {
        let place = arguments.iter().position(|argument| *argument == flag)?;
        arguments.get(place + 1).copied()
    };
    joined.or_else(next).filter(|value| !value.is_empty())
}

fn left_behind(api: ApiKind, name: &str, namespace: Option<String>) -> RenderedObject {
    let mut value = serde_json::json!({
        "apiVersion": api.api_version(), "kind": api.kind, "metadata": {"name": name},
    });
    if let Some(namespace) = &namespace {
        value["metadata"]["namespace"] = namespace.as_str().into();
    }
    RenderedObject {
        source: "the operator".to_owned(),
        api,
        namespace,
        name: name.to_owned(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::leases;
    use crate::deploy::Plan;

    fn check(container: Value, expect: &[(&str, Option<&str>)]) {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "manager", "namespace": "system"},
            "spec": {"template": {"spec": {"containers": [container]}}},
        });
        let plan = Plan::new("here", &[deployment]).unwrap();
        let found = leases(&plan);
        let found: Vec<(&str, Option<&str>)> = found
            .iter()
            .map(|lease| (lease.name.as_str(), lease.namespace.as_deref()))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_arguments_of_the_operator_name_its_lease() {
        check(
            json!({"args": ["--leader-elect", "--leader-election-id=shop"]}),
            &[("shop", Some("system"))],
        );
        let args = json!([
            "run",
            "--leader-election-id",
            "shop",
            "--leader-election-namespace=leases"
        ]);
        check(json!({"command": args}), &[("shop", Some("leases"))]);
        check(json!({"args": ["--leader-elect", "--leader-election-id="]}), &[]);
        check(json!({}), &[]);
    }
}
