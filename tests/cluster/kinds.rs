//! The kinds that a test defines, taken away when it ends: each one that is left makes every discovery, every start of a client
//! and every deletion of a namespace dearer for those that come later.

use std::sync::Mutex;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::json;
use steersman_testkit::cluster::TestCluster;

use crate::bench::definitions;

/// How long it may take. The cluster may be gone already.
const WITHIN: Duration = Duration::from_mins(1);

/// Kinds of one test.
pub(crate) struct Kinds {
    cluster: &'static TestCluster,
    defined: Mutex<Vec<ApiResource>>,
}

impl Kinds {
    pub(crate) fn new(cluster: &'static TestCluster) -> Self {
        Self {
            cluster,
            defined: Mutex::default(),
        }
    }

    /// Remembers a kind that was defined.
    pub(crate) fn add(&self, kind: ApiResource) {
        self.defined.lock().unwrap().push(kind);
    }
}

impl Drop for Kinds {
    fn drop(&mut self) {
        let kinds = std::mem::take(&mut *self.defined.lock().unwrap());
        if kinds.is_empty() || std::thread::panicking() {
            return;
        }
        let cluster = self.cluster;
        // The test's own runtime ends with it.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let _ = tokio::time::timeout(WITHIN, take_away(cluster, &kinds)).await;
            });
        });
    }
}

/// Deletes kinds with their resources. A request that fails is left at that: the cluster ends with the tests.
async fn take_away(cluster: &TestCluster, kinds: &[ApiResource]) {
    let Ok(client) = cluster.client().await else {
        return;
    };
    let definitions = definitions(&client);
    for kind in kinds {
        release(&client, kind).await;
        let name = format!("{}.{}", kind.plural, kind.group);
        let _ = definitions.delete(&name, &DeleteParams::default()).await;
    }
}

/// Takes finalizers from resources that have outlived their operator.
async fn release(client: &kube::Client, kind: &ApiResource) {
    let resources = Api::<DynamicObject>::all_with(client.clone(), kind);
    let Ok(left) = resources.list_metadata(&ListParams::default()).await else {
        return;
    };
    for resource in left.items {
        let (Some(name), Some(finalizers)) = (resource.metadata.name, resource.metadata.finalizers) else {
            continue;
        };
        if finalizers.is_empty() {
            continue;
        }
        let api = match resource.metadata.namespace {
            Some(namespace) => Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, kind),
            None => resources.clone(),
        };
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let _ = api.patch(&name, &PatchParams::default(), &patch).await;
    }
}
