//! What the operating system says about this process, under the names that all Prometheus clients use.

use std::fs;

use prometheus::{Counter, Gauge, Registry};

use crate::budget::memory_limit;

/// Ticks a second of the times in `/proc`, fixed by the kernel's interface for programs.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct ProcessMetrics {
    cpu_seconds: Counter,
    open_files: Gauge,
    max_files: Gauge,
    resident_bytes: Gauge,
    virtual_bytes: Gauge,
    max_virtual_bytes: Gauge,
    received_bytes: Counter,
    sent_bytes: Counter,
    start_seconds: Gauge,
    memory_limit: Gauge,
}

impl ProcessMetrics {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let counter = |name: &str, help: &str| {
            let counter = Counter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        Ok(Self {
            cpu_seconds: counter(
                "process_cpu_seconds_total",
                "Total user and system CPU time spent in seconds.",
            )?,
            received_bytes: counter(
                "process_network_receive_bytes_total",
                "Number of bytes received by the process over the network.",
            )?,
            sent_bytes: counter(
                "process_network_transmit_bytes_total",
                "Number of bytes sent by the process over the network.",
            )?,
            max_virtual_bytes: gauge(
                "process_virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes.",
            )?,
            memory_limit: gauge(
                "steersman_memory_limit_bytes",
                "Memory that the process may have, by its cgroup or the machine.",
            )?,
            open_files: gauge("process_open_fds", "Number of open file descriptors.")?,
            max_files: gauge("process_max_fds", "Maximum number of open file descriptors.")?,
            resident_bytes: gauge("process_resident_memory_bytes", "Resident memory size in bytes.")?,
            virtual_bytes: gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")?,
            start_seconds: gauge(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
            )?,
        })
    }

    /// Reads the numbers again. Where there is no `/proc` they stay zero.
    pub(super) fn refresh(&self) {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        if let Some(times) = Times::parse(&stat) {
            self.cpu_seconds
                .inc_by((times.cpu_seconds - self.cpu_seconds.get()).max(0.0));
            self.start_seconds
                .set(boot_time().unwrap_or_default() + times.start_seconds);
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        self.resident_bytes
            .set(kibibytes(&status, "VmRSS:").unwrap_or_default() * 1024.0);
        self.virtual_bytes
            .set(kibibytes(&status, "VmSize:").unwrap_or_default() * 1024.0);
        self.open_files
            .set(fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as f64);
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        self.max_files
            .set(limit(&limits, "Max open files").unwrap_or_default());
        self.max_virtual_bytes
            .set(limit(&limits, "Max address space").unwrap_or_default());
        self.memory_limit
            .set(memory_limit().map_or(0.0, |limit| limit as f64));
        let network = fs::read_to_string("/proc/self/net/netstat").unwrap_or_default();
        for (counter, name) in [
            (&self.received_bytes, "InOctets"),
            (&self.sent_bytes, "OutOctets"),
        ] {
            let bytes = octets(&network, name).unwrap_or_default();
            counter.inc_by((bytes - counter.get()).max(0.0));
        }
    }
}

struct Times {
    cpu_seconds: f64,
    start_seconds: f64,
}

impl Times {
    /// Reads `/proc/self/stat`. The second field is the program's name in parentheses and can hold anything.
    fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (ticks(14)? + ticks(15)?) / TICKS_PER_SECOND,
            start_seconds: ticks(22)? / TICKS_PER_SECOND,
        })
    }
}

fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()
}

fn kibibytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// A soft limit of `/proc/self/limits`; without a limit it is the largest number there is, as in Go.
fn limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

/// A number of the part `IpExt` of `/proc/self/net/netstat`, where names stand above numbers.
fn octets(netstat: &str, name: &str) -> Option<f64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|known| known == name)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Times, kibibytes, limit, octets};

    #[test]
    fn a_program_name_with_parentheses_shifts_nothing() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 4200 1000 2";
        let times = Times::parse(stat).unwrap();
        assert_eq!((times.cpu_seconds, times.start_seconds), (2.0, 42.0));
        assert!(Times::parse("").is_none() && Times::parse("1 (x) S").is_none());
    }

    #[test]
    fn sizes_and_limits_are_found() {
        assert_eq!(
            kibibytes("VmSize:\t  9 kB\nVmRSS:\t    2 kB\n", "VmRSS:"),
            Some(2.0)
        );
        assert_eq!(
            limit(
                "Max open files            1024                 4096 files\n",
                "Max open files"
            ),
            Some(1024.0)
        );
        let endless = "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(
            limit(endless, "Max address space"),
            Some(18_446_744_073_709_551_615.0)
        );
        let netstat = "TcpExt: A InOctets\nTcpExt: 1 2\nIpExt: X InOctets OutOctets\nIpExt: 1 20 30\n";
        assert_eq!(octets(netstat, "InOctets"), Some(20.0));
        assert_eq!(octets(netstat, "OutOctets"), Some(30.0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_process_reports_its_own_weight() {
        let metrics = crate::metrics::Metrics::new([]).unwrap();
        let text = String::from_utf8(metrics.encode().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("process_")).collect();
        let names: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
        expect_test::expect!["process_cpu_seconds_total process_max_fds process_network_receive_bytes_total process_network_transmit_bytes_total process_open_fds process_resident_memory_bytes process_start_time_seconds process_virtual_memory_bytes process_virtual_memory_max_bytes"]
            .assert_eq(&names.join(" "));
        assert!(
            lines.iter().all(|line| !line.ends_with(" 0")
                || line.starts_with("process_cpu")
                || line.starts_with("process_network")),
            "{text}"
        );
        let limit = text
            .lines()
            .find_map(|line| line.strip_prefix("steersman_memory_limit_bytes "));
        assert!(limit.unwrap().parse::<f64>().unwrap() > 1e6, "{text}");
    }
}
