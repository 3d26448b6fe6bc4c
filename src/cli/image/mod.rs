//! What commands that make images share: where an image goes, and what is printed about it.

mod text;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;
use steersman_image::{
    BaseError, Blob, BlobError, Platform, Reference, Release, write_archive, write_layout,
};
use steersman_model::Environment;
use steersman_registry::{self, Access, FetchError, ImageSource, PullError, PushError, PushStep};

use super::cluster::block_on;
use super::helm::ConnectionFlags;
use super::report::print_line;
use super::{Failure, progress};

/// Where an image goes. The command has an argument `tag`, the image's name.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Image")]
pub(super) struct ImageFlags {
    /// File or folder to write [default: the name's last part with .tar, where nothing is pushed]
    #[arg(short, long, value_name = "PATH", requires = "tag")]
    output: Option<PathBuf>,
    /// Form of what is written
    #[arg(long, value_name = "FORMAT", default_value = "oci-archive")]
    format: Format,
    /// Push the image to its registry
    #[arg(long, requires = "tag")]
    push: bool,
    /// Label of the image, such as org.opencontainers.image.source=https://…; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, requires = "tag")]
    label: Vec<(String, String)>,
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

impl ImageFlags {
    /// The labels that the user gives.
    pub(super) fn labels(&self) -> &[(String, String)] {
        &self.label
    }

    /// Whether images for so many platforms can be written in the form that is asked for.
    ///
    /// # Errors
    /// They can't.
    pub(super) fn check(&self, platforms: usize) -> Result<(), Failure> {
        if self.format == Format::DockerArchive && platforms > 1 {
            return Err(Failure::usage(
                anyhow!("an archive for docker has one platform, and there are {platforms}"),
                Some("--format=oci-archive and --format=oci-layout take several".to_owned()),
            ));
        }
        Ok(())
    }

    /// How the registry of a base is reached. The flags are for the registry of the image: another one gets no user that they
    /// name, unless it is the only one that is asked.
    pub(super) fn access_to(&self, base: &Reference, image: &Reference) -> Access {
        if self.push && base.registry() != image.registry() {
            return Access::default();
        }
        self.connection.access()
    }

    /// Says what the image is, writes it, and pushes it. `programs` are the lengths of the programs in it, and `base` is where
    /// the layers below it are fetched, if they come from a registry.
    ///
    /// # Errors
    /// It cannot be written, or the registry does not take it.
    pub(super) fn deliver(
        &self,
        release: &Release,
        programs: &BTreeMap<Platform, u64>,
        base: Option<&ImageSource>,
        environment: &Environment,
    ) -> Result<(), Failure> {
        print_line(text::describe(release, programs).trim_end())?;
        if let Some(path) = self.output(release) {
            if let Some(base) = base {
                fetch(release, base)?;
            }
            write(&path, release, self.format)?;
            print_line(&format!("written to {}", path.display()))?;
        }
        if self.push {
            push(release, base, &self.connection, environment)?;
            let digest = release.root().map(Blob::digest).unwrap_or_default();
            print_line(&format!("pushed {}@{digest}", release.reference()))?;
        }
        Ok(())
    }

    /// Where the image is written to, if anywhere.
    fn output(&self, release: &Release) -> Option<PathBuf> {
        let name = release.reference().name();
        let default = || {
            let ending = if self.format == Format::OciLayout {
                "oci"
            } else {
                "tar"
            };
            PathBuf::from(format!("{name}.{ending}"))
        };
        let given = self.output.clone();
        given.or_else(|| (!self.push).then(default))
    }
}

fn write(path: &Path, release: &Release, format: Format) -> Result<(), Failure> {
    let result = match format {
        Format::OciLayout => write_layout(path, release),
        Format::OciArchive | Format::DockerArchive => write_archive(path, release),
    };
    result.map_err(|error| Failure::failed(error, None))
}

/// Fetches the layers of the base.
fn fetch(release: &Release, base: &ImageSource) -> Result<(), Failure> {
    let fetching = Cell::new(None);
    let on_layer = |bytes| {
        // What was fetched before is here.
        fetching.take();
        fetching.set(Some(progress::begin(format!("fetching {}", text::size(bytes)))));
    };
    let blobs = release.blobs();
    let fetched = block_on(async { Ok(base.fetch(&blobs, &on_layer).await) })?;
    fetching.take();
    fetched.map_err(|error| {
        let hint = hint_to_pull(&error);
        Failure::failed(error, hint)
    })
}

fn push(
    release: &Release,
    base: Option<&ImageSource>,
    connection: &ConnectionFlags,
    environment: &Environment,
) -> Result<(), Failure> {
    let settings = steersman_registry::Settings::of(environment);
    let moving = Cell::new(None);
    let on_step = |step| {
        // What was moved before has arrived.
        moving.take();
        let begin = |what, bytes| moving.set(Some(progress::begin(format!("{what} {}", text::size(bytes)))));
        match step {
            PushStep::Exists { bytes } => progress::say(&format!("there already: {}", text::size(bytes))),
            PushStep::Mounted { bytes } => {
                progress::say(&format!(
                    "taken from the base's repository: {}",
                    text::size(bytes)
                ));
            }
            PushStep::Fetching { bytes } => begin("fetching", bytes),
            PushStep::Sending { bytes } => begin("pushing", bytes),
        }
    };
    block_on(async {
        let pushed = steersman_registry::push(release, base, connection.access(), &settings, &on_step).await;
        pushed.map_err(|error| {
            let hint = hint_to_push(&error, release.reference());
            Failure::failed(error, hint)
        })
    })
}

fn hint_to_push(error: &PushError, reference: &Reference) -> Option<String> {
    match error {
        PushError::Refused { status, .. }
        | PushError::Ask {
            source: FetchError::Status { status, .. },
            ..
        } => hint_to_log_in(status.as_u16(), reference.registry()),
        PushError::Base { source, .. } => hint_to_pull(source),
        _ => None,
    }
}

/// What a user can do who does not get a base.
pub(super) fn hint_to_pull(error: &PullError) -> Option<String> {
    match error {
        PullError::Ask {
            image,
            source: FetchError::Status { status, .. },
        } => hint_to_log_in(status.as_u16(), image.split('/').next().unwrap_or(image)),
        PullError::Base { source, .. } => hint_to_base(source),
        PullError::Layer {
            source: BlobError::Write { .. },
            ..
        } => Some("TMPDIR names another folder for temporary files".to_owned()),
        _ => None,
    }
}

/// What a user can do whose base is none.
pub(super) fn hint_to_base(error: &BaseError) -> Option<String> {
    matches!(error, BaseError::Platform { .. }).then(|| {
        "the base has to be for the processors of the programs: --binary names the programs, and --platform which of \
         them are meant"
            .to_owned()
    })
}

fn hint_to_log_in(status: u16, registry: &str) -> Option<String> {
    matches!(status, 401 | 403).then(|| {
        format!(
            "`docker login {registry}` or `helm registry login {registry}` stores a user (in a file, not in a \
             credential helper); --username and --password name one"
        )
    })
}

/// The time of everything in the image, by the convention of reproducible-builds.org.
pub(super) fn created(environment: &Environment) -> Result<u64, Failure> {
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
