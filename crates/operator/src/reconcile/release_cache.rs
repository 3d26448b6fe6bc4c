//! What is remembered of a custom resource between reconciles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use steersman_cluster::lookup::Answer;
use steersman_model::{
    Change, ChangeSet, Digest, Inputs, ObjectId, OwnedFields, ReleaseStatus, Revision, digest_of_json,
};
use steersman_watches::controls::Controls;
use steersman_watches::drift::DriftMode;
use tokio::time::Instant;

use super::agreed::Agreed;
use super::announce::Attempt;
use super::dependencies::Waiting;
use super::drift_backoff::DriftBackoff;
use super::known_values::KnownValues;
use super::left_drifted::LeftDrifted;
use super::remembered::Room;
use super::secrets::KnownSecrets;
use super::session::Session;
use super::sources::KnownSources;
use super::state::LastRevision;
use super::tests_due::KnownTests;
use super::unfinished::Unfinished;
use crate::coordination::LastValues;
use crate::release::{Position, Snapshot, StageRecord, Stored, StoredSource, Written};
use crate::status::{DeployedChart, Failure, ReleaseReport};

/// Inputs that can't be rendered are tried again after this time: what the cluster says to
/// templates may have changed.
const REFUSAL_TIME: Duration = Duration::from_mins(10);

/// The finalizer is added at most so often within [`FINALIZER_WINDOW`].
const FINALIZER_ADDITIONS: usize = 3;
const FINALIZER_WINDOW: Duration = Duration::from_mins(5);

/// What a chart looks up is looked up again at most so often.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

/// How long the status of a new revision waits for the first word of its objects' controllers, so
/// that it is written once.
const SETTLING_TIME: Duration = Duration::from_millis(250);

/// A cache of what the cluster says of one release. Losing it costs a read.
#[derive(Debug, Default)]
pub struct ReleaseCache {
    pub(super) known: Option<KnownRelease>,
    /// What is masked wherever something is said of it.
    pub(super) secrets: KnownSecrets,
    /// Failures in a row.
    pub failures: u32,
    /// The inputs of the last failure; others begin with short pauses again.
    failed: Option<Inputs>,
    refusal: Option<Refusal>,
    /// When the chart's lookups were made last; `None` is before the first time.
    looked_at: Option<Instant>,
    /// For what they have had other answers then than the newest revision was made of.
    pub(super) lookups_differ: Option<Inputs>,
    /// The additions of the finalizer within [`FINALIZER_WINDOW`], the oldest first.
    finalizer_added: Vec<Instant>,
    /// Counts corrections of each object, to make them slower where somebody undoes them.
    pub(super) drift_backoff: DriftBackoff,
    /// Objects that drifted, are not corrected, and were warned of.
    pub(super) warned: Vec<ObjectId>,
    /// What differs now from what the release wants, and is not put back at once.
    pub(super) left_drifted: LeftDrifted,
    /// A deployed revision that the status does not show yet.
    unreported: Option<Unreported>,
    /// What the status says is being done, or has failed.
    announced: Option<Attempt>,
    /// The `reconcile-at` annotation that was acted on last.
    reconcile_at: Option<String>,
    /// Whether nothing is left of the release but the resource's finalizer.
    pub(super) uninstalled: bool,
    /// Whether the usual share of the memory has not been enough.
    pub(super) needs_much: bool,
    /// For what is known and refused.
    pub(super) room: Room,
    /// What is known of other objects that have values.
    pub(super) sources: KnownSources,
    /// What another revision waits for, as it was seen last.
    pub(super) waiting: Option<Waiting>,
    /// What was left where there is something to wait for.
    pub(super) unfinished: Option<Unfinished>,
    /// The paths of values that runs of procedures change; `None` where there are no procedures, which ask for those of revisions.
    pub(super) kept_paths: Option<Arc<[String]>>,
    /// What was written when all revisions were read last, whoever has done that.
    read: Written,
    /// How often somebody else was found at work with the release, in a row.
    looks_for_end: u32,
    /// What was agreed on with runs of procedures when the release was observed last.
    pub(super) agreed: Agreed,
}

/// A deployed revision that waits to be reported together with what its objects' controllers say first.
#[derive(Debug)]
struct Unreported {
    notes: String,
    /// Whether what the chart has looked up, and has values from, is masked in the notes.
    is_masked: bool,
    /// What the revision has values from.
    sources: Vec<StoredSource>,
    until: Instant,
    /// What the log says of it, once the status does.
    line: Option<&'static str>,
}

/// What the stored revisions say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownRelease {
    /// The newest revision.
    pub(super) last: Option<LastRevision>,
    /// The newest deployed revision.
    pub(super) deployed: Option<Revision>,
    /// The digest of that revision's values.
    pub(super) deployed_values: Option<Digest>,
    /// When that revision was written.
    pub(super) deployed_at: Option<Timestamp>,
    /// The chart of the deployed revision, where it is ours.
    pub(super) chart: Option<DeployedChart>,
    /// The objects of that revision, each with our fields after it was applied.
    /// Where later revisions have come some way, what they have applied is as they have left it.
    pub(super) objects: BTreeMap<ObjectId, Option<OwnedFields>>,
    /// Those among them that a later revision has applied last, and which one.
    pub(super) later: BTreeMap<ObjectId, Revision>,
    /// The Jobs among them that are noted as having done their work, and that go by themselves.
    pub(super) completed: BTreeSet<ObjectId>,
    /// The stages of the newest revision.
    pub(super) stages: Vec<StageRecord>,
    /// What was looked up for the newest revision.
    pub(super) lookups: Vec<Answer>,
    /// What the deployed revision says of its tests.
    pub(super) tests: KnownTests,
    /// Whether there is no revision although the resource has been dealt with.
    pub(super) may_be_lost: bool,
    /// What the revisions say of values, for procedures.
    pub(super) values: KnownValues,
}

/// The chart of a revision, as its record has it.
fn chart_of(stored: &Stored) -> DeployedChart {
    let metadata = &stored.record.chart.metadata;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    DeployedChart {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        app_version: text("appVersion"),
    }
}

/// Inputs that are not tried again for [`REFUSAL_TIME`], as they would fail in the same way.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) inputs: Inputs,
    controls: Controls,
    pub(super) failure: Failure,
    /// What was looked up for them.
    pub(super) lookups: Vec<Answer>,
    until: Instant,
}

impl KnownRelease {
    /// What these revisions, the oldest first, say.
    pub(super) fn new(revisions: &[Stored]) -> Self {
        let deployed = revisions
            .iter()
            .rev()
            .find(|stored| stored.record.info.status == ReleaseStatus::Deployed);
        let (applied, later) = applied_later(revisions);
        let completed = completed(&later, revisions);
        // Helm has come to its end after ours: what is live is of both.
        let is_doubted = are_both_deployed(revisions);
        let last = revisions.last().map(|stored| LastRevision {
            revision: stored.record.version,
            status: stored.record.info.status,
            inputs: stored
                .snapshot
                .inputs
                .filter(|_| stored.is_signed() && !is_doubted),
            deployed_before: was_ever_deployed(revisions),
            is_being_undone: stored.snapshot.undoing.is_some(),
        });
        Self {
            last,
            deployed: deployed.map(|stored| stored.record.version),
            deployed_values: deployed.map(values_digest),
            deployed_at: deployed.and_then(|stored| stored.record.info.last_deployed),
            chart: deployed.filter(|stored| stored.is_signed()).map(chart_of),
            objects: deployed
                .into_iter()
                .flat_map(|stored| objects(&stored.snapshot))
                .chain(applied)
                .collect(),
            later,
            completed,
            stages: revisions.last().map(stages).unwrap_or_default(),
            lookups: revisions
                .last()
                .map(|stored| stored.snapshot.lookups.clone())
                .unwrap_or_default(),
            tests: deployed.map(KnownTests::of).unwrap_or_default(),
            may_be_lost: false,
            values: KnownValues::default(),
        }
    }

    /// The same, with what they say of values.
    pub(super) fn with_values(revisions: &[Stored], paths: &[String]) -> Self {
        Self {
            values: KnownValues::of(revisions, paths),
            ..Self::new(revisions)
        }
    }

    /// What the operator has deployed last, or is about to, as far as values go; `None` where nothing ever was.
    pub(super) fn last_values(&self) -> Option<&Arc<LastValues>> {
        self.last.as_ref().filter(|last| last.deployed_before)?;
        self.values.last()
    }

    /// What is deployed, where the last revision has failed.
    pub(super) fn values_before_failure(&self) -> Option<&Arc<LastValues>> {
        let last = self.last.as_ref();
        last.filter(|last| last.status == ReleaseStatus::Failed && last.deployed_before)?;
        self.values.deployed()
    }

    /// What the last revision and the deployed one are made of, as far as they are two.
    pub(super) fn reached(&self) -> Vec<&LastValues> {
        let last = self.last_values();
        let deployed = self.values.deployed().filter(|_| last.is_some());
        let other = deployed.filter(|deployed| last.is_none_or(|last| !Arc::ptr_eq(last, deployed)));
        last.into_iter().chain(other).map(Arc::as_ref).collect()
    }
}

/// Whether a revision is not the last one that is known, or is that, and somebody else was at work with it.
fn is_after(revision: Revision, last: &LastRevision) -> bool {
    use ReleaseStatus::{PendingInstall, PendingRollback, PendingUpgrade};
    let was_open = matches!(last.status, PendingInstall | PendingUpgrade | PendingRollback);
    revision > last.revision || revision == last.revision && last.inputs.is_none() && was_open
}

impl KnownRelease {
    /// Which of these objects are to be applied from which revision; `None` where nothing is deployed that should have them.
    pub(super) fn by_revision(&self, objects: &[ObjectId]) -> Option<BTreeMap<Revision, Vec<ObjectId>>> {
        let mut owning: BTreeMap<Revision, Vec<ObjectId>> = BTreeMap::new();
        for id in objects {
            let revision = self.later.get(id).copied().or(self.deployed)?;
            owning.entry(revision).or_default().push(id.clone());
        }
        Some(owning)
    }

    /// What the newest revision has applied of its stages is what `stored` says. What was undone of it is in effect no longer.
    fn note_stages(&mut self, stored: &Stored) {
        self.stages = stages(stored);
        let revision = stored.record.version;
        let (objects, completed) = (&mut self.objects, &mut self.completed);
        let has_gone_back = stored.snapshot.undone > 0;
        self.later.retain(|id, owning| {
            let stays = *owning != revision && !has_gone_back;
            if !stays {
                objects.remove(id);
                completed.remove(id);
            }
            stays
        });
        if is_staged(stored) {
            for object in &stored.snapshot.objects {
                self.objects.insert(object.id.clone(), object.fields());
                self.later.insert(object.id.clone(), revision);
                if object.completed {
                    self.completed.insert(object.id.clone());
                } else {
                    self.completed.remove(&object.id);
                }
            }
        }
    }

    /// What the newest revision has applied, while it waits for a stage.
    pub(super) fn applied_by_last(&self) -> impl Iterator<Item = &ObjectId> {
        let last = self.last.as_ref().map(|last| last.revision);
        let later = self.later.iter();
        later
            .filter(move |(_, revision)| Some(**revision) == last)
            .map(|(id, _)| id)
    }
}

/// What revisions after the deployed one have applied of their stages, each object as the newest has left it, and which one
/// that is. One that was undone has gone back to the deployed one: what others had applied before it is in effect no longer.
type AppliedLater = (
    BTreeMap<ObjectId, Option<OwnedFields>>,
    BTreeMap<ObjectId, Revision>,
);

fn applied_later(revisions: &[Stored]) -> AppliedLater {
    let deployed = revisions
        .iter()
        .rposition(|stored| stored.record.info.status == ReleaseStatus::Deployed);
    let undone = revisions
        .iter()
        .rposition(|stored| stored.is_signed() && stored.snapshot.undone > 0);
    let first = deployed.map_or(0, |place| place + 1).max(undone.unwrap_or(0));
    let later = revisions.get(first..);
    let (mut applied, mut owning) = (BTreeMap::new(), BTreeMap::new());
    for stored in later
        .unwrap_or_default()
        .iter()
        .filter(|stored| is_staged(stored))
    {
        for (id, fields) in objects(&stored.snapshot) {
            applied.insert(id.clone(), fields);
            owning.insert(id, stored.record.version);
        }
    }
    (applied, owning)
}

/// The Jobs that are noted as having done their work, of what is in effect of these revisions. `later` is which of them has
/// applied an object after the deployed one.
fn completed(later: &BTreeMap<ObjectId, Revision>, revisions: &[Stored]) -> BTreeSet<ObjectId> {
    let deployed = revisions
        .iter()
        .rfind(|stored| stored.record.info.status == ReleaseStatus::Deployed);
    let deployed = deployed.map(|stored| stored.record.version);
    let signed = revisions.iter().filter(|stored| stored.is_signed());
    let completed = signed.flat_map(|stored| {
        let is_in_effect =
            move |id: &&ObjectId| later.get(*id).copied().or(deployed) == Some(stored.record.version);
        stored.snapshot.completed().filter(is_in_effect)
    });
    completed.cloned().collect()
}

/// The revisions among these that have applied an object last, besides the deployed one: it is healed from them.
pub(super) fn owning(revisions: &[Stored]) -> BTreeSet<Revision> {
    applied_later(revisions).1.into_values().collect()
}

/// Whether a revision is on its way through its stages, or was stopped there.
fn is_staged(stored: &Stored) -> bool {
    use ReleaseStatus::{Failed, PendingInstall, PendingUpgrade};
    let is_under_way = matches!(
        stored.record.info.status,
        Failed | PendingInstall | PendingUpgrade
    );
    is_under_way && stored.is_signed() && !stored.snapshot.stages.is_empty()
}

/// The stages of a revision, without what is only needed to apply them.
fn stages(stored: &Stored) -> Vec<StageRecord> {
    let stages = stored.snapshot.stages.iter().filter(|_| stored.is_signed());
    let without_objects = |stage: &StageRecord| StageRecord {
        objects: Vec::new(),
        ..stage.clone()
    };
    stages.map(without_objects).collect()
}

/// The digest of the values that a revision was rendered from.
fn values_digest(stored: &Stored) -> Digest {
    let noted = stored.snapshot.inputs.map(|inputs| inputs.values);
    noted.unwrap_or_else(|| digest_of_json(&Value::Object(stored.record.config.clone().unwrap_or_default())))
}

/// Whether one of these revisions was deployed at any time, or one before them.
pub(super) fn was_ever_deployed(revisions: &[Stored]) -> bool {
    revisions.iter().any(|stored| {
        matches!(
            stored.record.info.status,
            ReleaseStatus::Deployed | ReleaseStatus::Superseded
        ) || stored.snapshot.first == Some(false)
            || stored.snapshot.adopted
    })
}

/// Whether the last revision is deployed, and so is an earlier one.
fn are_both_deployed(revisions: &[Stored]) -> bool {
    let is_deployed = |stored: &Stored| stored.record.info.status == ReleaseStatus::Deployed;
    let last = revisions.split_last();
    last.is_some_and(|(last, earlier)| is_deployed(last) && earlier.iter().any(is_deployed))
}

/// Whether nothing was deployed before this revision, by its own word and by those of `earlier` ones.
pub(super) fn is_first(stored: &Stored, earlier: &[Stored]) -> bool {
    stored.snapshot.first != Some(false) && !was_ever_deployed(earlier)
}

fn objects(snapshot: &Snapshot) -> BTreeMap<ObjectId, Option<OwnedFields>> {
    snapshot
        .objects
        .iter()
        .map(|object| (object.id.clone(), object.fields()))
        .collect()
}

impl ReleaseCache {
    /// A cache of nothing but what the stored revisions say.
    pub(super) fn of(known: KnownRelease) -> Self {
        Self {
            known: Some(known),
            ..Self::default()
        }
    }

    /// Whether somebody has written a revision since all were read, as a watch tells: what is known may be out of date.
    pub(super) fn is_overtaken_by(&self, Written { newest, late, .. }: Written) -> bool {
        let last = self.known.as_ref().and_then(|known| known.last.as_ref());
        last.is_some_and(|last| {
            let is_newer = newest > self.read.newest && newest.is_some_and(|newest| is_after(newest, last));
            is_newer || late != self.read.late
        })
    }

    /// When to look again where somebody else is at work with the release: its end changes nothing else, and whoever was left in the
    /// middle of that has none.
    pub(super) fn look_for_end(&mut self, written: Option<Written>) -> Option<Duration> {
        let last = self.known.as_ref().and_then(|known| known.last.as_ref());
        let pending = written.and_then(|written| written.pending).zip(last);
        if !pending.is_some_and(|(pending, last)| is_after(pending, last)) {
            self.looks_for_end = 0;
            return None;
        }
        let pause = Duration::from_secs(1 << self.looks_for_end.min(6));
        self.looks_for_end = self.looks_for_end.saturating_add(1);
        Some(pause)
    }

    /// All revisions are read now; a watch has told that so much was written.
    pub(super) fn note_read(&mut self, written: Option<Written>) {
        self.read = written.unwrap_or_default();
    }

    /// What these revisions, the oldest first, say, as far as it is kept.
    pub(super) fn told_by(&self, revisions: &[Stored]) -> KnownRelease {
        match &self.kept_paths {
            Some(paths) => KnownRelease::with_values(revisions, paths),
            None => KnownRelease::new(revisions),
        }
    }

    /// How long this report waits, so that the status is written once: until the controllers of a new revision's objects
    /// have said something, or for [`SETTLING_TIME`]. `None` where it is due.
    pub(super) fn report_pause(&self, report: &ReleaseReport) -> Option<Duration> {
        let pause = self
            .unreported
            .as_ref()?
            .until
            .checked_duration_since(Instant::now())?;
        let is_unseen = matches!(report, ReleaseReport::Deployed(deployed) if deployed.health.is_unseen());
        is_unseen.then_some(pause)
    }

    /// Whether the status does not show the deployed revision yet.
    pub(super) fn is_unreported(&self) -> bool {
        self.unreported.is_some()
    }

    /// The notes of a revision that was not reported yet.
    pub(super) fn unreported_notes(&self, session: &Session) -> Option<String> {
        let unreported = self.unreported.as_ref()?;
        if unreported.is_masked {
            return Some(unreported.notes.clone());
        }
        if !self.secrets.has_looked_up(self.known_lookups()) {
            let untold = "(the notes are not shown: the Secrets that the chart looks up can't be read)";
            return Some(untold.to_owned());
        }
        if !self.secrets.sources.has_those(&unreported.sources) {
            let untold =
                "(the notes are not shown: what was in the Secrets that they have values from is not known)";
            return Some(untold.to_owned());
        }
        Some(session.redactor.mask_own(&unreported.notes))
    }

    /// Logs `line` of the revision that was deployed as soon as the status shows it: who waits for the line finds the
    /// release there.
    pub(super) fn log_when_reported(&mut self, line: &'static str) {
        if let Some(unreported) = &mut self.unreported {
            unreported.line = Some(line);
        }
    }

    /// The line of [`ReleaseCache::log_when_reported`], once.
    pub(super) fn take_log_line(&mut self) -> Option<&'static str> {
        self.unreported.as_mut()?.line.take()
    }

    /// The status does not show the deployed revision, which has these notes, in which the secrets of the release are
    /// masked, but not yet those that its chart has looked up, and those of `sources`.
    pub(super) fn note_unreported(&mut self, notes: String, sources: Vec<StoredSource>) {
        self.unreported = Some(Unreported {
            notes,
            is_masked: false,
            sources,
            until: Instant::now(),
            line: None,
        });
    }

    /// The status shows the deployed revision.
    pub(super) fn note_reported(&mut self) {
        self.unreported = None;
    }

    /// Since when the newest revision waits at a gate, in seconds since 1970; `None` where it waits for nothing.
    pub fn waits_since(&self) -> Option<f64> {
        let known = self.known.as_ref()?;
        let last = known.last.as_ref()?;
        if last.status == ReleaseStatus::Deployed || last.is_being_undone {
            return None;
        }
        let since = match Position::of(&known.stages) {
            Position::At(place) => known.stages.get(place)?.applied,
            Position::Before(place) => known.stages.get(place.checked_sub(1)?)?.ready,
            Position::Past => None,
        };
        Some(since?.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64())
    }

    /// The deployed revision, as far as it is known.
    pub fn deployed_revision(&self) -> Option<Revision> {
        self.known.as_ref().and_then(|known| known.deployed)
    }

    /// What was looked up for a revision. Where the chart gives the same for other answers, those are the newest's.
    pub(super) fn lookups_of(&self, stored: &Stored) -> Vec<Answer> {
        let known = self.known.as_ref();
        let newest = known.filter(|known| {
            let last = known.last.as_ref();
            last.is_some_and(|last| last.revision == stored.record.version)
        });
        newest.map_or_else(|| stored.snapshot.lookups.clone(), |known| known.lookups.clone())
    }

    /// What was looked up for the newest revision, as far as it is known.
    pub(super) fn known_lookups(&self) -> &[Answer] {
        self.known.as_ref().map_or(&[], |known| &known.lookups)
    }

    /// How many objects the deployed revision has, as far as it is known.
    pub fn objects(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.objects.len())
    }

    /// Forgets all but what is to be reported and what is waited for when the `reconcile-at` annotation has another value
    /// than before: everything is read and tried again, at once.
    pub(super) fn reset_if_requested(&mut self, reconcile_at: Option<&str>) {
        if reconcile_at.is_some() && reconcile_at != self.reconcile_at.as_deref() {
            *self = Self {
                reconcile_at: reconcile_at.map(str::to_owned),
                unreported: self.unreported.take(),
                unfinished: self.unfinished.take(),
                secrets: std::mem::take(&mut self.secrets),
                kept_paths: self.kept_paths.take(),
                ..Self::default()
            };
        }
    }

    /// These inputs have failed; others begin with short pauses.
    pub(super) fn note_failure(&mut self, inputs: Option<Inputs>) {
        if self.failed != inputs {
            self.failures = 0;
        }
        self.failed = inputs;
        self.failures = self.failures.saturating_add(1);
    }

    /// Whether no revision was ever deployed, as far as is known.
    pub(super) fn is_first(&self) -> bool {
        let last = self.known.as_ref().and_then(|known| known.last.as_ref());
        !last.is_some_and(|last| last.deployed_before)
    }

    /// Whether the revisions of the release may have been lost.
    pub(super) fn may_be_lost(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.may_be_lost)
    }

    /// What is known must be read again.
    pub(super) fn forget_known(&mut self) {
        self.known = None;
    }

    /// A revision was written down, or has come further with its stages.
    pub(super) fn note_pending(&mut self, stored: &Stored, inputs: Inputs) {
        self.lookups_differ = None;
        let known = self.known.get_or_insert_default();
        let deployed_before = known.last.as_ref().is_some_and(|last| last.deployed_before);
        known.last = Some(LastRevision {
            revision: stored.record.version,
            status: stored.record.info.status,
            inputs: Some(inputs),
            deployed_before,
            is_being_undone: stored.snapshot.undoing.is_some(),
        });
        known.lookups.clone_from(&stored.snapshot.lookups);
        if self.kept_paths.is_some() {
            known.values.note_begun(stored);
        }
        known.note_stages(stored);
    }

    /// Whether the stages of the newest revision have come further than is known.
    pub(super) fn knows_less_of_stages(&self, stored: &Stored) -> bool {
        let known = self.known.as_ref();
        known.is_some_and(|known| known.stages != stages(stored))
    }

    /// What the newest revision has done is undone.
    pub(super) fn note_undone(&mut self) {
        let Some(known) = &mut self.known else {
            return;
        };
        known.values.note_undone();
        if let Some(last) = &mut known.last {
            last.is_being_undone = false;
        }
    }

    /// A revision was deployed, with these notes, in which secrets are masked.
    pub(super) fn note_deployed(&mut self, stored: &Stored, inputs: Option<Inputs>, notes: String) {
        self.lookups_differ = None;
        let revision = stored.record.version;
        let before = self.known.as_mut();
        let before = before.map(|known| std::mem::take(&mut known.values));
        let mut values = before.unwrap_or_default();
        if self.kept_paths.is_some() {
            values.note_deployed(stored);
        }
        self.known = Some(KnownRelease {
            last: Some(LastRevision {
                revision,
                status: ReleaseStatus::Deployed,
                inputs,
                deployed_before: true,
                is_being_undone: false,
            }),
            deployed: Some(revision),
            deployed_values: Some(values_digest(stored)),
            deployed_at: stored.record.info.last_deployed,
            chart: Some(chart_of(stored)),
            objects: objects(&stored.snapshot),
            later: BTreeMap::new(),
            completed: stored.snapshot.completed().cloned().collect(),
            stages: stages(stored),
            lookups: stored.snapshot.lookups.clone(),
            tests: KnownTests::of(stored),
            may_be_lost: false,
            values,
        });
        self.unreported = Some(Unreported {
            notes,
            is_masked: true,
            sources: Vec::new(),
            until: Instant::now() + SETTLING_TIME,
            line: None,
        });
        self.looked_at = None;
        self.refusal = None;
        self.announced = None;
    }

    /// Whether tests of the deployed revision have begun, and nothing is known of their end.
    pub(super) fn is_being_tested(&self) -> bool {
        let record = self.known.as_ref().and_then(|known| known.tests.record.as_ref());
        let is_awaited = self.unfinished.as_ref().is_some_and(|left| left.is_test);
        is_awaited || record.is_some_and(|record| record.outcome.is_none())
    }

    /// Tests of the deployed revision have begun or ended.
    pub(super) fn note_tests(&mut self, stored: &Stored) {
        if let Some(known) = &mut self.known {
            known.tests = KnownTests::of(stored);
        }
    }

    /// Objects were found to differ from what the release wants, or none were.
    pub(super) fn note_drifted(&mut self, mode: DriftMode, drifted: &[ObjectId], now: Instant) {
        self.left_drifted = LeftDrifted::of(drifted, (mode, &self.drift_backoff), now);
    }

    /// Objects were applied again.
    pub(super) fn note_corrected(&mut self, changes: &ChangeSet, now: Instant) {
        self.note_applied(changes);
        self.drift_backoff.note(changes.keys(), now);
    }

    /// Objects are as the deployed revision wants them.
    pub(super) fn note_applied(&mut self, changes: &ChangeSet) {
        if let Some(known) = &mut self.known {
            for (id, applied) in changes {
                known.objects.insert(id.clone(), applied.fields);
                if applied.change != Change::Configured {
                    known.completed.remove(id);
                }
            }
        }
    }

    /// It is noted that these Jobs have done their work.
    pub(super) fn note_completed(&mut self, jobs: BTreeSet<ObjectId>) {
        if let Some(known) = &mut self.known {
            known.completed.extend(jobs);
        }
    }

    /// These inputs, under these annotations, can't be rendered, or what they led to was undone.
    /// `lookups` is what was looked up for them.
    pub(super) fn refuse(
        &mut self,
        inputs: Inputs,
        controls: Controls,
        failure: Failure,
        lookups: Vec<Answer>,
        now: Instant,
    ) {
        self.looked_at = Some(now);
        self.announced = None;
        self.refusal = Some(Refusal {
            inputs,
            controls,
            failure,
            lookups,
            until: now + REFUSAL_TIME,
        });
    }

    /// What was looked up for the refused inputs is this now, which makes no difference as far as is known.
    pub(super) fn note_refused_lookups(&mut self, lookups: Vec<Answer>) {
        if let Some(refusal) = &mut self.refusal {
            refusal.lookups = lookups;
        }
    }

    /// The refused inputs are tried again.
    pub(super) fn clear_refusal(&mut self) {
        self.refusal = None;
    }

    /// The status says of this attempt that it is being made.
    pub(super) fn note_announced(&mut self, attempt: Attempt) {
        self.announced = Some(attempt);
    }

    /// Whether the status says of this attempt that it is being made, or how it failed.
    pub(super) fn is_announced(&self, attempt: &Attempt) -> bool {
        self.announced.as_ref() == Some(attempt)
    }

    /// The finalizer was added.
    pub(super) fn note_finalizer(&mut self, now: Instant) {
        self.finalizer_added.push(now);
    }

    /// Whether another operator changes the selector beside the finalizer as often as this one does.
    pub(super) fn is_finalizer_contested(&mut self, now: Instant) -> bool {
        self.finalizer_added
            .retain(|at| now.duration_since(*at) < FINALIZER_WINDOW);
        self.finalizer_added.len() >= FINALIZER_ADDITIONS
    }

    /// Whether the chart's lookups are to be made again, which then counts as done: at most once in
    /// [`LOOKUP_INTERVAL`].
    pub(super) fn is_lookup_due(&mut self, now: Instant) -> bool {
        let due = self
            .looked_at
            .is_none_or(|at| now.duration_since(at) >= LOOKUP_INTERVAL);
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// Notes whether the release would come out differently with these inputs because of what is looked up. That of other inputs
    /// than those of the last revision, as with the values of a step, says nothing of these.
    pub(super) fn note_lookups(&mut self, inputs: Inputs, differ: bool) {
        let last = self.known.as_ref().and_then(|known| known.last.as_ref());
        if last.is_some_and(|last| last.inputs == Some(inputs)) {
            self.lookups_differ = differ.then_some(inputs);
        }
    }

    /// The last refusal.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// The refused inputs, until [`REFUSAL_TIME`] is over or the annotations are others.
    pub(super) fn refused(&self, controls: &Controls, now: Instant) -> Option<Inputs> {
        self.refusal
            .as_ref()
            .filter(|refusal| now < refusal.until && refusal.controls == *controls)
            .map(|refusal| refusal.inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(text: &str) -> Inputs {
        let digest = Digest::of(text.as_bytes());
        Inputs {
            chart: digest,
            values: digest,
            identity: digest,
            post_render: None,
        }
    }

    #[test]
    fn what_is_looked_up_for_the_values_of_a_step_leaves_what_was_seen_before_it() {
        let last = LastRevision {
            revision: Revision(1),
            status: ReleaseStatus::Deployed,
            inputs: Some(inputs("a")),
            deployed_before: true,
            is_being_undone: false,
        };
        let known = KnownRelease {
            last: Some(last),
            ..KnownRelease::default()
        };
        let mut cache = ReleaseCache {
            known: Some(known),
            ..ReleaseCache::default()
        };
        for (text, differ, expect) in [
            ("a", true, Some(inputs("a"))),
            ("of a step", false, Some(inputs("a"))),
            ("a", false, None),
        ] {
            cache.note_lookups(inputs(text), differ);
            assert_eq!(cache.lookups_differ, expect, "{text}");
        }
    }

    #[test]
    fn other_inputs_begin_with_short_pauses() {
        let mut cache = ReleaseCache::default();
        for (text, failures) in [("a", 1), ("a", 2), ("b", 1), ("b", 2)] {
            cache.note_failure(Some(inputs(text)));
            assert_eq!(cache.failures, failures);
        }
    }
}
