//! Definitions of the charts of this repository.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use steersman_chart::Chart;
use steersman_project::CustomKind;
use steersman_project::definition::{Definition, Options};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_has_the_definition_of_its_chart() {
    let chart = Chart::load(&root().join("helm-charts/visitors")).unwrap();
    let kind = CustomKind::new("example.com", "v1alpha1", "VisitorsSite");
    let definition = Definition::of(&kind, &chart, &Options::default()).unwrap();
    assert_eq!(definition.notices(), []);
    expect_file!["../../../deploy/crds/visitorssites.example.com.yaml"].assert_eq(&definition.to_yaml());
}
