//! JSONPath as `kubectl` and Helm have it: text with `{…}` in it, each a path with filters, ranges and unions.
//!
//! Behaviour is that of `k8s.io/client-go/util/jsonpath`, but for the order of a map's values, which is that of their
//! keys here and random there.

mod evaluate;
mod parse;

use crate::values::Values;

/// What an expression selects of values, as `helm show values --jsonpath` prints it. An expression that finds nothing
/// prints nothing.
///
/// ```
/// use steersman_chart::{json_path::select, values};
///
/// let values = values::read(b"ports: [{name: http, port: 80}, {name: https, port: 443}]")?;
/// let port = select(&values, r#"{.ports[?(@.name=="https")].port}"#)?;
/// assert_eq!(port, "443");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The expression cannot be understood; the text is Helm's.
pub fn select(values: &Values, expression: &str) -> Result<String, String> {
    let nodes =
        parse::parse(expression).map_err(|error| format!("error parsing jsonpath {expression}: {error}"))?;
    Ok(evaluate::print(&nodes, &serde_json::Value::Object(values.clone())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::select;

    const VALUES: &str = "\
name: web
size: 1000000
ports:
- {name: http, port: 80, tls: true}
- {name: https, port: 443.5}
- {name: admin}
labels: {a.b/c: d, e: <f>}
nothing: null
";

    /// The expected texts are what Helm 4.3.1 prints.
    fn check(expression: &str, expect: &str) {
        let values = crate::values::read(VALUES.as_bytes()).unwrap();
        let found = select(&values, expression).unwrap_or_else(|error| error);
        assert_eq!(found, expect, "{expression}");
    }

    #[test]
    fn paths_select() {
        check("{.name}", "web");
        check("{.size}", "1e+06");
        check("{.nothing}", "null");
        check("name: {.name}, {.ports[0].name}", "name: web, http");
        check("{.ports[*].name}", "http https admin");
        check("{.ports[-1:].name}", "admin");
        check("{.ports[0:2].name}", "http https");
        check("{.ports[::2].name}", "http admin");
        check("{.ports[0,2].name}", "http admin");
        check("{.labels.a\\.b/c}", "d");
        check("{.labels['e']}", "<f>");
        check("{.labels}", r#"{"a.b/c":"d","e":"\u003cf\u003e"}"#);
        check("{..port}", "80 443.5");
        check("{$.name}{\"\\n\"}", "web\n");
        check("plain", "plain");
    }

    #[test]
    fn filters_and_ranges_select() {
        check(r#"{.ports[?(@.name=="https")].port}"#, "443.5");
        check("{.ports[?(@.tls)].name}", "http");
        check("{.ports[0:2][?(@.port>100.0)].name}", "");
        check("{range .ports[*]}{.name},{end}.", "http,https,admin,.");
        check("{range .ports[0:2]}{.name}={.port};{end}", "http=80;https=443.5;");
    }

    #[test]
    fn what_finds_nothing_prints_nothing() {
        for expression in [
            "{.gone}",
            "{.ports[7]}",
            "{.name[0]}",
            "{.ports[?(@.port==80)].name}",
            "{end}",
            "{foo}",
        ] {
            check(expression, "");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        check("{.a", "error parsing jsonpath {.a: unclosed action");
        check("{.a[", "error parsing jsonpath {.a[: unterminated array");
        check("{.a[x]}", "error parsing jsonpath {.a[x]}: invalid array index x");
        check(
            "{.a[?(@.b]}",
            "error parsing jsonpath {.a[?(@.b]}: unterminated filter",
        );
        check("{'a}", "error parsing jsonpath {'a}: unterminated quoted string");
        check(
            "{%}",
            "error parsing jsonpath {%}: unrecognized character in action: U+0025 '%'",
        );
        check(
            "{....a}",
            "error parsing jsonpath {....a}: invalid multiple recursive descent",
        );
    }
}
