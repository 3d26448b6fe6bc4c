//! Renders template snippets: JSON lines in, JSON lines out.
//!
//! ```text
//! in:  {"id": "…", "template": "…", "values": {…}, "helpers": "…", "files": {"name": "content"}}
//! out: {"id": "…", "output": "…"}   or   {"id": "…", "error": "…"}
//! ```
//!
//! `values_yaml` may hold the values as YAML text in place of `values`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, Write as _};

use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    id: String,
    template: String,
    helpers: Option<String>,
    #[serde(default)]
    values: serde_json::Value,
    #[serde(default)]
    values_yaml: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Answer {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        let input: Input = serde_json::from_str(&line)?;
        let (output, error) = match render(&input) {
            Ok(output) => (Some(output), None),
            Err(error) => (None, Some(error)),
        };
        serde_json::to_writer(
            &mut out,
            &Answer {
                id: input.id,
                output,
                error,
            },
        )?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

fn render(input: &Input) -> Result<String, String> {
    let values = if input.values_yaml.is_empty() {
        support::read_values(&input.values)?
    } else {
        steersman_chart::values::read(input.values_yaml.as_bytes())?
    };
    support::render_snippet(&input.template, input.helpers.as_deref(), &input.files, &values)
}
