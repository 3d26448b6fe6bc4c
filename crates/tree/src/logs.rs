//! What containers have written.

use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, LogParams};
use steersman_cluster::RequestError;

/// So many lines are read, the last ones.
const MOST_LINES: i64 = 500;
/// So many bytes of them at most.
const MOST_BYTES: i64 = 256 * 1024;

/// The last lines of a container of a pod, each with its time; of the one before where it was started anew and `is_former`.
///
/// # Errors
/// They can't be read.
pub async fn last_lines(
    client: &Client,
    (namespace, pod, container): (&str, &str, &str),
    is_former: bool,
) -> Result<String, RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let asked = LogParams {
        container: Some(container.to_owned()),
        previous: is_former,
        tail_lines: Some(MOST_LINES),
        limit_bytes: Some(MOST_BYTES),
        timestamps: true,
        ..LogParams::default()
    };
    let most = u64::try_from(MOST_BYTES).unwrap_or_default();
    let mut written = Vec::new();
    let read = pods
        .log_stream(pod, &asked)
        .await?
        .take(most)
        .read_to_end(&mut written)
        .await;
    read.map_err(|error| kube::Error::Service(Box::new(error)))?;
    // Programs write what they want.
    let mut text = String::from_utf8_lossy(&written).into_owned();
    // The last line may end within a secret, which nobody would know then.
    if u64::try_from(written.len()).is_ok_and(|length| length >= most) {
        text.truncate(text.rfind('\n').unwrap_or_default());
    }
    Ok(text)
}
