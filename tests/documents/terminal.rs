//! A terminal for the program to write to, so that it has colours.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The two ends of a terminal: what a person sees, and where a program writes.
fn terminal(columns: u16) -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&person, size).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (File::from(person), program)
}

/// What a person sees of a line of shell in a folder, with the codes of its colours.
pub(crate) fn seen(line: &str, folder: &Path, columns: u16, variables: &[(&str, &str)]) -> String {
    let (mut person, program) = terminal(columns);
    let mut command = Command::new("bash");
    command
        .args(["-c", line])
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(program.try_clone().unwrap())
        .stderr(program);
    let mut child = command.spawn().unwrap();
    // The command has another reference to the terminal.
    drop(command);
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    // Linux says EIO when the last program has left the terminal.
    while let Ok(length @ 1..) = person.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..length]);
    }
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}
