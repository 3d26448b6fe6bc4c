//! The keys that a chart names: they are no secret, whoever gives them a value.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::{Chart, Outline};

/// The keys of a chart's default values and of its schema, and the names of its subcharts; they are gathered where somebody asks.
pub(super) struct NamedKeys<'a> {
    chart: &'a Chart,
    keys: OnceCell<BTreeSet<String>>,
}

impl<'a> NamedKeys<'a> {
    pub(super) fn of(chart: &'a Chart) -> Self {
        Self {
            chart,
            keys: OnceCell::new(),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        let keys = self.keys.get_or_init(|| {
            let mut keys = BTreeSet::new();
            gather(&self.chart.outline(), &mut keys);
            keys
        });
        keys.contains(key)
    }
}

fn gather(chart: &Outline, keys: &mut BTreeSet<String>) {
    keys.insert(chart.name().to_owned());
    for (key, value) in chart.values() {
        keys.insert(key.clone());
        gather_keys(value, keys);
    }
    let schema = chart.schema().and_then(|text| serde_json::from_slice(text).ok());
    gather_keys(&schema.unwrap_or(Value::Null), keys);
    for subchart in chart.subcharts() {
        gather(subchart, keys);
    }
}

fn gather_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather_keys(item, keys)),
        Value::Object(map) => {
            for (key, item) in map {
                keys.insert(key.clone());
                gather_keys(item, keys);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_the_keys_of_its_defaults_its_schema_and_its_subcharts() {
        let schema = br#"{"properties": {"of-schema": {"type": "object"}}}"#;
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice(),
            ),
            ("values.yaml", b"list: [{of-values: 1}]"),
            ("values.schema.json", schema),
            (
                "charts/sub-1/Chart.yaml",
                b"{apiVersion: v2, name: sub-1, version: 1.0.0}",
            ),
            ("charts/sub-1/values.yaml", b"of-sub: 1"),
        ]);
        let chart = chart.unwrap();
        let named = NamedKeys::of(&chart);
        for key in ["list", "of-values", "of-schema", "sub-1", "of-sub"] {
            assert!(named.has(key), "{key}");
        }
        assert!(!named.has("of-nobody"));
    }
}
