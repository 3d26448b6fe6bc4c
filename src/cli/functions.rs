//! `functions`: what the templates of a chart can call.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use anyhow::anyhow;
use clap::{Parser, ValueEnum};
use serde::Serialize;
use steersman_gotemplate::Function;
use steersman_model::suggest;

use super::Failure;
use super::report::print_text;

const EXAMPLES: &str = "\
Examples:
  # All functions; in a pipe one a line: name, effect, signature and documentation, between tabs
  steersman functions

  # One function, with an example
  steersman functions semverCompare

Effects:
  pure      the result follows from the arguments
  mutates   changes an argument in place
  clock     reads the clock
  random    draws random numbers
  lookup    asks the cluster or the network
  template  runs a template, which may do all of that";

/// Arguments of `functions`.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Functions to show; all if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Print text for people, or JSON for programs
    #[arg(long, short, value_enum, default_value_t = Form::Text)]
    output: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// For people, or for tools that read lines
    Text,
    /// A list of objects
    Json,
}

/// Prints the functions that the arguments name.
pub(super) fn exec(arguments: &Args) -> Result<(), Failure> {
    let table = steersman_chart::functions();
    let chosen = if arguments.names.is_empty() {
        table.iter().collect()
    } else {
        let names = arguments.names.iter();
        let chosen: Result<Vec<_>, _> = names
            .map(|name| {
                let function = table.id(name).and_then(|id| table.get(id));
                function.ok_or_else(|| unknown(name, table.iter()))
            })
            .collect();
        chosen?
    };
    let text = match arguments.output {
        Form::Json => json(&chosen)?,
        Form::Text if !arguments.names.is_empty() => {
            let descriptions: Vec<String> = chosen.into_iter().map(description).collect();
            descriptions.join("\n")
        }
        Form::Text if io::stdout().is_terminal() => list(&chosen),
        Form::Text => lines(&chosen),
    };
    print_text(&text)
}

fn unknown<'a>(name: &str, functions: impl Iterator<Item = &'a Function>) -> Failure {
    let names: Vec<&str> = functions.map(|function| function.name).collect();
    let hint = suggest(name, &names).map_or_else(
        || "`steersman functions` lists all of them".to_owned(),
        |name| format!("did you mean `{name}`?"),
    );
    Failure::usage(anyhow!("no function is called `{name}`"), Some(hint))
}

/// A table for a terminal: the first sentence of each function's documentation.
fn list(functions: &[&Function]) -> String {
    let width = |text: fn(&Function) -> &str, title: &str| {
        let widths = functions.iter().map(|function| text(function).len());
        widths.chain([title.len()]).max().unwrap_or_default()
    };
    let names = width(|function| function.name, "NAME");
    let effects = width(|function| function.effect.name(), "EFFECT");
    let mut text = format!("{:names$}  {:effects$}  RESULT\n", "NAME", "EFFECT");
    for function in functions {
        let (name, effect) = (function.name, function.effect.name());
        let documentation = function.documentation.text;
        let sentence = documentation
            .find(". ")
            .and_then(|end| documentation.get(..=end))
            .unwrap_or(documentation);
        let _ = writeln!(text, "{name:names$}  {effect:effects$}  {sentence}");
    }
    text
}

/// One line for each function, for tools.
fn lines(functions: &[&Function]) -> String {
    let mut text = String::new();
    for function in functions {
        let (name, effect, usage) = (function.name, function.effect.name(), function.usage());
        let _ = writeln!(text, "{name}\t{effect}\t{usage}\t{}", function.documentation.text);
    }
    text
}

/// All there is to say about one function.
fn description(function: &Function) -> String {
    let (usage, effect) = (function.usage(), function.effect.name());
    let mut text = format!("{usage}\n\n{}\n\nEffect: {effect}\n", function.documentation.text);
    if let Some(example) = function.documentation.example {
        let output = example.output.replace('\n', "\n  ");
        let _ = write!(text, "\nExample:\n  {}\ngives:\n  {output}\n", example.template);
    }
    text
}

/// A function as JSON shows it.
#[derive(Serialize)]
struct Row<'f> {
    name: &'f str,
    signature: String,
    effect: &'f str,
    documentation: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<Example<'f>>,
}

#[derive(Serialize)]
struct Example<'f> {
    template: &'f str,
    output: &'f str,
}

fn json(functions: &[&Function]) -> Result<String, Failure> {
    let rows: Vec<Row<'_>> = functions
        .iter()
        .map(|function| Row {
            name: function.name,
            signature: function.usage(),
            effect: function.effect.name(),
            documentation: function.documentation.text,
            example: function.documentation.example.map(|example| Example {
                template: example.template,
                output: example.output,
            }),
        })
        .collect();
    let text = serde_json::to_string_pretty(&rows).map_err(|error| Failure::failed(error, None))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::{lines, list};

    #[test]
    fn a_list_names_every_function_on_a_line_of_its_own() {
        let table = steersman_chart::functions();
        let functions: Vec<_> = table.iter().collect();
        let (list, lines) = (list(&functions), lines(&functions));
        assert_eq!(list.lines().count(), functions.len() + 1);
        assert_eq!(lines.lines().count(), functions.len());
        for (function, line) in functions.iter().zip(list.lines().skip(1)) {
            assert!(line.starts_with(function.name) && line.ends_with('.'), "{line}");
        }
        for line in lines.lines() {
            assert_eq!(line.split('\t').count(), 4, "{line}");
        }
    }
}
