//! Runs, as the dashboard shows them.

use steersman_testkit::prometheus::PrometheusPrograms;

use super::{MAP, Roles, says};
use crate::dashboard::Watched;

#[tokio::test]
async fn each_panel_of_roles_has_an_answer() {
    let Some(programs) = PrometheusPrograms::find_or_skip() else {
        return;
    };
    let Some(roles) = Roles::new("each_panel_of_roles_has_an_answer", MAP, "").await else {
        return;
    };
    let operator = roles.operator().await;
    let watched = Watched::start(&programs, &operator);
    watched.answer("ansible_operator_reconciles_count").await;
    roles.bench.apply_web("shop", says("hello")).await;
    roles.wait_done("shop").await;
    watched.fills_panels(true).await;
    operator.stop().await.unwrap();
}
