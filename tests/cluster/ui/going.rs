//! A release that comes into effect stage by stage, and what is done with it, as somebody without a mouse sees it in a browser.

use serde_json::{Value, json};
use steersman_testkit::browser::{Browser, Key};

use super::seen::check;
use super::tokens::{account, token_of};
use super::{Page, site};
use crate::bench::{Bench, condition};
use crate::gates::give_address;
use crate::procedures::{define_runs, end_pod, put_procedures, runs, wait_job};

const ENTRIES: &str = "- group: GROUP
  version: v1
  kind: Web
  chart: web
  stages:
  - name: data
    objects: [{name: '.*-data'}]
  - name: web
    approve: true
    objects: [{name: '.*-web'}]
  procedures:
  - {name: backup, job: procedures/job.yaml, parameters: {snapshot: {type: string, required: true}}}
- {group: GROUP, version: v1, kind: Shop, chart: shop}
";

/// A part that is ready when somebody has given it an address.
fn part(name: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: '{{{{ .Release.Name }}}}-{name}'}}\n\
         spec: {{defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}}}\n"
    )
}

/// Two kinds: one in stages and with backups, and one without.
async fn two_kinds(test: &str) -> Option<Bench> {
    let bench = site(test).await?;
    put_procedures(&bench, &[], "  - {name: backup, job: procedures/job.yaml}\n").await;
    for name in ["data", "web"] {
        bench.add_template(&format!("{name}.yaml"), &part(name));
    }
    let other = bench.folder.path().join("shop");
    std::fs::create_dir_all(other.join("templates")).unwrap();
    std::fs::write(
        other.join("Chart.yaml"),
        "apiVersion: v2\nname: shop\nversion: 2.1.0\n",
    )
    .unwrap();
    std::fs::write(other.join("templates/one.yaml"), part("one")).unwrap();
    bench.watches(&ENTRIES.replace("GROUP", &bench.group));
    define_runs(&bench, &["WebBackup", "Shop"]).await;
    Some(bench)
}

/// Somebody who may do everything in the namespace.
async fn keeper(bench: &Bench) -> String {
    account(bench, "keeper").await;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": bench.namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "keeper", "namespace": bench.namespace}]});
    bench.cluster.apply_object(&binding).await.unwrap();
    token_of(bench, "keeper").await
}

/// Goes from one thing to the next by the keyboard until it is at that of this text.
async fn tab_to(browser: &Browser, text: &str) {
    let here = "const here = document.activeElement; return here.innerText || here.name || '';";
    for _ in 0..60 {
        browser.press(&Key::Tab.to_string()).await;
        let at = browser.script(here).await;
        if at.as_str().is_some_and(|at| at.starts_with(text)) {
            return;
        }
    }
    panic!("no Tab leads to {text}");
}

/// What a row of the list has to say of a resource.
fn row(resource: &Value, kind: &str, namespace: &str) -> Vec<String> {
    let at = |pointer: &str| resource.pointer(pointer).cloned().unwrap_or_default();
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let word = match condition(resource, "Ready") {
        Some((ready, ..)) if ready == "True" => "Ready",
        _ => "Progressing",
    };
    let revision = at("/status/revision");
    let deployed = |said: String| if revision.is_null() { String::new() } else { said };
    vec![
        word.to_owned(),
        format!("{kind} {}", text(at("/metadata/name"))),
        namespace.to_owned(),
        deployed(format!(
            "{}/{}",
            at("/status/health/ready"),
            at("/status/health/total")
        )),
        String::new(),
        deployed(text(revision.clone())),
        deployed(format!(
            "{} {}",
            text(at("/status/chart/name")),
            text(at("/status/chart/version"))
        )),
    ]
}

/// Each cell of the list is what the API server says.
async fn check_list(browser: &Browser, bench: &Bench) {
    let read = "return [...document.querySelectorAll('table.releases tbody tr')].map(row => [...row.cells].map(cell => cell.innerText));";
    let shown: Vec<Vec<String>> = serde_json::from_value(browser.script(read).await).unwrap();
    let mut seen = 0;
    for (kind, plural) in [("Web", "webs"), ("Shop", "shops")] {
        for found in bench
            .kind_api(kind, plural)
            .list(&Default::default())
            .await
            .unwrap()
        {
            let resource = serde_json::to_value(&found).unwrap();
            let expected = row(&resource, kind, &bench.namespace);
            let line = shown.iter().find(|line| line[1] == expected[1]);
            let line = line.unwrap_or_else(|| panic!("{expected:?} is not in {shown:#?}"));
            assert_eq!(line[..7], expected, "{resource:#}");
            let (_, reason, message) = condition(&resource, "Ready").unwrap();
            let why = &line[8];
            assert!(
                why.starts_with(&reason) && (line[0] == "Ready" || why.ends_with(&message)),
                "{why}: {resource:#}"
            );
            seen += 1;
        }
    }
    assert_eq!((seen, shown.len()), (3, 3), "{shown:#?}");
}

#[tokio::test]
async fn who_has_a_keyboard_alone_logs_in_approves_and_runs_and_sees_how_it_goes() {
    let Some(bench) = two_kinds("ui_going").await else {
        return;
    };
    let Some(browser) = Browser::start().await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.apply_cr("Shop", "shops", "first", json!({})).await;
    bench.apply_cr("Shop", "shops", "second", json!({})).await;
    give_address(&bench, "second-one").await;
    let shops = bench.kind_api("Shop", "shops");
    let is_ready = |shop: &Value| (condition(shop, "Ready")?.0 == "True").then_some(());
    bench.wait("Ready", &shops, "second", is_ready).await;

    let page = Page::start(&bench, &["--login", "token", "--namespace", &bench.namespace]);
    let token = keeper(&bench).await;
    check(&browser, &page, "/login").await;
    tab_to(&browser, "token").await;
    browser.press(&token).await;
    browser.press(&Key::Enter.to_string()).await;
    browser
        .wait("main", |text| {
            text.contains("Web shop") && text.contains("Shop second")
        })
        .await;
    check_list(&browser, &bench).await;
    browser
        .goto(&format!("http://{}/?kind=shops.{}", page.host, bench.group))
        .await;
    browser
        .wait("main", |text| {
            text.contains("Shop first") && !text.contains("Web shop")
        })
        .await;

    // The stages, in the page that is open.
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    browser.goto(&format!("http://{}{address}", page.host)).await;
    browser.script("window.isTheSame = true; return true;").await;
    browser.wait("main", |text| text.contains("Progressing")).await;
    give_address(&bench, "shop-data").await;
    browser
        .wait("main", |text| text.contains("ApprovalRequired"))
        .await;
    let same = browser.script("return window.isTheSame === true;").await;
    assert_eq!(same, json!(true), "it was loaded again");
    check(&browser, &page, &address).await;
    tab_to(&browser, "Approve").await;
    browser.press(&Key::Enter.to_string()).await;
    browser.wait("h1", |text| text.starts_with("Approve")).await;
    check(&browser, &page, &path_of(&browser).await).await;
    tab_to(&browser, "Approve").await;
    browser.press(&Key::Enter.to_string()).await;
    browser.wait("h1", |text| text.contains("Web")).await;
    give_address(&bench, "shop-web").await;
    bench.wait_revision("shop", 1).await;
    browser
        .wait("h1", |text| text.ends_with("Ready") && !text.contains("Not"))
        .await;

    // A run, from its form to its end.
    let form = format!("{address}/actions/run?procedure=backup");
    check(&browser, &page, &form).await;
    tab_to(&browser, "p.snapshot").await;
    browser.press("first").await;
    browser.press(&Key::Enter.to_string()).await;
    browser.wait("main", |text| text.contains("job: Running")).await;
    let made = runs(&bench, "WebBackup")
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    assert_eq!(
        made[0].data["spec"],
        json!({"resource": "shop", "snapshot": "first"})
    );
    let run = made[0].metadata.name.clone().unwrap();
    check(&browser, &page, &address).await;
    let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    browser.wait("main", |text| text.contains("job: Succeeded")).await;
    let errors = browser.errors().await;
    assert!(errors.is_empty(), "{errors:#?}");
    operator.stop().await.unwrap();
    let bindings = format!("clusterrolebinding/{}", bench.namespace);
    bench.cluster.kubectl(&["delete", &bindings]).await.unwrap();
}

/// Where the browser is.
async fn path_of(browser: &Browser) -> String {
    let path = browser
        .script("return location.pathname + location.search;")
        .await;
    path.as_str().unwrap_or_default().to_owned()
}
