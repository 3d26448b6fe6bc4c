//! From files to a layer.

use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::Blob;
use crate::blob::digest;
use crate::tree::{Node, Tree};

const MEDIA_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// An archive of files that lies over those below it.
///
/// ```
/// use steersman_image::{Layer, Tree};
///
/// let mut tree = Tree::default();
/// tree.file("motd", b"ahoy\n".as_slice())?;
/// let (first, second) = (Layer::new("a greeting", &tree, 0)?, Layer::new("a greeting", &tree, 0)?);
/// assert_eq!(first.blob().digest(), second.blob().digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Layer {
    /// What it is for, in the history of an image.
    pub(crate) purpose: String,
    pub(crate) blob: Blob,
    /// The digest of the archive before it was compressed.
    pub(crate) diff_id: String,
    /// The length of that; not known of a layer that was made elsewhere.
    pub(crate) unpacked: Option<u64>,
}

/// A layer could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the layer with {purpose}")]
pub struct LayerError {
    purpose: String,
    source: io::Error,
}

impl Layer {
    /// The layer with these files, all dated `modified` (seconds since 1970) and owned by nobody in particular: user and
    /// group are 0, as in every image, but for folders that somebody writes in, and names of users are not given.
    ///
    /// # Errors
    /// A path does not fit into an archive.
    pub fn new(purpose: &str, tree: &Tree, modified: u64) -> Result<Self, LayerError> {
        let pack = || {
            let archive = archive(tree, modified)?;
            // Neither a time nor a system gets into the header of the compressed file.
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            io::Write::write_all(&mut encoder, &archive)?;
            Ok((encoder.finish()?, archive))
        };
        let (compressed, archive) = pack().map_err(|source| LayerError {
            purpose: purpose.to_owned(),
            source,
        })?;
        Ok(Self {
            purpose: purpose.to_owned(),
            blob: Blob::new(MEDIA_TYPE, compressed),
            diff_id: digest(&archive),
            unpacked: Some(archive.len() as u64),
        })
    }

    /// A layer of a base, which stays as it is.
    pub(crate) fn of_base(blob: Blob, diff_id: String) -> Self {
        Self {
            purpose: "the base".to_owned(),
            blob,
            diff_id,
            unpacked: None,
        }
    }

    /// One phrase for people, such as `the operator`: the image's history has it.
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// The compressed archive.
    pub fn blob(&self) -> &Blob {
        &self.blob
    }

    /// The length of the archive before it was compressed; `None` where it is a base's.
    pub fn unpacked(&self) -> Option<u64> {
        self.unpacked
    }
}

/// The files by their names, and after them the second names, which need the first ones.
fn archive(tree: &Tree, modified: u64) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let is_link = |node: &Node| matches!(node, Node::Link { .. });
    let (links, nodes): (Vec<_>, Vec<_>) = tree.nodes.iter().partition(|(_, node)| is_link(node));
    for (path, node) in nodes.into_iter().chain(links) {
        let mut header = Header::new_gnu();
        header.set_mtime(modified);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        match node {
            Node::Folder { mode, owner } => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(*mode);
                header.set_uid(u64::from(*owner));
                builder.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Node::File { mode, content } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(content.len() as u64);
                builder.append_data(&mut header, path, content.as_ref())?;
            }
            Node::Link { of } => {
                header.set_entry_type(EntryType::Link);
                header.set_mode(0o755);
                builder.append_link(&mut header, path, of)?;
            }
        }
    }
    builder.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_length_and_second_names_come_back_as_they_were() {
        let long = format!("{}/{}", "folder-".repeat(20), "file-".repeat(40));
        let mut tree = Tree::default();
        tree.file(&long, *b"text").unwrap();
        tree.program("z", *b"run").unwrap();
        tree.link("a", "z").unwrap();
        let archive = archive(&tree, 7).unwrap();
        let mut read = Vec::new();
        for entry in tar::Archive::new(archive.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 7);
            read.push(entry.path().unwrap().to_string_lossy().into_owned());
        }
        let folder = format!("{}/", "folder-".repeat(20));
        // The second name comes after the first, which it needs.
        assert_eq!(read, [folder.as_str(), &long, "z", "a"]);
        let layer = Layer::new("files", &tree, 7).unwrap();
        assert_eq!(layer.diff_id, digest(&archive));
        assert_eq!(layer.unpacked, Some(archive.len() as u64));
    }
}
