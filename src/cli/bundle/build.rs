//! `bundle build`: the image of a bundle, without a container engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use steersman_image::{DataImage, Platform, Reference, Release, Tree};
use steersman_model::Environment;
use steersman_project::bundle::{image_labels, is_in_image};

use super::validate::sound;
use crate::cli::image::{ImageFlags, created};
use crate::cli::{Failure, files};

const EXAMPLES: &str = "\
Examples:
  # Into a registry, as the user that `docker login` or `helm registry login` stored
  steersman bundle build -t registry.example.com/my-operator-bundle:v0.0.1 --push

  # As a file, for `docker load`, `podman load` and `ctr images import`
  steersman bundle build -t registry.example.com/my-operator-bundle:v0.0.1 -o bundle.tar

What is in it:
  What bundle.Dockerfile copies: manifests/, metadata/ and tests/scorecard/. Its labels are the
  annotations of metadata/annotations.yaml. The same files give the same image, byte for byte; its
  time is that of SOURCE_DATE_EPOCH, or 1970.";

/// What `bundle build` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The folder of the bundle
    #[arg(value_name = "DIR", default_value = "bundle")]
    folder: PathBuf,
    /// Name of the image, with its registry and tag
    #[arg(short, long, value_name = "NAME")]
    tag: Reference,
    #[command(flatten)]
    platforms: PlatformFlags,
    #[command(flatten)]
    image: ImageFlags,
}

/// The platforms of an image that has no program in it.
#[derive(Debug, clap::Args)]
pub(super) struct PlatformFlags {
    /// Platforms that the image says it is for, separated by commas; its files are the same
    #[arg(
        long,
        value_name = "OS/PROCESSOR",
        value_delimiter = ',',
        default_value = "linux/amd64"
    )]
    platform: Vec<Platform>,
}

/// Builds the image, writes it, pushes it.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let contents = files::read_bytes(&arguments.folder).map_err(|error| Failure::usage(error, None))?;
    let texts = files::texts(&contents);
    sound(&arguments.folder.display().to_string(), &texts)?;
    let contents = contents.into_iter().filter(|(path, _)| is_in_image(path));
    deliver(
        &Contents {
            purpose: "the bundle",
            folder: "",
            files: contents.collect(),
            labels: image_labels(&texts),
        },
        &arguments.tag,
        &arguments.platforms,
        &arguments.image,
        environment,
    )
}

/// What is in an image.
pub(super) struct Contents {
    pub(super) purpose: &'static str,
    /// Where the files are, with a slash at the end; empty for the root.
    pub(super) folder: &'static str,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) labels: BTreeMap<String, String>,
}

/// Makes the image, and brings it where it is wanted.
pub(super) fn deliver(
    contents: &Contents,
    tag: &Reference,
    platforms: &PlatformFlags,
    flags: &ImageFlags,
    environment: &Environment,
) -> Result<(), Failure> {
    flags.check(platforms.platform.len())?;
    let mut tree = Tree::default();
    for (path, content) in &contents.files {
        let put = tree.file(&format!("{}{path}", contents.folder), content.as_slice());
        put.map_err(|error| Failure::usage(error, None))?;
    }
    let mut labels = contents.labels.clone();
    labels.extend(flags.labels().iter().cloned());
    let image = DataImage {
        purpose: contents.purpose.to_owned(),
        files: tree,
        labels,
        created: created(environment)?,
    };
    let images = image
        .for_platforms(&platforms.platform)
        .map_err(|error| Failure::failed(error, None))?;
    let release = Release::new(tag.clone(), images);
    flags.deliver(&release, &BTreeMap::new(), None, environment)
}
