//! How much memory the process may have.

use std::fs;
use std::path::{Path, PathBuf};

/// How much memory this process may have: the smallest limit of its cgroup and of those around it, or what the machine has.
/// `None` where nothing can be read of either.
pub fn memory_limit() -> Option<u64> {
    limit_below(Path::new("/"))
}

/// The same with the files that lie in `root`.
fn limit_below(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let machine = fs::read_to_string(root.join("proc/meminfo"))
        .ok()
        .and_then(|text| machine_memory(&text));
    let limits = limit_files(&groups)
        .into_iter()
        .filter_map(|file| fs::read_to_string(root.join(file)).ok())
        .filter_map(|text| limit(&text));
    limits.chain(machine).min()
}

/// The files in which limits of these cgroups may stand, for both versions. In a container the folder of the mount is often
/// its own cgroup, whatever it is called outside; so each folder on the way up to the mount is looked at.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (mount, file) = if controllers.is_empty() {
            ("sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(
            path.ancestors()
                .map(|path| Path::new(mount).join(path).join(file)),
        );
    }
    files
}

/// The number in a file of limits; `None` for `max`.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// What `/proc/meminfo` says of the machine, in bytes.
fn machine_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expect: Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(limit_below(root.path()), expect);
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:        2048 kB\nMemFree:  1 kB\n");

    #[test]
    fn the_smallest_limit_on_the_way_up_counts() {
        check(
            &[
                ("proc/self/cgroup", "0::/pods/web\n"),
                ("sys/fs/cgroup/pods/web/memory.max", "max\n"),
                ("sys/fs/cgroup/pods/memory.max", "1000000\n"),
                ("sys/fs/cgroup/memory.max", "1500000\n"),
                MACHINE,
            ],
            Some(1_000_000),
        );
    }

    /// As in a pod: the mount shows its own cgroup as the root.
    #[test]
    fn the_group_of_a_container_is_where_the_mount_begins() {
        let files = |limit| {
            [
                ("proc/self/cgroup", "0::/\n"),
                (
                    "sys/fs/cgroup/cgroup.controllers",
                    "cpuset cpu io memory hugetlb pids rdma\n",
                ),
                ("sys/fs/cgroup/memory.current", "4096\n"),
                ("sys/fs/cgroup/memory.high", "100\n"),
                ("sys/fs/cgroup/memory.swap.max", "0\n"),
                ("sys/fs/cgroup/memory.max", limit),
                MACHINE,
            ]
        };
        check(&files("1048576\n"), Some(1_048_576));
        check(&files("max\n"), Some(2048 * 1024));
        // More than there is.
        check(&files("4194304\n"), Some(2048 * 1024));
    }

    /// As on a machine with both versions, and where the names of groups are those outside of the container.
    #[test]
    fn the_second_version_is_read_beside_the_first_and_by_any_name() {
        check(
            &[
                (
                    "proc/self/cgroup",
                    "12:pids:/a\n1:name=systemd:/a\n0::/kubepods.slice/pod1/abc\n",
                ),
                ("sys/fs/cgroup/memory.max", "65536\n"),
                ("sys/fs/cgroup/kubepods.slice/memory.max", "131072\n"),
                MACHINE,
            ],
            Some(65_536),
        );
        let unreadable = ("sys/fs/cgroup/memory.max", "many\n");
        check(
            &[("proc/self/cgroup", "0::/a\n"), unreadable, MACHINE],
            Some(2048 * 1024),
        );
    }

    #[test]
    fn the_first_version_is_read_where_the_second_has_no_memory() {
        let mounted = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        // As in a container: outside the group has a longer name than the mount shows.
        let groups = ("proc/self/cgroup", "4:cpu,memory:/docker/abc\n0::/docker/abc\n");
        check(&[groups, (mounted, "123456\n"), MACHINE], Some(123_456));
        check(
            &[groups, (mounted, "9223372036854771712\n"), MACHINE],
            Some(2048 * 1024),
        );
    }

    #[test]
    fn without_a_limit_it_is_the_machine_that_has_one() {
        check(
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/memory.max", "max\n"),
                MACHINE,
            ],
            Some(2048 * 1024),
        );
        check(&[], None);
    }
}
