//! Helm's record of a revision, as its JSON says it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use steersman_model::{ReleaseStatus, Revision};

use super::codec::{self, CodecError, MAX_DECODED_BYTES, Room};

/// One revision of a release in Helm's own format (`helm.sh/release.v1`).
///
/// Defined by Helm's package `pkg/release/v1`. What this type does not name is not kept when a
/// record of Helm's is written back.
///
/// ```
/// use serde_json::json;
/// use steersman_model::{ReleaseStatus, Revision};
/// use steersman_operator::release::ReleaseRecord;
///
/// let record: ReleaseRecord = serde_json::from_value(json!({
///     "name": "web",
///     "namespace": "shop",
///     "version": 2,
///     "info": {"status": "deployed", "description": "Upgrade complete"},
///     "manifest": "---\n# Source: web/templates/service.yaml\napiVersion: v1\nkind: Service\n",
/// }))
/// .unwrap();
/// let stored = record.encode()?;
/// assert!(stored.starts_with("H4sI"), "gzip, as base64 shows it");
///
/// let read = ReleaseRecord::decode(stored.as_bytes())?;
/// assert_eq!(read, record);
/// assert_eq!((read.version, read.info.status), (Revision(2), ReleaseStatus::Deployed));
/// # Ok::<(), steersman_operator::release::CodecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRecord {
    /// At most 53 characters; the resource's own name.
    #[serde(default)]
    pub name: String,
    /// State, times and notes.
    pub info: InfoRecord,
    /// The chart, as far as Helm's commands show it.
    #[serde(default)]
    pub chart: ChartRecord,
    /// The values that the user gave, on top of the chart's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Every object but the hooks, as YAML documents, each with the path of its template.
    #[serde(default)]
    pub manifest: String,
    /// In the order of the chart; `None` in Helm's records of charts without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<HookRecord>>,
    /// The number of the revision.
    pub version: Revision,
    /// Where its Secrets are, and its objects that name no namespace.
    #[serde(default)]
    pub namespace: String,
    /// `ssa`: the objects were applied by the server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub apply_method: String,
}

impl ReleaseRecord {
    /// Reads what Helm stores under the key `release` of a Secret: base64 of gzip of JSON. Old versions of
    /// Helm did not compress it; that is read, too.
    ///
    /// # Errors
    /// The text is no release, or one that takes more than [`MAX_DECODED_BYTES`](super::MAX_DECODED_BYTES).
    pub fn decode(text: &[u8]) -> Result<Self, CodecError> {
        codec::decode(text, &mut Room::new(MAX_DECODED_BYTES))
    }

    /// The same with what there is room for.
    ///
    /// # Errors
    /// As there.
    pub(super) fn decode_within(text: &[u8], room: &mut Room) -> Result<Self, CodecError> {
        codec::decode(text, room)
    }

    /// The record as Helm stores it.
    ///
    /// # Errors
    /// It can't be packed.
    pub fn encode(&self) -> Result<String, CodecError> {
        codec::encode(self)
    }
}

/// State, times and notes of a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InfoRecord {
    /// When the release's first revision was written.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient_time"
    )]
    pub first_deployed: Option<Timestamp>,
    /// When this revision was written.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient_time"
    )]
    pub last_deployed: Option<Timestamp>,
    /// One line about the state.
    #[serde(default)]
    pub description: String,
    /// The state.
    pub status: ReleaseStatus,
    /// The rendered `NOTES.txt`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// The parts of a chart that Helm's commands show.
///
/// Templates and files are left out: they are in the operator's image, and they are most of
/// what would bring a Secret to its limit of 1 MiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartRecord {
    /// `Chart.yaml`.
    #[serde(default)]
    pub metadata: Value,
    /// `values.yaml`.
    #[serde(default)]
    pub values: Value,
}

/// A hook of a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookRecord {
    /// The object's name.
    #[serde(default)]
    pub name: String,
    /// The object's kind.
    #[serde(default)]
    pub kind: String,
    /// The template that it comes from.
    #[serde(default)]
    pub path: String,
    /// The object as YAML.
    #[serde(default)]
    pub manifest: String,
    /// When it runs: `pre-install`, `post-upgrade`, …
    #[serde(default)]
    pub events: Vec<String>,
    /// Its place among the hooks of one event.
    #[serde(default)]
    pub weight: i64,
    /// When it is deleted: `before-hook-creation`, `hook-succeeded`, `hook-failed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delete_policies: Vec<String>,
    /// How its last run ended; Helm requires the field.
    #[serde(default = "never_run")]
    pub last_run: Value,
}

/// What Helm writes for a hook that has not run.
pub(crate) fn never_run() -> Value {
    serde_json::json!({ "phase": "" })
}

/// Helm writes a time that is not set as an empty text in old releases.
fn lenient_time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_helm_is_read() {
        let record: ReleaseRecord = serde_json::from_str(
            r#"{"name":"web","info":{"first_deployed":"2026-01-02T03:04:05.678+01:00","last_deployed":"",
                "deleted":"","description":"Install complete","status":"deployed"},
                "chart":{"metadata":{"name":"web","version":"1.0.0"},"lock":null,"templates":[],"values":{}},
                "config":{"replicas":2},"manifest":"---\n# Source: web/a.yaml\nkind: A\n",
                "hooks":[{"name":"h","kind":"Job","path":"web/h.yaml","manifest":"kind: Job","events":["pre-install"],
                "last_run":{"started_at":"","completed_at":"","phase":""}}],"version":2,"namespace":"default"}"#,
        )
        .unwrap();
        assert_eq!(record.version, Revision(2));
        assert_eq!(record.info.status, ReleaseStatus::Deployed);
        assert_eq!(record.info.last_deployed, None);
        assert_eq!(
            record.info.first_deployed.unwrap().to_string(),
            "2026-01-02T02:04:05.678Z"
        );
        assert_eq!(record.hooks.unwrap()[0].events, ["pre-install"]);
    }
}
