//! Fields of an entry that choose among a few words or numbers.

use std::time::Duration;

use steersman_model::parse_duration;
use steersman_yaml::Content;

use super::entry::Loader;
use super::fields::Fields;
use crate::{Confinement, ConflictPolicy, CrdPolicy, TestPolicy};

pub(super) const TEST_FIELDS: &[&str] = &["enable", "timeout"];

impl Loader<'_> {
    pub(super) fn reconcile_period(&mut self, fields: &Fields<'_>) -> Option<Duration> {
        let (_, node) = fields.get("reconcilePeriod")?;
        let path = fields.key("reconcilePeriod");
        let Some(text) = node.as_str() else {
            self.findings.expected("a duration such as `1m30s`", node, &path);
            return None;
        };
        parse_duration(text)
            .map_err(|error| self.findings.problem(node, &path, error))
            .ok()
            .filter(|period| !period.is_zero())
    }

    /// helm-operator takes any text, and most of them have no effect there either.
    pub(super) fn check_dry_run(&mut self, fields: &Fields<'_>) {
        if let Some((text, node)) = fields.text("dryRunOption", &mut self.findings)
            && !["", "client", "server", "none", "true", "false"].contains(&text.as_str())
        {
            let message = format!("`{}` is none of `client`, `server`", text.escape_debug());
            self.findings.notice(node, &fields.key("dryRunOption"), message);
        }
    }

    pub(super) fn switch(&mut self, fields: &Fields<'_>, field: &str) -> bool {
        fields.boolean(field, &mut self.findings).unwrap_or(false)
    }

    /// The words are Helm's and Flux', in any case and with or without a dash.
    pub(super) fn crds(&mut self, fields: &Fields<'_>) -> CrdPolicy {
        let Some((text, node)) = fields.text("crds", &mut self.findings) else {
            return CrdPolicy::Create;
        };
        match text.to_ascii_lowercase().replace('-', "").as_str() {
            "create" => CrdPolicy::Create,
            "createreplace" => CrdPolicy::CreateReplace,
            "skip" => CrdPolicy::Skip,
            _ => {
                let message = format!(
                    "`{}` is none of `create`, `create-replace`, `skip`",
                    text.escape_debug()
                );
                self.findings.problem(node, &fields.key("crds"), message);
                CrdPolicy::Create
            }
        }
    }

    pub(super) fn conflicts(&mut self, fields: &Fields<'_>) -> ConflictPolicy {
        let Some((text, node)) = fields.text("conflicts", &mut self.findings) else {
            return ConflictPolicy::default();
        };
        match text.as_str() {
            "overwrite" => ConflictPolicy::Overwrite,
            "fail" => ConflictPolicy::Fail,
            _ => {
                let message = format!("`{}` is none of `overwrite`, `fail`", text.escape_debug());
                self.findings.problem(node, &fields.key("conflicts"), message);
                ConflictPolicy::default()
            }
        }
    }

    /// Claims are no objects of a release, but are changed for one: what confines the kinds of these counts for them, too.
    pub(super) fn expand_claims(&mut self, fields: &Fields<'_>, confinement: Option<&Confinement>) -> bool {
        let expands = self.switch(fields, "expandClaims");
        let admitted = confinement.map_or(Ok(()), |bounds| bounds.admit_kind("", "PersistentVolumeClaim"));
        if let (true, Err(reason), Some((_, node))) = (expands, admitted, fields.get("expandClaims")) {
            let message = format!("no PersistentVolumeClaim may be changed: {reason}");
            self.findings.problem(node, &fields.key("expandClaims"), message);
        }
        expands
    }

    /// The words are those of Flux' `HelmRelease`.
    pub(super) fn tests(&mut self, fields: &Fields<'_>) -> Option<TestPolicy> {
        let (_, node) = fields.get("test")?;
        let fields = Fields::read(node, fields.key("test"), TEST_FIELDS, &mut self.findings)?;
        let timeout = fields
            .text("timeout", &mut self.findings)
            .and_then(|(text, node)| {
                let parsed = parse_duration(&text);
                let parsed =
                    parsed.map_err(|error| self.findings.problem(node, &fields.key("timeout"), error));
                parsed.ok().filter(|timeout| !timeout.is_zero())
            });
        Some(TestPolicy {
            after_each_revision: self.switch(&fields, "enable"),
            timeout,
        })
    }

    pub(super) fn max_concurrent_reconciles(&mut self, fields: &Fields<'_>) -> Option<usize> {
        let (_, node) = fields.get("maxConcurrentReconciles")?;
        if let Content::Int(number @ 1..=1_000_000) = node.value {
            return usize::try_from(number).ok();
        }
        let path = fields.key("maxConcurrentReconciles");
        self.findings
            .expected("a whole number from 1 to 1000000", node, &path);
        None
    }
}
