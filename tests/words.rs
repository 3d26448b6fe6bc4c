//! A doc comment says something that its declaration does not say.
//!
//! Counted are comments of one line. When the small words are taken out of such a line, and each word that is left
//! stands in the declaration, in the name of its module, or in that of the type or trait that it belongs to, then the
//! line only repeats a name. `/// The name.` over `name: String` does, and so does `/// The object.` over
//! `id: Box<ObjectId>`.
//!
//! `WORDS_ROOTS='src' cargo test --test words` looks at other folders than those of [`ROOTS`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// The folders that are looked at; code that comes into one of them is held to this.
const ROOTS: &[&str] = &[
    "crates/ansible/src",
    "crates/chart/src",
    "crates/cluster/src",
    "crates/gotemplate/src",
    "crates/image/src",
    "crates/kustomize/src",
    "crates/model/src",
    "crates/operator/src",
    "crates/project/src",
    "crates/proxy/src",
    "crates/registry/src",
    "crates/sprig/src",
    "crates/testkit/src",
    "crates/watches/src",
    "crates/yaml/src",
    "src",
];

/// Words that say nothing about the thing that they are said of.
const SMALL_WORDS: &str = "\
    a s about all an and any are as at be been both but by can each every for from get give given has \
    have here how if in into is it its itself many made make more no nor not of off on one only or other \
    out return same set so some such than that the their them then there these they thing this those to \
    under up us use used was we what when where whether which while who whose with yet";

#[test]
fn no_comment_of_one_line_only_repeats_a_name() {
    let small: BTreeSet<String> = words(SMALL_WORDS).collect();
    let mut seen = 0;
    let mut repeating = Vec::new();
    for file in roots().iter().flat_map(|root| rust_files(root)) {
        let text = read(&file);
        let inside = file.strip_prefix(package()).unwrap_or(&file);
        for item in documented(&text, &module_name(&file)) {
            seen += 1;
            if item.repeats_a_name(&small) {
                repeating.push(format!("{}:{item}", inside.display()));
            }
        }
    }
    assert!(seen > 0, "no comment of one line was found");
    assert!(
        repeating.is_empty(),
        "{} of {seen} comments of one line say what a name says already:\n{}",
        repeating.len(),
        repeating.join("\n")
    );
}

#[test]
fn names_parents_types_and_modules_are_repeated() {
    let source = r"//! Releases.

/// A release.
pub struct Release {
    /// The name.
    pub name: String,
    /// The object.
    #[serde(
        rename = 'id'
    )]
    id: Box<ObjectId>,
    /// At most 53 characters.
    limit: usize,
}

impl Release {
    /// What the releases are called.
    /// Names, that is.
    fn names(&self) {}

    /// Is released.
    fn is_released(
        &self,
    ) -> bool {
        true
    }
}

/// The states.
enum State {
    /// `pending-install`
    PendingInstall,
    /// Each object is there.
    Deployed {
        /// Its revision.
        revision: u64,
    },
}

/// The width of a state in a table, in columns.
const WIDTH: usize = 9;

#[cfg(test)]
mod tests {
    /// The name.
    fn name() {}
}
";
    let small: BTreeSet<String> = words(SMALL_WORDS).collect();
    let items = documented(source, "release");
    let (repeating, telling): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| item.repeats_a_name(&small));
    let comments = |items: &[&Item]| items.iter().map(|item| item.comment.clone()).collect::<Vec<_>>();
    assert_eq!(
        comments(&repeating),
        [
            "Releases.",
            "A release.",
            "The name.",
            "The object.",
            "Is released.",
            "The states.",
            "`pending-install`",
            "Its revision.",
        ]
    );
    assert_eq!(
        comments(&telling),
        [
            "At most 53 characters.",
            "Each object is there.",
            "The width of a state in a table, in columns.",
        ]
    );
}

/// A declaration, or a module, with a comment of one line.
struct Item {
    line: usize,
    comment: String,
    declaration: String,
    /// The heads of the declarations around it, outermost first, after the name of the module.
    around: Vec<String>,
}

impl Item {
    fn repeats_a_name(&self, small: &BTreeSet<String>) -> bool {
        let around = self.around.iter().flat_map(|head| words(head));
        let known: BTreeSet<String> = words(&self.declaration).chain(around).collect();
        words(&self.comment).all(|word| small.contains(&word) || known.contains(&word))
    }
}

impl fmt::Display for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            comment,
            declaration,
            ..
        } = self;
        write!(formatter, "{line}: `{declaration}` is said to be: {comment}")
    }
}

/// Everything in a file that has a comment of one line; test modules are left out. The file is read by its lines,
/// which rustfmt has laid out: what is further in than a head belongs to it.
fn documented(text: &str, module: &str) -> Vec<Item> {
    let lines: Vec<&str> = text.lines().collect();
    let mut items: Vec<Item> = module_comment(&lines, module).into_iter().collect();
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim();
        if line.is_empty() {
            at += 1;
            continue;
        }
        if line == "#[cfg(test)]" {
            at = after_block(&lines, at + 1);
            continue;
        }
        let depth = indent(lines[at]);
        around.retain(|(outer, _)| *outer < depth);
        let start = at;
        while at < lines.len() && lines[at].trim().starts_with("///") {
            at += 1;
        }
        if at == start {
            if is_head(line) {
                around.push((depth, head(line).to_owned()));
            }
            at += 1;
        } else if at == start + 1 {
            at = after_attributes(&lines, at);
            let heads = around.iter().map(|(_, head)| head.clone());
            items.push(Item {
                line: start + 1,
                comment: line.trim_start_matches('/').trim().to_owned(),
                declaration: declaration(&lines, at),
                around: std::iter::once(module.to_owned()).chain(heads).collect(),
            });
        }
    }
    items
}

/// The comment at the top of a file, which is about its module.
fn module_comment(lines: &[&str], module: &str) -> Option<Item> {
    let comment = lines.first()?.strip_prefix("//!")?;
    let alone = lines.get(1).is_none_or(|next| !next.starts_with("//!"));
    alone.then(|| Item {
        line: 1,
        comment: comment.trim().to_owned(),
        declaration: format!("mod {module}"),
        around: Vec::new(),
    })
}

/// A declaration as far as it has names: a function up to its body, a constant up to its value, anything else on its
/// first line.
fn declaration(lines: &[&str], at: usize) -> String {
    let mut text = String::new();
    for line in lines[at..].iter().map(|line| line.trim()) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
        let is_function = text.contains("fn ") && !text.starts_with("type ");
        if !is_function || line.ends_with(['{', ';', '}', ',']) && text.contains(')') && is_closed(&text) {
            break;
        }
    }
    head(&text).to_owned()
}

fn is_closed(text: &str) -> bool {
    text.matches('(').count() == text.matches(')').count()
}

/// A line without its body or value.
fn head(line: &str) -> &str {
    let end = line
        .find(" {")
        .or_else(|| line.find(" = "))
        .or_else(|| line.find(" where "))
        .unwrap_or(line.len());
    line[..end].trim_end_matches([',', ';'])
}

/// Whether what follows further in belongs to this line: a type, a trait, their implementation, a module, a variant.
fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split([' ', '<']).collect();
    let is_item = ["struct", "enum", "union", "trait", "impl", "mod"]
        .iter()
        .any(|keyword| words.contains(keyword));
    let is_variant = words.len() == 2 && words[0].chars().all(char::is_alphanumeric);
    line.ends_with('{') && (is_item || is_variant && line.starts_with(char::is_uppercase))
}

fn after_attributes(lines: &[&str], mut at: usize) -> usize {
    let mut open = 0;
    while at < lines.len() {
        let line = lines[at].trim();
        if open == 0 && !line.starts_with("#[") && !line.starts_with("//") {
            break;
        }
        open += line.matches('[').count();
        open -= line.matches(']').count().min(open);
        at += 1;
    }
    at
}

/// The line after an item that has a body of lines, or none.
fn after_block(lines: &[&str], at: usize) -> usize {
    let at = after_attributes(lines, at);
    let Some(line) = lines.get(at) else { return at };
    if !line.ends_with('{') {
        return at + 1;
    }
    let close = format!("{}}}", &line[..indent(line)]);
    let body = lines[at..].iter().position(|line| **line == close);
    body.map_or(lines.len(), |length| at + length + 1)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a text, as [`stem`] has them; `CamelCase` and `snake_case` are several.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_last_capital = letter.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase());
        let is_first_capital = letter.is_uppercase() && !before.is_uppercase();
        let is_number = letter.is_numeric() != before.is_numeric();
        if is_last_capital || is_first_capital || is_number {
            words.push(String::new());
        }
        match words.last_mut() {
            Some(word) if letter.is_alphanumeric() => word.extend(letter.to_lowercase()),
            _ => words.push(String::new()),
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words.into_iter().map(|word| stem(&word))
}

/// A word without its ending: `releases`, `released` and `releasing` are one.
fn stem(word: &str) -> String {
    let cut = |word: &str, ending: &str| {
        let rest = word.strip_suffix(ending)?;
        (rest.chars().count() >= 3).then(|| rest.to_owned())
    };
    let word = cut(word, "ies").map_or_else(|| word.to_owned(), |rest| rest + "y");
    let word = cut(&word, "s")
        .filter(|rest| !rest.ends_with('s'))
        .unwrap_or(word);
    let endings = ["ing", "ed", "er", "or", "e"];
    let word = endings
        .iter()
        .find_map(|ending| cut(&word, ending))
        .unwrap_or(word);
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() > 3 && letters[letters.len() - 1] == letters[letters.len() - 2] {
        letters.pop();
    }
    letters.into_iter().collect()
}

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn roots() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test has no configuration but this")]
    let other = std::env::var("WORDS_ROOTS").ok();
    match other {
        Some(roots) => roots
            .split_whitespace()
            .map(|root| package().join(root))
            .collect(),
        None => ROOTS.iter().map(|root| package().join(root)).collect(),
    }
}

/// The files of a folder, and of those in it, that are part of a program or library.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    entries.sort();
    let for_tests = entries
        .iter()
        .filter(|path| ["lib.rs", "mod.rs"].iter().any(|name| path.ends_with(name)))
        .flat_map(|path| test_modules(&read(path)))
        .collect::<BTreeSet<String>>();
    let mut files = Vec::new();
    for path in entries {
        if for_tests.contains(&module_name(&path)) {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The modules with files of their own that only tests are compiled with.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    pairs
        .filter_map(|pair| pair[1].split("mod ").nth(1)?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// The name of a file's module, or of the crate.
fn module_name(file: &Path) -> String {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut path = file;
    while ["mod.rs", "lib.rs", "main.rs", "src"]
        .iter()
        .any(|name| path.ends_with(name))
    {
        path = path.parent().unwrap_or(Path::new(""));
    }
    stem(path).unwrap_or_default()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a readable source file")
}
