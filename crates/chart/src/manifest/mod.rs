//! Rendered text as Kubernetes objects and hooks.

mod head;
mod hook;
mod sort;
mod split;

pub(crate) use hook::HOOK;
pub use hook::{DeletePolicy, Hook, HookEvent, OutputLogPolicy};
pub use sort::{install_order, uninstall_order};
pub(crate) use split::documents;

use std::collections::BTreeMap;

use steersman_gotemplate::Str;
use steersman_yaml::Node;

use crate::error::{RenderError, RenderErrorKind};
use crate::metadata::decode;
use head::Head;

/// How many documents a chart may render: more than a release can have objects.
const MAX_DOCUMENTS: usize = 50_000;

/// A document takes memory beside its text, so that each counts as at least so many bytes of output.
const LEAST_BYTES: usize = 80;

/// What a chart renders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The objects of the release, in the order in which they are installed.
    pub manifests: Vec<Manifest>,
    /// The hooks, in the order in which Helm lists them; those of one event run by weight.
    pub hooks: Vec<Hook>,
    /// The text of `NOTES.txt` or `NOTES.hbs`; empty without one.
    pub notes: String,
    /// The files in `crds/` of the chart and its enabled subcharts.
    pub crds: Vec<CrdFile>,
    /// What is left out, as in Helm.
    pub skipped_hooks: Vec<SkippedHook>,
}

/// A document that names a hook event which Helm does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedHook {
    /// The template, such as `web/templates/migrate.yaml`.
    pub source: String,
    /// What its annotation `helm.sh/hook` says.
    pub events: String,
}

/// A file of a chart's `crds/` folder, which is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdFile {
    /// Its path, such as `web/crds/crontabs.yaml`.
    pub source: String,
    /// Its text, of one document or more.
    pub text: String,
}

/// One document that a template rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The template, such as `web/templates/service.yaml`.
    pub source: String,
    /// The document's text.
    pub text: String,
    /// Its `apiVersion`; empty where it has none.
    pub api_version: String,
    /// Its `kind`; empty where it has none.
    pub kind: String,
    /// Its `metadata.name`; empty where it has none.
    pub name: String,
}

impl Manifest {
    /// The document as JSON, with integers as integers; `null` for a document of comments only.
    /// A `List` is not taken apart.
    pub fn object(&self) -> serde_json::Value {
        // The text has been read before, or there was no manifest.
        steersman_yaml::to_json(&self.text).unwrap_or_default()
    }
}

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revised {
    /// It stays as it is.
    Same,
    /// This text takes its place.
    Text(String),
    /// It goes.
    Gone,
}

impl Rendered {
    /// Has each document looked at once, hooks included, and puts another text in its place where `revise` gives one. As
    /// with a post-renderer of Helm, what the new text says of hooks counts.
    ///
    /// ```
    /// use steersman_chart::{Manifest, Rendered, RenderError, Revised};
    ///
    /// let manifest = Manifest {
    ///     source: "web/templates/map.yaml".to_owned(),
    ///     text: "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}".to_owned(),
    ///     api_version: "v1".to_owned(),
    ///     kind: "ConfigMap".to_owned(),
    ///     name: "web".to_owned(),
    /// };
    /// let rendered = Rendered { manifests: vec![manifest], ..Rendered::default() };
    /// let renamed = rendered.revised(|manifest| {
    ///     Ok::<_, RenderError>(Revised::Text(manifest.text.replace("web", "shop")))
    /// })?;
    /// assert_eq!(renamed.manifests[0].name, "shop");
    /// # Ok::<(), RenderError>(())
    /// ```
    ///
    /// # Errors
    /// What `revise` fails with, and where a new text is no YAML.
    pub fn revised<E: From<RenderError>>(
        self,
        mut revise: impl FnMut(&Manifest) -> Result<Revised, E>,
    ) -> Result<Self, E> {
        let mut all = Self {
            manifests: Vec::with_capacity(self.manifests.len()),
            hooks: Vec::with_capacity(self.hooks.len()),
            ..self
        };
        for manifest in self.manifests {
            match revise(&manifest)? {
                Revised::Same => all.manifests.push(manifest),
                Revised::Text(text) => all.put_text(&manifest.source, &text)?,
                Revised::Gone => {}
            }
        }
        for hook in self.hooks {
            match revise(&hook.manifest)? {
                Revised::Same => all.hooks.push(hook),
                Revised::Text(text) => all.put_text(&hook.manifest.source, &text)?,
                Revised::Gone => {}
            }
        }
        all.sort();
        Ok(all)
    }

    fn put_text(&mut self, source: &str, text: &str) -> Result<(), RenderError> {
        let (manifest, head) = read(source, text).map_err(|message| invalid(source, &message))?;
        self.put(manifest, &head);
        Ok(())
    }

    /// Adds a document, to the hooks if it says that it is one.
    fn put(&mut self, manifest: Manifest, head: &Head) {
        let Some(events) = head.annotation(hook::HOOK) else {
            self.manifests.push(manifest);
            return;
        };
        let source = manifest.source.clone();
        match Hook::new(manifest, events, head) {
            Some(hook) => self.hooks.push(hook),
            None => self.skipped_hooks.push(SkippedHook {
                source,
                events: events.to_owned(),
            }),
        }
    }

    fn sort(&mut self) {
        self.manifests.sort_by(|a, b| install_order(&a.kind, &b.kind));
        self.hooks
            .sort_by(|a, b| install_order(&a.manifest.kind, &b.manifest.kind));
    }
}

/// Takes the texts of templates apart into manifests and hooks, each sorted by kind. `output_bytes` is what the templates
/// may print.
pub(crate) fn sort_files(
    files: &BTreeMap<String, Str>,
    output_bytes: usize,
) -> Result<Rendered, RenderError> {
    check_number(files, MAX_DOCUMENTS.min(output_bytes / LEAST_BYTES))?;
    let mut rendered = Rendered::default();
    for (source, output) in files {
        let text = output
            .as_str()
            .ok_or_else(|| invalid(source, &not_text(output)))?;
        for document in documents(text) {
            let (manifest, head) = read(source, document).map_err(|message| invalid(source, &message))?;
            rendered.put(manifest, &head);
        }
    }
    rendered.sort();
    Ok(rendered)
}

fn invalid(source: &str, message: &str) -> RenderError {
    let message = format!("YAML parse error on {source}: {message}");
    RenderError::new(RenderErrorKind::Manifest, message)
}

/// Refuses more documents than `allowed`.
fn check_number(files: &BTreeMap<String, Str>, allowed: usize) -> Result<(), RenderError> {
    let texts = files.values().filter_map(|output| output.as_str());
    let number: usize = texts.map(|text| documents(text).count()).sum();
    if number <= allowed {
        return Ok(());
    }
    let message = format!("{number} documents are rendered, and {allowed} are allowed");
    Err(RenderError::new(RenderErrorKind::Budget, message))
}

/// What is wrong with output that is no UTF-8: the message for the first document that cannot be read.
fn not_text(output: &Str) -> String {
    // Each byte becomes a character that is no white space, so that the output can be divided like text.
    const HIGH: u32 = 0xe000;
    let text: String = output
        .as_bytes()
        .iter()
        .filter_map(|byte| match byte {
            0..=0x7f => Some(char::from(*byte)),
            high => char::from_u32(HIGH + u32::from(*high)),
        })
        .collect();
    let errors = documents(&text).filter_map(|document| {
        let bytes: Vec<u8> = document.chars().map(|character| character as u8).collect();
        match std::str::from_utf8(&bytes) {
            Ok(document) => read("", document).err(),
            Err(error) => Some(match steersman_yaml::parse_bytes(&bytes) {
                Err(error) => error.converting(),
                Ok(_) => error.to_string(),
            }),
        }
    });
    errors.take(1).collect()
}

fn read(source: &str, text: &str) -> Result<(Manifest, Head), String> {
    let node: Node = steersman_yaml::parse(text).map_err(|error| error.converting())?;
    let mut head = Head::default();
    decode(&mut head, &node, "SimpleHead")?;
    // Only to see that it can be: trees of all documents take many times as much memory as their texts.
    node.into_json().map_err(|error| error.converting())?;
    let manifest = Manifest {
        source: source.to_owned(),
        text: text.to_owned(),
        api_version: head.api_version.clone(),
        kind: head.kind.clone(),
        name: head.name().to_owned(),
    };
    Ok((manifest, head))
}
