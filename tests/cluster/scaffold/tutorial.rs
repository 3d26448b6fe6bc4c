//! The tutorial of Ansible roles, step by step, with its files.

use std::fs;
use std::path::Path;

use serde_json::Value;
use steersman_testkit::ansible::Ansible;

use super::project::{BINARY, Project};
use super::{deploys, operate, service_account};
use crate::bench::{Bench, RUN_PATIENCE};

const PAGE: &str = "docs/tutorial-ansible.md";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A reader of the tutorial, whose kinds are of another group.
struct Reader<'a> {
    project: Project<'a>,
    group: String,
    resource: String,
}

impl Reader<'_> {
    /// The file as the tutorial shows it.
    fn file(&self, path: &str) -> String {
        let page = read(PAGE);
        let begin = format!("```yaml {path}\n");
        let (_, after) = page
            .split_once(&begin)
            .unwrap_or_else(|| panic!("{PAGE} has no {path}"));
        let (text, _) = after.split_once("```").unwrap();
        text.replace("retail.example.com", &self.group)
    }

    fn write(&self, path: &str) {
        fs::write(self.project.folder.join(path), self.file(path)).unwrap();
    }

    /// Runs a command of the tutorial.
    #[track_caller]
    fn steersman(&self, command: &str) -> String {
        let line = format!("\nsteersman {command}\n");
        assert!(read(PAGE).contains(&line), "{PAGE} has no {line}");
        let arguments: Vec<&str> = command.split(' ').collect();
        self.project.run(BINARY, &arguments).succeeded().stdout
    }

    #[track_caller]
    fn kubectl(&self, arguments: &[&str]) -> String {
        self.project.kubectl(arguments)
    }

    #[track_caller]
    fn wait(&self, name: &str, what: &str) {
        let patience = format!("--timeout={}s", RUN_PATIENCE.as_secs());
        self.kubectl(&["wait", name, what, &patience]);
    }

    fn shop(&self, name: &str) -> String {
        format!("{}/{name}", self.resource)
    }

    fn patch(&self, patch: &str) -> bool {
        let namespace = self.project.bench.namespace.as_str();
        let shop = self.shop("museum");
        let arguments = ["patch", &shop, "--type=merge", "-p", patch, "-n", namespace];
        self.project.run("kubectl", &arguments).success
    }

    /// Parts 1 and 2.
    fn writes_the_role(&self) {
        let project = &self.project;
        let create = [
            "create",
            "api",
            "--group=retail",
            "--kind=Shop",
            "--generate-role",
        ];
        project.run(BINARY, &create).succeeded();
        // `ansible-galaxy` would install cloud.common, which no role here uses.
        let requirements = "collections:\n  - name: kubernetes.core\n";
        fs::write(project.folder.join("requirements.yml"), requirements).unwrap();
        for path in [
            "watches.yaml",
            "roles/shop/defaults/main.yml",
            "roles/shop/tasks/main.yml",
        ] {
            self.write(path);
        }
        self.steersman("crd --output-dir config/crd/bases");
        self.steersman("rbac generate --no-leader-election --output config/rbac/role.yaml");
        assert_eq!(self.steersman("check"), "nothing is wrong\n");
    }

    /// Parts 3 and 4.
    async fn runs_it_here(&self) {
        let project = &self.project;
        project.make(&["install"]).succeeded();
        let flags = "RUN_FLAGS=--record-permissions permissions.yaml --metrics-bind-address=127.0.0.1:0 \
                     --health-probe-bind-address=127.0.0.1:0";
        let mut running = project.start_make(&["run", flags]);
        self.write("museum.yaml");
        self.kubectl(&["apply", "-f", "museum.yaml"]);
        self.wait(&self.shop("museum"), "--for=condition=Successful");
        let page = project.get(&["configmap", "museum"]);
        assert_eq!(page["data"]["index.html"], "Welcome to the museum");

        assert!(self.patch(r#"{"spec": {"replicas": 2}}"#));
        self.wait("deployment/museum", "--for=jsonpath={.spec.replicas}=2");
        assert!(!self.patch(r#"{"spec": {"replicas": [1]}}"#));
        self.wait(&self.shop("museum"), "--for=condition=Successful");
        self.kubectl(&["delete", "deployment", "museum"]);
        self.wait("deployment/museum", "--for=create");
        self.wait(&self.shop("museum"), "--for=condition=Successful");
        self.kubectl(&["delete", &self.shop("museum")]);
        self.wait("configmap/museum", "--for=delete");
        self.wait("deployment/museum", "--for=delete");
        running.signal("INT");
        running.end().await;
        assert!(!running.log().contains("ERROR"), "{}", running.log());
    }

    /// Part 5.
    fn gives_it_its_permissions(&self) {
        let recorded = fs::read_to_string(self.project.folder.join("permissions.yaml")).unwrap();
        let recorded: String = recorded
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert_eq!(recorded, self.file("permissions.yaml"));
        let role = || fs::read_to_string(self.project.folder.join("config/rbac/role.yaml")).unwrap();
        let before = role();
        self.steersman(
            "rbac generate --no-leader-election --recorded permissions.yaml --output config/rbac/role.yaml",
        );
        let rules = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(rules(&role()), rules(&before), "{}", role());
        assert_eq!(self.steersman("check"), "nothing is wrong\n");
    }

    /// Part 6, with the operator beside the cluster: it may do there what its `ServiceAccount` may.
    async fn brings_it_into_the_cluster(&self) {
        let (project, cluster) = (&self.project, self.project.bench.cluster);
        let deployment = deploys(project).await;
        let (kubeconfig, user) = service_account(project, &deployment);
        let mark = cluster.audit_mark().await.unwrap();
        let operator = operate(project, &deployment, &kubeconfig).await;
        self.kubectl(&["apply", "-k", "config/samples"]);
        self.wait(&self.shop("shop-sample"), "--for=condition=Successful");
        self.kubectl(&["delete", "deployment", "shop-sample"]);
        self.wait("deployment/shop-sample", "--for=create");
        let asked = cluster.audit_since(mark).await.unwrap().by_user(&user);
        assert!(!asked.writes().is_empty());
        let refused = asked.filter(|request| request.code == Some(403));
        assert!(refused.is_empty(), "{:#?}", refused.requests);

        project
            .make(&["undeploy", "UNDEPLOY_FLAGS=--cascade"])
            .succeeded();
        assert_eq!(project.left(), [""; 0]);
        let left = project.get(&["deployments,configmaps"]);
        let left = left["items"].as_array().unwrap().iter();
        let left: Vec<&Value> = left.map(|object| &object["metadata"]["name"]).collect();
        assert_eq!(left, ["kube-root-ca.crt"]);
        // It has lost its rights, and with them the lease, if it has come to renew that.
        let _ = operator.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorial_of_roles_is_true() {
    let test = "the_tutorial_of_roles_is_true";
    let Some(ansible) = Ansible::find_or_skip(test) else {
        return;
    };
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let group = format!("retail.{}", bench.group);
    let project = Project::init(&bench, "shop", "deployment", &["--plugins=ansible"]);
    let project = Project {
        ansible: Some(ansible),
        ..project
    };
    let reader = Reader {
        resource: format!("shops.{group}"),
        project,
        group,
    };
    reader.writes_the_role();
    reader.runs_it_here().await;
    reader.gives_it_its_permissions();
    reader.brings_it_into_the_cluster().await;
}

/// What the tutorial installs is what images get.
#[test]
fn the_tutorial_installs_what_the_dockerfile_installs() {
    let dockerfile = read("examples/visitors-ansible/Dockerfile");
    let page = read(PAGE);
    let line = page
        .lines()
        .find(|line| line.starts_with("pip install "))
        .unwrap();
    let packages: Vec<&str> = line.split(' ').skip(2).collect();
    let of_image = dockerfile.lines().filter(|line| line.contains("==")).count();
    assert_eq!(packages.len(), of_image);
    for package in packages {
        assert!(dockerfile.contains(package), "{package}");
    }
}
