//! What follows when somebody deletes an object that a run has made.

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use steersman_testkit::cluster::Request;

use crate::candidate::{Candidate, Kind};
use crate::cluster::Rig;
use crate::healing::{self, BACK_WITHIN, MOST_MISSING};
use crate::others::{CONFIG_MAP, SECRET};

/// What the role makes, in its order.
const MADE: [(&str, Kind); 5] = [
    ("", CONFIG_MAP),
    ("", SECRET),
    (
        "",
        Kind {
            kind: "ServiceAccount",
            plural: "serviceaccounts",
        },
    ),
    (
        "",
        Kind {
            kind: "Service",
            plural: "services",
        },
    ),
    (
        "networking.k8s.io",
        Kind {
            kind: "NetworkPolicy",
            plural: "networkpolicies",
        },
    ),
];

/// What a client that Python's library `kubernetes` has made calls itself; operators pass it on.
const CLIENT_OF_ROLES: &str = "/python";

/// Seconds from the deletion of an object, each sorted; what did not come is left out.
#[derive(Debug, Default)]
pub(super) struct Drift {
    /// To the operator's first request: the status that says that a run begins.
    pub(super) until_run: Vec<f64>,
    /// To the first request of the role.
    pub(super) until_role: Vec<f64>,
    /// To the next object of the name.
    pub(super) back_after: Vec<f64>,
}

/// Deletes so many objects, one after the other, each of another resource.
pub(super) async fn measure(rig: &Rig, candidate: &Candidate, deletions: usize) -> Result<Drift> {
    rig.say(candidate.name, &format!("{deletions} objects are deleted"));
    let mut drift = Drift::default();
    let mut missing = 0;
    for (number, (group, kind)) in MADE.into_iter().cycle().take(deletions).enumerate() {
        if missing == MOST_MISSING {
            rig.say(candidate.name, "leaves objects deleted; no others are tried");
            break;
        }
        let name = format!("web-{number}-made");
        let mark = rig.mark().await?;
        let objects = candidate.objects(rig, group, kind);
        if let Some(time) = healing::delete(&objects, &name).await? {
            drift.back_after.push(time);
        } else {
            missing += 1;
            let what = format!("{} {name} is not back after {BACK_WITHIN:?}", kind.kind);
            rig.say(candidate.name, &what);
        }
        // The run goes on, and the next deletion is to meet an operator at rest.
        rig.wait_quiet(candidate).await?;
        let log = rig.cluster.audit_since(mark).await?;
        let mut deletion = log.requests.iter().filter(|request| {
            request.verb == "delete" && request.name == name && request.user != candidate.user.name()
        });
        let deletion = deletion.next().context("the audit log has no deletion")?;
        let requests = log.by_user(candidate.user.name());
        let answers = requests.filter(|request| request.verb != "watch");
        drift
            .until_run
            .extend(first_after(deletion, answers.requests.iter())?);
        let of_role = answers
            .requests
            .iter()
            .filter(|request| request.user_agent.ends_with(CLIENT_OF_ROLES));
        drift.until_role.extend(first_after(deletion, of_role)?);
    }
    for times in [&mut drift.until_run, &mut drift.until_role, &mut drift.back_after] {
        times.sort_by(f64::total_cmp);
    }
    Ok(drift)
}

/// How many seconds after a request the first of these came that came after it, by the API server's clock.
fn first_after<'a>(request: &Request, others: impl Iterator<Item = &'a Request>) -> Result<Option<f64>> {
    let begun: Timestamp = request.received.parse()?;
    let mut first: Option<f64> = None;
    for other in others {
        let received: Timestamp = other.received.parse()?;
        let after = received.duration_since(begun).as_secs_f64();
        if after > 0.0 {
            first = Some(first.map_or(after, |first| first.min(after)));
        }
    }
    Ok(first)
}
