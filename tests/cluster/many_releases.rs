//! Many releases in one namespace: what is done for each costs nothing for the others.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use steersman_testkit::cluster::{AuditLog, AuditMark, OperatorProcess, number_of_releases};

use crate::bench::{Bench, PATIENCE};

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\n";

/// Requests about Secrets of an operator since a mark.
async fn of_secrets(bench: &Bench, mark: AuditMark) -> AuditLog {
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let of_secrets = audit.by_user(bench.user.name()).resource("secrets");
    // The keys are read once.
    of_secrets.filter(|request| request.name != "steersman-signing-keys")
}

/// Waits until as many of something are there, in a time that grows with the number of releases.
async fn wait_for(what: &str, expected: usize, count: impl AsyncFn() -> usize) -> Duration {
    let begun = Instant::now();
    let patience = PATIENCE + Duration::from_millis(200) * u32::try_from(expected).unwrap();
    loop {
        let found = count().await;
        if found >= expected {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < patience, "{found} of {expected} {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn lines(operator: &OperatorProcess, line: &str) -> usize {
    operator.log_text().matches(line).count()
}

/// A restart reads the revisions of each release by their names, and a deletion does: a list of a namespace costs the server
/// all Secrets that are there.
#[tokio::test]
async fn no_list_of_secrets_is_made_for_each_release() {
    let Some(bench) = Bench::with_kind("many_releases").await else {
        return;
    };
    bench.remove_templates();
    bench.add_template("config.yaml", OBJECT);
    let releases = number_of_releases(30);
    // Where the machine is busy, what is refused for a moment is read and asked again.
    let again = releases.div_ceil(5);
    let names: Vec<String> = (0..releases).map(|number| format!("shop-{number}")).collect();
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    for name in &names {
        bench.apply_web(name, json!({})).await;
    }
    let installed = wait_for("installations", releases, async || {
        lines(&operator, "Installed release")
    })
    .await;
    operator.stop().await.unwrap();
    let installing = of_secrets(&bench, mark).await;
    assert!(installing.verb("get").len() <= again, "{installing}");

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    let read = wait_for("releases", releases, async || {
        lines(&operator, "Reconciled release")
    })
    .await;
    let reading = of_secrets(&bench, mark).await;
    let read_once = releases..=releases + again;
    assert!(read_once.contains(&reading.verb("get").len()), "{reading}");

    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .webs()
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();
    let deleted = wait_for("deletions", releases, async || {
        lines(&operator, "Uninstalled release")
    })
    .await;
    for name in &names {
        bench.wait_gone(&bench.webs(), name).await;
    }
    let deleting = of_secrets(&bench, mark).await;
    assert_eq!(bench.revisions().await, [""; 0]);
    // The revision, the one that could follow, and who it belongs to before it is deleted.
    assert!(deleting.verb("get").len() <= 3 * (releases + again), "{deleting}");
    for requests in [installing, reading, deleting] {
        let lists = requests.verb("list");
        let of_a_release = lists.filter(|request| request.uri.contains("name%3D"));
        assert!(of_a_release.is_empty(), "{of_a_release:#?}");
        // Other tests may have releases for more than one page, and a list is begun anew where a watch has broken off.
        let begun = lists.filter(|request| !request.uri.contains("continue="));
        assert!(begun.len() <= again, "{begun:#?}");
    }
    operator.stop().await.unwrap();
    say(&format!(
        "{releases} releases: installed {installed:?}, read {read:?}, deleted {deleted:?}"
    ));
}

/// Says what was measured, if that is looked at.
#[expect(
    clippy::print_stdout,
    reason = "`--nocapture` shows it, and nothing else does"
)]
fn say(line: &str) {
    println!("{line}");
}
