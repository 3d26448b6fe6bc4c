//! A schema and values: they agree, or there is a message.
//!
//! The input is a `values.schema.json`, a zero byte, and values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use steersman_chart::Chart;
use steersman_fuzz::{parts, render};

fuzz_target!(|input: &[u8]| {
    let [schema, values] = parts(input);
    let chart = Chart::from_files([
        (
            "Chart.yaml",
            "apiVersion: v2\nname: fuzz\nversion: 1.0.0\n".as_bytes(),
        ),
        ("values.schema.json", schema),
    ])
    .expect("the files are a chart");
    let values = steersman_chart::values::read(values).unwrap_or_default();
    let _ = render(&chart, &values);
});
