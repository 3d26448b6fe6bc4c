//! Snippets whose output or error Helm recorded. See `recorded/README.md`.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

#[derive(Deserialize)]
struct Snippet {
    template: String,
    #[serde(default)]
    values: serde_json::Value,
    #[serde(default)]
    files: BTreeMap<String, String>,
    output: Option<String>,
    #[serde(default)]
    error: String,
}

#[test]
fn snippets_give_what_helm_gave_and_fail_with_its_words() {
    let mut differences = String::new();
    for line in include_str!("recorded/snippets.jsonl").lines() {
        let snippet: Snippet = serde_json::from_str(line).unwrap();
        let values = support::read_values(&snippet.values).unwrap();
        let found = support::render_snippet(&snippet.template, None, &snippet.files, &values);
        let wanted = snippet.output.ok_or(snippet.error);
        if found != wanted {
            let (template, values) = (snippet.template, snippet.values);
            let _ = writeln!(
                differences,
                "{template} {values}\n  want {wanted:?}\n  got  {found:?}"
            );
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
