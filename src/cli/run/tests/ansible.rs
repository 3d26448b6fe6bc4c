//! Roles and playbooks, and the name of ansible-operator.

use clap::Parser as _;
use expect_test::expect;
use steersman_model::Environment;

use super::{CommandLine, check};
use crate::cli::program::Program;

#[test]
fn flags_of_ansible_operator_are_taken_as_there() {
    check(
        "--ansible-verbosity=5 --ansible-args='-e=a' --ansible-log-events=Everything --inject-owner-ref=false \
         --proxy-port=8899",
        &[],
        &expect![[r#"
            verbosity: 5,
            command_line: "'-e=a'",
            marks: Label,
            events: Everything,
            proxy_port: 8899,
        "#]],
    );
    check(
        "--ansible-roles-path=/a:/b --ansible-collections-path=/c",
        &[("ANSIBLE_ROLES_PATH", "/other")],
        &expect![[r#"
            environment: {
            "ANSIBLE_COLLECTIONS_PATH": "/c",
            "ANSIBLE_ROLES_PATH": "/a:/b",
        "#]],
    );
    check(
        "--ansible-roles-path= --ansible-verbosity=9 --ansible-log-events=task",
        &[],
        &expect![[r#"
            verbosity: 7,
            notices: [
            "--ansible-verbosity is from 0 to 7; 9 counts as 7",
            "--ansible-log-events: `task` is none of `tasks`, `everything` and `nothing`; it counts as `tasks`",
            ],
        "#]],
    );
    check(
        "--ansible-verbosity=-1",
        &[],
        &expect![[r#"
        verbosity: 0,
        notices: [
        "--ansible-verbosity is from 0 to 7; -1 counts as 0",
        ],
    "#]],
    );
    check(
        "--leader-elect-resource-lock=leases --graceful-shutdown-timeout=0s",
        &[],
        &expect![[r#"
            shutdown_grace: 1s,
            notices: [
            "flag `--leader-elect-resource-lock` is deprecated; a Lease is the only kind of lock",
            ],
        "#]],
    );
}

#[test]
fn the_environment_says_what_runs_get() {
    check(
        "",
        &[
            ("ANSIBLE_GATHERING", "explicit"),
            ("ANSIBLE_INVENTORY", "/opt/inventory"),
            ("VIRTUAL_ENV", "/opt/venv"),
            ("ANSIBLE_VERBOSITY", "1"),
            ("ANSIBLE_DEBUG_LOGS", "True"),
        ],
        &expect![[r#"
            gathers_facts: false,
            inventory: At(
            "/opt/inventory",
            is_verbose: true,
            shows_output: true,
        "#]],
    );
    check(
        "",
        &[("VIRTUAL_ENV", "/opt/venv")],
        &expect![[r#"
        interpreter: Some(
        "/opt/venv/bin/python3",
    "#]],
    );
    check(
        "",
        &[
            ("ANSIBLE_GATHERING", "smart"),
            ("ANSIBLE_INVENTORY", ""),
            ("ANSIBLE_VERBOSITY", "much"),
            ("ANSIBLE_DEBUG_LOGS", "maybe"),
        ],
        &expect![[r#"
            notices: [
            "ANSIBLE_VERBOSITY is no whole number, and ignored by the operator",
            "ANSIBLE_DEBUG_LOGS is neither true nor false, and ignored",
            ],
        "#]],
    );
}

#[test]
fn runs_are_limited_in_time_and_number() {
    check(
        "--ansible-run-timeout=90s --max-concurrent-runs=3 --role-metrics-port=5151",
        &[],
        &expect![[r"
            90s,
            max_runs: Of(
            3,
            metrics_port: Needed(
            5151,
        "]],
    );
    check(
        "--ansible-run-timeout=0 --max-concurrent-runs=0 --role-metrics-port=0",
        &[],
        &expect![[r"
            time_limit: None,
            max_runs: OfKinds,
            metrics_port: Off,
        "]],
    );
    check(
        "--ansible-run-timeout=long",
        &[],
        &expect![[r"
        --ansible-run-timeout: `long` is not a duration such as `30s`, `1m30s` or `2h`
    "]],
    );
}

#[test]
fn flags_that_are_not_given_mean_what_the_name_says() {
    let periods = |flags: &str, program| {
        let words = ["steersman"].into_iter().chain(flags.split_whitespace());
        let arguments = CommandLine::try_parse_from(words).unwrap().arguments;
        let config = arguments
            .into_config(&Environment::default(), false, program)
            .unwrap();
        let hours = |period: Option<std::time::Duration>| period.map(|period| period.as_secs_f64() / 3600.0);
        let health = config.health_address.map(|address| address.port());
        let metrics = config.metrics_address.map(|address| address.port());
        (
            hours(config.reconcile_period),
            hours(config.ansible.reconcile_period),
            metrics,
            health,
        )
    };
    let minute = Some(1.0 / 60.0);
    for (flags, program, expect) in [
        (
            "",
            Program::Steersman,
            (minute, Some(10.0), Some(8080), Some(8081)),
        ),
        (
            "",
            Program::HelmOperator,
            (minute, Some(10.0), Some(8080), Some(8081)),
        ),
        (
            "",
            Program::AnsibleOperator,
            (Some(10.0), Some(10.0), Some(8443), Some(6789)),
        ),
        (
            "--reconcile-period=2h",
            Program::Steersman,
            (Some(2.0), Some(2.0), Some(8080), Some(8081)),
        ),
        (
            "--reconcile-period=0",
            Program::AnsibleOperator,
            (None, None, Some(8443), Some(6789)),
        ),
        (
            "--metrics-bind-address=:1 --health-probe-bind-address=0",
            Program::AnsibleOperator,
            (Some(10.0), Some(10.0), Some(1), None),
        ),
    ] {
        assert_eq!(periods(flags, program), expect, "{flags} {program:?}");
    }
}
