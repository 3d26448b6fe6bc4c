//! Waits for the end of a run, and tells of its steps.

use std::time::Duration;

use anyhow::anyhow;
use kube::api::{Api, DynamicObject};
use steersman_cluster::RequestError;
use tokio::time::Instant;

use super::kinds::RunKind;
use super::news::Told;
use super::view::RunView;
use crate::cli::Failure;
use crate::cli::report::print_line;
use crate::cli::style::Style;

/// How often a run is looked at.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// A run whose end is waited for.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    pub(super) api: &'a Api<DynamicObject>,
    pub(super) kind: &'a RunKind,
    /// Another run that has its name is another one.
    pub(super) uid: Option<&'a str>,
    pub(super) name: &'a str,
}

/// The run as it was last seen: at its end, or when the time is over.
pub(super) async fn wait(watched: &Watched<'_>, timeout: Duration, style: Style) -> Result<RunView, Failure> {
    let deadline = Instant::now() + timeout;
    let mut told = Told::default();
    loop {
        let is_time_over = Instant::now() >= deadline;
        match watched.read().await {
            Ok(run) => {
                for news in told.news(&run) {
                    print_line(&news.line(style))?;
                }
                if run.is_over() || is_time_over {
                    return Ok(run);
                }
            }
            Err(error) if error.is_transient() && !is_time_over => {}
            Err(error) => return Err(watched.lost(error)),
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        tokio::time::sleep(PAUSE.min(rest)).await;
    }
}

impl Watched<'_> {
    async fn read(&self) -> Result<RunView, RequestError> {
        let object = self.api.get(self.name).await?;
        if object.metadata.uid.as_deref() != self.uid {
            return Err(RequestError {
                code: 404,
                ..RequestError::local("another run has this name now")
            });
        }
        Ok(RunView::of(&self.kind.api.kind, &self.kind.procedure, &object))
    }

    fn lost(&self, error: RequestError) -> Failure {
        let (kind, name) = (&self.kind.api.kind, self.name);
        if error.is_not_found() {
            let error = anyhow!("{kind} {name} was deleted before its end was seen");
            return Failure::failed(error, None);
        }
        Failure::failed(
            anyhow!(error).context(format!("failed to read {kind} {name}")),
            None,
        )
    }
}
