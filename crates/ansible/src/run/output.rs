//! What ansible-runner prints: its end is kept, for an error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

/// How much is kept, in bytes.
const KEPT: usize = 8 << 10;

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
        whole.trim().to_owned()
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (kept.len() + bytes.len()).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.extend(bytes);
    }
}

/// A text without ANSI's control sequences and control characters other than line breaks and tabs.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            if letters.clone().next() == Some('[') {
                letters.next();
                letters.by_ref().find(|end| ('@'..='~').contains(end));
            }
        } else if !letter.is_control() || matches!(letter, '\n' | '\t') {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Tail, plain};

    #[test]
    fn the_last_whole_lines_are_kept() {
        let tail = Tail::default();
        tail.push(b"first\r\n\x1b[0;31msecond\x1b[0m \xff\n");
        assert_eq!(tail.text(), "first\nsecond \u{fffd}");
        for number in 0..10_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.len() <= KEPT && text.starts_with("line ") && text.ends_with("\nline 9999"));
        tail.push(&vec![b'x'; 3 * KEPT]);
        assert_eq!(tail.text().len(), KEPT);
    }

    #[test]
    fn control_sequences_are_no_text() {
        assert_eq!(plain("a\u{1b}[K\u{1b}[12;3Hb\u{1b}c\u{7}\td"), "abc\td");
        assert_eq!(plain("end \u{1b}["), "end ");
    }
}
