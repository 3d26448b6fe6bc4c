//! `job`, `steps` and `finally`: what a procedure does.

use serde_json::Value as Json;
use steersman_chart::Chart;
use steersman_model::{chain, one_line};
use steersman_yaml::Node;

use crate::ReleaseExpression;
use crate::load::entry::Loader;
use crate::load::fields::Fields;
use crate::names::is_namespace;
use crate::procedure::{JobStep, Step, StepValues, Work};
use crate::values::is_too_deep;

pub(in crate::load) const FIELDS: &[&str] = &["name", "job", "idempotent", "values", "wait", "timeout"];

/// So many steps a procedure has at most, and so many follow whatever becomes of these.
const MOST_STEPS: usize = 50;

impl Loader<'_> {
    /// The steps of a procedure; `job` alone is one.
    pub(super) fn steps(&mut self, procedure: &Fields<'_>, chart: Option<&Chart>) -> Vec<Step> {
        let (job, steps) = (procedure.get("job"), procedure.get("steps"));
        match (job, steps) {
            (Some(_), None) => {
                let work = self.job(procedure, chart);
                let step = work.map(|work| Step {
                    name: "job".to_owned(),
                    work,
                    timeout: None,
                });
                step.into_iter().collect()
            }
            (None, Some(_)) => {
                if procedure.given("idempotent").is_some() {
                    let message = "belongs to `job`: a step of `steps` says it itself";
                    let key = procedure.key("idempotent");
                    self.findings.problem(procedure.node, &key, message);
                }
                let steps = self.list_of_steps(procedure, "steps", chart, &[]);
                if steps.is_empty() && self.findings.problems.is_empty() {
                    let message = "`steps` has no step";
                    self.findings.problem(procedure.node, &procedure.path, message);
                }
                steps
            }
            (Some(_), Some(_)) | (None, None) => {
                let message = "says either `job`, a file of the chart with a Job, or `steps`";
                self.findings.problem(procedure.node, &procedure.path, message);
                Vec::new()
            }
        }
    }

    /// The steps in a field; none is called as one of `earlier`.
    pub(super) fn list_of_steps(
        &mut self,
        procedure: &Fields<'_>,
        field: &str,
        chart: Option<&Chart>,
        earlier: &[Step],
    ) -> Vec<Step> {
        let key = procedure.key(field);
        let items = procedure.items(field, "steps", &mut self.findings);
        if items.len() > MOST_STEPS {
            let message = format!("has {} steps, and may have {MOST_STEPS}", items.len());
            self.findings.problem(procedure.node, &key, message);
            return Vec::new();
        }
        let mut steps: Vec<Step> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{key}[{index}]");
            let Some(fields) = Fields::read_all(item, path, FIELDS, &mut self.findings) else {
                continue;
            };
            let number = earlier.len() + index + 1;
            let Some(step) = self.step(&fields, number, chart) else {
                continue;
            };
            if earlier.iter().chain(&steps).any(|other| other.name == step.name) {
                let message = format!("two steps are called `{}`", step.name);
                self.findings.problem(item, &fields.key("name"), message);
            }
            steps.push(step);
        }
        steps
    }

    fn step(&mut self, fields: &Fields<'_>, number: usize, chart: Option<&Chart>) -> Option<Step> {
        let name = match fields.get("name") {
            Some(_) => self.required(fields, "name", "such as `copy`", is_namespace)?,
            None => format!("step-{number}"),
        };
        let wait = fields.text("wait", &mut self.findings);
        let work = match (fields.get("job"), wait, fields.get("values")) {
            (Some(_), None, None) => self.job(fields, chart)?,
            (None, None, Some((_, values))) => Work::Values(self.step_values(fields, values)?),
            (None, Some((word, _)), None) if word == "ready" => Work::Ready,
            (None, Some((text, node)), None) => match ReleaseExpression::parse(&text) {
                Ok(expression) => Work::Holds(expression),
                Err(error) => {
                    let message = format!(
                        "is neither `ready`, for all objects of the release, nor an expression: {}",
                        chain(&error)
                    );
                    self.findings.problem(node, &fields.key("wait"), message);
                    return None;
                }
            },
            _ => {
                let message = "says one thing that is done: `job`, `values` or `wait`";
                self.findings.problem(fields.node, &fields.path, message);
                return None;
            }
        };
        if fields.given("idempotent").is_some() && !matches!(work, Work::Job(_)) {
            let message = "belongs to `job`";
            let key = fields.key("idempotent");
            self.findings.problem(fields.node, &key, message);
        }
        let timeout = super::time(fields, "timeout", &mut self.findings);
        Some(Step { name, work, timeout })
    }

    /// The values of a step: at least one.
    fn step_values(&mut self, fields: &Fields<'_>, node: &Node) -> Option<StepValues> {
        let key = fields.key("values");
        let values = match node.to_json() {
            Ok(Json::Object(values)) if !values.is_empty() => values,
            Ok(_) => {
                self.findings.expected("a map of values", node, &key);
                return None;
            }
            Err(error) => {
                self.findings.problem(node, &key, error.message());
                return None;
            }
        };
        if is_too_deep(&Json::Object(values.clone())) {
            self.findings.problem(node, &key, "is nested too deeply");
            return None;
        }
        let parsed = StepValues::parse(&values);
        parsed
            .map_err(|error| self.findings.problem(node, &key, error))
            .ok()
    }

    /// The Job of `job`, whose file has to be there and to be a template.
    fn job(&mut self, fields: &Fields<'_>, chart: Option<&Chart>) -> Option<Work> {
        let (file, node) = fields.text("job", &mut self.findings)?;
        if let Some(Err(error)) = chart.map(|chart| chart.check_file(&file)) {
            let message = one_line(&error.to_string());
            self.findings.problem(node, &fields.key("job"), message);
            return None;
        }
        Some(Work::Job(JobStep {
            file,
            idempotent: self.switch(fields, "idempotent"),
        }))
    }
}
