//! What others do while a run is under way.

use kube::api::DeleteParams;
use serde_json::json;

use super::{MAP, Roles, says};

#[tokio::test]
async fn what_is_deleted_in_the_midst_of_a_run_is_put_back() {
    let test = "what_is_deleted_in_the_midst_of_a_run_is_put_back";
    let wait = "
- ansible.builtin.shell: until test -e {{ runs_file }}.{{ message_text }}; do sleep 0.1; done
";
    let Some(roles) = Roles::new(test, &format!("{MAP}{wait}"), "").await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator().await;
    // From the first run on its kind is watched.
    roles.write("runs.one", "");
    bench.apply_web("shop", says("one")).await;
    roles.wait_done("shop").await;
    bench.patch_web("shop", json!({"spec": says("two")})).await;
    roles.wait_map("shop", "two").await;
    let deleted = bench
        .config_maps()
        .delete("shop-made", &DeleteParams::default())
        .await;
    deleted.expect("it is there");
    roles.write("runs.two", "");
    roles.wait_runs(3).await;
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    roles.stays_at(3).await;
    operator.stop().await.unwrap();
}
