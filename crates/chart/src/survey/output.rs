//! What a template can print: a tree of texts and alternatives, and the same as a sequence of pieces.

use std::rc::Rc;

use super::Place;
use super::value::Abstract;

/// The outputs that a value can be printed as, and what decides where it can be something else.
pub(super) type Resolved = (Vec<Rc<[Output]>>, Option<Rc<str>>);
/// Says what a value can be.
pub(super) type Resolve<'a> = dyn Fn(&Abstract) -> Resolved + 'a;

/// A part of what a template can print.
#[derive(Clone, Debug)]
pub(super) enum Output {
    /// Literal characters, and the line that they come from.
    Text(Rc<str>, Place),
    /// A value of which not all is known.
    Value(Abstract, Place),
    /// Exactly one of these.
    Either(Vec<Rc<[Output]>>),
    /// The same with more space at the beginning of each line but the first.
    Indented(usize, Rc<[Output]>),
}

/// A piece of output, with the branches in which it is printed.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) content: Content,
    pub(super) place: Place,
    pub(super) path: Path,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Text(Rc<str>),
    /// Anything, because of what the text names.
    Open(Rc<str>),
}

/// The branches around a piece, from the outermost: the number of each, and which of its arms this is.
pub(super) type Path = Rc<[(u32, u32)]>;

/// Whether both can be printed in one run.
pub(super) fn is_compatible(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    // A branch has its number once, so that two paths are the same up to where they part.
    std::iter::zip(a, b)
        .find(|(a, b)| a != b)
        .is_none_or(|(a, b)| a.0 != b.0)
}

/// Whether whatever prints `inner` prints `outer`, too.
pub(super) fn is_around(outer: &[(u32, u32)], inner: &[(u32, u32)]) -> bool {
    inner.starts_with(outer)
}

/// Everything that a file can print, in order, alternatives one after the other.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// How many arms each branch has.
    pub(super) arms: Vec<u32>,
    /// Whether some were dropped, as there are too many.
    pub(super) is_cut: bool,
}

/// How many pieces of one file are looked at, and how much text.
const MAX_PIECES: usize = 300_000;
const MAX_BYTES: usize = 32 << 20;

impl Pieces {
    /// The pieces of this output. `resolve` says what a value can be: texts, and what else decides.
    pub(super) fn new(output: &[Output], resolve: &Resolve<'_>) -> Self {
        let mut flat = Flat {
            pieces: Self::default(),
            bytes: 0,
            resolve,
        };
        flat.all(output, &Path::from([]), 0);
        flat.pieces
    }
}

struct Flat<'a> {
    pieces: Pieces,
    bytes: usize,
    resolve: &'a Resolve<'a>,
}

impl Flat<'_> {
    fn all(&mut self, output: &[Output], path: &Path, indent: usize) {
        for part in output {
            if self.pieces.all.len() >= MAX_PIECES || self.bytes >= MAX_BYTES {
                self.pieces.is_cut = true;
                return;
            }
            steersman_gotemplate::stack::grow(|| self.one(part, path, indent));
        }
    }

    fn one(&mut self, part: &Output, path: &Path, indent: usize) {
        match part {
            Output::Text(text, place) => {
                let text = if indent > 0 && text.contains('\n') {
                    text.replace('\n', &format!("\n{}", " ".repeat(indent))).into()
                } else {
                    Rc::clone(text)
                };
                self.bytes += text.len();
                self.push(Content::Text(text), place, path);
            }
            Output::Value(value, place) => {
                let (known, open) = (self.resolve)(value);
                let arms = known.len() + usize::from(open.is_some());
                if let ([only], None) = (known.as_slice(), &open) {
                    return self.all(only, path, indent);
                }
                let branch = self.branch(arms);
                for (arm, known) in known.iter().enumerate() {
                    self.all(known, &below(path, branch, arm), indent);
                }
                if let Some(why) = open {
                    self.push(Content::Open(why), place, &below(path, branch, arms - 1));
                }
            }
            Output::Either(arms) => {
                if let [only] = arms.as_slice() {
                    return self.all(only, path, indent);
                }
                let branch = self.branch(arms.len());
                for (arm, output) in arms.iter().enumerate() {
                    self.all(output, &below(path, branch, arm), indent);
                }
            }
            Output::Indented(more, output) => self.all(output, path, (indent + more).min(200)),
        }
    }

    fn push(&mut self, content: Content, place: &Place, path: &Path) {
        self.pieces.all.push(Piece {
            content,
            place: place.clone(),
            path: Rc::clone(path),
        });
    }

    fn branch(&mut self, arms: usize) -> u32 {
        self.pieces.arms.push(arms as u32);
        self.pieces.arms.len() as u32 - 1
    }
}

fn below(path: &Path, branch: u32, arm: usize) -> Path {
    path.iter().copied().chain([(branch, arm as u32)]).collect()
}

/// The texts that this can be, if there are few and nothing else decides.
pub(super) fn texts(output: &[Output], resolve: &Resolve<'_>) -> Option<Vec<String>> {
    const MAX_TEXTS: usize = 32;
    const MAX_LENGTH: usize = 1 << 16;
    let mut found = vec![String::new()];
    for part in output {
        let next = match part {
            Output::Text(text, _) => {
                for found in &mut found {
                    found.push_str(text);
                }
                if found.iter().any(|found| found.len() > MAX_LENGTH) {
                    return None;
                }
                continue;
            }
            Output::Value(value, _) => {
                let (known, open) = resolve(value);
                if open.is_some() {
                    return None;
                }
                either(&known, resolve)?
            }
            Output::Either(arms) => either(arms, resolve)?,
            Output::Indented(indent, inner) => {
                let space = format!("\n{}", " ".repeat(*indent));
                let inner = texts(inner, resolve)?;
                inner.iter().map(|text| text.replace('\n', &space)).collect()
            }
        };
        let mut product = Vec::new();
        for before in &found {
            product.extend(next.iter().map(|text| format!("{before}{text}")));
        }
        product.sort();
        product.dedup();
        if product.len() > MAX_TEXTS || product.iter().any(|text| text.len() > MAX_LENGTH) {
            return None;
        }
        found = product;
    }
    Some(found)
}

fn either(arms: &[Rc<[Output]>], resolve: &Resolve<'_>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for arm in arms {
        found.extend(steersman_gotemplate::stack::grow(|| texts(arm, resolve))?);
    }
    found.sort();
    found.dedup();
    Some(found)
}
