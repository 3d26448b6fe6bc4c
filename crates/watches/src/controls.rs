//! What the annotations of a custom resource ask for.
//!
//! Names with helm-operator's prefix mean what they mean there; names with ours are our own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use steersman_model::parse_duration;

const OPERATOR: &str = "helm.sdk.operatorframework.io/";
const OWN: &str = "steersman.dev/";
/// Names the chart of a release of Helm's that the resource takes over although its own chart is another one.
pub const ADOPT_CHART: &str = "steersman.dev/adopt-chart";
/// Names more sources of values, where the watch allows it.
pub const VALUES_FROM: &str = "steersman.dev/values-from";
/// Each other value asks for the tests of the deployed revision.
pub const TEST: &str = "steersman.dev/test";
/// A request is no longer than this: a status or a record repeats it.
const LONGEST_REQUEST: usize = 256;
/// So many bytes of stages are read in one annotation.
pub const LONGEST_LIST: usize = 8 * 1024;
/// So much of what can't be understood is repeated.
const MOST_SHOWN: usize = 64;
/// Read by the controller, not here.
const RECONCILE_PERIOD: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// What the annotations of a custom resource ask for.
///
/// ```
/// use steersman_watches::controls::{Controls, DeletionPolicy};
///
/// let annotations = [
///     ("steersman.dev/deletion-policy".to_owned(), "orphan".to_owned()),
///     ("helm.sdk.operatorframework.io/upgrade-force".to_owned(), "yes".to_owned()),
/// ];
/// let (controls, complaints) = Controls::read(Some(&annotations.into()));
/// assert_eq!(controls.deletion, DeletionPolicy::Orphan);
/// assert!(!controls.upgrade_force);
/// assert_eq!(
///     complaints,
///     [r#"annotation helm.sdk.operatorframework.io/upgrade-force is ignored: "yes" is neither true nor false"#]
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controls {
    /// `steersman.dev/pause`, `steersman.dev/dry-run`.
    pub mode: Mode,
    /// Another value than before means: look at everything afresh, now: `steersman.dev/reconcile-at`.
    pub reconcile_at: Option<String>,
    /// What the deletion of the resource does to its objects: `steersman.dev/deletion-policy`.
    pub deletion: DeletionPolicy,
    /// Whether that is said of it to be `delete`, which it is also where nothing is said.
    pub deletes_expressly: bool,
    /// The chart of a release of Helm's that is taken over although it is not the resource's: `steersman.dev/adopt-chart`.
    pub adopt_chart: Option<String>,
    /// What can't be changed in place is deleted and created again: `upgrade-force`.
    pub upgrade_force: bool,
    /// The same while a failed upgrade is undone: `rollback-force`.
    pub rollback_force: bool,
    /// Whether an uninstallation waits until the objects are gone, where the annotation is set: `uninstall-wait`.
    pub uninstall_wait: Option<bool>,
    /// Whether a failed upgrade is undone, and a failed installation removed, where the annotation is set:
    /// `steersman.dev/rollback-on-failure`.
    pub rollback_on_failure: Option<bool>,
    /// What a revision waits for, where the annotation is set: `steersman.dev/wait`.
    pub wait: Option<WaitControl>,
    /// What is to be done about stages of its revisions.
    pub stages: StageControls,
    /// `install-disable-hooks`, `install-description`.
    pub install: OperationControls,
    /// `upgrade-disable-hooks`, `upgrade-description`.
    pub upgrade: OperationControls,
    /// `uninstall-disable-hooks`.
    pub uninstall: OperationControls,
}

/// Whether the operator acts on a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The release is made what the resource says.
    #[default]
    Apply,
    /// Nothing is written: drift stays, and so does what a change would bring.
    Pause,
    /// The plan is shown in the status, and not carried out.
    DryRun,
}

/// What the deletion of a custom resource does to the objects of its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// Objects and revisions go, as after `helm uninstall`.
    #[default]
    Delete,
    /// They stay, and so do the revisions, for whoever takes the release over.
    Orphan,
    /// The annotation says neither, so nothing irreversible happens.
    Unclear,
}

/// What a resource says of waiting, instead of its watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitControl {
    /// A revision is deployed when its objects are applied: `false`.
    No,
    /// It is when its objects are ready, for which they have as long as the watch says: `true`.
    Yes,
    /// They have so long: `10m`.
    AtMost(Duration),
}

/// Stages that a resource names, each as `REVISION/NAME`, so that another revision is not meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageControls {
    /// They may begin: `steersman.dev/approve-stage`, with commas between them.
    pub approve: Vec<StageName>,
    /// The next one begins although their objects are not ready: `steersman.dev/skip-stage`, with commas between them.
    pub skip: Vec<StageName>,
    /// Its objects are applied once more and have all their time again: `steersman.dev/retry-stage`. A third part, such as
    /// the time, tells one request from another.
    pub retry: Option<StageName>,
}

/// A stage of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageName {
    /// The number of the revision.
    pub revision: u32,
    /// As watches.yaml has it.
    pub stage: String,
    /// Which request it is, where there may be more than one.
    pub request: String,
}

impl StageName {
    /// Reads `7/database`, or `7/database/REQUEST`; `None` for anything else.
    ///
    /// ```
    /// use steersman_watches::controls::StageName;
    ///
    /// let name = StageName::parse("7/database").expect("it is one");
    /// assert_eq!((name.revision, name.stage.as_str(), name.request.as_str()), (7, "database", ""));
    /// assert_eq!(StageName::parse("database"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (revision, rest) = text.split_once('/')?;
        let (stage, request) = rest.split_once('/').unwrap_or((rest, ""));
        (!stage.is_empty()).then_some(())?;
        // Written in one way only: `7`, and neither `+7` nor `07`.
        let number: u32 = revision.parse().ok()?;
        (number.to_string() == revision).then_some(())?;
        Some(Self {
            revision: number,
            stage: stage.to_owned(),
            request: request.to_owned(),
        })
    }

    /// Whether this stage of this revision is meant.
    pub fn is(&self, revision: u32, stage: &str) -> bool {
        self.revision == revision && self.stage == stage
    }
}

/// How one operation is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationControls {
    /// Whether the hooks of the operation are left out.
    pub hooks_disabled: bool,
    /// What the history says of it, instead of Helm's words.
    pub description: Option<String>,
}

impl Controls {
    /// Reads `annotations`. What can't be understood counts as absent and is named in the list.
    ///
    /// # Guarantees
    /// A word for the deletion policy that is not known never means deletion.
    pub fn read(annotations: Option<&BTreeMap<String, String>>) -> (Self, Vec<String>) {
        let mut reader = Reader::new(annotations);
        let controls = Self::from_reader(&mut reader);
        (controls, reader.complaints)
    }

    /// The names among `annotations` that are helm-operator's and have no effect here.
    pub fn without_effect(annotations: &BTreeMap<String, String>) -> Vec<String> {
        let mut reader = Reader::new(Some(annotations));
        Self::from_reader(&mut reader);
        let is_known = |name: &str| name == RECONCILE_PERIOD || reader.asked.contains(name);
        let names = annotations.keys();
        names
            .filter(|name| name.starts_with(OPERATOR) && !is_known(name))
            .cloned()
            .collect()
    }

    fn from_reader(reader: &mut Reader<'_>) -> Self {
        Self {
            mode: reader.mode(),
            reconcile_at: reader.text(OWN, "reconcile-at"),
            deletion: reader.deletion(),
            deletes_expressly: reader.text(OWN, "deletion-policy").as_deref() == Some("delete"),
            adopt_chart: reader.text("", ADOPT_CHART),
            upgrade_force: reader.flag(OPERATOR, "upgrade-force"),
            rollback_force: reader.flag(OPERATOR, "rollback-force"),
            uninstall_wait: reader.choice(OPERATOR, "uninstall-wait"),
            rollback_on_failure: reader.choice(OWN, "rollback-on-failure"),
            wait: reader.wait(),
            stages: StageControls {
                approve: reader.stages("approve-stage"),
                skip: reader.stages("skip-stage"),
                retry: reader.stage("retry-stage"),
            },
            install: reader.operation("install"),
            upgrade: reader.operation("upgrade"),
            uninstall: reader.operation("uninstall"),
        }
    }
}

/// The request for tests among `annotations`, if there is one. It is no part of [`Controls`]: what was refused under these is
/// not tried again for it. One that is empty or too long asks for nothing.
///
/// ```
/// use steersman_watches::controls::test_request;
///
/// let annotations = [("steersman.dev/test".to_owned(), "2026-01-01T00:00:00Z".to_owned())].into();
/// assert_eq!(test_request(Some(&annotations)), Some("2026-01-01T00:00:00Z"));
/// assert_eq!(test_request(None), None);
/// ```
pub fn test_request(annotations: Option<&BTreeMap<String, String>>) -> Option<&str> {
    let request = annotations?.get(TEST)?;
    (1..=LONGEST_REQUEST).contains(&request.len()).then_some(request)
}

struct Reader<'a> {
    annotations: Option<&'a BTreeMap<String, String>>,
    complaints: Vec<String>,
    /// The names that have a meaning.
    asked: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn new(annotations: Option<&'a BTreeMap<String, String>>) -> Self {
        Self {
            annotations,
            complaints: Vec::new(),
            asked: BTreeSet::new(),
        }
    }

    fn text(&mut self, prefix: &str, name: &str) -> Option<String> {
        let name = format!("{prefix}{name}");
        let found = self.annotations.and_then(|all| all.get(&name)).cloned();
        self.asked.insert(name);
        found
    }

    fn flag(&mut self, prefix: &str, name: &str) -> bool {
        self.choice(prefix, name).unwrap_or_default()
    }

    fn choice(&mut self, prefix: &str, name: &str) -> Option<bool> {
        let text = self.text(prefix, name)?;
        let choice = parse_bool(&text);
        if choice.is_none() {
            self.complaints.push(format!(
                "annotation {prefix}{name} is ignored: {} is neither true nor false",
                shown(&text)
            ));
        }
        choice
    }

    fn wait(&mut self) -> Option<WaitControl> {
        let text = self.text(OWN, "wait")?;
        let wait = match (parse_bool(&text), parse_duration(&text)) {
            (Some(true), _) => Some(WaitControl::Yes),
            (Some(false), _) => Some(WaitControl::No),
            (None, Ok(timeout)) if !timeout.is_zero() => Some(WaitControl::AtMost(timeout)),
            (None, _) => None,
        };
        if wait.is_none() {
            self.complaints.push(format!(
                "annotation {OWN}wait is ignored: {} is neither true, false nor a duration such as 10m",
                shown(&text)
            ));
        }
        wait
    }

    fn stage(&mut self, name: &str) -> Option<StageName> {
        let text = self.text(OWN, name)?;
        if text.len() > LONGEST_REQUEST {
            self.complaints.push(format!(
                "annotation {OWN}{name} is ignored: it has more than {LONGEST_REQUEST} bytes"
            ));
            return None;
        }
        let stage = StageName::parse(&text);
        if stage.is_none() {
            self.complain_of_stage(name, &text);
        }
        stage
    }

    /// The stages that an annotation names. One complaint is enough for all that can't be read there.
    fn stages(&mut self, name: &str) -> Vec<StageName> {
        let Some(text) = self.text(OWN, name) else {
            return Vec::new();
        };
        if text.len() > LONGEST_LIST {
            self.complaints.push(format!(
                "annotation {OWN}{name} is ignored: it has more than {LONGEST_LIST} bytes"
            ));
            return Vec::new();
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let (stages, unread): (Vec<_>, Vec<_>) = parts
            .map(|part| StageName::parse(part).ok_or(part))
            .partition(Result::is_ok);
        if let Some(Err(part)) = unread.first() {
            self.complain_of_stage(name, part);
        } else if stages.is_empty() {
            self.complain_of_stage(name, "");
        }
        stages.into_iter().flatten().collect()
    }

    fn complain_of_stage(&mut self, annotation: &str, text: &str) {
        self.complaints.push(format!(
            "annotation {OWN}{annotation} is ignored: {} is no stage of a revision such as 7/database",
            shown(text)
        ));
    }

    fn mode(&mut self) -> Mode {
        let (pause, dry_run) = (self.flag(OWN, "pause"), self.flag(OWN, "dry-run"));
        match (pause, dry_run) {
            (true, _) => Mode::Pause,
            (false, true) => Mode::DryRun,
            (false, false) => Mode::Apply,
        }
    }

    fn operation(&mut self, operation: &str) -> OperationControls {
        OperationControls {
            hooks_disabled: self.flag(OPERATOR, &format!("{operation}-disable-hooks")),
            // The history of what is uninstalled goes with it.
            description: (operation != "uninstall")
                .then(|| self.text(OPERATOR, &format!("{operation}-description")))
                .flatten()
                .filter(|text| !text.is_empty()),
        }
    }

    fn deletion(&mut self) -> DeletionPolicy {
        match self.text(OWN, "deletion-policy").as_deref() {
            None | Some("delete") => DeletionPolicy::Delete,
            Some("orphan") => DeletionPolicy::Orphan,
            Some(other) => {
                self.complaints.push(format!(
                    "annotation {OWN}deletion-policy: {} is neither `delete` nor `orphan`",
                    shown(other)
                ));
                DeletionPolicy::Unclear
            }
        }
    }
}

/// What somebody has written, for a complaint: a resource is looked at often, and anybody may annotate it.
fn shown(text: &str) -> String {
    if text.chars().nth(MOST_SHOWN).is_none() {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(MOST_SHOWN).collect();
    format!("{start:?}…")
}

/// The words that Go's `strconv.ParseBool` knows.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(annotations: &[(&str, &str)]) -> (Controls, Vec<String>) {
        let annotations = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Controls::read(Some(&annotations))
    }

    #[test]
    fn several_stages_are_named_and_what_names_none_is_said_once() {
        let stages = |text: &str| {
            let (controls, complaints) = read(&[("steersman.dev/approve-stage", text)]);
            let names = controls.stages.approve.into_iter();
            (
                names.map(|name| name.stage).collect::<Vec<_>>().join(" "),
                complaints,
            )
        };
        assert_eq!(stages("7/a, 7/b,"), ("a b".to_owned(), vec![]));
        let (named, complaints) = stages("7/a,+7/b,07/c,nothing");
        assert_eq!((named.as_str(), complaints.len()), ("a", 1), "{complaints:?}");
        for hostile in [",".repeat(120_000), "x,".repeat(4000), "x".repeat(8000)] {
            let (named, complaints) = stages(&hostile);
            assert_eq!((named.as_str(), complaints.len()), ("", 1));
            assert!(complaints[0].len() < 300, "{complaints:?}");
        }
    }

    #[test]
    fn booleans_are_those_of_helm_operator() {
        // What an annotation says; `None` where that is nothing.
        type Flag = (&'static str, fn(&Controls) -> Option<bool>, Option<bool>);
        let flags: [Flag; 9] = [
            (
                "helm.sdk.operatorframework.io/upgrade-force",
                |c| Some(c.upgrade_force),
                Some(false),
            ),
            (
                "helm.sdk.operatorframework.io/rollback-force",
                |c| Some(c.rollback_force),
                Some(false),
            ),
            (
                "helm.sdk.operatorframework.io/uninstall-wait",
                |c| c.uninstall_wait,
                None,
            ),
            (
                "helm.sdk.operatorframework.io/install-disable-hooks",
                |c| Some(c.install.hooks_disabled),
                Some(false),
            ),
            (
                "helm.sdk.operatorframework.io/upgrade-disable-hooks",
                |c| Some(c.upgrade.hooks_disabled),
                Some(false),
            ),
            (
                "helm.sdk.operatorframework.io/uninstall-disable-hooks",
                |c| Some(c.uninstall.hooks_disabled),
                Some(false),
            ),
            (
                "steersman.dev/pause",
                |c| Some(c.mode == Mode::Pause),
                Some(false),
            ),
            (
                "steersman.dev/dry-run",
                |c| Some(c.mode == Mode::DryRun),
                Some(false),
            ),
            (
                "steersman.dev/rollback-on-failure",
                |c| c.rollback_on_failure,
                None,
            ),
        ];
        for (name, flag, unsaid) in flags {
            assert_eq!(flag(&read(&[]).0), unsaid, "{name}");
            for text in [
                "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False",
            ] {
                let (controls, complaints) = read(&[(name, text)]);
                let said = text == "1" || text.starts_with(['t', 'T']);
                assert_eq!(
                    (flag(&controls), complaints),
                    (Some(said), vec![]),
                    "{name}: {text}"
                );
            }
            for text in ["yes", "tRUE", "2", " true", ""] {
                let (controls, complaints) = read(&[(name, text)]);
                assert_eq!((flag(&controls), complaints.len()), (unsaid, 1), "{name}: {text}");
                assert!(complaints[0].contains(name), "{complaints:?}");
            }
        }
    }

    #[test]
    fn a_pause_is_stronger_than_a_dry_run() {
        let mode = |annotations| read(annotations).0.mode;
        assert_eq!(mode(&[("steersman.dev/dry-run", "true")]), Mode::DryRun);
        assert_eq!(
            mode(&[("steersman.dev/dry-run", "true"), ("steersman.dev/pause", "true")]),
            Mode::Pause
        );
    }

    #[test]
    fn nothing_is_forced_or_undone_unless_it_is_said() {
        let (controls, _) = read(&[]);
        assert!(!controls.upgrade_force && !controls.rollback_force);
        assert_eq!(controls.rollback_on_failure, None);
        let (controls, complaints) = read(&[
            ("helm.sdk.operatorframework.io/upgrade-force", "True"),
            ("helm.sdk.operatorframework.io/rollback-force", "maybe"),
            ("steersman.dev/rollback-on-failure", "false"),
        ]);
        assert!(controls.upgrade_force && !controls.rollback_force);
        assert_eq!(controls.rollback_on_failure, Some(false));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
    }

    #[test]
    fn each_operation_has_its_own_annotations() {
        let (controls, complaints) = read(&[
            ("helm.sdk.operatorframework.io/upgrade-disable-hooks", "true"),
            ("helm.sdk.operatorframework.io/install-description", "by hand"),
        ]);
        assert_eq!(complaints, Vec::<String>::new());
        assert!(controls.upgrade.hooks_disabled && !controls.install.hooks_disabled);
        assert_eq!(controls.install.description.as_deref(), Some("by hand"));
        assert_eq!(controls.uninstall, OperationControls::default());
    }

    #[test]
    fn annotations_without_an_effect_are_named() {
        let names = [
            "helm.sdk.operatorframework.io/reconcile-period",
            "helm.sdk.operatorframework.io/install-disable-hooks",
            "helm.sdk.operatorframework.io/misspelt",
            "helm.sdk.operatorframework.io/uninstall-description",
            "example.com/other",
        ];
        let annotations = names.map(|name| (name.to_owned(), "true".to_owned())).into();
        assert_eq!(
            Controls::without_effect(&annotations),
            [
                "helm.sdk.operatorframework.io/misspelt",
                "helm.sdk.operatorframework.io/uninstall-description"
            ]
        );
    }

    #[test]
    fn an_unknown_deletion_policy_is_not_taken_for_deletion() {
        assert_eq!(read(&[]).0.deletion, DeletionPolicy::Delete);
        let policy = |word| read(&[("steersman.dev/deletion-policy", word)]).0.deletion;
        assert_eq!(policy("orphan"), DeletionPolicy::Orphan);
        assert_eq!(policy("delete"), DeletionPolicy::Delete);
        assert_eq!(policy("Orphan"), DeletionPolicy::Unclear);
    }
}
