//! `test-release`: asks the operator for the tests of a release, and waits for what comes of them.

use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_model::{Environment, parse_duration};
use steersman_watches::controls::{TEST, test_request};
use tokio::time::Instant;

use super::Failure;
use super::cluster::{Cluster, ClusterFlags, Named, block_on, failed};
use super::progress::begin;
use super::report::print_line;
use super::style::harmless;

/// How often the resource is looked at.
const PAUSE: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  # Run the tests of a release, as with `helm test`
  steersman test-release visitorssite/museum

  # The same, for no longer than two minutes
  steersman test-release visitorssite/museum --timeout 2m

Exit codes:
  0  all tests have succeeded
  1  a test has failed
  2  that could not be found out";

/// What `test-release` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A custom resource: KIND/NAME, or KIND NAME
    #[arg(value_name = "RESOURCE", required = true, num_args = 1..=2)]
    resource: Vec<String>,
    /// How long to wait for the tests; the operator goes on with them
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_timeout)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// Asks for the tests, waits for their end, and prints it.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    // The exit code 1 says that a test has failed, so it can't say that something else did.
    let end = run(arguments, environment).map_err(Failure::into_trouble)?;
    print_line(&harmless(&end.message))?;
    if end.has_succeeded {
        Ok(())
    } else {
        Err(Failure::Silent)
    }
}

/// What has come of the tests.
#[derive(Debug, PartialEq, Eq)]
struct End {
    has_succeeded: bool,
    message: String,
}

fn run(arguments: &Args, environment: &Environment) -> Result<End, Failure> {
    let named = Named::read(&arguments.resource)?;
    let [named] = named.as_slice() else {
        let error = anyhow!("one resource is tested at a time");
        return Err(Failure::usage(error, None));
    };
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let served = cluster.discovery.served().await.map_err(failed)?;
        let (kind, resource) = Cluster::kind(&served, &named.kind, |_| false)?;
        let mut object = cluster.get(&kind, &resource, &named.name).await?;
        // A request is one whatever else has changed since.
        object.metadata.resource_version = None;
        let api = cluster.api(&resource, None);
        let request = Timestamp::now().to_string();
        let asked = cluster.annotate(&resource, &object, TEST, Some(&request)).await;
        asked.map_err(|error| {
            let asked = format!("failed to ask for the tests of {} {}", kind.kind, named.name);
            anyhow!(error).context(asked)
        })?;
        let _waiting = begin(format!("the tests of {} {} run", kind.kind, named.name));
        wait(&api, &named.name, &request, Instant::now() + arguments.timeout).await
    })
}

/// Waits until the status says what has come of the request.
async fn wait(
    api: &Api<DynamicObject>,
    name: &str,
    request: &str,
    deadline: Instant,
) -> Result<End, Failure> {
    loop {
        let found = api.get(name).await.map_err(RequestError::from);
        let object = match found {
            Ok(object) => Some(object),
            Err(error) if error.is_transient() && Instant::now() < deadline => None,
            Err(error) => return Err(failed(error)),
        };
        let asked = object
            .as_ref()
            .and_then(|object| test_request(object.metadata.annotations.as_ref()));
        let is_asked = object.is_none() || asked == Some(request);
        let status = object
            .as_ref()
            .and_then(|object| object.data.get("status").cloned());
        let status = status.unwrap_or_default();
        if let Some(end) = end_of(&status, request) {
            return Ok(end);
        }
        if let Some(held) = held(&status) {
            return Err(Failure::failed(anyhow!("the tests do not begin: {held}"), None));
        }
        if is_of_past_revision(&status, request) {
            let error =
                anyhow!("another revision was deployed before it was seen what has come of the tests");
            let hint = "`kubectl events` shows it".to_owned();
            return Err(Failure::failed(error, Some(hint)));
        }
        if !is_asked && is_overtaken(&status, request, asked) {
            let error = anyhow!("another request for tests has taken the place of this one");
            let hint = "`steersman status` shows what has come of that one".to_owned();
            return Err(Failure::failed(error, Some(hint)));
        }
        if Instant::now() >= deadline {
            let why = state_of(&status, request);
            let hint = "`steersman status` shows more, and the operator goes on".to_owned();
            return Err(Failure::failed(
                anyhow!("the tests have not ended: {why}"),
                Some(hint),
            ));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What the status says has come of this request; `None` where it says nothing of it yet.
fn end_of(status: &Value, request: &str) -> Option<End> {
    if status["lastHandledTest"] != request {
        return None;
    }
    let condition = condition(status, "TestSuccess")?;
    let has_succeeded = match condition["status"].as_str()? {
        "True" => true,
        "False" => false,
        _ => return None,
    };
    Some(End {
        has_succeeded,
        message: condition["message"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Whether the tests that were asked for are those of an earlier revision than the deployed one.
fn is_of_past_revision(status: &Value, request: &str) -> bool {
    let is_deployed = condition(status, "Deployed").is_some_and(|deployed| deployed["status"] == "True");
    status["lastHandledTest"] == request && is_deployed && condition(status, "TestSuccess").is_none()
}

/// Whether the operator has acted on the later request, which the resource has now, or on none before that was taken away.
fn is_overtaken(status: &Value, request: &str, later: Option<&str>) -> bool {
    let handled = status["lastHandledTest"].as_str();
    handled != Some(request) && (later.is_none() || handled == later)
}

/// How far the request is, as the status says.
fn state_of(status: &Value, request: &str) -> String {
    if status["lastHandledTest"] == request
        && let Some(message) = message_of(status, "TestSuccess")
    {
        return message;
    }
    let ready = message_of(status, "Ready");
    let why = ready.unwrap_or_else(|| "no operator has said anything of the resource".to_owned());
    format!("those that were asked for have not begun; {why}")
}

/// Why the operator does not act on the resource, where it says so.
fn held(status: &Value) -> Option<String> {
    message_of(status, "Paused")
}

fn message_of(status: &Value, kind: &str) -> Option<String> {
    let message = condition(status, kind)?["message"].as_str()?;
    Some(message.to_owned())
}

fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = status.get("conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_end_of_what_was_asked_for_counts() {
        let status = |handled: &str, status: &str| {
            json!({"lastHandledTest": handled, "conditions": [
                {"type": "Ready", "status": "True", "message": "ready"},
                {"type": "TestSuccess", "status": status, "message": "said"},
            ]})
        };
        let end = |has_succeeded| {
            Some(End {
                has_succeeded,
                message: "said".to_owned(),
            })
        };
        assert_eq!(end_of(&status("1", "True"), "1"), end(true));
        assert_eq!(end_of(&status("1", "False"), "1"), end(false));
        assert_eq!(end_of(&status("1", "Unknown"), "1"), None);
        assert_eq!(end_of(&status("0", "False"), "1"), None);
        assert_eq!(end_of(&Value::Null, "1"), None);
        let deployed = json!({"type": "Deployed", "status": "True"});
        let past = json!({"lastHandledTest": "1", "conditions": [deployed]});
        assert!(is_of_past_revision(&past, "1") && !is_of_past_revision(&past, "2"));
        assert!(!is_of_past_revision(&status("1", "Unknown"), "1"));
        let failed = json!({"lastHandledTest": "0", "conditions": [
            {"type": "TestSuccess", "status": "False", "message": "has failed"},
            {"type": "Ready", "status": "True", "message": "is ready"},
        ]});
        assert_eq!(state_of(&failed, "0"), "has failed");
        let waiting = "those that were asked for have not begun; is ready";
        assert_eq!(
            state_of(&failed, "1"),
            waiting,
            "what an earlier one has come to is none of its business"
        );
        assert!(is_overtaken(&status("2", "True"), "1", Some("2")));
        assert!(
            !is_overtaken(&status("0", "True"), "1", Some("2")),
            "nobody has acted on either"
        );
        assert!(!is_overtaken(&status("1", "Unknown"), "1", Some("2")), "it runs");
        assert!(is_overtaken(&status("0", "True"), "1", None));
        let paused = json!({"conditions": [{"type": "Paused", "status": "True", "message": "held"}]});
        assert_eq!(held(&paused).as_deref(), Some("held"));
    }
}
