//! Replacements: a value of one object, put into fields of others.

use crate::error::Error;
use crate::field::split_path;
use crate::files::Files;
use crate::identity::{Gvk, Id};
use crate::kustomization::{self, FieldOptions, ReplacementOrPath, ReplacementTarget, Source, Target};
use crate::resource::{Resource, Resources, check_size, scalar_text};
use crate::selector::{self, Selector};
use serde_json::{Map, Value};

const FIELD: &str = "replacements";
const DEFAULT_FIELD: &str = "metadata.name";
/// The longest list that a replacement makes.
const MAX_INDEX: usize = 10_000;

/// Applies all replacements of a kustomization.
pub(crate) fn apply_all(
    files: &Files,
    entries: &[ReplacementOrPath],
    resources: &mut Resources,
) -> Result<(), Error> {
    for entry in entries {
        if entry.path.is_empty() {
            apply(files, entry, resources)?;
            continue;
        }
        let (origin, text) = files.read(FIELD, &entry.path)?;
        let inner: Vec<ReplacementOrPath> = match kustomization::parse::<Value>(&origin, &text)? {
            list @ Value::Array(_) => serde_json::from_value(list),
            one => serde_json::from_value(one).map(|one| vec![one]),
        }
        .map_err(|error| Error::object(&origin, error.to_string()))?;
        for entry in &inner {
            apply(files, entry, resources)?;
        }
    }
    Ok(())
}

fn apply(files: &Files, replacement: &ReplacementOrPath, resources: &mut Resources) -> Result<(), Error> {
    let fail = |problem: String| Error::field(files.kustomization(), FIELD, problem);
    let Some(source) = &replacement.source else {
        return Err(fail("a `source` is missing".to_owned()));
    };
    if replacement.targets.is_empty() {
        return Err(fail("`targets` are missing".to_owned()));
    }
    let value = value_of(source, resources).map_err(fail)?;
    for target in &replacement.targets {
        put(&value, target, resources).map_err(fail)?;
    }
    Ok(())
}

fn id(group: &str, version: &str, kind: &str, name: &str, namespace: &str) -> Id {
    Id {
        gvk: Gvk {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        },
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    }
}

fn id_of(target: &Target) -> Id {
    id(
        &target.group,
        &target.version,
        &target.kind,
        &target.name,
        &target.namespace,
    )
}

fn is_one(resource: &Resource, selector: &Id) -> bool {
    resource.all_ids().iter().any(|id| id.is_selected_by(selector))
}

fn value_of(source: &Source, resources: &Resources) -> Result<Value, String> {
    let selector = id(
        &source.group,
        &source.version,
        &source.kind,
        &source.name,
        &source.namespace,
    );
    let mut found = resources.0.iter().filter(|resource| is_one(resource, &selector));
    let (Some(resource), None) = (found.next(), found.next()) else {
        return Err(format!("the source {selector} is not exactly one object"));
    };
    let path = if source.field_path.is_empty() {
        DEFAULT_FIELD
    } else {
        &source.field_path
    };
    let mut object = Value::Object(resource.object.clone());
    let mut value = Value::Null;
    visit(&mut object, &names(path), None, &mut |place| {
        value = place.clone();
        Ok(())
    })?;
    if value.is_null() {
        return Err(format!("{} has no field `{path}`", resource.current_id()));
    }
    match &source.options {
        Some(options) if !options.delimiter.is_empty() => {
            let text = scalar_text(&value).ok_or("a `delimiter` needs a scalar")?;
            let part = usize::try_from(options.index)
                .ok()
                .and_then(|index| text.split(&options.delimiter).nth(index));
            part.map(Value::from)
                .ok_or_else(|| format!("`{text}` has no part {}", options.index))
        }
        _ => Ok(value),
    }
}

fn put(value: &Value, target: &ReplacementTarget, resources: &mut Resources) -> Result<(), String> {
    let Some(select) = &target.select else {
        return Err("`select` is missing in a target".to_owned());
    };
    let selector = Selector::new(&Target {
        label_selector: select.label_selector.clone(),
        annotation_selector: select.annotation_selector.clone(),
        ..Target::default()
    })?;
    let wanted = id_of(select);
    let default = [DEFAULT_FIELD.to_owned()];
    let paths = if target.field_paths.is_empty() {
        &default[..]
    } else {
        &target.field_paths
    };
    for resource in &mut resources.0 {
        if !is_one(resource, &wanted)
            || !selector.matches_pairs(resource)
            || is_rejected(resource, &target.reject)?
        {
            continue;
        }
        let id = resource.current_id();
        let mut object = Value::Object(std::mem::take(&mut resource.object));
        for path in paths {
            let creates = target.options.as_ref().is_some_and(|options| options.create);
            let mut count = 0;
            visit(
                &mut object,
                &names(path),
                creates.then_some(value),
                &mut |place| {
                    count += 1;
                    set(place, value, target.options.as_ref())
                },
            )?;
            if count == 0 {
                return Err(format!("{id} has no field `{path}`"));
            }
        }
        check_size(&object).map_err(|problem| format!("{id}: {problem}"))?;
        if let Value::Object(object) = object {
            resource.object = object;
        }
    }
    Ok(())
}

fn is_rejected(resource: &Resource, rejects: &[Target]) -> Result<bool, String> {
    for reject in rejects {
        let id = id_of(reject);
        let has_pairs = !reject.label_selector.is_empty() || !reject.annotation_selector.is_empty();
        let pairs = Target {
            label_selector: reject.label_selector.clone(),
            annotation_selector: reject.annotation_selector.clone(),
            ..Target::default()
        };
        if (id != Id::default() && is_one(resource, &id))
            || (has_pairs && Selector::new(&pairs)?.matches_pairs(resource))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts a value into a place; a scalar keeps its type.
fn set(place: &mut Value, value: &Value, options: Option<&FieldOptions>) -> Result<(), String> {
    let mut value = value.clone();
    if let Some(options) = options.filter(|options| !options.delimiter.is_empty()) {
        let old = scalar_text(place).ok_or("a `delimiter` needs a scalar")?;
        let new = scalar_text(&value).ok_or("a `delimiter` needs a scalar")?;
        let mut parts: Vec<&str> = old.split(&options.delimiter).collect();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, &new),
            Ok(index) if index < parts.len() => parts[index] = &new,
            Ok(_) => parts.push(&new),
        }
        value = Value::from(parts.join(&options.delimiter));
    }
    *place = match (&*place, scalar_text(&value)) {
        (Value::String(_), Some(text)) => Value::String(text),
        (Value::Number(_), Some(text)) => {
            let number: serde_json::Number = serde_json::from_str(&text)
                .map_err(|_| format!("`{text}` is no number, as the field has one"))?;
            Value::Number(number)
        }
        (Value::Bool(_), Some(text)) => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(format!("`{text}` is no boolean, as the field has one")),
        },
        _ => value,
    };
    Ok(())
}

/// The names of a path with dots; what stands in brackets is one name.
fn names(path: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    for part in split_path(path, '.') {
        let text = match open.take() {
            Some(before) => format!("{before}.{part}"),
            None => part,
        };
        if text.starts_with('[') && !text.ends_with(']') {
            open = Some(text);
        } else if text.starts_with('[') && !text.contains('=') {
            names.push(text.trim_matches(['[', ']']).to_owned());
        } else {
            names.push(text);
        }
    }
    names.extend(open);
    names
}

/// Calls `act` with each place that a path leads to; what is missing is made where `fresh` tells its type.
fn visit(
    value: &mut Value,
    names: &[String],
    fresh: Option<&Value>,
    act: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((name, rest)) = names.split_first() else {
        return act(value);
    };
    if let Some((key, pattern)) = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .and_then(|name| name.split_once('='))
    {
        return visit_matching(value, key, pattern, rest, fresh, act);
    }
    match value {
        Value::Array(items) if name == "*" => items
            .iter_mut()
            .try_for_each(|item| visit(item, rest, fresh, act)),
        Value::Array(items) => {
            let Ok(index) = name.parse::<usize>() else {
                return Err(format!("`{name}` is no index of a list"));
            };
            if fresh.is_some() && index == items.len() && index < MAX_INDEX {
                items.push(start(rest, fresh));
            }
            match items.get_mut(index) {
                Some(item) => visit(item, rest, fresh, act),
                None => Err(format!("there is no item {index} in a list of {}", items.len())),
            }
        }
        Value::Object(map) => {
            if fresh.is_some() && !map.contains_key(name) {
                map.insert(name.clone(), start(rest, fresh));
            }
            match map.get_mut(name) {
                Some(field) => visit(field, rest, fresh, act),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn visit_matching(
    value: &mut Value,
    key: &str,
    pattern: &str,
    rest: &[String],
    fresh: Option<&Value>,
    act: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Value::Array(items) = value else { return Ok(()) };
    let expression = selector::compile(pattern)?;
    let fits = |item: &Value| {
        let place = if key.is_empty() { Some(item) } else { item.get(key) };
        place
            .and_then(scalar_text)
            .is_some_and(|text| expression.is_match(&text))
    };
    if fresh.is_some() && !items.iter().any(fits) {
        items.push(if key.is_empty() {
            Value::from(pattern)
        } else {
            Value::Object(Map::from_iter([(key.to_owned(), Value::from(pattern))]))
        });
    }
    items
        .iter_mut()
        .filter(|item| fits(item))
        .try_for_each(|item| visit(item, rest, fresh, act))
}

/// What a missing field starts as: a list before an index, a map before a name, and at the end an empty value.
fn start(rest: &[String], fresh: Option<&Value>) -> Value {
    match rest.first() {
        Some(name) if name.starts_with('[') || name == "*" || name.parse::<usize>().is_ok() => {
            Value::Array(Vec::new())
        }
        Some(_) => Value::Object(Map::new()),
        None => match fresh {
            Some(Value::Object(_)) => Value::Object(Map::new()),
            Some(Value::Array(_)) => Value::Array(Vec::new()),
            _ => Value::Null,
        },
    }
}
