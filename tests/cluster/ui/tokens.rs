//! The page for several, each with a token of the cluster.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use super::{Page, between, form_of, read_until, site};
use crate::bench::{Bench, PATIENCE};

/// So many tabs of one are told of changes.
const TABS: usize = 32;

/// Accounts that may look at their namespace, which is the bench's: `looker`, and each other one that it has.
pub(super) async fn accounts(bench: &Bench) {
    let namespace = &bench.namespace;
    account(bench, "looker").await;
    let group = "rbac.authorization.k8s.io";
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "looker"}, "rules": [
        {"apiGroups": [bench.group], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get", "list"]}]});
    bench.create(&bench.api(group, "v1", "Role", "roles"), role).await;
    let everybody =
        json!({"kind": "Group", "apiGroup": group, "name": format!("system:serviceaccounts:{namespace}")});
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "looker"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "looker"},
        "subjects": [everybody]});
    let bindings = bench.api(group, "v1", "RoleBinding", "rolebindings");
    bench.create(&bindings, binding).await;
}

pub(super) async fn account(bench: &Bench, name: &str) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let accounts = bench.api("", "v1", "ServiceAccount", "serviceaccounts");
    bench.create(&accounts, account).await;
}

/// Another token of `looker`.
pub(super) async fn token(bench: &Bench) -> String {
    token_of(bench, "looker").await
}

pub(super) async fn token_of(bench: &Bench, account: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let asked = TokenRequest::default();
    let parameters = PostParams::default();
    let said = accounts.create_token_request(account, &parameters, &asked);
    said.await.unwrap().status.unwrap().token.unwrap()
}

/// Begins a session, and gives its cookie.
pub(super) async fn log_in_by(page: &Page, token: &str) -> String {
    let answer = page.post("/login", "", &format!("token={token}"), &[]).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let mut lines = answer.head.lines();
    let set = lines.find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(
        set.contains("httponly") && !set.contains(&token.to_lowercase()),
        "{set}"
    );
    set.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn each_sees_what_their_token_may_see_as_long_as_it_counts() {
    let Some(bench) = site("ui_tokens").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    accounts(&bench).await;
    let token = token(&bench).await;
    let mark = bench.cluster.audit_mark().await.unwrap();

    let page = Page::start(&bench, &["--login", "token", "--namespace", &bench.namespace]);
    let own = format!("Host: {}", page.host);
    let turned = page.ask_with("GET /", std::slice::from_ref(&own)).await;
    assert!(
        turned.status == 303 && turned.head.contains("location: /login"),
        "{}",
        turned.head
    );
    for wrong in ["", "wrong", "a b", "ey.ey.ey"] {
        let answer = page
            .post("/login", "", &format!("token={}", wrong.replace(' ', "+")), &[])
            .await;
        assert_eq!(answer.status, 401, "{wrong}: {}", answer.body);
        assert!(!answer.head.contains("set-cookie"), "{}", answer.head);
    }
    let foreign = vec!["Origin: http://evil.example.com".to_owned()];
    let form = format!("token={token}");
    assert_eq!(page.post("/login", "", &form, &foreign).await.status, 403);
    let cookie = log_in_by(&page, &token).await;

    page.wait("/", &cookie, "Web shop").await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let shown = page.wait(&address, &cookie, "Deployment shop").await;
    assert!(!shown.contains("class=\"button\""), "it may only look: {shown}");
    let pause = format!("{address}/actions/pause?");
    let shown = page.get(&pause, &cookie).await.body;
    let form = form_of(&shown);
    let refused = page.post(&pause, &cookie, &form, &[]).await;
    assert!(
        refused.status == 409 && refused.body.contains("forbidden"),
        "{}",
        refused.body
    );
    // The operator's own rights are nobody's here.
    let other = format!("/releases/webs.{}/kube-system/shop", bench.group);
    let refused = page.get(&other, &cookie).await;
    assert!(
        refused.status == 502 && refused.body.contains("forbidden"),
        "{}",
        refused.body
    );

    // A proxy in front sends the token with each request.
    let head = [own.clone(), format!("Authorization: Bearer {token}")];
    let shown = page.ask_with(&format!("GET {address}"), &head).await;
    assert!(
        shown.status == 200 && shown.body.contains("Deployment shop"),
        "{}",
        shown.body
    );
    assert!(
        !shown.body.contains("/logout"),
        "the proxy has the session: {}",
        shown.body
    );
    // It sends another one from time to time: a form that was opened before that counts, and those of others do not.
    for (of, status) in [("looker", 409), ("default", 403)] {
        let by = |token: String| format!("Authorization: Bearer {token}");
        let head = [own.clone(), by(token_of(&bench, of).await)];
        let shown = page.ask_with(&format!("GET {pause}"), &head).await.body;
        let form = form_of(&shown);
        let later = by(token_of(&bench, "looker").await);
        let head = [later, format!("Origin: http://{}", page.host)];
        let said = page.post(&pause, "", &form, &head).await;
        assert_eq!(said.status, status, "{of}: {}", said.body);
    }
    let head = [own.clone(), "Authorization: Bearer wrong".to_owned()];
    let refused = page.ask_with("GET /", &head).await;
    assert!(
        refused.status == 401 && refused.body.contains("401 Unauthorized"),
        "{}",
        refused.body
    );
    count_tabs(&bench, &page, &token).await;
    let probe = page
        .ask_with("GET /healthz", &["Host: 10.0.0.1:8080".to_owned()])
        .await;
    assert_eq!(probe.status, 200);

    // Whatever it asks for is asked by who looks, and by nobody in another's name.
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let of_page = audit.filter(|request| request.uri.contains(&bench.group));
    let accounts_of = format!("system:serviceaccount:{}:", bench.namespace);
    let by_others = of_page.filter(|request| {
        // It looks at who owns an object.
        let is_collector = request.user == "system:serviceaccount:kube-system:generic-garbage-collector";
        let is_own = request.user.starts_with(&accounts_of) || is_collector;
        !is_own || request.impersonator.is_some()
    });
    assert!(!of_page.is_empty() && by_others.is_empty(), "{by_others}");

    check_door(&page, &token).await;

    // What was seen before is nobody's who has lost the right to it.
    let accounts = bench.api("", "v1", "ServiceAccount", "serviceaccounts");
    accounts.delete("looker", &DeleteParams::default()).await.unwrap();
    let begun = std::time::Instant::now();
    while page.get("/", &cookie).await.status != 303 {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

/// However many tokens somebody has, their tabs are counted together; and a request has one.
async fn count_tabs(bench: &Bench, page: &Page, token: &str) {
    let own = format!("Host: {}", page.host);
    let two = [
        own.clone(),
        "Authorization: Bearer wrong".to_owned(),
        format!("Authorization: Bearer {token}"),
    ];
    assert_eq!(page.ask_with("GET /", &two).await.status, 401);
    let mut tabs = Vec::new();
    for number in 0..=TABS {
        let by = if number % 8 == 0 {
            token_of(bench, "looker").await
        } else {
            token.to_owned()
        };
        let head = [own.clone(), format!("Authorization: Bearer {by}")];
        let mut tab = page.send("GET /events?", &head).await;
        let told = if number < TABS { "200 OK" } else { "429 Too Many" };
        read_until(&mut tab, told).await;
        tabs.push(tab);
    }
}

/// Behind a proxy that speaks TLS the cookie is for that alone, and no other page ends a session.
async fn check_door(page: &Page, token: &str) {
    let form = format!("token={token}");
    let over_tls = vec![format!("Origin: https://{}", page.host)];
    for (head, is_secure) in [(over_tls, true), (Vec::new(), false)] {
        let answer = page.post("/login", "", &form, &head).await;
        let is_said = answer
            .head
            .lines()
            .any(|line| line.starts_with("set-cookie: ") && line.contains("; secure"));
        assert!(
            answer.status == 303 && is_said == is_secure,
            "{head:?}: {}",
            answer.head
        );
    }
    let cookie = log_in_by(page, token).await;
    let foreign = vec!["Origin: http://evil.example.com".to_owned()];
    page.post("/logout", &cookie, "", &foreign).await;
    let shown = page.get("/", &cookie).await;
    assert_eq!(shown.status, 200);
    assert!(shown.body.contains(":looker</span>"), "{}", shown.body);
    assert_eq!(
        between(&shown.body, "action=\"/logout\"", "</form>"),
        " method=\"post\"><button>Log out</button>"
    );
    page.post("/logout", &cookie, "", &[]).await;
    assert_eq!(page.get("/", &cookie).await.status, 303);
}

/// Has an account look at resources of the bench's kind in a namespace, or list all namespaces.
async fn let_look(bench: &Bench, name: &str, account: &str, namespace: Option<&str>) {
    let group = "rbac.authorization.k8s.io";
    let rule = match namespace {
        Some(_) => json!({"apiGroups": [bench.group], "resources": ["*"], "verbs": ["get", "list", "watch"]}),
        None => json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}),
    };
    let kind = if namespace.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    let metadata = json!({"name": name, "namespace": namespace});
    let allowed =
        json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata, "rules": [rule]});
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": bench.namespace}]});
    for object in [allowed, binding] {
        bench.cluster.apply_object(&object).await.unwrap();
    }
}

#[tokio::test]
async fn who_is_limited_to_some_namespaces_sees_just_those() {
    let Some(bench) = site("ui_namespaces").await else {
        return;
    };
    let mut namespaces = vec![bench.namespace.clone()];
    for _ in 0..2 {
        namespaces.push(bench.cluster.unique_namespace("ui-namespaces").await.unwrap());
    }
    for (number, namespace) in namespaces.iter().enumerate() {
        let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
            "metadata": {"name": format!("web-{number}"), "namespace": namespace}});
        bench.cluster.apply_object(&web).await.unwrap();
    }
    for name in ["limited", "lister", "nobody"] {
        account(&bench, name).await;
    }
    for name in ["limited", "lister"] {
        for namespace in &namespaces[..2] {
            let_look(&bench, name, name, Some(namespace)).await;
        }
    }
    let all = format!("{}-lister", bench.namespace);
    let_look(&bench, &all, "lister", None).await;

    let named = namespaces.join(",");
    let with_names = ["--login", "token", "--namespace", &named];
    let without_names = &with_names[..2];
    for arguments in [&with_names[..], without_names] {
        let name = if arguments.len() > 2 { "limited" } else { "lister" };
        check_seen(
            &bench,
            (arguments, name),
            &["Web web-0", "Web web-1"],
            &["Web web-2", "be looked at"],
        )
        .await;
        check_seen(&bench, (arguments, "nobody"), &["be looked at"], &["Web web-"]).await;
    }
    for kind in ["clusterrolebinding", "clusterrole"] {
        bench.cluster.kubectl(&["delete", kind, &all]).await.unwrap();
    }
}

/// The list of who has a token of this account has these texts, and not those.
async fn check_seen(bench: &Bench, (arguments, name): (&[&str], &str), shown: &[&str], hidden: &[&str]) {
    let page = Page::start(bench, arguments);
    let cookie = log_in_by(&page, &token_of(bench, name).await).await;
    for part in shown {
        page.wait("/", &cookie, part).await;
    }
    let list = page.get("/", &cookie).await.body;
    for part in hidden {
        assert!(!list.contains(part), "{name} {arguments:?}: {part}: {list}");
    }
}
