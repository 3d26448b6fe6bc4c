//! Renders a chart again and again, and says how long that takes; `benches/` asks it, and Helm's engine beside it.
//!
//! ```text
//! render CORPUS CASE
//! ```
//!
//! CASE is a line of the corpus' index. Then each line on standard input is an order, answered by a line of JSON:
//!
//! ```text
//! render N         N renderings, schemas left aside
//! values N         N renderings, the schemas of the chart included
//! release N        N renderings that are also taken apart into manifests and hooks
//! threads N T      N renderings on each of T threads that share the chart
//! ```

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use steersman_chart::values::{self, Values, set};
use steersman_chart::{Capabilities, Chart, KubeVersion, Limits, Operation, ReleaseInfo, RenderInput};
use steersman_testkit::corpus::Case;

/// What was used, in nanoseconds, for all renderings together.
#[derive(Serialize)]
struct Cost {
    wall: u64,
    /// Processor time of the first thread, which is all of it unless several were asked for.
    cpu: u64,
}

struct Subject {
    chart: Chart,
    values: Values,
    release: ReleaseInfo,
    capabilities: Capabilities,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Render,
    Values,
    Release,
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds a flag of its own.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| text != "--bench")
        .collect();
    let [corpus, case] = arguments.as_slice() else {
        return Err("usage: render CORPUS CASE".into());
    };
    let subject = Subject::load(Path::new(corpus), &serde_json::from_str(case)?)?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        serde_json::to_writer(&mut out, &subject.obey(&line?)?)?;
        writeln!(out)?;
    }
    Ok(())
}

impl Subject {
    fn load(corpus: &Path, case: &Case) -> Result<Self, Box<dyn Error>> {
        let mut given = Values::new();
        for file in &case.values {
            values::overlay(&mut given, values::read(&std::fs::read(corpus.join(file))?)?);
        }
        for text in &case.set {
            set::set(&mut given, text)?;
        }
        let mut capabilities = Capabilities::default();
        if !case.kube_version.is_empty() {
            capabilities.kube_version = KubeVersion::parse(&case.kube_version)?;
        }
        capabilities
            .api_versions
            .0
            .extend(case.api_versions.iter().cloned());
        Ok(Self {
            chart: Chart::load(&corpus.join(&case.chart))?,
            values: given,
            release: ReleaseInfo {
                name: case.release.clone(),
                namespace: case.namespace.clone(),
                revision: 1,
                operation: if case.is_upgrade {
                    Operation::Upgrade
                } else {
                    Operation::Install
                },
            },
            capabilities,
        })
    }

    fn obey(&self, order: &str) -> Result<Cost, Box<dyn Error>> {
        let words: Vec<&str> = order.split_whitespace().collect();
        let (name, numbers) = words.split_first().ok_or("no order")?;
        let numbers: Vec<u32> = numbers
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?;
        let depth = match (*name, numbers.as_slice()) {
            ("render" | "threads", _) => Depth::Render,
            ("values", _) => Depth::Values,
            ("release", _) => Depth::Release,
            _ => return Err(format!("unknown order {order:?}").into()),
        };
        let (cpu, start) = (processor_time(), Instant::now());
        match numbers.as_slice() {
            [count] => self.repeat(*count, depth)?,
            [count, threads] => self.share(*count, *threads, depth)?,
            _ => return Err(format!("order {order:?} lacks a number").into()),
        }
        Ok(Cost {
            wall: start.elapsed().as_nanos() as u64,
            cpu: processor_time().saturating_sub(cpu),
        })
    }

    fn share(&self, count: u32, threads: u32, depth: Depth) -> Result<(), String> {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| self.repeat(count, depth)))
                .collect();
            running
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })
    }

    fn repeat(&self, count: u32, depth: Depth) -> Result<(), String> {
        (1..=count).try_for_each(|revision| self.render(revision, depth))
    }

    fn render(&self, revision: u32, depth: Depth) -> Result<(), String> {
        let release = ReleaseInfo {
            revision,
            ..self.release.clone()
        };
        let world = support::TestWorld::new();
        let input = RenderInput {
            release: &release,
            values: &self.values,
            capabilities: &self.capabilities,
            world: &world,
            limits: Limits::default(),
            expired: None,
            skip_schema_validation: depth == Depth::Render,
            subchart_notes: false,
        };
        let failed = |error: steersman_chart::RenderError| error.to_string();
        if depth == Depth::Release {
            black_box(self.chart.render(&input).map_err(failed)?);
        } else {
            black_box(self.chart.render_files(&input).map_err(failed)?);
        }
        Ok(())
    }
}

/// The processor time of this thread; nothing where the system does not tell.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}
