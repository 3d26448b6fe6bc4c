//! Files of roles, read within bounds.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use steersman_yaml::Node;

/// How large a file may be.
const MAX_BYTES: u64 = 4 << 20;

/// Why a file was not read.
pub(super) struct Unread {
    /// The line that is wrong; 0 for the whole file.
    pub(super) line: u32,
    pub(super) message: String,
}

impl Unread {
    fn whole(message: impl Into<String>) -> Self {
        Self {
            line: 0,
            message: message.into(),
        }
    }
}

/// Refuses what is larger than a role has reason to be.
pub(super) fn text(path: &Path) -> Result<String, Unread> {
    let failed = |error: std::io::Error| Unread::whole(format!("can't be read: {error}"));
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unread::whole("larger than 4 MiB: it was not read"));
    }
    String::from_utf8(bytes).map_err(|_| Unread::whole("is not text in UTF-8"))
}

pub(super) fn documents(path: &Path) -> Result<Vec<Node>, Unread> {
    let text = text(path)?;
    steersman_yaml::parse_documents(&text).map_err(|error| Unread {
        line: error.line(),
        message: format!("not valid YAML: {}", error.message()),
    })
}
