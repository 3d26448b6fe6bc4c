//! The requests that expand claims.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_model::{ClaimChange, FIELD_MANAGER};
use steersman_watches::ConflictPolicy;

use super::judge::{Set, Standing};
use super::{Change, ClaimPolicy, ClaimsError, Expansion, changes, sizes, without};
use crate::apply::applier::{Applier, ApplyOptions};
use crate::apply::error::ApplyError;
use crate::apply::repair::recreate::{Recreation, try_create};

/// So many claims are asked for at a time.
const PAGE: u32 = 100;
/// So many claims of one set are expanded at once.
const LIMIT: usize = 4096;
/// One that waits for the first pod of a set that is not there is nobody's.
const UNBOUND_ADVICE: &str = "; where it waits for a pod, delete it, to have it made anew";
/// So often is looked again at claims that others write meanwhile.
const ATTEMPTS: usize = 3;

/// What is done about claims before a set is applied again that the server does not change.
pub(in crate::apply) enum ClaimsPlan {
    /// The change is not, or not only, about the sizes of claims.
    Other,
    /// The set is applied like this, as claims do not shrink.
    Keep(Value, Vec<ClaimChange>),
    /// These are expanded, and the set is deleted without them and created again: as this, under another name.
    Expand(Vec<Expansion>, Box<DynamicObject>),
}

impl Applier {
    /// What is to be done about claims, as the server refuses to change the `live` set.
    ///
    /// # Guarantees
    /// Nothing is written. The server takes the set as a new one, each claim is the set's, and the server would expand it.
    ///
    /// # Errors
    /// A claim can't become what the set asks for, or the set can't be created again.
    pub(in crate::apply) async fn plan_claims(
        &self,
        recreation: Recreation<'_>,
        live: &DynamicObject,
        refusal: &RequestError,
    ) -> Result<ClaimsPlan, ApplyError> {
        let Recreation { options, value, .. } = recreation;
        if options.claims == ClaimPolicy::Leave || !recreation.is_about_a_set() {
            return Ok(ClaimsPlan::Other);
        }
        let (growing, shrinking): (Vec<Change>, Vec<Change>) = changes(value, &live.data)
            .into_iter()
            .partition(|change| change.grows);
        if let Some(first) = shrinking.first() {
            let set = Set::of(live, &growing);
            if options.claims == ClaimPolicy::ExpandOrKeep {
                let kept = shrinking.iter().map(|change| ClaimChange::Kept {
                    claims: set.claims_of(&change.template),
                    size: change.from.clone(),
                });
                return Ok(ClaimsPlan::Keep(without(&shrinking, value), kept.collect()));
            }
            return Err(recreation.claims(ClaimsError::Shrinks {
                template: first.template.clone(),
                from: first.from.clone(),
                to: first.to.clone(),
                claims: set.claims_of(&first.template),
            }));
        }
        if growing.is_empty() || !(options.recreate || self.is_all_of(&growing, recreation).await?) {
            return Ok(ClaimsPlan::Other);
        }
        let wanted = ApplyOptions {
            recreate: true,
            ..options
        };
        let recreation = Recreation {
            options: wanted,
            ..recreation
        };
        let created = recreation.check(live, refusal.clone()).await?;
        let small = self.small_claims(recreation, Some(live)).await?;
        self.try_expansions(recreation, &small).await?;
        Ok(ClaimsPlan::Expand(small, Box::new(created)))
    }

    /// The claims that are there before their set, and smaller than it asks for: the set was deleted without them, by somebody
    /// or on its way to larger ones, and no change of a set will ever be about them.
    ///
    /// # Guarantees
    /// Nothing is written. Where there are any, the server takes the set, each claim is the set's, and the server would expand
    /// it.
    ///
    /// # Errors
    /// A claim can't become what the set asks for, or the set can't be created.
    pub(in crate::apply) async fn plan_claims_of_new(
        &self,
        recreation: Recreation<'_>,
    ) -> Result<Vec<Expansion>, ApplyError> {
        let Recreation { options, value, .. } = recreation;
        let is_left = options.claims == ClaimPolicy::Leave || !recreation.is_about_a_set();
        if is_left || sizes(value).is_empty() {
            return Ok(Vec::new());
        }
        let small = self.small_claims(recreation, None).await?;
        if !small.is_empty() {
            let created = try_create(recreation.api, value).await;
            created.map_err(|source| recreation.failed("create", source))?;
            self.try_expansions(recreation, &small).await?;
        }
        Ok(small)
    }

    /// Expands the claims that are there before their set.
    ///
    /// # Errors
    /// As for the plan; claims before the one that can't be expanded are.
    pub(in crate::apply) async fn expand_claims_of_new(
        &self,
        recreation: Recreation<'_>,
    ) -> Result<(), ApplyError> {
        let small = self.plan_claims_of_new(recreation).await?;
        self.expand_claims(recreation, None, small).await
    }

    async fn try_expansions(
        &self,
        recreation: Recreation<'_>,
        small: &[Expansion],
    ) -> Result<(), ApplyError> {
        for expansion in small {
            let tried = self.patch_claim(recreation, expansion, Mode::DryRun).await;
            tried.map_err(|error| recreation.claims(recreation.refused_claim(expansion, error)))?;
        }
        Ok(())
    }

    /// Expands the claims whose templates grow, one after the other, with `small` as the plan: those of the `live` set, or of
    /// one that is to be created.
    ///
    /// # Cancellation
    /// Safe at any await: those that are expanded are large enough when they are looked at again.
    ///
    /// # Errors
    /// A claim can't be expanded. Those before it are.
    pub(in crate::apply) async fn expand_claims(
        &self,
        recreation: Recreation<'_>,
        live: Option<&DynamicObject>,
        mut small: Vec<Expansion>,
    ) -> Result<(), ApplyError> {
        let mut attempts = 0;
        loop {
            let mut conflict = None;
            for expansion in std::mem::take(&mut small) {
                match self.patch_claim(recreation, &expansion, Mode::Write).await {
                    Ok(()) => {
                        let claim = recreation.claim(&expansion.claim);
                        tracing::info!(
                            claim,
                            from = expansion.from,
                            to = expansion.to,
                            "a claim is expanded"
                        );
                        recreation.note(expansion.into());
                    }
                    // Somebody has written it since it was judged.
                    Err(error) if error.is_conflict() || error.is_not_found() => {
                        conflict = Some((expansion, error));
                    }
                    Err(error) => {
                        return Err(recreation.claims(recreation.refused_claim(&expansion, error)));
                    }
                }
            }
            let Some((expansion, error)) = conflict else {
                return Ok(());
            };
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(recreation.claims(recreation.refused_claim(&expansion, error)));
            }
            small = self.small_claims(recreation, live).await?;
        }
    }

    /// Whether the server would take the set, were it not for these changes.
    async fn is_all_of(&self, growing: &[Change], recreation: Recreation<'_>) -> Result<bool, ApplyError> {
        let Recreation { api, id, options, .. } = recreation;
        let value = without(growing, recreation.value);
        let mut parameters = PatchParams::apply(FIELD_MANAGER).dry_run();
        parameters.force = options.conflicts == ConflictPolicy::Overwrite;
        let answer = api
            .patch_metadata(&id.name, &parameters, &Patch::Apply(&value))
            .await;
        match answer.map_err(RequestError::from) {
            Ok(_) => Ok(true),
            Err(error) if error.is_immutable() => Ok(false),
            Err(source) => Err(crate::apply::applier::refused(id, source)),
        }
    }

    /// The claims of the `live` set, or of one that is to be created, that are smaller than what is asked for.
    async fn small_claims(
        &self,
        recreation: Recreation<'_>,
        live: Option<&DynamicObject>,
    ) -> Result<Vec<Expansion>, ApplyError> {
        let Recreation { id, value, .. } = recreation;
        let growing = live.map_or_else(|| sizes(value), |live| changes(value, &live.data));
        let set = match live {
            Some(live) => Set::of(live, &growing),
            None => Set::to_be(&id.name, value, &growing),
        };
        let api = self.claims(recreation);
        let mut pages = Pages::of(&api, ListParams::default().limit(PAGE));
        let mut small = Vec::new();
        loop {
            let page = pages.next().await.map_err(|error| {
                let namespace = id.namespace.as_deref().unwrap_or_default();
                recreation.claims(ClaimsError::Request {
                    attempt: format!("list the PersistentVolumeClaims of namespace {namespace}"),
                    source: error.into(),
                })
            })?;
            let Some(page) = page else { break };
            for claim in page {
                let name = || recreation.claim(claim.metadata.name.as_deref().unwrap_or_default());
                let error = match set.judge(&claim, &recreation.owner.uid) {
                    Standing::Other => continue,
                    Standing::Small(_) if small.len() == LIMIT => ClaimsError::TooMany { limit: LIMIT },
                    Standing::Small(expansion) => {
                        small.push(expansion);
                        continue;
                    }
                    Standing::Unbound => ClaimsError::Unbound {
                        claim: name(),
                        advice: if recreation.is_there { "" } else { UNBOUND_ADVICE },
                    },
                    Standing::NotOfSet(reason) => ClaimsError::NotOfSet {
                        claim: name(),
                        reason,
                    },
                };
                return Err(recreation.claims(error));
            }
        }
        // As people count.
        small.sort_by(|a, b| (a.claim.len(), &a.claim).cmp(&(b.claim.len(), &b.claim)));
        Ok(small)
    }

    async fn patch_claim(
        &self,
        recreation: Recreation<'_>,
        expansion: &Expansion,
        mode: Mode,
    ) -> Result<(), RequestError> {
        let parameters = PatchParams {
            dry_run: mode == Mode::DryRun,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = json!({
            "metadata": {"uid": expansion.uid, "resourceVersion": expansion.version},
            "spec": {"resources": {"requests": {"storage": expansion.to}}},
        });
        let api = self.claims(recreation);
        let answer = api
            .patch_metadata(&expansion.claim, &parameters, &Patch::Merge(&patch))
            .await;
        answer.map(|_| ()).map_err(RequestError::from)
    }

    fn claims(&self, recreation: Recreation<'_>) -> Api<PersistentVolumeClaim> {
        let namespace = recreation.id.namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.client.clone(), namespace)
    }
}

impl From<Expansion> for ClaimChange {
    fn from(expansion: Expansion) -> Self {
        let Expansion { claim, from, to, .. } = expansion;
        Self::Expanded { claim, from, to }
    }
}

/// Whether a request is only tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    DryRun,
    Write,
}

impl Recreation<'_> {
    /// A claim beside the set, as people write it.
    fn claim(&self, name: &str) -> String {
        format!("{}/{name}", self.id.namespace.as_deref().unwrap_or_default())
    }

    pub(in crate::apply) fn note(&self, change: ClaimChange) {
        if let Some(notes) = self.options.claim_notes {
            notes.note(self.id, change);
        }
    }

    fn claims(&self, source: ClaimsError) -> ApplyError {
        ApplyError::Claims {
            id: Box::new(self.id.clone()),
            state: if self.is_there {
                "stays as it is with its pods and claims"
            } else {
                "is not created, as claims of its pods are there and smaller than it asks for"
            },
            source: Box::new(source),
        }
    }

    /// That the server does not expand a claim. That its class is why, it says in words only.
    fn refused_claim(&self, expansion: &Expansion, source: RequestError) -> ClaimsError {
        let Expansion {
            claim,
            from,
            to,
            class,
            ..
        } = expansion;
        let claim = self.claim(claim);
        if source.code == 403 && source.message.contains("must support resize") {
            return ClaimsError::Class {
                claim,
                from: from.clone(),
                to: to.clone(),
                class: class.clone(),
                source,
            };
        }
        let attempt = format!("expand PersistentVolumeClaim {claim} of class `{class}` from {from} to {to}");
        ClaimsError::Request { attempt, source }
    }
}
