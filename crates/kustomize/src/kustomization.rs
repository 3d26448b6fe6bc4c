//! What a `kustomization.yaml` says.

use crate::error::Error;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The names a kustomization may have; a folder has one of them.
pub(crate) const FILE_NAMES: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Fields of kustomize that are refused, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    (
        "buildMetadata",
        "add the labels and annotations with `labels` and `commonAnnotations`",
    ),
    (
        "crds",
        "name the fields that refer to other objects in a file of `configurations`",
    ),
    ("generators", "write the objects into a file of `resources`"),
    (
        "helmChartInflationGenerator",
        "render the chart with `steersman template` into a file of `resources`",
    ),
    (
        "helmCharts",
        "render the chart with `steersman template` into a file of `resources`",
    ),
    (
        "helmGlobals",
        "render the chart with `steersman template` into a file of `resources`",
    ),
    (
        "openapi",
        "patch lists of custom resources with a JSON patch, which needs no schema",
    ),
    (
        "transformers",
        "use the fields of the kustomization itself, such as `patches` and `labels`",
    ),
    ("validators", "validate the output with a program of its own"),
    ("vars", "use `replacements`"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Kustomization {
    api_version: String,
    kind: String,
    metadata: Option<Value>,
    pub(crate) resources: Vec<String>,
    bases: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) configurations: Vec<String>,
    pub(crate) namespace: String,
    pub(crate) name_prefix: String,
    pub(crate) name_suffix: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) common_labels: BTreeMap<String, String>,
    pub(crate) common_annotations: BTreeMap<String, String>,
    pub(crate) images: Vec<Image>,
    image_tags: Vec<Image>,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) patches_strategic_merge: Vec<String>,
    #[serde(rename = "patchesJson6902")]
    pub(crate) patches_json6902: Vec<Patch>,
    pub(crate) replacements: Vec<ReplacementOrPath>,
    pub(crate) config_map_generator: Vec<Generator>,
    pub(crate) secret_generator: Vec<Generator>,
    pub(crate) generator_options: Option<GeneratorOptions>,
    pub(crate) sort_options: Option<SortOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Label {
    pub(crate) pairs: BTreeMap<String, String>,
    pub(crate) include_selectors: bool,
    pub(crate) include_templates: bool,
    pub(crate) fields: Vec<ConfiguredField>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) new_tag: Value,
    pub(crate) tag_suffix: String,
    pub(crate) digest: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) count: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Patch {
    pub(crate) path: String,
    #[serde(rename = "patch")]
    pub(crate) inline: String,
    pub(crate) target: Option<Target>,
    pub(crate) options: BTreeMap<String, bool>,
}

/// Which objects are meant; what is empty stands for anything.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) label_selector: String,
    pub(crate) annotation_selector: String,
}

/// A replacement, or the file in which it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReplacementOrPath {
    pub(crate) path: String,
    pub(crate) source: Option<Source>,
    pub(crate) targets: Vec<ReplacementTarget>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Source {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) field_path: String,
    pub(crate) options: Option<FieldOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReplacementTarget {
    pub(crate) select: Option<Target>,
    pub(crate) reject: Vec<Target>,
    pub(crate) field_paths: Vec<String>,
    pub(crate) options: Option<FieldOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FieldOptions {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Generator {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) behavior: String,
    pub(crate) literals: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) envs: Vec<String>,
    pub(crate) env: String,
    pub(crate) options: Option<GeneratorOptions>,
    /// The type of a Secret, such as `kubernetes.io/tls`; a `ConfigMap` has none.
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GeneratorOptions {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) disable_name_suffix_hash: bool,
    pub(crate) immutable: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SortOptions {
    pub(crate) order: String,
    pub(crate) legacy_sort_options: Option<LegacySortOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LegacySortOptions {
    pub(crate) order_first: Vec<String>,
    pub(crate) order_last: Vec<String>,
}

/// A field, as `configurations` and `labels` name it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConfiguredField {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) create: bool,
}

/// A file of `configurations`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Configuration {
    pub(crate) name_reference: Vec<ConfiguredReference>,
    pub(crate) namespace: Vec<ConfiguredField>,
    pub(crate) name_prefix: Vec<ConfiguredField>,
    pub(crate) name_suffix: Vec<ConfiguredField>,
    pub(crate) common_labels: Vec<ConfiguredField>,
    pub(crate) template_labels: Vec<ConfiguredField>,
    pub(crate) labels: Vec<ConfiguredField>,
    pub(crate) common_annotations: Vec<ConfiguredField>,
    pub(crate) images: Vec<ConfiguredField>,
    pub(crate) replicas: Vec<ConfiguredField>,
    /// Where variables are replaced; there are none here.
    var_reference: Vec<ConfiguredField>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ConfiguredReference {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) field_specs: Vec<ConfiguredField>,
}

impl Kustomization {
    /// Reads a kustomization.
    ///
    /// # Errors
    ///
    /// The text is not YAML, a field is not known or is refused, or a value has the wrong type.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let value = read(path, text)?;
        if let Value::Object(fields) = &value {
            refuse_fields(path, fields)?;
        }
        let mut kustomization: Self = typed(path, value)?;
        kustomization.check_type(path)?;
        kustomization.resources.append(&mut kustomization.bases);
        kustomization.images.append(&mut kustomization.image_tags);
        for generator in kustomization
            .config_map_generator
            .iter_mut()
            .chain(&mut kustomization.secret_generator)
        {
            if !generator.env.is_empty() {
                generator.envs.push(std::mem::take(&mut generator.env));
            }
        }
        Ok(kustomization)
    }

    pub(crate) fn is_component(&self) -> bool {
        self.kind == "Component"
    }

    fn check_type(&self, path: &Path) -> Result<(), Error> {
        if !matches!(self.kind.as_str(), "" | "Kustomization" | "Component") {
            return Err(Error::field(
                path,
                "kind",
                "has to be `Kustomization` or `Component`",
            ));
        }
        let version = if self.is_component() {
            "kustomize.config.k8s.io/v1alpha1"
        } else {
            "kustomize.config.k8s.io/v1beta1"
        };
        if !self.api_version.is_empty() && self.api_version != version {
            return Err(Error::field(path, "apiVersion", format!("has to be `{version}`")));
        }
        Ok(())
    }
}

/// Reads a file of `configurations`, of `replacements` or a part of another YAML file.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, Error> {
    typed(path, read(path, text)?)
}

fn read(path: &Path, text: &str) -> Result<Value, Error> {
    let value = steersman_yaml::to_json(text).map_err(|source| Error::Yaml {
        path: path.to_owned(),
        source,
    })?;
    Ok(match value {
        Value::Null => Value::Object(Map::new()),
        value => without_nulls(value),
    })
}

fn typed<T: for<'de> Deserialize<'de>>(path: &Path, value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| Error::Object {
        path: path.to_owned(),
        problem: error.to_string(),
    })
}

/// A field without a value says as much as one that is missing.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

fn refuse_fields(path: &Path, fields: &Map<String, Value>) -> Result<(), Error> {
    for (field, hint) in REFUSED {
        let is_empty = fields.get(*field).is_none_or(|value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        });
        if !is_empty {
            return Err(Error::field_with_hint(path, field, "is not supported", hint));
        }
    }
    Ok(())
}
