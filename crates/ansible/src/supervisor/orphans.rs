//! What is left of a run whose supervisor was killed: where no preloaded process adopts it, its processes become children of
//! this one, or of nobody who knows them where this one is killed, too.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, geteuid, getpid, kill_process, set_child_subreaper, waitpid,
};

use super::children::{KILLING, all, listed_by_parent, parent};
use super::handle::Handle;

/// How long is waited for what was killed.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes orphans among the descendants of this process its children, as they are those of process 1 in a container.
pub(crate) fn adopt() {
    // Where the kernel can't, they are found by nobody.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills the children of this process that have one of these paths among their words or in their environment, and those that
/// they leave, until there are none; but for some.
///
/// A child's number is its own until this process has waited for it, so no other process is met. Blocks for up to ten
/// seconds.
pub(crate) fn kill_marked(paths: &[&Path], spared: &[u32]) {
    let marks: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let is_spared = |child: &Pid| spared.contains(&child.as_raw_nonzero().get().cast_unsigned());
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

/// Kills the processes of this user that have one of these paths, which are nobody's any longer, among their words or in their
/// environment. Blocks for up to ten seconds.
///
/// What modules come from is last, as a playbook is not to go on after a module that is killed; and what has forked that ends
/// by itself when it has nothing left to guard.
pub(crate) fn kill_users(paths: &[&Path]) {
    let marks: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let begun = Instant::now();
    while begun.elapsed() < KILLING {
        let is_user = |process: &Pid| is_own(*process) && is_marked(*process, &marks);
        let users: Vec<Pid> = all().into_iter().filter(is_user).collect();
        if users.is_empty() {
            return;
        }
        let (preloaded, others): (Vec<Pid>, Vec<Pid>) =
            users.into_iter().partition(|user| is_preloaded(*user));
        let is_forked = |user: &Pid| parent(*user).is_some_and(|parent| preloaded.contains(&parent));
        let (forked, first): (Vec<Pid>, Vec<Pid>) = preloaded.iter().partition(|user| is_forked(user));
        let doomed = if begun.elapsed() > KILLING / 2 {
            // Who can't be killed keeps nobody else alive.
            [others, forked, first].concat()
        } else if others.is_empty() {
            forked
        } else {
            others
        };
        for user in doomed {
            kill_user(user, &marks);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills a process that is a user still.
fn kill_user(user: Pid, marks: &[String]) {
    let handle = Handle::of(user);
    if is_marked(user, marks) {
        let _ = handle.kill();
    }
}

/// Whether it is what has libraries loaded, or a fork of that.
fn is_preloaded(process: Pid) -> bool {
    let words = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    String::from_utf8_lossy(&words).contains("/preloaded.py")
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
