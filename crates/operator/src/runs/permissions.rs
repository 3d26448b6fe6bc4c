//! A record of what runs ask the API server for, in a file that `steersman rbac generate` makes rules of.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use steersman_model::chain;
use steersman_project::rbac::{Recorded, RecordedError, RecordedPlace, RecordedRequest};
use steersman_proxy::{Observer, RunId, Seen, Verb};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Subresources whose GET opens a stream, for which servers from 1.35 on want `create`, too.
const STREAMS: [&str; 3] = ["attach", "exec", "portforward"];

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum PermissionsFileError {
    /// What is there of it can't be read.
    #[error("failed to read the record of permissions `{}`", path.display())]
    Read {
        /// The file of `--record-permissions`.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is something else in the file, which stays.
    #[error("failed to add to the record of permissions `{}`", path.display())]
    Other {
        /// The file of `--record-permissions`.
        path: PathBuf,
        /// What is wrong with it.
        source: RecordedError,
    },
}

/// Notes each verb and resource that runs ask for, and tells another observer.
pub(super) struct PermissionRecorder {
    inner: Arc<dyn Observer>,
    recorded: Arc<Mutex<Recorded>>,
    changed: Sender<()>,
}

impl PermissionRecorder {
    /// Adds to what the file has. It is written by a task of its own, which ends with this.
    pub(super) fn start(path: &Path, inner: Arc<dyn Observer>) -> Result<Self, PermissionsFileError> {
        let recorded = Arc::new(Mutex::new(read(path)?));
        let (changed, due) = channel(1);
        tokio::spawn(keep(path.to_owned(), Arc::clone(&recorded), due));
        Ok(Self {
            inner,
            recorded,
            changed,
        })
    }

    /// What is asked for counts, whatever the answer: what was refused is needed most.
    fn note(&self, seen: &Seen<'_>) {
        let Some(target) = seen.resource else { return };
        let place = match &target.namespace {
            None => RecordedPlace::Cluster,
            own if *own == seen.owner.namespace => RecordedPlace::OwnNamespace,
            Some(other) => RecordedPlace::Namespace(other.clone()),
        };
        let resource = match &target.subresource {
            None => target.resource.clone(),
            Some(subresource) => format!("{}/{subresource}", target.resource),
        };
        let is_stream = target
            .subresource
            .as_ref()
            .is_some_and(|name| STREAMS.contains(&name.as_str()));
        // An apply of what is not there creates it.
        let creates =
            (*seen.verb == Verb::Patch && seen.status == 201) || (*seen.verb == Verb::Get && is_stream);
        let verbs = [Some(seen.verb.as_str()), creates.then_some("create")];
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        for verb in verbs.into_iter().flatten() {
            is_new |= recorded.add(&RecordedRequest {
                api_version: &seen.owner.api_version,
                kind: &seen.owner.kind,
                place: place.clone(),
                group: &target.group,
                resource: &resource,
                verb,
            });
        }
        if is_new {
            // Where it is full, a write is due that has this, too.
            let _ = self.changed.try_send(());
        }
    }
}

impl Observer for PermissionRecorder {
    fn answered(&self, seen: &Seen<'_>) {
        self.note(seen);
        self.inner.answered(seen);
    }

    fn unanswered(&self, run: RunId) {
        self.inner.unanswered(run);
    }

    fn secret(&self, run: RunId, value: &[u8]) {
        self.inner.secret(run, value);
    }
}

fn read(path: &Path) -> Result<Recorded, PermissionsFileError> {
    let path = || path.to_owned();
    match std::fs::read_to_string(path()) {
        Ok(text) => {
            Recorded::read(&text).map_err(|source| PermissionsFileError::Other { path: path(), source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Recorded::default()),
        Err(source) => Err(PermissionsFileError::Read { path: path(), source }),
    }
}

/// Writes the file after each change, until there can be no more.
async fn keep(path: PathBuf, recorded: Arc<Mutex<Recorded>>, mut changes: Receiver<()>) {
    while changes.recv().await.is_some() {
        let text = recorded.lock().unwrap_or_else(PoisonError::into_inner).to_text();
        let file = path.clone();
        let written = tokio::task::spawn_blocking(move || write(&file, &text)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(file = %path.display(), error = chain(&error), "the permissions that runs need can't be written down");
        }
    }
}

/// All of it or nothing: who reads the file meanwhile reads a whole one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use expect_test::expect;
    use steersman_cluster::PrimaryResource;
    use steersman_proxy::{
        Observer, Origin, Proxy, ResourcePath, Run, RunId, Seen, Settings, Upstream, Verb,
    };

    use super::{PermissionRecorder, PermissionsFileError};

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Observer for Counter {
        fn answered(&self, _: &Seen<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn owner() -> PrimaryResource {
        PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Web".to_owned(),
            namespace: Some("shop".to_owned()),
            name: "a".to_owned(),
            uid: "u".to_owned(),
        }
    }

    /// A run of a proxy that asks nobody.
    fn run() -> RunId {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let settings = Settings {
            field_manager: "test".to_owned(),
            fence: Arc::new(()),
            observer: Arc::new(()),
        };
        let proxy = Proxy::new(Upstream::new(&config).unwrap(), settings);
        proxy.admit(Run::new(owner(), None)).unwrap().id()
    }

    fn tell(recorder: &PermissionRecorder, run: RunId, verb: Verb, path: &str, status: u16) {
        let (owner, resource) = (owner(), ResourcePath::parse(path));
        recorder.answered(&Seen {
            run,
            owner: &owner,
            account: None,
            origin: Origin::Client,
            verb: &verb,
            resource: resource.as_ref(),
            path,
            is_dry_run: false,
            is_write: false,
            status,
            object: None,
        });
    }

    async fn until(file: &Path, is_so: impl Fn(&str) -> bool) -> String {
        for _ in 0..200 {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if is_so(&text) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{:?} did not become so", std::fs::read_to_string(file));
    }

    #[tokio::test]
    async fn what_runs_ask_for_is_in_the_file_whatever_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("permissions.yaml");
        let counter = Arc::new(Counter::default());
        let recorder = PermissionRecorder::start(&file, Arc::clone(&counter) as Arc<dyn Observer>).unwrap();
        let run = run();
        for (verb, path, status) in [
            (Verb::Get, "/api/v1/namespaces/shop/configmaps/a", 200),
            (Verb::Get, "/api/v1/namespaces/shop/configmaps/b", 404),
            (Verb::Patch, "/apis/apps/v1/namespaces/shop/deployments/a", 201),
            (Verb::List, "/api/v1/namespaces/far/secrets", 403),
            (Verb::List, "/api/v1/nodes", 200),
            (Verb::Get, "/api/v1/namespaces/shop/pods/a/exec", 101),
            (Verb::Other("get".to_owned()), "/version", 200),
        ] {
            tell(&recorder, run, verb, path, status);
        }
        assert_eq!(counter.0.load(Ordering::Relaxed), 7);
        let text = until(&file, |text| text.contains("pods/exec")).await;
        expect![[r#"
            # What runs have asked the API server for. `steersman rbac generate --recorded FILE` makes rules of it.
            kind: RecordedPermissions
            resources:
            - apiVersion: example.com/v1
              cluster:
              - apiGroups:
                - ""
                resources:
                - nodes
                verbs:
                - list
              kind: Web
              otherNamespaces:
              - namespace: far
                rules:
                - apiGroups:
                  - ""
                  resources:
                  - secrets
                  verbs:
                  - list
              ownNamespace:
              - apiGroups:
                - ""
                resources:
                - configmaps
                verbs:
                - get
              - apiGroups:
                - ""
                resources:
                - pods/exec
                verbs:
                - create
                - get
              - apiGroups:
                - apps
                resources:
                - deployments
                verbs:
                - create
                - patch
        "#]].assert_eq(&text);
        drop(recorder);

        // A later process adds to it.
        let recorder = PermissionRecorder::start(&file, Arc::new(())).unwrap();
        tell(
            &recorder,
            run,
            Verb::Delete,
            "/api/v1/namespaces/shop/configmaps/a",
            200,
        );
        until(&file, |text| {
            text.contains("delete") && text.contains("pods/exec")
        })
        .await;
    }

    #[tokio::test]
    async fn another_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("values.yaml");
        std::fs::write(&file, "a: 1\n").unwrap();
        let error = PermissionRecorder::start(&file, Arc::new(())).err();
        assert!(matches!(error, Some(PermissionsFileError::Other { .. })));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a: 1\n");
    }
}
