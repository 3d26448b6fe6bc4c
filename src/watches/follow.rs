//! Following watches.yaml and the charts that it names while people edit them.
//!
//! ```text
//! events of the file system --settle--> one change --load--> Watches that differ -> Updates
//!                                                   `-> what is wrong, into the log, once
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use steersman_chart::{
    Capabilities, Chart, Limits, Operation, ReleaseInfo, RenderErrorKind, RenderInput, Values,
};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::{Watches, WatchesError};
use crate::config::Environment;
use crate::world::{RENDER_TIMEOUT, SystemWorld};

/// A save is over when nothing has happened for so long: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// What never comes to rest is looked at nevertheless.
const LONGEST: Duration = Duration::from_secs(2);

/// The watches as they are, each time they have changed.
pub type Updates = watch::Receiver<Watches>;

/// Follows `file` and the charts of `watches`, which were loaded from it, until the receiver is dropped.
///
/// # Guarantees
/// Only what loads as a whole, with templates that parse, is sent: until what is wrong is mended, the last good
/// watches and charts count. What is wrong is in the log, once.
///
/// # Errors
/// The system has no means to follow files, or no more of them.
pub fn follow(file: &Path, environment: &Environment, watches: &Watches) -> Result<Updates, notify::Error> {
    let (sent, received) = mpsc::unbounded_channel();
    let system = notify::recommended_watcher(move |event| {
        // Nobody follows any longer.
        let _ = sent.send(event);
    })?;
    let (sender, updates) = watch::channel(watches.clone());
    let mut follower = Follower {
        file: file.to_owned(),
        environment: environment.clone(),
        current: watches.clone(),
        system,
        places: BTreeMap::new(),
        subjects: BTreeSet::new(),
        told: None,
        sender,
    };
    follower.look_at_places()?;
    tokio::spawn(follower.run(received));
    Ok(updates)
}

struct Follower {
    file: PathBuf,
    environment: Environment,
    current: Watches,
    system: RecommendedWatcher,
    /// The folders that are watched.
    places: BTreeMap<PathBuf, RecursiveMode>,
    /// What an event must be about: the file and the charts.
    subjects: BTreeSet<PathBuf>,
    /// What was said to be wrong.
    told: Option<String>,
    sender: watch::Sender<Watches>,
}

impl Follower {
    async fn run(mut self, mut events: mpsc::UnboundedReceiver<notify::Result<Event>>) {
        loop {
            tokio::select! {
                () = self.sender.closed() => return,
                event = events.recv() => match event {
                    Some(event) if self.matters(&event) => {}
                    Some(_) => continue,
                    None => return,
                }
            }
            self.settle(&mut events).await;
            // Before anything is read, so that no change falls between the two.
            if let Err(error) = self.look_at_places() {
                tracing::warn!(%error, "not all charts can be followed");
            }
            let (file, environment) = (self.file.clone(), self.environment.clone());
            if let Ok(loaded) = tokio::task::spawn_blocking(move || load(&file, &environment)).await {
                self.take(loaded);
            }
        }
    }

    /// Waits until a save is over.
    async fn settle(&self, events: &mut mpsc::UnboundedReceiver<notify::Result<Event>>) {
        let end = Instant::now() + LONGEST;
        let mut quiet = Instant::now() + QUIET;
        while let Ok(Some(event)) = timeout_at(quiet.min(end), events.recv()).await {
            if self.matters(&event) {
                quiet = Instant::now() + QUIET;
            }
        }
    }

    fn matters(&self, event: &notify::Result<Event>) -> bool {
        match event {
            Ok(event) => event.need_rescan() || is_change(event, &self.subjects),
            // What was missed shows when everything is read again.
            Err(_) => true,
        }
    }

    fn take(&mut self, loaded: Result<Watches, String>) {
        match loaded {
            Err(wrong) => {
                if self.told.as_ref() != Some(&wrong) {
                    tracing::error!(
                        error = %wrong,
                        "Changed files can't be used; the watches and charts from before stay in use"
                    );
                    self.told = Some(wrong);
                }
            }
            Ok(watches) => {
                if self.told.take().is_some() {
                    tracing::info!("Watches and charts can be used again");
                }
                if watches.say_the_same(&self.current) {
                    return;
                }
                self.current = watches.clone();
                if let Err(error) = self.look_at_places() {
                    tracing::warn!(%error, "not all charts can be followed");
                }
                // The receiver may be gone; then the next turn ends this.
                let _ = self.sender.send(watches);
            }
        }
    }

    /// Watches the folders of everything that counts now. A folder that was replaced is watched anew.
    fn look_at_places(&mut self) -> Result<(), notify::Error> {
        let charts: BTreeSet<&Path> = self
            .current
            .iter()
            .map(|watch| watch.chart_path.as_path())
            .collect();
        let (subjects, places) = places(&self.file, charts);
        for old in self.places.keys() {
            // Gone from the disk already.
            let _ = self.system.unwatch(old);
        }
        self.subjects = subjects;
        self.places.clear();
        let mut failure = None;
        for (place, mode) in places {
            match self.system.watch(&place, mode) {
                Ok(()) => {
                    self.places.insert(place, mode);
                }
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Everything as it is on disk now, or what is wrong with it.
fn load(file: &Path, environment: &Environment) -> Result<Watches, String> {
    let watches = Watches::load(file, environment).map_err(|error| match error {
        WatchesError::Read { .. } => crate::telemetry::error_chain(&error),
        WatchesError::Invalid { .. } => error.to_string(),
    })?;
    for watch in &watches {
        check_templates(&watch.chart)?;
    }
    Ok(watches)
}

/// Templates are parsed by the first rendering. One with nothing but the defaults may fail for many reasons, of which
/// a template that does not parse is the only one that no values cure.
fn check_templates(chart: &Chart) -> Result<(), String> {
    let release = ReleaseInfo {
        name: "release-name".to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    let started = std::time::Instant::now();
    let rendered = chart.render(&RenderInput {
        release: &release,
        values: &Values::new(),
        capabilities: &Capabilities::default(),
        world: &SystemWorld,
        limits: Limits::default(),
        expired: Some(&|| started.elapsed() > RENDER_TIMEOUT),
        skip_schema_validation: true,
        subchart_notes: false,
    });
    match rendered {
        Err(error) if error.kind() == RenderErrorKind::Parse => {
            Err(format!("chart `{}`: {error}", chart.name()))
        }
        _ => Ok(()),
    }
}

/// What an event must be about, and the folders to watch for it. A file is watched in its folder, as editors put
/// another one in its place; so is the folder of a chart.
fn places<'a>(
    file: &'a Path,
    charts: impl IntoIterator<Item = &'a Path>,
) -> (BTreeSet<PathBuf>, BTreeMap<PathBuf, RecursiveMode>) {
    let mut subjects = BTreeSet::new();
    let mut places = BTreeMap::new();
    for path in std::iter::once(file).chain(charts) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A link and what it leads to can both be replaced.
        let real = absolute.canonicalize().ok();
        for path in std::iter::once(absolute).chain(real) {
            if let Some(folder) = path.parent() {
                places
                    .entry(folder.to_owned())
                    .or_insert(RecursiveMode::NonRecursive);
                // A mounted ConfigMap changes by another link beside the file.
                if path.is_symlink() {
                    subjects.insert(folder.to_owned());
                }
            }
            if path.is_dir() {
                places.insert(path.clone(), RecursiveMode::Recursive);
            }
            subjects.insert(path);
        }
    }
    (subjects, places)
}

/// Whether an event may have changed what is read: reading itself makes events, too, and so do the files that editors
/// keep beside the one that is edited.
fn is_change(event: &Event, subjects: &BTreeSet<PathBuf>) -> bool {
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
        let (subjects, places) = places(&root.join("watches.yaml"), charts.iter().map(PathBuf::as_path));
        assert_eq!(subjects.len(), 3);
        assert_eq!(
            places.into_iter().collect::<Vec<_>>(),
            [
                (root.clone(), RecursiveMode::NonRecursive),
                (root.join("web"), RecursiveMode::Recursive),
            ]
        );
    }

    /// Follows a file, changes something, and gives the kinds that are watched then.
    async fn kinds_after(file: &Path, change: impl FnOnce()) -> Vec<String> {
        let environment: Environment = std::iter::empty().collect();
        let watches = Watches::load(file, &environment).unwrap();
        let mut updates = follow(file, &environment, &watches).unwrap();
        change();
        tokio::time::timeout(Duration::from_secs(20), updates.changed())
            .await
            .expect("a change is seen")
            .unwrap();
        let watches = updates.borrow_and_update();
        watches.iter().map(|watch| watch.gvk.kind.clone()).collect()
    }

    /// A folder with a chart, and the entry of a kind for it.
    fn project() -> (tempfile::TempDir, impl Fn(&str) -> String) {
        let folder = tempfile::tempdir().unwrap();
        let chart = folder.path().join("web");
        std::fs::create_dir(&chart).unwrap();
        std::fs::write(
            chart.join("Chart.yaml"),
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        )
        .unwrap();
        let entry = move |kind: &str| {
            format!(
                "- version: v1\n  group: example.com\n  kind: {kind}\n  chart: {}\n",
                chart.display()
            )
        };
        (folder, entry)
    }

    #[tokio::test]
    async fn a_file_that_another_one_replaces_is_read_again() {
        let (folder, entry) = project();
        let file = folder.path().join("watches.yaml");
        std::fs::write(&file, entry("Web")).unwrap();
        let kinds = kinds_after(&file, || {
            let other = folder.path().join("watches.yaml.new");
            std::fs::write(&other, entry("Site")).unwrap();
            std::fs::rename(other, &file).unwrap();
        });
        assert_eq!(kinds.await, ["Site"]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_mounted_config_map_that_changes_is_read_again() {
        let (folder, entry) = project();
        let root = folder.path().join("mount");
        let version = |name: &str, kind: &str| {
            std::fs::create_dir_all(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("watches.yaml"), entry(kind)).unwrap();
            std::os::unix::fs::symlink(name, root.join("..data_tmp")).unwrap();
            std::fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        };
        version("..1", "Web");
        let file = root.join("watches.yaml");
        std::os::unix::fs::symlink("..data/watches.yaml", &file).unwrap();
        assert_eq!(kinds_after(&file, || version("..2", "Site")).await, ["Site"]);
    }
}
