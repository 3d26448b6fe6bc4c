//! What a container has written, line by line.

use futures::{AsyncBufRead, AsyncBufReadExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use steersman_cluster::RequestError;

use super::super::follow::PAUSE;
use crate::cli::Failure;
use crate::cli::report::print_to_reader;
use crate::cli::style::harmless;

/// So often a log that has broken off is asked for again without a line of it.
const TRIES: u32 = 5;

/// Why no more is printed of a log.
#[derive(Debug)]
pub(super) enum End {
    /// Nothing more has come.
    Whole,
    /// The server gives no more.
    Refused(RequestError),
    /// Nobody reads what is printed.
    Unread,
}

/// Prints it, and with `follow` what comes, from behind the line of the time `last`, which becomes that of the last one that is
/// printed. A connection on which nothing has come for minutes is closed, and opened again.
pub(super) async fn print(
    pods: &Api<Pod>,
    pod: &str,
    container: &str,
    follow: bool,
    last: &mut Option<Timestamp>,
) -> Result<End, Failure> {
    let mut tries_left = TRIES;
    loop {
        let before = *last;
        let end = part(pods, &parameters(container, follow, before), pod, last).await?;
        if *last != before {
            tries_left = TRIES;
        }
        match end {
            End::Refused(error) if follow && error.is_transient() && tries_left > 0 => tries_left -= 1,
            end => return Ok(end),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The times tell where to go on: with the second of the last line, as a request names no part of one and would be rounded up.
fn parameters(container: &str, follow: bool, since: Option<Timestamp>) -> LogParams {
    LogParams {
        container: Some(container.to_owned()),
        follow,
        timestamps: true,
        since_time: since.and_then(|since| Timestamp::from_second(since.as_second()).ok()),
        ..LogParams::default()
    }
}

/// Prints one answer of the server as far as it comes; `last` is the time of the last line that was printed.
async fn part(
    pods: &Api<Pod>,
    parameters: &LogParams,
    pod: &str,
    last: &mut Option<Timestamp>,
) -> Result<End, Failure> {
    let mut stream = match pods.log_stream(pod, parameters).await {
        Ok(stream) => Box::pin(stream),
        Err(error) => return Ok(End::Refused(error.into())),
    };
    let printed = *last;
    loop {
        match line(&mut stream).await {
            Ok(None) => return Ok(End::Whole),
            Ok(Some(line)) => {
                let (time, text) = split(&line);
                // The server goes on with the second, so that lines come again.
                if time.is_some() && time <= printed {
                    continue;
                }
                if !print_to_reader(&format!("{}\n", harmless(text)))? {
                    return Ok(End::Unread);
                }
                *last = time.or(*last);
            }
            Err(error) => {
                let message = format!("its log broke off: {error}");
                return Ok(End::Refused(RequestError::local(&message)));
            }
        }
    }
}

/// The next line without its end.
async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if stream.read_until(b'\n', &mut bytes).await? == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Some(text.strip_suffix('\r').unwrap_or(text).to_owned()))
}

/// A line without the time that the server has put before it.
fn split(line: &str) -> (Option<Timestamp>, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first.parse() {
        Ok(time) => (Some(time), rest),
        Err(_) => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_goes_on_with_the_second_of_its_last_line() {
        let last = "2026-01-02T03:04:05.9Z".parse().ok();
        let since = parameters("dump", true, last).since_time;
        assert_eq!(
            since.map(|since| since.to_string()),
            Some("2026-01-02T03:04:05Z".to_owned())
        );
    }

    #[tokio::test]
    async fn lines_are_told_from_their_times() {
        let mut bytes: &[u8] = b"2026-01-02T03:04:05.123456789Z dump of a\r\nno time\n\xff";
        let mut lines = Vec::new();
        while let Some(line) = line(&mut bytes).await.unwrap() {
            let (time, text) = split(&line);
            lines.push((time.is_some(), text.to_owned()));
        }
        let expect = [(true, "dump of a"), (false, "no time"), (false, "\u{fffd}")];
        assert_eq!(lines, expect.map(|(has_time, text)| (has_time, text.to_owned())));
        assert_eq!(split("2026-01-02T03:04:05Z").1, "");
    }
}
