//! What a file can print as text with branches: its lines, and those among them that say what a document is.

use std::rc::Rc;
use std::sync::Arc;

use super::Place;
use super::output::{Content, Path, Piece, Pieces, is_around, is_compatible};
use crate::manifest::HOOK;

/// How many pieces before or after one are looked at to find out what its line begins or ends with.
pub(super) const REACH: usize = 400;
/// How many endings of one line are told apart.
const MAX_ENDINGS: usize = 64;
/// Stands for what is not known in a line.
pub(super) const UNKNOWN: char = '\u{1}';
/// The same in a text that is read as YAML.
pub(super) const UNKNOWN_IN_FLOW: &str = "_unknown_";

/// A line that says what a document is.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) what: Word,
    /// The column of the key.
    pub(super) column: usize,
    /// What follows the key, in each branch, without quotes and comments.
    pub(super) endings: Vec<String>,
    pub(super) path: Path,
    pub(super) place: Place,
    /// Where what follows the key begins.
    pub(super) at: Position,
    /// Of an annotation, the column of the object in whose metadata it is.
    pub(super) owner: Option<usize>,
}

/// A place in what can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// An index into `Pieces::all`.
    pub(super) piece: usize,
    /// From the beginning of its text; 0 where that is unknown.
    pub(super) byte: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Separator,
    ApiVersion,
    Kind,
    Metadata,
    Annotations,
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
    ("metadata", Word::Metadata),
    ("annotations", Word::Annotations),
    (HOOK, Word::Hook),
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

/// The output of a file as text with branches.
pub(super) struct Text<'p> {
    pub(super) pieces: &'p Pieces,
}

impl Text<'_> {
    /// The lines that say what documents are, in order.
    pub(super) fn marks(&self) -> Vec<Mark> {
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
                            at: Position {
                                piece: index,
                                byte: 0,
                            },
                            owner: None,
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
            let at = Position {
                piece: index,
                byte: begin + after,
            };
            let endings = match what {
                Word::Separator => {
                    if before + column > 0 {
                        continue;
                    }
                    Vec::new()
                }
                Word::Rules | Word::AggregationRule | Word::RoleRef | Word::Subjects => Vec::new(),
                _ => self.endings(at, &piece.path),
            };
            let mut mark = Mark {
                what,
                column: before + column,
                endings,
                path: Rc::clone(&piece.path),
                place: Place {
                    file: Arc::clone(&piece.place.file),
                    line: piece.place.line + number,
                },
                at,
                owner: None,
            };
            let hook = match mark.what {
                Word::Hook => {
                    mark.owner = owner(marks, &mark);
                    None
                }
                Word::Annotations => of_flow(&mark, owner(marks, &mark)),
                Word::Metadata => of_flow(&mark, Some(mark.column)),
                _ => None,
            };
            marks.push(mark);
            marks.extend(hook);
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

    /// The ends of the line after `at`, one for each way through the branches.
    fn endings(&self, at: Position, path: &Path) -> Vec<String> {
        let mut found: Vec<String> = self
            .raw_endings(at, path)
            .iter()
            .map(|text| plain(text))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn raw_endings(&self, at: Position, path: &Path) -> Vec<String> {
        let mut chosen: Vec<(u32, u32)> = path.to_vec();
        let mut found = Vec::new();
        self.follow(at, &mut chosen, String::new(), &mut found);
        found
    }

    fn follow(&self, at: Position, chosen: &mut Vec<(u32, u32)>, mut text: String, found: &mut Vec<String>) {
        let Position {
            piece: mut index,
            mut byte,
        } = at;
        while let Some(piece) = self.pieces.all.get(index) {
            if found.len() >= MAX_ENDINGS || index > at.piece + REACH {
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
                        let at = Position { piece: index, byte };
                        self.follow(at, chosen, text.clone(), found);
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

    /// The lines after `at` up to the end of the document, as far as they go with `path`. A line that
    /// differs from branch to branch is there in each form.
    pub(super) fn lines_after(&self, at: Position, path: &Path) -> Vec<String> {
        const MAX_LINES: usize = 20_000;
        let mut lines = Vec::new();
        let mut begin = Some(at.byte);
        for (index, piece) in self.pieces.all.iter().enumerate().skip(at.piece) {
            let Content::Text(text) = &piece.content else {
                continue;
            };
            if !is_compatible(&piece.path, path) {
                continue;
            }
            let first = begin.take();
            let from = first.unwrap_or(0);
            let starts = text.get(from..).unwrap_or_default().match_indices('\n');
            let starts = first.into_iter().chain(starts.map(|(at, _)| from + at + 1));
            for start in starts {
                let mut found = self.raw_endings(
                    Position {
                        piece: index,
                        byte: start,
                    },
                    &piece.path,
                );
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

/// The column of the object in whose metadata an annotation is, or the key `annotations`. `marks` are those before it.
fn owner(marks: &[Mark], mark: &Mark) -> Option<usize> {
    let before = marks.iter().rev().take(REACH);
    let mut around = before.filter(|other| {
        matches!(other.what, Word::Metadata | Word::Annotations | Word::Separator)
            && (other.column < mark.column || other.what == Word::Separator)
            && is_compatible(&other.path, &mark.path)
    });
    let mut nearest = around.next()?;
    if mark.what == Word::Hook {
        if nearest.what != Word::Annotations {
            return None;
        }
        nearest = around.find(|other| other.what != Word::Annotations)?;
    }
    (nearest.what == Word::Metadata).then_some(nearest.column)
}

/// The hook that annotations in a flow mapping make: `annotations: {helm.sh/hook: test}`, or the same of the whole
/// metadata, of the object in the column `owner`.
fn of_flow(mark: &Mark, owner: Option<usize>) -> Option<Mark> {
    let hook = |text: &String| -> Option<String> {
        if !text.starts_with('{') || !text.contains(HOOK) {
            return None;
        }
        let mapping = steersman_yaml::to_json(&text.replace(UNKNOWN, UNKNOWN_IN_FLOW)).ok()?;
        let annotations = match mark.what {
            Word::Metadata => mapping.get("annotations")?,
            _ => &mapping,
        };
        let events = annotations.get(HOOK)?.as_str()?;
        Some(events.replace(UNKNOWN_IN_FLOW, &UNKNOWN.to_string()))
    };
    let events: Vec<Option<String>> = mark.endings.iter().map(hook).collect();
    events.iter().any(Option::is_some).then(|| Mark {
        what: Word::Hook,
        column: mark.column + 1,
        endings: events.into_iter().map(Option::unwrap_or_default).collect(),
        path: Rc::clone(&mark.path),
        place: mark.place.clone(),
        at: mark.at,
        owner,
    })
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
