//! What a chart can produce, whatever its values are.
//!
//! Templates are walked through instead of executed: both branches of each `if`, `with` and `range`, what `include`,
//! `template` and `tpl` lead to, in the chart and all of its subcharts. Values are followed as far as they are known:
//! literals, defaults, the values that a schema allows, those that templates compare them with, and, of kinds, those that
//! the comment of a value enumerates. What follows from a choice of the user that nothing bounds is reported as
//! [`Undetermined`], with its place, and not guessed.
//!
//! The kinds that the chart renders with its defaults, and with every switch turned on, are part of the survey, too:
//! they are what the chart says itself.

mod call;
mod collections;
mod documents;
mod enumerated;
mod evaluate;
mod expansion;
mod fields;
mod handlebars;
mod hooks;
mod output;
mod rendered;
mod resolve;
mod roles;
mod subject;
mod text;
mod value;
mod walk;
mod written;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::chart::Chart;
use crate::error::RenderError;
pub use expansion::expansions;
use subject::Subject;
use value::{Abstract, Shape};
use walk::Walk;

/// Everything that a chart can produce, as far as its templates and values show it.
///
/// ```
/// use steersman_chart::{Chart, survey::Survey};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("values.yaml", b"ingress: false"),
///     (
///         "templates/ingress.yaml",
///         b"{{ if .Values.ingress }}\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n{{ end }}",
///     ),
/// ])?;
/// // The defaults render no object; other values would.
/// let survey = Survey::of(&chart)?;
/// assert_eq!(survey.objects[0].kind, "Ingress");
/// assert_eq!(survey.objects[0].sources[0].place.line, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The kinds of its objects, sorted. Hooks are among them, but those that only `helm test` creates: these are in `tests`.
    pub objects: Vec<ObjectKind>,
    /// The kinds of custom resources that it defines, in `crds/` or by its templates.
    pub definitions: Vec<Definition>,
    /// What its templates look up in the cluster.
    pub lookups: Vec<Lookup>,
    /// The roles that it ships.
    pub roles: Vec<Role>,
    /// The roles that it binds.
    pub bindings: Vec<Binding>,
    /// What stays unknown: choices of the user that nothing bounds.
    pub undetermined: Vec<Undetermined>,
    /// The same of what only `helm test` creates; `None` where there is nothing of it.
    pub tests: Option<Box<Self>>,
}

/// A kind of objects that a chart can produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectKind {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// Where, at least one.
    pub sources: Vec<Source>,
}

/// Where a chart produces objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file whose output it is, such as `web/templates/service.yaml`.
    pub template: String,
    /// The text that names the kind; a template that the file includes may be what has it.
    pub place: Place,
    /// Whether it carries `helm.sh/hook`, in which case it is no part of the release.
    pub hook: HookUse,
    /// The namespaces other than the release's that it names.
    pub namespaces: BTreeSet<String>,
}

/// Whether objects are hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookUse {
    /// They are part of the release.
    #[default]
    Never,
    /// It depends on the values.
    Sometimes,
    /// In every branch: each object that was found carries `helm.sh/hook`.
    Always,
}

/// A place in a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, such as `web/charts/database/templates/secret.yaml`.
    pub file: Arc<str>,
    /// The line, from 1; 0 where only the file is known.
    pub line: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            file: Arc::from(""),
            line: 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A kind of custom resources that a chart defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    /// Such as `cert-manager.io`.
    pub group: String,
    /// Such as `Certificate`.
    pub kind: String,
    /// Such as `certificates`.
    pub plural: String,
    /// Whether its resources are in namespaces.
    pub is_namespaced: bool,
}

/// A question that templates ask the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Such as `v1`.
    pub api_version: String,
    /// Such as `Secret`.
    pub kind: String,
    /// Whether objects are asked for by name.
    pub gets: bool,
    /// Whether all objects are asked for.
    pub lists: bool,
    /// The namespaces that are named, if that is known; none where the release's, or any other, may be meant.
    pub namespaces: Option<BTreeSet<String>>,
    /// The call of `lookup`.
    pub place: Place,
}

/// A `Role` or `ClusterRole` that a chart ships.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says something else")]
pub struct Role {
    /// For the whole cluster; otherwise a `Role`, which holds in its namespace.
    pub is_cluster_role: bool,
    /// Its names, as far as they are known.
    pub names: BTreeSet<String>,
    /// Whether it may have another name, such as one that follows from the release.
    pub is_open: bool,
    /// What it can grant, in all branches.
    pub rules: Vec<PolicyRule>,
    /// Whether other roles' rules are added to it by the server.
    pub is_aggregated: bool,
    /// Whether there are rules, or parts of them, that follow from values or from the release.
    pub is_incomplete: bool,
    /// Whether a rule here is for all names where the chart's is for names that follow from values or from the release.
    pub is_widened: bool,
    /// The text that names its kind.
    pub place: Place,
}

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// `apps` for Deployments; empty for Kubernetes' core.
    pub api_groups: Vec<String>,
    /// In the plural, such as `deployments` or `pods/log`.
    pub resources: Vec<String>,
    /// Objects that alone are meant; none for any.
    pub resource_names: Vec<String>,
    /// Paths such as `/metrics`, which only a `ClusterRole` can grant.
    pub non_resource_urls: Vec<String>,
    /// `get`, `list` and so on; `*` for all.
    pub verbs: Vec<String>,
}

/// A `RoleBinding` or `ClusterRoleBinding` that a chart ships.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What its `roleRef` names: otherwise a `Role` of its own namespace.
    pub is_cluster_role: bool,
    /// The names of the role, as far as they are known.
    pub names: BTreeSet<String>,
    /// Whether the role may have another name, such as one that follows from the release.
    pub is_open: bool,
    /// The text that names its kind.
    pub place: Place,
}

/// Something that the chart leaves open, such as a kind that comes from the values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undetermined {
    /// The file and, where known, the line that could say it.
    pub place: Place,
    /// What, and what decides it.
    pub message: String,
}

impl Survey {
    /// Surveys a chart with all of its subcharts. It is also rendered, with its defaults and with every switch on: that
    /// finds what a chart makes of its own output.
    ///
    /// # Errors
    /// The templates of the chart cannot be parsed, or its values are not of the form that it needs itself.
    pub fn of(chart: &Chart) -> Result<Self, RenderError> {
        let mut survey = Self::of_templates(chart)?;
        rendered::add(chart, &mut survey);
        survey.tidy();
        Ok(survey)
    }

    /// The same without rendering the chart, which takes seconds where it draws keys.
    ///
    /// # Errors
    /// As [`Survey::of`].
    pub fn of_templates(chart: &Chart) -> Result<Self, RenderError> {
        let arrangement = chart.everything()?;
        let templates = arrangement.templates()?;
        let values = arrangement.defaults()?;
        let subject = Subject::new(arrangement.chart(), values);
        let mut compared = Walk::new(&subject);
        // Only to learn what values are compared with, as that may come after their use.
        for name in arrangement.order() {
            compared.file_output(templates, name);
        }
        let compared = compared.compared;
        let mut walk = Walk::new(&subject);
        walk.compared = compared;
        let mut survey = Self::default();
        for name in arrangement.order() {
            if crate::engine::is_notes(name) {
                walk.file_output(templates, name);
                continue;
            }
            let output = walk.file_output(templates, name);
            documents::collect(&walk, name, &output, &mut survey);
        }
        survey.lookups = walk.lookups;
        survey.undetermined.append(&mut walk.undetermined);
        rendered::add_definitions(chart, &mut survey);
        survey.tidy();
        Ok(survey)
    }

    /// The same with what only `helm test` creates.
    #[must_use]
    pub fn with_tests(&self) -> Self {
        let mut all = self.clone();
        let Some(tests) = all.tests.take() else {
            return all;
        };
        for object in tests.objects {
            let known = all.object(&object.api_version, &object.kind);
            known.sources.extend(object.sources);
        }
        all.definitions.extend(tests.definitions);
        all.roles.extend(tests.roles);
        all.bindings.extend(tests.bindings);
        all.undetermined.extend(tests.undetermined);
        all.tidy();
        all
    }

    /// What only `helm test` creates.
    fn tests(&mut self) -> &mut Self {
        self.tests.get_or_insert_default()
    }

    fn object(&mut self, api_version: &str, kind: &str) -> &mut ObjectKind {
        let is_it = |known: &ObjectKind| known.api_version == api_version && known.kind == kind;
        let index = self.objects.iter().position(is_it).unwrap_or_else(|| {
            self.objects.push(ObjectKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                sources: Vec::new(),
            });
            self.objects.len() - 1
        });
        &mut self.objects[index]
    }

    fn tidy(&mut self) {
        self.objects.retain(|object| !object.sources.is_empty());
        self.objects
            .sort_by(|a, b| (&a.api_version, &a.kind).cmp(&(&b.api_version, &b.kind)));
        self.definitions.sort();
        self.definitions.dedup();
        self.undetermined.sort();
        self.undetermined.dedup();
        if let Some(tests) = &mut self.tests {
            tests.tidy();
        }
    }
}

impl Walk<'_> {
    /// What a file can print.
    fn file_output(
        &mut self,
        templates: &crate::engine::Templates,
        name: &str,
    ) -> std::rc::Rc<[output::Output]> {
        name.clone_into(&mut self.file);
        let Some(chart) = self.subject.chart_of(name) else {
            return std::rc::Rc::from([]);
        };
        let dot = Abstract::of(Shape::Dot(chart));
        if templates.handlebars(name).is_some() {
            return handlebars::output(self, templates, name, &dot);
        }
        let output = self.template(templates.go(), name, &dot);
        self.check_budget();
        output
    }

    fn check_budget(&mut self) {
        if self.is_exhausted() {
            let place = Place {
                file: self.file.as_str().into(),
                line: 0,
            };
            self.note(
                &place,
                "the templates are too large to be followed in every branch".to_owned(),
            );
        }
    }

    /// Notes something that the chart leaves open.
    fn note(&mut self, place: &Place, message: String) {
        let found = Undetermined {
            place: place.clone(),
            message,
        };
        if !self.undetermined.contains(&found) {
            self.undetermined.push(found);
        }
    }
}
