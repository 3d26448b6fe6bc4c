//! `build`: the operator's container image.

mod ansible;
mod base;
mod files;
mod programs;
mod project;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use base::Base;
use programs::ProgramFlag;
use project::Project;
use steersman_image::{BaseName, Binary, Home, Image, OperatorImage, Platform, Reference, Release};
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

  # A project with roles or playbooks, upon an image that has Python and Ansible
  steersman build -t registry.example.com/memcached-operator:v1.0.0 --push \\
    --from registry.example.com/python-ansible:1

  # In the place of quay.io/operator-framework/helm-operator, for Dockerfiles that build upon that
  steersman build --base -t registry.example.com/steersman:v1.0.0 --push

What is in it:
  /usr/local/bin/steersman (also helm-operator), and in /opt/helm watches.yaml with the charts
  that it names. The image starts `steersman run --watches-file=./watches.yaml` there, as user
  65532, and has nothing else: no shell, no certificates but the cluster's own.

  With --from, the layers of that image are below, as they are, and what it says of containers
  holds: environment, volumes, labels, and the user if it is a number other than 0. A project with
  roles or playbooks is in /opt/ansible then, with roles/, playbooks/, requirements.yml, and
  collections/ as .ansible/collections; the program is called ansible-operator, too.

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
    /// Image to build upon: a name in a registry, docker-archive:FILE, oci-archive:FILE or oci:FOLDER. The flags for the
    /// registry hold for it, too, unless it is in another one than the image that is pushed
    #[arg(long, value_name = "REF", conflicts_with = "ca_certificates")]
    from: Option<BaseName>,
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
    let project = project(&arguments, environment)?;
    for note in &project.notes {
        progress::say(note);
    }
    let contents = OperatorImage {
        home: project.home,
        project: project.files,
        collections: project.collections,
        certificates: certificates(arguments.ca_certificates.as_deref())?,
        labels: labels(&arguments),
        created: created(environment)?,
    };
    let platforms: Vec<Platform> = binaries.iter().map(|binary| binary.platform().clone()).collect();
    let base = match &arguments.from {
        Some(name) => {
            let found = base::find(name, &platforms, &arguments.tag, &arguments.image, environment);
            Some(found?)
        }
        None => None,
    };
    let release = Release::new(
        arguments.tag.clone(),
        images(&contents, &binaries, base.as_ref())?,
    );
    let lengths = binaries.iter().map(|binary| binary.content().len() as u64);
    arguments.image.deliver(
        &release,
        &platforms.into_iter().zip(lengths).collect(),
        base.as_ref().and_then(|base| base.source.as_ref()),
        environment,
    )
}

/// The project; of an image that others build upon, where it will be.
fn project(arguments: &Args, environment: &Environment) -> Result<Project, Failure> {
    let has_base = arguments.from.is_some();
    if !arguments.base {
        return project::read(&arguments.watches_file, has_base, environment);
    }
    Ok(Project {
        home: if has_base { Home::Ansible } else { Home::Helm },
        ..Project::default()
    })
}

/// The image for each program.
fn images(contents: &OperatorImage, binaries: &[Binary], base: Option<&Base>) -> Result<Vec<Image>, Failure> {
    let mut images = Vec::new();
    for (index, binary) in binaries.iter().enumerate() {
        let _building = progress::begin(format!("building for {}", binary.platform()));
        let below = base.and_then(|base| base.images.get(index));
        let image = match below {
            Some(below) => contents.upon(below, binary),
            None => contents.with(binary),
        };
        images.push(image.map_err(|error| Failure::failed(error, None))?);
        if let Some(note) = below.and_then(|below| base::note_on_user(below, contents.user_upon(below))) {
            progress::say(&note);
        }
    }
    Ok(images)
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

/// The labels of an image: a title, the version where the tag is one, and what the user wants. What the base is called is
/// none of them: by whatever name, the same base gives the same image.
fn labels(arguments: &Args) -> BTreeMap<String, String> {
    let reference = &arguments.tag;
    let mut labels = BTreeMap::new();
    let mut add = |name: &str, value: &str| {
        labels.insert(format!("org.opencontainers.image.{name}"), value.to_owned());
    };
    add("title", reference.name());
    if arguments.base {
        add("description", "Turns a Helm chart into a Kubernetes operator");
        add("licenses", "Apache-2.0");
    }
    if is_version(reference.tag()) {
        add("version", reference.tag());
    }
    labels.extend(arguments.image.labels().iter().cloned());
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
