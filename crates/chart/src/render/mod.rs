//! From a chart and values to the text of its templates.

mod schema;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use steersman_gotemplate::{Map, Str};

use crate::context::Contexts;
use crate::dependencies::{Candidates, Choice, Enabled};
use crate::engine::{self, Templates};
use crate::error::{RenderError, RenderErrorKind, ValuesError};
use crate::input::RenderInput;
use crate::manifest::{self, CrdFile, Rendered};
use crate::notice::Notice;
use crate::source::Source;
use crate::values::{self, to_map};
use crate::version;

/// How many arrangements of one chart are remembered. Values choose among few; a chart that
/// makes many of them does not fill the memory.
const REMEMBERED: usize = 32;

/// A chart with the subcharts that some values enable: everything that those values decide and
/// that others with the same choice can use again.
#[derive(Debug)]
pub(crate) struct Arrangement {
    chart: Enabled,
    templates: Result<Templates, RenderError>,
    /// The templates with output, in the order in which they are executed.
    order: Vec<String>,
    /// What there was to say when values were imported from subcharts.
    notices: Vec<Notice>,
}

/// What can be had of a chart that can't be rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// The output of each template that does not fail itself.
    pub outputs: Vec<String>,
    /// Whether a template fails that mentions Secrets.
    pub lacks_secrets: bool,
}

/// The arrangements that a chart was rendered in, by the choice of subcharts.
#[derive(Debug)]
pub(crate) struct Arrangements {
    candidates: Candidates,
    known: Mutex<BTreeMap<Choice, Arc<Arrangement>>>,
}

impl Arrangements {
    /// For a chart that was not rendered yet.
    pub(crate) fn new(source: &Arc<Source>) -> Self {
        Self {
            candidates: Candidates::new(source),
            known: Mutex::default(),
        }
    }

    /// The arrangement that these values ask for.
    pub(crate) fn choose(
        &self,
        given: &values::Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Arc<Arrangement>, ValuesError> {
        let choice = self.candidates.choose(&to_map(given), notices)?;
        if let Some(known) = self.lock().get(&choice) {
            notices.extend(known.notices.iter().cloned());
            return Ok(Arc::clone(known));
        }
        let mut chart = self.candidates.enabled(&choice);
        let mut imports = Vec::new();
        let imported = chart.import_values(&mut imports);
        notices.extend(imports.iter().cloned());
        imported?;
        let arrangement = Arc::new(Arrangement::new(chart, imports));
        let mut remembered = self.lock();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(choice, Arc::clone(&arrangement));
        Ok(arrangement)
    }

    /// The arrangement in which every subchart takes part.
    pub(crate) fn everything(&self) -> Result<Arrangement, ValuesError> {
        let mut chart = self.candidates.everything();
        let mut imports = Vec::new();
        chart.import_values(&mut imports)?;
        Ok(Arrangement::new(chart, imports))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Choice, Arc<Arrangement>>> {
        // Every change is one insertion, so that a panic elsewhere leaves nothing half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrangement {
    fn new(chart: Enabled, notices: Vec<Notice>) -> Self {
        let mut texts = Vec::new();
        collect_templates(&chart, &chart.name, &mut texts);
        // The deepest first, and from the end of the alphabet: where two files define the same
        // template, the last one parsed counts.
        texts.sort_by(|(a, _), (b, _)| (depth(b), b).cmp(&(depth(a), a)));
        let order = texts
            .iter()
            .map(|(name, _)| name)
            .filter(|name| !base_name(name).starts_with('_'))
            .cloned()
            .collect();
        Self {
            templates: Templates::parse(&texts),
            chart,
            order,
            notices,
        }
    }

    /// The chart with its enabled subcharts.
    pub(crate) fn chart(&self) -> &Enabled {
        &self.chart
    }

    /// The parsed templates.
    pub(crate) fn templates(&self) -> Result<&Templates, RenderError> {
        self.templates.as_ref().map_err(Clone::clone)
    }

    /// The templates with output, in the order in which they are executed.
    pub(crate) fn order(&self) -> &[String] {
        &self.order
    }

    /// The values of all charts without any of the user.
    pub(crate) fn defaults(&self) -> Result<values::Values, RenderError> {
        let fit = self.coalesce(&values::Values::new(), &mut Vec::new())?;
        Ok(values::from_map(&fit))
    }

    /// Renders everything.
    pub(crate) fn render(
        &self,
        input: &RenderInput<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Rendered, RenderError> {
        let mut files = self.render_files(input, notices)?;
        let notes = self.take_notes(&mut files, input.subchart_notes);
        let rendered = manifest::sort_files(&files, input.limits.output_bytes)?;
        let skipped = rendered.skipped_hooks.iter();
        notices.extend(
            skipped
                .map(|hook| Notice::info("skipping unknown hooks").with("hookTypes", hook.events.as_str())),
        );
        Ok(Rendered {
            notes,
            crds: crds(&self.chart),
            ..rendered
        })
    }

    /// The output of each template that has one, by its name.
    pub(crate) fn render_files(
        &self,
        input: &RenderInput<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeMap<String, Str>, RenderError> {
        let fit = self.coalesce(input.values, notices)?;
        self.check_schema(&fit, input)?;
        self.check_kube_version(input)?;
        let contexts = Contexts::new(&self.chart, &fit, input.release, input.capabilities);
        self.execute(&contexts, input)
    }

    /// The output of the template of the chart at this path, which sees `more` besides what others see.
    pub(crate) fn render_one(
        &self,
        path: &str,
        more: &[(&str, serde_json::Value)],
        input: &RenderInput<'_>,
    ) -> Result<String, RenderError> {
        let fit = self.coalesce(input.values, &mut Vec::new())?;
        self.check_schema(&fit, input)?;
        let contexts = Contexts::new(&self.chart, &fit, input.release, input.capabilities);
        let name = format!("{}/{path}", self.chart.name);
        let templates = self.templates()?;
        let output = templates
            .rendering(input)
            .execute(&name, &contexts.dot_with(&name, more))?;
        Ok(output.text().into_owned())
    }

    /// The output of each template, whatever version of Kubernetes the chart wants. The values go through the
    /// defaults twice, as in Helm's linter, so that a null removes nothing.
    pub(crate) fn lint_files(
        &self,
        input: &RenderInput<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeMap<String, String>, RenderError> {
        let fit = self.coalesce(input.values, notices)?;
        let fit = self.coalesce(&values::from_map(&fit), notices)?;
        self.check_schema(&fit, input)?;
        let contexts = Contexts::new(&self.chart, &fit, input.release, input.capabilities);
        self.execute(&contexts, input).map(texts)
    }

    fn coalesce(&self, given: &values::Values, notices: &mut Vec<Notice>) -> Result<Map, RenderError> {
        let fit = to_map(given);
        values::coalesce(&self.chart, &fit, notices)
            .map_err(|error| RenderError::new(RenderErrorKind::Values, error.to_string()))?;
        Ok(fit)
    }

    fn check_schema(&self, fit: &Map, input: &RenderInput<'_>) -> Result<(), RenderError> {
        if input.skip_schema_validation || !schema::is_present(&self.chart) {
            return Ok(());
        }
        schema::check(&self.chart, &values::from_map(fit))
            .map_err(|findings| RenderError::schema(findings.message, findings.without_values))
    }

    fn check_kube_version(&self, input: &RenderInput<'_>) -> Result<(), RenderError> {
        let wanted = &self.chart.source.metadata.kube_version;
        let found = &input.capabilities.kube_version;
        if wanted.is_empty() || version::satisfies(wanted, found.normalized()) {
            return Ok(());
        }
        let message = format!(
            "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {}",
            found.version
        );
        Err(RenderError::new(RenderErrorKind::KubeVersion, message))
    }

    fn execute(
        &self,
        contexts: &Contexts,
        input: &RenderInput<'_>,
    ) -> Result<BTreeMap<String, Str>, RenderError> {
        let templates = self.templates.as_ref().map_err(Clone::clone)?;
        let mut rendering = templates.rendering(input);
        let mut files = BTreeMap::new();
        for name in &self.order {
            let output = rendering.execute(name, &contexts.dot(name))?;
            files.insert(name.clone(), output);
        }
        Ok(files)
    }

    /// Executes each template, whatever becomes of the others and whatever schemas say. Together they print no more than a
    /// rendering may.
    pub(crate) fn salvage(&self, input: &RenderInput<'_>) -> Salvage {
        let (Ok(fit), Ok(templates)) = (self.coalesce(input.values, &mut Vec::new()), &self.templates) else {
            return Salvage::default();
        };
        let contexts = Contexts::new(&self.chart, &fit, input.release, input.capabilities);
        let mut texts = Vec::new();
        collect_templates(&self.chart, &self.chart.name, &mut texts);
        let mut salvage = Salvage::default();
        let mut left = input.limits.output_bytes;
        for (name, text) in texts.iter().filter(|(name, _)| self.order.contains(name)) {
            let output = templates.rendering(input).execute(name, &contexts.dot(name));
            match output {
                Ok(output) if output.len() <= left => {
                    left -= output.len();
                    salvage.outputs.push(output.text().into_owned());
                }
                _ => salvage.lacks_secrets |= mentions_secret(text),
            }
        }
        salvage
    }

    fn take_notes(&self, files: &mut BTreeMap<String, Str>, with_subcharts: bool) -> String {
        let own = format!("{}/templates/", self.chart.name);
        let mut notes = String::new();
        files.retain(|name, text| {
            if !engine::is_notes(name) {
                return true;
            }
            let is_own = name
                .strip_prefix(&own)
                .is_some_and(|base| engine::NOTES.contains(&base));
            if with_subcharts || is_own {
                if !notes.is_empty() {
                    notes.push('\n');
                }
                notes.push_str(&text.text());
            }
            false
        });
        notes
    }
}

/// Outputs as text, with U+FFFD in place of bytes that are none.
pub(crate) fn texts(outputs: BTreeMap<String, Str>) -> BTreeMap<String, String> {
    let text = |(name, output): (String, Str)| (name, output.text().into_owned());
    outputs.into_iter().map(text).collect()
}

/// The files in `crds/` of a chart and then of its subcharts.
pub(crate) fn crds(chart: &Enabled) -> Vec<CrdFile> {
    let mut files = Vec::new();
    collect_crds(chart, &chart.name, &mut files);
    files
}

fn collect_crds(chart: &Enabled, path: &str, files: &mut Vec<CrdFile>) {
    let is_manifest = |name: &str| {
        let ending = base_name(name).rsplit_once('.').map_or("", |(_, ending)| ending);
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    };
    for file in &chart.source.files {
        if file.name.starts_with("crds/") && is_manifest(&file.name) {
            files.push(CrdFile {
                source: format!("{path}/{}", file.name),
                text: String::from_utf8_lossy(&file.content).into_owned(),
            });
        }
    }
    for dependency in &chart.dependencies {
        collect_crds(dependency, &format!("{path}/charts/{}", dependency.name), files);
    }
}

fn collect_templates<'a>(chart: &'a Enabled, path: &str, texts: &mut Vec<(String, &'a [u8])>) {
    for template in chart.templates() {
        texts.push((format!("{path}/{}", template.name), &template.content));
    }
    for dependency in &chart.dependencies {
        collect_templates(dependency, &format!("{path}/charts/{}", dependency.name), texts);
    }
}

fn mentions_secret(template: &[u8]) -> bool {
    template
        .to_ascii_lowercase()
        .windows(b"secret".len())
        .any(|part| part == b"secret")
}

fn depth(name: &str) -> usize {
    name.matches('/').count()
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
