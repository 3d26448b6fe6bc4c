//! What a build reads: the files of one folder, and other folders.

use crate::error::Error;
use crate::kustomization::FILE_NAMES;
use crate::resource::Resource;
use serde_json::Value;
use std::cell::Cell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How deep folders may refer to each other.
const MAX_DEPTH: usize = 64;
/// How often folders are entered: one that is named twice counts twice, with all that it names.
const MAX_FOLDERS: usize = 1_000;

const REMOTE: &str = "download it, and name the folder or file";

/// A folder with a kustomization.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    /// No folder outside of this one is entered.
    project: PathBuf,
    /// From the outermost folder to this one.
    chain: Vec<PathBuf>,
    kustomization: PathBuf,
    /// How many folders were entered in the whole build.
    entered: Rc<Cell<usize>>,
}

impl Files {
    /// Nothing of it is read yet; all reading is confined to `project` from here on.
    pub(crate) fn open(project: &Path, folder: &Path) -> Result<Self, Error> {
        let project = resolve(project)?;
        let folder = resolve(folder)?;
        Self::with_chain(project, vec![folder], Rc::default())
    }

    fn with_chain(project: PathBuf, chain: Vec<PathBuf>, entered: Rc<Cell<usize>>) -> Result<Self, Error> {
        entered.set(entered.get() + 1);
        let folder = chain.last().cloned().unwrap_or_default();
        let fail = |problem: &str| Error::Folder {
            folder: folder.clone(),
            problem: problem.to_owned(),
        };
        if !folder.starts_with(&project) {
            return Err(fail(&format!("is outside of `{}`", project.display())));
        }
        let names: Vec<PathBuf> = FILE_NAMES
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| path.is_file())
            .collect();
        match <[PathBuf; 1]>::try_from(names) {
            Ok([kustomization]) => Ok(Self {
                project,
                chain,
                kustomization,
                entered,
            }),
            Err(names) if names.is_empty() => Err(fail("has no `kustomization.yaml`")),
            Err(_) => Err(fail("has several kustomizations")),
        }
    }

    pub(crate) fn kustomization(&self) -> &Path {
        &self.kustomization
    }

    fn folder(&self) -> &Path {
        self.chain.last().map_or(Path::new(""), PathBuf::as_path)
    }

    pub(crate) fn kustomization_text(&self) -> Result<String, Error> {
        read_text(&self.kustomization)
    }

    /// Whether an entry names a folder.
    pub(crate) fn is_folder(&self, entry: &str) -> bool {
        self.folder().join(entry).is_dir()
    }

    /// Opens another folder, which may lie anywhere in the project, but not contain this one's way here.
    pub(crate) fn enter(&self, field: &str, entry: &str) -> Result<Self, Error> {
        let fail = |problem: String| Error::field(&self.kustomization, field, problem);
        let folder = resolve(&self.folder().join(entry))?;
        if self.chain.iter().any(|outer| outer.starts_with(&folder)) {
            return Err(fail(format!("`{entry}` contains the folder that names it")));
        }
        if self.chain.len() >= MAX_DEPTH {
            return Err(fail(format!(
                "folders name each other more than {MAX_DEPTH} deep"
            )));
        }
        if self.entered.get() >= MAX_FOLDERS {
            return Err(fail(format!("more than {MAX_FOLDERS} folders are named")));
        }
        let mut chain = self.chain.clone();
        chain.push(folder);
        Self::with_chain(self.project.clone(), chain, Rc::clone(&self.entered))
    }

    /// Reads a file in this folder or below it, as text.
    pub(crate) fn read(&self, field: &str, entry: &str) -> Result<(PathBuf, String), Error> {
        let (path, bytes) = self.read_bytes(field, entry)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((path, text)),
            Err(_) => Err(Error::field(
                &self.kustomization,
                field,
                format!("`{entry}` is no text"),
            )),
        }
    }

    /// Reads a file in this folder or below it.
    pub(crate) fn read_bytes(&self, field: &str, entry: &str) -> Result<(PathBuf, Vec<u8>), Error> {
        self.refuse_remote(field, entry)?;
        let path = self.folder().join(entry);
        let real = resolve(&path)?;
        if !real.starts_with(self.folder()) {
            return Err(Error::field_with_hint(
                &self.kustomization,
                field,
                format!("`{entry}` is not in `{}` or below", self.folder().display()),
                "name its folder instead, with a `kustomization.yaml` in it",
            ));
        }
        Ok((shown(&path), read_bytes(&real)?))
    }

    /// Refuses what is not on this machine.
    pub(crate) fn refuse_remote(&self, field: &str, entry: &str) -> Result<(), Error> {
        let is_remote = entry.contains("://")
            || entry.contains("?ref=")
            || entry.starts_with("git@")
            || entry.starts_with("github.com/");
        if is_remote && !self.folder().join(entry).exists() {
            return Err(Error::field_with_hint(
                &self.kustomization,
                field,
                format!("`{entry}` is not on this machine, and nothing is downloaded"),
                REMOTE,
            ));
        }
        Ok(())
    }
}

/// A path without `.` and with `..` worked off, for messages.
fn shown(path: &Path) -> PathBuf {
    let mut shown = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                shown.pop();
            }
            other => shown.push(other),
        }
    }
    shown
}

fn resolve(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|source| Error::Read {
        path: shown(path),
        source,
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    use std::io::Read;

    let fail = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::object(
            path,
            format!("the file is larger than {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(bytes)
}

fn read_text(path: &Path) -> Result<String, Error> {
    String::from_utf8(read_bytes(path)?).map_err(|_| Error::object(path, "the file is no text"))
}

/// Reads the objects of a text; lists of objects count as their items.
///
/// # Errors
///
/// The text is not YAML, or an object has no kind or no name.
pub(crate) fn parse_resources(origin: &Path, text: &str) -> Result<Vec<Resource>, Error> {
    let fail = |source| Error::Yaml {
        path: origin.to_owned(),
        source,
    };
    let mut resources = Vec::new();
    for document in steersman_yaml::parse_documents_v3(text).map_err(fail)? {
        add_object(origin, document.into_json().map_err(fail)?, &mut resources)?;
    }
    Ok(resources)
}

fn add_object(origin: &Path, value: Value, resources: &mut Vec<Resource>) -> Result<(), Error> {
    let object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) if object.is_empty() => return Ok(()),
        Value::Object(object) => object,
        _ => return Err(Error::object(origin, "a document is no object")),
    };
    let resource = Resource::new(object);
    let kind = resource.gvk().kind;
    if kind.is_empty() {
        return Err(Error::object(origin, "an object has no `kind`"));
    }
    if kind.ends_with("List") {
        match resource.object.get("items") {
            Some(Value::Array(items)) => {
                return items
                    .iter()
                    .try_for_each(|item| add_object(origin, item.clone(), resources));
            }
            Some(Value::Null) => return Ok(()),
            Some(_) => {
                return Err(Error::object(
                    origin,
                    format!("the items of a {kind} are no list"),
                ));
            }
            None => {}
        }
    } else if resource.name().is_empty() {
        return Err(Error::object(origin, format!("a {kind} has no `metadata.name`")));
    }
    resources.push(resource);
    Ok(())
}
