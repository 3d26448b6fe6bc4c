//! File-based catalogs: what `opm` serves to OLM.
//!
//! A catalog is a list of objects with a `schema`: one `olm.package`, an `olm.channel` for each channel with the graph of
//! upgrades, and an `olm.bundle` for each version. The format is defined by
//! [operator-registry](https://olm.operatorframework.io/docs/reference/file-based-catalogs/).

mod bundle;
mod channel;

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};

use super::validate::BundleFiles;
use super::value::text;
use super::{is_package_name, to_yaml};
use bundle::Entry;

/// What a catalog tells OLM of one version of an operator: the bundle's content, and where to pull it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogBundle {
    /// Its files, by their paths inside of the bundle.
    pub files: BundleFiles,
    /// The reference of its image.
    pub image: String,
}

impl CatalogBundle {
    /// The package that the bundle says it is of.
    ///
    /// # Errors
    ///
    /// It says none, or one whose name no catalog takes: a label of DNS.
    pub fn package(&self) -> Result<String, CatalogError> {
        let package = Entry::read(self)?.package;
        if is_package_name(&package) {
            return Ok(package);
        }
        Err(CatalogError::Package { name: package })
    }
}

/// What a catalog is to be, besides its bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogOptions {
    /// The channels of the bundles, instead of those that they name.
    pub channels: Vec<String>,
    /// The channel that is taken by default, instead of the one that is so already.
    pub default_channel: Option<String>,
}

/// Why a catalog can't be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogError {
    /// There is nothing to put into it.
    #[error("there are no bundles")]
    Empty,
    /// A bundle lacks what every bundle has.
    #[error("bundle {bundle} has no {what}")]
    Incomplete {
        /// Its name, or its image.
        bundle: String,
        /// What it lacks.
        what: &'static str,
    },
    /// A package whose name no catalog takes.
    #[error("`{name}` is no name of a package: at most 63 lower-case letters, digits and `-`")]
    Package {
        /// The refused text, in full.
        name: String,
    },
    /// A bundle is of another package than the others.
    #[error("bundle {bundle} is of package `{found}`, and the catalog of `{expect}`")]
    OtherPackage {
        /// Its name.
        bundle: String,
        /// As `metadata/annotations.yaml` of the bundle has it.
        found: String,
        /// That of the catalog, or else of the newest bundle: there is one for all.
        expect: String,
    },
    /// No chain of upgrades leads through a channel.
    #[error("channel {channel}: {reason}")]
    Graph {
        /// The channel's name.
        channel: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The default is none of the channels.
    #[error("`{channel}` is none of the channels {known}")]
    DefaultChannel {
        /// What was asked for as the default.
        channel: String,
        /// The channels, separated by commas.
        known: String,
    },
}

/// A file-based catalog of one package.
///
/// ```
/// use serde_json::json;
/// use steersman_project::bundle::catalog::Catalog;
///
/// let channel = json!({"schema": "olm.channel", "package": "web-operator", "name": "stable", "entries": []});
/// let catalog = Catalog::read([json!({"schema": "olm.package", "name": "web-operator"}), channel]);
/// assert_eq!(catalog.channels().collect::<Vec<_>>(), ["stable"]);
/// assert!(catalog.to_yaml().starts_with("---\nname: web-operator\n"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    package: Option<Value>,
    channels: BTreeMap<String, Vec<Value>>,
    bundles: BTreeMap<String, Value>,
    /// What is none of these, such as deprecations.
    others: Vec<Value>,
}

impl Catalog {
    /// Sorts the objects of a catalog that exists already.
    pub fn read(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut catalog = Self::default();
        for object in objects {
            let name = text(&object, "/name").to_owned();
            match text(&object, "/schema") {
                "olm.package" => catalog.package = Some(object),
                "olm.bundle" => {
                    catalog.bundles.insert(name, object);
                }
                "olm.channel" => {
                    let entries = object.get("entries").and_then(Value::as_array);
                    catalog
                        .channels
                        .insert(name, entries.cloned().unwrap_or_default());
                }
                _ => catalog.others.push(object),
            }
        }
        catalog
    }

    /// Adds bundles, oldest first. One of the same name takes the place of the one before. Where a bundle does not say what
    /// it replaces, it comes after the newest one of its channel that is older.
    ///
    /// # Errors
    ///
    /// A bundle is incomplete or of another package, or no chain of upgrades leads through a channel: see [`CatalogError`].
    pub fn add(&mut self, bundles: &[CatalogBundle], options: &CatalogOptions) -> Result<(), CatalogError> {
        let mut entries: Vec<Entry> = bundles.iter().map(Entry::read).collect::<Result<_, _>>()?;
        entries.sort_by(|a, b| a.version.cmp(&b.version));
        let Some(newest) = entries.last() else {
            return Err(CatalogError::Empty);
        };
        let package = match &self.package {
            Some(package) => text(package, "/name").to_owned(),
            None => newest.package.clone(),
        };
        for entry in &entries {
            if entry.package != package {
                return Err(CatalogError::OtherPackage {
                    bundle: entry.name.clone(),
                    found: entry.package.clone(),
                    expect: package,
                });
            }
            self.add_one(entry, options)?;
        }
        for (name, entries) in &self.channels {
            channel::check(entries).map_err(|reason| CatalogError::Graph {
                channel: name.clone(),
                reason,
            })?;
        }
        self.set_package(newest, options)
    }

    /// One document for the package and for each channel and bundle, as `opm` reads them: a file-based catalog.
    pub fn to_yaml(&self) -> String {
        let package = self
            .package
            .as_ref()
            .map(|package| text(package, "/name"))
            .unwrap_or_default();
        let channels = self.channels.iter().map(|(name, entries)| {
            json!({"schema": "olm.channel", "package": package, "name": name, "entries": entries})
        });
        let mut bundles: Vec<&Value> = self.bundles.values().collect();
        bundles.sort_by_key(|bundle| bundle::version_of(bundle));
        let objects = self.package.iter().cloned();
        let objects = objects.chain(channels).chain(bundles.into_iter().cloned());
        let mut text = String::new();
        for object in objects.chain(self.others.iter().cloned()) {
            text.push_str("---\n");
            text.push_str(&to_yaml(&object));
        }
        text
    }

    /// The names of the channels.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.channels.keys().map(String::as_str)
    }

    fn add_one(&mut self, entry: &Entry, options: &CatalogOptions) -> Result<(), CatalogError> {
        let channels = if options.channels.is_empty() {
            &entry.channels
        } else {
            &options.channels
        };
        if channels.is_empty() {
            return Err(CatalogError::Incomplete {
                bundle: entry.name.clone(),
                what: "channel",
            });
        }
        self.bundles.insert(entry.name.clone(), entry.bundle.clone());
        let versions: BTreeMap<&str, Version> = self
            .bundles
            .iter()
            .filter_map(|(name, bundle)| Some((name.as_str(), bundle::version_of(bundle)?)))
            .collect();
        for name in channels {
            let entries = self.channels.entry(name.clone()).or_default();
            channel::put(entries, entry, &versions);
        }
        Ok(())
    }

    fn set_package(&mut self, newest: &Entry, options: &CatalogOptions) -> Result<(), CatalogError> {
        let before = self
            .package
            .as_ref()
            .map(|package| text(package, "/defaultChannel"));
        let default = options
            .default_channel
            .as_deref()
            .or(before.filter(|name| !name.is_empty()))
            .or(newest
                .default_channel
                .as_deref()
                .filter(|name| self.channels.contains_key(*name)))
            .or(self.channels.keys().next().map(String::as_str))
            .unwrap_or_default()
            .to_owned();
        if !self.channels.contains_key(&default) {
            let known: Vec<&str> = self.channels().collect();
            return Err(CatalogError::DefaultChannel {
                channel: default,
                known: known.join(", "),
            });
        }
        let mut package = json!({
            "schema": "olm.package",
            "name": newest.package,
            "defaultChannel": default,
        });
        if !newest.description.is_empty() {
            package["description"] = newest.description.as_str().into();
        }
        if let Some(icon) = &newest.icon {
            package["icon"] = icon.clone();
        }
        self.package = Some(package);
        Ok(())
    }
}

/// Where a catalog is in its image, without the first slash and with one at the end.
pub const CATALOG_FOLDER: &str = "configs/";

/// The labels of a catalog's image: where OLM finds the catalog in it.
pub fn catalog_labels() -> BTreeMap<String, String> {
    let place = "/configs".to_owned();
    BTreeMap::from([(
        "operators.operatorframework.io.index.configs.v1".to_owned(),
        place,
    )])
}

/// The text of the `Dockerfile` of a catalog's image, with the folder of the catalog seen from where it is built.
pub fn catalog_dockerfile(folder: &str) -> String {
    format!(
        "\
# The image must have /bin/opm, which serves the catalog and fills its cache.
FROM quay.io/operator-framework/opm:latest AS builder
ADD {folder} /configs
RUN [\"/bin/opm\", \"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-only\"]

FROM quay.io/operator-framework/opm:latest
ENTRYPOINT [\"/bin/opm\"]
CMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\"]
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Where OLM finds the catalog in the image.
LABEL operators.operatorframework.io.index.configs.v1=/configs
"
    )
}
