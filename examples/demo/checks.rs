//! What must hold in the demo, judged from outside the operator.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kube::ResourceExt as _;
use steersman_testkit::cluster::ControlPlane;

use crate::screen::Screen;
use crate::site::Site;
use crate::tree;

/// How long a change may take until it is seen.
const WITHIN: Duration = Duration::from_mins(1);

/// How many objects the example renders at least.
const OBJECTS: usize = 8;

pub(crate) async fn run(cluster: &ControlPlane, site: &Site, has_helm: bool, screen: &Screen) -> Result<()> {
    let namespace = site.namespace.as_str();

    let owner = site.get().await?.uid().unwrap_or_default();
    let live = tree::below(&owner, &tree::objects(site).await?).len();
    if has_helm {
        let rendered = cluster
            .helm(&["get", "manifest", &site.name, "-n", namespace])
            .await?;
        let rendered = rendered.lines().filter(|line| line.starts_with("kind: ")).count();
        ensure!(rendered >= OBJECTS, "the release has only {rendered} objects");
        // Beside the rendered objects the resource owns the hooks and the release's revisions.
        ensure!(
            live > rendered,
            "{rendered} objects are rendered, {live} are live"
        );
        screen.done(
            "check",
            &format!("Helm reads the release: {rendered} objects, all live"),
        );
    } else {
        ensure!(live > OBJECTS, "only {live} objects are live");
        screen.done(
            "check",
            &format!("{live} objects are live; Helm is not here, so it reads no release"),
        );
    }

    cluster
        .kubectl(&[
            "scale",
            "deployment",
            "museum-frontend",
            "--replicas=7",
            "-n",
            namespace,
        ])
        .await?;
    let took = eventually("the scaled Deployment is back at 2 replicas", async || {
        replicas(cluster, "museum-frontend", namespace)
            .await
            .is_ok_and(|count| count == "2")
    })
    .await?;
    screen.done("check", &format!("scaled by hand, healed after {took:.1} s"));

    cluster
        .kubectl(&["delete", "service", "museum-backend", "-n", namespace])
        .await?;
    let took = eventually("the deleted Service is back", async || {
        cluster
            .kubectl(&["get", "service", "museum-backend", "-n", namespace])
            .await
            .is_ok()
    })
    .await?;
    screen.done("check", &format!("deleted by hand, restored after {took:.1} s"));

    let patch = r#"{"spec":{"backend":{"replicas":3}}}"#;
    cluster
        .kubectl(&[
            "patch",
            "vsite",
            &site.name,
            "-n",
            namespace,
            "--type=merge",
            "-p",
            patch,
        ])
        .await?;
    let took = eventually("the upgrade arrives", async || {
        replicas(cluster, "museum-backend", namespace)
            .await
            .is_ok_and(|count| count == "3")
    })
    .await?;
    screen.done("check", &format!("spec changed, upgraded after {took:.1} s"));

    cluster
        .kubectl(&["delete", "vsite", &site.name, "-n", namespace, "--timeout=60s"])
        .await?;
    let took = eventually("nothing of the release is left", async || {
        tree::objects(site)
            .await
            .is_ok_and(|objects| tree::below(&owner, &objects).is_empty())
    })
    .await?;
    screen.done("check", &format!("deleted, nothing left after {took:.1} s"));
    Ok(())
}

async fn replicas(cluster: &ControlPlane, deployment: &str, namespace: &str) -> Result<String> {
    let path = "jsonpath={.spec.replicas}";
    cluster
        .kubectl(&["get", "deployment", deployment, "-n", namespace, "-o", path])
        .await
        .context("failed to read the replicas")
}

/// Asks until the answer is yes; gives the seconds it took.
async fn eventually(what: &str, holds: impl AsyncFn() -> bool) -> Result<f32> {
    let begun = Instant::now();
    while !holds().await {
        if begun.elapsed() > WITHIN {
            bail!("not within {WITHIN:?}: {what}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(begun.elapsed().as_secs_f32())
}
