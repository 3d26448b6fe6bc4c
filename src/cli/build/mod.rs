//! `build`: the operator's container image.

mod programs;
mod project;
mod text;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;
use steersman_image::{Blob, OperatorImage, Platform, Reference, Release, Tree, write_archive, write_layout};

use super::Failure;
use super::cluster::block_on;
use super::helm::{ConnectionFlags, say};
use super::report::print_line;
use crate::config::Environment;
use crate::repository::{self, FetchError, PushError, Pushing};
use programs::Given;

const EXAMPLES: &str = "\
Examples:
  # The image as a file, for `docker load`, `podman load`, `ctr images import` and `kind load image-archive`
  steersman build -t visitors-operator:v1.0.0 -o visitors-operator.tar

  # Into a registry, as the user that `docker login` or `helm registry login` stored
  steersman build -t registry.example.com/visitors-operator:v1.0.0 --push

  # For two processors, with a program for each
  steersman build -t registry.example.com/visitors-operator:v1.0.0 --push \\
    --binary steersman-amd64 --binary steersman-arm64

  # An image in the place of quay.io/operator-framework/helm-operator, for Dockerfiles that build upon that
  steersman build --base -t registry.example.com/steersman:v1.0.0 --push

What is in it:
  /usr/local/bin/steersman (also helm-operator), and in /opt/helm watches.yaml with the charts that it names. The image
  starts `steersman run --watches-file=./watches.yaml` there, as user 65532, and has nothing else: no shell, no
  certificates but the cluster's own.

  The same files give the same image, byte for byte. Its time is that of SOURCE_DATE_EPOCH, or 1970.";

/// What `build` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Name of the image, with its registry and tag
    #[arg(short, long, value_name = "NAME")]
    tag: Reference,
    /// File or folder to write [default: the name's last part with .tar, where nothing is pushed]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Form of what is written
    #[arg(long, value_name = "FORMAT", default_value = "oci-archive")]
    format: Format,
    /// Push the image to its registry
    #[arg(long)]
    push: bool,
    /// Platforms that the image must be for, separated by commas [default: those of the programs]
    #[arg(long, value_name = "OS/PROCESSOR", value_delimiter = ',')]
    platform: Vec<Platform>,
    /// Static program for a platform; can be repeated [default: the program that runs now]
    #[arg(long, value_name = "[PLATFORM=]FILE")]
    binary: Vec<Given>,
    /// Label of the image, such as org.opencontainers.image.source=https://…; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
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
    #[command(flatten, next_help_heading = "Registry")]
    connection: ConnectionFlags,
}

/// The forms of images on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An archive that `docker load` takes, too, if the image is for one platform
    OciArchive,
    /// The same, refused for several platforms
    DockerArchive,
    /// A folder
    OciLayout,
}

/// Builds the image, writes it, pushes it.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let binaries = programs::read(&arguments.binary, &arguments.platform)?;
    if arguments.format == Format::DockerArchive && binaries.len() > 1 {
        return Err(Failure::usage(
            anyhow!(
                "an archive for docker has one platform, and there are {}",
                binaries.len()
            ),
            Some("--format=oci-archive and --format=oci-layout take several".to_owned()),
        ));
    }
    let contents = OperatorImage {
        project: if arguments.base {
            Tree::default()
        } else {
            project::read(&arguments.watches_file, environment)?
        },
        certificates: certificates(arguments.ca_certificates.as_deref())?,
        labels: text::labels(&arguments.tag, &arguments.label, arguments.base),
        created: created(environment)?,
    };
    let mut images = Vec::new();
    for binary in &binaries {
        say(&format!("building for {}", binary.platform()));
        images.push(
            contents
                .with(binary)
                .map_err(|error| Failure::failed(error, None))?,
        );
    }
    let release = Release::new(arguments.tag.clone(), images);
    print_line(text::describe(&release, &binaries).trim_end())?;
    if let Some(path) = output(&arguments) {
        write(&path, &release, arguments.format)?;
        print_line(&format!("written to {}", path.display()))?;
    }
    if arguments.push {
        push(&release, &arguments.connection, environment)?;
        let digest = release.root().map(Blob::digest).unwrap_or_default();
        print_line(&format!("pushed {}@{digest}", release.reference()))?;
    }
    Ok(())
}

/// Where the image is written to, if anywhere.
fn output(arguments: &Args) -> Option<PathBuf> {
    let name = arguments.tag.name();
    let default = || {
        let ending = if arguments.format == Format::OciLayout {
            "oci"
        } else {
            "tar"
        };
        PathBuf::from(format!("{name}.{ending}"))
    };
    let given = arguments.output.clone();
    given.or_else(|| (!arguments.push).then(default))
}

fn write(path: &Path, release: &Release, format: Format) -> Result<(), Failure> {
    let result = match format {
        Format::OciLayout => write_layout(path, release),
        Format::OciArchive | Format::DockerArchive => write_archive(path, release),
    };
    result.map_err(|error| Failure::failed(error, None))
}

fn push(release: &Release, connection: &ConnectionFlags, environment: &Environment) -> Result<(), Failure> {
    let settings = repository::Settings::of(environment);
    let progress = |step| {
        say(&match step {
            Pushing::Known { bytes } => format!("there already: {}", text::size(bytes)),
            Pushing::Sending { bytes } => format!("pushing {}", text::size(bytes)),
        });
    };
    block_on(async {
        let pushed = repository::push(release, connection.access(), &settings, &progress).await;
        pushed.map_err(|error| {
            let hint = hint(&error, release.reference());
            Failure::failed(error, hint)
        })
    })
}

fn hint(error: &PushError, reference: &Reference) -> Option<String> {
    let (PushError::Refused { status, .. }
    | PushError::Ask {
        source: FetchError::Status { status, .. },
        ..
    }) = error
    else {
        return None;
    };
    let registry = reference.registry();
    matches!(status.as_u16(), 401 | 403).then(|| {
        format!(
            "`docker login {registry}` or `helm registry login {registry}` stores a user (in a file, not in a \
             credential helper); --username and --password name one"
        )
    })
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

/// The time of everything in the image, by the convention of reproducible-builds.org.
fn created(environment: &Environment) -> Result<u64, Failure> {
    let Some(text) = environment
        .get("SOURCE_DATE_EPOCH")
        .filter(|text| !text.is_empty())
    else {
        return Ok(0);
    };
    // The headers of archives have eleven octal digits for it.
    let seconds = text.parse().ok().filter(|seconds| *seconds < 1 << 33);
    seconds.ok_or_else(|| {
        Failure::usage(
            anyhow!("SOURCE_DATE_EPOCH is {text:?}"),
            Some("seconds since 1970 are expected, such as those of `git log -1 --format=%ct`".to_owned()),
        )
    })
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
