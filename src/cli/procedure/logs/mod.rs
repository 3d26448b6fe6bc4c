//! `procedure logs`: what the Jobs of a run have written.

mod containers;
mod lines;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::anyhow;
use containers::Container;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use lines::End;
use steersman_cluster::RequestError;
use steersman_model::Environment;

use super::follow::PAUSE;
use super::kinds::FoundRun;
use super::view::{RunView, StepView};
use crate::cli::Failure;
use crate::cli::cluster::{Cluster, ClusterFlags, block_on};
use crate::cli::progress::say as say_aside;
use crate::cli::report::print_line;
use crate::cli::style::{Style, Tone, harmless};

/// The label of the pods of a Job.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

const EXAMPLES: &str = "\
Examples:
  # What all steps have written
  steersman procedure logs etcdclusterbackup/west-backup-x7f2p

  # What one writes, until it has ended
  steersman procedure logs etcdclusterbackup/west-backup-x7f2p --step upload --follow";

/// What `procedure logs` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The run: KIND/NAME, as `steersman procedure list` shows it
    #[arg(value_name = "RUN")]
    run: String,
    /// Print what this step alone has written
    #[arg(long, value_name = "NAME")]
    step: Option<String>,
    /// Go on with what is written, until the run has ended
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Prints the logs.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let style = Style::of(&std::io::stdout(), environment);
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let found = FoundRun::read(&cluster, &arguments.run).await?;
        let run = found.view();
        let Some(namespace) = run.namespace.clone() else {
            let error = anyhow!(
                "{} is in no namespace: which one its Jobs are in, its operator knows",
                harmless(&run.words())
            );
            let hint = "`kubectl logs --namespace NAMESPACE job/NAME` shows what one has written".to_owned();
            return Err(Failure::failed(error, Some(hint)));
        };
        let mut reader = Reader {
            pods: Api::namespaced(cluster.client.clone(), &namespace),
            jobs: Api::namespaced(cluster.client.clone(), &namespace),
            follow: arguments.follow,
            style,
            shown: BTreeSet::new(),
            missing: BTreeSet::new(),
            is_read: true,
        };
        reader.read(&cluster, found, arguments.step.as_deref()).await
    })
}

/// Where logs come from, and which were printed.
struct Reader {
    pods: Api<Pod>,
    jobs: Api<Job>,
    follow: bool,
    style: Style,
    /// Containers, by the UIDs of their pods.
    shown: BTreeSet<(String, Container)>,
    /// Jobs without pods.
    missing: BTreeSet<String>,
    /// Whether anybody reads what is printed.
    is_read: bool,
}

impl Reader {
    /// Prints what there is, and with `--follow` what comes until the run has ended.
    async fn read(
        &mut self,
        cluster: &Cluster,
        mut found: FoundRun,
        only: Option<&str>,
    ) -> Result<(), Failure> {
        loop {
            let run = found.view();
            // Of a run that has ended, everything is there that ever comes.
            let is_last = run.is_over() || is_step_over(&run, only) || !self.follow;
            for step in steps(&run, only)? {
                self.step(step).await?;
            }
            if is_last || !self.is_read {
                if self.shown.is_empty() && self.missing.is_empty() {
                    say_aside(nothing(&run));
                }
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
            found = again(cluster, found).await?;
        }
    }

    /// Prints what the pods of a step's Job have written that was not printed yet.
    async fn step(&mut self, step: &StepView) -> Result<(), Failure> {
        if step.job.is_empty() || !self.is_read {
            return Ok(());
        }
        let pods = self.pods_of(&step.job).await?;
        if pods.is_empty() {
            return self.job_without_pods(step).await;
        }
        for pod in &pods {
            let (name, uid) = (pod.metadata.name.as_deref(), pod.metadata.uid.as_deref());
            let (name, uid) = (name.unwrap_or_default(), uid.unwrap_or_default());
            let containers = containers::begun(pod);
            for container in &containers.begun {
                if !self.is_read || !self.shown.insert((uid.to_owned(), container.clone())) {
                    continue;
                }
                let mut heading = format!("step {}, job {}, pod {name}", step.name, step.job);
                if containers.are_several {
                    let _ = write!(heading, ", container {}", container.name);
                }
                print_line(&self.style.paint(Tone::Bold, &harmless(&heading)))?;
                self.container(name, container).await?;
            }
        }
        Ok(())
    }

    /// The pods of a Job, as they were made.
    async fn pods_of(&self, job: &str) -> Result<Vec<Pod>, Failure> {
        let of_job = ListParams::default().labels(&format!("{JOB_NAME}={job}"));
        let listed = self.pods.list(&of_job).await.map_err(|error| {
            let attempt = format!("failed to list the pods of job {}", harmless(job));
            anyhow!(RequestError::from(error)).context(attempt)
        })?;
        let mut pods = listed.items;
        let order = |pod: &Pod| {
            let created = pod.metadata.creation_timestamp.as_ref();
            (created.map(|time| time.0), pod.metadata.name.clone())
        };
        pods.sort_by_key(order);
        Ok(pods)
    }

    /// Says why there is nothing to print, where nothing will come.
    async fn job_without_pods(&mut self, step: &StepView) -> Result<(), Failure> {
        if self.missing.contains(&step.job) {
            return Ok(());
        }
        let job = self.jobs.get_opt(&step.job).await.map_err(|error| {
            let attempt = format!("failed to read job {}", harmless(&step.job));
            anyhow!(RequestError::from(error)).context(attempt)
        })?;
        let is = match job {
            None => "is gone, and what it has written with it",
            Some(_) if self.follow => return Ok(()),
            Some(_) => "has no pods",
        };
        self.missing.insert(step.job.clone());
        let heading = format!("step {}, job {}", step.name, step.job);
        let heading = self.style.paint(Tone::Bold, &harmless(&heading));
        print_line(&format!("{heading}: the Job {is}"))
    }

    /// Prints what a container has written, and with `--follow` what it writes until it has ended. A log that has ended may have been
    /// broken off on its way, so that its rest is asked for.
    async fn container(&mut self, pod: &str, container: &Container) -> Result<(), Failure> {
        let mut last = None;
        let mut goes_on = self.follow;
        loop {
            let printed = lines::print(&self.pods, pod, &container.name, goes_on, &mut last);
            match printed.await? {
                End::Whole if !goes_on => return Ok(()),
                End::Whole => goes_on = self.runs(pod, container).await,
                End::Unread => {
                    self.is_read = false;
                    return Ok(());
                }
                End::Refused(error) => {
                    say_aside(&format!(
                        "what container {} of pod {} has written can't be read: {error}",
                        harmless(&container.name),
                        harmless(pod)
                    ));
                    return Ok(());
                }
            }
            if goes_on {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn runs(&self, pod: &str, container: &Container) -> bool {
        let found = self.pods.get(pod).await;
        found.is_ok_and(|found| containers::runs(&found, container))
    }
}

/// The steps that are meant.
fn steps<'a>(run: &'a RunView, only: Option<&str>) -> Result<Vec<&'a StepView>, Failure> {
    let Some(only) = only else {
        return Ok(run.steps.iter().collect());
    };
    let found: Vec<&StepView> = run.steps.iter().filter(|step| step.name == only).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let error = anyhow!("{} has no step `{}`", harmless(&run.words()), only.escape_debug());
    let names: Vec<&str> = run.steps.iter().map(|step| step.name.as_str()).collect();
    let hint = if names.is_empty() {
        "its status says of no steps".to_owned()
    } else {
        format!("there are {}", harmless(&names.join(", ")))
    };
    Err(Failure::failed(error, Some(hint)))
}

/// Whether the only step that is meant has come to its end; one that has failed may be begun again.
fn is_step_over(run: &RunView, only: Option<&str>) -> bool {
    let step = only.and_then(|only| run.steps.iter().find(|step| step.name == only));
    step.is_some_and(|step| matches!(step.state.as_str(), "Succeeded" | "Skipped"))
}

/// Why nothing at all was printed.
fn nothing(run: &RunView) -> &'static str {
    if run.steps.iter().all(|step| step.job.is_empty()) {
        "no step has made a Job"
    } else {
        "no container has begun"
    }
}

/// The run as it is now.
async fn again(cluster: &Cluster, found: FoundRun) -> Result<FoundRun, Failure> {
    let name = found.object.metadata.name.clone().unwrap_or_default();
    let api = cluster.api(&found.resource, found.object.metadata.namespace.as_deref());
    match api.get(&name).await.map_err(RequestError::from) {
        Ok(object) => Ok(FoundRun { object, ..found }),
        Err(error) if error.is_transient() => Ok(found),
        Err(error) => {
            let attempt = format!("failed to read {} {name}", found.api.kind);
            Err(anyhow!(error).context(attempt).into())
        }
    }
}
