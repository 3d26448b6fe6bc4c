//! What the kernel says of a process.

use std::fs;

use anyhow::{Context as _, Result};

/// The kernel's ticks in a second, in /proc; the same on every Linux that Rust runs on.
const TICKS_IN_A_SECOND: f64 = 100.0;

/// Memory and processor time of a process, as of one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Resident memory, in MB.
    pub(crate) resident: f64,
    /// The most memory that was resident since the start, in MB.
    pub(crate) peak: f64,
    /// User and system time since the start, in seconds.
    pub(crate) processor: f64,
}

impl Usage {
    /// # Errors
    ///
    /// There is no such process, or this is not Linux.
    pub(crate) fn of(process: u32) -> Result<Self> {
        let status = read(process, "status")?;
        let stat = read(process, "stat")?;
        // The second field is the program's name, in parentheses, and may have spaces in it.
        let (_, fields) = stat.rsplit_once(") ").context("/proc/PID/stat has no name")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
        let ticks = ticks(11)
            .zip(ticks(12))
            .map(|(user, system)| user + system)
            .context("/proc/PID/stat has no times")?;
        Ok(Self {
            resident: megabytes(&status, "VmRSS:")?,
            peak: megabytes(&status, "VmHWM:")?,
            processor: ticks / TICKS_IN_A_SECOND,
        })
    }
}

fn read(process: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
}

fn megabytes(status: &str, field: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: f64 = kilobytes
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("/proc/PID/status has no {field}"))?;
    Ok(kilobytes / 1024.0)
}
