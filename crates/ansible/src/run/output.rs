//! What ansible-runner prints: its end is kept, for an error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

use crate::plain::plain;

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

#[cfg(test)]
mod tests {
    use super::{KEPT, Tail};

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
}
