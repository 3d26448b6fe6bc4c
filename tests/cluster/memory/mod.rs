//! With the memory that a project's Deployment allows, nothing that others write ends the operator: what does not fit fails
//! alone, and says how large it is.
//!
//! `STEERSMAN_MEMORY=FILE` runs the whole campaign with that program, and prints what it took: `make campaign-memory` does
//! so with the program as it is released.

mod kept;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{MemoryGroup, OperatorProcess};

use crate::bench::{Bench, MEMORY_LIMIT, condition, wait_until_within};

const PATIENCE: Duration = Duration::from_mins(10);
/// What may be used of it.
const MOST: u64 = 115 << 20;

/// An operator in a group with the limit, and what others write against it.
struct Campaign {
    bench: Bench,
    group: MemoryGroup,
    operator: OperatorProcess,
    id: u32,
    is_whole: bool,
    /// Whether the program's own pages count little, so that the peak can be judged.
    is_release: bool,
}

impl Campaign {
    async fn begin(test: &str, prepare: impl AsyncFnOnce(&Bench)) -> Option<Self> {
        let mut bench = Bench::with_kind(test).await?;
        // Beside other tests, what is read here takes minutes of a processor that is shared.
        bench.patience = PATIENCE;
        let group = MemoryGroup::new_or_say(test, MEMORY_LIMIT)?;
        let released = std::env::var_os("STEERSMAN_MEMORY").map(PathBuf::from);
        let binary = released
            .as_deref()
            .unwrap_or(Path::new(env!("CARGO_BIN_EXE_steersman")));
        prepare(&bench).await;
        let operator = bench.operator_within(&group, binary).await;
        let id = operator.id().await.unwrap();
        Some(Self {
            bench,
            group,
            operator,
            id,
            is_whole: released.is_some(),
            is_release: released.is_some(),
        })
    }

    /// Something usual is released, by the process that was started.
    async fn goes_on(&self, what: &str) {
        let name = format!("plain-{}", what.replace(' ', "-"));
        self.bench.apply_web(&name, json!({"replicas": 1})).await;
        self.bench.wait_revision(&name, 1).await;
        assert_eq!(self.operator.id().await, Some(self.id), "{what}");
        assert_eq!(self.group.kills().unwrap_or_default(), 0, "{what}");
        let peak = self.group.peak().unwrap_or_default();
        if self.is_whole {
            let peak = peak >> 20;
            let (resident, anonymous) = (self.status("VmHWM:"), self.status("RssAnon:"));
            let line = format!(
                "{what}: peak {peak} MiB of the group, {resident} kB of the process; {anonymous} kB of its own now\n"
            );
            std::io::stderr().write_all(line.as_bytes()).unwrap();
        }
        assert!(!self.is_release || peak <= MOST, "{what}: {} MiB", peak >> 20);
    }

    /// How often the log says that a release has failed.
    fn failures_of(&self, name: &str) -> usize {
        let log = self.operator.log_text();
        let named = format!("\"name\":\"{name}\"");
        let of_release = log.lines().filter(|line| line.contains(&named));
        of_release.filter(|line| line.contains("Release failed")).count()
    }

    /// A line of what the system says of the process.
    fn status(&self, key: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap_or_default();
        line.trim_matches(|letter: char| !letter.is_ascii_digit())
            .to_owned()
    }

    /// The resource can't be dealt with, and its conditions say it in these words.
    async fn fails(&self, name: &str, words: &[&str]) {
        let message = self
            .bench
            .wait("the failure", &self.bench.webs(), name, |web| {
                condition(web, "Stalled")
                    .or_else(|| condition(web, "ReleaseFailed"))
                    .map(|(_, _, message)| message)
            })
            .await;
        for word in words {
            assert!(message.contains(word), "{message}");
        }
        let web = self.bench.webs().get(name).await.unwrap();
        let conditions = web.data["status"]["conditions"].as_array().unwrap();
        assert!(
            conditions.iter().all(|condition| condition["type"].is_string()),
            "{conditions:#?}"
        );
    }
}

/// A text of JSON, packed as Helm packs a release.
fn packed(json: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(json.as_bytes()).unwrap();
    STANDARD.encode(STANDARD.encode(packer.finish().unwrap()))
}

/// A record of Helm's for a release that nobody has dealt with.
fn record(release: &str, namespace: &str, values: &str, manifest: &str) -> DynamicObject {
    let manifest = Value::from(manifest);
    let json = format!(
        r#"{{"name":"{release}","namespace":"{namespace}","version":1,"info":{{"status":"deployed"}},
        "chart":{{"metadata":{{"name":"web","version":"1.0.0"}},"values":{{"zeros":{values}}}}},"manifest":{manifest}}}"#
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": format!("sh.helm.release.v1.{release}.v1"),
            "labels": {"owner": "helm", "name": release, "version": "1", "status": "deployed"}},
        "data": {"release": packed(&json)}});
    assert!(secret.to_string().len() < 1_400_000, "no Secret holds it");
    serde_json::from_value(secret).unwrap()
}

fn many(one: &str, count: usize) -> String {
    format!("[{}]", vec![one; count].join(","))
}

/// A spec of about 1.4 MB, of which each seven bytes become a map.
fn heavy_spec() -> Value {
    json!({"maps": vec![json!({"": 0}); 190_000]})
}

/// A manifest that is small when packed, and whose objects are not.
fn heavy_manifest() -> String {
    let numbers = many("0", 100_000);
    let one = |name: usize| {
        format!(
            "---\n# Source: web/templates/a.yaml\n\
             {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a-{name}}}, data: {numbers}}}\n"
        )
    };
    (0..40).map(one).collect()
}

#[tokio::test]
async fn what_does_not_fit_fails_alone() {
    let campaign = Campaign::begin("what_does_not_fit_fails_alone", async |bench: &Bench| {
        let create = async |secret: DynamicObject| {
            bench
                .secrets()
                .create(&PostParams::default(), &secret)
                .await
                .unwrap();
        };
        create(record("zeros", &bench.namespace, &many("0", 8_000_000), "")).await;
        create(record("maps", &bench.namespace, &many("{\"\":0}", 2_000_000), "")).await;
        create(record("objects", &bench.namespace, "0", &heavy_manifest())).await;
        bench.add_template(
            "any.yaml",
            "{{- with .Values.template }}\n{{ tpl . $ }}\n{{- end }}\n",
        );
        for name in ["zeros", "maps", "objects"] {
            bench.apply_web(name, json!({"message": "new"})).await;
        }
    })
    .await;
    let Some(campaign) = campaign else { return };
    let bench = &campaign.bench;
    for name in ["zeros", "maps"] {
        let secret = format!("Secret sh.helm.release.v1.{name}.v1 is not read");
        campaign
            .fails(name, &[&secret, "take more than 13.3 MiB of memory"])
            .await;
    }
    campaign
        .fails(
            "objects",
            &["sh.helm.release.v1.objects.v1 is not read", "MiB of memory"],
        )
        .await;
    campaign.goes_on("records").await;

    create_web(bench, "heavy", heavy_spec()).await;
    campaign
        .fails(
            "heavy",
            &["failed to read the resource: it takes 1", "MiB of memory"],
        )
        .await;
    // It is looked at again, with a status that was cut, too.
    bench
        .patch_web("heavy", json!({"metadata": {"labels": {"again": "yes"}}}))
        .await;
    wait_until_within(PATIENCE, "another try", || campaign.failures_of("heavy") > 1).await;
    campaign.goes_on("resources").await;
    campaign.fails("heavy", &["it takes 1"]).await;

    what_templates_print(&campaign).await;
    campaign.goes_on("templates").await;

    dense_documents(&campaign).await;
    campaign.goes_on("documents").await;

    a_crowd_of_parts(&campaign).await;
    // What could not be read goes nevertheless.
    for name in ["zeros", "heavy", "output"] {
        bench.delete_web(name).await;
        bench.wait_gone(&bench.webs(), name).await;
    }
    if campaign.is_whole {
        flood(&campaign).await;
    }
    campaign.operator.stop().await.unwrap();
}

/// What templates print, and make on the way.
async fn what_templates_print(campaign: &Campaign) {
    let print = |count: usize, text: &str| format!("{{{{ range until {count} }}}}{text}{{{{ end }}}}");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ";
    for (name, template, words) in [
        (
            "output",
            // 50 MB.
            format!(
                "{{{{ $line := repeat 10000 \"x\" }}}}{map}large}}\ndata:\n{}",
                print(5_000, "  k{{ . }}: {{ $line }}\n")
            ),
            "output is larger than 4",
        ),
        (
            "many",
            print(100_000, &format!("---\n{map}m{{{{ . }}}}}}\n")),
            "output is larger than 4",
        ),
        (
            "small",
            print(100_000, "---\na: 1\n"),
            "documents are rendered, and 50000 are allowed",
        ),
        (
            "several",
            print(15_000, &format!("---\n{map}s{{{{ . }}}}}}\n")),
            "MiB of memory, and have 6.6 MiB",
        ),
        (
            "values",
            "{{ $a := list }}{{ range until 2000000 }}{{ end }}".to_owned(),
            "values need more than",
        ),
        (
            "documents",
            format!(
                "apiVersion: v1\nkind: A\nmetadata: {{name: a}}\ndata: [{}]",
                print(150_000, "{\"\":0},")
            ),
            "bytes",
        ),
    ] {
        campaign
            .bench
            .apply_web(name, json!({"template": template}))
            .await;
        campaign.fails(name, &[words]).await;
    }
}

/// Documents that are read at the same time, and are 200 times as large as their text.
async fn dense_documents(campaign: &Campaign) {
    let names: Vec<String> = (0..16).map(|number| format!("dense-{number}")).collect();
    let template = r#"data: [{{ repeat 120000 "{}," }}]"#;
    for name in &names {
        create_web(&campaign.bench, name, json!({"template": template})).await;
    }
    for name in &names {
        campaign.fails(name, &["document needs more than"]).await;
    }
}

/// A list of what others call parts of a release is larger than an answer may be: it is read in shorter pages.
async fn a_crowd_of_parts(campaign: &Campaign) {
    let bench = &campaign.bench;
    let note = "x".repeat(250_000);
    for number in 0..20 {
        let labels = json!({"steersman.dev/release": "plain-resources"});
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("part-{number}"), "labels": labels, "annotations": {"note": note}}});
        let secret: DynamicObject = serde_json::from_value(secret).unwrap();
        let parameters = PostParams::default();
        bench.secrets().create(&parameters, &secret).await.unwrap();
    }
    let policy = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": "orphan"}}});
    bench.patch_web("plain-resources", policy).await;
    bench.delete_web("plain-resources").await;
    bench.wait_gone(&bench.webs(), "plain-resources").await;
    let revision = bench
        .secrets()
        .get("sh.helm.release.v1.plain-resources.v1")
        .await
        .unwrap();
    assert_eq!(revision.metadata.owner_references, None);
    campaign.goes_on("parts").await;
}

/// How many there are of what is too large.
const FLOOD: usize = 12;

/// Creates a resource, which takes the server less than applying it.
async fn create_web(bench: &Bench, name: &str, spec: Value) {
    let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {"name": name}, "spec": spec});
    let web: DynamicObject = serde_json::from_value(web).unwrap();
    bench.webs().create(&PostParams::default(), &web).await.unwrap();
}

/// Many of everything.
async fn flood(campaign: &Campaign) {
    let bench = &campaign.bench;
    let text = "x".repeat(900_000);
    for number in 0..FLOOD {
        create_web(bench, &format!("heavy-{number}"), heavy_spec()).await;
        create_web(bench, &format!("long-{number}"), json!({"text": text})).await;
    }
    for number in 0..FLOOD {
        bench.wait_revision(&format!("long-{number}"), 1).await;
        campaign.fails(&format!("heavy-{number}"), &["it takes 1"]).await;
    }
    campaign.goes_on("many resources").await;

    for number in 0..FLOOD {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("large-{number}")},
            "data": {"text": text}});
        let map: DynamicObject = serde_json::from_value(map).unwrap();
        bench
            .config_maps()
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
    }
    let template = r#"{{ len (lookup "v1" "ConfigMap" .Release.Namespace "").items }}"#;
    bench
        .apply_web("lookup", json!({"template": format!("# {template}")}))
        .await;
    campaign
        .fails("lookup", &["ConfigMap in namespace", "MiB of memory"])
        .await;
    campaign.goes_on("lookups").await;

    // What belongs to a release is read with each change of it.
    bench.apply_web("changed", json!({"replicas": 1})).await;
    bench.wait_revision("changed", 1).await;
    for number in 0..30 {
        for name in ["changed-config", "plain-records-config"] {
            let patch = json!({"data": {"more": format!("{number}{text}")}});
            let patch = Patch::Merge(patch);
            bench
                .config_maps()
                .patch(name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    }
    campaign.goes_on("events").await;

    for number in 0..100 {
        let plural = format!("kinds{number}");
        bench.define(&format!("Kind{number}"), &plural).await;
    }
    campaign.goes_on("discovery").await;

    for number in 0..60 {
        let name = format!("old-{}", number % 2);
        let mut secret = record(&name, &bench.namespace, &many("0", 300_000), &heavy_manifest());
        secret.metadata.name = Some(format!("sh.helm.release.v1.{name}.v{}", number / 2 + 1));
        bench
            .secrets()
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }
    for name in ["old-0", "old-1"] {
        bench.apply_web(name, json!({})).await;
        campaign.fails(name, &["is not read"]).await;
    }
    campaign.goes_on("many records").await;
}
