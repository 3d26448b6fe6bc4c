//! Claims that grow, with a fault at each write: claims and pods stay what they are, and the set comes back once.

use kube::api::ListParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::{Call, Fault, wanted_faults};

use super::EFFECTS;
use super::lane::Lane;
use crate::bench::PATIENCE;
use crate::claims::{Claims, entry};
use crate::watched::Watched;

/// A write of a run, the same in each: its verb, resource and name, and which of those that are the same in all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    verb: String,
    resource: String,
    name: String,
    number: usize,
}

#[tokio::test]
async fn claims_grow_whatever_happens_at_any_write() {
    let Some(lane) = Lane::new("claims_grow_whatever_happens").await else {
        return;
    };
    let claims = Claims::of(&lane.bench, true).await;
    lane.bench.watches(&json!([entry(&lane.bench)]).to_string());
    lane.start().await;
    let begun = lane.proxy.trace().len();
    grow(&lane, &claims, "reference", "none", None).await;
    let targets = targets(&lane.proxy.trace()[begun..]);
    let all = wanted_faults().is_some();
    // Two claims, the end of the set and its return; what is only tried has no effect.
    assert!(targets.len() >= 4, "{targets:?}");
    for (number, target) in targets.iter().enumerate() {
        for (effect, of) in EFFECTS {
            if !all && !["killed after", "lost"].contains(&effect) {
                continue;
            }
            let name = format!("run-{number}-{}", effect.replace(' ', "-"));
            let fault = Fault::on(&target.verb, &target.resource)
                .name(&target.name.replace("reference", &name))
                .nth(target.number);
            let what = format!("{effect} at {target:?}");
            grow(&lane, &claims, &name, &what, Some(of(fault))).await;
        }
    }
    lane.stop().await;
}

/// What a run writes of sets and claims once the set is there, in this order.
fn targets(trace: &[Call]) -> Vec<Target> {
    let mut seen: Vec<Target> = Vec::new();
    let mut targets = Vec::new();
    for call in trace.iter().filter(|call| call.is_write()) {
        if !["statefulsets", "persistentvolumeclaims"].contains(&call.resource.as_str())
            || call.name.is_empty()
        {
            continue;
        }
        let mut target = Target {
            verb: call.verb.clone(),
            resource: call.resource.clone(),
            name: call.name.clone(),
            number: 1,
        };
        while seen.contains(&target) {
            target.number += 1;
        }
        seen.push(target.clone());
        if !call.uri.contains("dryRun=All") {
            targets.push(target);
        }
    }
    // The first makes the set, and the last two end the release: what is between is about its growth.
    let from = targets
        .iter()
        .position(|target| target.number > 1)
        .unwrap_or_default();
    let end = targets.iter().rposition(|target| target.verb == "delete");
    targets.truncate(end.unwrap_or(targets.len()));
    targets.drain(..from);
    targets
}

/// The life of a release whose set grows. The fault counts its requests from the beginning.
async fn grow(lane: &Lane, claims: &Claims<'_>, name: &str, what: &str, fault: Option<Fault>) {
    let bench = &lane.bench;
    let fault = fault.map(|fault| lane.proxy.inject(fault));
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web(name, json!({})).await;
    bench.wait_revision(name, 1).await;
    let (of_claims, of_pods) = (
        [0, 1].map(|n| format!("data-{name}-{n}")),
        [0, 1].map(|n| format!("{name}-{n}")),
    );
    claims.bind(&of_claims).await;
    let before = (
        claims.uids(&claims.api(), &of_claims).await,
        claims.uids(&claims.pods(), &of_pods).await,
    );
    let first = claims.sets().get(name).await.unwrap().metadata.uid;
    bench.apply_web(name, json!({"storage": "2Gi"})).await;
    reach(lane, name, what).await;
    if let Some(fault) = fault {
        assert_eq!(lane.proxy.struck(fault), 1, "{what}: the request did not come");
        lane.proxy.take_back(fault);
    }
    assert_eq!(claims.template(name).await, "2Gi", "{what}");
    for claim in &of_claims {
        assert_eq!(claims.size(claim).await, "2Gi", "{what}: {claim}");
    }
    let second = claims.sets().get(name).await.unwrap().metadata.uid;
    assert_ne!(first, second, "{what}");
    for pod in &of_pods {
        let of_second = |pod: &Value| {
            let owner = pod.pointer("/metadata/ownerReferences/0/uid")?.as_str();
            (owner == second.as_deref()).then_some(())
        };
        bench.wait("the new set", &claims.pods(), pod, of_second).await;
    }
    assert_eq!(claims.uids(&claims.api(), &of_claims).await, before.0, "{what}");
    assert_eq!(claims.uids(&claims.pods(), &of_pods).await, before.1, "{what}");
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let writes = audit.by_user(bench.user.name()).writes();
    let count = |verb: &str, code: u16| {
        let of_set = writes.filter(|request| {
            request.resource == "statefulsets"
                && request.name == name
                && request.verb == verb
                && request.code == Some(code)
                && !request.uri.contains("dryRun=All")
        });
        of_set.requests.len()
    };
    // Whoever knows nothing of the first deletion asks for it again while the set is on its way out.
    assert!((1..=2).contains(&count("delete", 200)), "{what}");
    assert_eq!(count("patch", 201), 2, "{what}: it is created once more");
    let selected = ListParams::default().labels(&format!("owner=helm,name={name}"));
    let revisions = bench.secrets().list(&selected).await.unwrap();
    assert_eq!(revisions.items.len(), 2, "{what}");
    bench.delete_web(name).await;
    bench.wait_gone(&bench.webs(), name).await;
}

/// Waits until the second revision is deployed, with an operator that is started again where it was killed.
async fn reach(lane: &Lane, name: &str, what: &str) {
    let webs = lane.bench.webs();
    let mut watched = Watched::new(&webs, name);
    let begun = std::time::Instant::now();
    loop {
        lane.keep_alive().await;
        let web = watched.look(std::time::Duration::from_millis(100)).await;
        let is_there = web.pointer("/status/revision").and_then(Value::as_u64) == Some(2)
            && web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
        if is_there {
            return;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not reached, but {:#}\n{}",
            web["status"],
            lane.log().await
        );
    }
}
