//! What is in a source, and what becomes of it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::Value;
use steersman_chart::Values;
use steersman_chart::values::read;
use steersman_model::{Digest, in_words};
use steersman_watches::{NamedSource, SourceError, SourceKind, ValueSource};

use super::Unusable;
use super::named_keys::NamedKeys;
use crate::references::Version;
use crate::release::{Signable, StoredSource, feed_field};
use crate::status::Redactor;

/// Begins the bytes that digests of sources are made of, so that they are nobody else's.
const LAYOUT: &[u8] = b"steersman.dev/values-from/1";

/// How large what a source has may be: no Secret is larger.
const MAX_CONTENT: usize = 1 << 20;

/// What the key of an object has.
pub(super) enum Content {
    Text(String),
    NoObject,
    NoKey,
    Binary,
    TooLarge(usize),
}

/// A Secret or `ConfigMap`, for as long as it is read.
pub(super) struct Object {
    pub(super) version: Version,
    data: BTreeMap<String, Vec<u8>>,
}

impl Object {
    pub(super) fn of_secret(secret: Secret) -> Self {
        let data = secret.data.unwrap_or_default();
        Self {
            version: secret.metadata.resource_version,
            data: data.into_iter().map(|(key, value)| (key, value.0)).collect(),
        }
    }

    pub(super) fn of_config_map(map: ConfigMap) -> Self {
        let texts = map.data.unwrap_or_default();
        let texts = texts.into_iter().map(|(key, text)| (key, text.into_bytes()));
        let binary = map.binary_data.unwrap_or_default();
        let binary = binary.into_iter().map(|(key, value)| (key, value.0));
        Self {
            version: map.metadata.resource_version,
            data: texts.chain(binary).collect(),
        }
    }

    pub(super) fn content(&self, key: &str) -> Content {
        let Some(bytes) = self.data.get(key) else {
            return Content::NoKey;
        };
        if bytes.len() > MAX_CONTENT {
            return Content::TooLarge(bytes.len());
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Content::Text(text.to_owned()),
            _ => Content::Binary,
        }
    }
}

/// What is secret in a source: all that is in a Secret, but the keys that the chart names, and what is so by its key in a
/// `ConfigMap`.
pub(super) fn secrets_in(source: &ValueSource, content: &Content, named: &NamedKeys<'_>) -> Redactor {
    let mut secrets = Redactor::default();
    let Content::Text(text) = content else {
        return secrets;
    };
    let parsed = read(text.as_bytes()).map(Value::Object).ok();
    match (source.kind, parsed) {
        (SourceKind::ConfigMap, Some(parsed)) => secrets.add_values(&parsed),
        (SourceKind::ConfigMap, None) => {}
        (SourceKind::Secret, Some(parsed)) if source.target_path.is_none() => {
            secrets.add_all(&parsed);
            secrets.add_keys(&parsed, &mut |key| named.has(key));
        }
        (SourceKind::Secret, _) => {
            secrets.add_all(&Value::String(text.to_owned()));
            // A file that is broken, or what `--set` takes apart.
            let parts = text.split(['\n', ',', '=', ':', '{', '}', '[', ']', '"', '\'']);
            let parts = parts.map(|part| Value::String(part.trim().to_owned()));
            secrets.add_all(&Value::Array(parts.collect()));
        }
    }
    let mut alone = Values::new();
    if source.kind == SourceKind::Secret && source.lay(text, &mut alone).is_ok() {
        secrets.add_all(&Value::Object(alone));
    }
    secrets
}

/// What the sources give together.
pub(super) fn laid(
    named: &[(NamedSource, ValueSource)],
    contents: &[Content],
    namespace: &str,
) -> Result<Values, Unusable> {
    let mut values = Values::new();
    for ((name, source), content) in named.iter().zip(contents) {
        let unusable = |what: &str, is_content| {
            let message = format!("values from {name} in namespace {namespace}: {what}");
            Unusable {
                message,
                pause: None,
                is_content,
            }
        };
        let text = match content {
            Content::Text(text) => text,
            Content::NoObject if source.optional => continue,
            Content::NoObject => return Err(unusable("it is not there", false)),
            Content::NoKey => return Err(unusable("the object has no such key", false)),
            Content::Binary => return Err(unusable("what is there is no text in UTF-8", true)),
            Content::TooLarge(size) => {
                let what = format!(
                    "{} are more than {} may have",
                    in_words(*size),
                    in_words(MAX_CONTENT)
                );
                return Err(unusable(&what, true));
            }
        };
        let laid = source.lay(text, &mut values);
        laid.map_err(|error: SourceError| unusable(&error.to_string(), true))?;
    }
    Ok(values)
}

/// What a revision says of its sources.
pub(super) fn stored(
    uid: &str,
    named: &[(NamedSource, ValueSource)],
    contents: &[Content],
    mac: impl Fn(&SignedSources<'_>) -> Option<Digest>,
) -> Vec<StoredSource> {
    let each = named.iter().zip(contents);
    each.map(|((name, source), content)| StoredSource {
        kind: name.kind.as_str().to_owned(),
        name: name.name.clone(),
        values_key: name.values_key.clone(),
        target_path: source.target_path.clone(),
        mac: mac(&SignedSources {
            uid,
            sources: std::slice::from_ref(&(name.clone(), source.clone())),
            contents: std::slice::from_ref(content),
        }),
    })
    .collect()
}

/// What the digest of sources is over: which they are, and what they have.
pub(super) struct SignedSources<'a> {
    pub(super) uid: &'a str,
    pub(super) sources: &'a [(NamedSource, ValueSource)],
    pub(super) contents: &'a [Content],
}

impl Signable for SignedSources<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(LAYOUT);
        feed_field(sink, self.uid.as_bytes());
        for ((name, source), content) in self.sources.iter().zip(self.contents) {
            let path = source.target_path.as_deref();
            let how = format!("{path:?} {}", source.literal);
            for text in [name.kind.as_str(), &name.name, &name.values_key, &how] {
                feed_field(sink, text.as_bytes());
            }
            match content {
                Content::Text(text) => feed_field(sink, text.as_bytes()),
                // Those that are none are not used, but where there may be no object.
                _ => sink(&u64::MAX.to_be_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use steersman_chart::Chart;
    use steersman_watches::NameTemplate;

    use super::*;

    fn source(kind: SourceKind, target_path: Option<&str>, optional: bool) -> (NamedSource, ValueSource) {
        let name = NamedSource {
            kind,
            name: "db".to_owned(),
            values_key: "password".to_owned(),
        };
        let source = ValueSource {
            kind,
            name: NameTemplate::parse("db").unwrap(),
            values_key: "password".to_owned(),
            target_path: target_path.map(str::to_owned),
            optional,
            literal: false,
        };
        (name, source)
    }

    #[test]
    fn what_can_t_be_used_is_named_and_nothing_of_it_is_said() {
        let check = |content: Content, optional: bool| {
            let named = [source(SourceKind::Secret, None, optional)];
            laid(&named, &[content], "shop")
                .map(Value::Object)
                .map_err(|unusable| unusable.message)
        };
        assert_eq!(check(Content::NoObject, true), Ok(json!({})));
        for (content, optional) in [
            (Content::NoObject, false),
            (Content::NoKey, true),
            (Content::Binary, true),
            (Content::TooLarge(2 << 20), false),
            (Content::Text("- canary".to_owned()), false),
        ] {
            let message = check(content, optional).unwrap_err();
            let named = "values from key \"password\" of Secret db in namespace shop: ";
            assert!(
                message.starts_with(named) && !message.contains("canary"),
                "{message}"
            );
        }
    }

    fn chart() -> Chart {
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice(),
            ),
            ("values.yaml", b"db: {canary-of-chart: 1}"),
        ]);
        chart.unwrap()
    }

    #[test]
    fn keys_are_secret_that_are_no_words_and_that_the_chart_does_not_name() {
        let content =
            "db: {canary-of-chart: 1}\nlimits: {Canary-Pa55w0rd: 1}\nlist: [{app/canary: {a-b: 1}}]";
        let content = Content::Text(content.to_owned());
        let source = source(SourceKind::Secret, None, false).1;
        let secrets = secrets_in(&source, &content, &NamedKeys::of(&chart()));
        let said = "limits canary-of-chart 'Canary-Pa55w0rd' at '/list/0/app~1canary/a-b'";
        let shown = "limits canary-of-chart '********' at '/list/0/********/a-b'";
        assert_eq!(secrets.mask(said), shown);
    }

    #[test]
    fn all_that_is_in_a_secret_is_secret() {
        let chart = chart();
        let named = NamedKeys::of(&chart);
        for (path, content, hidden) in [
            (
                None,
                "db: {password: canary-one, port: 54321}",
                ["canary-one", "54321"],
            ),
            (
                Some("db"),
                "{canary-one,canary-two}",
                ["canary-one", "canary-two"],
            ),
            (None, "canary-one: [canary-two", ["canary-one", "canary-two"]),
        ] {
            let content = Content::Text(content.to_owned());
            let secrets = secrets_in(&source(SourceKind::Secret, path, false).1, &content, &named);
            for word in hidden {
                assert!(
                    !secrets.mask(&format!("it says {word} here")).contains(word),
                    "{word}"
                );
            }
        }
        let map = source(SourceKind::ConfigMap, None, false).1;
        let content = Content::Text("{message: a-word, password: canary-one}".to_owned());
        let secrets = secrets_in(&map, &content, &named);
        assert_eq!(secrets.mask("a-word canary-one"), "a-word ********");
    }

    #[test]
    fn an_absent_source_and_an_empty_one_differ() {
        let keys = crate::release::SigningKeys::new([("key-1".to_owned(), vec![7; 32])]);
        let named = [source(SourceKind::Secret, Some("a"), true)];
        let mac = |content: Content| {
            keys.macs(&SignedSources {
                uid: "uid",
                sources: &named,
                contents: &[content],
            })
        };
        assert_ne!(mac(Content::NoObject), mac(Content::Text(String::new())));
        assert_eq!(
            mac(Content::Text("x".to_owned())),
            mac(Content::Text("x".to_owned()))
        );
    }
}
