//! Which resources the server keeps, and which it only answers: reviews, for example, have nothing to be marked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use tokio::time::Instant;

use crate::body::{Budget, read_answer};
use crate::refusal::Refusal;
use crate::request::ResourcePath;
use crate::upstream::Upstream;

/// A resource that is missing is looked for again at most this often.
const PAUSE: Duration = Duration::from_secs(5);

/// How large the list of a version's resources may be.
const MAX_LIST: usize = 4 << 20;

/// How many versions are remembered.
const MAX_VERSIONS: usize = 1000;

/// What an object needs to be one that is kept.
const VERBS_OF_KEPT: [&str; 3] = ["get", "list", "watch"];

/// What is known of the server's resources.
#[derive(Debug, Default)]
pub(crate) struct Kinds(Mutex<BTreeMap<String, Version>>);

/// The resources of a version of a group, and whether they are kept.
#[derive(Clone, Debug)]
struct Version {
    kept: BTreeMap<String, bool>,
    read_at: Instant,
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<ListedResource>,
}

#[derive(Deserialize)]
struct ListedResource {
    name: String,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Kinds {
    /// Whether objects of a resource are kept. One that the server does not list counts as kept: either it is there by the
    /// time that the request comes, or the request fails.
    ///
    /// # Errors
    /// The server does not say.
    pub(crate) async fn is_kept(&self, upstream: &Upstream, target: &ResourcePath) -> Result<bool, Refusal> {
        let name = target.api_version();
        if let Some(version) = self.known(&name) {
            let is_kept = version.kept.get(&target.resource);
            if is_kept.is_some() || version.read_at.elapsed() < PAUSE {
                return Ok(is_kept.copied().unwrap_or(true));
            }
        }
        let version = ask(upstream, target, &name).await?;
        let is_kept = version.kept.get(&target.resource).copied();
        self.remember(name, version);
        Ok(is_kept.unwrap_or(true))
    }

    fn known(&self, name: &str) -> Option<Version> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    fn remember(&self, name: String, version: Version) {
        let mut versions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() < MAX_VERSIONS || versions.contains_key(&name) {
            versions.insert(name, version);
        }
    }
}

/// Asks as the operator itself: everybody may know what a server serves.
async fn ask(upstream: &Upstream, target: &ResourcePath, name: &str) -> Result<Version, Refusal> {
    let failed = |reason: String| Refusal::Unreadable {
        what: format!("the resources of {name}"),
        reason,
    };
    let prefix = if target.group.is_empty() { "api" } else { "apis" };
    let path = format!("/{prefix}/{name}")
        .parse()
        .map_err(|_| failed("no path has this name".to_owned()))?;
    let answer = upstream.get(path, "application/json", None).await?;
    let read_at = Instant::now();
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => {
            return Ok(Version {
                kept: BTreeMap::new(),
                read_at,
            });
        }
        other => return Err(failed(other.to_string())),
    }
    let (text, _) = read_answer(answer.into_body(), MAX_LIST, &Budget::default()).await;
    let text = text.ok_or_else(|| failed("it breaks off, or is too long".to_owned()))?;
    let list: ResourceList = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    let kept = list.resources.into_iter().map(|resource| {
        let has = |verb: &&str| resource.verbs.iter().any(|known| known == verb);
        let is_kept = VERBS_OF_KEPT.iter().all(has);
        (resource.name, is_kept)
    });
    Ok(Version {
        kept: kept.collect(),
        read_at,
    })
}
