//! The page over many resources, beside `kubectl get` of the same.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::candidate::{AT_ONCE, Candidate, Kind};
use crate::cluster::Rig;
use crate::process::{Stat, Usage};
use crate::report::{self, Bound, Page, Row, median, row, slowest};

const WEB: Kind = Kind {
    kind: "Web",
    plural: "webs",
};
/// Of so many resources, one is stalled.
const ONE_STALLED_OF: usize = 100;
/// How long the list may take to be whole.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Steersman's optimised binary
    #[arg(long, value_name = "FILE")]
    steersman: PathBuf,
    /// How many custom resources there are
    #[arg(long, default_value_t = 5_000)]
    resources: usize,
    /// How often each side starts, and how often the list is looked at then
    #[arg(long, default_value_t = 10)]
    times: usize,
    /// Write the table to this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What one side takes; NaN where there is no such thing.
struct Figures {
    /// From the start of the program to the whole list, in seconds, in order.
    cold: Vec<f64>,
    /// From a request to the end of its answer, in seconds, in order.
    warm: Vec<f64>,
    /// Processor time for a list that is there already, in ms.
    processor: f64,
    /// Bytes of the first page.
    size: f64,
    /// In MB.
    resident: f64,
}

static ROWS: [Row<Figures>; 7] = [
    row(
        "the worst 50 after a start, median, s",
        |figures| median(&figures.cold),
        2,
        Bound::Most(1.0),
    ),
    row(
        "the worst 50 after a start, slowest, s",
        |figures| slowest(&figures.cold),
        2,
        Bound::None,
    ),
    row(
        "the worst 50 again, median, s",
        |figures| median(&figures.warm),
        4,
        Bound::Most(0.2),
    ),
    row(
        "the worst 50 again, slowest, s",
        |figures| slowest(&figures.warm),
        4,
        Bound::Most(0.2),
    ),
    row(
        "CPU ms of them again",
        |figures| figures.processor,
        2,
        Bound::None,
    ),
    row(
        "kB of the first page, as it is sent",
        |figures| figures.size / 1e3,
        1,
        Bound::Most(100.0),
    ),
    row(
        "resident with all of them, MB",
        |figures| figures.resident,
        1,
        Bound::None,
    ),
];

/// Measures both, one after the other, and gives the page that says what came out.
pub(crate) async fn measure(rig: &Rig, arguments: &Arguments) -> Result<String> {
    let Arguments {
        steersman,
        resources,
        times,
        ..
    } = arguments;
    let candidate =
        Candidate::prepare(rig, "steersman", steersman, &[(WEB, "chart: web".to_owned())]).await?;
    chart(&candidate)?;
    rig.say("resources", &format!("{resources} of them"));
    candidate
        .create(rig, WEB, 0..*resources, |_| json!({"message": "x".repeat(500)}))
        .await?;
    report_all(rig, &candidate, *resources).await?;
    // Both sides take turns, so that what else the machine does is both's.
    let (mut ours, mut theirs) = (Figures::none(), Figures::none());
    for turn in 1..=*times {
        rig.say("turn", &format!("{turn} of {times}"));
        ours.look(&candidate, (steersman, *resources), *times)?;
        theirs.get(&candidate, *resources)?;
    }
    for figures in [&mut ours, &mut theirs] {
        figures.cold.sort_by(f64::total_cmp);
        figures.warm.sort_by(f64::total_cmp);
    }
    let page = Page {
        title: "The page, measured",
        target: "bench-page",
        peer: "kubectl get",
        variable: "",
        conditions: format!(
            "Kubernetes {}; {resources} resources with a status, one in {ONE_STALLED_OF} of them stalled. `kubectl get --all-namespaces` \
             lists all of them anew each time, in the order of their names.",
            rig.kubernetes().await?,
        ),
    };
    Ok(report::page(&page, &ROWS, &[&ours, &theirs]))
}

/// The page asks for nothing of the chart but that it is there.
fn chart(candidate: &Candidate) -> Result<()> {
    let folder = candidate.folder.join("web");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    )?;
    Ok(())
}

/// Gives each resource the status of one that is ready, or stalled.
async fn report_all(rig: &Rig, candidate: &Candidate, count: usize) -> Result<()> {
    let all = candidate.objects(rig, &candidate.group, WEB);
    let parameters = PatchParams::default();
    futures::stream::iter(0..count)
        .map(async |number| {
            let patch = Patch::Merge(json!({"status": status(number)}));
            all.patch_status(&format!("web-{number}"), &parameters, &patch)
                .await?;
            anyhow::Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await
}

fn status(number: usize) -> Value {
    let condition = |kind: &str, is_so: bool, reason: &str| {
        json!({"type": kind, "status": if is_so { "True" } else { "False" }, "reason": reason,
            "message": "Deployment web-0: 1 of 1 pods available, as it was wanted", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let mut conditions = vec![
        condition("Initialized", true, ""),
        condition("Deployed", true, "InstallSuccessful"),
    ];
    if number.is_multiple_of(ONE_STALLED_OF) {
        conditions.extend([
            condition("Ready", false, "RenderFailed"),
            condition("Stalled", true, "RenderFailed"),
        ]);
    } else {
        conditions.push(condition("Ready", true, "ReleaseReady"));
    }
    json!({"observedGeneration": 1, "revision": 1, "conditions": conditions, "chart": {"name": "web", "version": "1.0.0"},
        "health": {"ready": 3, "total": 3}, "lastDeployed": "2026-01-01T00:00:00Z"})
}

impl Figures {
    fn none() -> Self {
        Self {
            cold: Vec::new(),
            warm: Vec::new(),
            processor: f64::NAN,
            size: f64::NAN,
            resident: f64::NAN,
        }
    }

    /// Starts the page, waits until the list is whole, and looks at it again.
    fn look(
        &mut self,
        candidate: &Candidate,
        (binary, count): (&PathBuf, usize),
        times: usize,
    ) -> Result<()> {
        let begun = Instant::now();
        let site = Site::start(candidate, binary)?;
        let cookie = site.log_in()?;
        let whole = format!("{count} in all");
        loop {
            let list = site.get("/", &cookie)?;
            if list.contains(&whole) {
                self.size = list.len() as f64;
                break;
            }
            if begun.elapsed() > PATIENCE {
                bail!("the list is not whole after {PATIENCE:?}: {list}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.cold.push(begun.elapsed().as_secs_f64());
        // What was sent in haste is not measured with what follows.
        std::thread::sleep(Duration::from_secs(1));
        let process = site.child.id();
        let before = Stat::of(process)?.processor;
        for _ in 0..times {
            let begun = Instant::now();
            site.get("/", &cookie)?;
            self.warm.push(begun.elapsed().as_secs_f64());
        }
        self.processor = (Stat::of(process)?.processor - before) * 1e3 / times as f64;
        self.resident = Usage::of(process)?.resident;
        Ok(())
    }

    /// Has kubectl list all of them; it keeps nothing between two times but what the server serves.
    fn get(&mut self, candidate: &Candidate, count: usize) -> Result<()> {
        let begun = Instant::now();
        let kind = format!("webs.{}", candidate.group);
        let before = Stat::of(std::process::id())?.processor_of_ended;
        let output = Command::new("kubectl")
            .args(["get", &kind, "--all-namespaces", "--no-headers", "--kubeconfig"])
            .arg(candidate.user.kubeconfig())
            .output()
            .context("failed to run kubectl")?;
        let lines = output.stdout.split(|byte| *byte == b'\n').count();
        if lines < count {
            bail!(
                "kubectl has listed {lines} of {count}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let took = begun.elapsed().as_secs_f64();
        self.cold.push(took);
        self.warm.push(took);
        self.processor = (Stat::of(std::process::id())?.processor_of_ended - before) * 1e3;
        Ok(())
    }
}

/// `steersman ui` that runs.
struct Site {
    child: Child,
    host: String,
    code: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    fn start(candidate: &Candidate, binary: &PathBuf) -> Result<Self> {
        let binary = std::fs::canonicalize(binary)?;
        let mut child = Command::new(&binary)
            .args(["ui", "--kubeconfig"])
            .arg(candidate.user.kubeconfig())
            .current_dir(&candidate.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {}", binary.display()))?;
        let mut line = String::new();
        let output = child.stdout.take().context("it has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line
            .trim()
            .strip_prefix("http://")
            .and_then(|address| address.split_once("/login?code="));
        let (host, code) = address.with_context(|| format!("it has said no address: {line}"))?;
        Ok(Self {
            host: host.to_owned(),
            code: code.to_owned(),
            child,
        })
    }

    fn log_in(&self) -> Result<String> {
        let answer = self.ask(&format!("/login?code={}", self.code), "")?;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next());
        Ok(cookie.context("it has given no cookie")?.to_owned())
    }

    fn get(&self, path: &str, cookie: &str) -> Result<String> {
        let answer = self.ask(path, cookie)?;
        if !answer.starts_with("HTTP/1.1 200") {
            bail!("{path}: {answer}");
        }
        Ok(answer)
    }

    fn ask(&self, path: &str, cookie: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
            self.host
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}
