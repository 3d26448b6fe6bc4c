//! A kind of a project: what it is called, and what follows from its chart.

use steersman_project::CustomKind;
use steersman_project::definition::{self, Definition};
use steersman_project::layout::{
    self, Api, Content, Files, Project, ProjectFile, Resource, api_files, check_group, check_kind,
    check_version, kind_of_chart,
};
use steersman_project::rbac::{self, Rules};

use super::chart::{Fetched, digest};
use super::{Changes, say, wrong};
use crate::cli::Failure;

/// What a kind is called, with operator-sdk's flags.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Kind")]
pub(in crate::cli) struct ApiFlags {
    /// Group of the kind, without the domain [default: charts, or for a role none]
    #[arg(long, value_name = "GROUP")]
    pub(in crate::cli) group: Option<String>,
    /// Version of the kind [default: v1alpha1]
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) version: Option<String>,
    /// The kind, such as Memcached [default: after the chart]
    #[arg(long, value_name = "KIND")]
    pub(in crate::cli) kind: Option<String>,
    /// Plural of the kind, in small letters [default: by the rules of English]
    #[arg(long, value_name = "PLURAL")]
    pub(in crate::cli) plural: Option<String>,
    /// Accepted with the only version that Kubernetes knows
    #[arg(long, value_name = "VERSION", hide = true)]
    pub(in crate::cli) crd_version: Option<String>,
}

const DEFAULT_VERSION: &str = "v1alpha1";

/// What a kind is called by where the user does not say.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum Named<'a> {
    ByChart(Option<&'a str>),
    /// Nothing: a role is called by the kind.
    ForRole,
}

impl Named<'_> {
    fn group(self) -> &'static str {
        match self {
            Self::ByChart(_) => "charts",
            Self::ForRole => "",
        }
    }

    fn kind(self) -> Result<String, Failure> {
        match self {
            Self::ByChart(Some(chart)) => Ok(kind_of_chart(chart)),
            Self::ByChart(None) => Err(wrong(
                "either --kind or --helm-chart need to be provided",
                "--kind=App makes a chart to begin with, --helm-chart takes one that is there",
            )),
            Self::ForRole => Err(wrong(
                "--kind needs to be provided",
                "--kind=App --generate-role makes a role to begin with",
            )),
        }
    }
}

impl ApiFlags {
    /// Whether the user has said anything about a kind.
    pub(in crate::cli) fn is_given(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.plural]
            .iter()
            .any(|flag| flag.is_some())
    }

    /// The names of the kind, with its group without the domain; a chart gives the kind where no flag does.
    ///
    /// # Errors
    /// A name is none, or neither kind nor chart is given.
    pub(in crate::cli) fn resource(
        &self,
        domain: &str,
        named: Named<'_>,
    ) -> Result<(Resource, CustomKind), Failure> {
        let text = |flag: &Option<String>| flag.clone().filter(|text| !text.is_empty());
        if self.crd_version.as_deref().is_some_and(|version| version != "v1") {
            return Err(wrong(
                "definitions of version v1 are the only ones that Kubernetes has",
                "leave --crd-version out",
            ));
        }
        let kind = text(&self.kind).map_or_else(|| named.kind(), Ok)?;
        let group = self.group.clone().unwrap_or_else(|| named.group().to_owned());
        let version = text(&self.version).unwrap_or_else(|| DEFAULT_VERSION.to_owned());
        check_group(&group)
            .and_then(|()| check_version(&version))
            .and_then(|()| check_kind(&kind))
            .map_err(|problem| wrong(problem, "set it with --group, --version or --kind"))?;
        let full = if group.is_empty() {
            domain.to_owned()
        } else {
            format!("{group}.{domain}")
        };
        let mut custom = CustomKind::new(full, &version, &kind);
        if let Some(plural) = text(&self.plural) {
            check_group(&plural)
                .map_err(|_| wrong(format!("the plural `{plural}` is none"), "set it with --plural"))?;
            custom.plural = plural;
        }
        let resource = Resource {
            group,
            domain: domain.to_owned(),
            version,
            kind,
            plural: custom.irregular_plural().map(str::to_owned),
        };
        Ok((resource, custom))
    }
}

/// What follows from a chart for a kind.
#[derive(Debug)]
pub(in crate::cli) struct Generated {
    /// The definition, as YAML.
    pub(in crate::cli) definition: String,
    /// The rules, as YAML under their heading.
    pub(in crate::cli) rules: String,
    /// What a reader should know.
    pub(in crate::cli) notices: Vec<String>,
}

/// Makes definition and rules.
///
/// # Errors
/// The chart's templates cannot be parsed, or its kind cannot have a definition.
pub(in crate::cli) fn generate(
    kind: &CustomKind,
    chart: &steersman_chart::Chart,
) -> Result<Generated, Failure> {
    let hint = "`steersman lint CHART` says more";
    let definition = Definition::of(kind, chart, &definition::Options::default())
        .map_err(|error| wrong(error.to_string(), hint))?;
    let rules =
        Rules::of(kind, chart, &rbac::Options::default()).map_err(|error| wrong(error.to_string(), hint))?;
    let mut notices: Vec<String> = definition.notices().iter().map(ToString::to_string).collect();
    notices.extend(rules.notices.iter().cloned());
    Ok(Generated {
        definition: definition.to_yaml(),
        rules: rbac::write::block(&rules),
        notices,
    })
}

/// Adds the files of a kind to the changes, and enters it into the shared files.
///
/// # Errors
/// The kind is there, or would be in another group, or a shared file lacks its marker.
pub(in crate::cli) fn plan(
    shared: &mut Files,
    project: &Project,
    resource: &Resource,
    kind: &CustomKind,
    fetched: &Fetched,
    changes: &mut Changes,
) -> Result<(), Failure> {
    let file = shared.get("PROJECT").map_or("", String::as_str);
    let file = ProjectFile::parse(file).map_err(|error| wrong_project(&error.into()))?;
    check_new(&file, resource)?;
    let generated = generate(kind, &fetched.chart)?;
    let values = fetched.values();
    let chart = fetched.chart.name();
    let api = Api {
        kind,
        group: &resource.group,
        content: Content::Chart {
            name: chart,
            values: &values,
        },
        definition: &generated.definition,
        rules: &generated.rules,
    };
    layout::register(shared, project, &api).map_err(|error| wrong_project(&error))?;
    let file = shared.get("PROJECT").map_or("", String::as_str);
    let mut file = ProjectFile::parse(file).map_err(|error| wrong_project(&error.into()))?;
    file.set_chart(chart, fetched.chart.version(), &digest(&fetched.files));
    shared.insert("PROJECT".to_owned(), file.to_text());
    for (path, text) in api_files(project, &api) {
        changes.write(path, text);
    }
    for (path, content) in &fetched.files {
        changes.write(format!("helm-charts/{chart}/{path}"), content.clone());
    }
    for notice in &generated.notices {
        say(&format!("note: {notice}"));
    }
    Ok(())
}

/// A project that cannot be used.
pub(in crate::cli) fn wrong_project(error: &layout::LayoutError) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    wrong(format!("{error}{}", cause.unwrap_or_default()), error.hint())
}

/// Whether a kind can come into a project.
///
/// # Errors
/// It is there, or would be in another group.
pub(super) fn check_new(file: &ProjectFile, resource: &Resource) -> Result<(), Failure> {
    let resources = file.resources();
    if resources.iter().any(|known| known.is_same(resource)) {
        return Err(wrong(
            "the API resource already exists",
            "`steersman create api --update` takes a newer chart into it; another --kind or --version makes another one",
        ));
    }
    let is_known = resources.iter().any(|known| known.group == resource.group);
    if !resources.is_empty() && !is_known && !file.is_multigroup() {
        return Err(wrong(
            "multiple groups are not allowed by default, to enable multi-group set 'multigroup: true' in your PROJECT file",
            "the kinds of this project are in another group: name that with --group, or write `multigroup: true`",
        ));
    }
    Ok(())
}
