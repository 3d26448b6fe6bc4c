//! The stages of watches.yaml on what the charts render here: which have no object, and which may never be ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use steersman_chart::Rendered;
use steersman_model::{RenderedObject, objects_of_text};
use steersman_project::check::{Finding, Severity};
use steersman_watches::order::Order;
use steersman_watches::{Watch, Watches};

/// What was seen of the stages of entries.
pub(super) struct Staging<'a> {
    watches: &'a Watches,
    /// By the lines of their entries; entries of which nothing was rendered are not there.
    seen: RefCell<BTreeMap<u32, Seen>>,
}

#[derive(Default)]
struct Seen {
    /// Stages with an object, by their places.
    claiming: BTreeSet<usize>,
    /// What may never be ready, by the line of the stage that it holds up.
    held: BTreeSet<(u32, String)>,
}

impl<'a> Staging<'a> {
    pub(super) fn new(watches: &'a Watches) -> Self {
        Self {
            watches,
            seen: RefCell::default(),
        }
    }

    /// Finds out which stages the objects are in.
    ///
    /// # Errors
    /// Two stages claim one object, or annotations say no order, so that the operator would refuse to apply them.
    pub(super) fn look_at(&self, watch: &Watch, rendered: &Rendered) -> Result<(), String> {
        // What is no object is said of the chart.
        let objects = rendered.manifests.iter();
        let objects = objects.flat_map(|one| objects_of_text(&one.source, &one.text).unwrap_or_default());
        if let Some(convention) = watch.order.convention {
            let stages = convention.stages(&watch.chart, &objects.collect::<Vec<_>>());
            return stages.map(drop).map_err(|error| error.to_string());
        }
        if watch.order.stages.is_empty() {
            return Ok(());
        }
        let namespace = watch.release_namespace.as_deref().unwrap_or("default");
        let mut staged = Vec::new();
        for object in objects {
            let stage = watch.order.stage_of(&object, namespace);
            let stage = stage.map_err(|twice| twice.to_string())?;
            staged.push((stage, object));
        }
        let mut all = self.seen.borrow_mut();
        let seen = all.entry(watch.line).or_default();
        seen.claiming
            .extend(staged.iter().filter_map(|(stage, _)| *stage));
        seen.held.extend(unfinished_jobs(&watch.order, &staged));
        seen.held.extend(claims_before_pods(watch, &staged));
        Ok(())
    }

    /// What is to be said of all renderings.
    pub(super) fn findings(self, file: &str) -> Vec<Finding> {
        let seen = self.seen.into_inner();
        let mut findings = Vec::new();
        for watch in self.watches {
            let Some(seen) = seen.get(&watch.line) else {
                continue;
            };
            let warning = |line, message| Finding {
                file: file.to_owned(),
                line,
                severity: Severity::Warning,
                message,
                hint: None,
            };
            let stages = watch.order.stages.iter().enumerate();
            for (_, stage) in stages.filter(|(place, _)| !seen.claiming.contains(place)) {
                let message = format!(
                    "stage {} claims no object of what the chart renders with the defaults and the samples",
                    stage.name
                );
                findings.push(warning(stage.line, message));
            }
            let held = seen.held.iter();
            findings.extend(held.map(|(line, message)| warning(*line, message.clone())));
        }
        findings
    }
}

/// An object, and the place of the stage that it is in; none for what no stage claims.
type Staged = (Option<usize>, RenderedObject);

/// Jobs that the stage behind theirs does not wait for: they are ready when they run.
fn unfinished_jobs(order: &Order, staged: &[Staged]) -> Vec<(u32, String)> {
    if order.wait.is_some_and(|wait| wait.jobs) {
        return Vec::new();
    }
    let jobs = staged
        .iter()
        .filter(|(_, object)| is_kind(object, "batch", "Job"));
    let jobs = jobs.filter_map(|(place, object)| {
        let stage = order.stages.get((*place)?)?;
        let is_last = *place == order.stages.len().checked_sub(1);
        let message = format!(
            "the stage behind {} does not wait until Job {} is complete: `wait: {{jobs: true}}` does",
            stage.name, object.name
        );
        (!is_last).then_some((stage.line, message))
    });
    jobs.collect()
}

/// Claims in a stage before that of the pods that mount them: storage that waits for its first consumer never binds them.
fn claims_before_pods(watch: &Watch, staged: &[Staged]) -> Vec<(u32, String)> {
    let mut held = Vec::new();
    let claims = staged
        .iter()
        .filter(|(_, object)| is_kind(object, "", "PersistentVolumeClaim"));
    for (of_claim, claim) in claims {
        let mounts = |object: &RenderedObject| {
            object.namespace == claim.namespace && mounted(&object.value).contains(&claim.name.as_str())
        };
        let mut users = staged.iter().filter(|(_, object)| mounts(object));
        let first = users.by_ref().map(|(place, _)| *place).min();
        let later = first.flatten().and_then(|place| watch.order.stages.get(place));
        let Some(later) = later.filter(|_| first > Some(*of_claim)) else {
            continue;
        };
        let message = format!(
            "PersistentVolumeClaim {} comes before stage {}, which mounts it: where its class waits for the first consumer, it is \
             never bound",
            claim.name, later.name
        );
        held.push((later.line, message));
    }
    held
}

fn is_kind(object: &RenderedObject, group: &str, kind: &str) -> bool {
    object.api.group == group && object.api.kind == kind
}

/// The claims that the pods of an object mount.
fn mounted(object: &Value) -> Vec<&str> {
    let templates = [
        "/spec",
        "/spec/template/spec",
        "/spec/jobTemplate/spec/template/spec",
    ];
    let specs = templates.iter().filter_map(|place| object.pointer(place));
    let volumes = specs.filter_map(|spec| spec.get("volumes")?.as_array()).flatten();
    let names = volumes.filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str());
    names.collect()
}
