//! The picture of the README: a session on a terminal, kept as it was recorded, and drawn.
//!
//! Commands that need no cluster are run again, by the rule of `commands.rs`. `docs/images/record.sh` records all of them.

use std::fmt::Write as _;
use std::path::Path;

use crate::place::{Place, is_elsewhere};
use crate::{compare, drawing, is_update, read, terminal};

const SESSION: &str = "docs/images/session.txt";
const PICTURE: &str = "docs/images/session.svg";
const TITLE: &str = "From a chart to a release: init, check, apply, status";
const PROMPT: &str = "$ ";
const COLUMNS: u16 = 110;

/// The custom resource of the session.
const MUSEUM: &str = "\
apiVersion: charts.example.com/v1alpha1
kind: Shop
metadata: {name: museum}
spec: {replicaCount: 2}
";

/// Each command, with what it said.
fn session() -> Vec<(String, String)> {
    let text = read(SESSION);
    let between = format!("\n{PROMPT}");
    let parts = text.strip_prefix(PROMPT).unwrap().split(&between);
    parts
        .map(|part| {
            let (command, output) = part.split_once('\n').unwrap_or((part, ""));
            (command.to_owned(), output.trim_end_matches('\n').to_owned())
        })
        .collect()
}

#[test]
fn the_session_is_what_the_commands_say() {
    let place = Place::new(false);
    let project = place.path("shop-operator");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("museum.yaml"), MUSEUM).unwrap();
    // Who records gives a cluster, in which the operator runs.
    let cluster = std::env::var_os("RECORD_KUBECONFIG")
        .filter(|_| is_update())
        .and_then(|file| file.into_string().ok());
    let programs = Path::new(env!("CARGO_BIN_EXE_steersman")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let home = place.path("").to_str().unwrap().to_owned();
    let mut variables = vec![("PATH", path.as_str()), ("HOME", home.as_str())];
    variables.extend(cluster.as_deref().map(|file| ("KUBECONFIG", file)));

    let (mut text, mut again) = (String::new(), 0);
    for (command, recorded) in session() {
        let output = if !is_elsewhere(&command) || cluster.is_some() {
            again += 1;
            terminal::seen(&command, &project, COLUMNS, &variables)
        } else {
            recorded
        };
        let _ = writeln!(text, "{PROMPT}{command}\n{}", output.trim_end_matches('\n'));
    }
    assert!(again > 2, "only {again} commands were run");
    compare(SESSION, &text);
}

#[test]
fn the_picture_is_drawn_from_the_session() {
    let mut lines = Vec::new();
    for (command, output) in session() {
        lines.push(format!("\u{1b}[2m{PROMPT}\u{1b}[0m\u{1b}[1m{command}\u{1b}[0m"));
        lines.extend(output.lines().map(str::to_owned));
    }
    compare(PICTURE, &drawing::draw(TITLE, &lines));
    let shown = format!("({PICTURE})");
    assert!(
        read("README.md").contains(&shown),
        "README.md does not show {PICTURE}"
    );
}
