//! Where the objects of a bundle come from.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::Value;
use steersman_chart::Chart;
use steersman_chart::survey::{HookUse, Survey};
use steersman_model::Environment;
use steersman_project::bundle::{
    CapabilityLevel, ChartFacts, Manifests, ResourceReference, base, is_package_name, service_version_file,
    to_yaml,
};

use super::super::Failure;
use crate::cli::files;
use crate::cli::scaffold::PlainProject;

/// The layout that a project has where nothing says one.
const LAYOUT: &str = "helm.sdk.operatorframework.io/v1";

/// The folder of a project without kustomizations of operator-sdk's layout.
const MANIFESTS: &str = "deploy";

/// What a kustomization may be called.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How many kinds of objects of a release are listed.
const MAX_RESOURCES: usize = 40;

/// How much of standard input is read.
const MAX_INPUT: u64 = 64 << 20;

/// Where to look, as the flags say.
#[derive(Debug, Default)]
pub(super) struct Places<'a> {
    pub(super) input: Option<&'a Path>,
    pub(super) deploy: Option<&'a Path>,
    pub(super) definitions: Option<&'a Path>,
    pub(super) kustomize: PathBuf,
    pub(super) package: Option<&'a str>,
}

/// What a bundle is made of.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) package: String,
    pub(super) layout: String,
    pub(super) manifests: Manifests,
    /// What resources of each definition consist of.
    pub(super) resources: BTreeMap<String, Vec<ResourceReference>>,
    /// A base for where the objects have none.
    pub(super) base: Option<Value>,
    /// A base, or a kustomization, that was written because it was missing.
    pub(super) written: Vec<PathBuf>,
}

/// The file `PROJECT`, as far as bundles need it.
#[derive(Debug, Default)]
struct Project {
    name: Option<String>,
    layout: Option<String>,
}

impl Places<'_> {
    /// Reads the objects: from a folder or standard input if the flags say so, else from the project in this directory.
    pub(super) fn read(&self, environment: &Environment) -> Result<Source, Failure> {
        let mut project = Project::read()?;
        let is_project = self.input.is_none() && self.deploy.is_none();
        let entries = if is_project { entries() } else { Vec::new() };
        let charts = charts(&entries);
        let new_base = |package: &str| base(package, &facts(&charts), CapabilityLevel::of(&entries));
        let mut written = Vec::new();
        let objects = match (self.input, self.deploy) {
            (Some(path), _) if path == Path::new("-") => read_input()?,
            (Some(folder), _) => files_below(folder)?,
            (None, Some(deploy)) => {
                let mut objects = files_below(deploy)?;
                if let Some(definitions) = self.definitions {
                    objects.extend(files_below(definitions)?);
                }
                objects
            }
            (None, None) if self.has_layout() => {
                if let Some(package) = self.package.or(project.name.as_deref()) {
                    written = self.complete(package, || new_base(package))?;
                }
                kustomize(&self.kustomize)?
            }
            (None, None) if Path::new(MANIFESTS).is_dir() => of_manifests(Path::new(MANIFESTS))?,
            (None, None) if PlainProject::is_here() => {
                let plain = PlainProject::read(environment)?;
                project.name.get_or_insert_with(|| plain.name().to_owned());
                let mut objects = plain.build("config/default")?;
                objects.extend(plain.build("config/samples")?);
                objects.extend(plain.build("config/scorecard")?);
                objects
            }
            (None, None) => {
                return Err(Failure::usage(
                    anyhow!(
                        "there is neither `{}` nor `{MANIFESTS}` nor `watches.yaml` here",
                        self.kustomize.display()
                    ),
                    Some("run this in a project, or name a folder of manifests: --input-dir".to_owned()),
                ));
            }
        };
        let named = self.package.map(str::to_owned).or(project.name);
        let manifests = Manifests::collect(objects).map_err(|error| Failure::failed(error, None))?;
        let package = named.or_else(|| manifests.deployment_name().map(str::to_owned));
        let Some(package) = package else {
            return Err(Failure::usage(
                anyhow!("nothing says what the package is called"),
                Some("name it: --package my-operator".to_owned()),
            ));
        };
        check_package(&package)?;
        let base = match self.base_of(&package)? {
            Some(base) => Some(base),
            None if is_project => Some(new_base(&package)),
            None => None,
        };
        Ok(Source {
            resources: resources(&charts, &manifests),
            base,
            layout: project.layout.unwrap_or_else(|| LAYOUT.to_owned()),
            package,
            manifests,
            written,
        })
    }

    /// Whether the project has kustomizations that a bundle can be made of.
    fn has_layout(&self) -> bool {
        has_kustomization(&self.kustomize) || has_kustomization(&self.kustomize.with_file_name("default"))
    }

    fn base_file(&self, package: &str) -> PathBuf {
        self.kustomize.join("bases").join(service_version_file(package))
    }

    /// The base that the project has.
    fn base_of(&self, package: &str) -> Result<Option<Value>, Failure> {
        let path = self.base_file(package);
        let Some(text) = files::read_if_there(&path)? else {
            return Ok(None);
        };
        let found = documents(&path, &text)?
            .into_iter()
            .find(|object| object["kind"] == "ClusterServiceVersion");
        Ok(found)
    }

    /// Writes what a build of the kustomize folder needs and lacks: the base, which people may edit then, and the
    /// kustomization.
    fn complete(&self, package: &str, new_base: impl FnOnce() -> Value) -> Result<Vec<PathBuf>, Failure> {
        check_package(package)?;
        let mut written = Vec::new();
        let path = self.base_file(package);
        if files::read_if_there(&path)?.is_none() {
            files::write(&path, &to_yaml(&new_base()))?;
            written.push(path);
        }
        if !has_kustomization(&self.kustomize) {
            let path = self.kustomize.join("kustomization.yaml");
            files::write(&path, &self.kustomization(package))?;
            written.push(path);
        }
        Ok(written)
    }

    /// The base and the folders that a project of operator-sdk's layout has for it.
    fn kustomization(&self, package: &str) -> String {
        let folders = ["default", "samples", "scorecard"]
            .into_iter()
            .filter(|name| self.kustomize.join("..").join(name).is_dir());
        let mut text = format!(
            "# What a bundle for OLM is made of.\nresources:\n- bases/{}\n",
            service_version_file(package)
        );
        text.extend(folders.map(|name| format!("- ../{name}\n")));
        text
    }
}

impl Project {
    fn read() -> Result<Self, Failure> {
        let path = Path::new("PROJECT");
        let Some(text) = files::read_if_there(path)? else {
            return Ok(Self::default());
        };
        let project = documents(path, &text)?.into_iter().next().unwrap_or_default();
        let layout = match &project["layout"] {
            Value::Array(chain) => {
                let chain: Vec<&str> = chain.iter().filter_map(Value::as_str).collect();
                chain.join(",")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        Ok(Self {
            name: project["projectName"].as_str().map(str::to_owned),
            layout: Some(layout).filter(|layout| !layout.is_empty()),
        })
    }
}

/// A package is named as a label of DNS: catalogs refuse other names, and files are called after it.
fn check_package(package: &str) -> Result<(), Failure> {
    if is_package_name(package) {
        return Ok(());
    }
    Err(Failure::usage(
        anyhow!("`{}` is no name of a package", package.escape_debug()),
        Some("at most 63 lower-case letters, digits and `-`: --package".to_owned()),
    ))
}

/// The objects of standard input.
fn read_input() -> Result<Vec<Value>, Failure> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(MAX_INPUT);
    input
        .read_to_string(&mut text)
        .context("failed to read standard input")?;
    documents(Path::new("-"), &text)
}

/// The objects of the YAML and JSON files below a folder.
fn files_below(folder: &Path) -> Result<Vec<Value>, Failure> {
    let files = files::read_all(folder).map_err(|error| Failure::usage(error, None))?;
    let mut objects = Vec::new();
    for (name, text) in files {
        let is_hidden = name.split('/').any(|part| part.starts_with('.'));
        let is_manifest = [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if is_manifest && !is_hidden {
            objects.extend(documents(&folder.join(name), &text)?);
        }
    }
    Ok(objects)
}

fn has_kustomization(folder: &Path) -> bool {
    KUSTOMIZATIONS.iter().any(|name| folder.join(name).exists())
}

/// The objects of a kustomization, which may name folders of the whole project.
fn kustomize(folder: &Path) -> Result<Vec<Value>, Failure> {
    steersman_kustomize::build_within(Path::new("."), folder).map_err(|error| {
        let hint = error.hint().map(str::to_owned);
        let error = anyhow::Error::new(error).context(format!("failed to build `{}`", folder.display()));
        Failure::failed(error, hint)
    })
}

/// The objects of a plain folder of manifests, by its kustomization if it has one, and its samples.
fn of_manifests(folder: &Path) -> Result<Vec<Value>, Failure> {
    if !has_kustomization(folder) {
        return files_below(folder);
    }
    let mut objects = kustomize(folder)?;
    let samples = folder.join("samples");
    if samples.is_dir() {
        objects.extend(files_below(&samples)?);
    }
    Ok(objects)
}

/// The documents of a text, without those that are empty.
fn documents(path: &Path, text: &str) -> Result<Vec<Value>, Failure> {
    let read = || -> Result<Vec<Value>, steersman_yaml::Error> {
        let nodes = steersman_yaml::parse_documents(text)?;
        nodes.into_iter().map(steersman_yaml::Node::into_json).collect()
    };
    let documents = read().map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("`{}` is no YAML", path.display()));
        Failure::failed(error, None)
    })?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

/// A chart of watches.yaml, and the kind whose resources are its releases.
struct Watched {
    group: String,
    kind: String,
    chart: Chart,
}

/// The entries of watches.yaml; none where that can't be read.
fn entries() -> Vec<Value> {
    let text = files::read_if_there(Path::new("watches.yaml"))
        .ok()
        .flatten()
        .unwrap_or_default();
    match steersman_yaml::to_json(&text) {
        Ok(Value::Array(entries)) => entries,
        _ => Vec::new(),
    }
}

/// The charts of the entries. One that can't be read says nothing about the operator.
fn charts(entries: &[Value]) -> Vec<Watched> {
    entries
        .iter()
        .filter_map(|entry| {
            let field = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
            Some(Watched {
                group: field("group")?,
                kind: field("kind")?,
                chart: Chart::load(Path::new(&field("chart")?)).ok()?,
            })
        })
        .collect()
}

/// What the charts say about themselves, each once.
fn facts(charts: &[Watched]) -> Vec<ChartFacts> {
    let by_name: BTreeMap<&str, &Watched> = charts
        .iter()
        .map(|watched| (watched.chart.name(), watched))
        .collect();
    by_name
        .into_values()
        .map(|watched| ChartFacts::from(watched.chart.metadata()))
        .collect()
}

/// What the resources of each definition consist of: the kinds that its chart can produce.
fn resources(charts: &[Watched], manifests: &Manifests) -> BTreeMap<String, Vec<ResourceReference>> {
    let mut resources = BTreeMap::new();
    for watched in charts {
        let Some(definition) = manifests.definition_name(&watched.group, &watched.kind) else {
            continue;
        };
        let Ok(survey) = Survey::of(&watched.chart) else {
            continue;
        };
        let mut references: Vec<ResourceReference> = survey
            .objects
            .iter()
            .filter(|object| object.sources.iter().any(|source| source.hook != HookUse::Always))
            .map(|object| ResourceReference {
                kind: object.kind.clone(),
                version: object
                    .api_version
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            })
            .collect();
        references.sort();
        references.dedup();
        references.truncate(MAX_RESOURCES);
        resources.insert(definition.to_owned(), references);
    }
    resources
}
