//! The control plane as tests use it: one for each test binary, shared by its tests.

use std::ops::Deref;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::assets::Assets;
use super::control_plane::ControlPlane;
use super::error::ControlPlaneError;
use super::kubeconfig::User;
use crate::environment;
use crate::skip::skipped;

/// How long a role binding may take until it has effect; a fraction of a second is usual.
const ALLOWED_WITHIN: Duration = Duration::from_secs(30);

/// How many releases a test about many has: what `STEERSMAN_RELEASES` says, else `usual`.
///
/// # Panics
///
/// It says something that is no number.
#[must_use]
pub fn number_of_releases(usual: usize) -> usize {
    number_of("STEERSMAN_RELEASES", usual)
}

/// How many look at a page at once: what `STEERSMAN_SESSIONS` says, else `usual`.
///
/// # Panics
///
/// It says something that is no number.
#[must_use]
pub fn number_of_sessions(usual: usize) -> usize {
    number_of("STEERSMAN_SESSIONS", usual)
}

/// How long a test looks at what does nothing: `STEERSMAN_WINDOW` says another number of seconds.
///
/// # Panics
///
/// It says something that is no number.
#[must_use]
pub fn seconds_of_waiting(usual: usize) -> Duration {
    Duration::from_secs(number_of("STEERSMAN_WINDOW", usual) as u64)
}

fn number_of(name: &str, usual: usize) -> usize {
    environment::variable(name).map_or(usual, |text| {
        let text = text.to_string_lossy();
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number"))
    })
}

/// Who is in this group is an operator that may do everything. One binding for all of them, as the API server looks at each
/// binding in each request.
const OPERATORS: &str = "steersman-test-operators";

/// A control plane with what tests need beside it.
#[derive(Debug)]
pub struct TestCluster {
    control_plane: ControlPlane,
    /// Whether the group of operators has its rights.
    operators: OnceCell<()>,
}

impl TestCluster {
    /// The control plane of this test binary, started by the first test that asks for it. `None` means that it
    /// can't be had on this machine; that has been said on one line, with the name of the test.
    ///
    /// `STEERSMAN_TEST_KUBECONFIG` makes it an existing cluster.
    ///
    /// # Panics
    ///
    /// It could be had and does not start, or it can't and `CI=true`.
    pub fn shared_or_skip(test: &str) -> Option<&'static Self> {
        // A static is never dropped; the supervisor stops everything when this process ends.
        static SHARED: OnceLock<Result<TestCluster, ControlPlaneError>> = OnceLock::new();
        Self::or_skip(test, SHARED.get_or_init(Self::start).as_ref())
    }

    /// A control plane for one test alone, such as one that stops components.
    ///
    /// # Panics
    ///
    /// It could be had and does not start, or it can't and `CI=true`.
    #[must_use]
    pub fn start_or_skip(test: &str) -> Option<Self> {
        match Self::start() {
            Ok(cluster) => Some(cluster),
            Err(error) => Self::or_skip(test, Err(&error)),
        }
    }

    /// A new control plane, or the existing cluster of `STEERSMAN_TEST_KUBECONFIG`.
    ///
    /// # Errors
    ///
    /// The programs are missing (nothing is built here), or it does not start.
    pub fn start() -> Result<Self, ControlPlaneError> {
        let control_plane = match environment::path_variable("STEERSMAN_TEST_KUBECONFIG") {
            Some(kubeconfig) => ControlPlane::existing(&kubeconfig)?,
            None => ControlPlane::start(&Assets::find()?)?,
        };
        Ok(Self {
            control_plane,
            operators: OnceCell::new(),
        })
    }

    /// Makes a namespace that no other test has, and returns its name: the prefix and some letters.
    ///
    /// # Errors
    ///
    /// The API server refuses it.
    pub async fn unique_namespace(&self, prefix: &str) -> Result<String, ControlPlaneError> {
        let namespace: Namespace = from_json(json!({"metadata": {"generateName": format!("{prefix}-")}}));
        let created = Api::all(self.client().await?)
            .create(&PostParams::default(), &namespace)
            .await;
        let created = created.map_err(request_failed(format!("create a namespace {prefix}-")))?;
        Ok(created.metadata.name.unwrap_or_default())
    }

    /// A user of that name who may do everything, as an operator that is `cluster-admin`.
    ///
    /// # Errors
    ///
    /// The files of the user can't be written, or the API server refuses the binding.
    pub async fn operator(&self, name: &str) -> Result<User, ControlPlaneError> {
        let user = self.user(name, &[OPERATORS])?;
        let group = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": OPERATORS});
        let review = json!({"user": name, "groups": [OPERATORS]});
        self.operators
            .get_or_try_init(|| self.grant(&group, &review, "cluster-admin"))
            .await?;
        Ok(user)
    }

    /// Lets a user do everywhere what a cluster role allows, and returns when the API server acts on it.
    ///
    /// # Errors
    ///
    /// There is no such role, or the API server refuses the binding.
    pub async fn grant_cluster_role(&self, user: &User, role: &str) -> Result<(), ControlPlaneError> {
        let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name()});
        self.grant(&subject, &json!({"user": user.name()}), role).await
    }

    /// Binds a subject to a cluster role. `who` is how a review names it.
    async fn grant(&self, subject: &Value, who: &Value, role: &str) -> Result<(), ControlPlaneError> {
        let attempt = format!("bind {} to cluster role {role}", subject["name"]);
        let client = self.client().await?;
        let rules = Api::<ClusterRole>::all(client.clone()).get(role).await;
        let rules = rules
            .map_err(request_failed(attempt.clone()))?
            .rules
            .unwrap_or_default();
        let binding: ClusterRoleBinding = from_json(json!({
            "metadata": {"generateName": "steersman-test-"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [subject],
        }));
        let created = Api::all(client).create(&PostParams::default(), &binding).await;
        created.map_err(request_failed(attempt))?;
        let first = |words: &Option<Vec<String>>| words.as_ref().and_then(|words| words.first().cloned());
        for rule in rules {
            if let (Some(group), Some(resource)) = (first(&rule.api_groups), first(&rule.resources)) {
                let verb = rule.verbs.first().map_or("get", String::as_str);
                return self.wait_until_reviewed(who, verb, &group, &resource).await;
            }
        }
        Ok(())
    }

    /// Returns when the API server lets a user do something in every namespace. Roles and bindings take effect
    /// a moment after they were written.
    ///
    /// # Errors
    ///
    /// The API server refuses to review the access, or does not allow it within 30 s.
    pub async fn wait_until_allowed(
        &self,
        user: &User,
        verb: &str,
        group: &str,
        resource: &str,
    ) -> Result<(), ControlPlaneError> {
        let who = json!({"user": user.name()});
        self.wait_until_reviewed(&who, verb, group, resource).await
    }

    async fn wait_until_reviewed(
        &self,
        who: &Value,
        verb: &str,
        group: &str,
        resource: &str,
    ) -> Result<(), ControlPlaneError> {
        let mut review =
            json!({"spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource}}});
        for (field, value) in who.as_object().into_iter().flatten() {
            review["spec"][field] = value.clone();
        }
        let review: SubjectAccessReview = from_json(review);
        let named = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let who: Vec<String> = who
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, value)| named(value))
            .collect();
        let who = who.join(", ");
        let reviews = Api::all(self.client().await?);
        let begun = Instant::now();
        loop {
            let answer = reviews.create(&PostParams::default(), &review).await;
            let answer = answer.map_err(request_failed(format!("review the access of {who}")))?;
            if answer.status.is_some_and(|status| status.allowed) {
                return Ok(());
            }
            if begun.elapsed() > ALLOWED_WITHIN {
                return Err(ControlPlaneError::NeverAllowed {
                    user: who,
                    action: format!("{verb} {resource}.{group}"),
                });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn or_skip<T>(test: &str, result: Result<T, &ControlPlaneError>) -> Option<T> {
        match result {
            Ok(cluster) => Some(cluster),
            Err(missing @ ControlPlaneError::AssetsMissing(_)) => {
                skipped(test, missing);
                None
            }
            Err(error) => panic!("{error} ({error:?})"),
        }
    }
}

impl Deref for TestCluster {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.control_plane
    }
}

fn from_json<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("the literal has the fields of the type")
}

fn request_failed(attempt: String) -> impl FnOnce(kube::Error) -> ControlPlaneError {
    move |source| ControlPlaneError::Request {
        attempt,
        source: Box::new(source),
    }
}
