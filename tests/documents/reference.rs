//! `docs/reference` has what the program has: all of it, and no more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use regex::Regex;
use steersman_operator::status::EventReason;

use crate::sources::{find_all, in_folder, named, product};
use crate::{compare, markdown, read};

/// Both sets are one; what is not in the other is named.
fn assert_same(what: &str, documented: &BTreeSet<String>, known: &BTreeSet<String>) {
    let missing: Vec<_> = known.difference(documented).collect();
    let invented: Vec<_> = documented.difference(known).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{what}: not documented: {missing:?}; not in the code: {invented:?}"
    );
    assert!(known.len() > 2, "{what}: only {known:?} was found");
}

/// What stands between backquotes in the first cell of the rows.
fn first_cells(page: &str, header: &str) -> BTreeSet<String> {
    let rows = markdown::parse(&read(page)).rows(header);
    rows.iter()
        .flat_map(|row| markdown::code(&row[0]).map(str::to_owned))
        .collect()
}

fn steersman(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(arguments)
        .env_clear()
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn flags_are_those_of_the_program() {
    // `man` writes a page for each command, so it names them all.
    let folder = tempfile::tempdir().unwrap();
    let pages = steersman(&["man", "--output-dir", folder.path().to_str().unwrap()]);
    let pages: BTreeSet<&str> = pages
        .lines()
        .filter_map(|page| page.rsplit('/').next()?.strip_suffix(".1"))
        .collect();
    let mut commands: Vec<Vec<&str>> = pages.iter().map(|page| words_of(page, &pages)).collect();
    commands.sort();
    assert!(commands.len() > 25, "{commands:?}");
    let mut text = String::from(
        "# Commands and flags\n\n`steersman COMMAND --help` prints the same. `UPDATE_EXPECT=1 cargo test -p steersman --test \
         documents` writes this page.\n",
    );
    for command in &commands {
        let mut arguments = command.clone();
        arguments.push("--help");
        let help = steersman(&arguments);
        let name = ["steersman"]
            .iter()
            .chain(command)
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(
            text,
            "\n## {name}\n\n```text\n{}\n```\n",
            lines.join("\n").trim_end()
        );
    }
    compare("docs/reference/flags.md", &text);
}

/// The words of the command that a page is about: there is one for the command above it, too, so that a `-` in a name is told
/// from one between names.
fn words_of<'a>(page: &'a str, pages: &BTreeSet<&str>) -> Vec<&'a str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let ends = page.match_indices('-').map(|(at, _)| at);
    for end in ends.chain([page.len()]) {
        if pages.contains(&page[..end]) {
            words.push(&page[start..end]);
            start = end + 1;
        }
    }
    // The program itself.
    words.remove(0);
    words
}

#[test]
fn watches_has_every_field() {
    let page = "docs/reference/watches.md";
    let mut known = BTreeSet::new();
    for source in in_folder("watches") {
        for list in find_all(r"(?s)const \w*FIELDS: &\[&str\] =\s*&\[(.*?)\]", &source.text) {
            known.extend(
                find_all(r#""(\w+)""#, &list[0])
                    .into_iter()
                    .map(|mut groups| groups.remove(0)),
            );
        }
    }
    assert_same("fields of watches.yaml", &first_cells(page, "field"), &known);

    // The examples have all fields of an entry.
    let document = markdown::parse(&read(page));
    let example: String = document.blocks.iter().map(|block| block.text.as_str()).collect();
    for field in &known {
        let is_there = example.contains(&format!("{field}:"));
        let is_of_a_target = [
            "group",
            "version",
            "namespace",
            "labelSelector",
            "annotationSelector",
        ]
        .contains(&field.as_str());
        assert!(
            is_there || is_of_a_target,
            "the example of {page} lacks `{field}`"
        );
    }
}

#[test]
fn annotations_are_those_that_are_read() {
    let source = &named("/controls.rs")[0].text;
    let prefixes: BTreeMap<String, String> = find_all(r#"const (\w+): &str = "([a-z.]+/)";"#, source)
        .into_iter()
        .map(|groups| (groups[0].clone(), groups[1].clone()))
        .collect();
    let mut known = BTreeSet::new();
    for groups in find_all(r#"\.(?:text|flag|choice)\((\w+), "([a-z-]+)"\)"#, source) {
        known.insert(format!("{}{}", prefixes[&groups[0]], groups[1]));
    }
    for groups in find_all(r#"\.stages?\("([a-z-]+)"\)"#, source) {
        known.insert(format!("{}{}", prefixes["OWN"], groups[0]));
    }
    for groups in find_all(r#"\.operation\("(\w+)"\)"#, source) {
        let operation = &groups[0];
        known.insert(format!("{}{operation}-disable-hooks", prefixes["OPERATOR"]));
        // The history of what is uninstalled goes with it.
        if operation != "uninstall" {
            known.insert(format!("{}{operation}-description", prefixes["OPERATOR"]));
        }
    }
    known.extend(
        find_all(r#"const \w+: &str = "([a-z.]+/[a-z-]+)";"#, source)
            .into_iter()
            .map(|mut groups| groups.remove(0)),
    );
    let of_runs = &named("runs/annotations.rs")[0].text;
    known.extend(
        find_all(r#"const \w+: &str = "([a-z.]+/[a-z-]+)";"#, of_runs)
            .into_iter()
            .map(|mut groups| groups.remove(0)),
    );
    let of_procedures = &named("procedure/names.rs")[0].text;
    known.extend(
        find_all(
            r#"const (?:RUN|SUSPEND|CONFIRM|CANCEL): &str = "([a-z.]+/[a-z-]+)";"#,
            of_procedures,
        )
        .into_iter()
        .map(|mut groups| groups.remove(0)),
    );
    let documented = first_cells("docs/reference/annotations.md", "annotation");
    let documented = documented
        .iter()
        .filter_map(|cell| cell.split(':').next())
        .map(str::to_owned)
        .collect();
    assert_same("annotations that are read", &documented, &known);
}

#[test]
fn marks_are_those_that_are_written() {
    let only_read = [
        "helm.sdk.operatorframework.io/reconcile-period",
        "steersman.dev/adopt-chart",
        "steersman.dev/values-from",
        "steersman.dev/test",
        "steersman.dev/run",
        "steersman.dev/suspend-procedures",
        "steersman.dev/confirm",
        "steersman.dev/cancel",
    ];
    let pattern = r#"const \w+: &str = "((?:steersman\.dev|helm\.sdk\.operatorframework\.io|meta\.helm\.sh|operator-sdk|app\.kubernetes\.io)/[a-z-]+)";"#;
    let known: BTreeSet<String> = product()
        .iter()
        .filter(|source| {
            !source.path.starts_with("crates/chart/") && !source.path.starts_with("crates/project/")
        })
        .flat_map(|source| find_all(pattern, &source.text))
        .map(|mut groups| groups.remove(0))
        .filter(|name| !only_read.contains(&name.as_str()))
        .collect();
    assert_same(
        "marks",
        &first_cells("docs/reference/annotations.md", "name"),
        &known,
    );
}

#[test]
fn the_status_has_every_field() {
    let folder = tempfile::tempdir().unwrap();
    let place = crate::place::Place::new(true);
    let definition = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["crd", "--output-dir"])
        .arg(folder.path())
        .current_dir(&place.current)
        .output()
        .unwrap();
    assert!(definition.status.success());
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let definition = steersman_yaml::parse(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
    let definition = definition.into_json().unwrap();
    let properties =
        &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    let mut known: BTreeSet<String> = properties.as_object().unwrap().keys().cloned().collect();
    // Fields with names of their own in the code.
    let folders = ["reconcile", "status", "procedures"].map(in_folder);
    for source in folders.iter().flatten() {
        known.extend(
            find_all(r#"const \w*FIELD: &str = "(\w+)";"#, &source.text)
                .into_iter()
                .map(|mut groups| groups.remove(0)),
        );
    }
    let documented = first_cells("docs/reference/status.md", "field");
    let documented = documented
        .iter()
        .filter_map(|name| name.split('.').next())
        .filter(|name| {
            known.contains(*name) || !["ready", "total", "notReady", "message", "name"].contains(name)
        })
        .map(str::to_owned)
        .collect();
    assert_same("fields of the status", &documented, &known);
}

#[test]
fn conditions_and_reasons_are_those_that_are_written() {
    let source = &named("status/conditions.rs")[0].text;
    let words = |name: &str| -> BTreeSet<String> {
        let body = source.split(&format!("impl {name} {{")).nth(1).unwrap();
        let body = body.split("\n}").next().unwrap();
        find_all(r#"Self::\w+ => "(\w+)""#, body)
            .into_iter()
            .map(|mut groups| groups.remove(0))
            .collect()
    };
    let page = "docs/reference/status.md";
    assert_same("conditions", &first_cells(page, "type"), &words("ConditionType"));
    assert_same("reasons", &first_cells(page, "reason"), &words("Reason"));
}

#[test]
fn events_are_those_that_are_written() {
    let known: BTreeMap<String, String> = EventReason::ALL
        .into_iter()
        .map(|reason| (reason.as_str().to_owned(), reason.kind().as_str().to_owned()))
        .collect();
    assert_eq!(known.len(), EventReason::ALL.len());
    let rows = markdown::parse(&read("docs/reference/status.md")).rows("event");
    let documented: BTreeMap<String, String> = rows
        .iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone()))
        .collect();
    assert_eq!(documented, known);
}

#[test]
fn metrics_are_those_that_are_registered() {
    let known: BTreeMap<String, [String; 3]> = in_folder("metrics")
        .iter()
        .flat_map(|source| families(&source.text))
        .collect();
    assert!(known.len() > 25, "{known:?}");
    let rows = markdown::parse(&read("docs/reference/metrics.md")).rows("family");
    let documented = rows.iter().map(|row| {
        let labels: Vec<&str> = markdown::code(&row[2]).collect();
        let name = row[0].trim_matches('`').to_owned();
        (name, [row[1].clone(), labels.join(" "), row[3].clone()])
    });
    assert_eq!(documented.collect::<BTreeMap<_, _>>(), known);
}

/// The families of a file by name: what registers them, or describes them, is followed by the name and the help; then by the
/// labels, unless those of the file are `LABELS`.
fn families(text: &str) -> Vec<(String, [String; 3])> {
    let family = Regex::new(r#"(\w*)(?:::new)?\(\s*"([a-z]+(?:_[a-z]+)+)",\s*"([^"]+)""#).unwrap();
    let found: Vec<_> = family.captures_iter(text).collect();
    let shared = find_all(r"const LABELS: \[&str; \d\] = \[([^\]]*)\]", text);
    let ends = found.iter().skip(1).map(|next| next.get(0).unwrap().start());
    let ends: Vec<usize> = ends.chain([text.len()]).collect();
    let families = found.iter().zip(ends).map(|(family, end)| {
        let kind = match &family[1] {
            "counter" => "counter",
            "" if family[2].ends_with("_total") => "counter",
            "gauge" | "Opts" | "" => "gauge",
            "histogram" | "HistogramOpts" => "histogram",
            other => panic!("what is `{other}`?"),
        };
        let rest = text.get(family.get(0).unwrap().end()..end).unwrap_or_default();
        let labels = if let [list, ..] = shared.as_slice() {
            words(&list[0])
        } else {
            let lists = find_all(r#"&\[("[^\]]*)\]|\.const_label\(("\w+")"#, rest);
            words(&lists.concat().join(" "))
        };
        (
            family[2].to_owned(),
            [kind.to_owned(), labels, family[3].to_owned()],
        )
    });
    families.collect()
}

fn words(list: &str) -> String {
    let found = find_all(r#""(\w+)""#, list);
    found
        .into_iter()
        .map(|mut groups| groups.remove(0))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn variables_are_those_that_are_read() {
    // A variable is a text of capital letters that a reader of the environment is given.
    let pattern =
        r#"(?s)(?:get|set|variable|switch|place|text|path)\((?:&[\w.]+,\s*)?((?:"[\w.]+"(?:,\s*)?)+)\)"#;
    let mut known = BTreeSet::new();
    for source in product()
        .iter()
        .filter(|source| !source.path.starts_with("crates/project/"))
    {
        for groups in find_all(pattern, &source.text) {
            known.extend(
                find_all(r#""([A-Z][A-Z_]*[A-Z])""#, &groups[0])
                    .into_iter()
                    .map(|mut groups| groups.remove(0)),
            );
        }
    }
    known.remove("HOME");
    known.remove("PROJECT");
    let documented = first_cells("docs/reference/environment.md", "variable");
    assert_same("variables", &documented, &known);
}
