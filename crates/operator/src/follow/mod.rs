//! Following watches.yaml, and the charts and files of values that it names, while people edit them.
//!
//! ```text
//! events of the file system --settle--> one change --load--> Watches that differ -> Updates
//!                                                   `-> what is wrong, into the log, once
//! ```

mod check;
mod events;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use check::load;
use events::{Places, is_change, places};
use notify::{Event, RecommendedWatcher, Watcher};
use steersman_model::Environment;
use steersman_watches::Watches;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

/// A save is over when nothing has happened for so long: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// Files that keep changing are read after this time nevertheless.
const LONGEST: Duration = Duration::from_secs(2);

/// The watches as they are, each time they have changed.
pub type Updates = watch::Receiver<Watches>;

/// Follows `file` and the charts of `watches`, which were loaded from it, until the receiver is dropped.
///
/// # Guarantees
/// Only what loads as a whole, with templates that parse, is sent: until what is wrong is mended, the last good
/// watches and charts count. What is wrong is in the log, once. No change is missed, also none between the loading of
/// `watches` and this.
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
        followed: Places::default(),
        reported: None,
        sender,
    };
    follower.watch_places()?;
    tokio::spawn(follower.run(received));
    Ok(updates)
}

struct Follower {
    file: PathBuf,
    environment: Environment,
    current: Watches,
    system: RecommendedWatcher,
    /// What is watched.
    followed: Places,
    /// What the log says to be wrong; `None` while the files can be used.
    reported: Option<String>,
    sender: watch::Sender<Watches>,
}

impl Follower {
    async fn run(mut self, mut events: mpsc::UnboundedReceiver<notify::Result<Event>>) {
        loop {
            // First of all for what has changed since the watches were loaded.
            self.read().await;
            loop {
                tokio::select! {
                    () = self.sender.closed() => return,
                    event = events.recv() => match event {
                        Some(event) if self.matters(&event) => break,
                        Some(_) => {}
                        None => return,
                    }
                }
            }
            self.settle(&mut events).await;
            self.watch_anew();
        }
    }

    /// Reads everything, and again while that leads to other places. What is read is watched before: a change between
    /// the two would be seen by nobody.
    async fn read(&mut self) {
        loop {
            let (file, environment) = (self.file.clone(), self.environment.clone());
            if let Ok(loaded) = tokio::task::spawn_blocking(move || load(&file, &environment)).await {
                self.take(loaded);
            }
            if self.wanted() == self.followed {
                return;
            }
            self.watch_anew();
        }
    }

    fn watch_anew(&mut self) {
        if let Err(error) = self.watch_places() {
            tracing::warn!(%error, "not all charts can be followed");
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
            Ok(event) => event.need_rescan() || is_change(event, &self.followed.subjects),
            // What was missed shows when everything is read again.
            Err(_) => true,
        }
    }

    fn take(&mut self, loaded: Result<Watches, String>) {
        match loaded {
            Err(wrong) => {
                if self.reported.as_ref() != Some(&wrong) {
                    tracing::error!(
                        error = %wrong,
                        "Changed files can't be used; the watches and charts from before stay in use"
                    );
                    self.reported = Some(wrong);
                }
            }
            Ok(watches) => {
                if self.reported.take().is_some() {
                    tracing::info!("Watches and charts can be used again");
                }
                if watches.say_the_same(&self.current) {
                    return;
                }
                self.current = watches.clone();
                // The receiver may be gone; then the next turn ends this.
                let _ = self.sender.send(watches);
            }
        }
    }

    /// What counts now.
    fn wanted(&self) -> Places {
        let charts = self.current.iter().map(|watch| watch.chart_path.as_path());
        let ansible = self.current.ansible().iter();
        let sources = ansible.flat_map(|watch| watch.sources.places.iter().map(PathBuf::as_path));
        let values = self.current.iter().flat_map(|watch| &watch.values.files);
        let values = values.filter_map(|file| file.path.as_deref());
        let followed: BTreeSet<&Path> = charts.chain(values).chain(sources).collect();
        places(&self.file, followed)
    }

    /// Watches all folders anew: one that was replaced is another one. Changes meanwhile go unseen.
    fn watch_places(&mut self) -> Result<(), notify::Error> {
        for old in self.followed.folders.keys() {
            // Gone from the disk already, or never watched.
            let _ = self.system.unwatch(old);
        }
        self.followed = self.wanted();
        let mut failure = None;
        for (folder, mode) in &self.followed.folders {
            if let Err(error) = self.system.watch(folder, *mode) {
                failure = Some(error);
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a file with the kind `Web` that changes as soon as it was loaded, then changes something, and gives the
    /// kinds that are watched after each.
    async fn kinds_after(file: &Path, change: impl FnOnce()) -> [Vec<String>; 2] {
        let environment: Environment = std::iter::empty().collect();
        let watches = Watches::load(file, &environment).unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, text.replace("kind: Web", "kind: Early")).unwrap();
        let mut updates = follow(file, &environment, &watches).unwrap();
        let first = next_kinds(&mut updates).await;
        change();
        [first, next_kinds(&mut updates).await]
    }

    async fn next_kinds(updates: &mut Updates) -> Vec<String> {
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
        assert_eq!(kinds.await, [["Early"], ["Site"]]);
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
        let kinds = kinds_after(&file, || version("..2", "Site"));
        assert_eq!(kinds.await, [["Early"], ["Site"]]);
    }
}
