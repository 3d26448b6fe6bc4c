//! Where files are looked at, and which events there are changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecursiveMode};

/// What an event must be about, and the folders to watch for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The file, the charts and what else it names.
    pub(super) subjects: BTreeSet<PathBuf>,
    pub(super) folders: BTreeMap<PathBuf, RecursiveMode>,
}

/// Where to look for changes of these. A file is watched in its folder, as editors put
/// another one in its place; so is the folder of a chart.
pub(super) fn places<'a>(file: &'a Path, charts: impl IntoIterator<Item = &'a Path>) -> Places {
    let mut subjects = BTreeSet::new();
    let mut folders = BTreeMap::new();
    for path in std::iter::once(file).chain(charts) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A link and what it leads to can both be replaced.
        let real = absolute.canonicalize().ok();
        for path in std::iter::once(absolute).chain(real) {
            if let Some(folder) = path.parent() {
                folders
                    .entry(folder.to_owned())
                    .or_insert(RecursiveMode::NonRecursive);
                // A mounted ConfigMap changes by another link beside the file.
                if path.is_symlink() {
                    subjects.insert(folder.to_owned());
                }
            }
            if path.is_dir() {
                folders.insert(path.clone(), RecursiveMode::Recursive);
            }
            subjects.insert(path);
        }
    }
    Places { subjects, folders }
}

/// Whether an event may have changed what is read: reading itself makes events, too, and so do the files that editors
/// keep beside the one that is edited.
pub(super) fn is_change(event: &Event, subjects: &BTreeSet<PathBuf>) -> bool {
    let wrote = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    };
    let about =
        |path: &PathBuf| !is_of_an_editor(path) && subjects.iter().any(|subject| path.starts_with(subject));
    wrote && event.paths.iter().any(about)
}

/// Whether a name is one that editors give to swap files, backups and probes.
fn is_of_an_editor(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let swap = [
        "~",
        ".swp",
        ".swx",
        ".swo",
        ".tmp",
        ".bak",
        "___jb_old___",
        "___jb_tmp___",
    ];
    swap.iter().any(|end| name.ends_with(end))
        || name.starts_with(".#")
        || name.starts_with('#') && name.ends_with('#')
        // Vim tries whether it can write there.
        || name == "4913"
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, ModifyKind, RenameMode};

    use super::*;

    fn check(kind: EventKind, path: &str, expect: bool) {
        let subjects = BTreeSet::from(["/p/watches.yaml", "/p/charts/web"].map(PathBuf::from));
        let event = Event::new(kind).add_path(PathBuf::from(path));
        assert_eq!(is_change(&event, &subjects), expect, "{kind:?} {path}");
    }

    #[test]
    fn only_writes_to_the_file_and_the_charts_are_changes() {
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        let created = EventKind::Create(CreateKind::File);
        check(written, "/p/watches.yaml", true);
        check(renamed, "/p/watches.yaml", true);
        check(created, "/p/charts/web/templates/a.yaml", true);
        check(
            EventKind::Remove(notify::event::RemoveKind::Folder),
            "/p/charts/web",
            true,
        );
        check(
            EventKind::Access(AccessKind::Open(AccessMode::Read)),
            "/p/watches.yaml",
            false,
        );
        check(
            EventKind::Access(AccessKind::Close(AccessMode::Read)),
            "/p/watches.yaml",
            false,
        );
        check(written, "/p/operator.log", false);
        check(written, "/p/charts/web2/Chart.yaml", false);
    }

    #[test]
    fn what_editors_keep_beside_a_file_is_no_change() {
        for name in [
            "a.yaml~",
            ".a.yaml.swp",
            "4913",
            ".#a.yaml",
            "#a.yaml#",
            "a.yaml.tmp",
            "a.yaml___jb_tmp___",
        ] {
            check(
                EventKind::Create(CreateKind::File),
                &format!("/p/charts/web/templates/{name}"),
                false,
            );
        }
    }

    #[test]
    fn the_folders_of_files_and_charts_are_watched() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("web")).unwrap();
        std::fs::write(root.join("db.tgz"), "").unwrap();
        let charts = [root.join("web"), root.join("db.tgz")];
        let Places { subjects, folders } =
            places(&root.join("watches.yaml"), charts.iter().map(PathBuf::as_path));
        assert_eq!(subjects.len(), 3);
        assert_eq!(
            folders.into_iter().collect::<Vec<_>>(),
            [
                (root.clone(), RecursiveMode::NonRecursive),
                (root.join("web"), RecursiveMode::Recursive),
            ]
        );
    }
}
