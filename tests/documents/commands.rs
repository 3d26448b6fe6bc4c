//! The commands and the files of the documents, in their order.
//!
//! Blocks that begin with ` ```sh ` are commands. They run in a folder with a project of `steersman init` (`place.rs`); a
//! document that says `steersman init` itself begins with an empty folder, and ` ```sh in=repository ` is a copy of what
//! this repository has. What is run and what is not follows from the words of the line:
//!
//! - `steersman` is run, and has to succeed. Where a word of `ELSEWHERE` stands in the line, the program reads its
//!   arguments and stops.
//! - `make` finds its targets in the Makefile of the folder, and runs nothing (`make -n`).
//! - Programs of others are in `OTHERS`; the files that they name have to be there.
//! - Programs of the system are in `SYSTEM`, and are run. Any other word is refused.
//!
//! Blocks that begin with ` ```yaml NAME ` are files of the project. They are written, and the project has to be sound
//! with them: `steersman check`, in which custom resources count as samples. After files of a role the definition and the
//! permissions follow from others, so there the document's own `steersman check` is what counts. Other YAML has to be readable.

use std::fs;

use crate::markdown::Block;
use crate::place::{OTHERS, Place, SYSTEM};
use crate::{documents, markdown, read};

/// Flags that no help shows: those of other programs, and those that are accepted for their sake.
const FLAGS_OF_OTHERS: &[&str] = &[
    "--build-arg",
    "--cookie-refresh",
    "--enable-http2",
    "--flush-interval",
    "--force-conflicts",
    "--labels",
    "--pass-authorization-header",
    "--post-renderer",
    "--verify",
];

/// What blocks can be. Those of Rust are run by `cargo test --doc`.
const LANGUAGES: &[&str] = &["sh", "yaml", "text", "handlebars", "rust", "rust,no_run"];

#[test]
fn every_command_and_every_file_works() {
    let (mut wrong, mut lines, mut files) = (Vec::new(), 0, 0);
    for path in documents() {
        let document = markdown::parse(&read(&path));
        let is_init = |block: &Block| block.language == "sh" && block.text.contains("steersman init ");
        if document
            .blocks
            .iter()
            .all(|block| !["sh", "yaml"].contains(&block.language.as_str()))
        {
            continue;
        }
        let mut place = Place::new(!document.blocks.iter().any(is_init));
        for block in &document.blocks {
            let result = match block.language.as_str() {
                "sh" => {
                    lines += commands(&block.text).len();
                    run(&mut place, block)
                }
                "yaml" if block.about.is_empty() => steersman_yaml::parse(&block.text)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                "yaml" => {
                    files += 1;
                    write(&mut place, block)
                }
                language if LANGUAGES.contains(&language) => Ok(()),
                language => Err(format!("`{language}` is no language of blocks")),
            };
            if let Err(problem) = result {
                wrong.push(format!("{path}:{}: {problem}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        lines > 80 && files > 8,
        "only {lines} commands and {files} files were found"
    );
}

/// What is no block is not run, so nobody writes commands so.
#[test]
fn no_block_is_made_by_indentation() {
    for path in documents() {
        let document = markdown::parse(&read(&path));
        let mut before = "";
        for (line, text) in &document.prose {
            let is_block = text.starts_with("    ") && before.is_empty();
            assert!(!is_block, "{path}:{line}: begin the block with three backquotes");
            before = text.as_str();
        }
    }
}

/// Commands, targets and flags that stand in the text.
#[test]
fn what_the_prose_names_is_there() {
    let place = Place::new(true);
    let repository = place.repository();
    let flags = read("docs/reference/flags.md");
    let has_target = |folder: &std::path::Path, target: &str| {
        let makefile = fs::read_to_string(folder.join("Makefile")).unwrap();
        let mut rules = makefile.lines().filter_map(|line| line.split_once(':'));
        // Or it is a variable.
        rules.any(|(targets, _)| targets.split(' ').any(|known| known == target))
            || makefile.contains(&format!("$({target})"))
    };
    // The arguments of a command that has none below it are not looked at.
    let is_command = |words: &[&str]| {
        let is_name = |word: &&&str| {
            let mut letters = word.chars();
            !word.starts_with('-') && letters.all(|letter| letter.is_ascii_lowercase() || letter == '-')
        };
        let names: Vec<&str> = words.iter().take_while(is_name).copied().collect();
        let first = names.first().copied().unwrap_or_default();
        if names.is_empty() {
            return true;
        }
        let is_alone = !flags.contains(&format!("## steersman {first} "));
        flags.contains(&format!("## steersman {}\n", names.join(" ")))
            || is_alone && flags.contains(&format!("## steersman {first}\n"))
    };
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for path in documents() {
        for (line, text) in &markdown::parse(&read(&path)).prose {
            for code in markdown::code(text) {
                let words: Vec<&str> = code.split([' ', '=']).collect();
                let is_there = match words.as_slice() {
                    ["make", target, ..] => {
                        has_target(&place.current, target) || has_target(&repository, target)
                    }
                    ["steersman", rest @ ..] => is_command(rest),
                    [flag, ..] if flag.starts_with("--") => {
                        let ends = [' ', '\n', ',', '['];
                        let is_ours = ends.iter().any(|end| flags.contains(&format!("{flag}{end}")));
                        is_ours || FLAGS_OF_OTHERS.contains(flag)
                    }
                    _ => continue,
                };
                seen += 1;
                if !is_there {
                    wrong.push(format!("{path}:{line}: `{code}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 150, "only {seen} were found");
}

fn run(place: &mut Place, block: &Block) -> Result<(), String> {
    let before = place.current.clone();
    match block.about.as_str() {
        "" => {}
        "in=repository" => place.current = place.repository(),
        other => return Err(format!("`{other}` says nothing about commands")),
    }
    for command in commands(&block.text) {
        if let Some(word) = unknown(&command) {
            return Err(format!(
                "`{word}` is in none of the lists of tests/documents/place.rs"
            ));
        }
        place
            .run(&command)
            .map_err(|error| format!("{command}: {error}"))?;
    }
    if !block.about.is_empty() {
        place.current = before;
    }
    Ok(())
}

fn write(place: &mut Place, block: &Block) -> Result<(), String> {
    let path = place.current.join(&block.about);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", block.about))?;
    }
    fs::write(&path, &block.text).map_err(|error| format!("{}: {error}", block.about))?;
    // A document may show the file before it makes the project; then nothing can be held against it.
    if !place.current.join("watches.yaml").exists() {
        return Err("there is no project yet".to_owned());
    }
    if block.about.starts_with("roles/") {
        return Ok(());
    }
    if block.text.contains("  procedures:") {
        // Runs are kinds of their own, which the role has to name.
        place.run("steersman rbac generate --output config/rbac/role.yaml")?;
    }
    let sample = place.current.join("config/samples/shown.yaml");
    let is_sample = block.text.lines().any(|line| line == "kind: Shop");
    if is_sample {
        fs::write(&sample, &block.text).unwrap();
    }
    let result = place.run("steersman check > checked 2>&1 || { cat checked >&2; exit 1; }");
    if is_sample {
        fs::remove_file(&sample).unwrap();
    }
    let said = fs::read_to_string(place.current.join("checked")).unwrap_or_default();
    match result {
        Ok(()) if said.contains("is ignored") => Err(said),
        result => result,
    }
}

/// The commands of a block: a line, and those after it as long as they end in a backslash.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    joined
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The first program of a command that nobody knows.
fn unknown(command: &str) -> Option<String> {
    let known = |word: &str| {
        ["steersman", "make", "sudo"].contains(&word)
            || SYSTEM.contains(&word)
            || OTHERS.iter().any(|(name, _)| *name == word)
    };
    // What stands between quotes is no program.
    let unquoted = command.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    let parts = unquoted.split(" | ").flat_map(|part| part.split(" && "));
    parts
        .filter_map(|part| {
            part.split(' ')
                .find(|word| !word.is_empty() && !is_assignment(word))
        })
        .find(|word| !known(word))
        .map(str::to_owned)
}

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

#[test]
fn what_is_wrong_is_noticed() {
    let mut place = Place::new(true);
    let mut problem = |language: &str, about: &str, text: &str| {
        let block = Block {
            language: language.to_owned(),
            about: about.to_owned(),
            text: text.to_owned(),
            line: 1,
        };
        let result = if language == "sh" {
            run(&mut place, &block)
        } else {
            write(&mut place, &block)
        };
        result.err().unwrap_or_default()
    };
    for (command, expect) in [
        ("steersman check", ""),
        ("steersman check --strictly", "--strictly"),
        ("steersman rbac generate --output absent/role.yaml", "absent"),
        ("steersman deploy --image x", ""),
        ("steersman deploy --imag x", "--imag"),
        (
            "steersman crd --chart oci://registry.example.com/x --kund X",
            "--kund",
        ),
        ("steersman crd | kubectl apply -f -", ""),
        ("kubectl apply -f absent.yaml", "absent.yaml: no such file"),
        ("make deploy", ""),
        ("make absent", "absent"),
        ("rm -r /", "`rm` is in none"),
        ("steersman check && curl x", "`curl` is in none"),
    ] {
        let said = problem("sh", "", &format!("{command}\n"));
        assert!(
            said.contains(expect) && said.is_empty() == expect.is_empty(),
            "{command}: {said}"
        );
    }
    let entry = "- group: charts.example.com\n  version: v1alpha1\n  kind: Shop\n  chart: helm-charts/shop\n";
    assert_eq!(problem("yaml", "watches.yaml", entry), "");
    let said = problem("yaml", "watches.yaml", &format!("{entry}  reconcilPeriod: 1m\n"));
    assert!(said.contains("reconcilePeriod"), "{said}");
    assert_eq!(problem("yaml", "watches.yaml", entry), "");
    let shop = "apiVersion: charts.example.com/v1alpha1\nkind: Shop\nmetadata: {name: x}\nspec: {replicaCount: many}\n";
    let said = problem("yaml", "shop.yaml", shop);
    assert!(said.contains("replicaCount"), "{said}");
}
