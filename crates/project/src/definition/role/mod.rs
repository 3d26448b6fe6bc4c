//! What is known of the variables of roles, as the keys of a spec that become them.
//!
//! ```text
//! meta/argument_specs.yml --argument_specs--\
//! defaults/main.yml --infer--> defaults ----- joined, a default beside each variable --> Node
//! keys: memcached_size <- memcachedSize, as far as the operator makes the one of the other
//! ```

mod argument_specs;
mod defaults;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use argument_specs::is_choice;
use defaults::Defaults;
use keys::Keys;
use serde_json::{Map, Value};

use super::meet::{blend, complete};
use super::node::{Node, Types, plain_value};
use super::notice::Notices;
use crate::Role;

/// The format of what nobody should see.
const SECRET: &str = "password";

/// How many names a notice lists.
const LISTED: usize = 10;

/// What decides how a spec becomes variables; by default keys stay as they are.
#[derive(Clone, Debug)]
pub struct RoleOptions {
    /// Whether defaults become defaults of the definition, which the API server writes into each resource when it is
    /// created.
    pub defaults: bool,
    /// The variable that a key of the spec becomes; `None` where that is the key (`snakeCaseParameters: false`).
    pub variable_of: Option<fn(&str) -> String>,
    /// Variables that no spec sets, as `vars` of watches.yaml do.
    pub given: BTreeSet<String>,
    /// Whether the operator writes the status.
    pub manages_status: bool,
}

impl Default for RoleOptions {
    fn default() -> Self {
        Self {
            defaults: false,
            variable_of: None,
            given: BTreeSet::new(),
            manages_status: true,
        }
    }
}

/// Which variables are for a spec to set, and by which keys.
struct Variables<'a> {
    keys: Keys,
    given: &'a BTreeSet<String>,
}

impl Variables<'_> {
    fn of(options: &RoleOptions) -> Variables<'_> {
        Variables {
            keys: Keys::new(options.variable_of),
            given: &options.given,
        }
    }

    /// Whether nothing that a spec says counts: others set it.
    fn is_left_out(&self, variable: &str) -> bool {
        self.given.contains(variable) || variable.starts_with("ansible_")
    }

    /// Whether a default is no one else's business, by the custom that such names begin with an underscore.
    fn is_own(&self, variable: &str) -> bool {
        variable.starts_with('_') || self.is_left_out(variable)
    }
}

/// What is known of the variables of all these roles.
pub(super) struct Known {
    pub(super) node: Node,
    /// What the first of them says of itself.
    pub(super) about: Option<String>,
}

pub(super) fn variables_of(roles: &[Role], options: &RoleOptions, notices: &mut Notices) -> Known {
    let variables = Variables::of(options);
    let mut all = Known {
        node: Node::of(Types::OBJECT),
        about: None,
    };
    for role in roles {
        let mut known = of_role(role, &variables, notices);
        known.node.required.append(&mut all.node.required);
        all = Known {
            node: blend(known.node, all.node, notices),
            about: all.about.or(known.about),
        };
    }
    all
}

fn of_role(role: &Role, variables: &Variables<'_>, notices: &mut Notices) -> Known {
    let defaults = role.defaults.as_deref();
    let defaults = defaults.map_or_else(
        || Defaults {
            node: Node::of(Types::OBJECT),
            ..Defaults::default()
        },
        |text| defaults::read(text, variables, notices),
    );
    let specs = role.argument_specs.as_deref();
    let specs = specs.and_then(|text| argument_specs::read(text, variables, notices));
    let (mut node, about) = match specs {
        Some(mut specs) => {
            complete(&mut specs.node, &defaults.node, true);
            (specs.node, specs.about)
        }
        None => (defaults.node, None),
    };
    settle(&mut node, &defaults.values, notices);
    Known { node, about }
}

/// Sets beside each variable what it is by default. What has a default need not be given. Of a map that is given nothing is
/// taken from the default, so its parts have none.
fn settle(node: &mut Node, defaults: &Map<String, Value>, notices: &mut Notices) {
    node.required
        .retain(|key| defaults.get(key).is_none_or(Value::is_null));
    for (key, default) in defaults {
        let Some(property) = node.properties.get_mut(key) else {
            continue;
        };
        if default.is_null() || has_template(default) {
            continue;
        }
        let place = notices.enter(key);
        if !property.types.contains(Types::of(default)) {
            notices.add("its default is of another type than argument_specs say: any value is accepted");
            *property = std::mem::take(property).loosened();
        } else if !is_choice(property, default) {
            notices.add("its default is none of its choices, which are not checked");
            property.limits.choice = None;
        }
        let is_secret = property.limits.format.as_deref() == Some(SECRET);
        property.default = (!is_secret).then(|| plain_value(default));
        notices.leave(place);
    }
}

/// The defaults of a role as the spec of a sample: YAML, with their comments where that is possible.
///
/// ```
/// use steersman_project::Role;
/// use steersman_project::definition::{RoleOptions, sample_of_role};
///
/// let role = Role { defaults: Some("---\n# How many\nsize: 1\n".to_owned()), ..Role::default() };
/// assert_eq!(sample_of_role(&role, &RoleOptions::default()), "# How many\nsize: 1\n");
/// ```
pub fn sample_of_role(role: &Role, options: &RoleOptions) -> String {
    let text = role.defaults.as_deref().unwrap_or_default();
    defaults::spec_text(text, &Variables::of(options))
}

/// Whether Ansible makes something else of a value, or of a part of it.
fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        _ => false,
    }
}

fn note_lost(lost: &[&str], notices: &mut Notices) {
    if lost.is_empty() {
        return;
    }
    let listed: Vec<String> = lost
        .iter()
        .take(LISTED)
        .map(|name| name.escape_debug().take(60).collect())
        .collect();
    let more = if lost.len() > LISTED { ", …" } else { "" };
    notices.add(format!(
        "no key of a resource becomes a variable of this name, so it is left out: {}{more}",
        listed.join(", ")
    ));
}
