//! What the API server lets its client do.

mod needs;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
pub use needs::{added_status, custom_kind, known_to, options, procedures, references};
use steersman_project::rbac::{Granted, Rule};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::RequestError;

/// No namespace can have this name, so that what is granted there is granted everywhere. An answer for a namespace has
/// both, without saying which is which.
const NOWHERE: &str = "-";

/// Answers of at most this age are used again: controllers that start together share one.
const MAX_AGE: Duration = Duration::from_secs(10);

/// What a client may do is not known.
#[derive(Debug, thiserror::Error)]
pub enum PermissionsError {
    /// The server does not answer.
    #[error("failed to ask the API server for the permissions")]
    Request(#[source] RequestError),
    /// There are other authorizers than RBAC, which can't be asked.
    #[error("the API server does not know all permissions{}", detail(.0))]
    Incomplete(String),
}

fn detail(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

/// What the operator may do, asked for once for all controllers.
///
/// ```no_run
/// use std::collections::BTreeSet;
/// use steersman_cluster::client::Target;
/// use steersman_cluster::permissions::Permissions;
/// use steersman_model::Environment;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Target::default().connect(&Environment::of_process()).await?;
/// let namespaces = BTreeSet::from(["default".to_owned()]);
/// let permissions = Permissions::new(namespaces.clone());
/// for granted in permissions.granted(&client, &namespaces).await? {
///     let place = granted.namespace.as_deref().unwrap_or("everywhere");
///     assert!(!granted.rule.verbs.is_empty(), "a rule without verbs for {place}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Permissions {
    namespaces: BTreeSet<String>,
    /// By namespace; [`NOWHERE`] has what holds everywhere.
    last: Mutex<BTreeMap<String, (Instant, Vec<Rule>)>>,
}

impl Permissions {
    /// Nothing is asked yet. With `namespaces` empty, all of them are watched.
    pub fn new(namespaces: BTreeSet<String>) -> Self {
        Self {
            namespaces,
            last: Mutex::default(),
        }
    }

    /// The namespaces that are watched; none where all of them are.
    pub fn namespaces(&self) -> &BTreeSet<String> {
        &self.namespaces
    }

    /// As [`granted`], with answers of at most ten seconds ago where there are any.
    ///
    /// # Errors
    /// As there.
    pub async fn granted(
        &self,
        client: &Client,
        namespaces: &BTreeSet<String>,
    ) -> Result<Vec<Granted>, PermissionsError> {
        let mut last = self.last.lock().await;
        last.retain(|_, (asked, _)| asked.elapsed() < MAX_AGE);
        let everywhere = [NOWHERE.to_owned()];
        for namespace in everywhere.iter().chain(namespaces) {
            if !last.contains_key(namespace) {
                let rules = review(client, namespace).await?;
                last.insert(namespace.clone(), (Instant::now(), rules));
            }
        }
        let of = |namespace: &str| last.get(namespace).map_or(&[][..], |(_, rules)| rules);
        let mut found = granted_in(None, of(NOWHERE), &[]);
        for namespace in namespaces {
            found.extend(granted_in(Some(namespace), of(namespace), of(NOWHERE)));
        }
        Ok(found)
    }
}

/// Everything that the client may do, everywhere and in these namespaces. One request, and one for each of them.
///
/// # Errors
/// The server does not answer, or says that it does not know all of it.
pub async fn granted(
    client: &Client,
    namespaces: &BTreeSet<String>,
) -> Result<Vec<Granted>, PermissionsError> {
    let everything = Permissions::new(BTreeSet::new());
    everything.granted(client, namespaces).await
}

/// The rules of an answer that do not hold everywhere anyway.
fn granted_in(namespace: Option<&String>, rules: &[Rule], everywhere: &[Rule]) -> Vec<Granted> {
    let own = rules.iter().filter(|rule| !everywhere.contains(rule));
    own.map(|rule| Granted {
        rule: rule.clone(),
        namespace: namespace.cloned(),
    })
    .collect()
}

/// All rules that hold for the client in a namespace, those for the whole cluster among them.
async fn review(client: &Client, namespace: &str) -> Result<Vec<Rule>, PermissionsError> {
    let api: Api<SelfSubjectRulesReview> = Api::all(client.clone());
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec {
            namespace: Some(namespace.to_owned()),
        },
        ..SelfSubjectRulesReview::default()
    };
    let answer = api.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(|error| PermissionsError::Request(error.into()))?;
    let status = answer.status.unwrap_or_default();
    if status.incomplete {
        return Err(PermissionsError::Incomplete(
            status.evaluation_error.unwrap_or_default(),
        ));
    }
    let rule = |rule: ResourceRule| Rule {
        api_groups: rule.api_groups.unwrap_or_default(),
        resources: rule.resources.unwrap_or_default(),
        resource_names: rule.resource_names.unwrap_or_default(),
        verbs: rule.verbs,
        ..Rule::default()
    };
    Ok(status.resource_rules.into_iter().map(rule).collect())
}
