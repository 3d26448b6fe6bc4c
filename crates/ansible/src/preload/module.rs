//! The program that runs instead of Python for each module of a run.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::fs::Mode;

use super::{SOCKET, message};

/// The module has ended, and a byte with its status follows; see preloaded.py.
const ENDED: u8 = b'e';
/// The module needs an interpreter of its own.
const UNFIT: u8 = b'u';
/// Who runs modules has ended without an answer, as if by SIGKILL.
const KILLED: u8 = 128 + 9;

/// Why no module was run.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The arguments do not begin with an interpreter.
    #[error("failed to read the arguments of a module: they are PYTHON [ARGUMENT...]")]
    Arguments,
    /// There is no such interpreter.
    #[error("failed to run `{}`", python.display())]
    Python {
        /// The interpreter.
        python: OsString,
        /// What the operating system says.
        source: io::Error,
    },
}

/// Runs a module as an interpreter of Python would, by a process of the run that has its libraries loaded; where there is none,
/// or the module needs an interpreter of its own, by that.
///
/// The arguments are the interpreter and what it would get. Input, output, the environment, the folder and the mask for files
/// are those of this process.
///
/// # Errors
/// The interpreter that is needed does not start.
///
/// # Guarantees
/// The status is the module's, or 128 and the number of the signal that has ended it. It is killed where this process is.
pub fn run_module(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, ModuleError> {
    let mut arguments = arguments.into_iter();
    let python = arguments.next().ok_or(ModuleError::Arguments)?;
    let arguments: Vec<OsString> = arguments.collect();
    if is_script(&arguments)
        && let Some(stream) = std::env::var_os(SOCKET).and_then(|path| UnixStream::connect(path).ok())
        && let Some(status) = ask(&stream, arguments.clone())
    {
        return Ok(ExitCode::from(status));
    }
    let Err(source) = by_interpreter(&python, &arguments);
    Err(ModuleError::Python { python, source })
}

/// Whether the interpreter is to run a file, and has no options.
fn is_script(arguments: &[OsString]) -> bool {
    let first = arguments.first();
    first.is_some_and(|script| !script.is_empty() && !script.as_bytes().starts_with(b"-"))
}

/// The status of the module; none where it was not begun.
fn ask(stream: &UnixStream, arguments: Vec<OsString>) -> Option<u8> {
    let folder = std::env::current_dir().ok()?.into_os_string();
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    let mask = format!("{:o}", mask.bits()).into();
    let lists = [
        vec![folder, mask, ignored_signals()?],
        arguments,
        message::words(std::env::vars_os()),
    ];
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    message::send(stream, &lists, [input.as_fd(), output.as_fd(), error.as_fd()]).ok()?;
    let mut answer = Vec::new();
    let _ = { stream }.read_to_end(&mut answer);
    match answer.as_slice() {
        [UNFIT, ..] => None,
        [ENDED, status, ..] => Some(*status),
        // It may have begun.
        _ => Some(KILLED),
    }
}

/// The signals that this process ignores, in the kernel's hexadecimal numbers.
fn ignored_signals() -> Option<OsString> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"))?;
    Some(mask.trim().into())
}

fn by_interpreter(python: &OsString, arguments: &[OsString]) -> Result<Infallible, io::Error> {
    Err(Command::new(python).args(arguments).exec())
}
