//! Bodies of requests as objects with marks.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_yaml::Node;

use super::fields::Fields;
use super::marker::{Marker, Way};

const JSON: &str = "application/json";

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    /// And JSON, which is YAML, too.
    Yaml,
}

impl Format {
    /// The format that a request names; `Err` with its name for one that can't be marked.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, String> {
        let Some(value) = headers.get(CONTENT_TYPE) else {
            return Ok(Self::Json);
        };
        let text = String::from_utf8_lossy(value.as_bytes());
        let name = text
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match name.as_str() {
            JSON | "" => Ok(Self::Json),
            "application/yaml" | "application/apply-patch+yaml" => Ok(Self::Yaml),
            _ => Err(name),
        }
    }

    /// Whether a patch of this type is a server-side apply, in whatever format.
    pub(crate) fn is_apply(headers: &HeaderMap) -> bool {
        let value = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        value.is_some_and(|value| {
            value
                .to_ascii_lowercase()
                .trim_ascii_start()
                .starts_with(b"application/apply-patch")
        })
    }
}

/// The body with marks, as JSON.
///
/// # Errors
/// It is no object in this format. The text quotes nothing of it: it may hold what must not be shown.
pub(crate) fn mark_body(
    body: &Bytes,
    format: Format,
    marker: &Marker<'_>,
    way: Way,
    live: Option<&ObjectMeta>,
) -> Result<Bytes, String> {
    let mut object = match format {
        Format::Json => from_json(body)?,
        Format::Yaml => from_json(body).or_else(|_| from_yaml(body))?,
    };
    let mut metadata: Fields = object.get("metadata").map_err(fault)?.unwrap_or_default();
    marker.mark(way, &mut metadata, live).map_err(fault)?;
    object.set("metadata", &metadata).map_err(fault)?;
    serde_json::to_vec(&object).map(Bytes::from).map_err(fault)
}

fn from_json(body: &Bytes) -> Result<Fields, String> {
    serde_json::from_slice(body).map_err(fault)
}

fn from_yaml(body: &Bytes) -> Result<Fields, String> {
    let value = steersman_yaml::parse_bytes(body)
        .and_then(Node::into_json)
        .map_err(|error| format!("line {} is not valid YAML", error.line()))?;
    serde_json::from_value(value).map_err(fault)
}

/// What is wrong, by its place.
fn fault(error: serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            format!(
                "line {}, column {}: a field is there twice, or is of another type",
                error.line(),
                error.column()
            )
        }
        _ => format!(
            "line {}, column {} is not valid JSON",
            error.line(),
            error.column()
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steersman_cluster::{OWNER_UID_LABEL, PrimaryResource};

    use super::*;
    use crate::mark::{Marks, Unowned};

    fn mark(body: &str, format: Format) -> Result<Value, String> {
        let owner = PrimaryResource {
            api_version: "v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: None,
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let marker = Marker {
            owner: &owner,
            marks: Marks::Label,
            unowned: Unowned::Leave,
            namespace: None,
        };
        let body = Bytes::copy_from_slice(body.as_bytes());
        let object = mark_body(&body, format, &marker, Way::Create, None)?;
        Ok(serde_json::from_slice(&object).unwrap())
    }

    #[test]
    fn json_and_yaml_are_marked() {
        let labels = json!({OWNER_UID_LABEL: "u-1"});
        let expect = json!({"a": 1, "metadata": {"name": "b", "labels": labels}});
        assert_eq!(
            mark(r#"{"a": 1, "metadata": {"name": "b"}}"#, Format::Json),
            Ok(expect.clone())
        );
        assert_eq!(
            mark("a: 1\nmetadata:\n  name: b\n", Format::Yaml),
            Ok(expect.clone())
        );
        assert_eq!(
            mark(r#"{"a": 1, "metadata": {"name": "b"}}"#, Format::Yaml),
            Ok(expect)
        );
        let bare = json!({"metadata": {"labels": labels}});
        for body in ["{}", r#"{"metadata": null}"#] {
            assert_eq!(mark(body, Format::Json), Ok(bare.clone()));
        }
    }

    #[test]
    fn what_is_no_object_is_refused_without_being_quoted() {
        for body in [
            "",
            "[]",
            "canary",
            "\"canary\"",
            "{\"canary\"",
            r#"{"metadata": "canary"}"#,
            r#"{"metadata": {"labels": ["canary"]}}"#,
        ] {
            let error = mark(body, Format::Json).unwrap_err();
            assert!(!error.contains("canary"), "{error}");
            assert!(mark(body, Format::Yaml).is_err(), "{body}");
        }
        assert_eq!(
            mark("a: b\n- canary", Format::Yaml).unwrap_err(),
            "line 2 is not valid YAML"
        );
    }

    #[test]
    fn formats_are_told_by_their_type() {
        let of = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            Format::of(&HeaderMap::from_iter([(CONTENT_TYPE, value)]))
        };
        assert_eq!(of("application/json"), Ok(Format::Json));
        assert_eq!(of("Application/JSON; charset=utf-8"), Ok(Format::Json));
        assert_eq!(of("application/yaml"), Ok(Format::Yaml));
        assert_eq!(of("application/apply-patch+yaml"), Ok(Format::Yaml));
        assert_eq!(Format::of(&HeaderMap::new()), Ok(Format::Json));
        assert_eq!(
            of("application/vnd.kubernetes.protobuf"),
            Err("application/vnd.kubernetes.protobuf".to_owned())
        );
        assert!(of("application/apply-patch+cbor").is_err());
    }
}
