//! No writes after the end of a lease.

use hyper::http::{Method, Request};
use kube::client::Body;

use super::gate::{BoxError, Rule};
use crate::client::Tenure;

/// The group of leases, which are written to find out who holds them.
const LEASES: &str = "/apis/coordination.k8s.io/";

/// Lets no request for a change through when the lease has run out.
#[derive(Clone, Debug)]
pub(super) struct Fence(pub(super) Tenure);

/// Another replica may hold the lease by now.
#[derive(Debug, thiserror::Error)]
#[error("nothing is written any more, as the lease of this process has run out")]
struct LeaseExpired;

impl Rule for Fence {
    fn check(&self, request: &Request<Body>) -> Result<(), BoxError> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read && self.0.is_over() && !request.uri().path().starts_with(LEASES) {
            return Err(LeaseExpired.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use hyper::http::Response;
    use tokio::time::{Instant, advance};
    use tower::{Layer as _, Service as _, service_fn};

    use super::*;
    use crate::client::gate::Gate;

    async fn is_let_through(tenure: &Tenure, method: Method, path: &str) -> bool {
        let server = service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(())) });
        let request = Request::builder().method(method).uri(path).body(Body::empty());
        let mut client = Gate(Fence(tenure.clone())).layer(server);
        client.call(request.unwrap()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_has_run_out_allows_reads_and_its_own_renewal() {
        let tenure = Tenure::default();
        let objects = "/api/v1/namespaces/default/configmaps/a";
        let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
        assert!(is_let_through(&tenure, Method::PATCH, objects).await);
        tenure.extend(Instant::now() + Duration::from_secs(15));
        advance(Duration::from_secs(14)).await;
        assert!(is_let_through(&tenure, Method::PATCH, objects).await);
        advance(Duration::from_secs(1)).await;
        for method in [Method::PATCH, Method::POST, Method::PUT, Method::DELETE] {
            assert!(!is_let_through(&tenure, method, objects).await);
        }
        assert!(is_let_through(&tenure, Method::GET, objects).await);
        assert!(is_let_through(&tenure, Method::PUT, lease).await);
        tenure.extend(Instant::now() + Duration::from_secs(15));
        assert!(is_let_through(&tenure, Method::PATCH, objects).await);
    }
}
