//! The sample of a kind: a resource with the chart's default values.

use serde_json::Value;
use steersman_yaml::Style;

use super::Api;

/// The text of the sample. Comments of `values.yaml` are kept where its lines can be those of the spec.
pub(super) fn sample(api: &Api<'_>) -> String {
    let head = format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  name: {}-sample\nspec:\n  # Default values copied from \
         <project_dir>/helm-charts/{}/values.yaml\n",
        api.kind.api_version(),
        api.kind.kind,
        api.kind.singular(),
        api.chart
    );
    let Ok(Value::Object(values)) = steersman_yaml::to_json(api.values) else {
        return head.replace("spec:\n", "spec: {}\n");
    };
    if values.is_empty() {
        return head.replace("spec:\n", "spec: {}\n");
    }
    let values = Value::Object(values);
    let with_comments = format!("{head}{}", indented(api.values));
    let says_the_same = steersman_yaml::to_json(&with_comments).is_ok_and(|sample| sample["spec"] == values);
    if says_the_same {
        return with_comments;
    }
    let plain = steersman_yaml::marshal(&values, Style::V2).unwrap_or_default();
    format!("{head}{}", indented(&plain))
}

/// Lines that are indented by two more spaces; empty ones stay empty.
fn indented(text: &str) -> String {
    let mut indented = String::new();
    for line in text.trim_end().lines() {
        if !line.trim().is_empty() {
            indented.push_str("  ");
            indented.push_str(line.trim_end());
        }
        indented.push('\n');
    }
    indented
}

#[cfg(test)]
mod tests {
    use super::sample;
    use crate::CustomKind;
    use crate::layout::Api;

    fn sample_of(values: &str) -> String {
        let kind = CustomKind::new("cache.example.com", "v1", "Memcached");
        sample(&Api {
            kind: &kind,
            group: "cache",
            chart: "memcached",
            values,
            definition: "",
            rules: "",
        })
    }

    const HEAD: &str =
        "apiVersion: cache.example.com/v1\nkind: Memcached\nmetadata:\n  name: memcached-sample\n";
    const COMMENT: &str = "  # Default values copied from <project_dir>/helm-charts/memcached/values.yaml\n";

    #[test]
    fn comments_are_kept() {
        assert_eq!(
            sample_of("# -- how many\nreplicas: 3\n\ntext: |\n  two\n\n  lines\n"),
            format!(
                "{HEAD}spec:\n{COMMENT}  # -- how many\n  replicas: 3\n\n  text: |\n    two\n\n    lines\n"
            )
        );
    }

    #[test]
    fn values_that_cannot_be_indented_are_written_anew() {
        assert_eq!(
            sample_of("---\n# gone\nb: 2\na: \"1\"\n"),
            format!("{HEAD}spec:\n{COMMENT}  a: \"1\"\n  b: 2\n")
        );
    }

    #[test]
    fn charts_without_values_have_an_empty_spec() {
        assert_eq!(sample_of("# nothing\n"), format!("{HEAD}spec: {{}}\n{COMMENT}"));
    }
}
