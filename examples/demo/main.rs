//! The main job, from nothing: a control plane, the operator of this repository, one custom resource, and the
//! objects it becomes. `make demo` runs it; `make demo ONCE=1` also checks what came out, and ends.
#![expect(clippy::print_stdout, reason = "the screen is what this program is for")]

mod assets;
mod checks;
mod log;
mod screen;
mod site;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use steersman_testkit::cluster::{ControlPlane, OperatorCommand, OperatorProcess, User};
use tokio::signal::unix::{SignalKind, signal};

use screen::Screen;
use site::Site;

/// The user whom the role in `deploy/rbac` is bound to: the demo shows that this role is enough.
const OPERATOR_USER: &str = "system:serviceaccount:visitors-operator-system:visitors-operator";

/// How long the release may take to be deployed.
const DEPLOYED_WITHIN: Duration = Duration::from_mins(1);

/// Boots a Kubernetes API, runs the example operator on it, and creates a VisitorsSite.
#[derive(Parser)]
struct Arguments {
    /// Check the result and exit, instead of waiting for Ctrl-C
    #[arg(long)]
    once: bool,
    /// Use the cluster of this kubeconfig instead of starting a control plane
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let screen = Screen::for_stdout();
    // The control plane and the operator stop when their values are dropped, so Ctrl-C only has to win the race.
    let outcome = tokio::select! {
        outcome = run(&arguments, &screen) => outcome,
        () = interrupted() => {
            screen.line("");
            screen.done("stopped", "operator and control plane have ended, nothing is left behind");
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.failed(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments, screen: &Screen) -> Result<()> {
    screen.title("Steersman: a Helm chart as an operator");
    let cluster = start_cluster(arguments.kubeconfig.as_deref(), screen).await?;
    let user = prepare(&cluster, screen).await?;
    let operator = start_operator(&user, arguments.once, screen).await?;
    let site = create_site(&cluster, screen).await?;

    let begun = Instant::now();
    site.wait_until_deployed(DEPLOYED_WITHIN, screen)
        .await
        .with_context(|| format!("the operator's log is {}", operator.log().display()))?;
    screen.done(
        "release",
        &format!("deployed after {:.1} s", begun.elapsed().as_secs_f32()),
    );

    screen.line("");
    tree::print(&site, screen).await?;
    screen.line("");
    screen.note("No node runs on this control plane, so no pod does: objects are real, but workloads stay at 0 ready,");
    screen.note("and Ready stays False until somebody runs them. On your cluster it turns True.");
    screen.line("");

    let has_helm = assets::has_helm(&cluster).await;
    if arguments.once {
        checks::run(&cluster, &site, has_helm, screen).await?;
        operator.stop().await?;
        screen.done("demo", "everything behaves; stopping");
        return Ok(());
    }
    print_next_steps(&cluster, &operator, has_helm, screen);
    log::follow(&operator, screen).await
}

async fn start_cluster(kubeconfig: Option<&Path>, screen: &Screen) -> Result<ControlPlane> {
    if let Some(path) = kubeconfig {
        screen.done(
            "cluster",
            &format!("{} (existing; objects of the demo stay on it)", path.display()),
        );
        return Ok(ControlPlane::existing(path)?);
    }
    let begun = Instant::now();
    let assets = tokio::task::spawn_blocking(assets::find_or_build).await??;
    let cluster = tokio::task::spawn_blocking(move || ControlPlane::start(&assets)).await??;
    let version = cluster.client().await?.apiserver_version().await?.git_version;
    let took = begun.elapsed().as_secs_f32();
    screen.done(
        "cluster",
        &format!("Kubernetes {version} (etcd, API server, controllers; no node) in {took:.1} s"),
    );
    Ok(cluster)
}

/// Applies the definition of the resource, and the operator's role.
async fn prepare(cluster: &ControlPlane, screen: &Screen) -> Result<User> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    apply(cluster, &deploy.join("crds/visitorssites.example.com.yaml")).await?;
    cluster
        .kubectl(&[
            "wait",
            "--for=condition=Established",
            "crd/visitorssites.example.com",
            "--timeout=30s",
        ])
        .await?;
    screen.done("resource", "VisitorsSite (visitorssites.example.com) is served");

    cluster
        .apply("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: visitors-operator-system\n")
        .await?;
    for file in ["service_account.yaml", "role.yaml", "role_binding.yaml"] {
        apply(cluster, &deploy.join("rbac").join(file)).await?;
    }
    Ok(cluster.user(OPERATOR_USER, &[])?)
}

async fn apply(cluster: &ControlPlane, file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    cluster
        .apply(&text)
        .await
        .with_context(|| format!("failed to apply {}", file.display()))?;
    Ok(())
}

async fn start_operator(user: &User, once: bool, screen: &Screen) -> Result<OperatorProcess> {
    let binary = binary()?;
    let log = binary.with_file_name("demo-operator.log");
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: &binary,
        folder: Path::new(env!("CARGO_MANIFEST_DIR")),
        kubeconfig: user.kubeconfig(),
        arguments: &[if once {
            "--zap-encoder=json"
        } else {
            "--zap-encoder=console"
        }],
        environment: &[],
        log: &log,
    })?;
    operator.wait_until_ready(Duration::from_secs(30)).await?;
    screen.done(
        "operator",
        "steersman run --watches-file ./watches.yaml, with just the role of deploy/rbac",
    );
    Ok(operator)
}

/// The operator was built beside this example, in the folder above that of the examples.
fn binary() -> Result<PathBuf> {
    let example = std::env::current_exe().context("failed to find this program")?;
    let folder = example
        .parent()
        .and_then(Path::parent)
        .context("this program has no folder")?;
    let binary = folder.join("steersman");
    if !binary.exists() {
        bail!(
            "{} is missing: run `cargo build` first, or `make demo`",
            binary.display()
        );
    }
    Ok(binary)
}

async fn create_site(cluster: &ControlPlane, screen: &Screen) -> Result<Site> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/samples/visitorssite.yaml");
    apply(cluster, &sample).await?;
    screen.done(
        "create",
        "VisitorsSite museum, from deploy/samples/visitorssite.yaml",
    );
    Ok(Site::new(cluster.client().await?, "default", "museum"))
}

fn print_next_steps(cluster: &ControlPlane, operator: &OperatorProcess, has_helm: bool, screen: &Screen) {
    screen.title("Try next, in another terminal");
    let kubeconfig = cluster.admin().kubeconfig().display();
    screen.command(&format!("export KUBECONFIG={kubeconfig}"), "");
    // Not everybody has a kubectl or Helm of this version.
    if let Some(folder) = assets::folder(cluster) {
        screen.command(&format!("export PATH={}:$PATH", folder.display()), "");
    }
    screen.command(
        r#"kubectl patch vsite museum --type=merge -p '{"spec":{"backend":{"replicas":3}}}'"#,
        "scale it: an upgrade to revision 2",
    );
    screen.command(
        "kubectl scale deployment museum-frontend --replicas=7",
        "break it: the drift is healed at once",
    );
    screen.command(
        "kubectl delete service museum-backend",
        "break it more: it comes back",
    );
    screen.command(
        "kubectl get vsite museum -o yaml",
        "what the operator says about it",
    );
    if has_helm {
        screen.command(
            "helm history museum; helm get values museum",
            "the release is Helm's own",
        );
    }
    screen.command("kubectl delete vsite museum", "delete it: nothing stays");
    screen.line("");
    screen.note(&format!(
        "Below is what the operator logs (all of it: {}).",
        operator.log().display()
    ));
    screen.note("Ctrl-C stops everything.");
    screen.line("");
}

/// Returns when the process is asked to end.
async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
