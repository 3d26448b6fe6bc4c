//! What is wrong with what an operator is started with: each mistake is named, and nothing secret is quoted.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::program::{Ended, Project, get, silent_server};

const RUN: [&str; 3] = ["run", "--metrics-bind-address=0", "--health-probe-bind-address=0"];
const ENTRY: &str = "- version: v1\n  group: example.com\n  kind: Web\n  chart: charts/web\n";

/// Ends with this code and says this, and nothing that was planted.
fn check(ended: &Ended, code: i32, said: &str) {
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    assert!(ended.stderr.contains(said), "no `{said}` in:\n{}", ended.stderr);
    assert!(
        !ended.stderr.contains("canary") && !ended.stdout.contains("canary"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_is_wrong_with_an_entry_is_named_with_its_line() {
    let project = Project::new();
    let with = |more: &str| format!("{ENTRY}  {more}\n");
    for (text, said) in [
        (
            ENTRY.repeat(2),
            "./watches.yaml:5:3: [1]: Web in example.com/v1 is watched by the entry on line 1 already",
        ),
        (
            with("selector: {matchLabels: {\"a b\": canary}}"),
            "./watches.yaml:5:28: [0].selector.matchLabels.a b: `a b` cannot be the key of a label",
        ),
        (
            with("selector: {matchExpressions: [{key: a, operator: Near}]}"),
            "./watches.yaml:5:52: [0].selector.matchExpressions[0].operator: `Near` is none of `In`",
        ),
        (
            ENTRY.replace("charts/web", "../../../etc"),
            "./watches.yaml:4:10: [0].chart: cannot load chart `../../../etc`",
        ),
        (
            ENTRY.replace("charts/web", "${UNSET}"),
            "./watches.yaml:4:10: [0].chart: cannot load chart `${UNSET}`",
        ),
        (
            "[".repeat(20_000),
            "./watches.yaml:1: not valid YAML: exceeded max depth",
        ),
        ("canary: {\"a\":".to_owned(), "./watches.yaml:2: not valid YAML"),
        (String::new(), "./watches.yaml: names no watch"),
    ] {
        project.write("watches.yaml", &text);
        check(&project.run(&RUN), 2, said);
    }
}

#[test]
fn overrides_that_cannot_be_set_are_named() {
    let project = Project::new();
    for (key, value, said) in [
        (
            "a[65537]",
            "canary",
            "[0].overrideValues.a[65537]: cannot be set: ",
        ),
        ("a[-1]", "canary", "[0].overrideValues.a[-1]: cannot be set: "),
        ("a", "{canary", "[0].overrideValues.a: cannot be set: "),
        (&("a.".repeat(10_000) + "b"), "canary", "b: cannot be set: "),
    ] {
        // A long key is none of a map's on one line.
        project.write(
            "watches.yaml",
            &format!("{ENTRY}  overrideValues:\n    ? '{key}'\n    : '{value}'\n"),
        );
        check(&project.run(&RUN), 2, said);
    }
}

/// A kubeconfig for a server that is not there, with this user.
fn with_user(project: &Project, user: &str) -> String {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: me}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         users: [{{name: me, user: {user}}}]\n"
    );
    let path = project.write("config", &text);
    format!("--kubeconfig={}", path.display())
}

/// Makes a key, and a certificate for it that has no extension.
fn make_certificate(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for request in [
        format!("req -x509 {key} -days 2 -subj /CN=authority -keyout authority.key -out authority.pem"),
        format!("req {key} -subj /CN=me -keyout client.key -out client.csr"),
        "x509 -req -in client.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -out client.pem".to_owned(),
    ] {
        let made = Command::new("openssl")
            .args(request.split_whitespace())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "openssl {request}");
    }
}

#[test]
fn a_certificate_of_version_1_is_named_with_what_to_do() {
    let project = Project::new();
    make_certificate(project.path());
    let folder = project.path().display().to_string();
    let (of, reason) = (
        format!("of user `me` of kubeconfig `{folder}/config`"),
        "it is of X.509 version 1; issue it again as version 3, which has extensions: `openssl x509 -req` makes that with \
         `-extfile`",
    );
    let pem = std::fs::read(project.path().join("client.pem")).unwrap();
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, pem);
    for (user, certificate) in [
        (
            "{client-certificate: client.pem, client-key: client.key}".to_owned(),
            format!("`{folder}/client.pem` {of}"),
        ),
        (
            format!("{{client-certificate-data: {data}, client-key: client.key}}"),
            format!("{of} (`client-certificate-data`)"),
        ),
    ] {
        let kubeconfig = with_user(&project, &user);
        let ended = project.run(&[&RUN[..], &[&kubeconfig]].concat());
        let said = format!("the client certificate {certificate} can't be used with its key: {reason}");
        check(&ended, 1, &said);
    }
    let flags = [
        "--cert-file=client.pem",
        "--key-file=client.key",
        "--repo=https://127.0.0.1:1",
    ];
    let ended = project.run(&[&["template", "demo", "web"], &flags[..]].concat());
    check(&ended, 1, &format!("client.pem can't be used: {reason}"));
}

#[test]
fn credentials_that_cannot_be_had_are_named() {
    let project = Project::new();
    make_certificate(project.path());
    project.write("empty", "");
    for (user, said) in [
        ("{tokenFile: none}", "failed to read token file"),
        (
            "{client-certificate: empty, client-key: client.key}",
            "identity PEM is missing certificate",
        ),
        (
            "{client-certificate: authority.pem, client-key: client.key}",
            "authority.pem` of user `me` of kubeconfig",
        ),
        (
            "{client-certificate-data: '!!!canary', client-key: client.key}",
            "failed to load client certificate",
        ),
        (
            "{client-certificate: none.pem, client-key: client.key}",
            "none.pem",
        ),
    ] {
        let kubeconfig = with_user(&project, user);
        check(&project.run(&[&RUN[..], &[&kubeconfig]].concat()), 1, said);
    }
}

/// Nobody reads what it prints any longer.
#[test]
fn an_operator_goes_on_without_readers() {
    let (_listener, server) = silent_server();
    let project = Project::new().with_server(&server);
    let ports = [
        "--metrics-bind-address=0",
        "--health-probe-bind-address=127.0.0.1:0",
    ];
    let mut running = project.start(&[&["run", "--zap-log-level=debug"], &ports[..]].concat());
    let health = running.address_of("/healthz and /readyz");
    running.stop_reading();
    assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200 OK"));
    running.signal("TERM");
    assert_eq!(running.wait(Duration::from_secs(15)).code, Some(0));
}
