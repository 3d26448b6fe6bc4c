//! Archives as docker has written them before they were layouts, and as crane and others still do: layers by any name, whose
//! digests are those of the archives in them.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::config::Configuration;
use super::files::{Files, Part};
use super::{BaseError, BaseImage, MAX_LAYERS, MAX_LAYERS_SIZE, shown};
use crate::blob::text;
use crate::{Blob, Descriptor, Layer, Platform};

const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";
const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    #[serde(default)]
    layers: Vec<String>,
}

/// Takes an archive with several images for none.
pub(super) fn read(files: &Files, platform: &Platform) -> Result<BaseImage, BaseError> {
    let document = files.document("manifest.json")?;
    let entries: Vec<Entry> = serde_json::from_slice(&document).map_err(|source| BaseError::Document {
        document: "manifest.json",
        source,
    })?;
    let [entry] = entries.as_slice() else {
        let reason = format!("the archive has {} images, and one is expected", entries.len());
        return Err(BaseError::NotAnImage(reason));
    };
    if entry.layers.len() > MAX_LAYERS {
        return Err(BaseError::TooLarge {
            what: "layers",
            limit: MAX_LAYERS as u64,
        });
    }
    let config = Configuration::read(&files.document(&listed(files, &entry.config)?)?, platform)?;
    if config.diff_ids.len() != entry.layers.len() {
        let (names, layers) = (config.diff_ids.len(), entry.layers.len());
        let reason = format!("its configuration names {names} layers, and its manifest {layers}");
        return Err(BaseError::NotAnImage(reason));
    }
    let layers = entry.layers.iter().zip(&config.diff_ids);
    let layers = layers.map(|(name, diff_id)| layer(files, &listed(files, name)?, diff_id));
    let layers = layers.collect::<Result<Vec<_>, _>>()?;
    Ok(config.image(platform.clone(), None, layers))
}

/// A name that the archive has; one of a folder is not looked for, as it could be anywhere.
fn listed(files: &Files, name: &str) -> Result<String, BaseError> {
    if files.is_archive() && files.has(name) {
        return Ok(name.to_owned());
    }
    let reason = format!(
        "its manifest.json names {:?}, which is not in the archive",
        shown(name)
    );
    Err(BaseError::NotAnImage(reason))
}

fn layer(files: &Files, name: &str, diff_id: &str) -> Result<Layer, BaseError> {
    let mut part = files.part(name)?;
    let mut start = [0; 4];
    let read = part
        .read_from_start()
        .and_then(|mut content| content.read(&mut start));
    read.map_err(|source| files.failed(name, source))?;
    let (media_type, digest) = match start {
        [0x1f, 0x8b, ..] => {
            let digest = compressed(&mut part, diff_id);
            (GZIP, digest.map_err(|source| files.failed(name, source))?)
        }
        [0x28, 0xb5, 0x2f, 0xfd] => {
            return Err(BaseError::Layer {
                digest: diff_id.to_owned(),
                reason: "it is compressed by zstd, and the archive does not have its digest".to_owned(),
            });
        }
        // The archive itself, which is held against its digest when it is read.
        _ => (PLAIN, diff_id.to_owned()),
    };
    let blob = Blob::elsewhere(&Descriptor {
        media_type: media_type.into(),
        digest,
        size: part.size,
        annotations: std::collections::BTreeMap::new(),
        platform: None,
    });
    blob.lies_in(part.file, part.start);
    Ok(Layer::of_base(blob, diff_id.to_owned()))
}

/// The digest of a compressed layer whose content has the other one.
fn compressed(part: &mut Part, diff_id: &str) -> io::Result<String> {
    let mut packed = Hashing {
        content: part.read_from_start()?,
        hash: Sha256::new(),
    };
    let found = {
        let mut unpacked = Hashing {
            content: MultiGzDecoder::new(&mut packed).take(MAX_LAYERS_SIZE),
            hash: Sha256::new(),
        };
        io::copy(&mut unpacked, &mut io::sink())?;
        text(&unpacked.hash.finalize())
    };
    // What follows the last member, too.
    io::copy(&mut packed, &mut io::sink())?;
    if found != diff_id {
        let message = format!("it has the digest {found} unpacked, not {diff_id}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(text(&packed.hash.finalize()))
}

impl Part {
    fn read_from_start(&mut self) -> io::Result<io::Take<&mut File>> {
        self.file.seek(SeekFrom::Start(self.start))?;
        Ok((&mut self.file).take(self.size))
    }
}

/// Reads, and computes the digest of what was read.
struct Hashing<R> {
    content: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.content.read(buffer)?;
        self.hash.update(&buffer[..length]);
        Ok(length)
    }
}
