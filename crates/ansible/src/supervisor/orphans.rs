//! What is left of a run whose supervisor was killed: where no preloaded process adopts it, its processes become children of
//! this one, or of nobody who knows them where this one is killed, too.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, geteuid, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

use super::children::{KILLING, all, listed_by_parent};

/// How long is waited for what was killed.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes orphans among the descendants of this process its children, as they are those of process 1 in a container.
pub(crate) fn adopt() {
    // Where the kernel can't, they are found by nobody.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills the children of this process that have one of these paths among their words or in their environment, and those that
/// they leave, until there are none; but for one.
///
/// A child's number is its own until this process has waited for it, so no other process is met. Blocks for up to ten
/// seconds.
pub(crate) fn kill_marked(paths: &[&Path], spared: Option<u32>) {
    let marks: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let is_spared = |child: &Pid| u32::try_from(child.as_raw_nonzero().get()).ok() == spared;
    let deadline = Instant::now() + KILLING;
    while Instant::now() < deadline {
        let all = listed_by_parent().into_iter().filter(|child| !is_spared(child));
        let marked: Vec<Pid> = all.filter(|child| is_marked(*child, &marks)).collect();
        if marked.is_empty() {
            return;
        }
        for child in &marked {
            let _ = kill_process(*child, Signal::KILL);
        }
        // What they leave is ours when they have ended.
        for child in marked {
            while matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Kills the processes of this user that have a path among their words or in their environment, which is nobody's any longer.
/// Blocks for up to ten seconds.
pub(crate) fn kill_users(path: &Path) {
    let mark = [path.display().to_string()];
    let deadline = Instant::now() + KILLING;
    while Instant::now() < deadline {
        // A handle is that of one process, whoever has its number later.
        let users = all().into_iter().filter_map(|process| {
            let handle = pidfd_open(process, PidfdFlags::empty()).ok()?;
            (is_own(process) && is_marked(process, &mark)).then_some(handle)
        });
        let killed = users.filter(|user| pidfd_send_signal(user, Signal::KILL).is_ok());
        if killed.count() == 0 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether it is another process of this one's user.
fn is_own(process: Pid) -> bool {
    let owner = fs::metadata(format!("/proc/{}", process.as_raw_nonzero())).map(|folder| folder.uid());
    process != getpid() && owner.is_ok_and(|owner| owner == geteuid().as_raw())
}

/// What has ended has neither words nor an environment.
fn is_marked(process: Pid, marks: &[String]) -> bool {
    let folder = format!("/proc/{}", process.as_raw_nonzero());
    ["cmdline", "environ"].iter().any(|file| {
        let bytes = fs::read(format!("{folder}/{file}")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        marks.iter().any(|mark| has_path(&text, mark))
    })
}

/// Whether a text has a path or one below it, and not only one that begins alike.
fn has_path(text: &str, path: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    text.match_indices(path)
        .any(|(at, _)| !text[at + path.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::has_path;

    #[test]
    fn a_path_that_begins_alike_is_another_one() {
        for (text, expect) in [
            ("run\0/r/shop/a\0-v", true),
            ("A=/r/shop/a/tmp\0", true),
            ("/r/shop/a", true),
            ("run\0/r/shop/ab\0/r/shop/a-b\0/r/shop/a.b", false),
            ("", false),
        ] {
            assert_eq!(has_path(text, "/r/shop/a"), expect, "{text}");
        }
    }
}
