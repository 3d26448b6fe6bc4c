//! What is sent to a process of Python on a socket: lists of words, and files.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// How many files go with a message.
const FILES: usize = 3;

/// Sends lists of words, none of which has a zero in it, and three files, which the receiver gets open.
///
/// # Errors
/// Nobody receives it.
pub(super) fn send(
    mut stream: &UnixStream,
    lists: &[Vec<OsString>],
    files: [BorrowedFd<'_>; FILES],
) -> io::Result<()> {
    let body = encode(lists);
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_be_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    // Files go with the first bytes.
    let sent = sendmsg(
        stream,
        &[IoSlice::new(&length)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    stream.write_all(&length[sent..])?;
    stream.write_all(&body)
}

/// Each list is the number of its words, and these; each word ends with a zero.
fn encode(lists: &[Vec<OsString>]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut push = |word: &OsStr| {
        body.extend(word.as_bytes());
        body.push(0);
    };
    for list in lists {
        push(OsStr::new(&list.len().to_string()));
        for word in list {
            push(word);
        }
    }
    body
}

/// Variables of an environment as words.
pub(crate) fn words(
    variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
) -> Vec<OsString> {
    let word = |(name, value): (_, _)| {
        let mut word = OsStr::new(AsRef::<OsStr>::as_ref(&name)).to_owned();
        word.push("=");
        word.push(AsRef::<OsStr>::as_ref(&value));
        word
    };
    variables.into_iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::{encode, words};

    #[test]
    fn lists_are_told_by_their_lengths() {
        let lists = [
            vec!["a".into(), "b c".into()],
            Vec::new(),
            words([("NAME", "x=y")]),
        ];
        assert_eq!(encode(&lists), b"2\x00a\x00b c\x000\x001\x00NAME=x=y\x00");
    }
}
