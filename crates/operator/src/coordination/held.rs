//! The values of a release as procedures hold them. Pure.

use serde_json::{Value as Json, json};
use steersman_chart::Values;
use steersman_model::{Digest, Inputs, digest_of_json};
use steersman_watches::procedure::{Change, Overlay, Procedure, value_at};

use std::sync::Arc;

use crate::release::{KeptUp, StoredSource};

/// What the revision in effect says of its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LastValues {
    /// What steps have put over them.
    pub(crate) overlay: Overlay,
    /// All of them, but those of other objects.
    pub(crate) config: Values,
    /// What the revision was rendered from.
    pub(crate) inputs: Option<Inputs>,
    /// Those other objects.
    pub(crate) sources: Vec<StoredSource>,
    /// What stands for all that it was rendered from but its own values: see [`rendered_from`].
    pub(crate) rendered_from: Option<Digest>,
    /// Where nothing else is known, as Helm has put a revision in its place: what is at the paths that runs change.
    pub(crate) alone: Option<Vec<(String, Option<Json>)>>,
}

/// What stands for the chart of a revision, its `postRender` and what it has of other objects.
pub(crate) fn rendered_from(
    Inputs {
        chart, post_render, ..
    }: &Inputs,
    sources: &[StoredSource],
) -> Digest {
    let post_render = post_render.map(|digest| digest.to_string());
    digest_of_json(&json!([chart.to_string(), post_render, sources]))
}

impl From<KeptUp> for LastValues {
    fn from(kept: KeptUp) -> Self {
        let mut config = Values::new();
        for (path, value) in &kept.changed {
            set(&mut config, path, value.as_ref());
        }
        kept.overlay.put_over(&mut config);
        Self {
            overlay: kept.overlay,
            config,
            alone: Some(kept.changed),
            rendered_from: kept.rendered_from,
            ..Self::default()
        }
    }
}

impl LastValues {
    /// The same where Helm has deployed a revision since, of these values: what runs change, which is at these paths, is what it is in
    /// ours, and so is what steps have put over them.
    pub(crate) fn under(self, others: Values, paths: &[String]) -> Self {
        let mut config = others;
        let of_ours = |path: &String| (path.clone(), value_at(&self.config, path).cloned());
        let told = self.alone.clone();
        for (path, value) in told.unwrap_or_else(|| paths.iter().map(of_ours).collect()) {
            set(&mut config, &path, value.as_ref());
        }
        self.overlay.put_over(&mut config);
        Self {
            config,
            alone: None,
            ..self
        }
    }
}

/// What procedures make of the values that a resource and its entry give.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HeldValues {
    /// Instead of those: nothing but a procedure changes them now.
    frozen: Option<Values>,
    overlay: Overlay,
    /// What is at these paths, if anything.
    fixed: Vec<(String, Option<Json>)>,
}

/// What is wanted of a release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wishes<'a> {
    /// What is deployed, where the last revision has failed: steps give their values over that.
    pub(crate) deployed: Option<&'a LastValues>,
    /// What the resource and its entry give.
    pub(crate) own: &'a Values,
    /// What a step gives.
    pub(crate) asked: Option<&'a Values>,
    /// Whether nothing else is to change.
    pub(crate) is_exclusive: bool,
}

/// The values that a release gets, and what is left to be done by runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Held {
    pub(crate) values: HeldValues,
    /// By which procedure of the entry, and what its next run changes.
    pub(crate) changes: Vec<(usize, Change)>,
}

impl HeldValues {
    /// Those of the revision in effect, whatever the resource says by now.
    pub(crate) fn in_effect(last: Option<&LastValues>) -> Self {
        last.map_or_else(Self::default, |last| Self {
            frozen: last.alone.is_none().then(|| last.config.clone()),
            overlay: last.overlay.clone(),
            fixed: last.alone.clone().unwrap_or_default(),
        })
    }

    /// What steps have put over the values.
    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The values of the release, of those that the resource and its entry give with `below` under them.
    pub(crate) fn of(&self, own: Values, below: Values) -> Values {
        let mut values = match &self.frozen {
            Some(frozen) => {
                let mut values = below;
                steersman_chart::values::overlay(&mut values, frozen.clone());
                values
            }
            None => own,
        };
        self.overlay.put_over(&mut values);
        for (path, value) in &self.fixed {
            set(&mut values, path, value.as_ref());
        }
        values
    }
}

impl Held {
    /// What procedures make of the values of a release. `last` is what was deployed, if anything was, and `defaults` are the
    /// chart's values.
    ///
    /// A value that runs of a procedure change stays as the release has it. While a step gives values, or nobody else may
    /// change anything, all others stay, too.
    pub(crate) fn new(
        procedures: &[Arc<Procedure>],
        last: Option<&LastValues>,
        wishes: Wishes<'_>,
        defaults: &Values,
    ) -> Self {
        let Some(last) = last else {
            return Self::default();
        };
        let declared: Vec<Vec<String>> = procedures.iter().flat_map(|one| one.value_paths()).collect();
        let mut overlay = last.overlay.within(&declared);
        let mut asked = wishes.asked.cloned();
        let mut fixed = Vec::new();
        let mut changes = Vec::new();
        for (place, trigger) in triggers(procedures) {
            let path = &trigger.path;
            let reached = value_at(&last.config, path).or_else(|| value_at(defaults, path));
            let wanted = value_at(wishes.own, path).or_else(|| value_at(defaults, path));
            let reached_by_step = asked.as_mut().and_then(|asked| taken(asked, path));
            let reached = reached_by_step.as_ref().or(reached);
            let [from, to] = [reached, wanted].map(|value| value.cloned().unwrap_or_default());
            let change = trigger.next(&from, &to);
            if reached_by_step.is_some() || change.is_some() || wishes.deployed.is_some() {
                fixed.push((path.clone(), reached.cloned()));
            }
            changes.extend(change.map(|change| (place, change)));
        }
        let base = wishes.deployed.unwrap_or(last);
        let before = base.overlay.within(&declared);
        if let Some(asked) = asked {
            overlay.change(asked);
        }
        let is_frozen = (wishes.asked.is_some() || wishes.is_exclusive) && base.alone.is_none();
        let frozen = is_frozen.then(|| without(&base.config, (&before, &overlay), wishes.own));
        Self {
            values: HeldValues {
                frozen,
                overlay,
                fixed,
            },
            changes,
        }
    }
}

fn triggers(
    procedures: &[Arc<Procedure>],
) -> impl Iterator<Item = (usize, &steersman_watches::procedure::Trigger)> {
    let placed = procedures.iter().enumerate();
    placed.filter_map(|(place, procedure)| Some((place, procedure.on.as_ref()?)))
}

/// Values of a revision without what an earlier overlay has put there and the later one does not: what the resource says of
/// that counts again.
fn without(config: &Values, (before, after): (&Overlay, &Overlay), own: &Values) -> Values {
    let mut values = config.clone();
    for path in gone(before.values(), after.values()) {
        let given = path.iter().try_fold(None, |found: Option<&Json>, key| {
            let map = found.map_or(Some(own), Json::as_object)?;
            map.get(key).map(Some)
        });
        set_keys(&mut values, &path, given.flatten());
    }
    values
}

/// The paths of what is in the one, and not in the other.
fn gone(before: &Values, after: &Values) -> Vec<Vec<String>> {
    let gone = before.iter().flat_map(|(key, value)| {
        let below = match (value, after.get(key)) {
            (Json::Object(before), Some(Json::Object(after))) => gone(before, after),
            (_, Some(_)) => Vec::new(),
            (_, None) => vec![Vec::new()],
        };
        let with_key = |path: Vec<String>| std::iter::once(key.clone()).chain(path).collect();
        below.into_iter().map(with_key).collect::<Vec<Vec<String>>>()
    });
    gone.collect()
}

/// Takes what is at a path out of values.
fn taken(values: &mut Values, path: &str) -> Option<Json> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if rest.is_empty() {
        return values.remove(first);
    }
    let below = values.get_mut(first)?.as_object_mut()?;
    let taken = taken(below, rest);
    if below.is_empty() {
        values.remove(first);
    }
    taken
}

/// Puts a value at a path with dots between, or takes out what is there.
fn set(values: &mut Values, path: &str, value: Option<&Json>) {
    let keys: Vec<String> = path.split('.').map(str::to_owned).collect();
    set_keys(values, &keys, value);
}

fn set_keys(values: &mut Values, keys: &[String], value: Option<&Json>) {
    let Some((first, rest)) = keys.split_first() else {
        return;
    };
    match (rest.is_empty(), value) {
        (true, Some(value)) => _ = values.insert(first.clone(), value.clone()),
        (true, None) => _ = values.remove(first),
        (false, _) => {
            if value.is_none() && !values.contains_key(first) {
                return;
            }
            let below = values
                .entry(first.clone())
                .or_insert_with(|| Json::Object(Values::new()));
            if let Json::Object(below) = below {
                set_keys(below, rest, value);
            } else if let Some(value) = value {
                let mut fresh = Values::new();
                set_keys(&mut fresh, rest, Some(value));
                *below = Json::Object(fresh);
            }
        }
    }
}
