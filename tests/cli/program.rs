//! Starts the program and looks at what it does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How soon the program must have said what is wrong with its configuration. One that is not optimised takes longer,
/// and tests run beside each other.
const SOON: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 2 });

/// A folder with a project, and the environment of programs started in it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a program said until its end.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) lasted: Duration,
}

/// A program that runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    output: Option<JoinHandle<String>>,
    lines: Receiver<String>,
    started: Instant,
}

impl Project {
    /// A project with a chart and a watches.yaml that names it.
    pub(crate) fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        project.write(
            "charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        );
        project.write(
            "watches.yaml",
            "- version: v1\n  group: example.com\n  kind: Web\n  chart: charts/web\n",
        );
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A project whose kubeconfig names a server at this address.
    pub(crate) fn with_server(self, address: &str) -> Self {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: u, user: {{token: canary}}}}]\n"
        );
        let path = self.write("kubeconfig", &text);
        self.with_variable("KUBECONFIG", path.to_str().unwrap())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_program(Path::new(env!("CARGO_BIN_EXE_steersman")), arguments)
    }

    pub(crate) fn start_program(&self, program: &Path, arguments: &[&str]) -> Running {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        // Read as it comes: what is longer than a pipe would keep the program from ending.
        let mut stdout = child.stdout.take().unwrap();
        let output = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Running {
            child,
            output: Some(output),
            lines,
            started: Instant::now(),
        }
    }

    /// The program's end, which must come soon.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let ended = self.start(arguments).wait(SOON * 2);
        assert!(ended.lasted < SOON, "took {:?}: {}", ended.lasted, ended.stderr);
        ended
    }
}

impl Running {
    /// Waits for the end, which must come within `limit`.
    pub(crate) fn wait(mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if Instant::now() > deadline => panic!("still running after {limit:?}"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let lasted = self.started.elapsed();
        let stdout = self.output.take().unwrap().join().unwrap();
        let stderr = self
            .lines
            .iter()
            .flat_map(|line| [line, "\n".to_owned()])
            .collect();
        Ended {
            code,
            stdout,
            stderr,
            lasted,
        }
    }

    /// Closes the other end of standard error, as a reader does that ends.
    pub(crate) fn stop_reading(&mut self) {
        // What reads for us ends with the first line that nobody takes.
        self.lines = channel().1;
    }

    /// The first line on standard error that has `text` in it.
    pub(crate) fn line_with(&self, text: &str) -> String {
        let limit = Duration::from_secs(10);
        loop {
            let line = self
                .lines
                .recv_timeout(limit)
                .unwrap_or_else(|_| panic!("no line with `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The address that the program logged for the server of `paths`.
    pub(crate) fn address_of(&self, paths: &str) -> String {
        let line = self.line_with(&format!(r#""serves":"{paths}""#));
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        line["address"].as_str().unwrap().to_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that takes connections and never answers.
pub(crate) fn silent_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// The answer to a GET.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
