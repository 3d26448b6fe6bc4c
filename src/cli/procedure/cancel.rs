//! `procedure cancel`: asks the operator to end a run.

use anyhow::anyhow;
use steersman_model::Environment;
use steersman_watches::procedure::names::CANCEL;

use super::OfRun;
use super::kinds::FoundRun;
use crate::cli::Failure;
use crate::cli::cluster::block_on;
use crate::cli::report::print_line;
use crate::cli::style::harmless;

/// Writes the annotation that says it.
pub(super) fn exec(of: &OfRun, environment: &Environment) -> Result<(), Failure> {
    let words = block_on(async {
        let cluster = of.cluster.connect(environment).await?;
        let mut found = FoundRun::read(&cluster, &of.run).await?;
        let run = found.view();
        let words = harmless(&run.words());
        if run.is_over() {
            let error = anyhow!("{words} has ended already: it is {}", harmless(run.phase()));
            return Err(Failure::failed(error, None));
        }
        // It is to be cancelled whatever the operator has written meanwhile.
        found.object.metadata.resource_version = None;
        let asked = cluster.annotate(&found.resource, &found.object, CANCEL, Some("true"));
        asked.await.map_err(|error| {
            let attempt = format!("failed to annotate {words}");
            anyhow!(error).context(attempt)
        })?;
        Ok(words)
    })?;
    print_line(&format!("{words} is asked to end"))
}
