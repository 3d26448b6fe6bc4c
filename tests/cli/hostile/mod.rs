//! Charts and values of somebody who means harm, or is careless: each ends with an error that names the thing, or is
//! rendered, and takes neither much time nor much memory.
//!
//! | input | test |
//! |---|---|
//! | B1 paths out of an archive | `archive::paths_that_lead_out_of_the_chart_are_refused` |
//! | B2 links, pipes, devices | `archive::links_in_an_archive_show_nothing`, `archive::only_files_are_read_from_a_folder` |
//! | B3 archive bomb | `archive::a_bomb_is_not_unpacked` |
//! | B4 one large file | `archive::a_large_file_is_refused` |
//! | B5 large chart | `archive::a_large_chart_is_refused` |
//! | B6 a million empty files | `archive::a_million_empty_files_are_refused` |
//! | B7 size in an extended header, truncated, trailing garbage, no archive | `archive::broken_archives_are_refused` |
//! | B8 `Chart.yaml` that is none | `metadata::what_is_no_metadata_is_refused` |
//! | B9 null where something is expected | `metadata::nulls_are_no_reason_to_panic` |
//! | B10 aliases, circular and missing subcharts | `metadata::dependencies_are_checked` |
//! | B11 YAML bombs, nesting, long scalars, encodings, tags | `values::odd_yaml_is_read_or_refused` |
//! | B12 values that are no map | `values::values_are_a_map` |
//! | B13 schemas that point elsewhere, at themselves, or take long | `values::schemas_reach_nothing`, `values::schemas_take_no_long_time` |
//! | B14 templates that include themselves | `template::recursion_ends` |
//! | B15 texts and lists of any size | `template::amplification_is_stopped` |
//! | B16 wrong types, zero divisors, overflow, indexes | `template::mistakes_are_errors_with_a_place` |
//! | B17 `fail` and `required` | `template::messages_of_charts_are_shown` |
//! | B18 `env` and `expandenv` | `template::the_environment_is_out_of_reach` |
//! | B19 `getHostByName` | `template::the_network_is_out_of_reach` |
//! | B20, B21 `lookup`, in a value given to `tpl`, too | `template::lookup_finds_nothing` |
//! | B22 keys and hashes | `template::expensive_functions_are_bounded` |
//! | B23 regular expressions | `template::regular_expressions_take_linear_time` |
//! | B24 output that is no object | `template::odd_output_is_named` |

mod archive;
mod metadata;
mod template;
mod values;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How much memory the process may have used.
const MEMORY: u64 = 256 << 20;

/// How long it may take. An engine that is not optimised takes ten times as long, on a busy machine more.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 120 } else { 5 });

/// A chart, written file by file.
struct Hostile(tempfile::TempDir);

/// How `steersman template` ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Hostile {
    /// A folder without a chart in it.
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A chart of nothing but its name.
    fn new() -> Self {
        Self::empty().with("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    }

    /// A chart with this template.
    fn of_template(text: &str) -> Self {
        Self::new().with("templates/t.yaml", text)
    }

    fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.chart().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    fn chart(&self) -> PathBuf {
        self.0.path().join("web")
    }

    /// Renders the folder, and checks that this takes no more than it may.
    fn render(&self, arguments: &[&str]) -> Ended {
        self.render_path(&self.chart(), arguments)
    }

    /// Renders an archive of these bytes.
    fn render_archive(&self, bytes: &[u8]) -> Ended {
        let path = self.0.path().join("web.tgz");
        std::fs::write(&path, bytes).unwrap();
        self.render_path(&path, &[])
    }

    fn render_path(&self, chart: &Path, arguments: &[&str]) -> Ended {
        let output = |name: &str| File::create(self.0.path().join(name)).unwrap();
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args(["template", "demo"])
            .arg(chart)
            .args(arguments)
            .env_clear()
            .env("CANARY", "the environment is not for charts")
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .spawn()
            .unwrap();
        let mut peak = 0;
        let code = loop {
            peak = memory_of(child.id()).unwrap_or(peak);
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if started.elapsed() > TIME {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("still running after {TIME:?}");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(peak < MEMORY, "it took {} MiB", peak >> 20);
        let text = |name: &str| {
            let bytes = std::fs::read(self.0.path().join(name)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ended {
            code,
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }
}

impl Ended {
    /// An error of ours, not a crash, that says `expect`.
    #[track_caller]
    fn says(&self, expect: &str) {
        let start: String = self.stderr.chars().take(600).collect();
        assert_eq!(self.code, Some(1), "{start}");
        assert!(self.stderr.contains(expect), "no `{expect}` in: {start}");
    }

    /// Success, with `expect` on standard output.
    #[track_caller]
    fn renders(&self, expect: &str) {
        let start: String = self.stderr.chars().take(600).collect();
        assert_eq!(self.code, Some(0), "{start}");
        assert!(self.stdout.contains(expect), "{}", self.stdout);
    }
}

/// The most memory that a process has used up to now; none where it has ended, or where there is no `/proc`.
fn memory_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}
