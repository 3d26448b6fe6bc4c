//! What is secret in a release besides what its revisions have: in Secrets that its values come from, that its chart looks up, and in
//! its own as they are now.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Client;
use kube::api::Api;
use serde_json::{Value, json};
use steersman_chart::values;
use steersman_cluster::RequestError;
use steersman_model::{Revision, objects_of_text, split};
use steersman_operator::release::Stored;
use steersman_operator::secrets_named;
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
/// is in another object, who looks may see that. Where one can't be read for another reason, nothing is shown.
///
/// Gives the revisions of which that is not all that is secret: a Secret had something else then, can't be read, or is one of too many.
pub async fn learn_secrets(
    client: &Client,
    revisions: &[Stored],
    redactor: &mut Redactor,
) -> BTreeSet<Revision> {
    let places = revisions.iter().flat_map(had).map(|(place, _)| place);
    let places = places.chain(own(revisions));
    let places = places.filter(|(_, name)| !name.is_empty()).collect();
    let changed = learn(client, places, redactor).await;
    unknown(revisions, &changed)
}

/// The same of the Secrets that a pod gets something of.
///
/// # Errors
/// The pod can't be read.
pub async fn learn_secrets_of_pod(
    client: &Client,
    (namespace, name): (&str, &str),
    redactor: &mut Redactor,
) -> Result<(), RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod = pods.get_opt(name).await?;
    let named = secrets_named(&json!({ "spec": pod.and_then(|pod| pod.spec) }));
    let places = named.into_iter().map(|name| (namespace.to_owned(), name));
    learn(client, places.collect(), redactor).await;
    Ok(())
}

/// Gives when each was changed last that was read.
async fn learn(
    client: &Client,
    places: BTreeSet<Place>,
    redactor: &mut Redactor,
) -> BTreeMap<Place, Timestamp> {
    if places.len() > MOST {
        redactor.extend(Redactor::of_the_unknown());
    }
    let read = places.into_iter().take(MOST).map(|place| async move {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &place.0);
        let found = secrets.get_opt(&place.1).await.map_err(RequestError::from);
        (place, found)
    });
    let mut read = stream::iter(read).buffer_unordered(PARALLEL);
    let mut changed = BTreeMap::new();
    while let Some((place, found)) = read.next().await {
        let secret = match found {
            Ok(Some(secret)) => secret,
            Ok(None) => continue,
            Err(error) if error.is_denied() => continue,
            Err(_) => {
                redactor.extend(Redactor::of_the_unknown());
                continue;
            }
        };
        redactor.add_object(&json!({ "apiVersion": "v1", "kind": "Secret", "data": secret.data }));
        for file in secret.data.iter().flat_map(BTreeMap::values) {
            add_file(&file.0, redactor);
        }
        changed.extend(last_change(&secret).map(|time| (place, time)));
    }
    changed
}

/// Has each value of a file be masked: of YAML or JSON, of lines of JSON, and of lines such as `key=value` and `key: value`. What is not
/// known to be a key, counts.
fn add_file(bytes: &[u8], redactor: &mut Redactor) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let map = values::read(bytes).map(Value::Object).ok();
    let list = steersman_yaml::to_json(text).ok().filter(Value::is_array);
    for values in map.iter().chain(&list) {
        redactor.add_all(values);
    }
    for line in text.lines() {
        // YAML ends with the first of several.
        if let Ok(values @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(line) {
            redactor.add_all(&values);
        }
        let item = line.trim_start().strip_prefix("- ");
        let parts = ["=", ": "].map(|separator| line.split_once(separator).map(|(_, value)| value));
        let parts = parts.into_iter().flatten().chain(item);
        let mut parts: Vec<&str> = parts.flat_map(bare).collect();
        if map.is_none() {
            parts.extend(quoted(line));
        }
        redactor.add_all(&json!(parts));
    }
}

/// A value as it stands in a line, and without the comment behind it, and without what is around it.
fn bare(value: &str) -> impl Iterator<Item = &str> {
    let end = [" #", " ;", " //", "\t#"]
        .iter()
        .filter_map(|begin| value.find(begin))
        .min();
    let without = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
    let trimmed = [value, without].map(|value| value.trim().trim_end_matches([',', ';']));
    let unquoted = trimmed.map(|value| value.trim_matches(['"', '\'']));
    trimmed.into_iter().chain(unquoted)
}

/// What stands between quotes in a line, and is no key.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    ['"', '\''].into_iter().flat_map(move |quote| {
        let parts: Vec<&str> = line.split(quote).collect();
        let behind = parts.iter().skip(1).chain([&""]);
        let within = parts.iter().zip(behind).skip(1).step_by(2);
        let within = within.filter(|(_, behind)| !behind.trim_start().starts_with(':'));
        within.map(|(text, _)| *text).collect::<Vec<_>>()
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_of_a_file_is_secret_whatever_its_key() {
        for file in [
            "word: canary-1",
            "- canary-1\n- {a: canary-2}",
            "[{\"word\": \"canary-1\"}]",
            "{\"a\": 1}\n{\"word\": \"canary-1\"}",
            "# of the shop\nexport WORD=canary-1\nOTHER='canary-2'",
            "[section]\nword = \"canary-1\"\n",
            "word: canary-1\n\tno yaml: at all: canary-2",
            "word = \"canary-1\"   # of the shop",
            "word = canary-1 ; of the shop",
            "\tkey: canary-1",
            "words = [\"canary-1\", \"canary-2\"]",
            "user = { name = \"canary-1\" }",
            "export A=\"canary-1\"; export B=\"canary-2\"",
            "{\n  // of the shop\n  \"word\": \"canary-1\", // it\n}",
            "word: canary-1\nword: canary-2",
            "{{ template }}\n- canary-1",
        ] {
            let mut redactor = Redactor::default();
            add_file(file.as_bytes(), &mut redactor);
            let masked = redactor.mask("it says canary-1");
            assert!(!masked.contains("canary"), "{file}: {masked}");
        }
        let mut redactor = Redactor::default();
        add_file(b"\tkey: Y2FuYXJ5LTE=", &mut redactor);
        assert_eq!(redactor.mask("it says Y2FuYXJ5LTE="), "it says ********");
        let mut redactor = Redactor::default();
        add_file(b"{\"username\": \"canary-1\"} // no JSON", &mut redactor);
        assert_eq!(redactor.mask("username canary-1"), "username ********");
    }
}
