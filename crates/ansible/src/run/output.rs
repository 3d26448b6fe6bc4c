//! What ansible-runner prints: its end is kept, for an error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

use steersman_model::CUT;

use crate::plain::plain;

/// How much is kept, in bytes.
const KEPT: usize = 8 << 10;

/// How Ansible begins to say why it gives up, and how Python does.
const ERRORS: [&str; 2] = ["ERROR!", "[ERROR]"];
const TRACES: [&str; 2] = ["Traceback (most recent call last)", "usage:"];
/// How lines begin that are about tasks.
const TASKS: [&str; 11] = [
    "PLAY ",
    "TASK ",
    "RUNNING HANDLER ",
    "ok:",
    "changed:",
    "skipping:",
    "failed:",
    "fatal:",
    "included:",
    "...ignoring",
    "ASYNC ",
];

/// The end of what was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads until there is no more. What does not end is read until the task is aborted.
    pub(super) fn read(&self, mut output: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<()> {
        let tail = self.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(length @ 1..) = output.read(&mut buffer).await {
                tail.push(&buffer[..length]);
            }
        })
    }

    /// The error that was printed, if nothing of a task was after it.
    pub(super) fn error(&self) -> Option<String> {
        let text = self.text();
        let starts: Vec<usize> = line_starts(&text).collect();
        let last = |marks: &[&str]| {
            let is_marked = |at: &&usize| marks.iter().any(|mark| text[**at..].starts_with(mark));
            starts.iter().rfind(is_marked).copied()
        };
        let from = last(&ERRORS).or_else(|| last(&TRACES))?;
        let said = &text[from..];
        let is_last = last(&TASKS).is_none_or(|at| at < from);
        // Of a text that begins within a secret the rest may be in it.
        is_last.then(|| format!("{CUT}{said}"))
    }

    /// Whole lines, without what moves and colours a terminal's text.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let is_cut = bytes.len() >= KEPT;
        let text = plain(&String::from_utf8_lossy(&bytes));
        let whole = match text.split_once('\n') {
            Some((_, rest)) if is_cut => rest,
            _ => &text,
        };
        let whole = whole.trim();
        if is_cut {
            format!("{CUT}{whole}")
        } else {
            whole.to_owned()
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (kept.len() + bytes.len()).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.extend(bytes);
    }
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Tail};

    #[test]
    fn the_error_is_told_without_what_tasks_have_printed() {
        let error = |text: &str| {
            let tail = Tail::default();
            tail.push(text.as_bytes());
            tail.error().map(|error| error.replace('\u{2060}', ""))
        };
        let task = "TASK [make it] ***\r\nok: [localhost] => {\"msg\": \"canary\"}\r\n";
        for said in [
            "ERROR! couldn't resolve module/action 'x'\n\nThe error appears to be in 'a.yml'",
            "[ERROR]: couldn't resolve module/action 'x'\nOrigin: a.yml:1:3",
            "Traceback (most recent call last):\n  File \"a.py\"\nOSError: no",
        ] {
            assert_eq!(error(&format!("{task}{said}")).as_deref(), Some(said));
            assert_eq!(error(said).as_deref(), Some(said));
            assert_eq!(error(&format!("{said}\r\n{task}")), None);
        }
        let both = format!("{task}ERROR! Unexpected Exception: no\nTraceback (most recent call last):\n  x");
        assert!(error(&both).is_some_and(|error| error.starts_with("ERROR! U") && error.ends_with("  x")));
        assert_eq!(error(task), None);
        assert_eq!(error(""), None);
    }

    #[test]
    fn the_last_whole_lines_are_kept() {
        let tail = Tail::default();
        tail.push(b"first\r\n\x1b[0;31msecond\x1b[0m \xff\n");
        assert_eq!(tail.text(), "first\nsecond \u{fffd}");
        for number in 0..10_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.len() <= KEPT && text.starts_with("\u{2060}line ") && text.ends_with("\nline 9999"));
        tail.push(&vec![b'x'; 3 * KEPT]);
        assert_eq!(tail.text().len(), KEPT + "\u{2060}".len());
    }
}
