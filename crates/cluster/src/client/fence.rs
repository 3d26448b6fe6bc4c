//! No writes after the end of a lease.

use std::error::Error;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::http::{Method, Request, Response};
use kube::client::Body;
use tower::{Layer, Service};

use crate::client::Tenure;

/// The group of leases, which are written to find out who holds them.
const LEASES: &str = "/apis/coordination.k8s.io/";

type BoxError = Box<dyn Error + Send + Sync>;

/// Lets no request for a change through when the lease has run out.
#[derive(Clone, Debug)]
pub(super) struct Fence(pub(super) Tenure);

impl<S> Layer<S> for Fence {
    type Service = FencedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FencedService {
            inner,
            tenure: self.0.clone(),
        }
    }
}

/// A client that writes only while the lease is held.
#[derive(Clone, Debug)]
pub(super) struct FencedService<S> {
    inner: S,
    tenure: Tenure,
}

/// Another replica may hold the lease by now.
#[derive(Debug, thiserror::Error)]
#[error("nothing is written any more, as the lease of this process has run out")]
struct LeaseExpired;

impl<S, B> Service<Request<Body>> for FencedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read && self.tenure.is_over() && !request.uri().path().starts_with(LEASES) {
            return async { Err(LeaseExpired.into()) }.boxed();
        }
        let answer = self.inner.call(request);
        async move { answer.await.map_err(Into::into) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use tokio::time::{Instant, advance};
    use tower::service_fn;

    use super::*;

    async fn is_let_through(tenure: &Tenure, method: Method, path: &str) -> bool {
        let server = service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(())) });
        let request = Request::builder().method(method).uri(path).body(Body::empty());
        let mut client = Fence(tenure.clone()).layer(server);
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
