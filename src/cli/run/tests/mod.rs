mod ansible;

use clap::Parser;
use expect_test::{Expect, expect};
use steersman_model::Environment;
use steersman_operator::config::Config;

use super::flags::Args;
use crate::cli::program::Program;

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Args,
}

fn config(flags: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let words = ["steersman", "run"]
        .into_iter()
        .chain(flags.split_whitespace())
        .map(Into::into)
        .collect();
    let words = crate::cli::arguments::normalize(words).into_iter().skip(1);
    let program = CommandLine::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    })?;
    let environment: Environment = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    program
        .arguments
        .into_config(&environment, false, Program::Steersman)
        .map_err(|error| error.to_string())
}

/// What the flags mean, as far as it differs from the defaults.
fn check(flags: &str, variables: &[(&str, &str)], expect: &Expect) {
    let default = format!("{:#?}", config("--max-concurrent-reconciles=2", &[]).unwrap());
    let said = match config(&format!("--max-concurrent-reconciles=2 {flags}"), variables) {
        Err(error) => format!("{error}\n"),
        Ok(config) => {
            let config = format!("{config:#?}");
            let lines = config.lines().map(str::trim);
            let new = lines.filter(|line| !default.lines().any(|other| other.trim() == *line));
            new.flat_map(|line| [line, "\n"]).collect()
        }
    };
    expect.assert_eq(&said);
}

#[test]
fn the_defaults_are_those_of_helm_operator() {
    expect![[r#"
        Config {
            watches_file: "./watches.yaml",
            reconcile_period: Some(
                60s,
            ),
            max_concurrent_reconciles: 2,
            max_concurrent_in_all: None,
            metrics_address: Some(
                [::]:8080,
            ),
            metrics_access: Plain,
            health_address: Some(
                [::]:8081,
            ),
            leader_election: None,
            releases: ReleasePolicy {
                history_max: Some(
                    10,
                ),
                hook_timeout: Some(
                    300s,
                ),
                rollback_on_failure: false,
            },
            runs: RunDefaults {
                verbosity: 2,
                command_line: "",
                time_limit: Some(
                    3600s,
                ),
                gathers_facts: true,
                inventory: Localhost {
                    interpreter: None,
                },
                marks: Full,
                log: TaskLogOptions {
                    events: Tasks,
                    is_verbose: false,
                    shows_output: false,
                },
                permissions_file: None,
                environment: {},
            },
            ansible: AnsibleConfig {
                reconcile_period: Some(
                    36000s,
                ),
                max_runs: OfMemory,
                proxy_port: 0,
                metrics_port: Wanted(
                    5050,
                ),
            },
            dry_run: false,
            default_service_account: None,
            suppress_override_values: false,
            namespaces: All,
            place: Outside,
            own_namespace: None,
            shutdown_grace: 9s,
            follow_files: true,
            kubeconfig: None,
            log: LogOptions {
                encoder: Json,
                verbosity: Info,
                time: Rfc3339,
            },
            notices: [],
        }
    "#]]
    .assert_eq(&format!(
        "{:#?}\n",
        config("--max-concurrent-reconciles=2", &[]).unwrap()
    ));
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of them are what the flags come to")]
fn flags_are_written_as_in_go() {
    check(
        "--watches-file=a.yaml --reconcile-period 30s",
        &[],
        &expect![[r#"
            watches_file: "a.yaml",
            30s,
            30s,
        "#]],
    );
    check(
        "-watches-file=a.yaml -suppress-override-values",
        &[],
        &expect![[r#"
            watches_file: "a.yaml",
            suppress_override_values: true,
        "#]],
    );
    check("--suppress-override-values=false", &[], &expect![[""]]);
    check(
        "--history-max=0 --hook-timeout=0 --rollback-on-failure",
        &[],
        &expect![[r"
            history_max: None,
            hook_timeout: None,
            rollback_on_failure: true,
        "]],
    );
    check(
        "--hook-timeout=soon",
        &[],
        &expect![[r"
            --hook-timeout: `soon` is not a duration such as `30s`, `1m30s` or `2h`
        "]],
    );
    check(
        "--default-service-account=deployer",
        &[],
        &expect![[r#"
            default_service_account: Some(
            "deployer",
        "#]],
    );
    check(
        "--default-service-account=",
        &[],
        &expect![[r"
            --default-service-account: `` is not the name of a ServiceAccount
        "]],
    );
    check(
        "--suppress-override-values=T",
        &[],
        &expect![[r"
        suppress_override_values: true,
    "]],
    );
    check(
        "--suppress-override-values=yes",
        &[],
        &expect![[r"
        error: invalid value 'yes' for '--suppress-override-values[=<BOOL>]': expected true or false
    "]],
    );
    check(
        "--reconcile-period 1s --reconcile-period 0",
        &[],
        &expect![[r"
            reconcile_period: None,
            reconcile_period: None,
        "]],
    );
    check(
        "--leader-elect true --leader-election-id=x",
        &[],
        &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "x",
            namespace: None,
            times: LeaseTimes {
            duration: 15s,
            renew_deadline: 10s,
            notices: [
            "argument `true` is ignored; a value belongs to its flag with `=`",
            ],
        "#]],
    );
    check(
        "--no-such-flag",
        &[],
        &expect![[r"
        error: unexpected argument '--no-such-flag' found
    "]],
    );
    check(
        "--config=x",
        &[],
        &expect![[r"
        error: unexpected argument '--config' found
    "]],
    );
}

#[test]
fn wrong_values_are_named_all_at_once() {
    check(
        "--reconcile-period=60 --metrics-bind-address=8080 --health-probe-bind-address=x:y",
        &[("WATCH_NAMESPACE", ",")],
        &expect![[r"
            --reconcile-period: `60` has no unit; write `60s`, `60m` or `60h`
            --metrics-bind-address: `8080` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)
            --health-probe-bind-address: `x:y` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)
            WATCH_NAMESPACE: `,` names no namespace; leave it empty to watch all namespaces
        "]],
    );
    check(
        "--max-concurrent-reconciles=many",
        &[],
        &expect![[r"
        error: invalid value 'many' for '--max-concurrent-reconciles <NUMBER>': invalid digit found in string
    "]],
    );
    check(
        "--zap-log-level=loud",
        &[],
        &expect![[r"
        error: invalid value 'loud' for '--zap-log-level <LEVEL>': `loud` is none of `debug`, `info`, `error`, `panic` and the numbers above zero
    "]],
    );
    check(
        "--zap-encoder=xml",
        &[],
        &expect![[r"
        error: invalid value 'xml' for '--zap-encoder <ENCODER>': `xml` is none of `json`, `console`
    "]],
    );
    check(
        "--zap-time-encoding=moon",
        &[],
        &expect![[r"
        error: invalid value 'moon' for '--zap-time-encoding <ENCODING>': `moon` is none of `epoch`, `millis`, `nanos`, `iso8601`, `rfc3339`, `rfc3339nano`
    "]],
    );
}

#[test]
fn old_names_work_and_exclude_the_new_ones() {
    check(
        "--metrics-addr=:9090",
        &[],
        &expect![[r#"
        [::]:9090,
        notices: [
        "flag `--metrics-addr` is deprecated; use `--metrics-bind-address`",
        ],
    "#]],
    );
    check(
        "--metrics-addr=:9090 --metrics-bind-address=:9091",
        &[],
        &expect![[r"
            --metrics-addr: is an old name of --metrics-bind-address; give only that one
        "]],
    );
    check(
        "--enable-leader-election --leader-election-id=x",
        &[],
        &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "x",
            namespace: None,
            times: LeaseTimes {
            duration: 15s,
            renew_deadline: 10s,
            notices: [
            "flag `--enable-leader-election` is deprecated; use `--leader-elect`",
            ],
        "#]],
    );
    check(
        "--enable-leader-election --leader-elect --leader-election-id=x",
        &[],
        &expect![[r"
            --enable-leader-election: is an old name of --leader-elect; give only that one
        "]],
    );
}

#[test]
fn addresses_can_be_turned_off() {
    check(
        "--metrics-bind-address=0 --health-probe-bind-address=0",
        &[],
        &expect![[r"
            metrics_address: None,
            health_address: None,
        "]],
    );
}

#[test]
fn metrics_can_be_guarded() {
    check(
        "--metrics-secure",
        &[],
        &expect![[r"
        metrics_access: Tls,
    "]],
    );
    check(
        "--metrics-secure --metrics-require-rbac",
        &[],
        &expect![[r"
        metrics_access: TlsWithRbac,
    "]],
    );
}

#[test]
fn rbac_for_metrics_needs_tls() {
    check(
        "--metrics-require-rbac",
        &[],
        &expect![[r"
        --metrics-require-rbac: needs --metrics-secure: a token must not be sent in the clear
    "]],
    );
}

#[test]
fn a_leader_needs_the_name_of_a_lease() {
    check(
        "--leader-elect",
        &[],
        &expect![[r"
        --leader-elect: needs --leader-election-id, the name of the Lease
    "]],
    );
    check(
        "--leader-elect",
        &[("OPERATOR_NAME", "old")],
        &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "old",
            namespace: None,
            times: LeaseTimes {
            duration: 15s,
            renew_deadline: 10s,
            notices: [
            "OPERATOR_NAME is deprecated; use `--leader-election-id`",
            ],
        "#]],
    );
    check(
        "--leader-elect --leader-election-id=new --leader-election-namespace=ops",
        &[("OPERATOR_NAME", "old")],
        &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "new",
            namespace: Some(
            "ops",
            times: LeaseTimes {
            duration: 15s,
            renew_deadline: 10s,
            own_namespace: Some(
            "ops",
            notices: [
            "OPERATOR_NAME is deprecated and ignored; use `--leader-election-id`",
            ],
        "#]],
    );
}

#[test]
fn namespaces_come_from_the_environment() {
    check(
        "",
        &[("WATCH_NAMESPACE", "b, a")],
        &expect![[r#"
        namespaces: Listed(
        {
        "a",
        "b",
    "#]],
    );
}

#[test]
fn the_log_is_for_people_where_people_are() {
    check(
        "--zap-devel",
        &[],
        &expect![[r"
        encoder: Console,
        verbosity: Debug,
    "]],
    );
    check(
        "--zap-devel --zap-encoder=JSON --zap-log-level=error --zap-time-encoding=epoch",
        &[],
        &expect![[r"
            verbosity: Error,
            time: Epoch,
        "]],
    );
    check(
        "--zap-log-level=5 --zap-stacktrace-level=Error",
        &[],
        &expect![[r"
            verbosity: Trace,
        "]],
    );
}

#[test]
fn fewer_than_one_at_a_time_is_one() {
    for flags in [
        "--max-concurrent-reconciles=0",
        "--max-concurrent-reconciles=-3",
        "--max-concurrent-reconciles -1",
    ] {
        assert_eq!(
            config(flags, &[]).unwrap().max_concurrent_reconciles.get(),
            1,
            "{flags}"
        );
    }
}

#[test]
fn files_are_followed_outside_of_a_pod() {
    let in_pod = [("KUBERNETES_SERVICE_HOST", "10.0.0.1")];
    for (flags, variables, expect) in [
        ("", &[] as &[_], true),
        ("", &in_pod, false),
        ("", &[("KUBERNETES_SERVICE_HOST", "")], true),
        ("--watch-files", &in_pod, true),
        ("--watch-files=false", &[], false),
    ] {
        assert_eq!(
            config(flags, variables).unwrap().follow_files,
            expect,
            "{flags} {variables:?}"
        );
    }
}

#[test]
fn a_terminal_gets_lines_for_people() {
    let on_terminal = |flags: &str, variables: &[(&str, &str)]| {
        let words = ["steersman"].into_iter().chain(flags.split_whitespace());
        let program = CommandLine::try_parse_from(words).unwrap();
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let log = program
            .arguments
            .into_config(&variables.collect(), true, Program::Steersman)
            .unwrap()
            .log;
        format!("{:?} {:?} {:?}", log.encoder, log.verbosity, log.time)
    };
    assert_eq!(on_terminal("", &[]), "Terminal { coloured: true } Info Clock");
    assert_eq!(
        on_terminal("--zap-devel", &[("NO_COLOR", "1")]),
        "Terminal { coloured: false } Debug Clock"
    );
    assert_eq!(on_terminal("--zap-encoder=console", &[]), "Console Info Rfc3339");
    assert_eq!(
        on_terminal("--zap-encoder=json --zap-time-encoding=epoch", &[]),
        "Json Info Epoch"
    );
    assert_eq!(
        on_terminal("--zap-time-encoding=rfc3339", &[]),
        "Terminal { coloured: true } Info Rfc3339"
    );
}

#[test]
fn the_lease_is_valid_for_longer_than_renewing_it_may_fail() {
    check(
        "--leader-elect --leader-election-id=x --leader-elect-lease-duration=60s --leader-elect-renew-deadline=40s",
        &[],
        &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "x",
            namespace: None,
            times: LeaseTimes {
            duration: 60s,
            renew_deadline: 40s,
        "#]],
    );
    check(
        "--leader-elect-lease-duration=10s",
        &[],
        &expect![[r"
        --leader-elect-lease-duration: a lease has to be valid for longer than renewing it may fail
    "]],
    );
}
