//! Container images of operators, and of their bundles and catalogs, written without a container engine.
//!
//! An image is a few layers, each an archive of files, a configuration, and a manifest that names both by their digests.
//! All of it is decided by what goes in: the same files give the same bytes, on whatever machine, in whatever folder, and
//! whoever builds. File times, owners and the order of folders have no say.
//!
//! ```text
//! binary.rs      what an ELF file runs on, and whether it runs alone
//! tree.rs        what lies where in a layer
//! layer.rs       tree -> archive -> blob
//! image.rs       layers + settings -> configuration -> manifest, for one platform
//! data.rs        an image of files without a program: a bundle, a catalog
//! base/          images that others are built upon: whose layers stay as they are
//! operator.rs    the image of an operator: where the images of helm-operator and ansible-operator have what
//! release.rs     images for several platforms under one name
//! store/         OCI layouts, and archives that `docker load` takes, too
//! ```
//!
//! The formats are those of the OCI image specification 1.1.
//!
//! ```
//! use steersman_image::{Image, Layer, Release, Settings, Tree, write_layout};
//!
//! let mut tree = Tree::default();
//! tree.program("usr/sbin/web", b"#!/bin/sh\n".as_slice())?;
//! tree.file("etc/web.conf", b"port 80\n".as_slice())?;
//! let layer = Layer::new("the web server", &tree, 0)?;
//! let settings = Settings {
//!     entrypoint: vec!["/usr/sbin/web".to_owned()],
//!     ..Settings::default()
//! };
//! let image = Image::new("linux/arm64".parse()?, vec![layer], &settings);
//! let release = Release::new("registry.example.com/web:v1".parse()?, vec![image]);
//!
//! let folder = tempfile::tempdir()?;
//! write_layout(folder.path(), &release)?;
//! assert!(folder.path().join("oci-layout").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base;
mod binary;
mod blob;
mod data;
mod image;
mod layer;
mod operator;
mod platform;
mod reference;
mod release;
mod store;
mod tree;

pub use base::{BaseError, BaseImage, BaseManifest, BaseName, BaseSearch, Found, read_base};
pub use binary::{Binary, BinaryError};
pub use blob::{Blob, BlobError, BlobReader, BlobWriter, Descriptor};
pub use data::DataImage;
pub use image::{Image, Settings};
pub use layer::{Layer, LayerError};
pub use operator::{Home, OperatorError, OperatorImage, PROGRAM};
pub use platform::{Platform, PlatformError};
pub use reference::{Reference, ReferenceError};
pub use release::Release;
pub use store::{StoreError, write_archive, write_layout};
pub use tree::{Tree, TreeError};
