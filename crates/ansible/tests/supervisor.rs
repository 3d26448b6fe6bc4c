//! What a supervisor leaves behind of real processes: nothing.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use steersman_testkit::processes;

/// Marks the processes of a test, which inherit it.
const MARK: &str = "STEERSMAN_TEST_OF_SUPERVISOR";
/// Makes this program a parent that starts a supervisor and waits to be killed.
const PARENT: &str = "STEERSMAN_TEST_PARENT";
/// A grace that no test waits for.
const LONG: &str = "600000";
const SUPERVISOR: &str = env!("CARGO_BIN_EXE_steersman-ansible-supervisor");

/// A program under a supervisor.
struct Supervised {
    mark: String,
    process: Child,
    line: UnixStream,
}

impl Supervised {
    fn start(name: &str, grace: &str, program: &[&str]) -> Self {
        let mark = format!("{name}-{}", std::process::id());
        let (line, theirs) = UnixStream::pair().expect("a pair");
        let process = Command::new(SUPERVISOR)
            .arg(grace)
            .args(program)
            .env(MARK, &mark)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the supervisor runs");
        Self { mark, process, line }
    }

    fn shell(name: &str, grace: &str, script: &str) -> Self {
        Self::start(name, grace, &["sh", "-c", script])
    }

    /// Waits until so many of its processes are there, with the supervisor.
    fn until(self, count: usize) -> Self {
        let begun = Instant::now();
        while marked(&self.mark).len() < count {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "only {:?}",
                marked(&self.mark)
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    fn terminate(&self) {
        let id = Pid::from_raw(self.process.id().cast_signed()).expect("a process");
        kill_process(id, Signal::TERM).expect("it runs");
    }

    /// Its end, after which nothing of it may be left.
    fn end(mut self) -> (ExitStatus, Duration, String) {
        let begun = Instant::now();
        let status = self.process.wait().expect("a child");
        let took = begun.elapsed();
        assert_eq!(marked(&self.mark), [""; 0], "nothing may be left");
        let mut said = String::new();
        let mut error = self.process.stderr.take().expect("a pipe");
        error.read_to_string(&mut said).expect("text");
        (status, took, said)
    }

    fn abandon(self) -> (ExitStatus, Duration, String) {
        self.line.shutdown(Shutdown::Both).expect("a socket");
        self.end()
    }
}

/// The command lines of all processes with a mark.
fn marked(mark: &str) -> Vec<String> {
    let variable = format!("{MARK}={mark}");
    let marked = processes::all().filter(|id| processes::has_variable(*id, &variable));
    marked.map(processes::words).collect()
}

#[test]
fn the_status_is_that_of_the_program() {
    let (status, ..) = Supervised::shell("status", LONG, "exit 7").end();
    assert_eq!(status.code(), Some(7));
    let (status, ..) = Supervised::shell("signal", LONG, "kill -9 $$").end();
    assert_eq!(status.code(), Some(137));
}

#[test]
fn what_can_not_be_supervised_is_told() {
    let (status, _, said) = Supervised::start("missing", LONG, &["/no/such/program"]).end();
    assert_eq!(status.code(), Some(125));
    assert!(
        said.starts_with("failed to run `/no/such/program`: No such file"),
        "{said}"
    );
    let (status, _, said) = Supervised::start("arguments", "soon", &["true"]).end();
    assert_eq!(status.code(), Some(125));
    assert!(said.contains("MILLISECONDS PROGRAM"), "{said}");
}

#[test]
fn what_a_program_leaves_goes_when_it_ends() {
    let script = "
        setsid sh -c 'sleep 300 & sleep 300' &
        (setsid sh -c '(sleep 300 &)' &)
        (trap '' TERM HUP INT; sleep 300) &
        sleep 0.3
        exit 3";
    let (status, took, _) = Supervised::shell("leaves", LONG, script).end();
    assert_eq!(status.code(), Some(3));
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_program_that_ends_when_it_is_asked_to_has_its_grace() {
    let script = "trap 'sleep 0.2; exit 5' TERM; setsid sleep 300 & while :; do sleep 0.05; done";
    let run = Supervised::shell("grace", LONG, script).until(3);
    // The trap is there when the loop has begun.
    std::thread::sleep(Duration::from_millis(300));
    run.terminate();
    let (status, ..) = run.end();
    assert_eq!(status.code(), Some(5));
}

#[test]
fn a_byte_asks_it_to_end_and_the_last_one_that_it_says_is_the_status() {
    let script = "trap 'exit 6' TERM; while :; do sleep 0.05; done";
    let mut run = Supervised::shell("byte", LONG, script).until(2);
    std::thread::sleep(Duration::from_millis(300));
    run.line.write_all(b"t").expect("a socket");
    let mut said = Vec::new();
    run.line.read_to_end(&mut said).expect("a socket");
    let mut expected = run.process.id().to_be_bytes().to_vec();
    expected.push(6);
    assert_eq!(said, expected);
    let (status, ..) = run.end();
    assert_eq!(status.code(), Some(6));
}

#[test]
fn what_ignores_signals_is_killed() {
    let script =
        "trap '' TERM INT HUP; setsid sh -c 'while :; do sleep 0.1; done' & while :; do sleep 0.1; done";
    let run = Supervised::shell("ignores", "200", script).until(3);
    run.terminate();
    let (status, took, _) = run.end();
    assert_eq!(status.code(), Some(137));
    assert!(took >= Duration::from_millis(150), "there was no grace: {took:?}");
}

#[test]
fn the_end_of_standard_input_is_the_end_of_all() {
    let run = Supervised::shell("input", LONG, "setsid sleep 300 & sleep 300").until(4);
    let (status, took, _) = run.abandon();
    assert_eq!(status.code(), Some(137));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn what_forks_meanwhile_is_ended_too() {
    let many = "
        i=0
        while [ $i -lt 300 ]; do setsid sh -c 'sleep 300 & sleep 300' & i=$((i + 1)); done
        wait";
    Supervised::shell("many", LONG, many).until(40).abandon();
}

#[test]
fn what_runs_away_from_its_killer_is_caught() {
    // Each lives for less than a millisecond, and leaves one behind; it stops by itself after half a minute.
    let flight = "
import os, time
end = time.monotonic() + 30
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
";
    let Ok(status) = Command::new("python3")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
    else {
        steersman_testkit::skip::skipped("what_runs_away_from_its_killer_is_caught", "python3 is not there");
        return;
    };
    assert!(status.success());
    let (_, took, said) = Supervised::start("flight", LONG, &["python3", "-c", flight])
        .until(2)
        .abandon();
    assert!(
        took < Duration::from_secs(8) && said.is_empty(),
        "{took:?} {said}"
    );
}

/// Not a test by itself, but the parent in the next one.
#[test]
fn a_parent() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let (line, theirs) = UnixStream::pair().expect("a pair");
    let mut child = Command::new(SUPERVISOR)
        .args([LONG, "sh", "-c", "trap '' TERM HUP; setsid sleep 300 & sleep 300"])
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .expect("the supervisor runs");
    child.wait().expect("a child");
    drop(line);
}

#[test]
fn nothing_outlives_a_parent_that_is_killed() {
    let mark = format!("parent-{}", std::process::id());
    let mut parent = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "a_parent"])
        .envs([(MARK, mark.as_str()), (PARENT, "1")])
        .stdout(Stdio::null())
        .spawn()
        .expect("this program runs");
    let begun = Instant::now();
    // The parent, the supervisor, the shell and two that sleep.
    while marked(&mark).len() < 5 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "only {:?}",
            marked(&mark)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    parent.kill().expect("a child");
    assert_eq!(parent.wait().expect("a child").signal(), Some(9));
    let begun = Instant::now();
    while !marked(&mark).is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "left: {:?}",
            marked(&mark)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
