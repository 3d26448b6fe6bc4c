//! Which modules of a crate use which, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::code::{Token, tokens};

/// By module of a crate, those that it uses and an example of it; modules are files and folders beside each other.
pub(crate) type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// What the modules directly in `source`, the folder with `lib.rs`, use of each other. What is compiled for tests alone
/// is left out. A name that `lib.rs` publishes counts as the module that it comes from.
pub(crate) fn uses_in(source: &Path, files: &[PathBuf]) -> Uses {
    let sources: Vec<(Vec<String>, String)> = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).expect("a readable source file");
            (module_of(source, file), text)
        })
        .collect();
    let read: Vec<(&Path, &Vec<String>, Code)> = files
        .iter()
        .zip(&sources)
        .map(|(file, (module, text))| (file.as_path(), module, product_code(module, text)))
        .collect();
    let for_tests: Vec<&Vec<String>> = read.iter().flat_map(|(_, _, code)| &code.test_modules).collect();
    let product = read
        .iter()
        .filter(|(_, module, _)| !for_tests.iter().any(|test| module.starts_with(test)));

    let modules: BTreeSet<&String> = sources.iter().filter_map(|(module, _)| module.first()).collect();
    let published = published(&sources);
    let mut uses = Uses::new();
    for (file, module, code) in product {
        let Some(from) = module.first() else { continue };
        for path in &code.paths {
            let Some(to) = path.first().map(|name| published.get(name).unwrap_or(name)) else {
                continue;
            };
            if from != to && modules.contains(to) {
                let example = format!("{} uses {}", file.display(), path.join("::"));
                let targets = uses.entry(from.clone()).or_default();
                targets.entry(to.clone()).or_insert(example);
            }
        }
    }
    uses
}

/// A circle among modules, as its members in order, if there is one.
pub(crate) fn circle(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys()
        .find_map(|start| visit(uses, start, &mut Vec::new(), &mut done))
}

fn visit(
    uses: &Uses,
    module: &str,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = trail.iter().position(|other| other == module) {
        return Some(trail[start..].to_vec());
    }
    if done.contains(module) {
        return None;
    }
    trail.push(module.to_owned());
    let found = uses
        .get(module)
        .and_then(|targets| targets.keys().find_map(|next| visit(uses, next, trail, done)));
    trail.pop();
    done.insert(module.to_owned());
    found
}

/// The module that a file is: `apply/hook/run.rs` is `[apply, hook, run]`, `lib.rs` is `[]`.
fn module_of(source: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source).expect("a file of the crate");
    let mut module: Vec<String> = inside
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        module.pop();
    }
    module
}

/// The names that the root publishes under its own path, each with the module that it comes from.
fn published(sources: &[(Vec<String>, String)]) -> BTreeMap<String, String> {
    let mut published = BTreeMap::new();
    for (_, text) in sources.iter().filter(|(module, _)| module.is_empty()) {
        let tokens = tokens(text);
        for (at, _) in tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| **token == Token::Word("use"))
        {
            let mut trees = Vec::new();
            read_tree(&tokens, at + 1, &mut Vec::new(), &mut trees);
            for (path, name) in trees.iter().filter(|(path, _)| path.len() > 1) {
                published.insert(name.clone(), path[0].clone());
            }
        }
    }
    published
}

/// What the product's part of a file says of modules.
#[derive(Default)]
struct Code {
    /// What it names of its crate, from the root of that.
    paths: Vec<Vec<String>>,
    /// The modules that it declares for tests alone.
    test_modules: Vec<Vec<String>>,
}

/// Reads a file. `super` is what it means where it stands: in `mod inner { … }` it is the file's own module.
fn product_code(module: &[String], text: &str) -> Code {
    let tokens = tokens(text);
    let mut code = Code::default();
    let mut module = module.to_vec();
    let mut depth = 0_usize;
    let mut inline: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at..] {
            [
                Token::Sign('#'),
                Token::Sign('['),
                Token::Word("cfg"),
                Token::Sign('('),
                Token::Word("test"),
                ..,
            ] => {
                let item = after_attributes(&tokens, at);
                let end = after_item(&tokens, item);
                code.test_modules
                    .extend(declared_module(&tokens[item..end]).map(|name| child(&module, name)));
                at = end;
                continue;
            }
            [Token::Word("mod"), Token::Word(name), Token::Sign('{'), ..] => {
                module.push(name.to_owned());
                inline.push(depth);
                depth += 1;
                at += 2;
            }
            [Token::Sign('{'), ..] => depth += 1,
            [Token::Sign('}'), ..] => {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
            }
            [Token::Word("crate" | "super"), Token::Colons, ..] if !is_inside(&tokens[..at]) => {
                let mut trees = Vec::new();
                read_tree(&tokens, at, &mut Vec::new(), &mut trees);
                let resolved = trees.iter().filter_map(|(path, _)| resolve(&module, path));
                code.paths.extend(resolved);
            }
            _ => {}
        }
        at += 1;
    }
    code
}

/// Whether the next word goes on with a path, or says where something is visible: `pub(in crate::load)`.
fn is_inside(before: &[Token<'_>]) -> bool {
    matches!(
        before,
        [.., Token::Colons | Token::Sign('$')] | [.., Token::Sign('('), Token::Word("in")]
    )
}

fn child(module: &[String], name: &str) -> Vec<String> {
    [module, &[name.to_owned()]].concat()
}

/// The name in `mod name;` and `mod name { … }`, whoever sees it.
fn declared_module<'a>(item: &[Token<'a>]) -> Option<&'a str> {
    let at = item.iter().position(|token| *token == Token::Word("mod"))?;
    match (item[..at].contains(&Token::Sign('{')), item.get(at + 1)) {
        (false, Some(Token::Word(name))) => Some(name),
        _ => None,
    }
}

fn after_attributes(tokens: &[Token<'_>], mut at: usize) -> usize {
    while tokens.get(at) == Some(&Token::Sign('#')) {
        let mut open = 0_usize;
        at += 1;
        while at < tokens.len() {
            match tokens[at] {
                Token::Sign('[') => open += 1,
                Token::Sign(']') => open -= 1,
                _ => {}
            }
            at += 1;
            if open == 0 {
                break;
            }
        }
    }
    at
}

/// The place after an item: after its body or its semicolon; a field or variant ends with its comma.
fn after_item(tokens: &[Token<'_>], start: usize) -> usize {
    const ITEMS: &[&str] = &[
        "async", "const", "enum", "extern", "fn", "impl", "mod", "pub", "static", "struct", "trait", "type",
        "unsafe", "use",
    ];
    let is_item = matches!(tokens.get(start), Some(Token::Word(word)) if ITEMS.contains(word));
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Sign('{' | '(' | '[') => open += 1,
            Token::Sign('}' | ')' | ']') if open == 0 => return at,
            Token::Sign(close @ ('}' | ')' | ']')) => {
                open -= 1;
                if open == 0 && *close == '}' {
                    return at + 1;
                }
            }
            Token::Sign(';') if open == 0 => return at + 1,
            Token::Sign(',') if open == 0 && !is_item => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Reads a path, or all that its braces make of it, each with the name that it has afterwards; gives the place behind.
fn read_tree(
    tokens: &[Token<'_>],
    mut at: usize,
    prefix: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Word("self") if depth > 0 => {}
            Token::Word(word) => prefix.push((*word).to_owned()),
            Token::Sign('*') => prefix.push("*".to_owned()),
            Token::Sign('{') => {
                at += 1;
                while !matches!(tokens.get(at), None | Some(Token::Sign('}'))) {
                    at = read_tree(tokens, at, prefix, found);
                    if tokens.get(at) == Some(&Token::Sign(',')) {
                        at += 1;
                    } else if tokens.get(at) != Some(&Token::Sign('}')) {
                        break;
                    }
                }
                prefix.truncate(depth);
                return at + 1;
            }
            // `Vec::<T>::new`: the path is over.
            _ => break,
        }
        at += 1;
        match tokens.get(at) {
            Some(Token::Colons) => at += 1,
            _ => break,
        }
    }
    let name = if let Some([Token::Word("as"), Token::Word(alias)]) = tokens.get(at..at + 2) {
        at += 2;
        (*alias).to_owned()
    } else {
        prefix.last().cloned().unwrap_or_default()
    };
    found.push((prefix.clone(), name));
    prefix.truncate(depth);
    at
}

/// What a path means in `module`, from the root of the crate.
fn resolve(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    if path.first().is_some_and(|word| word == "crate") {
        base.clear();
        rest = &path[1..];
    }
    while let Some((word, after)) = rest.split_first()
        && word == "super"
    {
        base.pop()?;
        rest = after;
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::{module_of, product_code, published};
    use std::path::Path;

    #[test]
    fn paths_are_read_where_the_product_has_them() {
        let source = r#"
            //! See [`crate::comment`].
            use crate::{
                draw::{self, Line as Stroke, shape::{Circle, *}},
                text,
            };
            use super::near::Thing;
            pub(in crate::visible) fn name(url: &'static str) -> crate::Name {
                let other = super::super::root::<u8>() + "crate::literal // ".len();
                macro_rules! own { () => { $crate::expanded::Name } }
            }
            mod inner {
                use super::beside;
                fn deep() { super::super::above() }
            }
            #[cfg(test)]
            use crate::{only_in::Tests};
            #[cfg(test)]
            #[path = "cases.rs"]
            mod cases;
            use crate::last;
            #[cfg(test)]
            mod tests { use crate::test; }
            fn after() { crate::after::tests() }
        "#;
        let module = ["a".to_owned(), "b".to_owned()];
        let code = product_code(&module, source);
        let paths: Vec<String> = code.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(
            paths,
            [
                "draw",
                "draw::Line",
                "draw::shape::Circle",
                "draw::shape::*",
                "text",
                "a::near::Thing",
                "Name",
                "root",
                "a::b::beside",
                "a::above",
                "last",
                "after::tests",
            ]
        );
        assert_eq!(code.test_modules, [["a", "b", "cases"], ["a", "b", "tests"]]);
    }

    #[test]
    fn names_of_the_root_belong_to_the_modules_that_they_come_from() {
        let root = "pub use shape::{Circle, line::Line as Stroke}; pub use name::Name; mod name;";
        let sources = [
            (Vec::new(), root.to_owned()),
            (vec!["shape".to_owned()], "pub use other::Name;".to_owned()),
        ];
        let published: Vec<(String, String)> = published(&sources).into_iter().collect();
        let pair = |name: &str, module: &str| (name.to_owned(), module.to_owned());
        assert_eq!(
            published,
            [
                pair("Circle", "shape"),
                pair("Name", "name"),
                pair("Stroke", "shape")
            ]
        );
    }

    #[test]
    fn files_are_modules_by_their_paths() {
        let module = |file: &str| module_of(Path::new("src"), &Path::new("src").join(file)).join("::");
        assert_eq!(module("apply/hook/run.rs"), "apply::hook::run");
        assert_eq!(module("apply/mod.rs"), "apply");
        assert_eq!(module("lib.rs"), "");
    }
}
