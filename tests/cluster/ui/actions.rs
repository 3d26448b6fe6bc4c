//! What is done with a release when somebody says so.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_model::{ReleaseStatus, Revision};
use steersman_testkit::cluster::{Fault, FaultProxy};

use super::{Page, between, form_of, site};
use crate::bench::Bench;
use crate::procedures::{define_runs, put_procedures, runs};
use crate::records::{changed, secret_of};

const BACKUP: &str =
    "  - {name: backup, job: procedures/job.yaml, parameters: {target: {type: string, required: true}}}\n";

async fn annotation(bench: &Bench, name: &str) -> String {
    let web = bench.webs().get("shop").await.unwrap();
    let annotations = web.metadata.annotations.unwrap_or_default();
    annotations.get(name).cloned().unwrap_or_default()
}

const FIRST: &str = "sh.helm.release.v1.shop.v1";

/// Has the first revision say other values, and gives what it was.
async fn forge_first(bench: &Bench) -> Value {
    let secret = bench.secrets().get(FIRST).await.unwrap();
    let forged = changed(&secret, |record| {
        record.config = json!({"message": "EVIL"}).as_object().cloned();
    });
    put_first(bench, json!(forged)).await;
    secret.data["data"]["release"].clone()
}

/// Adds a revision that nobody has deployed.
async fn forge_newer(bench: &Bench) {
    let secret = bench.secrets().get(FIRST).await.unwrap();
    let release = changed(&secret, |record| {
        record.version = Revision(99);
        record.info.status = ReleaseStatus::Deployed;
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\n".clone_into(&mut record.manifest);
    });
    let mut labels = secret.metadata.labels.unwrap();
    labels.extend(
        [("version", "99"), ("status", "deployed")].map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let forged = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": {"release": release},
        "metadata": {"name": secret_of("shop", 99), "labels": labels,
            "annotations": secret.metadata.annotations, "ownerReferences": secret.metadata.owner_references}});
    bench.create(&bench.secrets(), forged).await;
}

async fn put_first(bench: &Bench, release: Value) {
    let patch = Patch::Merge(json!({"data": {"release": release}}));
    let secrets = bench.secrets();
    secrets
        .patch(FIRST, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

// The page is waited for while the proxy answers it.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_acted_on_by_a_form_of_the_page_alone_and_with_the_rights_of_who_looks() {
    let Some(bench) = site("ui_actions").await else {
        return;
    };
    put_procedures(&bench, &[], BACKUP).await;
    define_runs(&bench, &["WebBackup"]).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 2).await;

    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    let page = Page::start_as(&bench, proxy.user().kubeconfig(), &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let pause = format!("{address}/actions/pause?");
    let shown = page.get(&pause, &cookie).await.body;
    assert!(shown.contains("leaves the release alone"), "{shown}");
    assert_eq!(
        annotation(&bench, "steersman.dev/pause").await,
        "",
        "a GET does nothing"
    );
    let token = between(&shown, "name=\"token\" value=\"", "\"").to_owned();
    let form = form_of(&shown);

    // Not without its word, not from elsewhere.
    let own = format!("Origin: http://{}", page.host);
    let foreign = "Origin: http://evil.example.com".to_owned();
    for (form, head) in [
        ("token=", own.clone()),
        ("token=0000", own.clone()),
        (form.as_str(), foreign),
        (form.as_str(), "X-Nothing: 1".to_owned()),
        (form.as_str(), format!("{own}\r\nSec-Fetch-Site: cross-site")),
    ] {
        let answer = page
            .post(&pause, &cookie, form, std::slice::from_ref(&head))
            .await;
        assert_eq!(answer.status, 403, "{form} {head}");
    }
    assert_eq!(annotation(&bench, "steersman.dev/pause").await, "");
    let done = page.post(&pause, &cookie, &form, &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert_eq!(annotation(&bench, "steersman.dev/pause").await, "true");
    let shown = page.wait(&address, &cookie, "Resume").await;
    assert!(!shown.contains(">Pause<"), "{shown}");
    let resume = format!("{address}/actions/resume?");
    let shown = page.get(&resume, &cookie).await.body;
    assert!(shown.contains("would stay"), "{shown}");
    let of_another = page.post(&resume, &cookie, &form, &[]).await;
    assert_eq!(of_another.status, 409, "{}", of_another.body);
    assert_eq!(
        page.post(&resume, &cookie, &form_of(&shown), &[]).await.status,
        303
    );

    reconcile(&bench, (&page, &cookie), &address).await;

    // What is gone back to is shown, and what was shown is done.
    let back = format!("{address}/actions/roll-back?revision=1");
    let shown = page.get(&back, &cookie).await.body;
    assert!(
        shown.contains("-message: two") && shown.contains("+message: one"),
        "{shown}"
    );
    let form = form_of(&shown);
    let record = forge_first(&bench).await;
    let forged = page.post(&back, &cookie, &form, &[]).await;
    assert!(
        forged.status == 409 && forged.body.contains("+message: EVIL"),
        "{}",
        forged.body
    );
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!(web.data["spec"], json!({"message": "two"}));
    put_first(&bench, record).await;
    let shown = page.get(&back, &cookie).await.body;
    let stale = format!("token={token}&shown=1");
    for path in [&back, &pause, &format!("{address}/actions/run?procedure=backup")] {
        let stale = page.post(path, &cookie, &stale, &[]).await;
        let is_said = stale.body.contains("has changed meanwhile");
        assert!(stale.status == 409 && is_said, "{path}: {}", stale.body);
    }
    let done = page.post(&back, &cookie, &form_of(&shown), &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    bench.wait_revision("shop", 3).await;
    assert_eq!(
        bench.config_maps().get("shop-map").await.unwrap().data["data"]["message"],
        "one"
    );

    back_once_more((&page, &cookie), &back).await;
    compare((&page, &cookie), &address).await;

    let refused = proxy.inject(Fault::on("create", "webbackups").refuse(409).always());
    run_none((&page, &cookie), &address).await;
    proxy.take_back(refused);
    run_once(&bench, (&page, &cookie), &address).await;
    forge_newer(&bench).await;
    let said = "the status tells of revision 3, and a Secret of Helm says that 99 is deployed";
    let shown = page.wait(&address, &cookie, said).await;
    assert!(
        shown.contains("shop-map"),
        "the objects are those of the status: {shown}"
    );
    operator.stop().await.unwrap();
}

/// What the API server refuses is not done, whatever the number of the refusal.
async fn run_none((page, cookie): (&Page, &str), address: &str) {
    let run = format!("{address}/actions/run?procedure=backup");
    let shown = page.get(&run, cookie).await.body;
    let filled = format!("{}&p.target=a", form_of(&shown));
    let not_made = page.post(&run, cookie, &filled, &[]).await;
    assert_eq!(not_made.status, 409, "{}", not_made.body);
}

/// Where the spec is that of a revision, going back to it makes nothing.
async fn back_once_more((page, cookie): (&Page, &str), back: &str) {
    let shown = page.get(back, cookie).await.body;
    let same = page.post(back, cookie, &form_of(&shown), &[]).await;
    let is_said = same.body.contains("there is nothing to go back to");
    assert!(same.status == 409 && is_said, "{}", same.body);
}

/// A run, with what it needs.
async fn run_once(bench: &Bench, (page, cookie): (&Page, &str), address: &str) {
    let run = format!("{address}/actions/run?procedure=backup");
    let shown = page.get(&run, cookie).await.body;
    assert!(
        shown.contains("job: Job of procedures/job.yaml") && shown.contains("p.target"),
        "{shown}"
    );
    let form = form_of(&shown);
    let refused = page.post(&run, cookie, &form, &[]).await;
    assert!(
        refused.status == 409 && refused.body.contains("parameter `target` is missing"),
        "{}",
        refused.body
    );
    // However often it is sent, one run is made.
    let letters = between(&shown, "name=\"run\" value=\"", "\"");
    let filled = format!("{form}&run={letters}&p.target=s3%3A%2F%2Fa");
    for _ in 0..3 {
        let done = page.post(&run, cookie, &filled, &[]).await;
        assert_eq!(done.status, 303, "{}", done.body);
    }
    let made = runs(bench, "WebBackup")
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    assert_eq!(
        made[0].data["spec"],
        json!({"resource": "shop", "target": "s3://a"})
    );
    assert_eq!(made.len(), 1);
    let name = made[0].metadata.name.clone().unwrap();
    page.wait(address, cookie, &name).await;
    // Another target in the same form is another run.
    let other = filled.replace("%2Fa", "%2Fb");
    let done = page.post(&run, cookie, &other, &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let made = runs(bench, "WebBackup").list(&Default::default()).await.unwrap();
    assert_eq!(made.items.len(), 2);
}

async fn reconcile(bench: &Bench, (page, cookie): (&Page, &str), address: &str) {
    let path = format!("{address}/actions/reconcile?");
    let shown = page.get(&path, cookie).await.body;
    assert!(shown.contains("would stay"), "{shown}");
    assert_eq!(annotation(bench, "steersman.dev/reconcile-at").await, "");
    let done = page.post(&path, cookie, &form_of(&shown), &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert_ne!(annotation(bench, "steersman.dev/reconcile-at").await, "");
    for (value, is_dry) in [(json!("true"), true), (Value::Null, false)] {
        let asked = json!({"metadata": {"annotations": {"steersman.dev/dry-run": value}}});
        let (webs, parameters) = (bench.webs(), PatchParams::default());
        webs.patch("shop", &parameters, &Patch::Merge(asked))
            .await
            .unwrap();
        let shown = page.get(&path, cookie).await.body;
        let is_said = shown.contains("it is a dry run, so nothing of this is done");
        assert_eq!(is_said, is_dry, "{shown}");
        let shown = page.get(address, cookie).await.body;
        assert_eq!(shown.contains("It is a dry run"), is_dry, "{shown}");
    }
}

/// Any two revisions differ in their own way.
async fn compare((page, cookie): (&Page, &str), address: &str) {
    for (compared, differs) in [
        ("from=1&to=2", Some(("-message: one", "+message: two"))),
        ("from=3&to=2", Some(("-message: one", "+message: two"))),
        ("from=2&to=3", Some(("-message: two", "+message: one"))),
        ("from=1&to=3", None),
    ] {
        let body = page
            .get(&format!("{address}/compare?{compared}"), cookie)
            .await
            .body;
        match differs {
            Some((old, new)) => assert!(body.contains(old) && body.contains(new), "{compared}: {body}"),
            None => assert!(!body.contains("+message") && !body.contains("-message"), "{body}"),
        }
    }
}
