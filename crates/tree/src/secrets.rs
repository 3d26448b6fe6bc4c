//! What is secret in a release besides what its revisions have: in Secrets that its values come from, that its chart looks up, and in
//! its own as they are now.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use serde_json::{Value, json};
use steersman_chart::values;
use steersman_model::{Revision, objects_of_text, split};
use steersman_operator::release::Stored;
use steersman_operator::status::Redactor;

/// So many Secrets are read. Where there are more, nothing is shown.
const MOST: usize = 200;
/// So many at a time.
const PARALLEL: usize = 8;

/// A namespace, and a name in it; no name is all of them.
type Place = (String, String);

/// What a revision had of a Secret, as far as that can be compared: where from it was, and a digest.
type Had = (Place, Value);

/// Has what is in the Secrets of these revisions, the oldest first, be masked, as far as the client may read them: where a value of one
/// is in another object, who looks may see that.
///
/// Gives the revisions of which that is not all that is secret: a Secret had something else then, can't be read, or is one of too many.
pub async fn learn_secrets(
    client: &Client,
    revisions: &[Stored],
    redactor: &mut Redactor,
) -> BTreeSet<Revision> {
    let places = revisions.iter().flat_map(had).map(|(place, _)| place);
    let places = places.chain(own(revisions));
    let places: BTreeSet<Place> = places.filter(|(_, name)| !name.is_empty()).collect();
    if places.len() > MOST {
        redactor.extend(Redactor::of_the_unknown());
    }
    let read = places.into_iter().take(MOST).map(|place| async move {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &place.0);
        let found = secrets.get_opt(&place.1).await.ok().flatten();
        found.map(|secret| (place, secret))
    });
    let mut read = stream::iter(read).buffer_unordered(PARALLEL);
    let mut changed = BTreeMap::new();
    while let Some(found) = read.next().await {
        let Some((place, secret)) = found else { continue };
        redactor.add_object(&json!({ "apiVersion": "v1", "kind": "Secret", "data": secret.data }));
        for file in secret.data.iter().flat_map(BTreeMap::values) {
            if let Ok(values) = values::read(&file.0) {
                redactor.add_all(&Value::Object(values));
            }
        }
        changed.extend(last_change(&secret).map(|time| (place, time)));
    }
    unknown(revisions, &changed)
}

/// The Secrets that revisions have made: others may have put more into them. Most are the same in all of them.
fn own(revisions: &[Stored]) -> impl Iterator<Item = Place> {
    let documents = revisions.iter().flat_map(|stored| {
        let documents = split(&stored.record.manifest).into_iter();
        let documents = documents.filter(|document| document.contains("Secret"));
        documents.map(|document| (stored.record.namespace.as_str(), document))
    });
    let documents: BTreeSet<(&str, &str)> = documents.collect();
    documents.into_iter().flat_map(|(namespace, document)| {
        let objects = objects_of_text("", document).unwrap_or_default().into_iter();
        let secrets = objects.filter(|object| object.api.group.is_empty() && object.api.kind == "Secret");
        secrets.map(move |secret| {
            (
                secret.namespace.unwrap_or_else(|| namespace.to_owned()),
                secret.name,
            )
        })
    })
}

/// When a Secret was changed last, to the second.
fn last_change(secret: &Secret) -> Option<Timestamp> {
    let metadata = &secret.metadata;
    let managers = metadata.managed_fields.iter().flatten();
    let times = managers.map(|manager| manager.time.as_ref());
    let times = times.chain([metadata.creation_timestamp.as_ref()]);
    times.map(|time| time.map(|time| time.0)).max().flatten()
}

/// The revisions that had something else of a Secret than it has, which was changed last at these times, or of one that is not known.
///
/// What the newest one had is what there is where nothing was changed after it, nor in its second.
fn unknown(revisions: &[Stored], changed: &BTreeMap<Place, Timestamp>) -> BTreeSet<Revision> {
    let mut newest: BTreeMap<Place, (Value, Option<Timestamp>)> = BTreeMap::new();
    for stored in revisions {
        for (place, digests) in had(stored) {
            newest.insert(place, (digests, stored.snapshot.written));
        }
    }
    let is_known = |(place, digests): Had| {
        let (changed, newest) = (changed.get(&place), newest.get(&place));
        changed
            .zip(newest)
            .is_some_and(|(changed, (of_newest, written))| {
                digests == *of_newest
                    && written.is_some_and(|written| changed.as_second() < written.as_second())
            })
    };
    let unknown = revisions
        .iter()
        .filter(|stored| !had(stored).into_iter().all(is_known));
    unknown.map(|stored| stored.record.version).collect()
}

/// What a revision had of Secrets.
fn had(stored: &Stored) -> Vec<Had> {
    let mut had: BTreeMap<Place, Vec<Value>> = BTreeMap::new();
    let sources = stored.snapshot.values_from.iter();
    for source in sources.filter(|source| source.is_secret()) {
        let place = (stored.record.namespace.clone(), source.name.clone());
        had.entry(place)
            .or_default()
            .push(json!([source.values_key, source.mac]));
    }
    for asked in &stored.snapshot.lookups {
        let is_of_secrets = (asked.api_version.as_str(), asked.kind.as_str()) == ("v1", "Secret");
        if let Some(found) = asked.found_secrets().filter(|_| is_of_secrets) {
            let place = (asked.namespace.clone(), asked.name.clone());
            had.entry(place).or_default().push(json!(found));
        }
    }
    let digests = had.into_iter().map(|(place, digests)| (place, digests.into()));
    digests.collect()
}
