//! The project in a folder.

use std::path::Path;
use std::{fs, io};

use steersman_project::layout::{Files, Plugin, Project, ProjectFile, SHARED};

use super::super::Failure;
use super::super::scaffold::wrong;

const HINT: &str = "run the command in the folder of a project; `steersman init` makes one";

pub(super) struct Opened {
    pub(super) project: Project,
    /// What it was begun for.
    pub(super) plugin: Plugin,
    /// The files that its kinds share.
    pub(super) shared: Files,
}

/// Reads what tells of a project.
pub(super) fn read(folder: &Path) -> Result<Opened, Failure> {
    let mut files = Files::new();
    for path in SHARED {
        if let Some(text) = read_text(folder, path)? {
            files.insert((*path).to_owned(), text);
        }
    }
    let Some(text) = files.get("PROJECT") else {
        return Err(wrong("there is no PROJECT file in this folder", HINT));
    };
    let project = ProjectFile::parse(text).and_then(|file| Ok((file.project()?, file.plugin())));
    let (project, plugin) = project.map_err(|error| wrong(error.to_string(), HINT))?;
    Ok(Opened {
        project,
        plugin,
        shared: files,
    })
}

/// The text of a file of the project, if it is there.
pub(super) fn read_text(folder: &Path, path: &str) -> Result<Option<String>, Failure> {
    match fs::read_to_string(folder.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::failed(
            anyhow::Error::new(error).context(format!("failed to read `{path}`")),
            None,
        )),
    }
}
