//! The objects below a custom resource, as a tree by owner.

use anyhow::Result;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};

use crate::screen::Screen;
use crate::site::{Site, summary};

/// Kinds that the chart renders or that Kubernetes derives from them.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("", "v1", "ServiceAccount", "serviceaccounts"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Service", "services"),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "ReplicaSet", "replicasets"),
    ("apps", "v1", "StatefulSet", "statefulsets"),
    ("apps", "v1", "ControllerRevision", "controllerrevisions"),
    (
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses"),
    ("batch", "v1", "Job", "jobs"),
    ("", "v1", "Pod", "pods"),
];

/// An object with its kind and what it says about itself.
pub(crate) struct Node {
    pub(crate) kind: &'static str,
    pub(crate) object: DynamicObject,
}

/// Prints the site and what hangs below it.
pub(crate) async fn print(site: &Site, screen: &Screen) -> Result<()> {
    let resource = site.get().await?;
    let nodes = objects(site).await?;
    screen.line(&format!(
        "{}  {}",
        screen.bold(&format!("VisitorsSite/{}", site.name)),
        summary(&resource)
    ));
    print_below(&resource.uid().unwrap_or_default(), "", &nodes, screen);
    Ok(())
}

/// Everything of those kinds in the namespace of the site that has an owner.
pub(crate) async fn objects(site: &Site) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    for (group, version, kind, plural) in KINDS {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::namespaced_with(site.client.clone(), &site.namespace, &resource);
        let listed = api.list(&ListParams::default()).await?;
        let owned = listed
            .items
            .into_iter()
            .filter(|object| !object.owner_references().is_empty());
        nodes.extend(owned.map(|object| Node { kind, object }));
    }
    Ok(nodes)
}

/// The objects that the owner with this UID controls.
pub(crate) fn below<'a>(owner: &str, nodes: &'a [Node]) -> Vec<&'a Node> {
    let controlled = |node: &&Node| {
        node.object
            .owner_references()
            .iter()
            .any(|reference| reference.uid == owner)
    };
    nodes.iter().filter(controlled).collect()
}

fn print_below(owner: &str, indent: &str, nodes: &[Node], screen: &Screen) {
    let children = below(owner, nodes);
    for (position, node) in children.iter().enumerate() {
        let last = position + 1 == children.len();
        let (branch, deeper) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let name = format!("{}/{}", node.kind, node.object.name_any());
        screen.line(&format!(
            "{}{name}  {}",
            screen.dim(&format!("{indent}{branch}")),
            screen.dim(&state(node))
        ));
        print_below(
            &node.object.uid().unwrap_or_default(),
            &format!("{indent}{deeper}"),
            nodes,
            screen,
        );
    }
}

/// What is worth saying of an object beside its name.
fn state(node: &Node) -> String {
    let data = &node.object.data;
    let number = |path: &str| {
        data.pointer(path)
            .and_then(serde_json::Value::as_i64)
            .unwrap_or(0)
    };
    match node.kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" => {
            format!(
                "{} of {} ready",
                number("/status/readyReplicas"),
                number("/spec/replicas")
            )
        }
        "Secret" => data["type"].as_str().unwrap_or_default().to_owned(),
        "Service" => data
            .pointer("/spec/clusterIP")
            .and_then(|address| address.as_str())
            .unwrap_or("")
            .to_owned(),
        _ => String::new(),
    }
}
