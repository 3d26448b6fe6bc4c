//! What the comment of a value enumerates: `StatefulSet or Deployment`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use steersman_yaml::{Content, Node};

/// How many lines above a key are read.
const MAX_LINES: usize = 60;
/// How many keys are looked at for one path.
const MAX_KEYS: usize = 10_000;

/// The comments of one values file.
pub(super) struct Comments<'a> {
    text: &'a [u8],
    read: OnceCell<Read>,
}

#[derive(Default)]
struct Read {
    lines: Vec<String>,
    documents: Vec<Node>,
    /// What begins with a path, by the path.
    naming: BTreeMap<String, Vec<String>>,
}

impl<'a> Comments<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            read: OnceCell::new(),
        }
    }

    /// What is said of the value at a path, where `*` is any key: above its key, behind it, and where its path is named.
    pub(super) fn of(&self, path: &[String]) -> Vec<String> {
        let read = self.read.get_or_init(|| Read::new(self.text));
        let mut lines = BTreeSet::new();
        let mut keys = MAX_KEYS;
        for document in &read.documents {
            collect(document, path, &mut keys, &mut lines);
        }
        let mut found: Vec<String> = lines.iter().map(|line| read.around(*line)).collect();
        found.extend(read.naming.get(&path.join(".")).into_iter().flatten().cloned());
        found
    }
}

/// Finds where keys are written; `*` in `path` is any key, and `keys` is how many more may be looked at.
fn collect(node: &Node, path: &[String], keys: &mut usize, lines: &mut BTreeSet<usize>) {
    let (Some((first, rest)), Content::Mapping(pairs)) = (path.split_first(), &node.value) else {
        return;
    };
    for (key, value) in pairs {
        let Some(rest_of_keys) = keys.checked_sub(1) else {
            return;
        };
        *keys = rest_of_keys;
        if first != "*" && key.as_str() != Some(first) {
            continue;
        }
        if rest.is_empty() {
            lines.insert(key.line as usize);
        } else {
            collect(value, rest, keys, lines);
        }
    }
}

impl Read {
    fn new(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut by_path: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, rest) in text.lines().filter_map(naming) {
            by_path.entry(path.to_owned()).or_default().push(rest.to_owned());
        }
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            documents: steersman_yaml::parse_documents(&text).unwrap_or_default(),
            naming: by_path,
        }
    }

    /// The comment above a line, counted from 1, and that behind it.
    fn around(&self, line: usize) -> String {
        let index = line.saturating_sub(1);
        let above = self.lines.get(..index).unwrap_or_default();
        let comments = above.iter().rev().take(MAX_LINES).map_while(|line| comment(line));
        let mut found: Vec<&str> = comments.collect();
        found.reverse();
        let behind = self.lines.get(index).and_then(|line| line.split_once(" #"));
        found.extend(behind.map(|(_, comment)| comment));
        found.join("\n")
    }
}

/// Comments that begin with a path, as those of readme-generator and helm-docs: the path, and what follows.
fn naming(line: &str) -> Option<(&str, &str)> {
    let text = comment(line)?;
    let text = text.strip_prefix("@param ").unwrap_or(text).trim_start();
    text.split_once(' ')
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix('#')?;
    Some(text.trim_start_matches(['#', ' ']))
}

/// The words that a text enumerates together with one of `known`: with nothing between them but commas, bars, `or` and
/// the like. `is_word` says what may be in a word, besides letters and digits.
pub(super) fn enumerated(
    text: &str,
    known: &BTreeSet<&str>,
    is_word: impl Fn(char) -> bool,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text;
    let mut is_joined = false;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || is_word(letter);
    let mut end = |words: &mut Vec<&str>| {
        if words.iter().any(|word| known.contains(word)) {
            found.extend(words.iter().map(|word| (*word).to_owned()));
        }
        words.clear();
    };
    while let Some(begin) = rest.find(is_letter) {
        let (between, after) = rest.split_at(begin);
        let length = after.find(|letter| !is_letter(letter)).unwrap_or(after.len());
        let (word, after) = after.split_at(length);
        rest = after;
        let is_plain =
            |letter: char| letter.is_whitespace() || ",;|/\"'`()[]".contains(letter) || "-*".contains(letter);
        if !between.chars().all(is_plain) {
            is_joined = false;
            end(&mut words);
        }
        is_joined |=
            between.contains([',', ';', '|', '/']) || between.trim_start_matches(' ').starts_with("\n-");
        match word {
            "or" | "and" => is_joined = true,
            "either" | "default" | "a" | "an" | "the" => {}
            _ => {
                if !is_joined {
                    end(&mut words);
                }
                words.push(word.trim_end_matches('.'));
                is_joined = false;
            }
        }
    }
    end(&mut words);
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Comments, enumerated};

    #[test]
    fn what_stands_beside_what_is_known_is_enumerated() {
        let check = |text: &str, expect: &str| {
            let found = enumerated(text, &BTreeSet::from(["StatefulSet"]), |_| false);
            assert_eq!(Vec::from_iter(found).join(" "), expect, "{text}");
        };
        check("StatefulSet or Deployment", "Deployment StatefulSet");
        check(
            "Use either Deployment, StatefulSet (default) or DaemonSet",
            "DaemonSet Deployment StatefulSet",
        );
        check("-- A `Deployment` or a `StatefulSet`", "Deployment StatefulSet");
        check(
            "kind: StatefulSet | Deployment. Job or Pod",
            "Deployment StatefulSet",
        );
        check(
            "one of\n- Deployment\n- StatefulSet\n",
            "Deployment StatefulSet of",
        );
        check("StatefulSet/Deployment", "Deployment StatefulSet");
        check("(Deployment, StatefulSet)", "Deployment StatefulSet");
        check("Use a StatefulSet on OpenShift, or Ceph", "StatefulSet");
        check("Deployment or Job", "");
    }

    #[test]
    fn comments_stand_above_and_behind_and_name_paths() {
        let file = "\
# @param a.kind by its path
# far

## above
# it
a:
  # inside
  kind: x # behind
b:
  kind: y # of another
";
        let check = |path: &[&str], expect: &[&str]| {
            let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
            assert_eq!(Comments::new(file.as_bytes()).of(&path), expect, "{path:?}");
        };
        check(&["a"], &["above\nit"]);
        check(&["a", "kind"], &["inside\n behind", "by its path"]);
        check(&["*", "kind"], &["inside\n behind", " of another"]);
        check(&["c"], &[]);
    }
}
