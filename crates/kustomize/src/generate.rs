//! `ConfigMap`s and `Secret`s that are made of files and literals, and the digests in their names.

use crate::error::Error;
use crate::files::Files;
use crate::kustomization::{Generator, GeneratorOptions};
use crate::resource::{Behavior, Resource, Resources};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The two kinds that a generator can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::ConfigMap => "configMapGenerator",
            Self::Secret => "secretGenerator",
        }
    }
}

/// Makes an object.
pub(crate) fn generate(
    files: &Files,
    kind: Kind,
    generator: &Generator,
    shared: Option<&GeneratorOptions>,
) -> Result<Resource, Error> {
    let fail = |problem: String| Error::field(files.kustomization(), kind.field(), problem);
    if generator.name.is_empty() {
        return Err(fail("a `name` is missing".to_owned()));
    }
    let pairs = pairs(files, kind, generator)?;
    let options = merged_options(generator.options.clone(), shared);
    let mut object = json!({
        "apiVersion": "v1",
        "kind": kind.name(),
        "metadata": {"name": generator.name},
    });
    if !generator.namespace.is_empty() {
        object["metadata"]["namespace"] = Value::from(generator.namespace.as_str());
    }
    match kind {
        Kind::ConfigMap if !generator.kind.is_empty() => {
            return Err(fail("`type` is a field of secrets".to_owned()));
        }
        Kind::ConfigMap => add_config_map_data(&mut object, pairs),
        Kind::Secret => {
            let kind = if generator.kind.is_empty() {
                "Opaque"
            } else {
                &generator.kind
            };
            object["type"] = Value::from(kind);
            object["data"] = pairs
                .into_iter()
                .map(|(key, value)| (key, Value::from(lines(&value))))
                .collect();
        }
    }
    for (field, texts) in [("labels", &options.labels), ("annotations", &options.annotations)] {
        if !texts.is_empty() {
            let texts: Map<String, Value> = texts
                .iter()
                .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
                .collect();
            object["metadata"][field] = Value::Object(texts);
        }
    }
    if options.immutable {
        object["immutable"] = Value::Bool(true);
    }
    let Value::Object(object) = object else {
        return Err(fail("no object was made".to_owned()));
    };
    let mut resource = Resource::new(object);
    resource.behavior = behavior(&generator.behavior).map_err(fail)?;
    resource.wants_hash = !options.disable_name_suffix_hash;
    Ok(resource)
}

fn behavior(text: &str) -> Result<Behavior, String> {
    match text {
        "" | "create" => Ok(Behavior::Create),
        "replace" => Ok(Behavior::Replace),
        "merge" => Ok(Behavior::Merge),
        other => Err(format!(
            "the behavior `{other}` is none of `create`, `merge` and `replace`"
        )),
    }
}

/// A generator's own options, completed by those of the kustomization.
fn merged_options(own: Option<GeneratorOptions>, shared: Option<&GeneratorOptions>) -> GeneratorOptions {
    let mut options = own.unwrap_or_default();
    if let Some(shared) = shared {
        for (key, value) in &shared.labels {
            options.labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        for (key, value) in &shared.annotations {
            options
                .annotations
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        options.disable_name_suffix_hash |= shared.disable_name_suffix_hash;
        options.immutable |= shared.immutable;
    }
    options
}

fn add_config_map_data(object: &mut Value, pairs: BTreeMap<String, Vec<u8>>) {
    for (key, value) in pairs {
        match String::from_utf8(value) {
            Ok(text) => object["data"][key] = Value::from(text),
            Err(error) => object["binaryData"][key] = Value::from(lines(error.as_bytes())),
        }
    }
}

/// Bytes in base64, in lines of 70 characters where there are more than that.
fn lines(bytes: &[u8]) -> String {
    const WIDTH: usize = 70;
    let text = STANDARD.encode(bytes);
    if text.len() < WIDTH {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / WIDTH + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(WIDTH));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

fn pairs(files: &Files, kind: Kind, generator: &Generator) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let fail = |problem: String| Error::field(files.kustomization(), kind.field(), problem);
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in &generator.envs {
        let (_, text) = files.read(kind.field(), entry)?;
        for (key, value) in environment(&text) {
            all.push((key.to_owned(), value.as_bytes().to_vec()));
        }
    }
    for literal in &generator.literals {
        let (key, value) = literal
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| fail(format!("the literal `{literal}` is not of the form `KEY=VALUE`")))?;
        all.push((key.to_owned(), without_quotes(value).as_bytes().to_vec()));
    }
    for entry in &generator.files {
        let (key, file) = file_source(entry).map_err(fail)?;
        all.push((key.to_owned(), files.read_bytes(kind.field(), file)?.1));
    }
    let mut pairs = BTreeMap::new();
    for (key, value) in all {
        let is_key = !key.is_empty()
            && key.len() <= 253
            && !matches!(key.as_str(), "." | "..")
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_key {
            return Err(fail(format!("`{key}` is no key of a {}", kind.name())));
        }
        if pairs.insert(key.clone(), value).is_some() {
            return Err(fail(format!("`{}` has the key `{key}` twice", generator.name)));
        }
    }
    Ok(pairs)
}

/// The pairs of a file of environment variables.
fn environment(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('=').unwrap_or((line, "")))
}

fn without_quotes(text: &str) -> &str {
    let quoted = |quote: char| {
        (text.len() > 1)
            .then(|| text.strip_prefix(quote)?.strip_suffix(quote))
            .flatten()
    };
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

fn file_source(entry: &str) -> Result<(&str, &str), String> {
    match entry.split_once('=') {
        None => Ok((entry.rsplit('/').next().unwrap_or(entry), entry)),
        Some((key, file)) if !key.is_empty() && !file.is_empty() && !file.contains('=') => Ok((key, file)),
        Some(_) => Err(format!(
            "the file `{entry}` is not of the form `PATH` or `KEY=PATH`"
        )),
    }
}

/// Adds digests of their content to the names of generated objects.
pub(crate) fn add_hashes(resources: &mut Resources) {
    for resource in resources.0.iter_mut().filter(|resource| resource.wants_hash) {
        let name = format!("{}-{}", resource.name(), hash(resource));
        resource.remember();
        resource.set_metadata("name", &name);
    }
}

fn hash(resource: &Resource) -> String {
    let field = |name: &str| resource.object.get(name).cloned();
    let empty = || Value::from("");
    let mut content = json!({
        "kind": resource.gvk().kind,
        // kustomize looks for a field called `metadata/name`, so the name never counts.
        "name": "",
        "data": field("data").unwrap_or_else(empty),
    });
    let extra = if resource.gvk().kind == "Secret" {
        content["type"] = field("type").unwrap_or_else(empty);
        "stringData"
    } else {
        "binaryData"
    };
    if let Some(Value::Object(data)) = field(extra) {
        content[extra] = Value::Object(data);
    }
    let digest = Sha256::digest(go_json(&content).as_bytes());
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(10)
        .map(|digit| match digit {
            0 => 'g',
            1 => 'h',
            3 => 'k',
            10 => 'm',
            14 => 't',
            digit => char::from_digit(u32::from(digit), 16).unwrap_or('0'),
        })
        .collect()
}

/// JSON as Go writes it: with some characters escaped that need not be.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
    text
}
