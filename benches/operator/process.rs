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
        Ok(Self {
            resident: megabytes(&status, "VmRSS:")?,
            peak: megabytes(&status, "VmHWM:")?,
            processor: Stat::of(process)?.processor,
        })
    }
}

/// The line of /proc/PID/stat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub(crate) parent: u32,
    /// When it was started, in ticks since the system was: a number is used again, this is not.
    pub(crate) started: u64,
    /// User and system time since the start, in seconds.
    pub(crate) processor: f64,
    /// That of children which have ended and were waited for, with theirs.
    pub(crate) processor_of_ended: f64,
}

impl Stat {
    /// # Errors
    ///
    /// There is no such process, or this is not Linux.
    pub(crate) fn of(process: u32) -> Result<Self> {
        let stat = read(process, "stat")?;
        // The second field is the program's name, in parentheses, and may have spaces in it.
        let (_, fields) = stat.rsplit_once(") ").context("/proc/PID/stat has no name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |index: usize| -> Result<u64> {
            let field = fields.get(index).context("/proc/PID/stat is too short")?;
            Ok(field.parse()?)
        };
        let seconds = |user: usize| -> Result<f64> {
            Ok((number(user)? + number(user + 1)?) as f64 / TICKS_IN_A_SECOND)
        };
        Ok(Self {
            parent: u32::try_from(number(1)?)?,
            started: number(19)?,
            processor: seconds(11)?,
            processor_of_ended: seconds(13)?,
        })
    }
}

/// What the memory of a process comes to when each page is shared out among those that have it, in MB. None where it has just
/// ended.
pub(crate) fn proportional(process: u32) -> f64 {
    let rollup = read(process, "smaps_rollup");
    rollup
        .and_then(|rollup| megabytes(&rollup, "Pss:"))
        .unwrap_or_default()
}

/// For how many seconds the first thread of a process was on a processor, exactly; the ticks of a process that lives for
/// some milliseconds are none.
pub(crate) fn first_thread(process: u32) -> f64 {
    let nanoseconds = read(process, "schedstat").ok().and_then(|text| {
        let first = text.split_whitespace().next()?;
        first.parse::<f64>().ok()
    });
    nanoseconds.unwrap_or_default() / 1e9
}

fn read(process: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
}

fn megabytes(text: &str, field: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: f64 = kilobytes
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("/proc/PID has no {field}"))?;
    Ok(kilobytes / 1024.0)
}
