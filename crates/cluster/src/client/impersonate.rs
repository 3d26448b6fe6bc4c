//! Acting as a ServiceAccount, over the connections of the client that may do so.

use std::fmt;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::http::header::{HeaderName, InvalidHeaderValue};
use hyper::http::{HeaderValue, Request, Response};
use kube::Client;
use kube::client::Body;
use tower::Service;

use super::gate::{BoxError, Rule};

/// As whom a request is to be judged. Groups are not named: the API server adds those that every ServiceAccount of the
/// namespace has, and asks for no leave to impersonate them.
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// An account by whose rights something is done.
///
/// ```
/// use steersman_cluster::client::ServiceAccount;
///
/// let account = ServiceAccount { namespace: "shop".to_owned(), name: "deployer".to_owned() };
/// assert_eq!(account.user(), "system:serviceaccount:shop:deployer");
/// assert_eq!(account.to_string(), "ServiceAccount shop/deployer");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceAccount {
    /// That of the release.
    pub namespace: String,
    /// What `serviceAccountName` of a watch says.
    pub name: String,
}

impl ServiceAccount {
    /// What the API server calls it in roles' subjects, refusals and its audit log.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// A client whose requests are this account's. They go the way of those of `client`: its connections, its
    /// deadline, its lease.
    pub fn client(&self, client: &Client) -> Client {
        let service = Impersonating {
            client: client.clone(),
            user: HeaderValue::try_from(self.user()),
        };
        Client::new(service, self.namespace.clone())
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccount {}/{}", self.namespace, self.name)
    }
}

/// Sends requests as another user. One that can't be named sends nothing.
struct Impersonating {
    client: Client,
    user: Result<HeaderValue, InvalidHeaderValue>,
}

impl Service<Request<Body>> for Impersonating {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let user = match &self.user {
            Ok(user) => user.clone(),
            Err(_) => return async { Err(NoUser.into()) }.boxed(),
        };
        request.headers_mut().insert(IMPERSONATE_USER, user);
        let client = self.client.clone();
        async move { Ok(client.send(request).await?) }.boxed()
    }
}

/// No header can have the name.
#[derive(Debug, thiserror::Error)]
#[error("nothing is sent, as the ServiceAccount has a name that none can have")]
struct NoUser;

/// Lets nobody act as a ServiceAccount over a client that acts as somebody else already: that one's name would take the
/// place of the account's.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneUser {
    /// Whether the client's configuration names a user to act as.
    pub(super) is_another: bool,
}

/// Two users, of whom the server would see one.
#[derive(Debug, thiserror::Error)]
#[error("nothing is sent as a ServiceAccount by who acts as another user already")]
struct TwoUsers;

impl Rule for OneUser {
    fn check(&self, request: &Request<Body>) -> Result<(), BoxError> {
        if self.is_another && request.headers().contains_key(IMPERSONATE_USER) {
            return Err(TwoUsers.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use steersman_model::chain;
    use tower::{Layer as _, service_fn};

    use super::*;
    use crate::client::gate::Gate;

    type Seen = Arc<Mutex<Vec<Option<String>>>>;

    /// A client of a server that notes as whom it is asked, and answers nothing.
    fn client(is_another: bool) -> (Client, Seen) {
        let seen = Seen::default();
        let noted = Arc::clone(&seen);
        let server = service_fn(move |request: Request<Body>| {
            let user = request.headers().get(IMPERSONATE_USER);
            let user = user.map(|user| user.to_str().unwrap().to_owned());
            noted.lock().unwrap().push(user);
            async { Ok::<_, Infallible>(Response::new(Body::empty())) }
        });
        let client = Client::new(Gate(OneUser { is_another }).layer(server), "default");
        (client, seen)
    }

    async fn get(client: &Client) -> Result<(), String> {
        let request = Request::get("/version").body(Body::empty()).unwrap();
        let answer = client.send(request).await;
        answer.map(drop).map_err(|error| chain(&error))
    }

    fn account(name: &str) -> ServiceAccount {
        ServiceAccount {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
        }
    }

    #[tokio::test]
    async fn requests_are_the_accounts_and_those_of_the_client_stay_its_own() {
        let (client, seen) = client(false);
        get(&account("deployer").client(&client)).await.unwrap();
        get(&client).await.unwrap();
        let user = "system:serviceaccount:shop:deployer".to_owned();
        assert_eq!(*seen.lock().unwrap(), [Some(user), None]);
    }

    #[tokio::test]
    async fn nothing_is_sent_as_nobody_or_as_two() {
        let (own, seen) = client(false);
        let error = get(&account("a\nb").client(&own)).await.unwrap_err();
        assert!(error.contains("a name that none can have"), "{error}");
        assert!(seen.lock().unwrap().is_empty());

        let (another, seen) = client(true);
        let error = get(&account("deployer").client(&another)).await.unwrap_err();
        assert!(error.contains("acts as another user already"), "{error}");
        assert!(seen.lock().unwrap().is_empty());
        get(&another).await.unwrap();
    }
}
