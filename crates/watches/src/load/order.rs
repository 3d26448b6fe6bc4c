//! What an entry says of the order of its releases, and of what they wait for.

use std::time::Duration;

use steersman_model::parse_duration;
use steersman_yaml::{Content, Node};

use super::drift::read_target;
use super::fields::{Fields, Findings};
use crate::drift::Target;
use crate::names::is_namespace;
use crate::order::{Convention, Order, Stage, UNCLAIMED, Wait};

pub(super) const WAIT_FIELDS: &[&str] = &["timeout", "jobs"];
pub(super) const STAGE_FIELDS: &[&str] = &["name", "objects", "timeout", "approve"];

/// Reads and checks `wait` and `stages` of an entry. What is wrong with them is noted in `findings`.
pub(super) fn read_order(entry: &Fields<'_>, findings: &mut Findings) -> Order {
    let wait = entry.get("wait").and_then(|(_, node)| match node.value {
        Content::Bool(wanted) => wanted.then(Wait::default),
        _ => wait_of(node, entry.key("wait"), findings),
    });
    let items = entry.items("stages", "stages", findings);
    let mut stages: Vec<Stage> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}[{index}]", entry.key("stages"));
        if let Some(fields) = Fields::read(item, path, STAGE_FIELDS, findings) {
            stages.extend(stage_of(&fields, &stages, findings));
        }
    }
    Order {
        wait,
        convention: convention(entry, &stages, findings),
        stages,
    }
}

/// Whose annotations say the order.
fn convention(entry: &Fields<'_>, stages: &[Stage], findings: &mut Findings) -> Option<Convention> {
    let (word, node) = entry.text("order", findings)?;
    let key = entry.key("order");
    if !stages.is_empty() {
        findings.problem(node, &key, "the order is said by `stages` already");
    }
    match word.as_str() {
        "helm" => Some(Convention::Helm),
        "argocd" => Some(Convention::ArgoCd),
        "nelm" => Some(Convention::Nelm),
        _ => {
            let shown = word.escape_debug();
            let message = format_args!("`{shown}` is none of `helm`, `argocd`, `nelm`");
            findings.problem(node, &key, message);
            None
        }
    }
}

fn wait_of(node: &Node, path: String, findings: &mut Findings) -> Option<Wait> {
    let fields = Fields::read(node, path, WAIT_FIELDS, findings)?;
    let default = Wait::default();
    Some(Wait {
        timeout: timeout(&fields, findings).unwrap_or(default.timeout),
        jobs: fields.boolean("jobs", findings).unwrap_or(default.jobs),
    })
}

fn stage_of(fields: &Fields<'_>, earlier: &[Stage], findings: &mut Findings) -> Option<Stage> {
    let name = stage_name(fields, earlier, findings);
    let targets = fields.items("objects", "targets such as `kind: StatefulSet`", findings);
    let mut objects = Vec::new();
    for (index, item) in targets.iter().enumerate() {
        let path = format!("{}[{index}]", fields.key("objects"));
        let Some(target) = read_target(item, path, findings) else {
            continue;
        };
        if target == Target::default() {
            let key = fields.key("objects");
            findings.problem(item, &key, "matches every object, as it names nothing");
        }
        objects.push(target);
    }
    if targets.is_empty() && fields.get("objects").is_none_or(|(_, node)| is_list(node)) {
        findings.problem(fields.node, &fields.path, "`objects` names no object");
    }
    Some(Stage {
        timeout: timeout(fields, findings),
        approve: fields.boolean("approve", findings).unwrap_or(false),
        name: name?,
        objects,
        line: fields.node.line,
    })
}

fn is_list(node: &Node) -> bool {
    matches!(node.value, Content::Sequence(_))
}

fn stage_name(fields: &Fields<'_>, earlier: &[Stage], findings: &mut Findings) -> Option<String> {
    if fields.get("name").is_none() {
        findings.problem(fields.node, &fields.path, "`name` is missing");
        return None;
    }
    let (name, node) = fields.text("name", findings)?;
    let key = fields.key("name");
    let shown = name.escape_debug();
    if !is_namespace(&name) {
        let rule = "at most 63 lower-case letters, digits and `-`";
        findings.problem(node, &key, format_args!("`{shown}` is not a name ({rule})"));
    } else if name == UNCLAIMED {
        findings.problem(
            node,
            &key,
            format_args!("`{shown}` is what the objects are called that no stage claims"),
        );
    } else if earlier.iter().any(|stage| stage.name == name) {
        findings.problem(node, &key, format_args!("two stages are called `{shown}`"));
    } else {
        return Some(name);
    }
    None
}

/// A duration that is not nothing.
fn timeout(fields: &Fields<'_>, findings: &mut Findings) -> Option<Duration> {
    let (_, node) = fields.get("timeout")?;
    let key = fields.key("timeout");
    let Some(text) = node.as_str() else {
        findings.expected("a duration such as `10m`", node, &key);
        return None;
    };
    match parse_duration(text) {
        Ok(Duration::ZERO) => findings.problem(node, &key, "nothing gets ready in no time"),
        Ok(timeout) => return Some(timeout),
        Err(error) => findings.problem(node, &key, error),
    }
    None
}
