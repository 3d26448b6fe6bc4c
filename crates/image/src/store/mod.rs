//! Images as files: the OCI layout, as a folder or in one archive.

mod archive;
mod layout;

use std::io;
use std::path::PathBuf;

use crate::release::Index;
use crate::{Blob, Descriptor, Release};
pub use archive::write_archive;
pub use layout::write_layout;

/// What tells that a folder or archive is a layout.
const MARK: (&str, &str) = ("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder has something else in it, which stays.
    #[error("`{}` is neither empty nor a layout of images", .0.display())]
    NotALayout(PathBuf),
    /// The system refuses.
    #[error("failed to write `{}`", path.display())]
    Write {
        /// What could not be written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The entry of a layout, which gives the image its name: with the annotations that containerd, docker and podman read.
fn index(release: &Release) -> io::Result<Vec<u8>> {
    let reference = release.reference();
    let name = |blob: &Blob| {
        let mut descriptor: Descriptor = blob.descriptor();
        descriptor.annotations = [
            ("io.containerd.image.name", reference.to_string()),
            ("org.opencontainers.image.ref.name", reference.tag().to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        descriptor
    };
    let entries = release.root().into_iter().map(name).collect();
    Ok(serde_json::to_vec(&Index::new(entries))?)
}

/// Where a blob is in a layout.
fn place(blob: &Blob) -> String {
    format!("blobs/{}", blob.digest().replace(':', "/"))
}
