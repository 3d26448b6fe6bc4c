//! The rules that follow from roles and playbooks.

#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(
    clippy::needless_raw_string_hashes,
    reason = "so that the expected texts can be written by the tests"
)]

use std::collections::BTreeSet;
use std::fs;

use expect_test::{Expect, expect};
use steersman_project::CustomKind;
use steersman_project::rbac::{
    ActsAs, Follows, Recorded, RecordedPlace, RecordedRequest, RoleOptions, Rules, TaskOptions, roles, write,
};
use steersman_project::tasks::{Content, Search, TaskSurvey};

fn rules(tasks: &str, options: &TaskOptions) -> Rules {
    let folder = tempfile::tempdir().unwrap();
    let role = folder.path().join("roles/web");
    fs::create_dir_all(role.join("tasks")).unwrap();
    fs::write(role.join("tasks/main.yml"), tasks).unwrap();
    let survey = TaskSurvey::of(&[Content::Role(role)], &Search::below(folder.path()));
    Rules::of_tasks(&CustomKind::new("example.com", "v1", "Web"), &survey, options)
}

fn options() -> TaskOptions {
    TaskOptions {
        manages_status: true,
        ..TaskOptions::default()
    }
}

fn check(tasks: &str, options: &TaskOptions, expect: &Expect) {
    expect.assert_eq(&write::block(&rules(tasks, options)));
}

const TASKS: &str = r"
- k8s:
    definition:
      - {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
      - {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- k8s_info: {kind: Secret, name: a, namespace: '{{ n }}'}
";

#[test]
fn tasks_decide_what_the_operator_may_do() {
    check(
        TASKS,
        &options(),
        &expect![[r###"
        ##
        ## Rules for example.com/v1, Kind: Web
        ##
        # the custom resources
        - apiGroups:
          - example.com
          resources:
          - webs
          verbs:
          - get
          - list
          - watch
        # what became of each
        - apiGroups:
          - example.com
          resources:
          - webs/status
          verbs:
          - patch
        # objects name their custom resource as an owner whose deletion waits for theirs
        - apiGroups:
          - example.com
          resources:
          - webs/finalizers
          verbs:
          - update
        # namespaces: roles/web/tasks/main.yml:6
        - apiGroups:
          - ""
          resources:
          - namespaces
          verbs:
          - get
          - create
          - patch
        # configmaps: roles/web/tasks/main.yml:5
        - apiGroups:
          - ""
          resources:
          - configmaps
          verbs:
          - get
          - list
          - watch
          - create
          - patch
        # secrets: roles/web/tasks/main.yml:7
        - apiGroups:
          - ""
          resources:
          - secrets
          verbs:
          - get
        # deployments: roles/web/tasks/main.yml:4
        - apiGroups:
          - apps
          resources:
          - deployments
          verbs:
          - get
          - list
          - watch
          - create
          - patch
    "###]],
    );
}

#[test]
fn what_is_not_watched_needs_no_watch() {
    let watched = |options: &TaskOptions| {
        let rules = rules(TASKS, options);
        let watched = rules
            .rules
            .iter()
            .filter(|rule| rule.verbs.iter().any(|verb| verb == "watch"));
        watched
            .flat_map(|rule| rule.resources.clone())
            .collect::<Vec<_>>()
    };
    let with = |follows| TaskOptions { follows, ..options() };
    assert_eq!(watched(&with(Follows::Nothing)), ["webs"]);
    assert_eq!(
        watched(&with(Follows::Namespaced)),
        ["webs", "configmaps", "deployments"]
    );
    assert_eq!(
        watched(&with(Follows::All)),
        ["webs", "namespaces", "configmaps", "deployments"]
    );
    let listed = TaskOptions {
        blacklist: BTreeSet::from([("apps".to_owned(), "Deployment".to_owned())]),
        ..options()
    };
    assert_eq!(watched(&listed), ["webs", "configmaps"]);
}

#[test]
fn kinds_are_known_by_other_names_too() {
    let tasks = r"
- k8s_info: {kind: Deployment, name: a}
- k8s_info: {api_version: apps/v1, kind: statefulsets, name: a}
- k8s_info: {kind: cm, name: a}
- k8s_info: {api_version: extensions/v1beta1, kind: Ingress, name: a}
- k8s_info: {api_version: other.example.com/v1, kind: Thing, name: a}
";
    let rules = rules(tasks, &options());
    let found: Vec<String> = rules
        .rules
        .iter()
        .filter(|rule| !rule.api_groups.contains(&"example.com".to_owned()))
        .map(|rule| format!("{}/{}", rule.api_groups.join(","), rule.resources.join(",")))
        .collect();
    assert_eq!(
        found,
        [
            "/configmaps",
            "apps/deployments,statefulsets",
            "other.example.com/things"
        ]
    );
    assert_eq!(
        rules.notices,
        [
            "roles/web/tasks/main.yml:5: Ingress of extensions/v1beta1: no rule, as Kubernetes 1.36.3 does not serve it",
            "Thing.other.example.com: taken for \"things\", in namespaces; nothing here defines it",
        ]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of them are the roles")]
fn an_account_writes_and_the_operator_watches() {
    let options = TaskOptions {
        acts_as: Some(ActsAs::Account("deployer".to_owned())),
        has_finalizer: true,
        deletes_dependents: true,
        ..options()
    };
    let watches = [rules(TASKS, &options)];
    let role_options = RoleOptions {
        name: "web".to_owned(),
        namespace: "system".to_owned(),
        ..RoleOptions::default()
    };
    expect![[r#"
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: web
          labels:
            app.kubernetes.io/name: web
        rules:
        ##
        ## Base operator rules
        ##
        # what becomes of custom resources is told by events
        - apiGroups:
          - ""
          resources:
          - events
          verbs:
          - create
        ##
        ## Rules for example.com/v1, Kind: Web
        ##
        # the custom resources, and the finalizer on them
        - apiGroups:
          - example.com
          resources:
          - webs
          verbs:
          - get
          - list
          - watch
          - patch
        # what became of each
        - apiGroups:
          - example.com
          resources:
          - webs/status
          verbs:
          - patch
        # runs write as a ServiceAccount of the resource's namespace
        - apiGroups:
          - ""
          resources:
          - serviceaccounts
          resourceNames:
          - deployer
          verbs:
          - impersonate
        # configmaps: roles/web/tasks/main.yml:5
        - apiGroups:
          - ""
          resources:
          - configmaps
          verbs:
          - get
          - list
          - watch
          - delete
        # deployments: roles/web/tasks/main.yml:4
        - apiGroups:
          - apps
          resources:
          - deployments
          verbs:
          - get
          - list
          - watch
          - delete
        #+kubebuilder:scaffold:rules
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata:
          name: web-signing-keys
          namespace: system
          labels:
            app.kubernetes.io/name: web
        rules:
        # the keys that sign the revisions of releases
        - apiGroups:
          - ""
          resources:
          - secrets
          resourceNames:
          - steersman-signing-keys
          verbs:
          - get
        # the first of these keys
        - apiGroups:
          - ""
          resources:
          - secrets
          verbs:
          - create
        ---
        # Of the accounts as which runs write. In each namespace with such resources:
        #   kubectl create rolebinding web-account-deployer --clusterrole=web-account-deployer \
        #     --serviceaccount=NAMESPACE:deployer --namespace=NAMESPACE
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: web-account-deployer
          labels:
            app.kubernetes.io/name: web
        rules:
        ##
        ## Rules for example.com/v1, Kind: Web
        ##
        # objects name their custom resource as an owner whose deletion waits for theirs
        - apiGroups:
          - example.com
          resources:
          - webs/finalizers
          verbs:
          - update
        # configmaps: roles/web/tasks/main.yml:5
        - apiGroups:
          - ""
          resources:
          - configmaps
          verbs:
          - get
          - create
          - patch
        # secrets: roles/web/tasks/main.yml:7
        - apiGroups:
          - ""
          resources:
          - secrets
          verbs:
          - get
        # deployments: roles/web/tasks/main.yml:4
        - apiGroups:
          - apps
          resources:
          - deployments
          verbs:
          - get
          - create
          - patch
        ---
        # What tasks ask for in the whole cluster. A ClusterRoleBinding gives it to an account: only to
        # one whose resources nobody may write but those who may do all of this.
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: web-account-deployer-cluster
          labels:
            app.kubernetes.io/name: web
        rules:
        ##
        ## Rules for example.com/v1, Kind: Web
        ##
        # namespaces: roles/web/tasks/main.yml:6
        - apiGroups:
          - ""
          resources:
          - namespaces
          verbs:
          - get
          - create
          - patch
    "#]]
    .assert_eq(&roles(&watches, &role_options));
}

#[test]
fn namespaces_that_tasks_name_have_their_own_rules() {
    let tasks = "- k8s: {kind: ConfigMap, name: a, namespace: far}\n- k8s: {kind: Secret, name: a, namespace: '{{ n }}'}\n";
    let rules = rules(tasks, &options());
    let far: Vec<&String> = rules.elsewhere["far"]
        .iter()
        .flat_map(|rule| &rule.resources)
        .collect();
    assert_eq!(far, ["configmaps"]);
}

#[test]
fn roles_that_tasks_make_are_granted_by_who_has_their_rules() {
    let tasks = r"
- k8s:
    definition:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: Role
      metadata: {name: a}
      rules: [{apiGroups: [''], resources: [pods], verbs: [list]}]
";
    let has = |options: &TaskOptions, resource: &str, verb: &str| {
        let rules = rules(tasks, options);
        rules.rules.iter().any(|rule| {
            rule.resources.contains(&resource.to_owned()) && rule.verbs.contains(&verb.to_owned())
        })
    };
    assert!(has(&options(), "pods", "list") && !has(&options(), "roles", "escalate"));
    let escalating = TaskOptions {
        allow_escalation: true,
        ..options()
    };
    assert!(!has(&escalating, "pods", "list") && has(&escalating, "roles", "escalate"));
}

#[test]
fn what_runs_have_asked_for_is_added() {
    let mut recorded = Recorded::default();
    for (place, group, resource, verb) in [
        (RecordedPlace::OwnNamespace, "apps", "statefulsets", "get"),
        (RecordedPlace::OwnNamespace, "apps", "statefulsets", "create"),
        (RecordedPlace::Namespace("far".to_owned()), "", "pods", "list"),
        (RecordedPlace::Cluster, "", "nodes", "list"),
    ] {
        recorded.add(&RecordedRequest {
            api_version: "example.com/v1",
            kind: "Web",
            place,
            group,
            resource,
            verb,
        });
    }
    let options = TaskOptions {
        recorded,
        ..options()
    };
    check(
        "- k8s: {kind: Pod, name: a, namespace: far}\n",
        &options,
        &expect![[r###"
            ##
            ## Rules for example.com/v1, Kind: Web
            ##
            # the custom resources
            - apiGroups:
              - example.com
              resources:
              - webs
              verbs:
              - get
              - list
              - watch
            # what became of each
            - apiGroups:
              - example.com
              resources:
              - webs/status
              verbs:
              - patch
            # objects name their custom resource as an owner whose deletion waits for theirs
            - apiGroups:
              - example.com
              resources:
              - webs/finalizers
              verbs:
              - update
            # nodes: recorded
            - apiGroups:
              - ""
              resources:
              - nodes
              verbs:
              - list
            # pods: roles/web/tasks/main.yml:1, recorded
            - apiGroups:
              - ""
              resources:
              - pods
              verbs:
              - get
              - list
              - watch
              - create
              - patch
            # statefulsets: recorded
            - apiGroups:
              - apps
              resources:
              - statefulsets
              verbs:
              - get
              - list
              - watch
              - create
        "###]],
    );
    let far = &rules("[]", &options).elsewhere["far"];
    assert_eq!(
        (far[0].resources.as_slice(), far.len()),
        (&["pods".to_owned()][..], 1)
    );
}

#[test]
fn an_operator_without_charts_needs_no_secrets_of_releases() {
    let of = |watches: &[Rules]| roles(watches, &RoleOptions::default());
    let first = |text: String| text.split("---\n").next().unwrap_or_default().to_owned();
    let base = |text: String| {
        first(text)
            .split("## Rules for")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(!base(of(&[rules("[]", &options())])).contains("secrets"));
    assert!(base(of(&[])).contains("secrets"));
}
