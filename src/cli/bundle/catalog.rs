//! `bundle catalog`: a file-based catalog of bundles.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use steersman_image::Reference;
use steersman_model::Environment;
use steersman_project::bundle::catalog::{
    CATALOG_FOLDER, Catalog, CatalogBundle, CatalogOptions, catalog_dockerfile, catalog_labels,
};

use super::super::Failure;
use super::super::report::print_line;
use super::build::{Contents, PlatformFlags, deliver};
use super::validate::sound;
use crate::cli::files;
use crate::cli::image::ImageFlags;

const EXAMPLES: &str = "\
Examples:
  # A catalog of one version, in catalog/
  steersman bundle catalog bundle=registry.example.com/my-operator-bundle:v0.0.1

  # Add the next version to it
  steersman bundle catalog bundle=registry.example.com/my-operator-bundle:v0.0.2

  # The image of the catalog as it is, into a registry
  steersman bundle catalog -t registry.example.com/my-operator-catalog:v0.0.2 --push

  # Two versions at once, in the channel `stable`
  steersman bundle catalog --channel stable \\
    v1=registry.example.com/b:v0.0.1 v2=registry.example.com/b:v0.0.2

The image of --tag:
  The catalog in /configs, with the label that says so, on nothing at all: OLM 1 takes it as it
  is, OLM 0 with its own server by `grpcPodConfig: {extractContent: {catalogDir: /configs}}` in
  the CatalogSource. Where the server has to be in the image, build catalog.Dockerfile with a
  container engine.";

/// What `bundle catalog` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folders of bundles, each with the reference of its image; without any, the catalog stays as it is
    #[arg(value_name = "DIR=IMAGE", required_unless_present = "tag")]
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
    #[arg(long, conflicts_with = "tag")]
    stdout: bool,
    /// Build the image of the catalog, too: its name, with registry and tag
    #[arg(short, long, value_name = "NAME")]
    tag: Option<Reference>,
    #[command(flatten)]
    platforms: PlatformFlags,
    #[command(flatten)]
    image: ImageFlags,
}

/// Writes the catalog, and its image.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    if !arguments.bundles.is_empty() {
        add(arguments)?;
    }
    match &arguments.tag {
        Some(tag) => build_image(arguments, tag, environment),
        None => Ok(()),
    }
}

/// Builds the image: the folder as it is.
fn build_image(arguments: &Args, tag: &Reference, environment: &Environment) -> Result<(), Failure> {
    let folder = &arguments.output_dir;
    let hint = "name bundles, each with its image: DIR=IMAGE; or the folder of a catalog: --output-dir";
    let wrong = |error| Failure::usage(error, Some(hint.to_owned()));
    let files = files::read_bytes(folder).map_err(wrong)?;
    if !files.keys().any(|name| name.ends_with("/catalog.yaml")) {
        return Err(wrong(anyhow!("there is no catalog in `{}`", folder.display())));
    }
    let contents = Contents {
        purpose: "the catalog",
        folder: CATALOG_FOLDER,
        files,
        labels: catalog_labels(),
    };
    deliver(
        &contents,
        tag,
        &arguments.platforms,
        &arguments.image,
        environment,
    )
}

/// Adds the bundles to the catalog.
fn add(arguments: &Args) -> Result<(), Failure> {
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
    sound(path, &files)?;
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
