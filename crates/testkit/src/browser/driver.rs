//! The process of chromedriver, which has a Chromium of its own.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::PATIENCE;
use crate::ports::free_port;

/// It owns chromedriver: when this process ends in whatever way, so do both of them and Chromium.
const SCRIPT: &str = include_str!("own.sh");

/// A chromedriver that runs until the value is dropped.
#[derive(Debug)]
pub(super) struct Driver {
    owner: Child,
    folder: PathBuf,
    port: u16,
}

impl Driver {
    /// Starts it, and returns when it listens.
    pub(super) async fn start(programs: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("steersman-browser-").tempdir();
        // The owner removes it, also when this process can't.
        let folder = folder.expect("a temporary folder can be made").keep();
        let port = free_port().unwrap_or_else(|error| panic!("no port is free: {error}"));
        let owner = Command::new("sh")
            .args(["-c", SCRIPT, "own.sh"])
            .arg(programs.join("chromedriver"))
            .arg(port.to_string())
            .arg(&folder)
            // What they keep beside the profile, such as caches of fonts, goes with the folder.
            .env("HOME", &folder)
            .env("TMPDIR", &folder)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run sh: {error}"));
        let driver = Self { owner, folder, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let told = driver.log();
            assert!(
                started.elapsed() < PATIENCE,
                "chromedriver does not listen: {told}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        driver
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where Chromium keeps what it remembers.
    pub(super) fn profile(&self) -> PathBuf {
        self.folder.join("profile")
    }

    /// What chromedriver has said.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Closing the pipe is the signal.
        drop(self.owner.stdin.take());
        let _ = self.owner.wait();
    }
}
