//! What `--output-dir` does.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use steersman_chart::template::{Document, TemplateOutput};

use super::super::Failure;
use super::super::helm::in_words_of_go;
use super::super::report::print_line;

/// Writes each document into the file that it is named after, below `folder`, and says so.
///
/// Objects and hooks go into the folder `inner` in there, if one is given. As with Helm, a hook is added to a file
/// that is there already.
pub(super) fn write(output: &TemplateOutput, folder: &Path, inner: Option<&str>) -> Result<(), Failure> {
    let below = inner.map_or_else(|| folder.to_owned(), |inner| folder.join(inner));
    let mut written = BTreeSet::new();
    for (folder, documents) in [(folder, &output.crds), (&below, &output.documents)] {
        for document in documents {
            let path = path(document, folder)?;
            let is_first = written.insert(path.clone());
            write_file(document, &path, is_first)?;
        }
    }
    for hook in &output.hooks {
        let path = path(hook, &below)?;
        write_file(hook, &path, !path.exists())?;
    }
    Ok(())
}

fn path(document: &Document, folder: &Path) -> Result<PathBuf, Failure> {
    let path = document.path_below(folder);
    path.ok_or_else(|| Failure::helm(anyhow!("`{}` leads out of the output directory", document.source)))
}

fn write_file(document: &Document, path: &Path, is_first: bool) -> Result<(), Failure> {
    let mut text = String::new();
    document.write(&mut text);
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(is_first)
            .append(!is_first)
            .open(path)?
            .write_all(text.as_bytes())
    };
    let name = path.display().to_string();
    write().map_err(|error| Failure::helm(anyhow!(in_words_of_go("open", &name, &error))))?;
    print_line(&format!("wrote {name}"))
}
