//! `on` and `before`: changes of values that lead to runs.

use steersman_yaml::Node;

use crate::load::fields::{Fields, Findings};
use crate::procedure::{Before, Procedure, Step, StepValues, Trigger, Work};

pub(in crate::load) const ON_FIELDS: &[&str] = &["changed", "by"];
pub(in crate::load) const BEFORE_FIELDS: &[&str] = &["upgrade", "changed"];

/// By so much one run may change a number.
const MOST_BY: i64 = 1_000_000;
/// The name of the step that changes the value where no step of the file does.
const CHANGE: &str = "change";

/// The value that the runs of a procedure change; no two procedures change the same.
pub(super) fn on(procedure: &Fields<'_>, earlier: &[Procedure], findings: &mut Findings) -> Option<Trigger> {
    let (_, node) = procedure.get("on")?;
    let fields = Fields::read_all(node, procedure.key("on"), ON_FIELDS, findings)?;
    let mut paths = paths(&fields, findings);
    let (Some((path, named)), None) = (paths.pop(), paths.pop()) else {
        let message = "names one value, as in `changed: [size]`: another one takes another procedure";
        findings.problem(node, &fields.key("changed"), message);
        return None;
    };
    let mut others = earlier.iter().filter_map(|one| Some((one, one.on.as_ref()?)));
    if let Some((other, _)) = others.find(|(_, on)| overlaps(&on.path, &path)) {
        let message = format!("procedure `{}` changes it already", other.name);
        findings.problem(named, &fields.key("changed"), message);
        return None;
    }
    let by = fields.get("by").is_some();
    let by = by.then(|| super::number(&fields, "by", MOST_BY, findings));
    if by == Some(Some(0)) {
        findings.problem(node, &fields.key("by"), "a run changes the number by 1 at least");
    }
    Some(Trigger {
        path,
        by: by.flatten(),
    })
}

/// The revisions that wait for a run of a procedure.
pub(super) fn before(procedure: &Fields<'_>, findings: &mut Findings) -> Option<Before> {
    let (_, node) = procedure.get("before")?;
    let fields = Fields::read_all(node, procedure.key("before"), BEFORE_FIELDS, findings)?;
    if fields.boolean("upgrade", findings) != Some(true) {
        let message = "says `upgrade: true`: nothing else waits for a run";
        findings.problem(node, &fields.path, message);
        return None;
    }
    let changed = paths(&fields, findings).into_iter().map(|(path, _)| path);
    Some(Before {
        changed: changed.collect(),
    })
}

/// The paths of `changed`.
fn paths<'a>(fields: &Fields<'a>, findings: &mut Findings) -> Vec<(String, &'a Node)> {
    let key = fields.key("changed");
    let mut paths = Vec::new();
    for item in fields.items("changed", "paths of values", findings) {
        match item.as_str() {
            Some(path) if path.split('.').all(|key| !key.is_empty()) => paths.push((path.to_owned(), item)),
            _ => findings.expected("the path of a value such as `image.tag`", item, &key),
        }
    }
    paths
}

/// Whether one path lies at the other, or below.
fn overlaps(one: &str, other: &str) -> bool {
    let mut both = one.split('.').zip(other.split('.'));
    both.all(|(one, other)| one == other)
}

/// The steps with one that gives the release the changed value, where none of them does.
pub(super) fn with_change(mut steps: Vec<Step>, finally: &[Step], on: Option<&Trigger>) -> Vec<Step> {
    let Some(Trigger { path, .. }) = on else {
        return steps;
    };
    let keys: Vec<&str> = path.split('.').collect();
    let changes = |step: &Step| match &step.work {
        Work::Values(values) => values.paths().iter().any(|path| path.iter().eq(keys.iter())),
        Work::Job(_) | Work::Ready | Work::Holds(_) => false,
    };
    if steps.is_empty() || steps.iter().any(changes) {
        return steps;
    }
    let to = serde_json::json!("{{ .Procedure.to }}");
    let values = keys
        .iter()
        .rev()
        .fold(to, |below, key| serde_json::json!({ (*key): below }));
    let values = values
        .as_object()
        .and_then(|values| StepValues::parse(values).ok());
    let is_taken = |name: &str| steps.iter().chain(finally).any(|step| step.name == name);
    let numbered = (2_u32..).map(|number| format!("{CHANGE}-{number}"));
    let mut names = std::iter::once(CHANGE.to_owned()).chain(numbered);
    if let (Some(values), Some(name)) = (values, names.find(|name| !is_taken(name))) {
        steps.push(Step {
            name,
            work: Work::Values(values),
            timeout: None,
        });
    }
    steps
}
