//! `dependsOn`: what releases wait for.

use steersman_expressions::Expression;
use steersman_model::ApiKind;
use steersman_yaml::Node;

use super::entry::Loader;
use super::fields::{Fields, Findings};
use crate::dependency::Dependency;
use crate::name_template::NameTemplate;
use crate::names::{is_dns_subdomain, is_kind, is_version};

pub(super) const FIELDS: &[&str] = &["apiVersion", "kind", "name", "namespace", "readyExpr"];

impl Loader<'_> {
    /// What the entry says of dependencies; those that are wrong are left out, with a problem.
    pub(super) fn dependencies(&mut self, fields: &Fields<'_>) -> Vec<Dependency> {
        let key = fields.key("dependsOn");
        let items = fields.items("dependsOn", "objects", &mut self.findings);
        let read = |(index, node): (usize, &Node)| self.dependency(node, format!("{key}[{index}]"));
        items.iter().enumerate().filter_map(read).collect()
    }

    fn dependency(&mut self, node: &Node, path: String) -> Option<Dependency> {
        let fields = Fields::read_all(node, path, FIELDS, &mut self.findings)?;
        let api_version = self.required(&fields, "apiVersion", "such as `apps/v1`", is_api_version);
        let kind = self.required(&fields, "kind", "such as `Deployment`", is_kind);
        if fields.get("name").is_none() {
            let message = "`name` must not be empty";
            self.findings.problem(fields.node, &fields.path, message);
        }
        let name = name_template(&fields, "name", &mut self.findings);
        let is_elsewhere = fields.get("namespace").is_some();
        let namespace = name_template(&fields, "namespace", &mut self.findings);
        if is_elsewhere && namespace.is_none() {
            return None;
        }
        let ready = ready_expression(&fields, &mut self.findings);
        Some(Dependency {
            api: ApiKind::new(&api_version?, &kind?),
            name: name?,
            namespace,
            ready,
        })
    }
}

fn ready_expression(fields: &Fields<'_>, findings: &mut Findings) -> Option<Expression> {
    let (source, node) = fields.text("readyExpr", findings)?;
    if source.is_empty() {
        return None;
    }
    let read = Expression::parse(&source);
    let key = fields.key("readyExpr");
    let problem = |error| findings.problem(node, &key, format_args!("no expression: {error}"));
    read.map_err(problem).ok()
}

/// Reads a field, fixed or made of the resource; what is wrong with it is a problem of the file.
pub(super) fn name_template(
    fields: &Fields<'_>,
    field: &str,
    findings: &mut Findings,
) -> Option<NameTemplate> {
    let (text, node) = fields.text(field, findings)?;
    NameTemplate::parse(&text)
        .map_err(|error| findings.problem(node, &fields.key(field), error))
        .ok()
}

fn is_api_version(text: &str) -> bool {
    match text.split_once('/') {
        Some((group, version)) => is_dns_subdomain(group) && is_version(version),
        None => is_version(text),
    }
}
