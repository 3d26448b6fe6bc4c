//! Catalogs, and what `opm`'s own library says about them.

use std::fs;

use serde_json::{Value, json};
use steersman_project::bundle::catalog::{Catalog, CatalogBundle, CatalogError, CatalogOptions};
use steersman_project::bundle::{Replaces, Request};
use steersman_testkit::bundle_judge::BundleJudge;
use tempfile::TempDir;

use crate::judged::{files_of, write};
use crate::{bundle_of, objects, request};

const IMAGE: &str = "registry.example.com/cache-operator-bundle";

/// A version that says what it replaces and skips.
fn version(version: &str, replaces: Option<&str>, skips: &[&str]) -> CatalogBundle {
    let request = Request {
        version: Some(version.to_owned()),
        replaces: replaces.map_or(Replaces::Nothing, |name| Replaces::Named(name.to_owned())),
        skips: skips
            .iter()
            .map(|name| format!("cache-operator.v{name}"))
            .collect(),
        ..request()
    };
    CatalogBundle {
        files: files_of(&bundle_of(objects(), &request)),
        image: format!("{IMAGE}:v{version}"),
    }
}

fn catalog_of(bundles: &[CatalogBundle], options: &CatalogOptions) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::default();
    catalog.add(bundles, options).map(|()| catalog)
}

fn objects_of(catalog: &Catalog, schema: &str) -> Vec<Value> {
    let nodes = steersman_yaml::parse_documents(&catalog.to_yaml()).unwrap();
    let objects = nodes.into_iter().map(|node| node.into_json().unwrap());
    objects.filter(|object| object["schema"] == schema).collect()
}

/// The entries of a channel.
fn entries(catalog: &Catalog, channel: &str) -> Value {
    let channels = objects_of(catalog, "olm.channel");
    channels.iter().find(|object| object["name"] == channel).unwrap()["entries"].clone()
}

/// The newest bundle of the channel `stable`, by opm, or why opm refuses the catalog.
fn judged(catalog: &Catalog) -> Option<Result<String, String>> {
    let judge = BundleJudge::find_or_skip()?;
    let temporary = TempDir::new().unwrap();
    fs::write(temporary.path().join("catalog.yaml"), catalog.to_yaml()).unwrap();
    let verdict = judge.catalog(temporary.path());
    Some(if verdict.error.is_empty() {
        Ok(verdict.heads["cache-operator/stable"].clone())
    } else {
        Err(verdict.error)
    })
}

fn accepted(catalog: &Catalog, head: &str) {
    if let Some(verdict) = judged(catalog) {
        assert_eq!(verdict, Ok(head.to_owned()));
    }
}

#[test]
fn a_catalog_is_what_opm_reads() {
    let catalog = catalog_of(&[version("0.0.1", None, &[])], &CatalogOptions::default()).unwrap();
    accepted(&catalog, "cache-operator.v0.0.1");
    let package = &objects_of(&catalog, "olm.package")[0];
    assert_eq!(package["name"], "cache-operator");
    assert_eq!(package["defaultChannel"], "stable");
    assert_eq!(package["description"], "Caches");
    assert_eq!(
        entries(&catalog, "stable"),
        json!([{"name": "cache-operator.v0.0.1"}])
    );
}

#[test]
fn properties_are_those_that_opm_takes_from_a_bundle() {
    let Some(judge) = BundleJudge::find_or_skip() else {
        return;
    };
    let mut bundle = version("0.0.1", None, &[]);
    bundle.files.insert(
        "metadata/dependencies.yaml".to_owned(),
        "dependencies:\n- type: olm.package\n  value: {packageName: other, version: '>=1.0.0'}\n\
         - type: olm.gvk\n  value: {group: x.example.com, kind: X, version: v1}\n"
            .to_owned(),
    );
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("bundle");
    write(&bundle.files, &folder);
    let catalog = catalog_of(&[bundle], &CatalogOptions::default()).unwrap();
    let ours = objects_of(&catalog, "olm.bundle").remove(0);
    let theirs = judge.properties(&folder, &format!("{IMAGE}:v0.0.1"));

    // Whole objects are what consoles of old needed; `olm.csv.metadata` stands for them, as `opm migrate` writes it.
    let sorted = |properties: &[Value]| -> Vec<String> {
        let others = properties
            .iter()
            .filter(|property| property["type"] != "olm.bundle.object");
        let mut texts: Vec<String> = others.map(ToString::to_string).collect();
        texts.sort();
        texts
    };
    assert_eq!(
        sorted(ours["properties"].as_array().unwrap()),
        sorted(&theirs.properties)
    );
    let images: Vec<&str> = ours["relatedImages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|image| image["image"].as_str().unwrap())
        .collect();
    assert_eq!(images, theirs.images);
}

#[test]
fn a_second_version_comes_after_the_first() {
    let first = catalog_of(&[version("0.0.1", None, &[])], &CatalogOptions::default()).unwrap();
    let nodes = steersman_yaml::parse_documents(&first.to_yaml()).unwrap();
    let mut catalog = Catalog::read(nodes.into_iter().map(|node| node.into_json().unwrap()));
    assert_eq!(
        catalog.to_yaml(),
        first.to_yaml(),
        "reading and writing changes nothing"
    );
    catalog
        .add(
            &[version("0.0.2", Some("0.0.1"), &[])],
            &CatalogOptions::default(),
        )
        .unwrap();
    accepted(&catalog, "cache-operator.v0.0.2");
    assert_eq!(
        entries(&catalog, "stable"),
        json!([
            {"name": "cache-operator.v0.0.1"},
            {"name": "cache-operator.v0.0.2", "replaces": "cache-operator.v0.0.1"},
        ])
    );
    let again = catalog.clone();
    catalog
        .add(
            &[version("0.0.2", Some("0.0.1"), &[])],
            &CatalogOptions::default(),
        )
        .unwrap();
    assert_eq!(catalog, again, "the same version again changes nothing");
}

#[test]
fn versions_without_an_edge_form_a_chain() {
    let bundles = [
        version("0.0.10", None, &[]),
        version("0.0.1", None, &[]),
        version("0.0.2", None, &[]),
    ];
    let catalog = catalog_of(&bundles, &CatalogOptions::default()).unwrap();
    accepted(&catalog, "cache-operator.v0.0.10");
    assert_eq!(
        entries(&catalog, "stable")[2]["replaces"],
        "cache-operator.v0.0.2"
    );
}

#[test]
fn versions_can_be_skipped() {
    let bundles = [
        version("0.0.1", None, &[]),
        version("0.0.2", Some("0.0.1"), &[]),
        version("0.0.3", Some("0.0.1"), &["0.0.2"]),
    ];
    let catalog = catalog_of(&bundles, &CatalogOptions::default()).unwrap();
    accepted(&catalog, "cache-operator.v0.0.3");
    assert_eq!(
        entries(&catalog, "stable")[2]["skips"],
        json!(["cache-operator.v0.0.2"])
    );
}

#[test]
fn a_graph_that_opm_refuses_is_refused_here() {
    let refuse = |bundles: &[CatalogBundle]| {
        let mut catalog = Catalog::default();
        let error = catalog
            .add(bundles, &CatalogOptions::default())
            .unwrap_err()
            .to_string();
        (error, catalog)
    };
    let (heads, catalog) = refuse(&[
        version("0.0.1", None, &[]),
        version("0.0.2", Some("0.0.1"), &[]),
        version("0.0.3", Some("0.0.1"), &[]),
    ]);
    assert_eq!(
        heads,
        "channel stable: cache-operator.v0.0.2, cache-operator.v0.0.3 are all the newest: nothing replaces or skips them"
    );
    // The package is the last thing that is written, so opm is asked about the channels alone.
    assert_eq!(objects_of(&catalog, "olm.package"), [Value::Null; 0]);
    let (cycle, _) = refuse(&[
        version("0.0.1", Some("0.0.2"), &[]),
        version("0.0.2", Some("0.0.1"), &[]),
    ]);
    assert!(cycle.contains("every bundle is replaced"), "{cycle}");
}

#[test]
fn channels_can_be_chosen() {
    let options = CatalogOptions {
        channels: vec!["fast".to_owned(), "stable".to_owned()],
        default_channel: Some("fast".to_owned()),
    };
    let catalog = catalog_of(&[version("0.0.1", None, &[])], &options).unwrap();
    accepted(&catalog, "cache-operator.v0.0.1");
    assert_eq!(catalog.channels().collect::<Vec<_>>(), ["fast", "stable"]);
    assert_eq!(objects_of(&catalog, "olm.package")[0]["defaultChannel"], "fast");
    let unknown = CatalogOptions {
        default_channel: Some("slow".to_owned()),
        ..options
    };
    assert_eq!(
        catalog_of(&[version("0.0.1", None, &[])], &unknown)
            .unwrap_err()
            .to_string(),
        "`slow` is none of the channels fast, stable"
    );
}

#[test]
fn what_is_no_bundle_is_not_taken() {
    let mut nameless = version("0.0.1", None, &[]);
    nameless.files.remove("metadata/annotations.yaml");
    let mut hostile = version("0.0.1", None, &[]);
    let annotations = hostile.files.get_mut("metadata/annotations.yaml").unwrap();
    *annotations = annotations.replace("cache-operator", "../cache");
    let imageless = CatalogBundle {
        image: String::new(),
        ..version("0.0.1", None, &[])
    };
    let other = CatalogBundle {
        files: version("0.0.2", None, &[])
            .files
            .into_iter()
            .map(|(path, text)| {
                (
                    path,
                    text.replace("bundle.package.v1: cache-operator", "bundle.package.v1: other"),
                )
            })
            .collect(),
        image: IMAGE.to_owned(),
    };
    let refuse = |bundles: &[CatalogBundle]| {
        catalog_of(bundles, &CatalogOptions::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refuse(&[]), "there are no bundles");
    assert_eq!(
        refuse(&[nameless]),
        format!("bundle {IMAGE}:v0.0.1 has no annotations")
    );
    assert_eq!(refuse(&[imageless]), "bundle cache-operator.v0.0.1 has no image");
    assert_eq!(
        refuse(&[version("0.0.1", None, &[]), other]),
        "bundle cache-operator.v0.0.1 is of package `cache-operator`, and the catalog of `other`"
    );
    assert!(
        hostile
            .package()
            .unwrap_err()
            .to_string()
            .starts_with("`../cache` is no name of a package")
    );
}
