//! Folders that go with a process. What a killed one has left goes at the next start.
//!
//! A folder is locked by whom it is of, and the kernel takes the lock off when that process ends, however it ends. So a folder
//! without a lock is nobody's, whatever the numbers of processes are in this container or another one.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::folder::{self, FolderError, failed};
use crate::supervisor::orphans;

/// Starts their names. No API group starts with a point, and these are beside the folders of groups.
const PREFIX: &str = ".scratch-";

/// A folder for this user alone, which is removed with this value, or when the process has ended.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Locked for as long as it is open.
    lock: File,
}

impl Scratch {
    /// Makes one in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// The operating system refuses it.
    pub(crate) fn new(root: &Path) -> Result<Self, FolderError> {
        folder::make(root)?;
        Self::in_folder(root).map_err(failed("make a folder in", root))
    }

    fn in_folder(root: &Path) -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(root)?;
            let lock = match File::open(folder.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            // File systems of networks may know no locks of folders. There nothing is removed, either.
            let _ = flock(&lock, FlockOperation::LockExclusive);
            // Whoever starts at this moment may have removed it before it was locked.
            if fs::symlink_metadata(folder.path()).is_ok() {
                return Ok(Self { folder, lock });
            }
        }
    }

    /// For files that are to go with it.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes it again where somebody has removed it: at the same place, and nobody's for no moment.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        let path = self.folder.path();
        if fs::symlink_metadata(path).is_ok() {
            return Ok(());
        }
        let root = path.parent().ok_or(io::ErrorKind::NotFound)?;
        let made = Self::in_folder(root)?;
        fs::rename(made.folder.path(), path)?;
        // It is at the other place now.
        let _ = made.folder.keep();
        drop(std::mem::replace(&mut self.lock, made.lock));
        Ok(())
    }

    /// Removes it.
    pub(crate) fn close(self) -> io::Result<()> {
        self.folder.close()
    }
}

/// Ends and removes what killed processes of this user have left in a folder.
pub(crate) fn tidy(root: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut left = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(PREFIX)
            && let Some(held) = left_behind(&path)?
        {
            left.push((path, held));
        }
    }
    // Of all at once: processes of one run are in several folders.
    let paths: Vec<&Path> = left.iter().map(|(path, _)| path.as_path()).collect();
    orphans::kill_users(&paths);
    for (path, _held) in &left {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// The lock of a folder of this user that nobody has; none for what is in use, for what others have made, and for what is no
/// folder.
fn left_behind(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Ok(folder) => File::from(folder),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_own = folder.metadata()?.uid() == rustix::process::geteuid().as_raw();
    let is_free = is_own && flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok(is_free.then_some(folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;
    use std::process::Command;

    use super::{Scratch, tidy};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_holds_goes_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        tidy(&at("missing")).unwrap();
        let held = Scratch::new(root.path()).unwrap();
        assert_eq!(
            fs::metadata(held.path()).unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::write(held.path().join("events"), "").unwrap();

        fs::create_dir_all(at(".scratch-1abc/remote")).unwrap();
        fs::write(at(".scratch-1abc/remote/file"), "").unwrap();
        fs::create_dir(at("example.com")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/file"), "").unwrap();
        symlink(at("elsewhere"), at(".scratch-link")).unwrap();
        fs::write(at(".scratch-file"), "").unwrap();
        tidy(root.path()).unwrap();
        let held_name = held.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expect = [
            ".scratch-file",
            ".scratch-link",
            &held_name,
            "elsewhere",
            "example.com",
        ];
        expect.sort_unstable();
        assert_eq!(names(root.path()), expect);
        assert!(at("elsewhere/file").exists() && held.path().join("events").exists());

        held.close().unwrap();
        assert!(!names(root.path()).contains(&held_name));
    }

    #[test]
    fn a_folder_that_was_removed_is_made_again_and_is_held() {
        let root = tempfile::tempdir().unwrap();
        let mut held = Scratch::new(root.path()).unwrap();
        fs::write(held.path().join("file"), "").unwrap();
        held.restore().unwrap();
        assert!(held.path().join("file").exists(), "it was there");
        fs::remove_dir_all(held.path()).unwrap();
        held.restore().unwrap();
        assert_eq!(names(root.path()).len(), 1);
        tidy(root.path()).unwrap();
        assert!(held.path().exists());
        held.close().unwrap();
        assert_eq!(names(root.path()), [""; 0]);
    }

    /// Where all of its guards were killed, too.
    #[test]
    fn what_uses_a_folder_that_nobody_holds_is_killed() {
        let root = tempfile::tempdir().unwrap();
        let held = Scratch::new(root.path()).unwrap();
        let left = root.path().join(".scratch-3abc");
        fs::create_dir(&left).unwrap();
        let uses = |path: &Path| {
            let mut command = Command::new("sleep");
            command.arg("60").env("TMPDIR", path.join("tmp"));
            command.spawn().unwrap()
        };
        let (mut of_held, mut of_left) = (uses(held.path()), uses(&left));
        tidy(root.path()).unwrap();
        assert_eq!(of_left.wait().unwrap().signal(), Some(9));
        assert!(of_held.try_wait().unwrap().is_none() && !left.exists());
        of_held.kill().unwrap();
        of_held.wait().unwrap();
    }

    #[test]
    fn what_another_user_has_made_stays() {
        let root = tempfile::tempdir().unwrap();
        let strangers = root.path().join(".scratch-2abc");
        fs::create_dir(&strangers).unwrap();
        if std::os::unix::fs::chown(&strangers, Some(65534), None).is_err() {
            steersman_testkit::skip::not_judged(
                "what_another_user_has_made_stays",
                "only root can give a folder away",
            );
            return;
        }
        tidy(root.path()).unwrap();
        assert!(strangers.exists());
    }
}
