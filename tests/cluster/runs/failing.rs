//! Runs that fail, and what is said of them.

use serde_json::{Value, json};

use super::{MAP, Roles, says};
use crate::bench::condition;

const CANARY: &str = "canary-4f1c9d";

/// Fails, with the value of a Secret in its words, in several writings, and values that are secret by their keys.
const FAILING: &str = "
- kubernetes.core.k8s_info: {api_version: v1, kind: Secret, name: key, namespace: \"{{ ansible_operator_meta.namespace }}\"}
  register: found
- name: say it
  ansible.builtin.fail:
    msg: >-
      the key is {{ key }}, {{ key | quote }}, {{ key | quote | to_json }},
      the others are {{ password }}, {{ db.api_key }}, {{ conns[0].client_secret }}, {{ db_password }}
  vars: {key: \"{{ found.resources[0].data.key | b64decode }}\"}
  when: broken | default(false)
";

#[tokio::test]
async fn a_failure_names_the_task_and_no_secret() {
    let test = "a_failure_names_the_task_and_no_secret";
    let Some(mut roles) = Roles::new(test, FAILING, "").await else {
        return;
    };
    roles.variables = vec![("DB_PASSWORD", format!("{CANARY}-of-environment"))];
    roles.entry_with("role: web", ", db_password: \"${DB_PASSWORD}\"", "");
    let bench = &roles.bench;
    let key = format!("it's-{CANARY}");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"key": key}});
    bench.create(&bench.secrets(), secret).await;
    let operator = roles.operator().await;
    let spec = json!({
        "broken": true,
        "password": format!("{CANARY}-of-spec"),
        "db": {"apiKey": format!("{CANARY}-within")},
        "conns": [{"clientSecret": format!("{CANARY}-of-list")}],
    });
    bench.apply_web("shop", spec).await;
    let failed = |web: &Value| condition(web, "Failure").filter(|(status, ..)| status == "True");
    bench.wait("the failure", &bench.webs(), "shop", failed).await;
    let web = bench.webs().get("shop").await.unwrap();
    let web = serde_json::to_value(web).unwrap();
    let (_, reason, ready) = condition(&web, "Ready").unwrap();
    assert_eq!(reason, "RunFailed");
    assert!(ready.contains("task \"say it\" of role web"), "{ready}");
    assert!(ready.contains("tasks/main.yml:5"), "{ready}");
    assert_eq!(ready.matches("********").count(), 7, "{ready}");
    let event = bench.wait_event("RunFailed").await;
    // It is tried again, ever more seldom.
    roles.wait_runs(2).await;
    let said = format!("{} {event} {}", web["status"], operator.log_text());
    assert!(!said.contains(CANARY), "{said}");

    bench.apply_web("shop", json!({"broken": false})).await;
    let web = roles.wait_done("shop").await;
    let (failure, ..) = condition(&web, "Failure").unwrap();
    assert_eq!(failure, "False");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_playbook_is_stalled_until_it_is_mended() {
    let test = "what_is_no_playbook_is_stalled_until_it_is_mended";
    let Some(roles) = Roles::new(test, "", "").await else {
        return;
    };
    let bench = &roles.bench;
    roles.write("roles/web/tasks/main.yml", "- no.such.module: {}\n");
    let operator = roles.operator().await;
    bench.apply_web("shop", says("one")).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(message.contains("no.such.module"), "{message}");
    // Files are followed outside of a pod.
    roles.write("roles/web/tasks/main.yml", MAP);
    roles.wait_map("shop", "one").await;
    let web = roles.wait_done("shop").await;
    assert!(condition(&web, "Stalled").is_none(), "{web:#}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_that_hangs_is_ended_at_its_time_limit() {
    let test = "a_run_that_hangs_is_ended_at_its_time_limit";
    let tasks = "- ansible.builtin.shell: sleep 1000; echo FOLDER\n";
    let Some(roles) = Roles::new(test, "", "").await else {
        return;
    };
    let folder = roles.bench.folder.path().display().to_string();
    roles.write("roles/web/tasks/main.yml", &tasks.replace("FOLDER", &folder));
    let operator = roles.operator_with(&["--ansible-run-timeout=5s"]).await;
    roles.bench.apply_web("shop", says("one")).await;
    let failed = |web: &Value| condition(web, "Ready").filter(|(_, reason, _)| reason == "RunFailed");
    let bench = &roles.bench;
    let (_, _, message) = bench.wait("the failure", &bench.webs(), "shop", failed).await;
    assert!(message.contains("longer than 5s"), "{message}");
    operator.stop().await.unwrap();
    assert_eq!(roles.processes(), Vec::<String>::new());
}

/// A spec may hold a template: it is the text of somebody who may do less than the operator.
#[tokio::test]
async fn templates_in_a_spec_that_is_marked_as_unsafe_are_text() {
    let test = "templates_in_a_spec_that_is_marked_as_unsafe_are_text";
    let Some(roles) = Roles::new(test, MAP, ", markUnsafe: true").await else {
        return;
    };
    let operator = roles.operator().await;
    let hostile = format!(
        "{{{{ lookup('pipe', 'touch {}') }}}}",
        roles.path("owned").display()
    );
    roles.bench.apply_web("shop", says(&hostile)).await;
    roles.wait_map("shop", &hostile).await;
    assert!(!roles.path("owned").exists());
    operator.stop().await.unwrap();
}

/// Ansible would read `x` as something that is encrypted, fail, and read all texts again without their marks.
#[tokio::test]
async fn what_would_undo_the_marks_of_a_spec_is_refused() {
    let test = "what_would_undo_the_marks_of_a_spec_is_refused";
    let Some(roles) = Roles::new(test, MAP, ", markUnsafe: true").await else {
        return;
    };
    let operator = roles.operator().await;
    let hostile = format!(
        "{{{{ lookup('pipe', 'touch {}') }}}}",
        roles.path("owned").display()
    );
    let encrypted = json!({"__ansible_vault": {"x": {"__ansible_vault": "abc"}}});
    let spec =
        json!({"messageText": {"__ansible_unsafe": hostile.clone()}, "other": hostile, "x": encrypted});
    roles.bench.apply_web("shop", spec).await;
    let (_, message) = roles.bench.wait_stalled("shop").await;
    assert!(
        message.contains("`spec.messageText.__ansible_unsafe`"),
        "{message}"
    );
    assert_eq!(roles.runs(), 0);
    assert!(!roles.path("owned").exists());

    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_map("shop", "one").await;
    operator.stop().await.unwrap();
}

/// Extra variables win over everything that an operator says of its hosts.
#[tokio::test]
async fn a_spec_says_nothing_of_how_ansible_runs() {
    let test = "a_spec_says_nothing_of_how_ansible_runs";
    let Some(roles) = Roles::new(test, MAP, ", markUnsafe: true").await else {
        return;
    };
    let operator = roles.operator().await;
    let touch = format!("touch {}", roles.path("owned").display());
    let mut spec = says("one");
    spec["ansibleShellExecutable"] = json!(format!("{touch}; /bin/sh"));
    spec["ansible_python_interpreter"] = json!(format!("/bin/sh -c '{touch}'"));
    spec["inventoryHostname"] = json!("x.invalid");
    roles.bench.apply_web("shop", spec).await;
    roles.wait_map("shop", "one").await;
    roles.wait_done("shop").await;

    let mut spec = says("two");
    spec["ansibleConnection"] = json!("ssh");
    spec["ansibleHost"] = json!("x.invalid");
    spec["ansibleSshCommonArgs"] = json!(format!("-o ProxyCommand='{touch}'"));
    roles.bench.apply_web("shop", spec).await;
    roles.wait_map("shop", "two").await;
    assert!(!roles.path("owned").exists());
    let log = operator.log_text();
    assert!(
        log.contains("ansibleConnection, ansibleHost, ansibleSshCommonArgs"),
        "{log}"
    );
    assert!(!log.contains("ProxyCommand"), "{log}");
    operator.stop().await.unwrap();
}

/// It is deleted under an operator that has read it.
#[tokio::test]
async fn a_role_that_is_gone_is_said_and_waited_for() {
    let test = "a_role_that_is_gone_is_said_and_waited_for";
    let Some(roles) = Roles::new(test, MAP, "").await else {
        return;
    };
    let operator = roles.operator().await;
    let bench = &roles.bench;
    bench.apply_web("shop", says("one")).await;
    roles.wait_done("shop").await;
    std::fs::rename(roles.path("roles/web"), roles.path("roles/away")).unwrap();
    bench.apply_web("shop", says("two")).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(message.contains("roles/web"), "{message}");
    std::fs::rename(roles.path("roles/away"), roles.path("roles/web")).unwrap();
    roles.wait_map("shop", "two").await;
    let web = roles.wait_done("shop").await;
    assert!(condition(&web, "Stalled").is_none(), "{web:#}");
    operator.stop().await.unwrap();
}

/// Bytes that are no text, a hundred megabytes of facts, and what kills its own module.
#[tokio::test]
async fn what_tasks_print_and_keep_does_no_harm() {
    let test = "what_tasks_print_and_keep_does_no_harm";
    let tasks = "
- ansible.builtin.shell: printf '\\377\\376\\000'
  ignore_errors: true
- ansible.builtin.set_fact: {big: \"{{ 'x' * 100000000 }}\"}
- ansible.builtin.shell: kill -9 $PPID
  ignore_errors: true
- ansible.builtin.debug: {msg: done}
";
    let Some(roles) = Roles::new(test, tasks, "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", json!({})).await;
    roles.wait_done("shop").await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", operator.id().await.unwrap())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes < 200_000, "the operator took {peak} at its peak");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_failure_whose_words_are_no_text_is_told() {
    let test = "a_failure_whose_words_are_no_text_is_told";
    let tasks = "
- ansible.builtin.raw: printf 'a\\377\\376b'
  register: found
- ansible.builtin.fail: {msg: \"found {{ found.stdout }}\"}
";
    let Some(roles) = Roles::new(test, tasks, "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", json!({})).await;
    let failed = |web: &Value| condition(web, "Ready").filter(|(_, reason, _)| reason == "RunFailed");
    let bench = &roles.bench;
    let (_, _, message) = bench.wait("the failure", &bench.webs(), "shop", failed).await;
    assert!(message.contains("main.yml:5): found a"), "{message}");
    operator.stop().await.unwrap();
}
