//! Prometheus: what it makes of rules, and of what an operator shows it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ports::free_port;
use crate::program;
use crate::skip::skipped;

/// How long a Prometheus has to get ready, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The programs that `build/control-plane.sh --of prometheus` builds.
#[derive(Debug, Clone)]
pub struct PrometheusPrograms {
    server: PathBuf,
    tool: PathBuf,
}

impl PrometheusPrograms {
    /// The programs, or none and a line that says why the test is skipped.
    ///
    /// # Panics
    ///
    /// They are not built, and `CI=true`.
    #[must_use]
    pub fn find_or_skip() -> Option<Self> {
        let found = program::find("prometheus", "prometheus");
        match found {
            Ok(server) => {
                let tool = server.with_file_name("promtool");
                Some(Self { server, tool })
            }
            Err(error) => {
                skipped("Prometheus", error);
                None
            }
        }
    }

    /// Runs promtool in a folder.
    ///
    /// # Panics
    ///
    /// It does not run.
    #[must_use]
    pub fn tool(&self, folder: &Path, arguments: &[&str]) -> Output {
        let output = Command::new(&self.tool)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        output.unwrap_or_else(|error| panic!("cannot run {}: {error}", self.tool.display()))
    }

    /// Starts a Prometheus that scrapes a port of this machine each second, with `rules.yaml` of the folder, in which it keeps
    /// what it has.
    ///
    /// # Panics
    ///
    /// It does not start, or is not ready in time.
    #[must_use]
    pub fn start(&self, folder: &Path, port: u16) -> Prometheus {
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yaml]\nscrape_configs:\n\
             - {{job_name: operators, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n"
        );
        let file = folder.join("prometheus.yml");
        fs::write(&file, config).unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        let own = free_port().unwrap_or_else(|error| panic!("no port is free: {error}"));
        let address = format!("127.0.0.1:{own}");
        let log = folder.join("prometheus.log");
        let output = File::create(&log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let child = Command::new(&self.server)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn();
        let prometheus = Prometheus {
            child: child.unwrap_or_else(|error| panic!("cannot run {}: {error}", self.server.display())),
            programs: self.clone(),
            folder: folder.to_owned(),
            url: format!("http://{address}"),
        };
        let started = Instant::now();
        while !prometheus.is_ready() {
            let told = fs::read_to_string(&log).unwrap_or_default();
            assert!(
                started.elapsed() < PATIENCE,
                "Prometheus does not get ready: {told}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        prometheus
    }
}

/// A Prometheus that runs until the value is dropped.
#[derive(Debug)]
pub struct Prometheus {
    child: Child,
    programs: PrometheusPrograms,
    folder: PathBuf,
    url: String,
}

impl Prometheus {
    fn is_ready(&self) -> bool {
        let url = format!("--url={}", self.url);
        self.programs
            .tool(&self.folder, &["check", "ready", &url])
            .status
            .success()
    }

    /// What a query gives now: a list of series, each with `metric` and `value`.
    ///
    /// # Errors
    ///
    /// It is no query, or can't be answered; the text is promtool's.
    pub fn query(&self, query: &str) -> Result<Vec<Value>, String> {
        let arguments = ["query", "instant", "-o", "json", &self.url, query];
        let output = self.programs.tool(&self.folder, &arguments);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
