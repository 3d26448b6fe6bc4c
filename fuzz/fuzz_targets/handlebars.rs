//! A Handlebars template and values through a whole chart: text or an error, within the limits.
//!
//! The input is a template, a zero byte, values, a zero byte, and a partial.

#![no_main]

use libfuzzer_sys::fuzz_target;
use steersman_chart::Chart;
use steersman_fuzz::{parts, render};

fuzz_target!(|input: &[u8]| {
    let [template, values, partial] = parts(input);
    let chart = Chart::from_files([
        (
            "Chart.yaml",
            "apiVersion: v2\nname: fuzz\nversion: 1.0.0\n".as_bytes(),
        ),
        ("templates/t.hbs", template),
        ("templates/_p.hbs", partial),
        (
            "templates/_helpers.tpl",
            b"{{ define \"go\" }}{{ .Values | toYaml }}{{ end }}",
        ),
        ("values.yaml", b"a: 1\nb: [x, y]\nc: {d: e}\n"),
        ("files/text.txt", b"one\ntwo\n"),
    ])
    .expect("the files are a chart");
    let values = steersman_chart::values::read(values).unwrap_or_default();
    let _ = render(&chart, &values);
});
