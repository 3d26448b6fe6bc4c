//! Checks of the flags, before anything else happens.

use anyhow::anyhow;
use steersman_chart::Notice;
use steersman_chart::template::name_from_template;
use steersman_watches::world::SystemWorld;

use super::super::arguments::parse_bool;
use super::super::{Failure, helm};
use super::Args;

/// The name of a release that is given none.
const DEFAULT_NAME: &str = "release-name";

/// Says what Helm says of flags that are out of use, and of values of flags that are.
pub(super) fn warn_of_flags(arguments: &Args) {
    for (is_used, flag, advice) in arguments.installing.deprecated() {
        helm::deprecated(is_used, flag, advice);
    }
    helm::deprecated(
        arguments.rendering.validate,
        "validate",
        "use '--dry-run=server' instead",
    );
    let wait = |value: &str, strategy: &str| {
        helm::log(&Notice::warning(format!(
            "--wait={value} is deprecated (boolean value) and can be replaced with --wait={strategy}"
        )));
    };
    match arguments.installing.wait.as_deref() {
        Some("true") => wait("true", "watcher"),
        Some("false") => wait("false", "hookOnly"),
        _ => {}
    }
}

/// Refuses flags that contradict each other, and those that cannot be obeyed here.
pub(super) fn check_flags(arguments: &Args) -> Result<(), Failure> {
    helm::check_count(
        !arguments.name_and_chart.is_empty() || arguments.watching.watch.is_some(),
        "template",
        "requires at least 1 argument",
        "[NAME] [CHART]",
    )?;
    let rendering = &arguments.rendering;
    let both = rendering.validate && rendering.dry_run.is_some();
    if let Some(group) = both
        .then_some("validate dry-run")
        .or(arguments.installing.contradiction())
    {
        let mut given: Vec<&str> = group.split(' ').collect();
        given.sort_unstable();
        return Err(Failure::helm(anyhow!(
            "if any flags in the group [{group}] are set none of the others can be; [{}] were all set",
            given.join(" ")
        )));
    }
    let output = &arguments.output;
    if output.post_renderer.as_ref().is_some_and(|name| !name.is_empty()) {
        return Err(Failure::helm_with_hint(
            anyhow!("--post-renderer is not supported"),
            "post-renderers are plugins of Helm; pipe the output through the program instead",
        ));
    }
    Ok(())
}

/// Whether the cluster is to be asked.
pub(super) fn asks_server(arguments: &Args) -> Result<bool, Failure> {
    let given = arguments.rendering.dry_run.as_deref().unwrap_or("client");
    let refused =
        |choices: &str| Failure::helm(anyhow!("invalid dry-run value ({given:?}). Must be {choices}"));
    match given {
        "client" => Ok(arguments.rendering.validate),
        "server" => Ok(true),
        "unset" => {
            helm::log(&Notice::warning(
                "--dry-run is deprecated and should be replaced with '--dry-run=client'",
            ));
            Ok(false)
        }
        "none" => Err(refused("\"server\" or \"client\"")),
        _ => match parse_bool(given) {
            Ok(true) => {
                helm::log(&Notice::warning(
                    "boolean '--dry-run=true' flag is deprecated and must be replaced with '--dry-run=client'",
                ));
                Ok(false)
            }
            Ok(false) => Err(refused("\"server\" or \"client\"")),
            Err(_) => Err(refused("\"none\", \"server\", or \"client\"")),
        },
    }
}

/// The name of the release, and the chart.
pub(super) fn name_and_chart(arguments: &Args) -> Result<(String, String), Failure> {
    let flags = &arguments.release;
    let given = &arguments.name_and_chart;
    if let [_, _, unexpected @ ..] = given.as_slice()
        && !unexpected.is_empty()
    {
        return Err(Failure::helm(anyhow!(
            "expected at most two arguments, unexpected arguments: {}",
            unexpected.join(", ")
        )));
    }
    let template = flags
        .name_template
        .as_ref()
        .filter(|template| !template.is_empty());
    match given.as_slice() {
        [_, _] if flags.generate_name => Err(Failure::helm(anyhow!(
            "cannot set --generate-name and also specify a name"
        ))),
        [_, _] if template.is_some() => Err(Failure::helm(anyhow!(
            "cannot set --name-template and also specify a name"
        ))),
        [name, chart] => Ok((name.clone(), chart.clone())),
        [chart] => match template {
            Some(template) => {
                let name = name_from_template(template, &SystemWorld);
                Ok((
                    name.map_err(|message| Failure::helm(anyhow!(message)))?,
                    chart.clone(),
                ))
            }
            None => Ok((DEFAULT_NAME.to_owned(), chart.clone())),
        },
        _ => Err(Failure::helm(anyhow!("no chart is given"))),
    }
}

/// Refuses labels that Helm keeps for itself.
pub(super) fn check_labels(labels: &[String]) -> Result<(), Failure> {
    const OF_THE_SYSTEM: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];
    let key = |label: &String| label.split('=').next().unwrap_or_default().to_owned();
    if labels
        .iter()
        .any(|label| OF_THE_SYSTEM.contains(&key(label).as_str()))
    {
        return Err(Failure::helm(anyhow!(
            "user supplied labels contains system reserved label name. System labels: [{}]",
            OF_THE_SYSTEM.join(" ")
        )));
    }
    Ok(())
}
