//! The list, and a release in it.

use serde_json::json;

use super::{Page, read_until, site};
use crate::bench::condition;
use crate::drift::{edit, watch};

#[tokio::test]
async fn the_list_and_a_release_say_what_kubectl_says_and_change_by_themselves() {
    let Some(bench) = site("ui_list").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    bench.apply_web("broken", json!({ "broken": hostile })).await;
    bench.apply_web("shop", json!({})).await;
    let ready = bench.wait_revision("shop", 1).await;
    bench.wait_failed("broken", "Stalled").await;

    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let list = page.wait("/", &cookie, "Web shop").await;
    let list = page.wait("/", &cookie, "Web broken").await + &list[..0];
    let (broken, shop) = (list.find("Web broken").unwrap(), list.find("Web shop").unwrap());
    assert!(broken < shop, "the worst comes first: {list}");
    assert!(
        !list.contains("<script>alert") && !list.contains("<img"),
        "{list}"
    );
    assert!(
        list.contains("&#60;script&#62;") || list.contains("&lt;script&gt;"),
        "{list}"
    );
    let (_, reason, _) = condition(&ready, "Ready").unwrap();
    assert!(list.contains(&reason), "{reason}: {list}");
    let found = page.get("/?search=brok&health=stalled", &cookie).await.body;
    assert!(
        found.contains("Web broken") && !found.contains("Web shop"),
        "{found}"
    );

    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let release = page.wait(&address, &cookie, "Deployment shop").await;
    for part in [
        "ReplicaSet shop-",
        "Pod shop-",
        "Revision 1 of chart web",
        "History",
    ] {
        assert!(release.contains(part), "{part}: {release}");
    }
    let gone = page.get(&address.replace("/shop", "/nobody"), &cookie).await;
    assert_eq!(gone.status, 404, "{}", gone.body);

    // Without a reload.
    let mut of_list = page.send("GET /events?", &page.own(&cookie)).await;
    let mut of_release = page
        .send(&format!("GET {address}/events"), &page.own(&cookie))
        .await;
    read_until(&mut of_list, "Web shop").await;
    read_until(&mut of_release, "Deployment shop").await;
    bench.apply_web("later", json!({})).await;
    read_until(&mut of_list, "Web later").await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    read_until(&mut of_release, "Revision 2 of chart web").await;
    bench.delete_web("shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn drift_that_stays_is_in_the_list_and_on_the_page_of_its_release() {
    let Some(bench) = site("ui_drift").await else {
        return;
    };
    bench.watches(&watch(&bench, "{mode: warn}"));
    let operator = bench.ready_operator().await;
    for name in ["as-wanted", "shop"] {
        bench.apply_web(name, json!({})).await;
        bench.wait_revision(name, 1).await;
    }
    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    page.wait("/", &cookie, "Web shop").await;
    let mut list = page.send("GET /events?drift=any", &page.own(&cookie)).await;
    let scaled = json!({"spec": {"replicas": 7}});
    edit(&bench.deployments(), "shop", scaled).await;
    read_until(&mut list, "Web shop").await;
    let found = page.get("/", &cookie).await.body;
    let (shop, other) = (
        found.find("Web shop").unwrap(),
        found.find("Web as-wanted").unwrap(),
    );
    assert!(
        shop < other,
        "of two that are alike in all else it comes first: {found}"
    );
    let found = page.get("/?drift=any", &cookie).await.body;
    assert!(!found.contains("Web as-wanted"), "{found}");
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let release = page.get(&address, &cookie).await.body;
    let words = "1 object differs from what the release wants: Deployment";
    assert!(release.contains(words), "{release}");
    // Another revision puts it back.
    bench.apply_web("shop", json!({"message": "two"})).await;
    page.wait("/?drift=any", &cookie, "Nothing matches").await;
    operator.stop().await.unwrap();
}
