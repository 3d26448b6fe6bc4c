//! Which modules of a crate use which, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// By module of a crate, those that it uses and an example of it; modules are files and folders beside each other.
pub type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// What the modules directly in `folder` of a crate use of each other. Test modules are left out.
///
/// `folder` is relative to `source`, the folder with `lib.rs`.
pub fn uses_in(source: &Path, folder: &[String], files: &[std::path::PathBuf]) -> Uses {
    let mut uses = Uses::new();
    for file in files {
        let module = module_of(source, file);
        let Some(from) = child(folder, &module) else {
            continue;
        };
        let text = std::fs::read_to_string(file).expect("a readable source file");
        for path in paths(&product_code(&text)) {
            let Some(target) = resolve(&module, &path) else {
                continue;
            };
            let Some(to) = child(folder, &target) else {
                continue;
            };
            if from != to {
                let example = format!("{} uses {}", file.display(), path.join("::"));
                uses.entry(from.clone()).or_default().entry(to).or_insert(example);
            }
        }
    }
    let modules: BTreeSet<String> = files
        .iter()
        .filter_map(|file| child(folder, &module_of(source, file)))
        .collect();
    for targets in uses.values_mut() {
        targets.retain(|module, _| modules.contains(module));
    }
    uses
}

/// A circle among modules, as its members in order, if there is one.
pub fn circle(uses: &Uses) -> Option<Vec<String>> {
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

/// The module directly in `folder` that `module` is or is in.
fn child(folder: &[String], module: &[String]) -> Option<String> {
    module.strip_prefix(folder)?.first().cloned()
}

/// A source without comments and without its tests.
fn product_code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..tests]
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths that begin with `crate` or `super`, those in braces one by one.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in code.match_indices(word) {
            let before = code[..at].chars().next_back();
            let is_inside = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$');
            if !is_inside {
                read_tree(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path, with what stands in its braces, and gives the rest.
fn read_tree<'a>(code: &'a str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = prefix.len();
    let mut rest = code.trim_start();
    loop {
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            loop {
                rest = read_tree(rest, prefix, found).trim_start();
                match rest.chars().next() {
                    Some(',') => rest = rest[1..].trim_start(),
                    Some('}') => {
                        rest = &rest[1..];
                        break;
                    }
                    _ => break,
                }
                if let Some(after) = rest.strip_prefix('}') {
                    rest = after;
                    break;
                }
            }
            break;
        }
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*')
            .unwrap_or(rest.len());
        prefix.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => {
                found.push(prefix.clone());
                let alias = rest.trim_start();
                if let Some(alias) = alias.strip_prefix("as ") {
                    let end = alias
                        .find(|c: char| !c.is_alphanumeric() && c != '_')
                        .unwrap_or(alias.len());
                    rest = &alias[end..];
                }
                break;
            }
        }
    }
    prefix.truncate(depth);
    rest
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
