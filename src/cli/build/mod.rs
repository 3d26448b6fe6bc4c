//! `build`: the operator's container image.

mod programs;
mod project;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use programs::ProgramFlag;
use steersman_image::{OperatorImage, Platform, Reference, Release, Tree};
use steersman_model::Environment;

use super::image::{ImageFlags, created};
use super::{Failure, progress};

const EXAMPLES: &str = "\
Examples:
  # As a file, for `docker load`, `podman load`, `ctr images import`, `kind load image-archive`
  steersman build -t visitors-operator:v1.0.0 -o visitors-operator.tar

  # Into a registry, as the user that `docker login` or `helm registry login` stored
  steersman build -t registry.example.com/visitors-operator:v1.0.0 --push

  # For two processors, with a program for each
  steersman build -t registry.example.com/visitors-operator:v1.0.0 --push \\
    --binary steersman-amd64 --binary steersman-arm64

  # In the place of quay.io/operator-framework/helm-operator, for Dockerfiles that build upon that
  steersman build --base -t registry.example.com/steersman:v1.0.0 --push

What is in it:
  /usr/local/bin/steersman (also helm-operator), and in /opt/helm watches.yaml with the charts
  that it names. The image starts `steersman run --watches-file=./watches.yaml` there, as user
  65532, and has nothing else: no shell, no certificates but the cluster's own.

  The same files give the same image, byte for byte. Its time is that of SOURCE_DATE_EPOCH, or
  1970.";

/// What `build` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Name of the image, with its registry and tag
    #[arg(short, long, value_name = "NAME")]
    tag: Reference,
    /// Platforms that the image must be for, separated by commas [default: those of the programs]
    #[arg(long, value_name = "OS/PROCESSOR", value_delimiter = ',')]
    platform: Vec<Platform>,
    /// Static program for a platform; can be repeated [default: the program that runs now]
    #[arg(long, value_name = "[PLATFORM=]FILE")]
    binary: Vec<ProgramFlag>,
    /// Leave out the project: an image that a Dockerfile builds upon
    #[arg(long)]
    base: bool,
    /// The file that says which kinds become which charts
    #[arg(
        long,
        value_name = "FILE",
        default_value = "./watches.yaml",
        conflicts_with = "base"
    )]
    watches_file: PathBuf,
    /// Certificates of authorities (PEM) that the operator trusts besides the cluster's, for traces that leave by TLS
    #[arg(long, value_name = "FILE")]
    ca_certificates: Option<PathBuf>,
    #[command(flatten)]
    image: ImageFlags,
}

/// Builds the image, writes it, pushes it.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let binaries = programs::read(&arguments.binary, &arguments.platform)?;
    arguments.image.check(binaries.len())?;
    let contents = OperatorImage {
        project: if arguments.base {
            Tree::default()
        } else {
            project::read(&arguments.watches_file, environment)?
        },
        certificates: certificates(arguments.ca_certificates.as_deref())?,
        labels: labels(&arguments.tag, arguments.image.labels(), arguments.base),
        created: created(environment)?,
    };
    let mut images = Vec::new();
    for binary in &binaries {
        let _building = progress::begin(format!("building for {}", binary.platform()));
        images.push(
            contents
                .with(binary)
                .map_err(|error| Failure::failed(error, None))?,
        );
    }
    let release = Release::new(arguments.tag.clone(), images);
    let programs = binaries
        .iter()
        .map(|binary| (binary.platform().clone(), binary.content().len() as u64));
    arguments
        .image
        .deliver(&release, &programs.collect(), environment)
}

fn certificates(path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let content = std::fs::read(path).map_err(|error| {
        let attempt = format!("failed to read `{}`", path.display());
        Failure::usage(anyhow::Error::new(error).context(attempt), None)
    })?;
    let mark = b"-----BEGIN CERTIFICATE-----";
    if !content.windows(mark.len()).any(|window| window == mark) {
        let problem = anyhow!("`{}` has no certificate in it", path.display());
        return Err(Failure::usage(
            problem,
            Some("a bundle in the PEM format is expected".to_owned()),
        ));
    }
    Ok(Some(content))
}

/// The labels of an image: a title, the version where the tag is one, and what the user wants.
fn labels(reference: &Reference, given: &[(String, String)], is_base: bool) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut add = |name: &str, value: &str| {
        labels.insert(format!("org.opencontainers.image.{name}"), value.to_owned());
    };
    add("title", reference.name());
    if is_base {
        add("description", "Turns a Helm chart into a Kubernetes operator");
        add("licenses", "Apache-2.0");
    }
    if is_version(reference.tag()) {
        add("version", reference.tag());
    }
    labels.extend(given.iter().cloned());
    labels
}

fn is_version(tag: &str) -> bool {
    let number = tag.strip_prefix('v').unwrap_or(tag);
    number.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn some_tags_are_versions() {
        assert!(is_version("v1.0.0") && is_version("2"));
        assert!(!is_version("latest") && !is_version("vnext"));
    }
}
