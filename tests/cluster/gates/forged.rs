//! Who may write Secrets opens no gate with them.

use serde_json::json;

use super::{annotate, approved, give_address, is_there, site, stages, wait_stages};
use crate::records::{packed, record_in, secret_of};

#[tokio::test]
async fn a_record_that_others_have_written_opens_no_gate() {
    let entry = approved(&stages(&["a", "b"]), "b");
    let Some(bench) = site("forged-gate", &["a", "b"], &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending").await;
    operator.kill().await.unwrap();

    let mut secret = bench.secrets().get(&secret_of("site", 1)).await.unwrap();
    let mut record = record_in(&secret);
    record["version"] = 5.into();
    record["info"]["status"] = "deployed".into();
    secret.metadata = serde_json::from_value(json!({"name": secret_of("site", 5), "labels":
        {"owner": "helm", "name": "site", "version": "5", "status": "deployed"}}))
    .unwrap();
    secret.data["data"]["release"] = packed(&record).into();
    let secrets = bench.secrets();
    secrets.create(&Default::default(), &secret).await.unwrap();

    let operator = bench.operator_with(&[]).await;
    give_address(&bench, "site-a-1").await;
    wait_stages(&bench, "site", "a 6 Ready, b 6 ApprovalRequired").await;
    assert!(!is_there(&bench, "site-b-1").await);

    // Nor does it open where there is none any more.
    operator.kill().await.unwrap();
    for revision in [1, 5, 6] {
        let name = secret_of("site", revision);
        secrets.delete(&name, &Default::default()).await.unwrap();
    }
    // What was said of their stages is not said of what comes.
    annotate(&bench, "site", "steersman.dev/approve-stage", "1/b,6/b").await;
    let operator = bench.operator_with(&[]).await;
    wait_stages(&bench, "site", "a 7 Ready, b 7 ApprovalRequired").await;
    assert!(!is_there(&bench, "site-b-1").await);
    operator.stop().await.unwrap();
}
