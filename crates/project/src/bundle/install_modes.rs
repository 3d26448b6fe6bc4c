//! Which namespaces an operator can be made to watch.

use serde_json::{Value, json};

use super::manifests::Manifests;
use super::value::{list, text};

/// The variable that names the namespaces to watch; none, one or several.
const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";

/// Where OLM writes the namespaces of an operator's group.
const TARGET_NAMESPACES: &str = "metadata.annotations['olm.targetNamespaces']";

/// The modes in the order in which operator-sdk writes them.
pub(super) const MODES: [&str; 4] = [
    "OwnNamespace",
    "SingleNamespace",
    "MultiNamespace",
    "AllNamespaces",
];

/// Lets every container that takes `WATCH_NAMESPACE` take it from OLM.
pub(super) fn follow_target_namespaces(deployment: &mut Value) {
    let Some(containers) = deployment.pointer_mut("/spec/template/spec/containers") else {
        return;
    };
    for container in containers.as_array_mut().into_iter().flatten() {
        let variables = container.get_mut("env").and_then(Value::as_array_mut);
        for variable in variables.into_iter().flatten() {
            if text(variable, "/name") == WATCH_NAMESPACE {
                *variable = json!({
                    "name": WATCH_NAMESPACE,
                    "valueFrom": {"fieldRef": {"fieldPath": TARGET_NAMESPACES}},
                });
            }
        }
    }
}

/// The install modes that are true, of those that the base allows.
///
/// The operator reads `WATCH_NAMESPACE` as helm-operator does: empty means all namespaces. So a Deployment that takes it
/// from OLM works in every mode, and one that doesn't watches all namespaces whatever the group says. Resources of the
/// whole cluster are watched in that mode only.
pub(super) fn install_modes(manifests: &Manifests, base: &Value) -> Value {
    let follows = !manifests.deployments.is_empty() && manifests.deployments.iter().all(takes_namespaces);
    let is_cluster_wide = |definition: &Value| text(definition, "/spec/scope") == "Cluster";
    let everywhere_only = !follows || manifests.definitions.iter().any(is_cluster_wide);
    let allowed = list(base, "/spec/installModes");
    MODES
        .iter()
        .map(|mode| {
            let is_true = *mode == "AllNamespaces" || !everywhere_only;
            let is_allowed = allowed.is_empty()
                || allowed.iter().any(|allowed| {
                    text(allowed, "/type") == *mode && allowed.get("supported") == Some(&Value::Bool(true))
                });
            json!({"type": mode, "supported": is_true && is_allowed})
        })
        .collect()
}

fn takes_namespaces(deployment: &Value) -> bool {
    list(deployment, "/spec/template/spec/containers")
        .iter()
        .flat_map(|container| list(container, "/env"))
        .any(|variable| text(variable, "/name") == WATCH_NAMESPACE)
}
