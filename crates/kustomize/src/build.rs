//! A kustomization from its files to its objects, in the order in which kustomize does things.

use crate::error::Error;
use crate::field::FieldSpec;
use crate::files::{self, Files};
use crate::generate::{self, Kind};
use crate::kustomization::{self, Configuration, ConfiguredField, Kustomization, Label};
use crate::references::{self, Reference};
use crate::resource::Resources;
use crate::transform::{self, Affix};
use crate::{defaults, names, order, patch, replacement};
use serde_json::Value;
use std::path::Path;

/// The objects of a folder and of those that it names.
#[derive(Debug, Default)]
struct Accumulated {
    resources: Resources,
    /// References that configurations have added.
    references: Vec<Reference>,
}

/// The objects of a kustomization that no other one names; what it names is built on the way.
pub(crate) fn build(project: &Path, folder: &Path) -> Result<Vec<Value>, Error> {
    let files = Files::open(project, folder)?;
    let kustomization = Kustomization::parse(files.kustomization(), &files.kustomization_text()?)?;
    if kustomization.is_component() {
        return Err(Error::field(
            files.kustomization(),
            "kind",
            "a component cannot be built on its own",
        ));
    }
    let mut all = Accumulated::default();
    accumulate(&files, &kustomization, &mut all)?;

    generate::add_hashes(&mut all.resources);
    let mut references = references::defaults();
    references.append(&mut all.references);
    names::fix(&mut all.resources, &references)
        .map_err(|problem| Error::object(files.kustomization(), problem))?;
    all.resources.0.retain(|resource| {
        let local = resource.pairs("annotations");
        local
            .iter()
            .all(|(key, value)| key != "config.kubernetes.io/local-config" || value == "false")
    });
    order::sort(&mut all.resources, kustomization.sort_options.as_ref())
        .map_err(|problem| Error::field(files.kustomization(), "sortOptions", problem))?;
    Ok(all
        .resources
        .0
        .into_iter()
        .map(|mut resource| {
            transform::tidy_annotations(&mut resource);
            Value::Object(resource.object)
        })
        .collect())
}

/// Adds what a kustomization names and makes, and changes all of it as it says.
fn accumulate(files: &Files, kustomization: &Kustomization, all: &mut Accumulated) -> Result<(), Error> {
    for entry in &kustomization.resources {
        add_entry(files, entry, all)?;
    }
    let mut configuration = Configuration::default();
    for entry in &kustomization.configurations {
        let (origin, text) = files.read("configurations", entry)?;
        extend(&mut configuration, kustomization::parse(&origin, &text)?);
    }
    all.references.extend(references_of(&mut configuration));
    for (kind, generators) in [
        (Kind::ConfigMap, &kustomization.config_map_generator),
        (Kind::Secret, &kustomization.secret_generator),
    ] {
        for generator in generators {
            let made = generate::generate(files, kind, generator, kustomization.generator_options.as_ref())?;
            all.resources
                .absorb(made)
                .map_err(|problem| Error::object(files.kustomization(), problem))?;
        }
    }
    for entry in &kustomization.components {
        files.refuse_remote("components", entry)?;
        let inner = files.enter("components", entry)?;
        let component = Kustomization::parse(inner.kustomization(), &inner.kustomization_text()?)?;
        if !component.is_component() {
            return Err(Error::field(
                inner.kustomization(),
                "kind",
                "has to be `Component` here",
            ));
        }
        accumulate(&inner, &component, all)?;
    }
    transform_all(files, kustomization, &configuration, &mut all.resources)
}

fn add_entry(files: &Files, entry: &str, all: &mut Accumulated) -> Result<(), Error> {
    const FIELD: &str = "resources";
    files.refuse_remote(FIELD, entry)?;
    let fail = |problem: String| Error::field(files.kustomization(), FIELD, problem);
    if !files.is_folder(entry) {
        let (origin, text) = files.read(FIELD, entry)?;
        for resource in files::parse_resources(&origin, &text)? {
            all.resources.append(resource).map_err(fail)?;
        }
        return Ok(());
    }
    let inner = files.enter(FIELD, entry)?;
    let kustomization = Kustomization::parse(inner.kustomization(), &inner.kustomization_text()?)?;
    if kustomization.is_component() {
        return Err(fail(format!(
            "`{entry}` is a component: name it under `components`"
        )));
    }
    let mut sub = Accumulated::default();
    accumulate(&inner, &kustomization, &mut sub)?;
    for resource in sub.resources.0 {
        all.resources.append(resource).map_err(fail)?;
    }
    all.references.append(&mut sub.references);
    Ok(())
}

fn transform_all(
    files: &Files,
    kustomization: &Kustomization,
    configuration: &Configuration,
    resources: &mut Resources,
) -> Result<(), Error> {
    let fail =
        |field: &'static str| move |problem: String| Error::field(files.kustomization(), field, problem);
    patch::apply_all(files, kustomization, resources)?;
    if !kustomization.namespace.is_empty() {
        let fields = with(defaults::namespaces(), &configuration.namespace);
        transform::set_namespace(resources, &kustomization.namespace, &fields).map_err(fail("namespace"))?;
    }
    let name = || vec![FieldSpec::new("", "", "", "metadata/name", false)];
    if !kustomization.name_prefix.is_empty() {
        let fields = with(name(), &configuration.name_prefix);
        transform::add_affix(resources, Affix::Prefix, &kustomization.name_prefix, &fields)
            .map_err(fail("namePrefix"))?;
    }
    if !kustomization.name_suffix.is_empty() {
        let fields = with(name(), &configuration.name_suffix);
        transform::add_affix(resources, Affix::Suffix, &kustomization.name_suffix, &fields)
            .map_err(fail("nameSuffix"))?;
    }
    for label in &kustomization.labels {
        let fields = label_fields(label, configuration);
        transform::add_pairs(resources, &label.pairs, &fields).map_err(fail("labels"))?;
    }
    let fields = with(defaults::common_labels(), &configuration.common_labels);
    transform::add_pairs(resources, &kustomization.common_labels, &fields).map_err(fail("commonLabels"))?;
    let fields = with(defaults::common_annotations(), &configuration.common_annotations);
    transform::add_pairs(resources, &kustomization.common_annotations, &fields)
        .map_err(fail("commonAnnotations"))?;
    patch::apply_json6902(files, kustomization, resources)?;
    let fields = with(defaults::replicas(), &configuration.replicas);
    for replica in &kustomization.replicas {
        transform::set_replicas(resources, replica, &fields).map_err(fail("replicas"))?;
    }
    let fields = with(defaults::images(), &configuration.images);
    for image in &kustomization.images {
        transform::set_image(resources, image, &fields).map_err(fail("images"))?;
    }
    replacement::apply_all(files, &kustomization.replacements, resources)
}

fn label_fields(label: &Label, configuration: &Configuration) -> Vec<FieldSpec> {
    let mut fields = with(with(Vec::new(), &label.fields), &configuration.labels);
    if label.include_selectors {
        add(&mut fields, defaults::common_labels());
        return with(fields, &configuration.common_labels);
    }
    if label.include_templates {
        add(&mut fields, defaults::metadata_labels());
        fields = with(fields, &configuration.template_labels);
    }
    add(
        &mut fields,
        vec![FieldSpec::new("", "", "", "metadata/labels", true)],
    );
    fields
}

fn add(fields: &mut Vec<FieldSpec>, more: Vec<FieldSpec>) {
    for field in more {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
}

fn with(mut fields: Vec<FieldSpec>, configured: &[ConfiguredField]) -> Vec<FieldSpec> {
    let more = configured.iter().map(spec).collect();
    add(&mut fields, more);
    fields
}

fn spec(field: &ConfiguredField) -> FieldSpec {
    FieldSpec::new(
        &field.group,
        &field.version,
        &field.kind,
        &field.path,
        field.create,
    )
}

fn references_of(configuration: &mut Configuration) -> Vec<Reference> {
    std::mem::take(&mut configuration.name_reference)
        .iter()
        .map(|reference| Reference {
            referral: FieldSpec::new(&reference.group, &reference.version, &reference.kind, "", false).gvk,
            fields: reference.field_specs.iter().map(spec).collect(),
        })
        .collect()
}

fn extend(configuration: &mut Configuration, more: Configuration) {
    configuration.name_reference.extend(more.name_reference);
    configuration.namespace.extend(more.namespace);
    configuration.name_prefix.extend(more.name_prefix);
    configuration.name_suffix.extend(more.name_suffix);
    configuration.common_labels.extend(more.common_labels);
    configuration.template_labels.extend(more.template_labels);
    configuration.labels.extend(more.labels);
    configuration.common_annotations.extend(more.common_annotations);
    configuration.images.extend(more.images);
    configuration.replicas.extend(more.replicas);
}
