//! What an operator is at when faults strike.

use serde_json::{Value, json};

use crate::bench::Bench;

/// Jobs end by what is written into their status; what their controller does with pods meanwhile costs more than all the rest.
const NO_PODS: &str = "  completions: 1\n  parallelism: 0\n";

/// Steps in the life of one custom resource.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// Changes of the chart.
    pub(crate) prepare: Box<dyn Fn(&Bench) + Send + Sync>,
    pub(crate) steps: Vec<Step>,
    /// Whether it writes what is there once for all resources.
    pub(crate) is_alone: bool,
    /// Hooks that have no end of their own: they are made once more when their moment comes again.
    repeats: &'static [&'static str],
}

pub(crate) enum Step {
    /// The resource gets this spec.
    Apply(Value),
    /// The resource is deleted.
    Delete,
}

impl Workload {
    /// Whether this object may be created and deleted once more than in a run without faults.
    pub(crate) fn may_repeat(&self, id: &str) -> bool {
        self.repeats.iter().any(|name| id.ends_with(name))
    }

    pub(crate) fn all() -> Vec<Self> {
        vec![
            Self::objects(),
            Self::hooks(),
            Self::hooks_that_go(),
            Self::stages(),
            Self::definition(),
        ]
    }

    /// An installation, an upgrade that adds, drops, changes and renames objects, and the end; with objects in
    /// another namespace and in none.
    fn objects() -> Self {
        const TEMPLATE: &str =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ .Values.color }}\n";
        let first = json!({"password": "canary", "replicas": 0, "color": "blue", "elsewhere": "kube-public"});
        let second = json!({"password": "canary", "replicas": 0, "color": "green", "extra": true, "message": "bye", "port": 81});
        Self {
            name: "objects",
            prepare: Box::new(|bench| bench.add_template("color.yaml", TEMPLATE)),
            steps: vec![Step::Apply(first), Step::Apply(second), Step::Delete],
            is_alone: false,
            repeats: &[],
        }
    }

    /// Hooks before installation, upgrade and deletion, of which one has an end of its own.
    fn hooks() -> Self {
        let spec =
            |message: &str| json!({"password": "canary", "replicas": 0, "hooks": true, "message": message});
        Self {
            name: "hooks",
            prepare: Box::new(|bench| {
                bench.edit(
                    "hooks.yaml",
                    "  backoffLimit: 0\n",
                    &format!("  backoffLimit: 0\n{NO_PODS}"),
                );
            }),
            steps: vec![Step::Apply(spec("hello")), Step::Apply(spec("bye")), Step::Delete],
            is_alone: false,
            repeats: &["SPACE/NAME-before", "kube-public/SPACE-NAME"],
        }
    }

    /// Hooks that are deleted as soon as they have succeeded: nothing but the revision tells that they have run.
    fn hooks_that_go() -> Self {
        let job = |name: &str, weight: u32| {
            format!(
                "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}\n  annotations:\n    \
                 helm.sh/hook: pre-install,post-install,pre-upgrade,post-upgrade,pre-delete\n    helm.sh/hook-weight: \
                 \"{weight}\"\n    helm.sh/hook-delete-policy: hook-succeeded\nspec:\n{NO_PODS}  template:\n    spec:\n      \
                 restartPolicy: Never\n      containers: [{{name: job, image: registry.example.com/job:1}}]\n"
            )
        };
        let jobs = [job("one", 1), job("two", 2)].concat();
        let spec = |message: &str| json!({"password": "canary", "replicas": 0, "message": message});
        let prepare = move |bench: &Bench| bench.add_template("gone.yaml", &jobs);
        Self {
            name: "hooks that go",
            prepare: Box::new(prepare),
            steps: vec![Step::Apply(spec("hello")), Step::Apply(spec("bye")), Step::Delete],
            is_alone: false,
            repeats: &[],
        }
    }

    /// The same as hooks, with the objects in two stages.
    fn stages() -> Self {
        let Self { prepare, steps, .. } = Self::hooks();
        let prepare = move |bench: &Bench| {
            prepare(bench);
            let group = &bench.group;
            bench.watches(&format!(
                "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n  stages:\n  - {{name: run, objects: [{{kind: \
                 Deployment}}]}}\n  - {{name: serve, objects: [{{kind: Service}}]}}\n"
            ));
        };
        Self {
            name: "stages",
            prepare: Box::new(prepare),
            steps,
            is_alone: false,
            repeats: &["SPACE/NAME-before", "kube-public/SPACE-NAME"],
        }
    }

    /// A definition in `crds/` with an object of its kind.
    pub(crate) fn definition() -> Self {
        Self {
            name: "definition",
            prepare: Box::new(|bench| {
                for file in ["crds/gadgets.yaml", "templates/gadget.yaml"] {
                    let path = bench.folder.path().join("web").join(file);
                    let text = std::fs::read_to_string(&path).unwrap();
                    let own = text.replace("fixtures.example.com", &gadget_group(bench));
                    std::fs::write(path, own).unwrap();
                }
            }),
            steps: vec![
                Step::Apply(json!({"password": "canary", "replicas": 0, "gadget": true})),
                Step::Delete,
            ],
            is_alone: true,
            repeats: &[],
        }
    }
}

/// The group of the chart's own definition.
pub(crate) fn gadget_group(bench: &Bench) -> String {
    format!("g.{}", bench.group)
}
