//! `bundle catalog`: a file-based catalog of bundles.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use steersman_project::bundle::catalog::{Catalog, CatalogBundle, CatalogOptions, catalog_dockerfile};
use steersman_project::bundle::validate::{Severity, validate};

use super::super::Failure;
use super::super::report::print_line;
use super::super::style::Style;
use super::validate::line;
use crate::cli::files;

const EXAMPLES: &str = "\
Examples:
  # A catalog of one version, in catalog/
  steersman bundle catalog bundle=registry.example.com/my-operator-bundle:v0.0.1

  # Add the next version to it
  steersman bundle catalog bundle=registry.example.com/my-operator-bundle:v0.0.2

  # Two versions at once, in the channel `stable`
  steersman bundle catalog --channel stable v1=registry.example.com/b:v0.0.1 v2=registry.example.com/b:v0.0.2";

/// What `bundle catalog` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folders of bundles, each with the reference of its image
    #[arg(value_name = "DIR=IMAGE", required = true)]
    bundles: Vec<String>,
    /// The folder of the catalog
    #[arg(long, value_name = "DIR", default_value = "catalog")]
    output_dir: PathBuf,
    /// Put the bundles into this channel instead of those that they name; several with commas
    #[arg(long = "channel", value_name = "NAME", value_delimiter = ',')]
    channels: Vec<String>,
    /// The channel that is taken by default
    #[arg(long, value_name = "NAME")]
    default_channel: Option<String>,
    /// Write nothing, and print the catalog
    #[arg(long)]
    stdout: bool,
}

/// Writes the catalog.
pub(super) fn exec(arguments: &Args) -> Result<(), Failure> {
    let mut bundles = Vec::new();
    for bundle in &arguments.bundles {
        bundles.push(read_bundle(bundle)?);
    }
    let package = match bundles.first() {
        Some(bundle) => bundle.package().map_err(|error| Failure::failed(error, None))?,
        None => return Err(Failure::usage(anyhow!("no bundle is given"), None)),
    };
    let file = arguments.output_dir.join(&package).join("catalog.yaml");
    let mut catalog = match files::read_if_there(&file)? {
        Some(text) => Catalog::read(documents(&file, &text)?),
        None => Catalog::default(),
    };
    let options = CatalogOptions {
        channels: arguments.channels.clone(),
        default_channel: arguments.default_channel.clone(),
    };
    catalog.add(&bundles, &options).map_err(|error| {
        let hint = "each version of a channel has to replace or skip the one before: --replaces of `steersman bundle`";
        Failure::failed(error, Some(hint.to_owned()))
    })?;
    if arguments.stdout {
        // Nobody may read any more (a closed pipe).
        let _ = io::stdout().lock().write_all(catalog.to_yaml().as_bytes());
        return Ok(());
    }
    files::write(&file, &catalog.to_yaml())?;
    let name = arguments
        .output_dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let dockerfile = arguments.output_dir.with_file_name(format!("{name}.Dockerfile"));
    files::write(&dockerfile, &catalog_dockerfile(&name))?;
    let channels: Vec<&str> = catalog.channels().collect();
    print_line(&format!(
        "wrote `{}` with the channels {}",
        file.display(),
        channels.join(", ")
    ))?;
    print_line(&format!("wrote `{}`", dockerfile.display()))
}

/// Reads a bundle that is sound, with the reference of its image.
fn read_bundle(argument: &str) -> Result<CatalogBundle, Failure> {
    let Some((path, image)) = argument.split_once('=').filter(|(_, image)| !image.is_empty()) else {
        return Err(Failure::usage(
            anyhow!("`{argument}` names no image"),
            Some(format!(
                "say where OLM gets the bundle from: {argument}=registry.example.com/bundle:v0.0.1"
            )),
        ));
    };
    let files = files::read_all(Path::new(path)).map_err(|error| Failure::usage(error, None))?;
    let errors: Vec<String> = validate(&files, &[])
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| line(finding, Style::default()))
        .collect();
    if !errors.is_empty() {
        return Err(Failure::failed(
            anyhow!("bundle `{path}` is not sound\n{}", errors.join("\n")),
            Some(format!("`steersman bundle validate {path}` says all of it")),
        ));
    }
    Ok(CatalogBundle {
        files,
        image: image.to_owned(),
    })
}

fn documents(path: &Path, text: &str) -> Result<Vec<serde_json::Value>, Failure> {
    let read = || -> Result<Vec<serde_json::Value>, steersman_yaml::Error> {
        let nodes = steersman_yaml::parse_documents(text)?;
        nodes.into_iter().map(steersman_yaml::Node::into_json).collect()
    };
    let documents = read().map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("`{}` is no catalog", path.display()));
        Failure::failed(error, Some("move it away, or mend it".to_owned()))
    })?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}
