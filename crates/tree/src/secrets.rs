//! What is secret in a release besides what its revisions have: in Secrets that its values come from, and that its chart looks up.

use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use serde_json::json;
use steersman_operator::release::Stored;
use steersman_operator::status::Redactor;

/// So many Secrets are read.
const MOST: usize = 50;
/// So many at a time.
const PARALLEL: usize = 8;

/// Has what is in the Secrets of these revisions be masked, as far as the client may read them: where a value of one is in another
/// object, who looks may see that.
pub async fn learn_secrets(client: &Client, revisions: &[Stored], redactor: &mut Redactor) {
    let names = named(revisions);
    let read = names.into_iter().take(MOST).map(|(namespace, name)| async move {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
        secrets.get_opt(&name).await.ok().flatten()
    });
    let mut read = stream::iter(read).buffer_unordered(PARALLEL);
    while let Some(found) = read.next().await {
        let Some(secret) = found else { continue };
        redactor.add_object(&json!({ "apiVersion": "v1", "kind": "Secret", "data": secret.data }));
    }
}

/// The namespaces and names of these Secrets.
fn named(revisions: &[Stored]) -> BTreeSet<(String, String)> {
    let of_stored = |stored: &Stored| {
        let namespace = &stored.record.namespace;
        let sources = stored.snapshot.values_from.iter();
        let sources = sources.filter(|source| source.is_secret());
        let sources = sources.map(|source| (namespace.clone(), source.name.clone()));
        let lookups = stored.snapshot.lookups.iter();
        let lookups = lookups.filter(|asked| {
            (asked.api_version.as_str(), asked.kind.as_str()) == ("v1", "Secret") && !asked.name.is_empty()
        });
        let lookups = lookups.map(|asked| (asked.namespace.clone(), asked.name.clone()));
        sources.chain(lookups).collect::<Vec<_>>()
    };
    let names = revisions.iter().rev().flat_map(of_stored);
    names.filter(|(namespace, _)| !namespace.is_empty()).collect()
}
