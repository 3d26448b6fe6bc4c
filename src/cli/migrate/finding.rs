//! What is found, by subject and weight.

use std::fmt::Write as _;

use serde_json::Value;
use steersman_cluster::{CHART_LABEL, OWNER_UID_LABEL};
use steersman_operator::status::differing_fields;

use crate::cli::style::{Style, Tone, harmless};

/// So many fields of an object are named.
const FIELDS: usize = 8;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Nothing changes.
    #[default]
    Same,
    /// Something changes.
    Differs,
    /// Something does not work.
    Problem,
}

/// What `migrate --check` prints, in the order in which it was found.
#[derive(Debug, Default)]
pub(super) struct Report {
    subjects: Vec<Subject>,
}

/// What was looked at, and what was found.
#[derive(Debug)]
pub(super) struct Subject {
    name: String,
    findings: Vec<(Weight, String)>,
}

impl Subject {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            findings: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, weight: Weight, message: impl Into<String>) {
        self.findings.push((weight, message.into()));
    }
}

impl Report {
    pub(super) fn push(&mut self, subject: Subject) {
        self.subjects.push(subject);
    }

    /// The weight of the heaviest finding.
    pub(super) fn weight(&self) -> Weight {
        let findings = self.subjects.iter().flat_map(|subject| &subject.findings);
        findings.map(|(weight, _)| *weight).max().unwrap_or_default()
    }

    /// Everything as text, with the number of each weight.
    pub(super) fn describe(&self, style: Style) -> String {
        let mut text = String::new();
        let mut counts = [0, 0, 0];
        for subject in &self.subjects {
            let _ = writeln!(text, "{}", style.paint(Tone::Bold, &harmless(&subject.name)));
            for (weight, message) in &subject.findings {
                let (tone, word, place) = match weight {
                    Weight::Same => (Tone::Good, "same   ", 0),
                    Weight::Differs => (Tone::Doubtful, "differs", 1),
                    Weight::Problem => (Tone::Bad, "problem", 2),
                };
                counts[place] += 1;
                let message = harmless(message).replace('\n', "\n           ");
                let _ = writeln!(text, "  {}  {message}", style.paint(tone, word));
            }
        }
        let [same, differs, problems] = counts;
        let _ = writeln!(
            text,
            "\n{problems} problems, {differs} differences, {same} the same"
        );
        text
    }
}

/// The fields in which two states of an object differ, the marks of the operator apart. Names only: values may be
/// secret.
pub(super) fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let mut fields = differing_fields(&without_marks(before), &without_marks(after));
    if fields.len() > FIELDS {
        let more = fields.len() - FIELDS;
        fields.truncate(FIELDS);
        fields.push(format!("and {more} more"));
    }
    fields
}

/// What every object of a release gets, or has from helm-operator, in its metadata.
fn without_marks(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("ownerReferences");
        let marks = [
            OWNER_UID_LABEL,
            CHART_LABEL,
            "app.kubernetes.io/managed-by",
            "meta.helm.sh/release-name",
            "meta.helm.sh/release-namespace",
            "operator-sdk/primary-resource",
            "operator-sdk/primary-resource-type",
        ];
        for part in ["labels", "annotations"] {
            if let Some(map) = metadata.get_mut(part).and_then(Value::as_object_mut) {
                map.retain(|key, _| !marks.contains(&key.as_str()));
                if map.is_empty() {
                    metadata.remove(part);
                }
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_without_their_values() {
        let before = json!({"metadata": {"name": "a", "labels": {CHART_LABEL: "web", "tier": "a"}},
            "spec": {"ports": [{"port": 80}], "gone": 1, "list": [1]}});
        let after = json!({"metadata": {"name": "a", "labels": {OWNER_UID_LABEL: "u", "tier": "b"}, "ownerReferences": []},
            "spec": {"ports": [{"port": 81}], "new": 2, "list": [1, 2]}});
        assert_eq!(
            changed_fields(&before, &after),
            [
                "/metadata/labels/tier",
                "/spec/gone",
                "/spec/list",
                "/spec/new",
                "/spec/ports/0/port"
            ]
        );
        let marked = json!({"metadata": {"name": "a", "annotations": {"meta.helm.sh/release-name": "shop"}}});
        assert_eq!(
            changed_fields(&json!({"metadata": {"name": "a"}}), &marked),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_heaviest_finding_decides() {
        let mut report = Report::default();
        assert_eq!(report.weight(), Weight::Same);
        let mut subject = Subject::new("Web default/shop");
        subject.add(Weight::Same, "revision 2 would be taken over as it is");
        subject.add(Weight::Problem, "a\nb\u{1b}");
        report.push(subject);
        assert_eq!(report.weight(), Weight::Problem);
        expect![[r"
            Web default/shop
              same     revision 2 would be taken over as it is
              problem  a
                       b�

            1 problems, 0 differences, 1 the same
        "]]
        .assert_eq(&report.describe(Style::default()));
    }
}
