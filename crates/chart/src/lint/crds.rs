//! The rules for `crds/`.

use super::document::{self, Object};
use super::subject::{Entry, Subject};
use super::{Report, Severity};

pub(super) fn lint(subject: &Subject, report: &mut Report) {
    let is_folder = match subject.entry("crds") {
        Entry::Missing => return,
        Entry::File => Err("not a directory"),
        Entry::Folder => Ok(()),
    };
    if !report.check(Severity::Error, "crds/", is_folder) {
        return;
    }
    let chart = match subject.load(&mut report.notices) {
        Ok(chart) => chart,
        Err(error) => {
            report.check(Severity::Error, "crds/", Err(error));
            return;
        }
    };
    for file in chart.crds() {
        // Helm names the file by its path in the chart that has it.
        let path = file.source.rsplit_once("/crds/").map_or_else(
            || {
                file.source
                    .split_once('/')
                    .map_or("", |(_, name)| name)
                    .to_owned()
            },
            |(_, name)| format!("crds/{name}"),
        );
        for object in document::objects(file.text.as_bytes()) {
            let object = match object {
                Ok(object) => object,
                Err(error) => {
                    report.check(Severity::Error, &path, Err(error));
                    return;
                }
            };
            if let Some(object) = object {
                report.check(Severity::Error, &path, check_version(&object));
                report.check(Severity::Error, &path, check_kind(&object));
            }
        }
    }
}

fn check_version(object: &Object) -> Result<(), &'static str> {
    if object.api_version.starts_with("apiextensions.k8s.io") {
        return Ok(());
    }
    Err("apiVersion is not in 'apiextensions.k8s.io'")
}

fn check_kind(object: &Object) -> Result<(), &'static str> {
    if object.kind == "CustomResourceDefinition" {
        return Ok(());
    }
    Err("object kind is not 'CustomResourceDefinition'")
}
