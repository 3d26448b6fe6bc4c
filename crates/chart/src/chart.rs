//! The chart: what is loaded once and rendered many times.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::dependencies::Enabled;
use crate::error::{LoadError, RenderError, RenderErrorKind, ValuesError};
use crate::input::RenderInput;
use crate::load::{self, Loaded};
use crate::manifest::{CrdFile, Rendered};
use crate::metadata::{Lock, Metadata};
use crate::notice::Notice;
use crate::render::{self, Arrangement, Arrangements, Salvage};
use crate::source::{File, Source};
use crate::values::{self, Values};

/// A chart with its subcharts: loaded, checked, immutable.
///
/// Clones share everything. A chart can be rendered by many threads at once.
///
/// ```
/// use steersman_chart::Chart;
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0, appVersion: '1.27'}".as_slice()),
///     ("values.yaml", b"replicas: 2"),
/// ])?;
/// assert_eq!((chart.name(), chart.version(), chart.app_version()), ("web", "1.0.0", Some("1.27")));
/// assert_eq!(chart.values()["replicas"], 2.0);
///
/// let packaged = Chart::from_archive(&chart.package(0)?)?;
/// assert_eq!(packaged.metadata(), chart.metadata());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chart(Arc<Inner>);

/// Charts are equal when everything that decides what they render is.
impl PartialEq for Chart {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl Eq for Chart {}

#[derive(Debug)]
struct Inner {
    source: Arc<Source>,
    digest: Digest,
    arrangements: Arrangements,
}

/// The SHA-256 digest of everything in a chart that decides what it renders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Chart {
    /// Loads the chart in a directory or `.tgz` file.
    ///
    /// # Errors
    /// The path cannot be read, the files are not a chart, or they exceed the limits for charts.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let Loaded { source, files } = load::load(path)?;
        Ok(Self::new(source, &files))
    }

    /// Loads a chart as [`load`](Self::load) does, of whatever `apiVersion`: to look at it, not to render it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_any(path: &Path) -> Result<Self, LoadError> {
        let Loaded { source, files } = load::load_any(path)?;
        Ok(Self::new(source, &files))
    }

    /// The chart in a `.tgz` archive.
    ///
    /// # Errors
    /// The archive is broken, its files are not a chart, or they exceed the limits for charts.
    pub fn from_archive(content: &[u8]) -> Result<Self, LoadError> {
        let Loaded { source, files } = load::load_archive(content)?;
        Ok(Self::new(source, &files))
    }

    /// The files of the chart in a directory by their paths in it: those that make it, so without what
    /// `.helmignore` leaves out, and with the targets of links in the links' places.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn read_files(directory: &Path) -> Result<BTreeMap<String, Arc<[u8]>>, LoadError> {
        let Loaded { files, .. } = load::load(directory)?;
        Ok(files.into_iter().map(|file| (file.name, file.content)).collect())
    }

    pub(crate) fn of(Loaded { source, files }: Loaded) -> Self {
        Self::new(source, &files)
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.0.source
    }

    /// The chart of these files, by their paths in it.
    ///
    /// # Errors
    /// The files are not a chart, or they exceed the limits for charts.
    pub fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, LoadError> {
        let files: Vec<File> = files
            .into_iter()
            .map(|(name, content)| File {
                name: name.to_owned(),
                content: content.into(),
            })
            .collect();
        let mut budget = load::Budget::default();
        for file in &files {
            budget.check(&file.name, file.content.len() as u64)?;
            budget.take(file.content.len() as u64)?;
        }
        let source = load::from_files(files.clone(), &mut budget, 0)?;
        Ok(Self::new(source, &files))
    }

    fn new(source: Source, files: &[File]) -> Self {
        let source = Arc::new(source);
        Self(Arc::new(Inner {
            digest: digest(files),
            arrangements: Arrangements::new(&source),
            source,
        }))
    }

    /// `name` of `Chart.yaml`, whatever alias a parent has for it.
    pub fn name(&self) -> &str {
        &self.metadata().name
    }

    /// `version` of `Chart.yaml`, such as `1.2.3`.
    pub fn version(&self) -> &str {
        &self.metadata().version
    }

    /// The version of the application inside, if the chart names one.
    pub fn app_version(&self) -> Option<&str> {
        Some(self.metadata().app_version.as_str()).filter(|version| !version.is_empty())
    }

    /// The contents of `Chart.yaml`.
    pub fn metadata(&self) -> &Metadata {
        &self.0.source.metadata
    }

    /// What `Chart.lock` says, if the chart has one.
    pub fn lock(&self) -> Option<&Lock> {
        self.0.source.lock.as_ref()
    }

    /// Name and version of each chart in `charts/`, in the order of the names there.
    pub fn dependencies(&self) -> impl Iterator<Item = &Metadata> {
        self.0.source.dependencies.iter().map(|chart| &chart.metadata)
    }

    /// The digest of all files as loaded, so after `.helmignore`.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// The chart's own `values.yaml`.
    pub fn values(&self) -> &Values {
        &self.0.source.values
    }

    /// A file of the chart that templates find in `.Files`, by its path in the chart: no template, and none that means
    /// something to Helm, as `values.yaml` does.
    ///
    /// ```
    /// use steersman_chart::Chart;
    ///
    /// let chart = Chart::from_files([
    ///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
    ///     ("values-production.yaml", b"replicas: 3"),
    /// ])?;
    /// assert_eq!(chart.file("values-production.yaml"), Some(b"replicas: 3".as_slice()));
    /// assert_eq!(chart.file("values-test.yaml"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let mut files = self.0.source.files.iter();
        files.find(|file| file.name == path).map(|file| &*file.content)
    }

    /// The files in `crds/` of the chart and of all its subcharts, in Helm's order. Those of
    /// the subcharts that some values leave enabled are in [`Rendered::crds`].
    pub fn crds(&self) -> Vec<CrdFile> {
        render::crds(&Enabled::everything(&self.0.source))
    }

    /// Whether any template of the chart or its subcharts mentions `lookup`, so that the same
    /// values can render differently.
    pub fn uses_lookup(&self) -> bool {
        fn mentions_it(source: &Source) -> bool {
            let word = regex_lookup();
            source.templates.iter().any(|file| word.is_match(&file.content))
                || source
                    .dependencies
                    .iter()
                    .any(|dependency| mentions_it(dependency))
        }
        mentions_it(&self.0.source)
    }

    /// The names of the dependencies in `Chart.yaml` that are not in `charts/`. Helm renders no
    /// chart that lacks any.
    pub fn missing_dependencies(&self) -> Vec<&str> {
        let source = &self.0.source;
        let is_there = |name: &str| {
            source
                .dependencies
                .iter()
                .any(|known| known.metadata.name == name)
        };
        source
            .metadata
            .dependencies
            .iter()
            .map(|dependency| dependency.name.as_str())
            .filter(|name| !is_there(name))
            .collect()
    }

    /// What Helm logs when it loads the chart.
    pub fn notices(&self) -> Vec<Notice> {
        fn collect(source: &Source, notices: &mut Vec<Notice>) {
            notices.extend(source.notices.iter().cloned());
            source
                .dependencies
                .iter()
                .for_each(|dependency| collect(dependency, notices));
        }
        let mut notices = Vec::new();
        collect(&self.0.source, &mut notices);
        notices
    }

    /// What `.Values` will be with these values of the user.
    ///
    /// # Errors
    /// The values give a subchart something other than a map.
    pub fn coalesce(&self, values: &Values) -> Result<Values, ValuesError> {
        let notices = &mut Vec::new();
        let arrangement = self.0.arrangements.choose(values, notices)?;
        let map = values::to_map(values);
        values::coalesce(arrangement.chart(), &map, notices)?;
        Ok(values::from_map(&map))
    }

    /// Renders the chart.
    ///
    /// # Errors
    /// See [`RenderErrorKind`] for the stages; the text is Helm's.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<Rendered, RenderError> {
        self.render_with_notices(input, &mut Vec::new())
    }

    /// Renders the chart, and adds to `notices` what Helm would log meanwhile, also where the rendering fails.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_with_notices(
        &self,
        input: &RenderInput<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Rendered, RenderError> {
        self.arrangement(input.values, notices)?.render(input, notices)
    }

    /// The output of the chart's templates by their names, before it is taken apart into
    /// manifests.
    ///
    /// # Errors
    /// As [`render`](Self::render), as far as templates are concerned.
    pub fn render_files(&self, input: &RenderInput<'_>) -> Result<BTreeMap<String, String>, RenderError> {
        let notices = &mut Vec::new();
        let outputs = self
            .arrangement(input.values, notices)?
            .render_files(input, notices)?;
        Ok(render::texts(outputs))
    }

    /// The output of a file of the chart that is none of its templates, as one of them: it sees what they define and `.Values`,
    /// and `more` besides, each below its name.
    ///
    /// ```
    /// use serde_json::json;
    /// use steersman_chart::{Capabilities, Chart, Operation, ReleaseInfo, RenderInput, Values};
    /// # use steersman_gotemplate::{Failure, Limits, LookupQuery, Timestamp, Value, World};
    /// # struct Nothing;
    /// # impl World for Nothing {
    /// #     fn now(&self) -> Timestamp { Timestamp::default() }
    /// #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
    /// #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Err(Failure::new("nothing is there")) }
    /// # }
    ///
    /// let chart = Chart::from_files([
    ///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
    ///     ("values.yaml", b"size: 3"),
    ///     ("templates/_names.tpl", b"{{ define \"name\" }}{{ .Release.Name }}-{{ .Procedure.name }}{{ end }}"),
    ///     ("procedures/backup.yaml", b"{{ include \"name\" . }}: {{ .Values.size }}"),
    /// ])?;
    /// let release = ReleaseInfo {
    ///     name: "shop".to_owned(),
    ///     namespace: "default".to_owned(),
    ///     revision: 1,
    ///     operation: Operation::Upgrade,
    /// };
    /// let input = RenderInput {
    ///     release: &release,
    ///     values: &Values::new(),
    ///     capabilities: &Capabilities::default(),
    ///     world: &Nothing,
    ///     limits: Limits::default(),
    ///     expired: None,
    ///     skip_schema_validation: false,
    ///     subchart_notes: false,
    /// };
    /// let more = [("Procedure", json!({"name": "backup"}))];
    /// let output = chart.render_file("procedures/backup.yaml", &more, &input)?;
    /// assert_eq!(output, "shop-backup: 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`render`](Self::render), as far as templates are concerned; or there is no such file.
    pub fn render_file(
        &self,
        path: &str,
        more: &[(&str, serde_json::Value)],
        input: &RenderInput<'_>,
    ) -> Result<String, RenderError> {
        let chart = self.with_template(path)?;
        let arrangement = chart.arrangement(input.values, &mut Vec::new())?;
        arrangement.render_one(path, more, input)
    }

    /// Whether a file of the chart can be parsed as one of its templates.
    ///
    /// # Errors
    /// It can't, or there is no such file.
    pub fn check_file(&self, path: &str) -> Result<(), RenderError> {
        self.with_template(path)?.everything()?.templates().map(|_| ())
    }

    fn with_template(&self, path: &str) -> Result<Self, RenderError> {
        let source = self.0.source.with_template(path).ok_or_else(|| {
            let message = format!("the chart has no file {path}, or that is one of its templates");
            RenderError::new(RenderErrorKind::Parse, message)
        })?;
        let source = Arc::new(source);
        Ok(Self(Arc::new(Inner {
            digest: self.0.digest,
            arrangements: Arrangements::new(&source),
            source,
        })))
    }

    /// What can be had of a chart although it can't be rendered.
    pub fn salvage(&self, input: &RenderInput<'_>) -> Salvage {
        let arrangement = self.arrangement(input.values, &mut Vec::new());
        arrangement.map_or_else(|_| Salvage::default(), |arrangement| arrangement.salvage(input))
    }

    /// The output of the chart's templates as Helm's linter has them: whatever version of Kubernetes the chart wants,
    /// and with values that have gone through the defaults twice.
    pub(crate) fn lint_files(
        &self,
        input: &RenderInput<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeMap<String, String>, RenderError> {
        self.arrangement(input.values, notices)?
            .lint_files(input, notices)
    }

    /// The chart with all of its subcharts, whatever conditions and tags say.
    pub(crate) fn everything(&self) -> Result<Arrangement, RenderError> {
        self.0.arrangements.everything().map_err(|error| {
            let message = format!("chart dependencies processing failed: {error}");
            RenderError::new(RenderErrorKind::Values, message)
        })
    }

    fn arrangement(
        &self,
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Arc<Arrangement>, RenderError> {
        let choice = self.0.arrangements.choose(values, notices);
        choice.map_err(|error| {
            let message = format!("chart dependencies processing failed: {error}");
            RenderError::new(RenderErrorKind::Values, message)
        })
    }
}

/// `lookup` as a word of its own.
fn regex_lookup() -> &'static regex::bytes::Regex {
    static WORD: std::sync::LazyLock<regex::bytes::Regex> = std::sync::LazyLock::new(|| {
        regex::bytes::Regex::new(r"\blookup\b").expect("the expression is valid")
    });
    &WORD
}

fn digest(files: &[File]) -> Digest {
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hash = Sha256::new();
    for file in files {
        // Lengths first, so that no other division into files has the same digest.
        hash.update((file.name.len() as u64).to_be_bytes());
        hash.update((file.content.len() as u64).to_be_bytes());
        hash.update(file.name.as_bytes());
        hash.update(&file.content);
    }
    Digest(hash.finalize().into())
}
