//! The fields that the status has beside every report: drift that is left, and those that a watch adds, as they are now.

use serde_json::{Value, json};
use steersman_watches::procedure::ParameterType;
use steersman_watches::{ReleaseFacts, ReleaseView, StatusField};

use super::ReconcileSettings;
use super::left_drifted::DRIFT_FIELD;
use super::release_cache::{KnownRelease, ReleaseCache};
use super::session::Session;
use crate::dependents::Dependents;
use crate::status::{Projection, ReleaseReport};

/// The longest text of a field, in bytes.
const MAX_TEXT: usize = 1024;
/// Why a field is not told that may have what is secret.
const NOT_KNOWN: &str =
    "it may have what is in Secrets that the release has values from, and these can't be read";
const SECRET: &str = "it has a secret of the release";

/// What the fields have beside this report; `None` leaves them as they are, where nothing is done or known.
pub(super) fn projection(
    session: &Session,
    cache: &ReleaseCache,
    (dependents, settings): (&Dependents, &ReconcileSettings),
    report: &ReleaseReport,
) -> Option<Projection> {
    if !report.is_of_present_release() {
        return None;
    }
    let drift = cache
        .left_drifted
        .field(|names| session.redactor.mask_all_own(names));
    let mut projection = Projection {
        fields: vec![(DRIFT_FIELD.to_owned(), drift)],
        untold: Vec::new(),
    };
    if settings.status.is_empty() {
        return Some(projection);
    }
    let known = cache.known.as_ref()?;
    let view = view(session, known, dependents);
    let are_secrets_known =
        cache.secrets.are_complete(cache.known_lookups()) && !session.redactor.hides_words_of_others();
    let said = session.object().data.get("status");
    let is_said = |name: &str| said.is_some_and(|status| status.get(name).is_some());
    let mut told: Vec<(&StatusField, Value)> = Vec::new();
    for (field, value) in settings.status.project(&view) {
        let untold = match value {
            Ok(Some(value)) if are_secrets_known || field.value.is_of_resource_alone() => {
                told.push((field, value));
                continue;
            }
            // What it was last stays: after a restart it takes a moment until all secrets are known.
            Ok(Some(_)) if is_said(&field.name) => continue,
            Ok(Some(_)) => Some(NOT_KNOWN.to_owned()),
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        projection.fields.push((field.name.clone(), None));
        let untold = untold.map(|why| format!("`{}`: {why}", field.name));
        projection.untold.extend(untold);
    }
    mask(session, told, &mut projection);
    Some(projection)
}

/// The resource as it is now, the deployed revision, and live objects of those that are in effect.
pub(super) fn view(session: &Session, known: &KnownRelease, dependents: &Dependents) -> ReleaseView {
    let object = session.object();
    let resource = json!({
        "apiVersion": session.owner.api_version,
        "kind": session.owner.kind,
        "metadata": object.metadata,
        "spec": object.data.get("spec"),
    });
    let release = ReleaseFacts {
        name: session.release.as_str(),
        namespace: &session.owner.release_namespace,
        revision: known.deployed,
    };
    dependents.view((&session.owner.uid, resource), release, known.objects.keys())
}

/// Adds values without what is secret: texts are masked, and a number that is a secret is none to be told.
fn mask(session: &Session, told: Vec<(&StatusField, Value)>, projection: &mut Projection) {
    let texts: Vec<String> = told.iter().map(|(_, value)| text_of(value)).collect();
    let masked = session.redactor.mask_all(&texts);
    for (((field, value), text), masked) in told.into_iter().zip(texts).zip(masked) {
        let value = match field.r#type {
            ParameterType::String => Some(Value::from(shortened(masked))),
            _ if masked == text => Some(value),
            _ => {
                projection.untold.push(format!("`{}`: {SECRET}", field.name));
                None
            }
        };
        projection.fields.push((field.name.clone(), value));
    }
}

/// What may be secret in a value: nothing that is true or false.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn shortened(mut text: String) -> String {
    const CUT: &str = "…";
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT - CUT.len()));
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_an_end() {
        assert_eq!(shortened("short".to_owned()), "short");
        let long = shortened("é".repeat(MAX_TEXT));
        assert!(long.len() <= MAX_TEXT && long.ends_with("é…"), "{}", long.len());
    }
}
