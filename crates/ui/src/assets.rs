//! Files that pages need: nothing comes from another host.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// htmx 2.0.11 and its extension for server-sent events 2.2.4 are as npm has them: 0BSD.
static ALL: [Asset; 4] = [
    Asset::new(
        "htmx.js",
        "text/javascript",
        include_bytes!("../assets/htmx.min.js"),
    ),
    Asset::new(
        "htmx-sse.js",
        "text/javascript",
        include_bytes!("../assets/htmx-sse.min.js"),
    ),
    Asset::new("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
    Asset::new("style.css", "text/css", include_bytes!("../assets/style.css")),
];

/// A file.
pub(crate) struct Asset {
    name: &'static str,
    /// Its media type.
    pub(crate) kind: &'static str,
    pub(crate) content: &'static [u8],
    packed: OnceLock<Bytes>,
}

impl Asset {
    const fn new(name: &'static str, kind: &'static str, content: &'static [u8]) -> Self {
        let packed = OnceLock::new();
        Self {
            name,
            kind,
            content,
            packed,
        }
    }

    /// By the name in its address.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|asset| asset.name == name)
    }

    /// Its content as gzip.
    pub(crate) fn packed(&self) -> Bytes {
        self.packed.get_or_init(|| pack(self.content)).clone()
    }
}

fn pack(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    // A vector takes all.
    written.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use steersman_model::Digest;

    use super::*;

    #[test]
    fn what_others_have_written_is_what_they_have_published() {
        let check = |name: &str, expect: &str| {
            let digest = Digest::of(Asset::find(name).unwrap().content);
            assert_eq!(digest.to_string(), expect, "{name}");
        };
        // dist/htmx.min.js of htmx.org 2.0.11, and dist/sse.min.js of htmx-ext-sse 2.2.4.
        check(
            "htmx.js",
            "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
        );
        check(
            "htmx-sse.js",
            "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
        );
    }
}
