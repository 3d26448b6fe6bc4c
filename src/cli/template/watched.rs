//! `template --watch`: what the operator renders for a resource, as its entry of watches.yaml says.

use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::Value;
use steersman_chart::{Notice, Rendered, Values};
use steersman_model::{Environment, chain};
use steersman_watches::{Watch, Watches};

use super::Args;
use super::helm;
use crate::cli::Failure;
use crate::cli::diff::read_files;

/// A resource, and the entry that is for it.
pub(super) struct Watched {
    pub(super) watch: Watch,
    /// The release's, which is the resource's.
    pub(super) name: String,
    /// That of the release, where the resource or the entry names one.
    pub(super) namespace: Option<String>,
    pub(super) values: Values,
}

impl Watched {
    /// Reads the entry that the flags name, and the resource.
    pub(super) fn read(arguments: &Args, environment: &Environment) -> Result<Option<Self>, Failure> {
        let Some(kind) = &arguments.watching.watch else {
            return Ok(None);
        };
        if !arguments.name_and_chart.is_empty() {
            return Err(usage("the entry names the chart, and the resource the release"));
        }
        let watches = Watches::load(&arguments.watching.watches_file, environment)?;
        let watch = entry(&watches, kind)?;
        let Some(files) = arguments.values.files_alone() else {
            return Err(usage(
                "values are those of the resource: with --watch there is no --set",
            ));
        };
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let documents = read_files(&files)?;
        let [resource] = documents.as_slice() else {
            let message = format!(
                "-f is to have one {}, and has {} documents",
                watch.gvk.kind,
                documents.len()
            );
            return Err(usage(&message));
        };
        let text = |pointer: &str| resource.pointer(pointer).and_then(Value::as_str);
        if text("/kind") != Some(watch.gvk.kind.as_str())
            || text("/apiVersion") != Some(&watch.gvk.api_version())
        {
            let wanted = format!("a {} in {}", watch.gvk.kind, watch.gvk.api_version());
            return Err(usage(&format!("the resource in -f is not {wanted}")));
        }
        let Some(name) = text("/metadata/name") else {
            return Err(usage("the resource in -f has no name"));
        };
        let from = &watch.values_from;
        if !from.sources.is_empty() || from.from_resources {
            helm::log(&Notice::warning(
                "what other objects have (valuesFrom) is left out: `steersman diff` reads it",
            ));
        }
        let values = watch.values.of(resource);
        Ok(Some(Self {
            values: values.map_err(|error| Failure::usage(error, None))?,
            name: name.to_owned(),
            namespace: text("/metadata/namespace")
                .map(str::to_owned)
                .or(watch.release_namespace.clone()),
            watch: watch.clone(),
        }))
    }
}

/// What was rendered, as the operator takes it.
pub(super) fn as_taken(watch: &Watch, rendered: Rendered, namespace: &str) -> Result<Rendered, Failure> {
    let failed = |error: &(dyn std::error::Error + 'static)| Failure::helm(anyhow!(chain(error)));
    let patched = watch.post_render.apply(rendered, namespace);
    let rendered = patched.map_err(|error| failed(error.as_ref()))?.rendered;
    match watch.order.convention {
        Some(convention) => convention.bare(rendered).map_err(|error| failed(error.as_ref())),
        None => Ok(rendered),
    }
}

/// The entry for a kind, which may be named with its group: `Web` or `Web.example.com`.
fn entry<'a>(watches: &'a Watches, kind: &str) -> Result<&'a Watch, Failure> {
    let is_meant = |watch: &&Watch| {
        let gvk = &watch.gvk;
        kind == gvk.kind || kind == format!("{}.{}", gvk.kind, gvk.group)
    };
    let mut meant = watches.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(watch), None) => Ok(watch),
        (Some(_), Some(_)) => Err(usage(&format!("{kind} is several kinds: name its group, too"))),
        (None, _) => {
            let kinds: Vec<&str> = watches.iter().map(|watch| watch.gvk.kind.as_str()).collect();
            Err(Failure::usage(
                anyhow!("no entry with a chart is for {kind}"),
                Some(format!("there are entries for {}", kinds.join(", "))),
            ))
        }
    }
}

fn usage(message: &str) -> Failure {
    Failure::usage(anyhow!("{message}"), None)
}
