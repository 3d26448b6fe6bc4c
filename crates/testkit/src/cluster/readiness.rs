//! Waiting until a component serves.

use std::time::{Duration, Instant};

use kube::Client;

use super::component::Component;
use super::error::{ControlPlaneError, io_failed};
use super::kubeconfig::User;
use super::supervisor::Supervisor;

const POLL_EVERY: Duration = Duration::from_millis(50);

/// Blocks until a component does its work, it ended, or the time is over.
pub(super) fn wait(
    user: &User,
    supervisor: &Supervisor,
    component: Component,
    limit: Duration,
) -> Result<(), ControlPlaneError> {
    // The caller may be inside an async runtime, which must not be blocked by another on the same thread.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(io_failed("make", std::path::Path::new("an async runtime")))?;
            runtime.block_on(poll(user, supervisor, component, limit))
        });
        waiting
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

async fn poll(
    user: &User,
    supervisor: &Supervisor,
    component: Component,
    limit: Duration,
) -> Result<(), ControlPlaneError> {
    let client = user.client().await?;
    let begun = Instant::now();
    loop {
        let Err(last) = get(&client, sign_of(component)).await else {
            return Ok(());
        };
        for required in [Component::Etcd, component] {
            if !supervisor.runs(required) {
                let what = "ended".to_owned();
                return Err(ControlPlaneError::Component {
                    component: required,
                    what,
                    log: supervisor.log_tail(required),
                });
            }
        }
        if begun.elapsed() > limit {
            let what = format!("is not ready after {} s ({last})", limit.as_secs());
            return Err(ControlPlaneError::Component {
                component,
                what,
                log: supervisor.log_tail(component),
            });
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// What can be read once a component does its work.
fn sign_of(component: Component) -> &'static str {
    match component {
        Component::Etcd | Component::ApiServer => "/readyz",
        // One of its controllers gives every namespace this account.
        Component::ControllerManager => "/api/v1/namespaces/default/serviceaccounts/default",
    }
}

/// Reads a path of the API server.
pub(super) async fn get(client: &Client, path: &str) -> Result<String, ControlPlaneError> {
    let failed = |source| ControlPlaneError::Request {
        attempt: format!("read {path}"),
        source: Box::new(source),
    };
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| failed(kube::Error::HttpError(error)))?;
    client.request_text(request).await.map_err(failed)
}
