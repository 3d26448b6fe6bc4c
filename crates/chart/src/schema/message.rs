//! What a schema has to say, in the words of the library that Helm uses.

use std::fmt::Write as _;

use boon::{CompileError, ErrorKind, Type, Types, ValidationError};
use serde_json::{Number, Value};
use steersman_gotemplate::format::quote as go_quote;

/// Why a schema cannot be used.
pub(super) fn of_compilation(error: &CompileError) -> String {
    match error {
        CompileError::LoadUrlError { url, src } => format!("failing loading {}: {src}", go_quote(url)),
        CompileError::ValidationError { url, src } => {
            let findings = of_validation(src, Quoting::Values);
            let metaschema = match &src.kind {
                ErrorKind::Schema { url } => quote(url),
                _ => quote(src.schema_url),
            };
            format!(
                "{} is not valid against metaschema: jsonschema validation failed with {metaschema}\n{}",
                go_quote(url),
                findings.trim_end()
            )
        }
        other => format!("{other:#}"),
    }
}

/// Whether messages quote the values that they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// As Helm's do.
    Values,
    /// They tell what is wanted, and where.
    Nothing,
}

/// What is wrong with values, one line for each finding.
pub(super) fn of_validation(error: &ValidationError<'_, '_>, quoting: Quoting) -> String {
    let mut text = String::new();
    // The outermost error says only that there are others, and Helm leaves it out.
    match &error.kind {
        ErrorKind::Schema { .. } => {
            for cause in &error.causes {
                append(cause, 1, quoting, &mut text);
            }
        }
        _ => append(error, 1, quoting, &mut text),
    }
    text.push('\n');
    text.split_off(usize::from(text.starts_with('\n')))
}

fn append(error: &ValidationError<'_, '_>, indent: usize, quoting: Quoting, text: &mut String) {
    let is_detour = error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
    let mut inner = indent;
    if !is_detour {
        text.push('\n');
        text.push_str(&"  ".repeat(indent - 1));
        let place = quote(&error.instance_location.to_string());
        let _ = write!(text, "- at {place}: {}", describe_with(quoting, &error.kind));
        inner += 1;
    }
    for cause in &error.causes {
        append(cause, inner, quoting, text);
    }
}

fn describe_with(quoting: Quoting, kind: &ErrorKind<'_, '_>) -> String {
    if quoting == Quoting::Values {
        return describe(kind);
    }
    match kind {
        ErrorKind::Format { want, .. } => format!("the value is not valid {want}"),
        ErrorKind::Pattern { want, .. } => {
            format!("the value does not match pattern {}", quote(want))
        }
        ErrorKind::ContentEncoding { want, .. } => {
            format!("the value is not {} encoded", quote(want))
        }
        ErrorKind::ContentMediaType { want, .. } => {
            format!("the value is not of mediatype {}", quote(want))
        }
        ErrorKind::Minimum { want, .. } => format!("minimum: want {}", number(want)),
        ErrorKind::Maximum { want, .. } => format!("maximum: want {}", number(want)),
        ErrorKind::ExclusiveMinimum { want, .. } => {
            format!("exclusiveMinimum: want {}", number(want))
        }
        ErrorKind::ExclusiveMaximum { want, .. } => {
            format!("exclusiveMaximum: want {}", number(want))
        }
        ErrorKind::MultipleOf { want, .. } => format!("multipleOf: want {}", number(want)),
        other => describe(other),
    }
}

fn describe(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Group | ErrorKind::Reference { .. } => "validation failed".to_owned(),
        ErrorKind::Schema { url } => format!("jsonschema validation failed with {}", quote(url)),
        ErrorKind::ContentSchema => "'contentSchema' failed".to_owned(),
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quote(prop)),
        ErrorKind::RefCycle {
            url,
            kw_loc1,
            kw_loc2,
        } => {
            format!(
                "both {kw_loc1} and {kw_loc2} resolve to {} causing reference cycle",
                go_quote(url)
            )
        }
        ErrorKind::FalseSchema => "false schema".to_owned(),
        ErrorKind::Type { got, want } => format!("got {}, want {}", type_name(*got), type_names(*want)),
        ErrorKind::Enum { want } => one_of(want),
        ErrorKind::Const {
            want: Value::Array(_) | Value::Object(_),
        } => "'const' failed".to_owned(),
        ErrorKind::Const { want } => format!("value must be {}", display(want)),
        ErrorKind::Format { got, want, err } => format!("{} is not valid {want}: {err}", display(got)),
        ErrorKind::MinProperties { got, want } => format!("minProperties: got {got}, want {want}"),
        ErrorKind::MaxProperties { got, want } => format!("maxProperties: got {got}, want {want}"),
        ErrorKind::AdditionalProperties { got } => {
            format!(
                "additional properties {} not allowed",
                quoted(got.iter().map(AsRef::as_ref))
            )
        }
        ErrorKind::Required { want } => match want.as_slice() {
            [one] => format!("missing property {}", quote(one)),
            all => format!("missing properties {}", quoted(all.iter().copied())),
        },
        ErrorKind::Dependency { prop, missing } | ErrorKind::DependentRequired { prop, missing } => {
            let missing = quoted(missing.iter().copied());
            format!("properties {missing} required, if {} exists", quote(prop))
        }
        ErrorKind::MinItems { got, want } => format!("minItems: got {got}, want {want}"),
        ErrorKind::MaxItems { got, want } => format!("maxItems: got {got}, want {want}"),
        ErrorKind::Contains => "no items match contains schema".to_owned(),
        ErrorKind::MinContains { got, want } if got.is_empty() => {
            format!("min {want} items required to match contains schema, but none matched")
        }
        ErrorKind::MinContains { got, want } => format!(
            "min {want} items required to match contains schema, but matched {} items at {}",
            got.len(),
            places(got)
        ),
        ErrorKind::MaxContains { got, want } => format!(
            "max {want} items required to match contains schema, but matched {} items at {}",
            got.len(),
            places(got)
        ),
        ErrorKind::UniqueItems { got: [first, second] } => {
            format!("items at {first} and {second} are equal")
        }
        ErrorKind::AdditionalItems { got } => format!("last {got} additionalItem(s) not allowed"),
        ErrorKind::MinLength { got, want } => format!("minLength: got {got}, want {want}"),
        ErrorKind::MaxLength { got, want } => format!("maxLength: got {got}, want {want}"),
        ErrorKind::Pattern { got, want } => format!("{} does not match pattern {}", quote(got), quote(want)),
        ErrorKind::ContentEncoding { want, err } => format!("value is not {} encoded: {err}", quote(want)),
        ErrorKind::ContentMediaType { want, err, .. } => {
            format!("value is not of mediatype {}: {err}", quote(want))
        }
        ErrorKind::Minimum { got, want } => bound("minimum", got, want),
        ErrorKind::Maximum { got, want } => bound("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => bound("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => bound("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => bound("multipleOf", got, want),
        ErrorKind::Not => "'not' failed".to_owned(),
        ErrorKind::AllOf => "'allOf' failed".to_owned(),
        ErrorKind::AnyOf => "'anyOf' failed".to_owned(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        ErrorKind::OneOf(Some((first, second))) => {
            format!("'oneOf' failed, subschemas {first}, {second} matched")
        }
    }
}

fn one_of(want: &[Value]) -> String {
    let is_compound = |value: &Value| value.is_array() || value.is_object();
    match want {
        _ if want.iter().any(is_compound) => "'enum' failed".to_owned(),
        [one] => format!("value must be {}", display(one)),
        all => {
            let all: Vec<String> = all.iter().map(display).collect();
            format!("value must be one of {}", all.join(", "))
        }
    }
}

fn bound(keyword: &str, got: &Number, want: &Number) -> String {
    format!("{keyword}: got {}, want {}", number(got), number(want))
}

fn number(value: &Number) -> String {
    value
        .as_f64()
        .map_or_else(|| value.to_string(), |value| value.to_string())
}

fn places(items: &[usize]) -> String {
    let items: Vec<String> = items.iter().map(usize::to_string).collect();
    items.join(" ")
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quote).collect();
    names.join(", ")
}

fn display(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => "value".to_owned(),
        Value::Null => "<nil>".to_owned(),
        Value::Number(value) => number(value),
        Value::Bool(value) => value.to_string(),
    }
}

fn quote(text: &str) -> String {
    let quoted = go_quote(text);
    let inner = quoted
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(&quoted);
    format!("'{}'", inner.replace("\\\"", "\"").replace('\'', "\\'"))
}

fn type_name(of: Type) -> &'static str {
    match of {
        Type::Null => "null",
        Type::Boolean => "boolean",
        Type::Number => "number",
        Type::Integer => "integer",
        Type::String => "string",
        Type::Array => "array",
        Type::Object => "object",
    }
}

fn type_names(of: Types) -> String {
    let names: Vec<&str> = of.iter().map(type_name).collect();
    names.join(" or ")
}
