//! What containers have written.

use std::collections::VecDeque;

use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, LogParams};
use steersman_cluster::RequestError;

/// So many lines are read, the last ones.
const MOST_LINES: i64 = 500;
/// So many bytes of them are told at most, the last ones.
const MOST_BYTES: usize = 256 * 1024;
/// So many are read to come to the end: the server's own bound counts from the first of the lines.
const MOST_READ: i64 = 8 * 1024 * 1024;
/// So many at a time.
const PIECE: usize = 16 * 1024;

/// The last lines of a container.
#[derive(Debug)]
pub struct LastLines {
    /// Each with its time.
    pub text: String,
    /// What is left out; empty where nothing is.
    pub missing: &'static str,
}

/// The last lines of a container of a pod, of the one before where it was started anew and `is_former`: 500 lines, and 256 KiB.
///
/// # Errors
/// They can't be read.
pub async fn last_lines(
    client: &Client,
    (namespace, pod, container): (&str, &str, &str),
    is_former: bool,
) -> Result<LastLines, RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let asked = LogParams {
        container: Some(container.to_owned()),
        previous: is_former,
        tail_lines: Some(MOST_LINES),
        limit_bytes: Some(MOST_READ),
        timestamps: true,
        ..LogParams::default()
    };
    let most = u64::try_from(MOST_READ).unwrap_or_default();
    let mut stream = pods.log_stream(pod, &asked).await?.take(most);
    let (mut last, mut read) = (VecDeque::new(), 0_u64);
    let mut piece = vec![0; PIECE];
    loop {
        let count = stream.read(&mut piece).await;
        let count = count.map_err(|error| kube::Error::Service(Box::new(error)))?;
        if count == 0 {
            break;
        }
        last.extend(piece.iter().take(count));
        read = read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let surplus = last.len().saturating_sub(MOST_BYTES);
        last.drain(..surplus);
    }
    let is_whole = u64::try_from(last.len()).is_ok_and(|kept| kept == read);
    Ok(told(last.make_contiguous(), is_whole, read >= most))
}

/// What is told of the last bytes. A line that is cut may begin or end within a secret, which nobody would know then.
fn told(bytes: &[u8], is_whole: bool, is_ended_early: bool) -> LastLines {
    // Programs write what they want.
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if !is_whole {
        let begin = text.find('\n').map_or(text.len(), |end| end + 1);
        text.drain(..begin);
    }
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    let is_open = end < text.len();
    text.truncate(end);
    let missing = match (is_whole, is_ended_early) {
        (_, true) => "The last 500 lines have more than 8 MiB: the end of them is not here.",
        (false, _) => "Of the last 500 lines those are here that are within the last 256 KiB.",
        (true, _) if is_open => "A line that has not ended is not here.",
        (true, _) => "",
    };
    LastLines { text, missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_cut_are_left_out_and_that_is_said() {
        let check = |text: &str, is_whole: bool, is_ended_early: bool, expect: &str| {
            let told = told(text.as_bytes(), is_whole, is_ended_early);
            assert_eq!(told.text, expect);
            let is_all = is_whole && !is_ended_early && text == expect;
            assert_eq!(told.missing.is_empty(), is_all);
        };
        check("a\nb\n", true, false, "a\nb\n");
        check("ret\nb\n", false, false, "b\n");
        check("ret\nb\nsec", false, true, "b\n");
        check("secret", false, true, "");
        check("a\nsec", true, false, "a\n");
        check("", true, false, "");
    }
}
