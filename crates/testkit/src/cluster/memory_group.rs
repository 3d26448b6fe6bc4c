//! A limit of memory for one process, as a pod has it.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip::skipped;

/// Where cgroups of the second version are, and where those of the first that are about memory.
const MOUNTS: [(&str, bool); 2] = [("/sys/fs/cgroup/memory", false), ("/sys/fs/cgroup", true)];

/// A cgroup with a limit of memory. It is removed with this value, when its process has ended.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    is_second_version: bool,
}

impl MemoryGroup {
    /// A group whose processes may have so many bytes. `None` where this process may make none, which has been said on one
    /// line, with the name of the test.
    pub fn new_or_say(test: &str, bytes: u64) -> Option<Self> {
        let mut reason = "there are no cgroups".to_owned();
        for (mount, is_second_version) in MOUNTS {
            match Self::make(Path::new(mount), is_second_version, bytes) {
                Ok(group) => return Some(group),
                Err(error) => reason = format!("no cgroup can be made in {mount}: {error}"),
            }
        }
        skipped(test, reason);
        None
    }

    fn make(mount: &Path, is_second_version: bool, bytes: u64) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = mount.join(format!("steersman-test-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self {
            folder,
            is_second_version,
        };
        let (limit, swap) = group.either(
            ["memory.limit_in_bytes", "memory.max"],
            ["memory.memsw.limit_in_bytes", "memory.swap.max"],
        );
        fs::write(group.folder.join(limit), bytes.to_string())?;
        // Where swap is not counted there is none, as a rule.
        let with_swap = if is_second_version { 0 } else { bytes };
        let _ = fs::write(group.folder.join(swap), with_swap.to_string());
        Ok(group)
    }

    /// A program that enters the group and becomes `binary`; its file lies in `folder`.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn entering(&self, binary: &Path, folder: &Path) -> io::Result<PathBuf> {
        let path = folder.join("in-memory-group");
        let script = format!(
            "#!/bin/sh\necho $$ > '{}/cgroup.procs' || exit 1\nexec '{}' \"$@\"\n",
            self.folder.display(),
            binary.display()
        );
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o755)
            .open(&path)?;
        file.write_all(script.as_bytes())?;
        Ok(path)
    }

    /// The most bytes that were in use at a time; `None` where the system does not say.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        let (file, _) = self.either(["memory.max_usage_in_bytes", "memory.peak"], ["", ""]);
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        text.trim().parse().ok()
    }

    /// How many processes of the group were killed for want of memory; `None` where the system does not say.
    #[must_use]
    pub fn kills(&self) -> Option<u64> {
        let (file, _) = self.either(["memory.oom_control", "memory.events"], ["", ""]);
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count?.trim().parse().ok()
    }

    /// Those of the version of this group.
    fn either(&self, one: [&'static str; 2], other: [&'static str; 2]) -> (&'static str, &'static str) {
        let [first, second] = one;
        let [of_first, of_second] = other;
        if self.is_second_version {
            (second, of_second)
        } else {
            (first, of_first)
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // It can't be removed before its process is gone, which its owner has killed by now.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
