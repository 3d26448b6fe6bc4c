//! `man`: the manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use super::completion::command;
use super::{Failure, report};

const EXAMPLES: &str = "\
Examples:
  # Read the page of a command
  steersman man rbac check | man -l -

  # Write all pages where man finds them
  steersman man --output-dir ~/.local/share/man/man1";

/// What `man` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The command whose page is printed; that of the program if none is named
    #[arg(value_name = "COMMAND", conflicts_with = "output_dir")]
    command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(short = 'd', long, value_name = "DIRECTORY")]
    output_dir: Option<PathBuf>,
}

/// Prints a page, or writes all of them.
pub(super) fn exec(arguments: &Args) -> Result<(), Failure> {
    let mut root = command();
    root.build();
    match &arguments.output_dir {
        Some(folder) => write_all(&root, folder),
        None => report::print_text(&page(named(&root, &arguments.command)?)?),
    }
}

fn named<'a>(root: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    words.iter().try_fold(root, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            let name = command.get_bin_name().unwrap_or("steersman");
            Failure::usage(
                anyhow::anyhow!("`{name}` has no command `{}`", word.escape_debug()),
                Some(format!("`{name} --help` lists them")),
            )
        })
    })
}

fn write_all(root: &Command, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the directory {}", folder.display()))?;
    let mut rest = vec![root];
    while let Some(command) = rest.pop() {
        let file = folder.join(format!("{}.1", dashed(command)));
        fs::write(&file, page(command)?).with_context(|| format!("failed to write {}", file.display()))?;
        report::print_line(&file.display().to_string())?;
        rest.extend(
            command
                .get_subcommands()
                .filter(|inner| inner.get_name() != "help"),
        );
    }
    Ok(())
}

/// The page of a command, in roff.
fn page(command: &Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    let help = command.get_after_help().map(ToString::to_string);
    let command = command.clone().version(env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone())
        .title(dashed(&command))
        .source(concat!("steersman ", env!("CARGO_PKG_VERSION")));
    let has_options = command.get_arguments().next().is_some();
    let has_commands = command.get_subcommands().next().is_some();
    man.render_title(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| {
            if has_options {
                man.render_options_section(&mut text)
            } else {
                Ok(())
            }
        })
        .and_then(|()| {
            if has_commands {
                man.render_subcommands_section(&mut text)
            } else {
                Ok(())
            }
        })
        .context("failed to write the page")?;
    let mut page = String::from_utf8_lossy(&text).into_owned();
    page.push_str(&sections(&help.unwrap_or_default()));
    Ok(page)
}

/// What follows the flags in the help of a command: each line that begins in the first column and ends with a colon is
/// the headline of a section, and the lines below it stay as they are.
fn sections(help: &str) -> String {
    let mut lines = Vec::new();
    for line in help.lines() {
        match line.strip_suffix(':') {
            Some(title) if !title.starts_with(' ') => {
                // Lines are filled again from here on, if they were not.
                lines.push(".fi".to_owned());
                lines.push(format!(".SH {}", escaped(&title.to_uppercase())));
                lines.push(".nf".to_owned());
            }
            _ => lines.push(escaped(line)),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A line of text that roff takes for nothing else.
fn escaped(line: &str) -> String {
    let text = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    if text.starts_with('.') {
        format!("\\&{text}")
    } else {
        text
    }
}

/// `steersman-rbac-check`, as man finds the pages of commands below commands.
fn dashed(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    name.replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn what_follows_the_flags_is_printed_line_by_line() {
        assert_eq!(
            sections("Examples:\n  # Here\n  run -f 'a\\b'\n\nExit codes:\n  0  good\n.5"),
            ".fi\n.SH EXAMPLES\n.nf\n  # Here\n  run \\-f \\(aqa\\eb\\(aq\n\n.fi\n.SH EXIT CODES\n.nf\n  0  good\n\\&.5\n"
        );
    }
}
