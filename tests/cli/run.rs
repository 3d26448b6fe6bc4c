//! `run` with broken inputs, and its ports and signals.

use std::time::Duration;

use expect_test::{Expect, expect};

use crate::program::{Project, get, silent_server};

/// No port of ours is taken from anybody.
const NO_PORTS: [&str; 3] = ["run", "--metrics-bind-address=0", "--health-probe-bind-address=0"];

/// The exit code and all that is said, with the project's folder as `DIR`.
fn check(project: &Project, arguments: &[&str], expect: &Expect) {
    let ended = project.run(&[&NO_PORTS, arguments].concat());
    let folder = project.path().to_str().unwrap();
    assert!(!ended.stderr.contains("canary"), "{}", ended.stderr);
    // Lines of the log have times in them.
    let lines = ended.stderr.lines().filter(|line| !line.starts_with('{'));
    let said: String = lines.flat_map(|line| [line, "\n"]).collect();
    let said = format!("exit {}\n{}{said}", ended.code.unwrap_or(-1), ended.stdout);
    expect.assert_eq(&said.replace(folder, "DIR"));
}

#[test]
fn a_missing_watches_file_is_named() {
    let project = Project::new();
    std::fs::remove_file(project.path().join("watches.yaml")).unwrap();
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: failed to read watches file `./watches.yaml`: No such file or directory (os error 2)

        hint: `./watches.yaml` is looked for in the working directory; name another file with --watches-file
    "]],
    );
    check(
        &project,
        &["--watches-file=/nowhere/w.yaml"],
        &expect![[r"
        exit 2
        error: failed to read watches file `/nowhere/w.yaml`: No such file or directory (os error 2)

        hint: name another file with --watches-file
    "]],
    );
    check(
        &project,
        &["--watches-file=charts"],
        &expect![[r"
        exit 2
        error: failed to read watches file `charts`: Is a directory (os error 21)
    "]],
    );
}

#[test]
fn a_broken_watches_file_is_reported_whole() {
    let project = Project::new();
    project.write(
        "watches.yaml",
        "- version: v1\n  kind: Web\n  chart: charts/none\n  reconcilePeriod: soon\n- kind: Web\n",
    );
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error:
        ./watches.yaml:3:10: [0].chart: cannot load chart `charts/none`: failed to read `charts/none`: No such file or directory (os error 2)
        ./watches.yaml:4:20: [0].reconcilePeriod: `soon` is not a duration such as `30s`, `1m30s` or `2h`
        ./watches.yaml:5:3: [1]: `version` must not be empty
        ./watches.yaml:5:3: [1]: `chart` must not be empty

        hint: paths of charts start in the working directory, not beside the file
    "]],
    );
    project.write("watches.yaml", "# nothing yet\n");
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: ./watches.yaml: names no watch, so there is nothing to do

        hint: an entry looks like this:
          - group: example.com
            version: v1alpha1
            kind: Memcached
            chart: helm-charts/memcached
    "]],
    );
    project.write("watches.yaml", "- version: v1\n kind: Web\n");
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: ./watches.yaml:2: not valid YAML: did not find expected '-' indicator
    "]],
    );
}

#[test]
fn a_broken_chart_is_a_problem_of_its_entry() {
    let project = Project::new();
    project.write("charts/web/Chart.yaml", "name: [web\n");
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: ./watches.yaml:4:10: [0].chart: cannot load chart `charts/web`: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'
    "]],
    );
    std::fs::remove_file(project.path().join("charts/web/Chart.yaml")).unwrap();
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: ./watches.yaml:4:10: [0].chart: cannot load chart `charts/web`: unable to detect chart at charts/web/Chart.yaml: open charts/web/Chart.yaml: no such file or directory
    "]],
    );
}

#[test]
fn wrong_flags_and_variables_are_named_all_at_once() {
    let project = Project::new().with_variable("WATCH_NAMESPACE", "Team_A");
    check(
        &project,
        &["--reconcile-period=10", "--leader-elect"],
        &expect![[r"
        exit 2
        error:
        --reconcile-period: `10` has no unit; write `10s`, `10m` or `10h`
        --leader-elect: needs --leader-election-id, the name of the Lease
        WATCH_NAMESPACE: `Team_A` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)

        hint: `steersman run --help` explains the flags
    "]],
    );
    check(
        &project,
        &["--reconcile-perod=10s"],
        &expect![[r"
        exit 2
        error: unexpected argument '--reconcile-perod' found

          tip: a similar argument exists: '--reconcile-period'

        Usage: steersman run --metrics-bind-address <ADDRESS> --health-probe-bind-address <ADDRESS> --reconcile-period <DURATION>

        For more information, try '--help'.
    "]],
    );
}

#[test]
fn a_broken_kubeconfig_is_named_without_quoting_from_it() {
    let project = Project::new();
    check(
        &project,
        &["--kubeconfig=none"],
        &expect![[r"
        exit 1
        error: failed to read kubeconfig `none`: No such file or directory (os error 2)
    "]],
    );
    let broken = project.write("broken", "users:\n- {canary\n: [");
    let project = project.with_variable("KUBECONFIG", broken.to_str().unwrap());
    check(
        &project,
        &[],
        &expect![[r"
        exit 1
        error: failed to read kubeconfig `DIR/broken`: line 3 is not valid YAML
    "]],
    );
}

#[test]
fn without_any_way_to_a_cluster_the_ways_are_named() {
    check(
        &Project::new(),
        &[],
        &expect![[r"
        exit 1
        error: found no way to a Kubernetes API server

        hint: set KUBECONFIG or --kubeconfig to a kubeconfig, have one at ~/.kube/config, or run in a pod with a service account
    "]],
    );
}

#[test]
fn an_unreachable_server_is_named() {
    let project = Project::new().with_server("127.0.0.1:1");
    check(
        &project,
        &[],
        &expect![[r"
        exit 1
        error: failed to reach the API server at http://127.0.0.1:1: client error (Connect): tcp connect error: Connection refused (os error 111)

        hint: is the cluster running, and is this the server that the kubeconfig should name?
    "]],
    );
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let (_listener, address) = silent_server();
    let project = Project::new().with_server(&address);
    let ended = project.start(&NO_PORTS).wait(Duration::from_secs(20));
    assert_eq!(ended.code, Some(1));
    assert!(ended.lasted > Duration::from_secs(9), "{:?}", ended.lasted);
    let expect = expect![[r"
        error: failed to reach the API server at http://ADDRESS: no answer within 10 seconds

        hint: is the cluster running, and is this the server that the kubeconfig should name?
    "]];
    expect.assert_eq(&ended.stderr.replace(&address, "ADDRESS"));
}

#[test]
fn a_busy_port_is_named() {
    let (_listener, address) = silent_server();
    let project = Project::new();
    let flag = format!("--metrics-bind-address={address}");
    let ended = project.run(&["run", "--health-probe-bind-address=0", &flag]);
    assert_eq!(ended.code, Some(1));
    expect![[r"
        error: failed to listen on ADDRESS for /metrics: Address already in use (os error 98)

        hint: another process listens there; choose another address with --metrics-bind-address or --health-probe-bind-address, or turn it off with `0`
    "]].assert_eq(&ended.stderr.replace(&address, "ADDRESS"));
}

#[test]
fn the_ports_are_served_before_the_cluster_answers_and_a_signal_ends_it_all() {
    for signal in ["TERM", "INT"] {
        let (_listener, server) = silent_server();
        let project = Project::new().with_server(&server);
        let ports = [
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=127.0.0.1:0",
        ];
        let running = project.start(&[&["run"][..], &ports].concat());
        let health = running.address_of("/healthz and /readyz");
        let metrics = running.address_of("/metrics");
        assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200 OK"));
        let waits = get(&health, "/readyz");
        let reason = "[-]Web.v1.example.com failed: the API server has not answered yet\n";
        assert!(
            waits.starts_with("HTTP/1.1 500") && waits.contains(reason),
            "{waits}"
        );
        let page = get(&metrics, "/metrics");
        let family = "controller_runtime_max_concurrent_reconciles{controller=\"web-controller\"}";
        assert!(page.contains(family), "{page}");
        running.signal(signal);
        let ended = running.wait(Duration::from_secs(5));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
fn unknown_fields_are_logged_with_their_line() {
    let project = Project::new().with_server("127.0.0.1:1");
    project.write(
        "watches.yaml",
        "- version: v1\n  kind: Web\n  chart: charts/web\n  reconcileperiods: 1m\n",
    );
    let ended = project.run(&NO_PORTS);
    let line = ended.stderr.lines().next().unwrap_or_default();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["level"], "warn");
    assert_eq!(line["line"], 4);
    assert_eq!(
        line["msg"],
        "unknown field is ignored; did you mean `reconcilePeriod`?"
    );
}

#[test]
fn traces_without_tls_need_no_certificates() {
    let (_server, address) = silent_server();
    let project = Project::new()
        .with_server(&address)
        .with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}"))
        .with_variable("SSL_CERT_FILE", "/nonexistent")
        .with_variable("SSL_CERT_DIR", "/nonexistent");
    let running = project.start(&[
        "run",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=127.0.0.1:0",
    ]);
    // It goes on to the API server, whose address stands for it here: no file has certificates for that either.
    assert!(!running.address_of("/healthz and /readyz").is_empty());
}
