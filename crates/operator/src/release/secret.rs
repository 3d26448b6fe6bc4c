//! A revision as a Secret: Helm's, with more in it that Helm does not look at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use steersman_model::Revision;

use super::codec::CodecError;
use super::parts::{Overflow, PART_KEY, PART_TYPE, Parts, split};
use super::record::{HookRecord, ReleaseRecord, never_run};
use super::signature::Signature;
use super::stored::Stored;

/// The type of Helm's Secrets.
pub(super) const SECRET_TYPE: &str = "helm.sh/release.v1";
/// The key under which Helm keeps the record.
pub(super) const RELEASE_KEY: &str = "release";
/// The key under which we keep what Helm does not know.
pub(super) const SNAPSHOT_KEY: &str = "steersman";
/// The key under which stands how many parts there are.
pub(super) const PARTS_KEY: &str = "steersman-parts";
/// The key under which we vouch for both.
pub(super) const SIGNATURE_KEY: &str = "steersman-signature";
/// The API server's limit for a Secret's data.
pub(super) const MAX_SECRET_BYTES: usize = 1024 * 1024;
/// The kind of the hook that stops Helm.
const BARRIER_KIND: &str = "ManifestInParts";
/// The label of a part with the release that it belongs to.
pub(super) const PART_LABEL: &str = "steersman.dev/release";

/// As Helm makes it: `sh.helm.release.v1.web.v2`.
pub(super) fn secret_name(release: &str, revision: Revision) -> String {
    format!("{}{revision}", name_prefix(release))
}

/// `None` for what Helm would not have called so.
pub(super) fn secret_revision(release: &str, name: &str) -> Option<Revision> {
    let revision = Revision(name.strip_prefix(&name_prefix(release))?.parse().ok()?);
    (secret_name(release, revision) == name).then_some(revision)
}

/// What the names of the Secrets of a release begin with.
pub(super) fn name_prefix(release: &str) -> String {
    format!("sh.helm.release.v1.{release}.v")
}

/// A revision that can't be made a Secret of.
#[derive(Debug)]
pub(super) enum PackError {
    /// It can't be packed.
    Codec(CodecError),
    /// It does not fit.
    TooLarge {
        /// In bytes: of the record without manifest and hooks, our own data with the signature, and the marker of the parts.
        size: usize,
    },
}

/// Helm's label of a Secret with the time of a write, in seconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct TimeLabel {
    key: &'static str,
    at: Timestamp,
}

impl TimeLabel {
    /// For a revision that is written for the first time.
    pub(super) fn created(at: Timestamp) -> Self {
        Self { key: "createdAt", at }
    }

    /// For one that is written over what is stored of it.
    pub(super) fn modified(at: Timestamp) -> Self {
        Self {
            key: "modifiedAt",
            at,
        }
    }
}

impl From<CodecError> for PackError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

/// A revision as Secrets.
pub(super) struct Packed {
    /// The one that Helm reads.
    pub(super) secret: Secret,
    /// How it is divided, if it is.
    pub(super) parts: Option<Parts>,
    /// What it had no room for.
    pub(super) part_secrets: Vec<Secret>,
}

/// Makes the Secret `name` of a revision, which belongs to `owner`.
///
/// What does not fit is left out of Helm's record and divided: the manifest and the hooks. Helm
/// still reads state, values and notes, and a hook keeps it from doing more. What `sign` gives for the revision in these
/// parts, or in none, is stored beside it.
pub(super) fn pack(
    stored: &Stored,
    name: &str,
    owner: &OwnerReference,
    time: TimeLabel,
    sign: impl Fn(Option<Parts>) -> Option<Signature>,
) -> Result<Packed, PackError> {
    let snapshot = serde_json::to_vec(&stored.sealed(&stored.snapshot)).unwrap_or_default();
    let release = stored.record.encode()?;
    let signature = packed_signature(sign(None));
    let size_of_signature = signature.as_ref().map(Vec::len).unwrap_or_default();
    if release.len() + snapshot.len() + size_of_signature <= MAX_SECRET_BYTES {
        let mut data = vec![(RELEASE_KEY, release.into_bytes()), (SNAPSHOT_KEY, snapshot)];
        data.extend(signature.map(|signature| (SIGNATURE_KEY, signature)));
        return Ok(Packed {
            secret: secret(&stored.record, name, owner, time, data),
            parts: None,
            part_secrets: Vec::new(),
        });
    }
    let overflow = Overflow {
        manifest: stored.record.manifest.clone(),
        hooks: stored.record.hooks.clone(),
    };
    let (parts, pieces) = split(&overflow)?;
    let names: Vec<String> = parts.names(name).collect();
    let inside = ReleaseRecord {
        manifest: format!(
            "# The manifest is too large for one Secret. It is in these: {}\n",
            names.join(", ")
        ),
        hooks: Some(vec![barrier(&stored.record.name)]),
        ..stored.record.clone()
    };
    let release = inside.encode()?;
    let marker = serde_json::to_vec(&parts).unwrap_or_default();
    let signature = packed_signature(sign(Some(parts)));
    let size_of_signature = signature.as_ref().map(Vec::len).unwrap_or_default();
    let size = release.len() + snapshot.len() + marker.len() + size_of_signature;
    if size > MAX_SECRET_BYTES {
        return Err(PackError::TooLarge { size });
    }
    let mut data = vec![
        (RELEASE_KEY, release.into_bytes()),
        (SNAPSHOT_KEY, snapshot),
        (PARTS_KEY, marker),
    ];
    data.extend(signature.map(|signature| (SIGNATURE_KEY, signature)));
    let part_secrets = names.into_iter().zip(pieces);
    Ok(Packed {
        secret: secret(&stored.record, name, owner, time, data),
        parts: Some(parts),
        part_secrets: part_secrets
            .map(|(name, piece)| part(&stored.record, name, owner, piece))
            .collect(),
    })
}

/// A signature as it is stored.
pub(super) fn packed_signature(signature: Option<Signature>) -> Option<Vec<u8>> {
    signature.and_then(|signature| serde_json::to_vec(&signature).ok())
}

/// A hook that can't run, as its kind is nobody's. Helm would take a manifest without objects for a
/// release without them, and delete those of another revision at a rollback; so it stops before.
fn barrier(release: &str) -> HookRecord {
    HookRecord {
        name: release.to_owned(),
        kind: BARRIER_KIND.to_owned(),
        path: "steersman".to_owned(),
        manifest: format!(
            "apiVersion: steersman.dev/v1\nkind: {BARRIER_KIND}\nmetadata:\n  name: {release}\n"
        ),
        events: vec!["pre-rollback".to_owned(), "pre-delete".to_owned()],
        weight: i64::from(i32::MIN),
        delete_policies: Vec::new(),
        last_run: never_run(),
    }
}

/// Whether a hook is there to stop Helm.
pub(super) fn is_barrier(hook: &HookRecord) -> bool {
    hook.kind == BARRIER_KIND
}

fn secret(
    record: &ReleaseRecord,
    name: &str,
    owner: &OwnerReference,
    time: TimeLabel,
    data: Vec<(&str, Vec<u8>)>,
) -> Secret {
    let labels = [
        ("name", record.name.clone()),
        ("owner", "helm".to_owned()),
        ("status", record.info.status.to_string()),
        ("version", record.version.to_string()),
        (time.key, time.at.as_second().to_string()),
    ];
    let entries = data.into_iter();
    Secret {
        metadata: metadata(record, name.to_owned(), owner, &labels),
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(
            entries
                .map(|(key, bytes)| (key.to_owned(), ByteString(bytes)))
                .collect(),
        ),
        ..Secret::default()
    }
}

fn part(record: &ReleaseRecord, name: String, owner: &OwnerReference, piece: Vec<u8>) -> Secret {
    Secret {
        metadata: metadata(record, name, owner, &[(PART_LABEL, record.name.clone())]),
        type_: Some(PART_TYPE.to_owned()),
        data: Some(BTreeMap::from([(PART_KEY.to_owned(), ByteString(piece))])),
        ..Secret::default()
    }
}

fn metadata(
    record: &ReleaseRecord,
    name: String,
    owner: &OwnerReference,
    labels: &[(&str, String)],
) -> ObjectMeta {
    let labels = labels.iter().cloned();
    ObjectMeta {
        name: Some(name),
        namespace: Some(record.namespace.clone()).filter(|namespace| !namespace.is_empty()),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).collect()),
        owner_references: Some(vec![owner.clone()]),
        ..ObjectMeta::default()
    }
}
