//! What a release is made of, and what differs.

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::{AuditMark, Request};

use super::{Page, between, site};
use crate::bench::Bench;
use crate::developer::Developer;

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-settings'}
data:
  message: '{{ .Values.message }}'
  level: '{{ .Values.level | default \"low\" }}'
  word: '{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"found\").data.word | b64dec }}-{{ .Values.message | len }}'
---
apiVersion: v1
kind: Secret
metadata: {name: '{{ .Release.Name }}-login'}
stringData: {token: '{{ .Values.apiToken }}'}
";

const CANARY: &str = "canary-of-a-token";
/// In a Secret that is no part of the release.
const FOUND: &str = "canary-of-a-lookup";

/// A release with two revisions, of which a value was changed by hand since, and with nobody to mend that.
async fn drifted(bench: &Bench, hostile: &str) {
    bench.add_template("settings.yaml", SETTINGS);
    let found = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "found"}, "stringData": {"word": FOUND}});
    bench.create(&bench.secrets(), found).await;
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "one", "apiToken": CANARY}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web(
            "shop",
            json!({"message": hostile, "apiToken": format!("{CANARY}-2")}),
        )
        .await;
    bench.wait_revision("shop", 2).await;
    bench.wait_event("ReleaseUpgraded").await;
    operator.stop().await.unwrap();
    let drift = json!({"data": {"level": "by hand"}});
    let parameters = PatchParams::default();
    let maps = bench.config_maps();
    maps.patch("shop-settings", &parameters, &Patch::Merge(drift))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_release_shows_values_revisions_owners_and_what_would_change_without_its_secrets() {
    let Some(bench) = site("ui_release").await else {
        return;
    };
    let hostile = "<img src=x onerror=alert(1)>";
    drifted(&bench, hostile).await;
    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let object = |kind: &str, name: &str| {
        format!(
            "{address}/object?group=&kind={kind}&namespace={}&name={name}",
            bench.namespace
        )
    };
    page.wait(&address, &cookie, "ReleaseUpgraded").await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let mut shown = Vec::new();
    let all = [
        (
            address.clone(),
            vec![
                "Secret shop-login",
                "ReleaseUpgraded",
                "compare?from=1&#38;to=2",
                "What would change",
            ],
        ),
        (
            format!("{address}/values"),
            vec!["<code>apiToken</code>", "********", "the resource", "the chart"],
        ),
        (
            format!("{address}/compare?from=1&to=2"),
            vec!["-message: one", "ConfigMap shop-settings", "Secret shop-login"],
        ),
        (
            format!("{address}/plan"),
            vec![
                "would stay",
                "ConfigMap",
                "-  level: by hand",
                "+  level: low",
                "Fields of it are others",
            ],
        ),
        (
            object("ConfigMap", "shop-settings"),
            vec!["steersman", ".data.message", "level: by hand"],
        ),
        (
            object("Secret", "shop-login"),
            vec!["token: &#39;***&#39;", ".metadata.labels"],
        ),
    ];
    for (path, expected) in all {
        let answer = page.get(&path, &cookie).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        for part in expected {
            assert!(answer.body.contains(part), "{path}: no {part}: {}", answer.body);
        }
        shown.push(answer.body);
    }
    for body in &shown {
        assert!(!body.contains(CANARY) && !body.contains(FOUND), "{body}");
        assert!(!body.contains(hostile) && !body.contains("<img"), "{body}");
    }
    // Nothing but what belongs to the release, and no address is a way out of it.
    let others = [
        object("Secret", "sh.helm.release.v1.shop.v1"),
        format!("{address}/compare?from=1&to=9"),
        format!("{address}/nothing"),
        format!(
            "{address}/logs?namespace={}&pod=other&container=web",
            bench.namespace
        ),
        format!("{address}/actions/run?procedure=none"),
    ];
    for path in others {
        assert_eq!(page.get(&path, &cookie).await.status, 404, "{path}");
    }

    check_owners(
        &page
            .get(&object("ConfigMap", "shop-settings"), &cookie)
            .await
            .body,
    );
    check_looked(&bench, (&page, &cookie), (&address, mark)).await;
    check_former_secrets(&bench, (&page, &cookie), &address).await;
    check_environment(&bench, &address).await;

    // What others have to tell leaves its own events their place.
    many_events(&bench).await;
    let shown = page.wait(&address, &cookie, "ReleaseUpgraded").await;
    assert!(!shown.contains("OfAnotherGroup"), "{shown}");
}

#[tokio::test]
async fn values_say_what_the_entry_puts_over_them_and_which_objects_have_others() {
    let Some(bench) = site("ui_values").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n  overrideValues: {{message: of-the-entry}}\n  \
         valuesFrom:\n  - {{kind: ConfigMap, name: defaults}}\n  - {{kind: Secret, name: keys, valuesKey: word, targetPath: at.it}}\n"
    ));
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "defaults"}, "data": {"values.yaml": "level: high"}});
    bench.create(&bench.config_maps(), map).await;
    let keys = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"word": CANARY}});
    bench.create(&bench.secrets(), keys).await;
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "own", "colour": "red"}))
        .await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{group}/{}/shop", bench.namespace);
    let shown = page.get(&format!("{address}/values"), &cookie).await.body;
    let row = |path: &str, value: &str, from: &str| {
        format!("<code>{path}</code></th><td class=\"why\"><code>{value}</code></td><td>{from}</td>")
    };
    for part in [
        row("message", "of-the-entry", "watches.yaml"),
        row("colour", "red", "the resource"),
        "Key values.yaml of ConfigMap defaults has values, too: they are not shown.".to_owned(),
        "Key word of Secret keys has values, too, at at.it: they are not shown.".to_owned(),
    ] {
        assert!(shown.contains(&part), "{part}: {shown}");
    }
    assert!(!shown.contains(CANARY), "{shown}");
}

/// Who looks, also at what could be done, changes nothing: what would come of it is asked for, and nothing else.
async fn check_looked(bench: &Bench, (page, cookie): (&Page, &str), (address, mark): (&str, AuditMark)) {
    for action in [
        "reconcile",
        "pause",
        "resume",
        "roll-back?revision=1",
        "approve?stage=one",
        "run?procedure=one",
    ] {
        page.get(&format!("{address}/actions/{action}"), cookie).await;
    }
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let (asked, changed) = (audit.by_user(bench.user.name()), |request: &Request| {
        request.is_write() && !request.uri.contains("dryRun=All")
    });
    assert!(asked.len() > 20 && asked.filter(changed).is_empty(), "{asked}");
}

/// Each field is with who has written it last.
fn check_owners(page: &str) {
    let owners: Vec<&str> = page.split("<details>").skip(1).collect();
    let of = |field: &str| {
        let field = format!("<code>{field}</code>");
        let mut found = owners.iter().filter(|owner| owner.contains(&field));
        let owner = found.next().unwrap_or_else(|| panic!("no {field}: {page}"));
        assert!(found.next().is_none(), "{field}: {page}");
        between(owner, "<summary>", " <span").to_owned()
    };
    assert_eq!(of(".data.message"), "steersman");
    let by_hand = of(".data.level");
    assert!(!by_hand.is_empty() && by_hand != "steersman", "{by_hand}");
}

/// What was in a Secret is nowhere any longer but in the revisions.
async fn check_former_secrets(bench: &Bench, (page, cookie): (&Page, &str), address: &str) {
    let other = Patch::Merge(json!({"stringData": {"word": "canary-of-another"}}));
    let (secrets, parameters) = (bench.secrets(), PatchParams::default());
    secrets.patch("found", &parameters, &other).await.unwrap();
    let compared = format!("{address}/compare?from=1&to=2");
    let body = page.get(&compared, cookie).await.body;
    assert!(
        body.contains("ConfigMap shop-settings") && body.contains("has changed since"),
        "{body}"
    );
    assert!(
        body.contains("-message: one") && !body.contains("canary"),
        "{body}"
    );
}

/// What the page's own environment has is not for who looks.
async fn check_environment(bench: &Bench, address: &str) {
    let entry = "version: v1, kind: Web, chart: web, overrideValues: {level: at-$HOME}";
    bench.watches(&format!("- {{group: {}, {entry}}}\n", bench.group));
    // Whose it is has it.
    let developer = Developer::of(bench).await;
    let diff = developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 1);
    assert!(diff.contains("level: at-/"), "{diff}");
    let page = Page::start(bench, &[]);
    let cookie = page.log_in().await;
    let plan = page.get(&format!("{address}/plan"), &cookie).await.body;
    assert!(
        plan.contains("+  level: ********") && !plan.contains("at-/"),
        "{plan}"
    );
}

/// More events of others than the server lists at once, and before ours.
async fn many_events(bench: &Bench) {
    let events = bench.api("", "v1", "Event", "events");
    let made = futures::stream::iter(0..1000).map(|number| {
        let about = json!({"kind": "Pod", "name": "other", "namespace": bench.namespace});
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("a-{number}")},
            "involvedObject": about, "reason": "Other", "type": "Normal"});
        bench.create(&events, event)
    });
    made.buffer_unordered(16).collect::<Vec<_>>().await;
    let about = json!({"apiVersion": "other.example.com/v1", "kind": "Web", "name": "shop", "namespace": bench.namespace});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "of-another-group"},
        "involvedObject": about, "reason": "OfAnotherGroup", "type": "Normal"});
    bench.create(&events, event).await;
}
