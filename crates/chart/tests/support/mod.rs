//! What the snippets and the corpus are rendered with.

#![allow(dead_code, reason = "each test and example uses a part")]

pub(crate) mod compare;

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;

use steersman_chart::{Chart, Failure, LookupQuery, Timestamp, Value, World};

/// Prints a figure, and adds it to the file that `STEERSMAN_FIGURES` names: what a passing test prints is not seen.
#[expect(clippy::print_stdout, reason = "the figure is what the test is for")]
pub(crate) fn figure(line: &str) {
    println!("{line}");
    if let Some(path) = std::env::var_os("STEERSMAN_FIGURES") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.expect("the file of figures can be opened"), "{line}")
            .expect("a figure can be written");
    }
}

/// A world without a cluster, whose randomness follows from a seed.
#[derive(Debug)]
pub(crate) struct TestWorld {
    state: Cell<u64>,
}

impl TestWorld {
    /// A world in which each run is the same.
    pub(crate) fn new() -> Self {
        Self {
            state: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }
}

impl World for TestWorld {
    fn now(&self) -> Timestamp {
        Timestamp {
            seconds: 1_795_219_200,
            nanoseconds: 0,
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            // Steps of xorshift, which is enough to be no constant.
            let mut state = self.state.get();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            self.state.set(state);
            *byte = (state >> 24) as u8;
        }
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::map::<&str>([]))
    }
}

/// The chart around a snippet of the function cases.
pub(crate) const SNIPPET_CHART: &str = "apiVersion: v2\nname: snippet\nversion: 1.2.3\nappVersion: 4.5.6\n\
    description: One template\ntype: application\nkeywords: [a, b]\nhome: https://example.com\n";

/// What Helm's engine gives for a snippet: its output or its error.
pub(crate) fn render_snippet<'a>(
    template: &'a str,
    helpers: Option<&'a str>,
    files: impl IntoIterator<Item = (&'a String, &'a String)>,
    values: &steersman_chart::Values,
) -> Result<String, String> {
    let mut content: Vec<(&str, &[u8])> = vec![
        ("Chart.yaml", SNIPPET_CHART.as_bytes()),
        ("templates/t.yaml", template.as_bytes()),
    ];
    if let Some(helpers) = helpers {
        content.push(("templates/_helpers.tpl", helpers.as_bytes()));
    }
    for (name, text) in files {
        content.push((name, text.as_bytes()));
    }
    let chart = Chart::from_files(content).map_err(|error| error.to_string())?;
    let release = steersman_chart::ReleaseInfo {
        name: "rel".to_owned(),
        namespace: "ns".to_owned(),
        revision: 1,
        operation: steersman_chart::Operation::Install,
    };
    let capabilities = steersman_chart::Capabilities {
        kube_version: steersman_chart::KubeVersion::parse("v1.36.0").map_err(|error| error.to_string())?,
        ..Default::default()
    };
    let world = TestWorld::new();
    let files = chart
        .render_files(&steersman_chart::RenderInput {
            release: &release,
            values,
            capabilities: &capabilities,
            world: &world,
            limits: steersman_chart::Limits::default(),
            expired: None,
            skip_schema_validation: false,
            subchart_notes: false,
        })
        .map_err(|error| error.to_string())?;
    Ok(files.get("snippet/templates/t.yaml").cloned().unwrap_or_default())
}

/// Values as Helm reads them: JSON is YAML.
pub(crate) fn read_values(values: &serde_json::Value) -> Result<steersman_chart::Values, String> {
    steersman_chart::values::read(values.to_string().as_bytes())
}
