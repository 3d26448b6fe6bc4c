//! Values against the schemas of all charts that take part.

use serde_json::Value;

use crate::dependencies::Enabled;
use crate::schema::Findings;
use crate::values::Values;

/// Checks the values of a chart and of the charts it depends on, and gathers what all their
/// schemas say.
///
/// # Errors
/// Helm's message, of one paragraph for each chart.
pub(super) fn check(chart: &Enabled, values: &Values) -> Result<(), Findings> {
    let mut report = Findings::default();
    collect(chart, values, &mut report);
    if report == Findings::default() {
        return Ok(());
    }
    let title = "values don't meet the specifications of the schema(s) in the following chart(s):\n";
    report.message.insert_str(0, title);
    report.without_values.insert_str(0, title);
    Err(report)
}

/// Whether `chart` or a chart that it depends on has a schema.
pub(super) fn is_present(chart: &Enabled) -> bool {
    chart.source.schema.is_some() || chart.dependencies.iter().any(is_present)
}

fn collect(chart: &Enabled, values: &Values, report: &mut Findings) {
    let result = match chart.source.compiled_schema() {
        None => Ok(()),
        Some(Ok(schema)) => schema.check(&Value::Object(values.clone())),
        Some(Err(message)) => Err(message.clone().into()),
    };
    if let Err(findings) = result {
        report.push(&chart.name);
        report.push(":\n");
        report.message.push_str(&findings.message);
        report.without_values.push_str(&findings.without_values);
    }
    for dependency in &chart.dependencies {
        match values.get(&dependency.name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(values)) => collect(dependency, values, report),
            Some(other) => {
                report.push(&dependency.name);
                report.push(":\ninvalid type for values: expected object (map), got ");
                report.push(match other {
                    Value::Bool(_) => "bool",
                    Value::Number(number) if number.is_i64() => "int64",
                    Value::Number(_) => "float64",
                    Value::String(_) => "string",
                    _ => "[]interface {}",
                });
                report.push("\n");
            }
        }
    }
}
