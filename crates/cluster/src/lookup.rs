//! The world of a rendering in the operator: the clock, the system's randomness, the cluster.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde::{Deserialize, Serialize};
use steersman_chart::{Failure, LookupQuery, Timestamp, World};
use steersman_gotemplate::{Map, MapType, Value};
use steersman_model::{ApiKind, Digest, digest_of_json, in_words, is_part_of_a_path, weight_of};
use steersman_watches::{Confinement, OutOfBounds};
use tokio::runtime::Handle;

use crate::client::{Pages, weight_of_cut};
use crate::discovery::{Discovery, DiscoveryError, Resource};
use crate::{Owner, Ownership, RequestError};

/// No name of an object, and none of a namespace, is longer.
const LONGEST_NAME: usize = 253;

/// How many answers of one rendering are remembered. What else it has looked up is not known afterwards.
pub const MAX_ANSWERS: usize = 1000;

/// The types of a release's own Secrets, and how the name of one begins before the release's: a revision, and a part of one.
const REVISIONS: [(&str, &str); 2] = [
    ("helm.sh/release.", "sh.helm.release.v1."),
    ("steersman.dev/release-part.", "steersman.release.v1."),
];

/// What a template looked up, and the digest of the answer.
///
/// What the release itself has written counts as absent, and so does the custom resource: an
/// object that the chart makes when it finds none does not change the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The first argument of `lookup`, such as `apps/v1`.
    pub api_version: String,
    /// The second one, such as `Deployment`.
    pub kind: String,
    /// The namespace; empty for all of them, or where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name; empty for a list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The digest of the answer, but for what changes with every write.
    pub digest: Digest,
    /// Of Secrets, the digest of all that is in them, also in those of the release: what is masked follows from it.
    /// `None` where that is nothing, and in records from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Digest>,
}

impl Answer {
    /// Whether `other` is the same to a template that makes an object when it finds none, whatever the release's own Secrets
    /// have in them.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.is_to(other.query()) && self.digest == other.digest
    }

    /// What was found that is secret, if there was anything of the kind.
    pub fn found_secrets(&self) -> Option<Digest> {
        let nothing = [serde_json::Value::Null, serde_json::json!([])];
        let is_nothing = || {
            nothing
                .iter()
                .any(|nothing| digest_of_json(nothing) == self.digest)
        };
        self.secrets.or_else(|| (!is_nothing()).then_some(self.digest))
    }

    /// Whether `again`, the answer to the same question, has all that is secret in this one.
    pub fn is_covered_by(&self, again: &Self) -> bool {
        match self.secrets {
            Some(secrets) => again.secrets == Some(secrets),
            None => self.found_secrets().is_none() || self.digest == again.digest,
        }
    }

    /// What was looked up, as people say it.
    pub fn in_words(&self) -> String {
        in_words_of_user(self.query())
    }

    fn is_to(&self, query: LookupQuery<'_>) -> bool {
        (&*self.api_version, &*self.kind, &*self.namespace, &*self.name)
            == (query.api_version, query.kind, query.namespace, query.name)
    }

    fn query(&self) -> LookupQuery<'_> {
        LookupQuery {
            api_version: &self.api_version,
            kind: &self.kind,
            namespace: &self.namespace,
            name: &self.name,
        }
    }
}

/// Something can't be looked up.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No such kind is served.
    #[error("unable to get apiresource from unstructured: {0}")]
    UnknownKind(ApiKind),
    /// An object of a namespace is looked for in none.
    #[error("an empty namespace may not be set when a resource name is provided")]
    NoNamespace,
    /// A name or namespace that would be another request.
    #[error("invalid resource name {0:?}: it would be a request for something else")]
    Name(String),
    /// The watch does not let templates look this up.
    #[error("{what} may not be looked up")]
    OutOfBounds {
        /// The kind, and the object.
        what: String,
        /// By which rule.
        source: OutOfBounds,
    },
    /// The answer takes more memory than there is for it.
    #[error("{what} take more than {} of memory", in_words(*allowed))]
    TooLarge {
        /// The kind, and the objects.
        what: String,
        /// No more bytes than these.
        allowed: usize,
    },
    /// The server did not answer the request, or refused it.
    #[error("failed to {verb} {what}")]
    Request {
        /// `get` or `list`, as in a role.
        verb: &'static str,
        /// The resource as in a role, and the object.
        what: String,
        /// What the server said.
        source: RequestError,
    },
}

impl LookupError {
    fn request(resource: &Resource, query: LookupQuery<'_>, error: kube::Error) -> Self {
        let mut what = resource.api.plural.clone();
        if !resource.api.group.is_empty() {
            what = format!("{what}.{}", resource.api.group);
        }
        match (query.namespace, query.name) {
            ("", "") => {}
            ("", name) => what = format!("{what} {name}"),
            (namespace, "") => what = format!("{what} in namespace {namespace}"),
            (namespace, name) => what = format!("{what} {namespace}/{name}"),
        }
        Self::Request {
            verb: if query.name.is_empty() { "list" } else { "get" },
            what,
            source: error.into(),
        }
    }

    fn out_of_bounds(query: LookupQuery<'_>, source: OutOfBounds) -> Self {
        Self::OutOfBounds {
            what: in_words_of_user(query),
            source,
        }
    }

    /// Whether it says something about the server, or about the watch, and nothing about the chart.
    fn is_of_surroundings(&self) -> bool {
        matches!(
            self,
            Self::Discovery(_) | Self::Request { .. } | Self::OutOfBounds { .. } | Self::TooLarge { .. }
        )
    }

    /// Whether only another chart, other values or another watch help.
    pub fn is_out_of_bounds(&self) -> bool {
        matches!(self, Self::OutOfBounds { .. })
    }

    /// Whether more memory helps.
    pub fn is_about_memory(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// The text for the template: Helm's own, or the server's for a request.
    pub fn words(&self) -> String {
        match self {
            Self::Request { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

/// Is shown a Secret.
pub type OnSecret = Box<dyn Fn(&serde_json::Value) + Send + Sync>;

/// Answers templates from the cluster. To be used on a thread that may block.
pub struct ClusterWorld {
    client: Client,
    discovery: Arc<Discovery>,
    runtime: Handle,
    /// What may be looked up for a release, and its namespace.
    bounds: Option<(Confinement, String)>,
    /// How many bytes everything may take that is looked up, and how many it takes.
    allowed: usize,
    taken: AtomicUsize,
    /// For whom the answers are remembered.
    owner: Option<Owner>,
    answers: Mutex<Vec<Answer>>,
    /// What was found, where it is to be found again.
    found: Option<Mutex<BTreeMap<[String; 4], serde_json::Value>>>,
    /// Is shown each Secret that templates are shown.
    on_secret: Option<OnSecret>,
    /// The first request that failed.
    failure: Mutex<Option<LookupError>>,
}

impl std::fmt::Debug for ClusterWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").finish_non_exhaustive()
    }
}

impl ClusterWorld {
    /// A world that asks `client`; requests run on `runtime`.
    pub fn new(client: Client, discovery: Arc<Discovery>, runtime: Handle) -> Self {
        Self {
            client,
            discovery,
            runtime,
            bounds: None,
            allowed: usize::MAX,
            taken: AtomicUsize::new(0),
            owner: None,
            answers: Mutex::default(),
            found: None,
            on_secret: None,
            failure: Mutex::default(),
        }
    }

    /// The same world, which answers what a release in `namespace` may look up, where that is limited.
    #[must_use]
    pub fn within(mut self, confinement: Option<&Confinement>, namespace: &str) -> Self {
        self.bounds = confinement.map(|confinement| (confinement.clone(), namespace.to_owned()));
        self
    }

    /// The same world, in which everything that is looked up takes no more than so many bytes.
    #[must_use]
    pub fn allowing(mut self, bytes: usize) -> Self {
        self.allowed = bytes;
        self
    }

    /// The same world, which gives the same answer to the same question each time.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        self.found = Some(Mutex::default());
        self
    }

    /// The same world, which remembers what it answers to the release of `owner`.
    #[must_use]
    pub fn remembering(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The same world, which shows each Secret that it finds to `on_secret`. None is kept: one after the other, they may take
    /// more memory than there is.
    #[must_use]
    pub fn showing_secrets_to(mut self, on_secret: OnSecret) -> Self {
        self.on_secret = Some(on_secret);
        self
    }

    /// What was answered so far.
    pub fn answers(&self) -> Vec<Answer> {
        lock(&self.answers).clone()
    }

    /// The first request that failed, if one did. The template that asked has failed then.
    pub fn take_failure(&self) -> Option<LookupError> {
        lock(&self.failure).take()
    }

    /// Asks again what was asked for `answers`. What can't be answered now counts as unchanged, and the first failure is
    /// kept for [`ClusterWorld::take_failure`]. Each answer has all the room that there is, as nothing but its digest is kept.
    ///
    /// # Errors
    /// An answer has no room.
    pub async fn ask_again(&self, owner: &Owner, answers: &[Answer]) -> Result<Vec<Answer>, LookupError> {
        let mut again = Vec::with_capacity(answers.len());
        for answer in answers {
            let mut answer = answer.clone();
            self.taken.store(0, Ordering::Relaxed);
            match self.find(answer.query()).await {
                Ok(found) => {
                    answer.digest = digest_of_answer(&found, owner);
                    answer.secrets = digest_of_secrets(answer.query(), &found, owner);
                    self.show_secrets(answer.query(), &found);
                }
                Err(error) if error.is_about_memory() => return Err(error),
                Err(error) => {
                    tracing::debug!(kind = %answer.kind, error = error.words(), "failed to look up again");
                    lock(&self.failure).get_or_insert(error);
                }
            }
            again.push(answer);
        }
        Ok(again)
    }

    fn remember(&self, query: LookupQuery<'_>, found: &serde_json::Value) {
        let Some(owner) = self.owner.as_ref().filter(|_| can_exist(query)) else {
            return;
        };
        let mut answers = lock(&self.answers);
        if answers.len() < MAX_ANSWERS && !answers.iter().any(|answer| answer.is_to(query)) {
            answers.push(Answer {
                api_version: query.api_version.to_owned(),
                kind: query.kind.to_owned(),
                namespace: query.namespace.to_owned(),
                name: query.name.to_owned(),
                digest: digest_of_answer(found, owner),
                secrets: digest_of_secrets(query, found, owner),
            });
        }
    }

    fn show_secrets(&self, query: LookupQuery<'_>, found: &serde_json::Value) {
        let Some(show) = self.on_secret.as_ref().filter(|_| query.kind == "Secret") else {
            return;
        };
        match found.get("items").and_then(serde_json::Value::as_array) {
            Some(items) => items.iter().for_each(show),
            None => show(found),
        }
    }

    async fn find(&self, query: LookupQuery<'_>) -> Result<serde_json::Value, LookupError> {
        let out_of_bounds = |rule| LookupError::out_of_bounds(query, rule);
        if let Some((confinement, _)) = &self.bounds {
            confinement.admit_lookup().map_err(out_of_bounds)?;
        }
        for segment in [query.namespace, query.name] {
            if !segment.is_empty() && !is_part_of_a_path(segment) {
                return Err(LookupError::Name(segment.to_owned()));
            }
        }
        let kind = ApiKind::new(query.api_version, query.kind);
        let served = self.discovery.served_with([&kind]).await?;
        let Some(resource) = served.resource(&kind) else {
            return Err(LookupError::UnknownKind(kind));
        };
        if let Some((confinement, release_namespace)) = &self.bounds {
            let namespace = Some(query.namespace).filter(|name| resource.namespaced && !name.is_empty());
            confinement
                .admit_lookup_in(namespace, release_namespace)
                .map_err(out_of_bounds)?;
        }
        let failed = |error| LookupError::request(resource, query, error);
        let api: Api<DynamicObject> = resource.objects(&self.client, Some(query.namespace));
        if query.name.is_empty() && can_exist(query) {
            return self.list(&api, resource, query).await;
        }
        if resource.namespaced && query.namespace.is_empty() && !query.name.is_empty() {
            return Err(LookupError::NoNamespace);
        }
        if !can_exist(query) {
            return Ok(nothing(query));
        }
        Ok(match api.get_opt(query.name).await.map_err(failed)? {
            Some(object) => self.admitted(object, query)?,
            None => nothing(query),
        })
    }

    /// An object, if there is room for it.
    fn admitted(
        &self,
        object: DynamicObject,
        query: LookupQuery<'_>,
    ) -> Result<serde_json::Value, LookupError> {
        let is_cut = weight_of_cut(&object.data).is_some();
        let object = serde_json::to_value(object).unwrap_or_default();
        let weight = weight_of(&object);
        let before = self.taken.fetch_add(weight, Ordering::Relaxed);
        if is_cut || before.saturating_add(weight) > self.allowed {
            return Err(LookupError::TooLarge {
                what: in_words_of_user(query),
                allowed: self.allowed,
            });
        }
        Ok(object)
    }

    async fn list(
        &self,
        api: &Api<DynamicObject>,
        resource: &Resource,
        query: LookupQuery<'_>,
    ) -> Result<serde_json::Value, LookupError> {
        let mut pages = Pages::of(api, ListParams::default());
        let mut items = Vec::new();
        let failed = |error| LookupError::request(resource, query, error);
        while let Some(page) = pages.next().await.map_err(failed)? {
            for mut object in page {
                // Items of a list name no type; Helm's do.
                object.types.get_or_insert_with(|| kube::core::TypeMeta {
                    api_version: query.api_version.to_owned(),
                    kind: query.kind.to_owned(),
                });
                items.push(self.admitted(object, query)?);
            }
        }
        Ok(list_of(query, items))
    }
}

impl World for ClusterWorld {
    fn now(&self) -> Timestamp {
        let now = jiff::Timestamp::now();
        Timestamp {
            seconds: now.as_second(),
            nanoseconds: now.subsec_nanosecond().unsigned_abs(),
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        // The system's source does not fail once it is seeded, which is before any process of ours.
        if getrandom::fill(buffer).is_err() {
            tracing::error!("the system has no randomness");
        }
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        let question = [query.api_version, query.kind, query.namespace, query.name].map(str::to_owned);
        if let Some(found) = &self.found
            && let Some(found) = lock(found).get(&question)
        {
            return Ok(to_value(found));
        }
        let found = match self.runtime.block_on(self.find(query)) {
            Ok(found) => found,
            Err(error) => {
                let words = error.words();
                if error.is_of_surroundings() {
                    lock(&self.failure).get_or_insert(error);
                }
                return Err(Failure::new(words));
            }
        };
        self.remember(query, &found);
        let value = to_value(&found);
        self.show_secrets(query, &found);
        if let Some(known) = &self.found {
            lock(known).insert(question, found);
        }
        Ok(value)
    }
}

/// A [`ClusterWorld`] whose clock is ahead. A second rendering in it shows what of the output comes from the clock:
/// every part of a date differs.
#[derive(Debug)]
pub struct ShiftedClock<'a>(pub &'a ClusterWorld);

/// A year, a month, a day, an hour, a minute and a second, about.
const SHIFT: i64 = (365 + 31 + 1) * 86400 + 3661;

impl World for ShiftedClock<'_> {
    fn now(&self) -> Timestamp {
        let now = self.0.now();
        Timestamp {
            seconds: now.seconds + SHIFT,
            nanoseconds: (now.nanoseconds + 111_111_111) % 1_000_000_000,
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.0.fill_random(buffer);
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        self.0.lookup(query)
    }
}

/// Whether there can be what is looked up. What can't be is not asked for, nor again, so that it need not be remembered.
fn can_exist(query: LookupQuery<'_>) -> bool {
    query.namespace.len().max(query.name.len()) <= LONGEST_NAME
}

/// The answer where nothing is found.
fn nothing(query: LookupQuery<'_>) -> serde_json::Value {
    if query.name.is_empty() {
        return list_of(query, Vec::new());
    }
    serde_json::json!({})
}

fn list_of(query: LookupQuery<'_>, items: Vec<serde_json::Value>) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": query.api_version, "kind": format!("{}List", query.kind), "metadata": {}, "items": items,
    })
}

/// What is looked up, as people say it.
fn in_words_of_user(query: LookupQuery<'_>) -> String {
    let LookupQuery {
        kind,
        namespace,
        name,
        ..
    } = query;
    match (namespace, name) {
        ("", "") => format!("{kind} of all namespaces"),
        ("", name) => format!("{kind} {name}"),
        (namespace, "") => format!("{kind} in namespace {namespace}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn digest_of_answer(found: &serde_json::Value, owner: &Owner) -> Digest {
    match found.get("items").and_then(serde_json::Value::as_array) {
        Some(items) => {
            let others: Vec<_> = items.iter().filter_map(|item| of_others(item, owner)).collect();
            digest_of_json(&serde_json::Value::Array(others))
        }
        None => digest_of_json(&of_others(found, owner).unwrap_or_default()),
    }
}

/// The digest of what the Secrets of an answer have in them; `None` where that is nothing. Those of the release count as well:
/// others may have written into them, and the revision that has made one may be gone.
fn digest_of_secrets(query: LookupQuery<'_>, found: &serde_json::Value, owner: &Owner) -> Option<Digest> {
    if query.kind != "Secret" {
        return None;
    }
    let items = found.get("items").and_then(serde_json::Value::as_array);
    let secrets = items.map_or_else(|| std::slice::from_ref(found), Vec::as_slice);
    let contents: Vec<_> = secrets
        .iter()
        .filter_map(|secret| content_of(secret, owner))
        .collect();
    (!contents.is_empty()).then(|| digest_of_json(&serde_json::Value::Array(contents)))
}

/// The data of a Secret, with its name; `None` where there is none, and for the revisions of the release: each new one is
/// another Secret.
fn content_of(secret: &serde_json::Value, owner: &Owner) -> Option<serde_json::Value> {
    let metadata: ObjectMeta = serde_json::from_value(secret.get("metadata")?.clone()).ok()?;
    let data = secret.get("data")?.as_object()?;
    if data.is_empty() || is_revision(secret, &metadata, owner) {
        return None;
    }
    Some(serde_json::json!([metadata.namespace, metadata.name, data]))
}

/// Whether a Secret is a revision of the release of `owner`, or a part of one. Its type alone is anybody's word.
fn is_revision(secret: &serde_json::Value, metadata: &ObjectMeta, owner: &Owner) -> bool {
    let kind = secret["type"].as_str().unwrap_or_default();
    let name = metadata.name.as_deref().unwrap_or_default();
    let is_called = REVISIONS.iter().any(|(of_type, prefix)| {
        let rest = name.strip_prefix(prefix);
        let rest = rest.and_then(|rest| rest.strip_prefix(owner.release.as_str()));
        kind.starts_with(of_type) && rest.is_some_and(|rest| rest.starts_with(".v"))
    });
    is_called
        && metadata.namespace.as_ref() == Some(&owner.release_namespace)
        && owner.ownership(metadata) == Ownership::Ours
}

/// An object without what changes with every write; `None` where there is none, or it is the
/// release's own.
fn of_others(object: &serde_json::Value, owner: &Owner) -> Option<serde_json::Value> {
    let metadata: ObjectMeta = serde_json::from_value(object.get("metadata")?.clone()).ok()?;
    let is_owner = metadata.uid.as_deref() == Some(owner.uid.as_str());
    if is_owner || !matches!(owner.ownership(&metadata), Ownership::Foreign(_)) {
        return None;
    }
    let mut object = object.clone();
    if let Some(metadata) = object
        .get_mut("metadata")
        .and_then(serde_json::Value::as_object_mut)
    {
        for volatile in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(volatile);
        }
    }
    Some(object)
}

/// JSON of the server as templates see it: integers are `int64`, as client-go reads them.
fn to_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Int64),
        serde_json::Value::String(text) => Value::string(text.as_str()),
        serde_json::Value::Array(items) => Value::list(items.iter().map(to_value).collect()),
        serde_json::Value::Object(map) => Value::Map(Map::from_entries(
            MapType::Any,
            map.iter().map(|(key, value)| (key.as_str(), to_value(value))),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner() -> Owner {
        Owner {
            api_version: "example.com/v1".to_owned(),
            kind: "Web".to_owned(),
            namespace: Some("default".to_owned()),
            name: "shop".to_owned(),
            uid: "u-1".to_owned(),
            chart: "web".to_owned(),
            release: "shop".to_owned(),
            release_namespace: "default".to_owned(),
        }
    }

    fn digest(found: &serde_json::Value) -> Digest {
        digest_of_answer(found, &owner())
    }

    #[test]
    fn what_the_release_makes_is_as_if_it_was_not_there() {
        let absent = digest(&json!({}));
        let labels = json!({"steersman.dev/owner-uid": "u-1"});
        let copied = json!({"metadata": {"name": "a", "labels": labels}, "data": {"a": "b"}});
        let applied = json!([{"manager": "steersman", "operation": "Apply",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:steersman.dev/owner-uid": {}}}}}]);
        let mut ours = copied.clone();
        ours["metadata"]["managedFields"] = applied;
        assert_eq!(digest(&ours), absent);
        assert_ne!(digest(&copied), absent, "a controller has made it");
        assert_eq!(
            digest(&json!({"metadata": {"name": "shop", "uid": "u-1"}})),
            absent
        );
        assert_ne!(
            digest(&json!({"metadata": {"name": "a"}, "data": {"a": "b"}})),
            absent
        );
        let list = |items: serde_json::Value| digest(&json!({"metadata": {}, "items": items}));
        assert_eq!(list(json!([ours])), list(json!([])));
        assert_ne!(list(json!([{"metadata": {"name": "a"}}])), list(json!([])));
    }

    fn digest_of_secret(found: &serde_json::Value) -> Option<Digest> {
        let query = LookupQuery {
            api_version: "v1",
            kind: "Secret",
            namespace: "default",
            name: "a",
        };
        digest_of_secrets(query, found, &owner())
    }

    #[test]
    fn all_that_is_in_a_secret_counts_whoever_has_written_it() {
        let digest = digest_of_secret;
        let foreign = |word: &str| json!({"metadata": {"name": "a"}, "data": {"word": word}});
        assert_eq!(digest(&json!({})), None);
        assert_eq!(digest(&json!({"metadata": {"name": "a"}, "data": {}})), None);
        assert_ne!(digest(&foreign("x")), None);
        assert_ne!(digest(&foreign("x")), digest(&foreign("y")));
        let ours = |part: &str, data: serde_json::Value| {
            let fields =
                json!({"f:metadata": {"f:labels": {"f:steersman.dev/owner-uid": {}}}, part: {"f:own": {}}});
            let applied = json!([{"manager": "steersman", "operation": "Apply", "fieldsV1": fields}]);
            let labels = json!({"steersman.dev/owner-uid": "u-1"});
            json!({"metadata": {"name": "a", "labels": labels, "managedFields": applied}, "data": data})
        };
        for part in ["f:data", "f:stringData"] {
            let one = digest(&ours(part, json!({"own": "x"})));
            assert_ne!(one, None);
            assert_ne!(one, digest(&ours(part, json!({"own": "y"}))));
            assert_ne!(one, digest(&ours(part, json!({"own": "x", "theirs": "y"}))));
        }
    }

    #[test]
    fn nothing_but_the_revisions_of_the_release_itself_is_left_out() {
        let secret = |kind: &str, name: &str, uid: &str, namespace: &str| {
            let owner = json!([{"apiVersion": "example.com/v1", "kind": "Web", "name": "shop", "uid": uid}]);
            let metadata = json!({"name": name, "namespace": namespace, "ownerReferences": owner});
            let found = json!({"metadata": metadata, "type": kind, "data": {"release": "x"}});
            digest_of_secret(&json!({ "items": [found] }))
        };
        let (helm, part) = ("helm.sh/release.v1", "steersman.dev/release-part.v1");
        assert_eq!(secret(helm, "sh.helm.release.v1.shop.v3", "u-1", "default"), None);
        assert_eq!(
            secret(
                part,
                "steersman.release.v1.shop.v3.ababababab.1",
                "u-1",
                "default"
            ),
            None
        );
        for (kind, name, uid, namespace) in [
            (helm, "token", "u-1", "default"),
            (helm, "sh.helm.release.v1.other.v3", "u-1", "default"),
            (helm, "sh.helm.release.v1.shop.v3", "u-2", "default"),
            (helm, "sh.helm.release.v1.shop.v3", "u-1", "other"),
            (part, "sh.helm.release.v1.shop.v3", "u-1", "default"),
            ("Opaque", "sh.helm.release.v1.shop.v3", "u-1", "default"),
        ] {
            assert_ne!(
                secret(kind, name, uid, namespace),
                None,
                "{kind} {name} {uid} {namespace}"
            );
        }
    }

    #[test]
    fn what_was_found_before_it_was_noted_is_told_by_the_answer() {
        let answer = |digest: Digest, secrets: Option<Digest>| Answer {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            digest,
            secrets,
        };
        let (absent, one, other) = (digest(&json!({})), Digest::of(b"one"), Digest::of(b"other"));
        assert_eq!(answer(absent, None).found_secrets(), None);
        assert!(answer(absent, None).is_covered_by(&answer(one, Some(other))));
        assert!(answer(one, None).is_covered_by(&answer(one, Some(other))));
        assert!(!answer(one, None).is_covered_by(&answer(other, Some(other))));
        assert!(!answer(one, Some(one)).is_covered_by(&answer(one, Some(other))));
    }

    #[test]
    fn a_write_that_changes_nothing_is_no_other_answer() {
        let at = |version: &str, data: &str| {
            digest(&json!({"metadata": {"name": "a", "resourceVersion": version}, "data": data}))
        };
        assert_eq!(at("1", "x"), at("2", "x"));
        assert_ne!(at("1", "x"), at("1", "y"));
    }
}
