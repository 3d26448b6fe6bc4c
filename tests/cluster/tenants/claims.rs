//! Claims that grow, as the account of their release.

use serde_json::json;

use super::{By, Tenants};
use crate::claims::{Claims, entry};

#[tokio::test]
async fn claims_grow_with_the_rights_of_the_account_alone() {
    let Some(tenants) = Tenants::new("claims_grow_as_the_account", By::Both).await else {
        return;
    };
    let bench = &tenants.bench;
    let claims = Claims::of(bench, true).await;
    let mut entry = entry(bench);
    entry["serviceAccountName"] = "deployer".into();
    entry["confine"] = json!({"kinds": {"allow": ["StatefulSet.apps", "PersistentVolumeClaim"]}});
    bench.watches(&json!([entry]).to_string());
    tenants.generate_roles().await;
    let operator = tenants.operator(&[]).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let names = ["data-shop-0", "data-shop-1"].map(str::to_owned);
    claims.bind(&names).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    bench.wait_revision("shop", 2).await;
    for name in &names {
        assert_eq!(claims.size(name).await, "2Gi", "{name}");
    }
    let sent = tenants.sent_since(mark).await;
    let of_claims = sent.filter(|request| request.resource == "persistentvolumeclaims");
    let account = Tenants::account(&bench.namespace);
    assert!(of_claims.requests.len() >= 5, "{of_claims}");
    for request in &of_claims.requests {
        assert_eq!(request.user, account, "{request:?}");
    }
    operator.stop().await.unwrap();
}
