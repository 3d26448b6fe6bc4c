//! The rules that follow from charts.

#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(
    clippy::needless_raw_string_hashes,
    reason = "so that the expected texts can be written by the tests"
)]

use expect_test::{Expect, expect};
use steersman_chart::Chart;
use steersman_project::CustomKind;
use steersman_project::rbac::{
    ActsAs, Granted, Options, Referred, ReferredPlace, RoleOptions, Rule, Rules, roles, write,
};

fn rules(templates: &[(&str, &str)], options: &Options) -> Rules {
    let mut files = vec![("Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}")];
    files.extend(templates);
    let chart = Chart::from_files(files.iter().map(|(name, text)| (*name, text.as_bytes()))).unwrap();
    let kind = CustomKind::new("example.com", "v1", "Web");
    Rules::of(&kind, &chart, options).unwrap()
}

fn check(templates: &[(&str, &str)], options: &Options, expect: &Expect) {
    let block = write::block(&rules(templates, options));
    let own = block.find("  - webs/finalizers\n  verbs:\n  - update\n").unwrap();
    let rest = &block[own + "  - webs/finalizers\n  verbs:\n  - update\n".len()..];
    expect.assert_eq(rest);
}

#[test]
fn a_block_says_whose_and_why() {
    let block = write::block(&rules(
        &[("templates/a.yaml", "apiVersion: v1\nkind: Service\n")],
        &Options::default(),
    ));
    expect![[r###"
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
        # objects name their custom resource as an owner whose deletion waits for theirs
        - apiGroups:
          - example.com
          resources:
          - webs/finalizers
          verbs:
          - update
        # services: web/templates/a.yaml:2
        - apiGroups:
          - ""
          resources:
          - services
          verbs:
          - get
          - list
          - watch
          - create
          - patch
          - delete
    "###]]
    .assert_eq(&block);
}

#[test]
fn every_branch_counts() {
    let template = r#"
{{- if .Values.stateful }}
apiVersion: apps/v1
kind: StatefulSet
{{- else if .Values.keda }}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
{{- else }}
apiVersion: apps/v1
kind: {{ .Values.kind | default "Deployment" }}
{{- end }}
metadata: {name: web}
---
apiVersion: {{ include "web.policy" . }}
kind: PodDisruptionBudget
metadata: {name: web}
"#;
    let helpers = r#"{{ define "web.policy" }}{{ if .Capabilities.APIVersions.Has "policy/v1" }}policy/v1{{ else }}policy/v1beta1{{ end }}{{ end }}"#;
    check(
        &[
            ("templates/a.yaml", template),
            ("templates/_helpers.tpl", helpers),
        ],
        &Options::default(),
        &expect![[r#"
            # deployments: web/templates/a.yaml:10
            # statefulsets: web/templates/a.yaml:4
            - apiGroups:
              - apps
              resources:
              - deployments
              - statefulsets
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
            # scaledobjects: web/templates/a.yaml:7
            - apiGroups:
              - keda.sh
              resources:
              - scaledobjects
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
            # poddisruptionbudgets: web/templates/a.yaml:15
            - apiGroups:
              - policy
              resources:
              - poddisruptionbudgets
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
        "#]],
    );
}

#[test]
fn hooks_lookups_and_definitions_need_less() {
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: pre-upgrade\n";
    let looked_up = r#"{{ $known := lookup "v1" "ConfigMap" .Release.Namespace "known" }}{{ range (lookup "v1" "Node" "" "").items }}{{ end }}"#;
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: x.io\n  scope: Cluster\n  names: {kind: Foo, plural: fooses}\n";
    let foo = "apiVersion: x.io/v1\nkind: Foo\n";
    check(
        &[
            ("templates/hook.yaml", hook),
            ("templates/looked.yaml", looked_up),
            ("crds/foo.yaml", crd),
            ("templates/foo.yaml", foo),
        ],
        &Options::default(),
        &expect![[r##"
            # nodes: web/templates/looked.yaml:1, looked up
            - apiGroups:
              - ""
              resources:
              - nodes
              verbs:
              - list
            # customresourcedefinitions: web/crds/foo.yaml
            - apiGroups:
              - apiextensions.k8s.io
              resources:
              - customresourcedefinitions
              verbs:
              - get
              - create
              - patch
            # fooses: web/templates/foo.yaml:2
            - apiGroups:
              - x.io
              resources:
              - fooses
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
            # configmaps: web/templates/looked.yaml:1, looked up
            - apiGroups:
              - ""
              resources:
              - configmaps
              verbs:
              - get
            # jobs: web/templates/hook.yaml:2, a hook
            - apiGroups:
              - batch
              resources:
              - jobs
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
            # how the pods of a hook that failed have ended
            - apiGroups:
              - ""
              resources:
              - pods
              verbs:
              - list
        "##]],
    );
}

#[test]
fn nothing_is_needed_for_tests() {
    let test =
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n";
    check(
        &[("templates/tests/test.yaml", test)],
        &Options::default(),
        &expect![""],
    );
    // Where they are run, they are hooks like others.
    let options = Options {
        runs_tests: true,
        ..Options::default()
    };
    let hook = test.replace("helm.sh/hook: test", "helm.sh/hook: post-install");
    let (tests, hooks) = (
        [("templates/test.yaml", test)],
        [("templates/test.yaml", hook.as_str())],
    );
    let [tests, hooks] = [(&tests, &options), (&hooks, &Options::default())]
        .map(|(templates, options)| write::block(&rules(templates, options)));
    assert_eq!(tests, hooks);
    assert!(tests.contains("  - jobs\n"), "{tests}");
}

#[test]
fn claims_of_sets_grow_with_a_rule_of_their_own() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n";
    let options = Options {
        expands_claims: true,
        ..Options::default()
    };
    let verbs = |template: &str, options: &Options| {
        let rules = rules(&[("templates/a.yaml", template)], options);
        let of_claims = rules
            .namespaced()
            .filter(|rule| rule.resources == ["persistentvolumeclaims"]);
        of_claims.flat_map(|rule| rule.verbs.clone()).collect::<Vec<_>>()
    };
    assert_eq!(verbs(set, &options), ["list", "patch"]);
    assert_eq!(verbs(set, &Options::default()), [""; 0]);
    assert_eq!(verbs("apiVersion: v1\nkind: Service\n", &options), [""; 0]);
    // It is the account's where releases are made as one, and the role of the place where the set is.
    let as_account = Options {
        acts_as: Some(ActsAs::AnyAccount),
        ..options.clone()
    };
    let rules = rules(&[("templates/a.yaml", set)], &as_account);
    let is_of_claims = |rule: &&Rule| rule.resources == ["persistentvolumeclaims"];
    assert_eq!(rules.rules.iter().filter(is_of_claims).count(), 0);
    assert_eq!(rules.account.iter().filter(is_of_claims).count(), 1);
}

#[test]
fn definitions_that_are_hooks_stay() {
    let hook = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: foos.x.io\n  annotations: {helm.sh/hook: pre-install}\n";
    check(
        &[("templates/foo.yaml", hook)],
        &Options::default(),
        &expect![[r#"
            # customresourcedefinitions: web/templates/foo.yaml:2, a hook
            - apiGroups:
              - apiextensions.k8s.io
              resources:
              - customresourcedefinitions
              verbs:
              - get
              - create
              - patch
        "#]],
    );
}

#[test]
fn kinds_that_a_comment_enumerates_count() {
    let values = "## StatefulSet or Deployment\n##\nkind: StatefulSet\n";
    let template = "apiVersion: apps/v1\nkind: {{ .Values.kind }}\nspec:\n  {{- if eq .Values.kind \"StatefulSet\" }}\n  serviceName: web\n  {{- end }}\n";
    let templates = [("values.yaml", values), ("templates/web.yaml", template)];
    assert_eq!(rules(&templates, &Options::default()).notices, [""; 0]);
    check(
        &templates,
        &Options::default(),
        &expect![[r#"
            # deployments: web/templates/web.yaml:2
            # statefulsets: web/templates/web.yaml:2
            - apiGroups:
              - apps
              resources:
              - deployments
              - statefulsets
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
        "#]],
    );
}

#[test]
fn kinds_that_templates_compare_with_count() {
    let template = "{{ if eq .Values.mode \"statefulSet\" }}{{ end }}apiVersion: apps/v1\nkind: {{ title .Values.mode }}\n";
    let rules = rules(
        &[
            ("values.yaml", "mode: deployment\n"),
            ("templates/web.yaml", template),
        ],
        &Options::default(),
    );
    let resources: Vec<&String> = rules.namespaced().flat_map(|rule| &rule.resources).collect();
    assert!(
        resources.ends_with(&[&"deployments".to_owned(), &"statefulsets".to_owned()]),
        "{resources:?}"
    );
    assert_eq!(
        rules.notices,
        ["web/templates/web.yaml:2: kind: {{ title .Values.mode }}"]
    );
}

const ROLE: &str = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Name }}
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list]
{{- if .Values.more }}
- apiGroups:
    - metrics.k8s.io
  resources:
    - pods
  verbs:
    - get
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: auth
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:auth-delegator
subjects:
- kind: ServiceAccount
  name: web
"#;

#[test]
fn what_a_chart_grants_the_operator_has() {
    check(
        &[("templates/role.yaml", ROLE)],
        &Options::default(),
        &expect![[r##"
            # clusterrolebindings: web/templates/role.yaml:19
            # clusterroles: web/templates/role.yaml:2
            - apiGroups:
              - rbac.authorization.k8s.io
              resources:
              - clusterrolebindings
              - clusterroles
              verbs:
              - get
              - list
              - watch
              - create
              - patch
              - delete
            # granted by the chart's ClusterRole in web/templates/role.yaml:2
            - apiGroups:
              - ""
              resources:
              - nodes
              verbs:
              - get
              - list
            # granted by the chart's ClusterRole in web/templates/role.yaml:2
            - apiGroups:
              - metrics.k8s.io
              resources:
              - pods
              verbs:
              - get
            # bound in web/templates/role.yaml:19
            - apiGroups:
              - rbac.authorization.k8s.io
              resources:
              - clusterroles
              resourceNames:
              - system:auth-delegator
              verbs:
              - bind
        "##]],
    );
}

#[test]
fn escalation_is_allowed_instead_when_asked_for() {
    let options = Options {
        allow_escalation: true,
        ..Options::default()
    };
    check(
        &[("templates/role.yaml", ROLE)],
        &options,
        &expect![[r#"
        # clusterrolebindings: web/templates/role.yaml:19
        # clusterroles: web/templates/role.yaml:2
        - apiGroups:
          - rbac.authorization.k8s.io
          resources:
          - clusterrolebindings
          - clusterroles
          verbs:
          - get
          - list
          - watch
          - create
          - patch
          - delete
        # the chart's roles, which grant what the operator does not have; their names follow from the release
        - apiGroups:
          - rbac.authorization.k8s.io
          resources:
          - clusterroles
          verbs:
          - escalate
        # roles that the chart binds
        - apiGroups:
          - rbac.authorization.k8s.io
          resources:
          - clusterroles
          resourceNames:
          - system:auth-delegator
          verbs:
          - bind
    "#]],
    );
}

#[test]
fn escalation_is_limited_to_names_that_the_chart_fixes() {
    let options = Options {
        allow_escalation: true,
        ..Options::default()
    };
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: web\nrules: []\n";
    let binding = |name: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: web\n\
             roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: {name}\n"
        )
    };
    let check = |name: &str, expect: &[(&[&str], &[&str])]| {
        let text = format!("{role}{}", binding(name));
        let rules = rules(&[("templates/role.yaml", &text)], &options).rules;
        let held: Vec<_> = rules
            .iter()
            .filter(|rule| rule.verbs.iter().any(|verb| verb == "bind" || verb == "escalate"))
            .map(|rule| (rule.verbs.clone(), rule.resource_names.clone()))
            .collect();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let expect: Vec<_> = expect
            .iter()
            .map(|(verbs, names)| (texts(verbs), texts(names)))
            .collect();
        assert_eq!(held, expect, "{name}");
    };
    check("web", &[(&["bind", "escalate"], &["web"])]);
    check("other", &[(&["escalate"], &["web"]), (&["bind"], &["other"])]);
    check(
        "{{ .Release.Name }}",
        &[(&["escalate"], &["web"]), (&["bind"], &[])],
    );
}

#[test]
fn what_a_chart_has_in_other_namespaces_has_a_role_there() {
    let reader = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: reader\n  \
         namespace: kube-system\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  \
         name: extension-apiserver-authentication-reader\n";
    let looked_up = r#"{{ $known := lookup "v1" "Endpoints" "default" "kubernetes" }}{{ $all := lookup "v1" "Secret" "" "" }}"#;
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let templates = [
        ("templates/reader.yaml", reader),
        ("templates/looked.yaml", looked_up),
        ("templates/service.yaml", service),
    ];
    let rules = rules(&templates, &Options::default());
    let text = roles(
        &[rules],
        &RoleOptions {
            name: "web".to_owned(),
            watch_namespaces: ["a".to_owned()].into(),
            ..RoleOptions::default()
        },
    );
    let granted = Granted::of_manifests(&text).unwrap();
    let all = granted
        .iter()
        .filter(|granted| granted.namespace.as_deref() != Some("a"));
    let described = all.map(|granted| {
        let namespace = granted.namespace.as_deref().unwrap_or("everywhere");
        let (resources, names) = (
            granted.rule.resources.join(","),
            granted.rule.resource_names.join(","),
        );
        format!(
            "{namespace}: {} {resources} {names}",
            granted.rule.verbs.join(",")
        )
    });
    assert_eq!(
        described.collect::<Vec<_>>(),
        [
            "everywhere: list secrets ",
            "default: get endpoints ",
            "kube-system: get,list,watch,create,patch,delete rolebindings ",
            "kube-system: bind roles extension-apiserver-authentication-reader",
            ": get secrets steersman-signing-keys",
            ": create secrets ",
        ]
    );
}

#[test]
fn an_operator_that_acts_as_accounts_has_a_small_role_beside_theirs() {
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n";
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: web\n  annotations: {helm.sh/hook: pre-install}\n";
    let looked_up = r#"{{ $known := lookup "v1" "Endpoints" .Release.Namespace "web" }}"#;
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: web\nrules:\n\
         - {apiGroups: [''], resources: [pods], verbs: [watch]}\n";
    let templates = [
        ("templates/service.yaml", service),
        ("templates/namespace.yaml", namespace),
        ("templates/hook.yaml", hook),
        ("templates/looked.yaml", looked_up),
        ("templates/role.yaml", role),
    ];
    let options = Options {
        acts_as: Some(ActsAs::Account("deployer".to_owned())),
        ..Options::default()
    };
    let rules = rules(&templates, &options);
    let text = roles(
        &[rules],
        &RoleOptions {
            name: "web".to_owned(),
            ..RoleOptions::default()
        },
    );
    let documents = text.split("---\n").flat_map(|document| {
        let name = document
            .lines()
            .find_map(|line| line.strip_prefix("  name: "))
            .unwrap();
        let granted = Granted::of_manifests(document).unwrap();
        granted.into_iter().map(move |granted| {
            let allowed = granted.rule;
            let names = allowed.resource_names.join(",");
            format!(
                "{name}: {} {} {names}",
                allowed.verbs.join(","),
                allowed.resources.join(",")
            )
        })
    });
    expect![[r#"
        web: get,list,watch,create,patch,delete secrets 
        web: create events 
        web: get,list,watch,patch webs 
        web: patch webs/status 
        web: update webs/finalizers 
        web: impersonate serviceaccounts deployer
        web: get namespaces 
        web: list,watch namespaces 
        web: list,watch services 
        web: list,watch jobs 
        web: list,watch roles 
        web-signing-keys: get secrets steersman-signing-keys
        web-signing-keys: create secrets 
        web-account-deployer: update webs/finalizers 
        web-account-deployer: get endpoints 
        web-account-deployer: get,list,create,patch,delete services 
        web-account-deployer: get,list,create,patch,delete jobs 
        web-account-deployer: get,list,create,patch,delete roles 
        web-account-deployer: list pods 
        web-account-deployer: watch pods 
        web-account-deployer-cluster: get,list,create,patch,delete namespaces 
    "#]]
    .assert_eq(&(documents.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn bindings_of_accounts_are_where_the_operator_watches() {
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let acting = |acts_as| {
        let options = Options {
            acts_as: Some(acts_as),
            ..Options::default()
        };
        let text = roles(
            &[rules(&[("templates/service.yaml", service)], &options)],
            &RoleOptions {
                name: "web".to_owned(),
                watch_namespaces: ["a".to_owned(), "b".to_owned()].into(),
                ..RoleOptions::default()
            },
        );
        let bindings = text
            .split("---\n")
            .filter(|document| document.contains("kind: RoleBinding\n"));
        bindings.map(str::to_owned).collect::<Vec<_>>()
    };
    let bindings = acting(ActsAs::Account("deployer".to_owned()));
    assert_eq!(bindings.len(), 2);
    for (binding, namespace) in bindings.iter().zip(["a", "b"]) {
        assert!(
            binding.contains(&format!("  namespace: {namespace}\n  labels:")),
            "{binding}"
        );
        let subject = format!("- kind: ServiceAccount\n  name: deployer\n  namespace: {namespace}\n");
        assert!(binding.ends_with(&subject), "{binding}");
    }
    assert_eq!(
        acting(ActsAs::AnyAccount),
        [""; 0],
        "nobody knows whose they would be"
    );
}

#[test]
fn what_nobody_can_tell_is_said() {
    let objects = "{{ range .Values.extraObjects }}\n---\n{{ tpl (toYaml .) $ }}\n{{ end }}";
    let kind = "apiVersion: v1\nkind: {{ .Values.kind }}\n";
    let templates = [
        ("templates/extra.yaml", objects),
        ("templates/kind.yaml", kind),
        (
            "templates/psp.yaml",
            "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\n",
        ),
        (
            "templates/monitor.yaml",
            "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n",
        ),
    ];
    let notices = rules(&templates, &Options::default()).notices;
    expect![[r#"
        ServiceMonitor.monitoring.coreos.com: taken for "servicemonitors", in namespaces; nothing here defines it
        PodSecurityPolicy of policy/v1beta1: no rule, as Kubernetes 1.36.3 does not serve it
        web/templates/extra.yaml:3: objects of kinds that .Values.extraObjects.* decides
        web/templates/kind.yaml:2: kind: {{ .Values.kind }}
    "#]].assert_eq(&(notices.join("\n") + "\n"));
}

#[test]
fn what_resources_refer_to_is_read_by_whom_the_release_is_made_as() {
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let referred = |kind: &str, name: Option<&str>, place| Referred {
        field: "dependsOn",
        group: if kind == "Secret" { "" } else { "acme.com" }.to_owned(),
        kind: kind.to_owned(),
        name: name.map(str::to_owned),
        place,
    };
    let references = vec![
        referred("Secret", Some("vault"), ReferredPlace::Release),
        referred("Secret", Some("keys"), ReferredPlace::Named("shared".to_owned())),
        referred("Widget", None, ReferredPlace::Any),
        referred("Widget", Some("one"), ReferredPlace::Release),
    ];
    let told = |acts_as: Option<ActsAs>| {
        let options = Options {
            acts_as,
            references: references.clone(),
            ..Options::default()
        };
        let rules = rules(&[("templates/service.yaml", service)], &options);
        let shown = |whose: &str, rules: &[Rule]| {
            let shown = rules
                .iter()
                .filter(|rule| rule.reasons.join("").contains("dependsOn"));
            let shown = shown.map(|rule| {
                let names = rule.resource_names.join(",");
                format!(
                    "{whose}: {} {} {names}",
                    rule.verbs.join(","),
                    rule.resources.join(",")
                )
            });
            shown.collect::<Vec<_>>()
        };
        let mut told = shown("operator", &rules.rules);
        told.extend(shown("account", &rules.account));
        for (namespace, rules) in &rules.elsewhere {
            told.extend(shown(namespace, rules));
        }
        told.extend(rules.notices);
        told.join("\n") + "\n"
    };
    expect![[r#"
        operator: get,list,watch secrets keys,vault
        operator: get,list,watch widgets 
        shared: get,list,watch secrets keys
        Widget.acme.com: taken for "widgets", in namespaces; nothing here defines it
        Widget: the resource says in which namespace that is (dependsOn); bind a role that may get, list and watch it there, too
    "#]].assert_eq(&told(None));
    expect![[r#"
        account: get,list,watch secrets keys,vault
        account: get,list,watch widgets 
        Widget.acme.com: taken for "widgets", in namespaces; nothing here defines it
        Widget: the resource says in which namespace that is (dependsOn); bind a role that may get, list and watch it there, too
        namespace shared: what releases refer to is there; bind the role of the ServiceAccounts there, too
    "#]].assert_eq(&told(Some(ActsAs::AnyAccount)));
}
