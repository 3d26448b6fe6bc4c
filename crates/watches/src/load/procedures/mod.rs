//! `procedures`: what can be done with the releases of an entry.

pub(super) mod parameters;
pub(super) mod schedule;
pub(super) mod steps;
pub(super) mod triggers;

use std::time::Duration;

use kube_core::GroupVersionKind;
use steersman_chart::Chart;
use steersman_model::parse_duration;
use steersman_yaml::{Content, Node};

use super::entry::Loader;
use super::fields::{Fields, Findings};
use crate::names::{is_kind, is_namespace};
use crate::procedure::{Parameter, Procedure, RunHistory};

pub(super) const FIELDS: &[&str] = &[
    "name",
    "kind",
    "parameters",
    "job",
    "idempotent",
    "steps",
    "finally",
    "schedule",
    "on",
    "before",
    "exclusive",
    "confirm",
    "retries",
    "timeout",
    "history",
];
pub(super) const HISTORY_FIELDS: &[&str] = &["succeeded", "failed"];

/// So often a step may be begun again: each is a Job more that is kept until the run goes.
const MOST_RETRIES: i64 = 20;
/// So many runs may be kept.
const MOST_KEPT: i64 = 1000;

impl Loader<'_> {
    /// What the entry says of procedures; those that are wrong are left out, with a problem.
    pub(super) fn procedures(
        &mut self,
        entry: &Fields<'_>,
        gvk: Option<&GroupVersionKind>,
        chart: Option<&Chart>,
    ) -> Vec<Procedure> {
        let key = entry.key("procedures");
        let items = entry.items("procedures", "procedures", &mut self.findings);
        let mut procedures: Vec<Procedure> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{key}[{index}]");
            if let Some(fields) = Fields::read_all(item, path, FIELDS, &mut self.findings) {
                let (group, kind) = gvk.map_or(("", ""), |gvk| (&gvk.group, &gvk.kind));
                if let Some(procedure) = self.procedure(&fields, kind, chart, &procedures) {
                    self.run_kinds
                        .push((group.to_owned(), procedure.run_kind.clone(), item.clone()));
                    procedures.push(procedure);
                }
            }
        }
        procedures
    }

    /// The runs of a procedure are of a kind that nothing else has.
    pub(super) fn check_run_kinds(&mut self) {
        let run_kinds = std::mem::take(&mut self.run_kinds);
        for (place, (group, kind, node)) in run_kinds.iter().enumerate() {
            let mut earlier = run_kinds.iter().take(place);
            // The API server has both under one name in small letters.
            let is_same = |of: &str, other: &str| of == group.as_str() && other.eq_ignore_ascii_case(kind);
            let same = earlier.find(|(of, other, _)| is_same(of, other));
            let mut entries = self.kinds.iter();
            let entry = entries.find(|(gvk, _)| is_same(&gvk.group, &gvk.kind));
            let line = same
                .map(|(_, _, node)| node.line)
                .or(entry.map(|(_, line)| *line));
            if let Some(line) = line {
                let message = format!("the kind of its runs would be `{kind}`, which is that of line {line}");
                self.findings.problem(node, "procedures", message);
            }
        }
    }

    fn procedure(
        &mut self,
        fields: &Fields<'_>,
        kind: &str,
        chart: Option<&Chart>,
        earlier: &[Procedure],
    ) -> Option<Procedure> {
        let name = self.procedure_name(fields, earlier);
        let run_kind = self.run_kind(fields, name.as_deref(), kind, earlier);
        let parameters = parameters::read(fields, &mut self.findings);
        let steps = self.steps(fields, chart);
        let finally = self.list_of_steps(fields, "finally", chart, &steps);
        let schedule = schedule::read(fields, &mut self.findings);
        let on = triggers::on(fields, earlier, &mut self.findings);
        let before = triggers::before(fields, &mut self.findings);
        let confirm = self.switch(fields, "confirm");
        let by_itself = [
            ("schedule", schedule.is_some()),
            ("on", on.is_some()),
            ("before", before.is_some()),
        ];
        let by_itself = by_itself.into_iter().filter(|(_, is_said)| *is_said);
        let by_itself: Vec<&str> = by_itself.map(|(field, _)| field).collect();
        if let Some(field) = by_itself.first() {
            self.check_unasked(fields, field, confirm, &parameters);
        }
        if on.is_some() && by_itself.len() > 1 {
            let message = "a run that changes a value begins by that alone: `on` goes with neither `schedule` nor `before`";
            self.findings.problem(fields.node, &fields.key("on"), message);
        }
        let steps = triggers::with_change(steps, &finally, on.as_ref());
        Some(Procedure {
            name: name?,
            run_kind: run_kind?,
            parameters,
            steps,
            finally,
            schedule,
            on,
            before,
            exclusive: self.switch(fields, "exclusive"),
            confirm,
            retries: number(fields, "retries", MOST_RETRIES, &mut self.findings).unwrap_or(0),
            timeout: time(fields, "timeout", &mut self.findings),
            history: history(fields, &mut self.findings),
        })
    }

    /// What begins by itself has nobody who confirms it, or says what is to be done.
    fn check_unasked(&mut self, fields: &Fields<'_>, field: &str, confirm: bool, parameters: &[Parameter]) {
        if confirm {
            let message = format!("nobody confirms what begins by itself: `confirm` goes with no `{field}`");
            self.findings
                .problem(fields.node, &fields.key("confirm"), message);
        }
        let mut required = parameters
            .iter()
            .filter(|one| one.required && one.default.is_none());
        if let Some(required) = required.next() {
            let message = format!("nobody says `{}` where a run begins by itself", required.name);
            self.findings
                .problem(fields.node, &fields.key("parameters"), message);
        }
    }

    fn procedure_name(&mut self, fields: &Fields<'_>, earlier: &[Procedure]) -> Option<String> {
        let example = "such as `backup` (at most 63 lower-case letters, digits and `-`)";
        let name = self.required(fields, "name", example, is_namespace)?;
        let is_word = ["true", "false"].contains(&name.as_str());
        if is_word || earlier.iter().any(|one| one.name == name) {
            let message = if is_word {
                format!("`{name}` means all procedures, or none, where they are suspended")
            } else {
                format!("two procedures are called `{name}`")
            };
            self.findings.problem(fields.node, &fields.key("name"), message);
            return None;
        }
        Some(name)
    }

    /// The kind of its runs: what it says, or the entry's kind and its name, as `EtcdClusterBackup`.
    fn run_kind(
        &mut self,
        fields: &Fields<'_>,
        name: Option<&str>,
        kind: &str,
        earlier: &[Procedure],
    ) -> Option<String> {
        let run_kind = match fields.get("kind") {
            Some(_) => self.required(fields, "kind", "such as `EtcdBackup`", is_kind)?,
            None => format!("{kind}{}", in_pascal_case(name?)),
        };
        let is_same = |other: &str| run_kind.eq_ignore_ascii_case(other);
        if is_same(kind) || earlier.iter().any(|one| is_same(&one.run_kind)) {
            let message = format!("`{run_kind}` is another kind already");
            self.findings.problem(fields.node, &fields.key("kind"), message);
            return None;
        }
        if !is_kind(&run_kind) {
            let message = format!("`{run_kind}` is no kind: `kind` says another one");
            self.findings.problem(fields.node, &fields.path, message);
            return None;
        }
        Some(run_kind)
    }
}

/// `take-snapshot` as `TakeSnapshot`.
fn in_pascal_case(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut characters = word.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect::<String>()
    });
    words.collect()
}

/// A whole number from nought to `most`.
fn number(fields: &Fields<'_>, field: &str, most: i64, findings: &mut Findings) -> Option<u32> {
    let (_, node) = fields.get(field)?;
    if let Content::Int(number) = node.value
        && (0..=most).contains(&number)
    {
        return u32::try_from(number).ok();
    }
    let what = format!("a whole number from 0 to {most}");
    findings.expected(&what, node, &fields.key(field));
    None
}

/// A duration that is not nothing.
fn time(fields: &Fields<'_>, field: &str, findings: &mut Findings) -> Option<Duration> {
    let (time, node) = duration(fields, field, findings)?;
    if time.is_zero() {
        findings.problem(node, &fields.key(field), "nothing is done in no time");
    }
    Some(time)
}

fn duration<'a>(fields: &Fields<'a>, field: &str, findings: &mut Findings) -> Option<(Duration, &'a Node)> {
    let (_, node) = fields.get(field)?;
    let key = fields.key(field);
    let Some(text) = node.as_str() else {
        findings.expected("a duration such as `10m`", node, &key);
        return None;
    };
    let time = parse_duration(text).map_err(|error| findings.problem(node, &key, error));
    Some((time.ok()?, node))
}

fn history(fields: &Fields<'_>, findings: &mut Findings) -> RunHistory {
    let default = RunHistory::default();
    let Some((_, node)) = fields.get("history") else {
        return default;
    };
    let Some(fields) = Fields::read_all(node, fields.key("history"), HISTORY_FIELDS, findings) else {
        return default;
    };
    RunHistory {
        succeeded: number(&fields, "succeeded", MOST_KEPT, findings).unwrap_or(default.succeeded),
        failed: number(&fields, "failed", MOST_KEPT, findings).unwrap_or(default.failed),
    }
}
