//! What `helm template` does, without its command line: from a release name, a chart and values
//! to text.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use regex::Regex;
use steersman_gotemplate::{Limits, MissingKey, Options, TemplateSet, Value, World};

use crate::capabilities::{Capabilities, KubeVersion};
use crate::chart::Chart;
use crate::error::{LoadError, RenderError};
use crate::functions;
use crate::input::RenderInput;
use crate::load::wildcard_matches;
use crate::manifest::{HookEvent, Rendered, documents};
use crate::release::{self, Operation, ReleaseInfo};
use crate::values::{self, Values, set};

/// Reads a file that the user names; the error is a text for the user.
pub type FileReader<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Where the user's values come from, in the order in which they override each other.
///
/// ```
/// use steersman_chart::template::ValueSources;
///
/// let sources = ValueSources {
///     files: vec!["values-prod.yaml".to_owned()],
///     typed: vec!["replicas=5".to_owned()],
///     ..ValueSources::default()
/// };
/// let values = sources.merge(&|_| Ok(b"replicas: 3\nimage: web:1.27".to_vec()))?;
/// assert_eq!(values["replicas"], 5);
/// assert_eq!(values["image"], "web:1.27");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ValueSources {
    /// `--values`: files, later ones override earlier ones.
    pub files: Vec<String>,
    /// `--set-json`: `KEY=JSON`, or an object.
    pub json: Vec<String>,
    /// `--set`: `KEY=VALUE,…`; integers, `true`, `false` and `null` become what they look like.
    pub typed: Vec<String>,
    /// `--set-string`: as `--set`, but every value stays text.
    pub text: Vec<String>,
    /// `--set-file`: `KEY=PATH,…`; the value is the content of the file.
    pub from_files: Vec<String>,
    /// `--set-literal`: `KEY=VALUE`; no comma or backslash in it means anything.
    pub literal: Vec<String>,
}

/// What is to be rendered.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct TemplateRequest {
    /// The name of the release.
    pub release: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The chart's directory or archive.
    pub chart: PathBuf,
    /// The user's values.
    pub values: ValueSources,
    /// `--kube-version`, such as `v1.33.0`; without it Helm's default.
    pub kube_version: Option<String>,
    /// `--api-versions`, in addition to those that Helm knows.
    pub api_versions: Vec<String>,
    /// `--is-upgrade`: templates see `.Release.IsUpgrade`, not `.Release.IsInstall`.
    pub is_upgrade: bool,
    /// `--include-crds`: the files of `crds/` come first.
    pub include_crds: bool,
    /// `--no-hooks`: objects with `helm.sh/hook` are left out.
    pub no_hooks: bool,
    /// `--skip-tests`: hooks for `helm test` are left out.
    pub skip_tests: bool,
    /// `--skip-schema-validation`: no `values.schema.json` is looked at.
    pub skip_schema_validation: bool,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A flag or value cannot be used; the text is Helm's.
    #[error("{0}")]
    Input(String),
    /// The chart cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The chart cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// A document and the file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The path of the file, such as `web/templates/service.yaml`.
    pub source: String,
    /// YAML without the `---` before it.
    pub text: String,
}

/// What was rendered, in the order in which it is shown.
///
/// ```
/// use steersman_chart::template::{Document, TemplateOutput};
///
/// let service = Document {
///     source: "web/templates/service.yaml".to_owned(),
///     text: "kind: Service".to_owned(),
/// };
/// let output = TemplateOutput { documents: vec![service], ..TemplateOutput::default() };
/// assert_eq!(output.text(), "---\n# Source: web/templates/service.yaml\nkind: Service\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateOutput {
    /// The files of `crds/`, if wanted.
    pub crds: Vec<Document>,
    /// The objects of the release.
    pub documents: Vec<Document>,
    /// Hooks, if wanted.
    pub hooks: Vec<Document>,
}

impl ValueSources {
    /// The values of all sources together.
    ///
    /// # Errors
    /// A file cannot be read or a text cannot be understood; the message is Helm's.
    pub fn merge(&self, read: &FileReader<'_>) -> Result<Values, String> {
        let mut merged = Values::new();
        for file in &self.files {
            let values =
                values::read(&read(file)?).map_err(|error| format!("failed to parse {file}: {error}"))?;
            values::overlay(&mut merged, values);
        }
        for text in &self.json {
            set::set_json(&mut merged, text).map_err(|_| {
                let form = if text.trim().starts_with('{') {
                    " JSON:"
                } else {
                    ""
                };
                format!("failed parsing --set-json data{form} {text}")
            })?;
        }
        for text in &self.typed {
            set::set(&mut merged, text).map_err(failed_parsing("--set"))?;
        }
        for text in &self.text {
            set::set_string(&mut merged, text).map_err(failed_parsing("--set-string"))?;
        }
        let read_text = |file: &str| read(file).map(|content| String::from_utf8_lossy(&content).into_owned());
        for text in &self.from_files {
            set::set_file(&mut merged, text, &read_text).map_err(failed_parsing("--set-file"))?;
        }
        for text in &self.literal {
            set::set_literal(&mut merged, text).map_err(failed_parsing("--set-literal"))?;
        }
        Ok(merged)
    }
}

fn failed_parsing(flag: &'static str) -> impl Fn(String) -> String {
    move |message| format!("failed parsing {flag} data: {message}")
}

/// Renders what is asked for, as `helm template` does without a cluster.
///
/// # Errors
/// See [`TemplateError`]; the texts are Helm's.
pub fn template(
    request: &TemplateRequest,
    read: &FileReader<'_>,
    world: &dyn World,
    limits: Limits,
) -> Result<TemplateOutput, TemplateError> {
    let capabilities = capabilities(request)?;
    let values = request.values.merge(read).map_err(TemplateError::Input)?;
    let chart = Chart::load(&request.chart)?;
    check_type(&chart)?;
    check_dependencies(&chart)?;
    check_name(&request.release)?;
    let release = ReleaseInfo {
        name: request.release.clone(),
        namespace: request.namespace.clone(),
        revision: 1,
        operation: if request.is_upgrade {
            Operation::Upgrade
        } else {
            Operation::Install
        },
    };
    let rendered = chart.render(&RenderInput {
        release: &release,
        values: &values,
        capabilities: &capabilities,
        world,
        limits,
        expired: None,
        skip_schema_validation: request.skip_schema_validation,
        subchart_notes: false,
    })?;
    let selection = Selection {
        include_crds: request.include_crds,
        no_hooks: request.no_hooks,
        skip_tests: request.skip_tests,
    };
    Ok(selection.of(rendered))
}

fn capabilities(request: &TemplateRequest) -> Result<Capabilities, TemplateError> {
    let mut capabilities = Capabilities::default();
    if let Some(version) = &request.kube_version {
        capabilities.kube_version = KubeVersion::parse(version)
            .map_err(|error| TemplateError::Input(format!("invalid kube version '{version}': {error}")))?;
    }
    capabilities
        .api_versions
        .0
        .extend(request.api_versions.iter().cloned());
    Ok(capabilities)
}

/// Whether the chart is one that can be rendered as a release, as a library cannot.
///
/// # Errors
/// It is none; the text is Helm's.
pub fn check_type(chart: &Chart) -> Result<(), TemplateError> {
    let kind = chart.metadata().chart_type.as_str();
    if matches!(kind, "" | "application") {
        return Ok(());
    }
    Err(TemplateError::Input(format!("{kind} charts are not installable")))
}

/// Whether all charts that `Chart.yaml` declares are in `charts/`.
///
/// # Errors
/// Some are missing; the text is Helm's.
pub fn check_dependencies(chart: &Chart) -> Result<(), TemplateError> {
    let missing = chart.missing_dependencies();
    if missing.is_empty() {
        return Ok(());
    }
    Err(TemplateError::Input(format!(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
         fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        missing.join(", ")
    )))
}

/// Whether a release can have this name.
///
/// # Errors
/// It cannot; the text is Helm's.
pub fn check_name(name: &str) -> Result<(), TemplateError> {
    release::check_name(name).map_err(|message| {
        TemplateError::Input(format!(
            "release name check failed: release name {name:?}: {message}"
        ))
    })
}

/// Which parts of a rendering are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// Otherwise the files of `crds/` are left out.
    pub include_crds: bool,
    /// Leaves out all objects with `helm.sh/hook`.
    pub no_hooks: bool,
    /// Leaves out only those for `helm test`.
    pub skip_tests: bool,
}

impl Selection {
    /// What is shown of `rendered`.
    pub fn of(self, rendered: Rendered) -> TemplateOutput {
        let document = |source, text| Document { source, text };
        let mut output = TemplateOutput::default();
        if self.include_crds {
            output.crds = rendered
                .crds
                .into_iter()
                .map(|crd| document(crd.source, crd.text))
                .collect();
        }
        output.documents.extend(
            rendered
                .manifests
                .into_iter()
                .map(|manifest| document(manifest.source, manifest.text)),
        );
        if !self.no_hooks {
            output.hooks = rendered
                .hooks
                .into_iter()
                .filter(|hook| !self.skip_tests || !hook.events.contains(&HookEvent::Test))
                .map(|hook| document(hook.manifest.source, hook.manifest.text))
                .collect();
        }
        output
    }
}

impl TemplateOutput {
    /// Everything as `helm template` prints it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for document in self.crds.iter().chain(&self.documents) {
            document.write(&mut text);
        }
        let mut text = text.trim().to_owned();
        text.push('\n');
        for hook in &self.hooks {
            hook.write(&mut text);
        }
        text
    }

    /// The documents of the files that match one of `patterns`, as `helm template --show-only`
    /// prints them.
    ///
    /// # Errors
    /// A pattern matches no file.
    pub fn text_of(&self, patterns: &[String]) -> Result<String, TemplateError> {
        let text = self.text();
        let source =
            Regex::new("# Source: [^/]+/(.+)").map_err(|error| TemplateError::Input(error.to_string()))?;
        let files: Vec<(&str, &str)> = documents(&text)
            .filter_map(|document| {
                let found = source.captures(document)?.get(1)?;
                Some((found.as_str(), document))
            })
            .collect();
        let mut shown = String::new();
        for pattern in patterns {
            let before = shown.len();
            for (_, document) in files
                .iter()
                .filter(|(file, _)| wildcard_matches(pattern, file) == Some(true))
            {
                let _ = writeln!(shown, "---\n{document}");
            }
            if shown.len() == before {
                return Err(TemplateError::Input(format!(
                    "could not find template {pattern} in chart"
                )));
            }
        }
        Ok(shown)
    }
}

impl Document {
    /// Adds the document as `helm template` prints it, also into files.
    pub fn write(&self, text: &mut String) {
        let _ = writeln!(text, "---\n# Source: {}\n{}", self.source, self.text);
    }

    /// Where `--output-dir` puts the document below a folder; none for a path that leads out.
    pub fn path_below(&self, folder: &Path) -> Option<PathBuf> {
        let leads_out = self.source.split('/').any(|part| part == "..");
        (!leads_out).then(|| folder.join(&self.source))
    }
}

/// The name that a template of the user gives (`--name-template`).
///
/// # Errors
/// The text is no template, or it fails.
pub fn name_from_template(text: &str, world: &dyn World) -> Result<String, String> {
    let mut set = TemplateSet::new(functions::table());
    set.parse("name-template", text)
        .map_err(|error| error.to_string())?;
    let options = Options {
        missing_key: MissingKey::Invalid,
        ..Options::default()
    };
    set.execute("name-template", &Value::Nil, world, &options)
        .map(|name| name.to_string())
        .map_err(|error| error.to_string())
}
