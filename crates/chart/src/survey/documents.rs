//! From what files can print to the objects in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use super::output::{Content, Output, Path, Piece, Pieces, is_around, is_compatible};
use super::walk::{Walk, resolve};
use super::{Binding, Definition, HookUse, Place, Source, Survey, Undetermined, roles};

/// How many pieces before or after one are looked at to find out what its line begins or ends with.
const REACH: usize = 400;
/// How many endings of one line are told apart.
const MAX_ENDINGS: usize = 64;
/// Stands for what is not known in a line.
pub(super) const UNKNOWN: char = '\u{1}';

/// A line that says what a document is.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) what: Word,
    /// The column of the key.
    pub(super) column: usize,
    /// What follows the key, in each branch.
    pub(super) endings: Vec<String>,
    pub(super) path: Path,
    pub(super) place: Place,
    /// The piece, and the byte in it at which what follows the key begins.
    pub(super) at: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Separator,
    ApiVersion,
    Kind,
    Hook,
    Namespace,
    Name,
    Rules,
    AggregationRule,
    RoleRef,
    Subjects,
    Group,
    Plural,
    Scope,
    /// Something that nobody knows begins in the first column.
    Anything,
}

const WORDS: &[(&str, Word)] = &[
    ("apiVersion", Word::ApiVersion),
    ("kind", Word::Kind),
    ("helm.sh/hook", Word::Hook),
    ("namespace", Word::Namespace),
    ("name", Word::Name),
    ("rules", Word::Rules),
    ("aggregationRule", Word::AggregationRule),
    ("roleRef", Word::RoleRef),
    ("subjects", Word::Subjects),
    ("group", Word::Group),
    ("plural", Word::Plural),
    ("scope", Word::Scope),
];

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
            Word::Kind => object(&text, &marks, index, template, survey),
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

fn object(text: &Text<'_>, marks: &[Mark], index: usize, template: &str, survey: &mut Survey) {
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
    let source = source(mark, &around, template);
    let mut kinds = BTreeSet::new();
    for kind in &mark.endings {
        if kind.contains(UNKNOWN) {
            let message = format!("kind: {}", shown(kind));
            survey.undetermined.push(Undetermined {
                place: mark.place.clone(),
                message,
            });
        } else if is_name(kind) {
            kinds.insert(kind.clone());
        }
    }
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
        survey.bindings.extend(binding(mark, &around));
    }
    if kinds.contains("CustomResourceDefinition") {
        survey.definitions.extend(definition(mark, &around));
    }
}

fn source(mark: &Mark, around: &[&Mark], template: &str) -> Source {
    let hooks: Vec<_> = around.iter().filter(|other| other.what == Word::Hook).collect();
    let hook = if hooks.iter().any(|other| is_around(&other.path, &mark.path)) {
        HookUse::Always
    } else if hooks.is_empty() {
        HookUse::Never
    } else {
        HookUse::Sometimes
    };
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

fn binding(mark: &Mark, around: &[&Mark]) -> Option<Binding> {
    let reference = around.iter().find(|other| other.what == Word::RoleRef)?;
    // The keys under `roleRef`, up to the next key of the document; subjects have these keys as well.
    let next = around
        .iter()
        .filter(|other| other.at > reference.at && other.column <= reference.column)
        .map(|other| other.at)
        .min()
        .unwrap_or((usize::MAX, 0));
    let below = |what: Word| {
        around.iter().filter(move |other| {
            other.what == what
                && other.at > reference.at
                && other.at < next
                && other.column > reference.column
                && other.column <= reference.column + 4
        })
    };
    let first = below(Word::Kind).map(|other| other.at).min()?;
    let kinds: Vec<&String> = below(Word::Kind)
        .filter(|other| other.at.0 <= first.0 + REACH)
        .flat_map(|other| &other.endings)
        .collect();
    let names: Vec<&String> = below(Word::Name).flat_map(|other| &other.endings).collect();
    Some(Binding {
        is_cluster_role: kinds.iter().any(|kind| *kind == "ClusterRole"),
        names: names
            .iter()
            .filter(|name| is_role_name(name))
            .map(|name| (*name).clone())
            .collect(),
        is_open: names.is_empty() || names.iter().any(|name| name.contains(UNKNOWN)),
        place: mark.place.clone(),
    })
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

/// The output of a file as text with branches.
pub(super) struct Text<'p> {
    pub(super) pieces: &'p Pieces,
}

impl Text<'_> {
    fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (index, piece) in self.pieces.all.iter().enumerate() {
            match &piece.content {
                Content::Text(text) => self.marks_of(index, text, piece, &mut marks),
                Content::Open(why) => {
                    if self.column_before(index) == Some(0) {
                        marks.push(Mark {
                            what: Word::Anything,
                            column: 0,
                            endings: vec![why.to_string()],
                            path: Rc::clone(&piece.path),
                            place: piece.place.clone(),
                            at: (index, 0),
                        });
                    }
                }
            }
        }
        marks
    }

    fn marks_of(&self, index: usize, text: &str, piece: &Piece, marks: &mut Vec<Mark>) {
        let mut start = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let begin = start;
            start += line.len();
            let Some((what, column, after)) = word(line) else {
                continue;
            };
            let before = if begin == 0 {
                self.column_before(index)
            } else {
                Some(0)
            };
            let Some(before) = before else { continue };
            let at = (index, begin + after);
            let endings = match what {
                Word::Separator => {
                    if before + column > 0 {
                        continue;
                    }
                    Vec::new()
                }
                Word::Rules | Word::AggregationRule | Word::RoleRef | Word::Subjects | Word::Hook => {
                    Vec::new()
                }
                _ => self.endings(at, &piece.path),
            };
            marks.push(Mark {
                what,
                column: before + column,
                endings,
                path: Rc::clone(&piece.path),
                place: Place {
                    file: Arc::clone(&piece.place.file),
                    line: piece.place.line + number,
                },
                at,
            });
        }
    }

    /// How much white space can be between the beginning of the line and a piece; none where something else is.
    fn column_before(&self, index: usize) -> Option<usize> {
        let path = &self.pieces.all.get(index)?.path;
        let mut column = 0;
        let before = self.pieces.all.get(..index)?.iter().rev().take(REACH);
        for piece in before.filter(|piece| is_compatible(&piece.path, path)) {
            let is_certain = is_around(&piece.path, path);
            let Content::Text(text) = &piece.content else {
                if is_certain {
                    return None;
                }
                continue;
            };
            let (is_begun, tail) = match text.rfind('\n') {
                Some(at) => (true, text.get(at + 1..).unwrap_or_default()),
                None => (false, text.as_ref()),
            };
            if !tail.trim_matches([' ', '\r']).is_empty() {
                if is_certain {
                    return None;
                }
                continue;
            }
            column += tail.len();
            if is_begun {
                return Some(column);
            }
        }
        Some(column)
    }

    /// The ends of the line after a byte of a piece, one for each way through the branches.
    fn endings(&self, (index, byte): (usize, usize), path: &Path) -> Vec<String> {
        let mut found: Vec<String> = self
            .raw_endings((index, byte), path)
            .iter()
            .map(|text| plain(text))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn raw_endings(&self, (index, byte): (usize, usize), path: &Path) -> Vec<String> {
        let mut chosen: Vec<(u32, u32)> = path.to_vec();
        let mut found = Vec::new();
        self.follow(index, byte, &mut chosen, String::new(), &mut found);
        found
    }

    fn follow(
        &self,
        start: usize,
        byte: usize,
        chosen: &mut Vec<(u32, u32)>,
        mut text: String,
        found: &mut Vec<String>,
    ) {
        let (mut byte, mut index) = (byte, start);
        while let Some(piece) = self.pieces.all.get(index) {
            if found.len() >= MAX_ENDINGS || index > start + REACH {
                return;
            }
            let undecided = match decision(&piece.path, chosen) {
                Decision::Taken => None,
                Decision::Left => {
                    index += 1;
                    byte = 0;
                    continue;
                }
                Decision::Open(branch) => Some(branch),
            };
            if let Some(branch) = undecided {
                let arms = self.pieces.arms.get(branch as usize).copied().unwrap_or(1);
                for arm in 0..arms {
                    chosen.push((branch, arm));
                    steersman_gotemplate::stack::grow(|| {
                        self.follow(index, byte, chosen, text.clone(), found);
                    });
                    chosen.pop();
                }
                return;
            }
            match &piece.content {
                Content::Open(why) => {
                    text.push(UNKNOWN);
                    text.push_str(why);
                    text.push(UNKNOWN);
                }
                Content::Text(more) => {
                    let more = more.get(byte..).unwrap_or_default();
                    if let Some((line, _)) = more.split_once('\n') {
                        // White space that came from a value may begin with a new line.
                        text.push_str(line);
                        found.push(text);
                        return;
                    }
                    text.push_str(more);
                }
            }
            index += 1;
            byte = 0;
        }
        found.push(text);
    }

    /// The lines after a byte of a piece up to the end of the document, as far as they go with `path`. A line that
    /// differs from branch to branch is there in each form.
    pub(super) fn lines_after(&self, (index, byte): (usize, usize), path: &Path) -> Vec<String> {
        const MAX_LINES: usize = 20_000;
        let mut lines = Vec::new();
        let mut begin = Some((index, byte));
        for (index, piece) in self.pieces.all.iter().enumerate().skip(index) {
            let Content::Text(text) = &piece.content else {
                continue;
            };
            if !is_compatible(&piece.path, path) {
                continue;
            }
            let first = begin.take().map(|(_, byte)| byte);
            let from = first.unwrap_or(0);
            let starts = text.get(from..).unwrap_or_default().match_indices('\n');
            let starts = first.into_iter().chain(starts.map(|(at, _)| from + at + 1));
            for start in starts {
                let mut found = self.raw_endings((index, start), &piece.path);
                found.sort();
                found.dedup();
                let ends = found.iter().any(|line| line.starts_with("---")) && is_around(&piece.path, path);
                if ends || lines.len() > MAX_LINES {
                    return lines;
                }
                lines.extend(found);
            }
        }
        lines
    }
}

enum Decision {
    Taken,
    Left,
    Open(u32),
}

/// Whether what is printed in these branches is printed after these choices.
fn decision(path: &[(u32, u32)], chosen: &[(u32, u32)]) -> Decision {
    for (branch, arm) in path {
        match chosen.iter().find(|(known, _)| known == branch) {
            None => return Decision::Open(*branch),
            Some((_, taken)) if taken != arm => return Decision::Left,
            Some(_) => {}
        }
    }
    Decision::Taken
}

/// The key of a line that matters, its column, and the byte after its colon.
fn word(line: &str) -> Option<(Word, usize, usize)> {
    let space = line.len() - line.trim_start_matches(' ').len();
    let mut rest = line.get(space..)?;
    if space == 0 && rest.starts_with("---") {
        return Some((Word::Separator, 0, 3));
    }
    let mut column = space;
    while let Some(inner) = rest.strip_prefix("- ") {
        let more = inner.len() - inner.trim_start_matches(' ').len();
        column += 2 + more;
        rest = inner.get(more..)?;
    }
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
    let bare = quote.map_or(rest, |quote| rest.trim_start_matches(quote));
    let (text, word) = WORDS.iter().find(|(text, _)| bare.starts_with(text))?;
    let mut after = bare.get(text.len()..)?;
    if let Some(quote) = quote {
        after = after.strip_prefix(quote)?;
    }
    let after = after.trim_start_matches(' ').strip_prefix(':')?;
    Some((*word, column, line.len() - after.len()))
}

/// A scalar without quotes and comment.
pub(super) fn plain(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote)
            && let Some((inner, _)) = inner.split_once(quote)
        {
            return inner.trim().to_owned();
        }
    }
    let end = text.find(" #").unwrap_or(text.len());
    let text = text.get(..end).unwrap_or_default().trim();
    if text.starts_with('#') {
        String::new()
    } else {
        text.to_owned()
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

fn is_role_name(text: &str) -> bool {
    !text.is_empty() && !text.contains([UNKNOWN, ' ', '{'])
}

fn is_api_version(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '/');
    !text.is_empty() && text.chars().all(is_letter)
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
