//! The command line.

mod ansible;
mod arguments;
mod build;
mod bundle;
mod check;
mod cluster;
mod completion;
mod crd;
mod create;
mod dependency;
mod deploy;
mod diff;
mod files;
mod functions;
mod helm;
mod image;
mod init;
mod lint;
mod man;
mod manifests;
mod migrate;
mod overview;
mod procedure;
mod program;
mod progress;
mod rbac;
mod report;
mod run;
mod scaffold;
mod schema;
mod show;
mod stage;
mod status;
mod style;
mod template;
mod test_release;
mod ui;
mod undeploy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use program::Program;
use steersman_model::Environment;

const EXAMPLES: &str = "\
Examples:
  # Make an operator project of a chart, and run it against the cluster of the kubeconfig
  steersman init --domain example.com --kind Shop --helm-chart ../charts/shop
  steersman run

  # What would this resource change in the cluster?
  steersman diff -f museum.yaml

  # Make the image of the operator, bring it into a registry, and the operator into the cluster
  steersman build -t registry.example.com/shop-operator:1.0.0 --push
  steersman deploy --image registry.example.com/shop-operator:1.0.0

Exit codes:
  0  everything went well
  1  something failed while the command ran
  2  the arguments, the environment or watches.yaml are wrong; the commands after Helm say 1, as
     it does";

const VERSION_EXAMPLES: &str = "\
Examples:
  # The version, the commit, and the Kubernetes that it knows
  steersman version";

/// The commands that behave as Helm's of the same name, down to the exit code.
const FOLLOWING_HELM: &[&str] = &["template", "lint", "show", "dependency"];

/// Turns a Helm chart into a Kubernetes operator.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, disable_version_flag = true, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a project: an operator for a chart
    Init(Box<init::Args>),
    /// Add a kind to a project, or take a newer chart into one
    Create(create::Args),
    /// Run the operator: release a chart for each custom resource that watches.yaml names
    Run(Box<run::Args>),
    /// Show what the operator would change in the cluster
    Diff(Box<diff::Args>),
    /// Show a release with the health of its objects
    Status(status::Args),
    /// Show all releases on a page of this machine, with your rights
    Ui(ui::Args),
    /// Approve, skip or retry a stage of a release
    Stage(stage::Args),
    /// Carry out a procedure with a release, such as a backup, and tell what has become of it
    Procedure(procedure::Args),
    /// Have the operator run the tests of a release, as with `helm test`
    TestRelease(test_release::Args),
    /// Print what brings the operator of a project into a cluster
    Manifests(manifests::Args),
    /// Bring the operator of a project into a cluster
    Deploy(deploy::Args),
    /// Take the operator of a project out of a cluster
    Undeploy(undeploy::Args),
    /// Tell what the switch from helm-operator would change
    Migrate(migrate::Args),
    /// Make the operator's container image, without a container engine
    Build(Box<build::Args>),
    /// Look for what is wrong with a project, without a cluster
    Check(check::Args),
    /// Print the definition of each kind, with a schema from its chart
    Crd(Box<crd::Args>),
    /// Print the JSON schema of watches.yaml, for editors
    Schema(schema::Args),
    /// Write or check the permissions that the operator needs
    Rbac(rbac::Args),
    /// Render a chart on this machine
    Template(Box<template::Args>),
    /// Look for what is wrong with a chart
    Lint(Box<lint::Args>),
    /// Show what a chart has inside
    #[command(alias = "inspect")]
    Show(Box<show::Args>),
    /// Manage what is in a chart's charts/
    #[command(aliases = ["dep", "dependencies"])]
    Dependency(Box<dependency::Args>),
    /// Write a bundle for the Operator Lifecycle Manager, check one, or make a catalog of bundles
    Bundle(Box<bundle::Args>),
    /// List the functions that templates can call, or explain one
    Functions(functions::Args),
    /// Print the script that lets a shell complete commands and flags
    Completion(completion::Args),
    /// Print the manual pages
    Man(man::Args),
    /// Print which build this is
    #[command(after_help = VERSION_EXAMPLES)]
    Version,
}

/// How a command ended, beyond success.
enum Failure {
    /// Something failed while the command ran: exit code 1.
    Failed(anyhow::Error),
    /// What the user gave is wrong: exit code 2.
    Usage(anyhow::Error),
    /// A command that follows Helm failed, for whatever reason: exit code 1, in Helm's form.
    Helm(anyhow::Error),
    /// As [`Helm`](Self::Helm), with everything said already.
    Silent,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// A hint that goes with an error, kept apart from its text.
#[derive(Debug)]
struct Hint(String);

/// Parses the arguments, of which the first is the program's name, and does what they say.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = Program::of(arguments.first());
    let mut command = overview::grouped(Cli::command())
        .name(program.name())
        .bin_name(program.name())
        .mut_subcommands(|command| match command.get_name() {
            name if FOLLOWING_HELM.contains(&name) => helm::values::with_flags_of_go(command),
            _ => command,
        });
    let arguments = arguments::normalize(arguments);
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => match following_helm(&mut command, &arguments) {
            Some(command) => return helm::refuse(&error, command, &arguments),
            None => error.exit(),
        },
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let environment = Environment::of_process();
    let result = match cli.command {
        Command::Init(arguments) => init::exec(&arguments, &environment),
        Command::Create(arguments) => create::exec(arguments, &environment),
        Command::Run(arguments) => run::exec(*arguments, &environment, program),
        Command::Diff(arguments) => diff::exec(*arguments, &environment),
        Command::Status(arguments) => status::exec(arguments, &environment),
        Command::Ui(arguments) => ui::exec(arguments, &environment),
        Command::Stage(arguments) => stage::exec(&arguments, &environment),
        Command::Procedure(arguments) => procedure::exec(arguments, &environment),
        Command::TestRelease(arguments) => test_release::exec(&arguments, &environment),
        Command::Manifests(arguments) => manifests::exec(&arguments, &environment),
        Command::Deploy(arguments) => deploy::exec(&arguments, &environment),
        Command::Undeploy(arguments) => undeploy::exec(&arguments, &environment),
        Command::Migrate(arguments) => migrate::exec(arguments, &environment),
        Command::Build(arguments) => build::exec(*arguments, &environment),
        Command::Check(arguments) => check::exec(&arguments, &environment),
        Command::Crd(arguments) => crd::exec(&arguments, &environment),
        Command::Schema(arguments) => schema::exec(&arguments),
        Command::Rbac(arguments) => rbac::exec(&arguments, &environment),
        Command::Template(arguments) => template::exec(*arguments, &environment),
        Command::Lint(arguments) => lint::exec(*arguments, &environment),
        Command::Show(arguments) => show::exec(*arguments, &environment),
        Command::Dependency(arguments) => dependency::exec(*arguments, &environment),
        Command::Bundle(arguments) => bundle::exec(*arguments, &environment),
        Command::Functions(arguments) => functions::exec(&arguments),
        Command::Completion(arguments) => completion::exec(&arguments),
        Command::Man(arguments) => man::exec(&arguments),
        Command::Version => report::print_line(&steersman_model::version::version_line(program.name())),
    };
    report::exit_code(result)
}

/// The command that the arguments name, with its subcommand, if it follows Helm.
fn following_helm<'a>(
    command: &'a mut clap::Command,
    arguments: &[OsString],
) -> Option<&'a mut clap::Command> {
    let mut words = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let name = words.next()?;
    let found = command.find_subcommand_mut(name)?;
    if !FOLLOWING_HELM.contains(&found.get_name()) {
        return None;
    }
    let inner = words.next().filter(|word| found.find_subcommand(word).is_some());
    match inner {
        Some(inner) => found.find_subcommand_mut(inner),
        None => Some(found),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_declaration_of_the_flags_is_sound() {
        Cli::command().debug_assert();
    }

    /// Calls `check` with the name of each command, and with what its help has below the flags.
    fn for_each_help(check: impl Fn(&str, &str)) {
        let mut root = super::completion::command();
        root.build();
        let mut rest = vec![&root];
        while let Some(command) = rest.pop() {
            let help = command.get_after_help().map(ToString::to_string);
            let name = command.get_bin_name().unwrap_or_default();
            check(name, &help.unwrap_or_default());
            rest.extend(command.get_subcommands());
        }
    }

    /// Where nothing says how wide a terminal is, and at most, clap wraps what is wider.
    const WIDTH: usize = 100;

    #[test]
    fn what_stands_below_the_flags_is_not_wrapped() {
        for_each_help(|name, help| {
            for line in help.lines() {
                assert!(line.chars().count() <= WIDTH, "`{name} --help`: {line}");
            }
        });
    }

    #[test]
    fn every_command_has_an_example() {
        for_each_help(|name, help| {
            if name.split(' ').any(|word| word == "help") {
                return;
            }
            let has_example = help.contains("Examples:\n") && help.contains("  steersman ");
            assert!(has_example, "`{name} --help` shows no example");
        });
    }
}
