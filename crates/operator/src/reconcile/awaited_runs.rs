//! The runs that a release waits for, by what its resource says and what was reached. Pure.

use serde_json::Value;
use steersman_model::{Digest, digest_of_json};
use steersman_watches::procedure::{Change, Procedure};

use super::ReconcileSettings;
use super::error::ReconcileError;
use super::observe::own_values;
use super::release_cache::KnownRelease;
use super::session::{PreparedRelease, Session};
use super::state::LastRevision;
use crate::coordination::{Want, Wanted};

/// Why a run is waited for that comes before a revision.
pub(super) const COMES_AFTER: &str = "another revision comes after it";

/// The runs for which another revision waits than the `last` one, which `current` would be.
pub(super) fn gates(
    session: &Session,
    settings: &ReconcileSettings,
    (current, known): (&PreparedRelease, Option<&KnownRelease>),
    last: Option<&LastRevision>,
) -> Result<Vec<Want>, ReconcileError> {
    let Some(last) = last.filter(|last| last.deployed_before) else {
        return Ok(Vec::new());
    };
    let reached = known.and_then(KnownRelease::last_values);
    let reached = reached.map_or(Value::Null, |last| Value::Object(last.config.clone()));
    let next = Value::Object(current.own_values.clone());
    let is_other_chart = last.inputs.map(|inputs| inputs.chart) != Some(current.inputs.chart);
    let applies = |procedure: &Procedure| {
        let mut before = procedure.before.iter();
        before.any(|before| before.applies(&reached, &next, is_other_chart))
    };
    let all = settings.procedures.iter().enumerate();
    let places: Vec<usize> = all
        .filter(|(_, procedure)| applies(procedure))
        .map(|(place, _)| place)
        .collect();
    if places.is_empty() {
        return Ok(Vec::new());
    }
    // What was deployed, and what is wanted instead by others than steps: those of the run itself make revisions meanwhile, and
    // a run opens its gate once.
    let since = known.and_then(|known| known.values.since);
    let since = since.map_or_else(String::new, |since| since.to_string());
    let own = digest_of_json(&Value::Object(own_values(session, settings)?));
    let chart = current.inputs.chart;
    let generation = session.generation.unwrap_or_default();
    let text = Digest::of(format!("{since} {generation} {chart} {own}").as_bytes()).to_string();
    let wants = places.into_iter().map(|procedure| Want {
        procedure,
        what: Wanted::Gate(text.clone()),
    });
    Ok(wants.collect())
}

/// For which run the release would wait, if for any, were it made of this; `begins` another revision, or not.
pub(super) fn would_wait(
    session: &Session,
    settings: &ReconcileSettings,
    (current, known): (&PreparedRelease, &KnownRelease),
    (changes, begins): (&[(usize, Change)], bool),
) -> Result<Option<String>, ReconcileError> {
    let gates = if begins {
        gates(session, settings, (current, Some(known)), known.last.as_ref())?
    } else {
        Vec::new()
    };
    let gates = gates.iter().map(|want| (want.procedure, COMES_AFTER.to_owned()));
    let changes = changes
        .iter()
        .filter(|(_, change)| !begins && !is_secret(session, change));
    let changes = changes.map(|(place, change)| (*place, told(settings, *place, change)));
    let mut runs = gates.chain(changes).filter_map(|(place, why)| {
        let procedure = settings.procedures.get(place)?;
        Some(format!("waits for a {}: {why}", procedure.run_kind))
    });
    Ok(runs.next())
}

pub(super) fn path_of(settings: &ReconcileSettings, place: usize) -> &str {
    let trigger = settings
        .procedures
        .get(place)
        .and_then(|procedure| procedure.on.as_ref());
    trigger.map(|trigger| trigger.path.as_str()).unwrap_or_default()
}

/// Which value a run changes.
pub(super) fn told(settings: &ReconcileSettings, place: usize, Change { from, .. }: &Change) -> String {
    let path = path_of(settings, place);
    match from {
        Value::Number(from) => format!("`{path}` is {from} until then"),
        _ => format!("`{path}` stays as it is until then"),
    }
}

/// Whether a value that runs are to change is a secret of the release.
pub(super) fn is_secret(session: &Session, Change { from, to }: &Change) -> bool {
    [from, to].into_iter().any(|value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        session.redactor.mask_own(&text) != text
    })
}
