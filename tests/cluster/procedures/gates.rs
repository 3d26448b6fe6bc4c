//! Gates before an upgrade.

use kube::api::DeleteParams;
use serde_json::json;

use super::values::{diff, map, wait_map, wait_reason, with_procedures};
use super::{arguments, awaited, end_pod, released, runs, wait_job};

const BACKUP: &str =
    "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true, changed: [message]}}\n";

#[tokio::test]
async fn an_upgrade_waits_for_its_backup_and_stops_where_that_fails() {
    let Some(bench) = with_procedures("procedurebefore", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    // Another value needs none.
    bench
        .apply_web("shop", json!({"message": "one", "mode": "slow"}))
        .await;
    wait_map(&bench, "mode", "slow").await;
    bench
        .apply_web("shop", json!({"message": "two", "mode": "slow"}))
        .await;
    let first = awaited(&bench, "").await;
    let shown = diff(&bench).await;
    assert!(
        shown.contains("waits for a WebBackup: another revision"),
        "{shown}"
    );
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    assert_eq!(
        arguments(&bench, &job).await[4],
        "shop-one",
        "it works on what is there"
    );
    end_pod(&bench, &job, "Failed", "disk full").await;
    let words = wait_reason(&bench, "Stalled", "ProcedureFailed").await;
    assert!(words.contains(&first) && words.contains("disk full"), "{words}");
    assert_eq!(map(&bench).await["message"], "one");

    // What is deployed is healed meanwhile, also by the next process, and another one is made when it is deleted.
    operator.kill().await.unwrap();
    bench
        .config_maps()
        .delete("shop-map", &DeleteParams::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "one").await;
    runs(&bench, "WebBackup")
        .delete(&first, &DeleteParams::default())
        .await
        .unwrap();
    let again = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    assert_ne!(job, again);
    end_pod(&bench, &again, "Succeeded", "").await;
    wait_map(&bench, "message", "two").await;

    // Another change is another backup.
    bench
        .apply_web("shop", json!({"message": "three", "mode": "slow"}))
        .await;
    let second = awaited(&bench, &first).await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "three").await;
    operator.stop().await.unwrap();
}
