//! What lies where in a layer.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest path of a file in an image; that of the kernel.
const MAX_PATH: usize = 4096;

/// A folder that is there because something lies in it.
const FOLDER: Node = Node::Folder {
    mode: 0o755,
    owner: 0,
};

/// Files by their paths. The folders above them come by themselves.
///
/// ```
/// use steersman_image::{Tree, TreeError};
///
/// let mut tree = Tree::default();
/// tree.file("opt/helm/watches.yaml", b"[]\n".as_slice())?;
/// let taken = tree.folder("opt/helm/watches.yaml");
/// assert_eq!(taken, Err(TreeError::Taken("opt/helm/watches.yaml".to_owned())));
/// assert!(tree.file("../etc/passwd", b"".as_slice()).is_err());
/// # Ok::<(), TreeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(crate) nodes: BTreeMap<String, Node>,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Folder {
        mode: u32,
        owner: u32,
    },
    File {
        mode: u32,
        content: Arc<[u8]>,
    },
    /// Another name of the file at this path.
    Link {
        of: String,
    },
}

/// Why something cannot lie there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The path is not one inside of an image.
    #[error("{0:?} is no path of a file in an image")]
    Path(String),
    /// Something else lies there already, or a file lies where a folder would have to.
    #[error("{0:?} would have to be two things at once")]
    Taken(String),
}

impl Tree {
    /// Puts a file that everybody may read.
    ///
    /// # Errors
    /// The path is absolute, leads upwards, or is taken.
    pub fn file(&mut self, path: &str, content: impl Into<Arc<[u8]>>) -> Result<(), TreeError> {
        let content = content.into();
        self.put(path, Node::File { mode: 0o644, content })
    }

    /// Puts a file that everybody may run.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn program(&mut self, path: &str, content: impl Into<Arc<[u8]>>) -> Result<(), TreeError> {
        let content = content.into();
        self.put(path, Node::File { mode: 0o755, content })
    }

    /// Puts a second name of a file that is there.
    ///
    /// # Errors
    /// As [`file`](Self::file); or there is no such file.
    pub fn link(&mut self, path: &str, of: &str) -> Result<(), TreeError> {
        if !matches!(self.nodes.get(of), Some(Node::File { .. })) {
            return Err(TreeError::Path(of.to_owned()));
        }
        self.put(path, Node::Link { of: of.to_owned() })
    }

    /// Puts a folder that everybody may look into.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn folder(&mut self, path: &str) -> Result<(), TreeError> {
        if matches!(self.nodes.get(path), Some(Node::Folder { .. })) {
            return Ok(());
        }
        self.put(path, FOLDER)
    }

    /// Puts a folder in which a user, by number, and the group 0 may write: that group is the one of users that are made up
    /// when a container starts, as `OpenShift` does.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn writable_folder(&mut self, path: &str, owner: u32) -> Result<(), TreeError> {
        self.folder(path)?;
        let node = Node::Folder { mode: 0o775, owner };
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn put(&mut self, path: &str, node: Node) -> Result<(), TreeError> {
        let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\']);
        if path.len() > MAX_PATH || !path.split('/').all(is_name) {
            return Err(TreeError::Path(path.to_owned()));
        }
        for (end, _) in path.match_indices('/') {
            let above = &path[..end];
            match self.nodes.get(above) {
                Some(Node::Folder { .. }) => {}
                Some(_) => return Err(TreeError::Taken(above.to_owned())),
                None => {
                    self.nodes.insert(above.to_owned(), FOLDER);
                }
            }
        }
        if self.nodes.contains_key(path) {
            return Err(TreeError::Taken(path.to_owned()));
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside_and_are_taken_once() {
        let mut tree = Tree::default();
        for path in [
            "",
            "/etc/passwd",
            "a/../b",
            "..",
            "a//b",
            "a/",
            "./a",
            "a\\b",
            "a\0",
        ] {
            assert_eq!(
                tree.file(path, *b""),
                Err(TreeError::Path(path.to_owned())),
                "{path}"
            );
        }
        tree.file("a/b", *b"").unwrap();
        assert_eq!(tree.file("a/b", *b""), Err(TreeError::Taken("a/b".to_owned())));
        assert_eq!(tree.file("a/b/c", *b""), Err(TreeError::Taken("a/b".to_owned())));
        assert_eq!(tree.file("a", *b""), Err(TreeError::Taken("a".to_owned())));
        assert_eq!(tree.link("c", "d"), Err(TreeError::Path("d".to_owned())));
        tree.folder("a").unwrap();
        tree.link("c", "a/b").unwrap();
        assert_eq!(tree.nodes.keys().collect::<Vec<_>>(), ["a", "a/b", "c"]);
    }
}
