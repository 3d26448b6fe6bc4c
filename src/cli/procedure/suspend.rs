//! `procedure suspend`, `procedure resume`: whether procedures of a resource begin by their schedules.

use anyhow::anyhow;
use kube::api::DynamicObject;
use steersman_model::Environment;
use steersman_watches::procedure::names::SUSPEND;

use super::kinds::Subject;
use crate::cli::Failure;
use crate::cli::cluster::{ClusterFlags, block_on};
use crate::cli::report::print_line;
use crate::cli::style::harmless;

/// Stands for all of them.
const ALL: &str = "true";
/// So often it is written where others write the resource at the same time: its operator does, too.
const TRIES: u32 = 10;

pub(super) const SUSPEND_EXAMPLES: &str = "\
Examples:
  # No procedure begins by its schedule
  steersman procedure suspend etcdcluster/west

  # No backup does; `steersman procedure run` makes one all the same
  steersman procedure suspend etcdcluster/west backup";

pub(super) const RESUME: &str = "\
Examples:
  # All procedures begin by their schedules again
  steersman procedure resume etcdcluster/west

  # The backup does
  steersman procedure resume etcdcluster/west backup";

/// What `procedure suspend` and `procedure resume` take.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The custom resource: KIND/NAME
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// Procedures, as watches.yaml names them [default: all of the kind]
    #[arg(value_name = "PROCEDURE")]
    procedures: Vec<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Which procedures are suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Suspended {
    All,
    /// In the order of the annotation; none, where there is no annotation.
    These(Vec<String>),
}

/// Takes schedules out of effect.
pub(super) fn suspend(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    exec(arguments, environment, |before, subject| {
        for name in &arguments.procedures {
            subject.procedure(name)?;
        }
        Ok(before.with(&arguments.procedures))
    })
}

/// Brings schedules into effect again.
pub(super) fn resume(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    exec(arguments, environment, |before, subject| {
        // One that no longer exists may be named in the annotation.
        for name in arguments.procedures.iter().filter(|name| !before.names(name)) {
            subject.procedure(name)?;
        }
        let all = subject.procedures.iter().map(|one| one.procedure.as_str());
        Ok(before.without(&arguments.procedures, all))
    })
}

/// Writes what comes of the annotation, and says it.
fn exec(
    arguments: &Args,
    environment: &Environment,
    change: impl Fn(&Suspended, &Subject) -> Result<Suspended, Failure>,
) -> Result<(), Failure> {
    let now = block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let subject = Subject::find(&cluster, &arguments.resource).await?;
        let mut tries_left = TRIES;
        loop {
            let object = subject.read(&cluster).await?;
            let before = Suspended::read(annotation(&object));
            let now = change(&before, &subject)?;
            let value = now.value();
            if value.as_deref() == annotation(&object) {
                return Ok(now);
            }
            tries_left -= 1;
            let written = cluster.annotate(&subject.resource, &object, SUSPEND, value.as_deref());
            match written.await {
                Ok(()) => return Ok(now),
                Err(error) if error.is_conflict() && tries_left > 0 => {}
                Err(error) => {
                    let attempt = format!("failed to annotate {} {}", subject.api.kind, subject.name);
                    return Err(anyhow!(error).context(attempt).into());
                }
            }
        }
    })?;
    print_line(&harmless(&format!("{}: {}", arguments.resource, now.in_words())))
}

fn annotation(object: &DynamicObject) -> Option<&str> {
    let annotations = object.metadata.annotations.as_ref()?;
    annotations.get(SUSPEND).map(String::as_str)
}

impl Suspended {
    fn read(annotation: Option<&str>) -> Self {
        match annotation.unwrap_or_default().trim() {
            ALL => Self::All,
            "false" => Self::These(Vec::new()),
            names => {
                let names = names.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
                Self::These(names.collect())
            }
        }
    }

    /// What the annotation is to say; `None` where it is to go.
    fn value(&self) -> Option<String> {
        match self {
            Self::All => Some(ALL.to_owned()),
            Self::These(names) if names.is_empty() => None,
            Self::These(names) => Some(names.join(",")),
        }
    }

    fn names(&self, name: &str) -> bool {
        matches!(self, Self::These(names) if names.iter().any(|one| one == name))
    }

    /// With some more, or all where none is named.
    fn with(&self, more: &[String]) -> Self {
        match self {
            Self::These(names) if !more.is_empty() => {
                let mut names = names.clone();
                for name in more {
                    if !names.contains(name) {
                        names.push(name.clone());
                    }
                }
                Self::These(names)
            }
            _ => Self::All,
        }
    }

    /// Without some, or none where none is named. Where all are suspended, the others of `all` still are.
    fn without<'a>(&self, fewer: &[String], all: impl Iterator<Item = &'a str>) -> Self {
        if fewer.is_empty() {
            return Self::These(Vec::new());
        }
        let names: Vec<String> = match self {
            Self::All => all.map(str::to_owned).collect(),
            Self::These(names) => names.clone(),
        };
        let rest = names.into_iter().filter(|name| !fewer.contains(name));
        Self::These(rest.collect())
    }

    fn in_words(&self) -> String {
        match self {
            Self::All => "no procedure begins by its schedule".to_owned(),
            Self::These(names) => match names.as_slice() {
                [] => "all procedures begin by their schedules".to_owned(),
                [one] => format!("{one} does not begin by its schedule"),
                several => format!("{} do not begin by their schedules", several.join(", ")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn procedures_are_added_to_those_that_are_suspended() {
        let check = |before: Option<&str>, more: &str, expect: Option<&str>| {
            let now = Suspended::read(before).with(&names(more)).value();
            assert_eq!(now.as_deref(), expect, "{before:?} {more}");
        };
        check(None, "", Some("true"));
        check(None, "backup", Some("backup"));
        check(Some("false"), "backup", Some("backup"));
        check(
            Some("backup , ,verify"),
            "backup restore",
            Some("backup,verify,restore"),
        );
        check(Some("backup"), "", Some("true"));
        check(Some("true"), "backup", Some("true"));
    }

    #[test]
    fn procedures_are_taken_out_of_those_that_are_suspended() {
        let check = |before: Option<&str>, fewer: &str, expect: Option<&str>| {
            let all = ["backup", "restore"].into_iter();
            let now = Suspended::read(before).without(&names(fewer), all).value();
            assert_eq!(now.as_deref(), expect, "{before:?} {fewer}");
        };
        check(None, "", None);
        check(None, "backup", None);
        check(Some("true"), "", None);
        check(Some("true"), "backup", Some("restore"));
        check(Some("true"), "backup restore", None);
        check(Some("gone,backup"), "gone", Some("backup"));
        check(Some("backup"), "backup", None);
        check(Some("backup"), "restore", Some("backup"));
    }
}
