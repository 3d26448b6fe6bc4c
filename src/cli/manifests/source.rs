//! Where the objects of an operator come from.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::Value;
use steersman_model::Environment;
use steersman_project::set_operator_image;

use crate::cli::Failure;
use crate::cli::scaffold::PlainProject;

/// The folders that are looked at in turn: operator-sdk's layout, and one of plain manifests.
const FOLDERS: [&str; 2] = ["config/default", "deploy"];

/// What a kustomization may be called.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Which objects a command is about.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Manifests")]
pub(in crate::cli) struct ManifestFlags {
    /// The folder with the kustomization [default: config/default, or deploy; without either, what follows from
    /// watches.yaml and its charts]
    #[arg(short, long, value_name = "DIRECTORY")]
    kustomize_dir: Option<PathBuf>,
    /// Manifests to take instead, `-` for standard input; can be given several times
    #[arg(short, long, value_name = "FILE", conflicts_with = "kustomize_dir")]
    filename: Vec<PathBuf>,
    /// The image of the operator, instead of the one that the manifests name
    #[arg(long, value_name = "REFERENCE")]
    image: Option<String>,
}

/// The kustomization that says what the project in this folder deploys, if it has one.
pub(in crate::cli) fn kustomization() -> Option<PathBuf> {
    let files = |folder| {
        KUSTOMIZATIONS
            .iter()
            .map(move |name| Path::new(folder).join(name))
    };
    FOLDERS
        .iter()
        .copied()
        .flat_map(files)
        .find(|file| file.is_file())
}

impl ManifestFlags {
    /// The objects, and what they come from, for messages.
    pub(in crate::cli) fn read(&self, environment: &Environment) -> Result<(String, Vec<Value>), Failure> {
        let (origin, mut objects) = if self.filename.is_empty() {
            self.build(environment)?
        } else {
            let names: Vec<String> = self
                .filename
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            let mut objects = Vec::new();
            for file in &self.filename {
                objects.extend(read(file)?);
            }
            (names.join(", "), objects)
        };
        if let Some(image) = &self.image {
            set_operator_image(&mut objects, image)
                .map_err(|error| Failure::usage(error, Some(format!("set it in {origin}"))))?;
        }
        Ok((origin, objects))
    }

    fn build(&self, environment: &Environment) -> Result<(String, Vec<Value>), Failure> {
        let found = || kustomization().and_then(|file| file.parent().map(Path::to_owned));
        let Some(folder) = self.kustomize_dir.clone().or_else(found) else {
            let is_plain = FOLDERS.iter().all(|folder| !Path::new(folder).is_dir());
            if is_plain && PlainProject::is_here() {
                let objects = PlainProject::read(environment)?.build(FOLDERS[0])?;
                return Ok(("the project of watches.yaml".to_owned(), objects));
            }
            return Err(Failure::usage(
                anyhow!("there is no kustomization in {}", FOLDERS.join(" or ")),
                Some("run the command in a project's folder, or name one with --kustomize-dir".to_owned()),
            ));
        };
        let objects = steersman_kustomize::build(&folder).map_err(|error| {
            let hint = error.hint().map(str::to_owned);
            Failure::usage(error, hint)
        })?;
        Ok((folder.display().to_string(), objects))
    }
}

/// The objects of a file with documents, or of standard input.
fn read(file: &Path) -> Result<Vec<Value>, Failure> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .map(|_| text)
            .context("failed to read standard input")
    } else {
        fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))
    };
    let text = text.map_err(|error| Failure::usage(error, None))?;
    let wrong = |error: steersman_yaml::Error| {
        let place = file.display().to_string();
        Failure::usage(anyhow!(error).context(format!("{place} is no YAML")), None)
    };
    let documents = steersman_yaml::parse_documents(&text).map_err(wrong)?;
    let objects: Result<Vec<Value>, _> = documents
        .into_iter()
        .map(steersman_yaml::Node::into_json)
        .collect();
    let objects = objects.map_err(wrong)?;
    Ok(objects.into_iter().filter(|object| !object.is_null()).collect())
}
