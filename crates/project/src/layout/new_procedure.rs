//! A procedure that comes into a project: what watches.yaml says of it, and its Job to begin with.

use super::templates::filled;
use crate::yaml::scalar;

const JOB: &str = include_str!("starter/procedure.yaml");

/// A procedure that a project is going to have.
///
/// ```
/// use steersman_project::layout::{NewProcedure, NewSchedule};
///
/// let backup = NewProcedure {
///     name: "backup".to_owned(),
///     schedule: Some(NewSchedule::Value("backup.schedule".to_owned())),
///     ..NewProcedure::default()
/// };
/// assert_eq!(backup.file(), "procedures/backup.yaml");
/// assert!(backup.job().contains("kind: Job\n"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewProcedure {
    /// By which people ask for it.
    pub name: String,
    /// The kind of its runs, where it is not made of the entry's kind and the name.
    pub run_kind: Option<String>,
    /// When it begins by itself.
    pub schedule: Option<NewSchedule>,
    /// Whether a revision waits until a run has succeeded.
    pub before_upgrade: bool,
    /// Whether nothing else is done with the release meanwhile.
    pub exclusive: bool,
    /// Whether a run has to be confirmed.
    pub confirm: bool,
    /// Texts that a run may say.
    pub parameters: Vec<String>,
}

/// When a procedure begins by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewSchedule {
    /// Five fields of cron.
    Cron(String),
    /// Where among the values of a resource these are, with dots between.
    Value(String),
}

impl NewProcedure {
    /// The template of its Job, by its path in the chart.
    pub fn file(&self) -> String {
        format!("procedures/{}.yaml", self.name)
    }

    /// The text of that file, to begin with.
    pub fn job(&self) -> String {
        let variables = self.parameters.iter().map(|parameter| {
            let (variable, value) = (variable(parameter), format!(".Procedure.parameters.{parameter}"));
            format!("            - name: {variable}\n              value: {{{{ {value} | quote }}}}\n")
        });
        let variables: String = variables.collect();
        filled(JOB, &[("name", &self.name), ("parameters", &variables)])
    }

    /// The fields of its item in watches.yaml, line by line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("name: {}", scalar(&self.name))];
        if let Some(kind) = &self.run_kind {
            lines.push(format!("kind: {}", scalar(kind)));
        }
        lines.push(format!("job: {}", scalar(&self.file())));
        if let Some(schedule) = &self.schedule {
            lines.push(match schedule {
                // As people write it, whatever the first field is.
                NewSchedule::Cron(cron) => {
                    format!("schedule: {{cron: {}}}", serde_json::Value::from(cron.as_str()))
                }
                NewSchedule::Value(path) => format!("schedule: {{value: {}}}", scalar(path)),
            });
        }
        let switches = [
            (self.before_upgrade, "before: {upgrade: true}"),
            (self.exclusive, "exclusive: true"),
            (self.confirm, "confirm: true"),
        ];
        let switches = switches.into_iter().filter(|(is_on, _)| *is_on);
        lines.extend(switches.map(|(_, line)| line.to_owned()));
        if !self.parameters.is_empty() {
            lines.push("parameters:".to_owned());
            let what = if self.begins_by_itself() {
                "{default: \"\"}"
            } else {
                "{required: true}"
            };
            let parameters = self.parameters.iter();
            lines.extend(parameters.map(|parameter| format!("  {}: {what}", scalar(parameter))));
        }
        lines
    }

    /// Nobody says parameters then.
    fn begins_by_itself(&self) -> bool {
        self.schedule.is_some() || self.before_upgrade
    }
}

/// `keepDays` as `KEEP_DAYS`.
fn variable(parameter: &str) -> String {
    let mut variable = String::new();
    for character in parameter.chars() {
        if character.is_ascii_uppercase() && !variable.is_empty() {
            variable.push('_');
        }
        variable.push(character.to_ascii_uppercase());
    }
    variable
}
