//! The help of the program: its commands, by what they are for.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// What commands are for, with their names in the order in which somebody comes to need them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Make an operator",
        &[
            "init", "create", "crd", "schema", "rbac", "check", "build", "bundle",
        ],
    ),
    ("In a cluster", &["manifests", "deploy", "undeploy", "migrate"]),
    (
        "While it runs",
        &[
            "run",
            "diff",
            "status",
            "ui",
            "stage",
            "procedure",
            "test-release",
        ],
    ),
    ("Charts", &["template", "lint", "show", "dependency", "functions"]),
    ("This program", &["completion", "man", "version", "help"]),
];

/// The program with its commands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = command
        .get_subcommands()
        .map(|one| one.get_name().len())
        .max()
        .unwrap_or_default();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        let _ = write!(text, "\n{header}{title}:{header:#}\n");
        for name in *names {
            let about = match command.find_subcommand(name) {
                Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
                // clap adds it by itself.
                None if *name == "help" => "Print this message, or the help of the named command".to_owned(),
                None => continue,
            };
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
    }
    text.push_str("{after-help}");
    StyledStr::from(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{GROUPS, grouped};
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let times = grouped.iter().filter(|known| **known == name).count();
            assert_eq!(times, 1, "{name}");
        }
    }

    #[test]
    fn the_help_has_groups() {
        let help = grouped(Cli::command()).render_help().to_string();
        assert!(
            help.contains("\nWhile it runs:\n  run           Run the operator"),
            "{help}"
        );
        assert!(help.contains("\nExamples:\n"), "{help}");
    }
}
