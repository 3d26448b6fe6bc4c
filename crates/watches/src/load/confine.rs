//! What an entry says about the bounds of its releases.

use std::collections::BTreeSet;
use std::fmt::Display;

use steersman_yaml::Node;

use super::fields::{Fields, Findings};
use crate::names::is_namespace;
use crate::{AllowedNamespace, Confinement, KindPattern, LookupScope};

pub(super) const FIELDS: &[&str] = &["namespaces", "clusterScoped", "kinds", "lookup"];
pub(super) const KINDS_FIELDS: &[&str] = &["allow", "deny"];

/// Reads and checks `confine`. What is wrong with it is noted in `findings`.
pub(super) fn read_confinement(node: &Node, path: String, findings: &mut Findings) -> Confinement {
    let mut confinement = Confinement::default();
    let Some(fields) = Fields::read(node, path, FIELDS, findings) else {
        return confinement;
    };
    if fields.get("namespaces").is_some() {
        confinement.namespaces = namespaces(&fields, findings);
    }
    if let Some(cluster_scoped) = fields.boolean("clusterScoped", findings) {
        confinement.cluster_scoped = cluster_scoped;
    }
    let kinds = fields
        .get("kinds")
        .and_then(|(_, node)| Fields::read(node, fields.key("kinds"), KINDS_FIELDS, findings));
    if let Some(kinds) = kinds {
        if kinds.get("allow").is_some() {
            confinement.allowed_kinds = Some(patterns(&kinds, "allow", findings));
        }
        confinement.denied_kinds = patterns(&kinds, "deny", findings);
    }
    if let Some((text, node)) = fields.text("lookup", findings) {
        confinement.lookup = match text.as_str() {
            "release" => LookupScope::Release,
            "none" => LookupScope::None,
            "all" => LookupScope::All,
            _ => {
                let message = format!("`{}` is none of `release`, `none`, `all`", text.escape_debug());
                findings.problem(node, &fields.key("lookup"), message);
                LookupScope::None
            }
        };
    }
    confinement
}

fn namespaces(fields: &Fields<'_>, findings: &mut Findings) -> BTreeSet<AllowedNamespace> {
    let parse = |text: &str| match text {
        "release" => Ok(AllowedNamespace::Release),
        name if is_namespace(name) => Ok(AllowedNamespace::Named(name.to_owned())),
        name => Err(format!(
            "`{}` is neither `release` nor the name of a namespace",
            name.escape_debug()
        )),
    };
    each(fields, "namespaces", "namespaces", parse, findings)
        .into_iter()
        .collect()
}

fn patterns(fields: &Fields<'_>, field: &str, findings: &mut Findings) -> Vec<KindPattern> {
    each(fields, field, "kinds", KindPattern::parse, findings)
}

/// The items of a list of texts, each of which is parsed.
fn each<T, E: Display>(
    fields: &Fields<'_>,
    field: &str,
    what: &str,
    parse: impl Fn(&str) -> Result<T, E>,
    findings: &mut Findings,
) -> Vec<T> {
    let key = fields.key(field);
    let mut found = Vec::new();
    for item in fields.items(field, what, findings) {
        match item.as_str().map(&parse) {
            Some(Ok(one)) => found.push(one),
            Some(Err(error)) => findings.problem(item, &key, error),
            None => findings.expected("a text", item, &key),
        }
    }
    found
}
