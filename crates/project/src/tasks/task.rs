//! One task: which module it calls, and with which arguments.

use steersman_yaml::{Content, Node};

use super::jinja::{self, Bound};

/// What a task says besides its module. `with_…` loops are others.
const KEYWORDS: &[&str] = &[
    "any_errors_fatal",
    "args",
    "async",
    "become",
    "become_exe",
    "become_flags",
    "become_method",
    "become_user",
    "changed_when",
    "check_mode",
    "collections",
    "connection",
    "debugger",
    "delay",
    "delegate_facts",
    "delegate_to",
    "diff",
    "environment",
    "failed_when",
    "ignore_errors",
    "ignore_unreachable",
    "listen",
    "loop",
    "loop_control",
    "module_defaults",
    "name",
    "no_log",
    "notify",
    "poll",
    "port",
    "register",
    "remote_user",
    "retries",
    "run_once",
    "tags",
    "throttle",
    "timeout",
    "until",
    "vars",
    "when",
];

/// Collections whose modules have short names everywhere.
const BUILTIN: [&str; 2] = ["ansible.builtin.", "ansible.legacy."];

/// A task as it is written.
pub(super) struct Task<'a> {
    node: &'a Node,
    /// The module, without `ansible.builtin.`.
    pub(super) module: &'a str,
    /// With its collection, if it has one.
    pub(super) written: &'a str,
    /// The line of the module.
    pub(super) line: u32,
    arguments: Arguments,
}

/// What a module is given.
pub(super) struct Arguments(Vec<(String, Node)>);

impl<'a> Task<'a> {
    /// `None` for what calls no module.
    pub(super) fn read(node: &'a Node) -> Option<Self> {
        let Content::Mapping(pairs) = &node.value else {
            return None;
        };
        let is_keyword = |key: &str| KEYWORDS.contains(&key) || key.starts_with("with_");
        let (key, value) = pairs
            .iter()
            .find(|(key, _)| key.as_str().is_some_and(|key| !is_keyword(key)))?;
        let mut written = key.as_str()?;
        let mut arguments = Arguments::of(value);
        if matches!(written, "action" | "local_action") {
            // `action: k8s kind=Pod`, or a map with the module's name in it.
            written = match &value.value {
                Content::String(text) => text.split_whitespace().next()?,
                _ => value.get("module")?.as_str()?,
            };
            arguments.0.retain(|(name, _)| name != "module");
        }
        if let Some(more) = node.get("args") {
            arguments.0.extend(Arguments::of(more).0);
        }
        let prefix = BUILTIN.iter().find_map(|prefix| written.strip_prefix(prefix));
        Some(Self {
            node,
            module: prefix.unwrap_or(written),
            written,
            line: key.line,
            arguments,
        })
    }

    pub(super) fn get(&self, keyword: &str) -> Option<&'a Node> {
        self.node.get(keyword)
    }

    /// The arguments with what is known filled in.
    pub(super) fn arguments(&self, bound: &Bound) -> Arguments {
        let filled = self.arguments.0.iter();
        Arguments(
            filled
                .map(|(name, node)| (name.clone(), fill(node, bound)))
                .collect(),
        )
    }

    /// What the names of the loop stand for, once for each of its items; once with nothing where there is no loop, or none
    /// over a written list.
    pub(super) fn rounds(&self, bound: &Bound) -> Vec<Bound> {
        let name = self
            .get("loop_control")
            .and_then(|control| control.get("loop_var"));
        let name = name.and_then(Node::as_str).unwrap_or("item");
        let mut inner = bound.clone();
        let list = ["loop", "with_items", "with_list"]
            .iter()
            .find_map(|keyword| self.get(keyword));
        let Some(list) = list else {
            return vec![inner];
        };
        inner.remove(name);
        let list = match list.as_str() {
            Some(text) => jinja::whole(text, bound).cloned(),
            None => Some(list.clone()),
        };
        let Some(Content::Sequence(items)) = list.map(|list| list.value) else {
            return vec![inner];
        };
        let mut rounds = Vec::with_capacity(items.len());
        for item in items {
            // `with_items` joins lists of one depth.
            let parts = match item.value {
                Content::Sequence(parts) if self.get("with_items").is_some() => parts,
                _ => vec![item],
            };
            for part in parts {
                let mut round = inner.clone();
                round.insert(name.to_owned(), fill(&part, bound));
                rounds.push(round);
            }
        }
        rounds
    }
}

impl Arguments {
    fn of(node: &Node) -> Self {
        match &node.value {
            Content::Mapping(pairs) => Self(
                pairs
                    .iter()
                    .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone())))
                    .collect(),
            ),
            Content::String(text) => Self(free_form(text, node)),
            _ => Self(Vec::new()),
        }
    }

    /// The first of these names that is given: arguments have aliases.
    pub(super) fn get(&self, names: &[&str]) -> Option<&Node> {
        let given = self
            .0
            .iter()
            .rev()
            .filter(|(name, node)| names.contains(&name.as_str()) && node.value != Content::Null);
        given.map(|(_, node)| node).next()
    }

    /// The text under one of these names, template or not.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        jinja::scalar(self.get(names)?)
    }

    /// Whether a switch may be on: it is, or a template decides.
    pub(super) fn may_be_on(&self, name: &str) -> bool {
        match self.get(&[name]).map(|node| &node.value) {
            Some(Content::Bool(is_on)) => *is_on,
            Some(Content::String(text)) => {
                jinja::is_template(text) || ["true", "yes", "on", "1"].contains(&text.to_lowercase().as_str())
            }
            _ => false,
        }
    }

    /// The text of an argument that is given without a name: `include_tasks: more.yml`.
    pub(super) fn free(&self) -> Option<String> {
        self.text(&["_raw_params"])
    }
}

/// `kind=Pod name="a b"`; words without `=` are the text `_raw_params`.
fn free_form(text: &str, node: &Node) -> Vec<(String, Node)> {
    let string = |text: &str| Node {
        value: Content::String(text.to_owned()),
        ..node.clone()
    };
    let mut arguments = Vec::new();
    let mut raw = Vec::new();
    for word in words(text) {
        match word.split_once('=') {
            Some((name, value)) if is_name(name) => {
                arguments.push((name.to_owned(), string(value.trim_matches(['"', '\'']))));
            }
            _ => raw.push(word),
        }
    }
    if !raw.is_empty() {
        arguments.push(("_raw_params".to_owned(), string(&raw.join(" "))));
    }
    arguments
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words between spaces; what is quoted or a template is part of one.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quote, mut depth) = (None, 0_usize);
    for c in text.chars() {
        match c {
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && quote.is_none() && depth == 0 {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        } else {
            word.push(c);
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// A node with what is known filled in.
pub(super) fn fill(node: &Node, bound: &Bound) -> Node {
    if bound.is_empty() {
        return node.clone();
    }
    let value = match &node.value {
        Content::String(text) if jinja::is_template(text) => {
            if let Some(known) = jinja::whole(text, bound) {
                return Node {
                    value: known.value.clone(),
                    ..node.clone()
                };
            }
            Content::String(jinja::filled(text, bound).unwrap_or_else(|| text.clone()))
        }
        Content::Sequence(items) => Content::Sequence(items.iter().map(|item| fill(item, bound)).collect()),
        Content::Mapping(pairs) => Content::Mapping(
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), fill(value, bound)))
                .collect(),
        ),
        other => other.clone(),
    };
    Node {
        value,
        ..node.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Task};

    fn check(text: &str, expect: &str) {
        let node = steersman_yaml::parse(text).unwrap();
        let found = Task::read(&node).map(|task| {
            let rounds = task.rounds(&Bound::new());
            let each = rounds.iter().map(|round| {
                let arguments = task.arguments(round);
                let text = |name: &str| arguments.text(&[name]).unwrap_or_else(|| "-".to_owned());
                format!("{} {} {}", text("kind"), text("name"), text("_raw_params"))
            });
            format!("{}: {}", task.module, each.collect::<Vec<_>>().join(", "))
        });
        assert_eq!(found.as_deref().unwrap_or("none"), expect, "{text}");
    }

    #[test]
    fn modules_and_arguments_are_told_from_keywords() {
        check("{name: a, when: b, k8s: {kind: Pod, name: c}}", "k8s: Pod c -");
        check(
            "ansible.builtin.include_tasks: more.yml\n",
            "include_tasks: - - more.yml",
        );
        check("k8s: kind=Pod name='a b' force=yes\n", "k8s: Pod a b -");
        check("k8s: kind=Pod name={{ a b }}\n", "k8s: Pod {{ a b }} -");
        check("action: k8s kind=Pod\n", "k8s: Pod - k8s");
        check("{local_action: {module: k8s, kind: Pod}}", "k8s: Pod - -");
        check("{k8s: {kind: Pod}, args: {name: b}}", "k8s: Pod b -");
        check("{name: nothing}", "none");
        check("text", "none");
    }

    #[test]
    fn loops_over_written_lists_are_followed() {
        check(
            "{k8s: {kind: '{{ item }}'}, loop: [Pod, Service]}",
            "k8s: Pod - -, Service - -",
        );
        check(
            "{k8s: {kind: '{{ item.kind }}', name: 'a-{{ item.number }}'}, loop: [{kind: Pod, number: 1}]}",
            "k8s: Pod a-1 -",
        );
        check(
            "{k8s: {kind: '{{ k }}'}, loop: [Pod], loop_control: {loop_var: k}}",
            "k8s: Pod - -",
        );
        check(
            "{k8s: {kind: '{{ item }}'}, with_items: [[Pod], Job]}",
            "k8s: Pod - -, Job - -",
        );
        check(
            "{k8s: {kind: '{{ item }}'}, loop: '{{ kinds }}'}",
            "k8s: {{ item }} - -",
        );
    }
}
