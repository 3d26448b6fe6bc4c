//! The image that the operator's is built upon.

use std::path::Path;

use steersman_image::{BaseImage, BaseName, Platform, Reference, read_base};
use steersman_model::Environment;
use steersman_registry::{ImageSource, Settings};

use crate::cli::cluster::block_on;
use crate::cli::image::{ImageFlags, hint_to_base, hint_to_pull};
use crate::cli::{Failure, progress};

/// A base for some platforms.
pub(super) struct Base {
    /// In the order of the platforms.
    pub(super) images: Vec<BaseImage>,
    /// Where its layers are fetched; `None` where they are on this machine.
    pub(super) source: Option<ImageSource>,
}

/// Finds the base for each of these platforms. Its layers are not fetched yet.
pub(super) fn find(
    name: &BaseName,
    platforms: &[Platform],
    tag: &Reference,
    flags: &ImageFlags,
    environment: &Environment,
) -> Result<Base, Failure> {
    let (image, digest) = match name {
        BaseName::Registry { image, digest } => (image, digest),
        BaseName::Archive(path) | BaseName::Layout(path) => return on_this_machine(name, path, platforms),
    };
    let access = flags.access_to(image, tag);
    let source = ImageSource::new(image, digest.clone(), access, &Settings::of(environment));
    let _reading = progress::begin(format!("reading {name}"));
    let images = block_on(async {
        let mut images = Vec::new();
        for platform in platforms {
            images.push(source.find(platform).await.map_err(|error| {
                let hint = hint_to_pull(&error);
                Failure::failed(error, hint)
            })?);
        }
        Ok(images)
    })?;
    Ok(Base {
        images,
        source: Some(source),
    })
}

fn on_this_machine(name: &BaseName, path: &Path, platforms: &[Platform]) -> Result<Base, Failure> {
    let read = |platform| {
        read_base(path, platform).map_err(|error| {
            let hint = hint_to_base(&error);
            let error = anyhow::Error::new(error).context(format!("{name} can't be built upon"));
            Failure::failed(error, hint)
        })
    };
    Ok(Base {
        images: platforms.iter().map(read).collect::<Result<_, _>>()?,
        source: None,
    })
}

/// What the user should know who thinks that the image runs as the base does.
pub(super) fn note_on_user(base: &BaseImage, user: &str) -> Option<String> {
    let reason = match base.user() {
        same if same == user => return None,
        "" => "the base runs as root".to_owned(),
        named => {
            let id = named.split(':').next().unwrap_or(named);
            if matches!(id, "root" | "0") {
                "the base runs as root".to_owned()
            } else {
                format!(
                    "the base runs as `{}`, and Kubernetes can't tell of a name that it is not root",
                    id.escape_debug()
                )
            }
        }
    };
    Some(format!("note: {reason}: the image runs as user {user}"))
}
