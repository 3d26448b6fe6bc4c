//! Which values templates take in several types.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use steersman_chart::Outline;

/// An action that asks for the type of something.
static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{[^{}]*\b(?:kindIs|kindOf|typeIs|typeIsLike|typeOf)\b[^{}]*\}\}")
        .expect("the expression is valid")
});

/// The last field of a chain of fields.
static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\.([A-Za-z_][A-Za-z0-9_]*)(?:[^A-Za-z0-9_.]|$)").expect("the expression is valid")
});

/// The names of the values whose types templates of these charts ask for.
pub(super) fn varied(outline: &Outline) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(outline, &mut names);
    names.remove("Values");
    names
}

fn collect(outline: &Outline, names: &mut BTreeSet<String>) {
    for (_, text) in outline.templates() {
        for question in QUESTION.find_iter(text) {
            names.extend(
                FIELD
                    .captures_iter(question.as_str())
                    .map(|field| field[1].to_owned()),
            );
        }
    }
    for subchart in outline.subcharts() {
        collect(subchart, names);
    }
}
