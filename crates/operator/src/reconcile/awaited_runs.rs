//! The runs that a release waits for, by what its resource says and what was reached. Pure.

use serde_json::{Value, json};
use steersman_model::{Digest, Inputs, digest_of_json};
use steersman_watches::procedure::{Change, Procedure};

use super::ReconcileSettings;
use super::error::ReconcileError;
use super::observe::own_values;
use super::release_cache::KnownRelease;
use super::session::{PreparedRelease, Session};
use super::state::{LastRevision, Observed};
use crate::coordination::{LastValues, rendered_from};

/// Why a run is waited for that comes before a revision.
pub(super) const COMES_AFTER: &str = "another revision comes after it";

/// For which procedures another revision waits than the `last` one, which `current` would be, and what stands for that revision.
pub(super) fn gates(
    session: &Session,
    settings: &ReconcileSettings,
    (current, known): (&PreparedRelease, Option<&KnownRelease>),
    last: Option<&LastRevision>,
) -> Result<Vec<(usize, String)>, ReconcileError> {
    let Some(last) = last.filter(|last| last.deployed_before) else {
        return Ok(Vec::new());
    };
    // What has failed is in the way as much as what is deployed.
    let reached: Vec<&LastValues> = known.map(KnownRelease::reached).unwrap_or_default();
    let next = Value::Object(current.own_values.clone());
    let applies = |procedure: &Procedure| {
        let applies = |values: &Value, is_other: bool| {
            let mut before = procedure.before.iter();
            before.any(|before| before.applies(values, &next, is_other))
        };
        let differs = |reached: &&LastValues| {
            // Nobody knows which of its values an object has.
            let is_other = is_other_chart(reached, current) || reached.sources != current.sources;
            applies(
                &Value::Object(reached.config.clone()),
                is_other || is_of_others(last),
            )
        };
        reached.is_empty() && applies(&Value::Null, true) || reached.iter().any(differs)
    };
    let all = settings.procedures.iter().enumerate();
    let places: Vec<usize> = all
        .filter(|(_, procedure)| applies(procedure))
        .map(|(place, _)| place)
        .collect();
    if places.is_empty() {
        return Ok(Vec::new());
    }
    // Of what others than steps want: those of the run itself make revisions meanwhile.
    let own = digest_of_json(&Value::Object(own_values(session, settings)?));
    let sources = digest_of_json(&json!(current.sources));
    let Inputs {
        chart, post_render, ..
    } = current.inputs;
    let post_render = post_render.map_or_else(String::new, |digest| digest.to_string());
    let generation = session.generation.unwrap_or_default();
    // What a run has seen before somebody else's revision is not what there is now.
    let after = is_of_others(last).then(|| format!(" after {}", last.revision));
    let after = after.unwrap_or_default();
    let text = format!("{generation} {chart} {post_render} {own} {sources}{after}");
    let text = Digest::of(text.as_bytes()).to_string();
    Ok(places.into_iter().map(|place| (place, text.clone())).collect())
}

/// Whether somebody else has made the newest revision: nobody knows of what.
pub(super) fn is_of_others(last: &LastRevision) -> bool {
    last.inputs.is_none()
}

fn is_other_chart(reached: &LastValues, current: &PreparedRelease) -> bool {
    reached
        .inputs
        .is_none_or(|reached| reached.chart != current.inputs.chart)
}

/// Whether the values of a step would bring something else with them than these values.
pub(super) fn brings_more(
    reached: Option<&LastValues>,
    current: &PreparedRelease,
    observed: &Observed,
) -> bool {
    let is_of_others = observed.last.as_ref().is_some_and(is_of_others);
    let differs = reached.is_none_or(|reached| {
        let post_render = reached.inputs.and_then(|reached| reached.post_render);
        let is_rendered_anew = post_render != current.inputs.post_render;
        is_other_chart(reached, current) || is_rendered_anew || reached.sources != current.sources
    });
    is_of_others || differs || observed.lookups_changed
}

/// Whether another revision would do nothing but put back what steps have put over the values, where somebody else has deployed one
/// without it.
pub(super) fn puts_back(
    known: Option<&KnownRelease>,
    current: &PreparedRelease,
    observed: &Observed,
) -> bool {
    let kept = known.and_then(KnownRelease::last_values);
    let is_same = |kept: &LastValues| {
        let rendered_from = rendered_from(&current.inputs, &current.sources);
        !kept.overlay.is_empty() && kept.alone.is_none() && kept.rendered_from == Some(rendered_from)
    };
    observed.last.as_ref().is_some_and(is_of_others) && kept.is_some_and(|kept| is_same(kept))
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
    let gates = gates.iter().map(|(place, _)| (*place, COMES_AFTER.to_owned()));
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
