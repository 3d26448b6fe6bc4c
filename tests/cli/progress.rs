//! What takes a while: it moves on a terminal, and is a plain line elsewhere.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::silent_server;

/// The two ends of a terminal of 80 columns: what a person sees, and where a program writes.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&person, size).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (File::from(person), program)
}

/// Takes the connection, and hangs up.
fn hang_up(server: &TcpListener) {
    drop(server.accept().unwrap());
}

/// `init` with a chart that a server has which never answers, and what it says of that.
fn init(folder: &Path, address: &str) -> (Command, String) {
    let url = format!("http://{address}/web.tgz");
    let mut command = Command::new(env!("CARGO_BIN_EXE_steersman"));
    command
        .args(["init", "--project-name", "shop", "--helm-chart", &url])
        .current_dir(folder)
        .env_clear()
        .env("TERM", "xterm")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    (command, format!("fetching {url}"))
}

/// What has stood before a line: it moves if there are several.
fn pictures(seen: &str, line: &str) -> BTreeSet<char> {
    seen.match_indices(&format!(" {line} "))
        .filter_map(|(place, _)| seen[..place].chars().next_back())
        .collect()
}

#[test]
fn a_download_moves_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = silent_server();
    let (mut person, program) = terminal();
    let (mut command, line) = init(folder.path(), &address);
    let mut child = command.stderr(program).spawn().unwrap();
    // The command has another reference to the terminal.
    drop(command);

    let mut seen = String::new();
    let mut buffer = [0; 4096];
    let mut is_waiting = true;
    // Linux says EIO when the last program has left the terminal.
    while let Ok(length @ 1..) = person.read(&mut buffer) {
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
        if is_waiting && pictures(&seen, &line).len() > 1 {
            is_waiting = false;
            hang_up(&server);
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1), "{seen}");
    assert!(!is_waiting, "{seen:?}");
    let end = format!("{line}\r\nerror: ");
    assert_eq!(seen.matches(&end).count(), 1, "{seen:?}");
}

#[test]
fn a_download_is_a_line_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = silent_server();
    let (mut command, line) = init(folder.path(), &address);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    hang_up(&server);
    let output = child.wait_with_output().unwrap();
    let seen = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{seen}");
    assert!(seen.starts_with(&format!("{line}\nerror: ")), "{seen:?}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}
