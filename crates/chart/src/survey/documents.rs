//! From what files can print to the objects in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::hooks::Hooks;
use super::output::{Output, Pieces, is_around, is_compatible};
use super::resolve::resolve;
use super::subject::Subject;
use super::text::{Mark, Text, UNKNOWN, Word};
use super::walk::Walk;
use super::{Definition, HookUse, Place, Source, Survey, Undetermined, roles};

/// Adds the objects in the output of a file.
pub(super) fn collect(walk: &Walk<'_>, template: &str, output: &[Output], survey: &mut Survey) {
    let pieces = Pieces::new(output, &|value| resolve(walk.subject, &walk.compared, value));
    if pieces.is_cut {
        survey.undetermined.push(Undetermined {
            place: Place {
                file: template.into(),
                line: 0,
            },
            message: "more output than is looked at".to_owned(),
        });
    }
    let text = Text { pieces: &pieces };
    let marks = text.marks();
    for (index, mark) in marks.iter().enumerate() {
        match mark.what {
            Word::Kind => object(&text, &marks, index, walk.subject, template, survey),
            Word::Anything => unknown(&marks, index, survey),
            _ => {}
        }
    }
}

/// The marks of the document in which a mark is, in all branches that go with it.
fn document(marks: &[Mark], index: usize, is_strict: bool) -> Vec<&Mark> {
    let Some(mark) = marks.get(index) else {
        return Vec::new();
    };
    let ends = |other: &&Mark| {
        let counts = if is_strict {
            is_compatible(&other.path, &mark.path)
        } else {
            is_around(&other.path, &mark.path)
        };
        !(other.what == Word::Separator && counts)
    };
    let goes_with = |other: &&Mark| is_compatible(&other.path, &mark.path);
    let before = marks.iter().take(index).rev().take_while(ends).filter(goes_with);
    let after = marks.iter().skip(index + 1).take_while(ends).filter(goes_with);
    before.chain(after).collect()
}

fn object(
    text: &Text<'_>,
    marks: &[Mark],
    index: usize,
    subject: &Subject<'_>,
    template: &str,
    survey: &mut Survey,
) {
    let Some(mark) = marks.get(index) else { return };
    let versions_of = |document: &[&Mark]| -> Vec<String> {
        let same = document
            .iter()
            .filter(|other| other.what == Word::ApiVersion && other.column == mark.column);
        same.flat_map(|other| other.endings.clone()).collect()
    };
    let mut around = document(marks, index, true);
    let mut versions = versions_of(&around);
    if versions.is_empty() {
        around = document(marks, index, false);
        versions = versions_of(&around);
    }
    let is_inside = around.iter().any(|other| {
        other.what == Word::Kind
            && other.column < mark.column
            && is_around(&other.path, &mark.path)
            && !other.endings.iter().any(|kind| kind.ends_with("List"))
    });
    if is_inside || versions.is_empty() {
        return;
    }
    let hooks = Hooks::of(mark, &around, &text.pieces.arms);
    // An operator runs tests on request alone.
    let survey = if hooks.are_tests() { survey.tests() } else { survey };
    let source = source(mark, &around, hooks.usage(), template);
    let mut kinds = BTreeSet::new();
    for kind in with_enumerated(&mark.endings, subject, is_kind, |_| false) {
        if kind.contains(UNKNOWN) {
            let message = format!("kind: {}", shown(&kind));
            survey.undetermined.push(Undetermined {
                place: mark.place.clone(),
                message,
            });
        } else if is_name(&kind) {
            kinds.insert(kind);
        }
    }
    let versions = with_enumerated(&versions, subject, is_clear_version, |letter| {
        "./".contains(letter)
    });
    for version in &versions {
        if version.contains(UNKNOWN) {
            // Which version of a group it is makes another kind of it no more than a known one.
            let group = version.split_once('/').map(|(group, _)| format!("{group}/"));
            let is_of_group = |other: &String| group.as_ref().is_some_and(|group| other.starts_with(group));
            if versions
                .iter()
                .any(|other| !other.contains(UNKNOWN) && is_of_group(other))
            {
                continue;
            }
            let message = format!("apiVersion: {} of {}", shown(version), join(&kinds));
            survey.undetermined.push(Undetermined {
                place: mark.place.clone(),
                message,
            });
        } else if is_api_version(version) {
            for kind in &kinds {
                let found = survey.object(version, kind);
                if !found.sources.contains(&source) {
                    found.sources.push(source.clone());
                }
            }
        }
    }
    if kinds.contains("Role") || kinds.contains("ClusterRole") {
        survey
            .roles
            .push(roles::role(text, mark, &around, kinds.contains("ClusterRole")));
    }
    if kinds
        .iter()
        .any(|kind| kind == "RoleBinding" || kind == "ClusterRoleBinding")
    {
        survey.bindings.extend(roles::binding(mark, &around));
    }
    if kinds.contains("CustomResourceDefinition") {
        survey.definitions.extend(definition(mark, &around));
    }
}

/// These texts, and in the place of one that a value decides those that the comment of the value enumerates, if they are
/// of the right form and a known one is among them.
fn with_enumerated(
    texts: &[String],
    subject: &Subject<'_>,
    is_right: fn(&str) -> bool,
    is_word: fn(char) -> bool,
) -> Vec<String> {
    let known: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
    let mut all = Vec::new();
    for text in texts {
        let value = text
            .strip_prefix(UNKNOWN)
            .and_then(|text| text.strip_suffix(UNKNOWN));
        let enumerated = value.map(|value| subject.enumerated(value, &known, is_word));
        let others = enumerated.into_iter().flatten().filter(|text| is_right(text));
        let others: Vec<String> = others.collect();
        if others.len() > 1 {
            all.extend(others);
        } else {
            all.push(text.clone());
        }
    }
    all
}

fn source(mark: &Mark, around: &[&Mark], hook: HookUse, template: &str) -> Source {
    let namespaces = around
        .iter()
        .filter(|other| other.what == Word::Namespace && other.column == mark.column + 2)
        .flat_map(|other| other.endings.iter())
        .filter(|name| is_name(name) && !name.contains(UNKNOWN))
        .cloned();
    Source {
        template: template.to_owned(),
        place: mark.place.clone(),
        hook,
        namespaces: namespaces.collect(),
    }
}

fn definition(mark: &Mark, around: &[&Mark]) -> Option<Definition> {
    let one = |what: Word| {
        let found = around
            .iter()
            .filter(|other| other.what == what && other.column > mark.column);
        let mut found = found.filter(|other| other.column <= mark.column + 4);
        found
            .next()?
            .endings
            .first()
            .filter(|text| !text.contains(UNKNOWN))
            .cloned()
    };
    Some(Definition {
        group: one(Word::Group)?,
        kind: one(Word::Kind)?,
        plural: one(Word::Plural)?,
        is_namespaced: one(Word::Scope)? == "Namespaced",
    })
}

/// Reports output that nobody knows, unless it is inside of an object.
fn unknown(marks: &[Mark], index: usize, survey: &mut Survey) {
    let Some(mark) = marks.get(index) else { return };
    let is_inside = document(marks, index, true)
        .iter()
        .any(|other| other.what == Word::Kind && is_around(&other.path, &mark.path));
    if !is_inside {
        let message = format!("objects of kinds that {} decides", mark.endings.join(", "));
        survey.undetermined.push(Undetermined {
            place: mark.place.clone(),
            message,
        });
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

/// Whether a word looks like a kind: `Job`, `StatefulSet`, `HTTPRoute`.
fn is_kind(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.contains(|letter: char| letter.is_ascii_lowercase())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric())
}

fn is_api_version(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '/');
    !text.is_empty() && text.chars().all(is_letter)
}

/// Whether a word in a sentence can be nothing but an API version: `v1`, `apps/v1`.
fn is_clear_version(text: &str) -> bool {
    let version = text.rsplit('/').next().unwrap_or_default();
    let number = version.strip_prefix('v').unwrap_or_default();
    is_api_version(text) && number.starts_with(|first: char| first.is_ascii_digit())
}

/// A text with what is not known in it named.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split(UNKNOWN).enumerate() {
        if index % 2 == 0 {
            out.push_str(part);
        } else {
            let _ = write!(out, "{{{{ {part} }}}}");
        }
    }
    out
}

fn join(kinds: &BTreeSet<String>) -> String {
    if kinds.is_empty() {
        return "an unknown kind".to_owned();
    }
    kinds.iter().cloned().collect::<Vec<_>>().join(", ")
}
