//! The public charts, and what of each is switched on.

/// A chart of the corpus.
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) values: &'static str,
    /// What the upgrade changes: names or labels, and every switch that brings further kinds of objects.
    pub(super) change: &'static str,
    /// What of the role stays unused all the same, and why: `VERBS RESOURCE`, with `*` for all of its verbs.
    pub(super) left: &'static [(&'static str, &'static str)],
}

/// The most varied charts of the corpus: of those whose defaults consist of what Kubernetes 1.36 or the chart itself
/// serves, again and again the one with the most that the ones before lack: kinds of objects, kinds of hooks, kinds that
/// are looked up, definitions in `crds/`. The first of the alphabet counts where several have as much. Four are left out
/// because nobody could install them here: without values velero, and alpine and kiali-server as they are in their
/// repositories, have objects that the API server refuses; istio-discovery wants a namespace of its own.
pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "ingresscontroller",
        path: "charts/kubernetes--ingress-nginx/ingress-nginx",
        values: r#"{"controller": {"keda": {"enabled": true}, "admissionWebhooks": {"failurePolicy": "Ignore"}}}"#,
        change: r#"{"fullnameOverride": "ingresscontroller-renamed", "controller": {"kind": "DaemonSet", "networkPolicy": {"enabled": true}, "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true}}, "admissionWebhooks": {"certManager": {"enabled": true}, "failurePolicy": "Ignore"}}, "defaultBackend": {"enabled": true, "autoscaling": {"enabled": true, "minReplicas": 2}, "replicaCount": 2}, "dhParam": "YQ=="}"#,
        left: &[("* scaledobjects.keda.k8s.io", "the former group of these objects")],
    },
    Subject {
        name: "jupyterhub",
        path: "charts/jupyterhub--zero-to-jupyterhub-k8s/jupyterhub",
        values: "{}",
        change: r#"{"fullnameOverride": "jupyterhub-renamed", "ingress": {"enabled": true}, "httpRoute": {"enabled": true, "parentRefs": [{"name": "gate"}]}, "scheduling": {"podPriority": {"enabled": true}, "userPlaceholder": {"enabled": true}}, "singleuser": {"extraFiles": {}}}"#,
        left: &[],
    },
    Subject {
        name: "dapr",
        path: "charts/dapr--dapr/dapr",
        values: r#"{"global": {"ha": {"enabled": true}}}"#,
        change: r#"{"fullnameOverride": "dapr-renamed", "global": {"ha": {"enabled": true}, "priorityClassName": "system-node-critical"}}"#,
        left: &[],
    },
    Subject {
        name: "dashboard",
        path: "charts/kubernetes--dashboard/kubernetes-dashboard",
        values: r#"{"nginx": {"enabled": true, "controller": {"keda": {"enabled": true}, "admissionWebhooks": {"failurePolicy": "Ignore"}}}}"#,
        change: r#"{"fullnameOverride": "dashboard-renamed", "app": {"ingress": {"enabled": true}, "security": {"podDisruptionBudget": {"enabled": true, "minAvailable": 0}, "networkPolicy": {"enabled": true}}}, "nginx": {"enabled": true, "controller": {"kind": "DaemonSet", "metrics": {"enabled": true, "prometheusRule": {"enabled": true}}, "admissionWebhooks": {"certManager": {"enabled": true}, "failurePolicy": "Ignore"}}}, "metrics-server": {"enabled": true}, "kong": {"autoscaling": {"enabled": true}, "serviceMonitor": {"enabled": true}, "env": {"database": "postgres"}, "postgresql": {"enabled": true, "auth": {"postgresPassword": "canary", "password": "canary"}}}}"#,
        left: &[
            (
                "* gatewayclasses.gateway.networking.k8s.io",
                "for tests of the subchart kong",
            ),
            (
                "* gateways.gateway.networking.k8s.io",
                "for tests of the subchart kong",
            ),
            (
                "patch httproutes.gateway.networking.k8s.io",
                "for tests of the subchart kong",
            ),
            ("patch pods", "for tests of the subchart kong"),
            (
                "* mutatingwebhookconfigurations.admissionregistration.k8s.io",
                "of the subchart cert-manager, whose webhooks have to run",
            ),
            (
                "delete customresourcedefinitions.apiextensions.k8s.io",
                "as above",
            ),
            ("* scaledobjects.keda.k8s.io", "the former group of these objects"),
        ],
    },
    Subject {
        name: "mongodb",
        path: "charts/bitnami--charts/mongodb",
        values: r#"{"architecture": "replicaset", "auth": {"rootPassword": "canary", "replicaSetKey": "canarykey"}, "rbac": {"create": true}, "automountServiceAccountToken": true, "serviceAccount": {"create": true, "automountServiceAccountToken": true}, "externalAccess": {"enabled": true, "autoDiscovery": {"enabled": true}}, "networkPolicy": {"enabled": true, "allowExternalEgress": false}}"#,
        change: r#"{"commonLabels": {"changed": "yes"}, "architecture": "standalone", "replicaSetKey": "canarykey", "auth": {"rootPassword": "canary", "replicaSetKey": "canarykey"}, "backup": {"enabled": true}, "rbac": {"create": true}, "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true, "rules": {}}}, "passwordUpdateJob": {"enabled": true}, "networkPolicy": {"enabled": true, "allowExternalEgress": false}}"#,
        left: &[("list pods", "no hook fails")],
    },
    Subject {
        name: "bookkeeper",
        path: "charts/pravega--charts/bookkeeper-operator",
        values: "{}",
        change: r#"{"fullnameOverride": "bookkeeper-renamed", "webhookCert": {"generate": true}}"#,
        left: &[],
    },
    Subject {
        name: "csi",
        path: "charts/DataDog--helm-charts/datadog-csi-driver",
        values: "{}",
        change: r#"{"fullnameOverride": "csi-renamed"}"#,
        left: &[(
            "* allowlistsynchronizers.auto.gke.io",
            "where the cluster is Google's",
        )],
    },
    Subject {
        name: "nextcloud",
        path: "charts/nextcloud--helm/nextcloud",
        values: "{}",
        change: r#"{"fullnameOverride": "nextcloud-renamed", "httpRoute": {"enabled": true}, "ingress": {"enabled": true}, "nginx": {"enabled": true}, "internalDatabase": {"enabled": false}, "externalDatabase": {"enabled": true, "host": "a"}, "postgresql": {"enabled": true, "primary": {"persistence": {"enabled": true}}, "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true}}}, "redis": {"enabled": true}, "collabora": {"enabled": false}, "cronjob": {"enabled": true, "type": "cronjob"}, "persistence": {"enabled": true}, "hpa": {"enabled": true}, "metrics": {"enabled": true}, "prometheus": {"serviceMonitor": {"enabled": true}, "rules": {"enabled": true}}, "rbac": {"enabled": true}}"#,
        left: &[
            (
                "* certificates.cert-manager.io",
                "of databases in clusters, with TLS",
            ),
            ("* issuers.cert-manager.io", "as above"),
            (
                "* secretproviderclasses.secrets-store.csi.x-k8s.io",
                "of encrypted databases",
            ),
            ("* daemonsets.apps", "another form of the replicas of Redis"),
            ("* podmonitors.monitoring.coreos.com", "another form of monitors"),
            ("* jobs.batch", "for changes of the passwords of databases"),
            ("delete persistentvolumeclaims", "they are kept"),
        ],
    },
    Subject {
        name: "influxdb",
        path: "charts/bitnami--charts/influxdb",
        values: "{}",
        change: r#"{"commonLabels": {"changed": "yes"}, "objectStore": "s3", "s3": {"bucket": "b"}, "createAdminTokenJob": {"enabled": true}, "tls": {"enabled": true, "autoGenerated": {"engine": "cert-manager"}}, "ingress": {"enabled": true}, "autoscaling": {"vpa": {"enabled": true}, "hpa": {"enabled": true, "minReplicas": 1, "maxReplicas": 2}}, "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}}, "initdbScripts": {"a.sh": "a"}}"#,
        left: &[
            ("list pods", "no hook fails"),
            ("list,watch persistentvolumeclaims", "hooks, with these values"),
            (
                "list,watch rolebindings.rbac.authorization.k8s.io",
                "hooks, with these values",
            ),
            (
                "list,watch roles.rbac.authorization.k8s.io",
                "hooks, with these values",
            ),
        ],
    },
    Subject {
        name: "overprovisioner",
        path: "charts/deliveryhero--helm-charts/cluster-overprovisioner",
        values: "{}",
        change: r#"{"fullnameOverride": "overprovisioner-renamed", "deployments": [{"name": "default", "annotations": {}, "podAnnotations": {}, "replicaCount": 1, "nodeSelector": {}, "resources": {}, "tolerations": [], "affinity": {}, "labels": {}, "topologySpreadConstraints": [], "pdb": {"maxUnavailable": 1, "enabled": true}, "extraEnv": []}]}"#,
        left: &[],
    },
    Subject {
        name: "wiremock",
        path: "charts/deliveryhero--helm-charts/wiremock",
        values: "{}",
        change: r#"{"fullnameOverride": "wiremock-renamed", "serviceAccount": {"enabled": true}, "pdb": {"enabled": true}, "ingress": {"enabled": true}}"#,
        left: &[],
    },
    Subject {
        name: "jaeger",
        path: "charts/helm--charts/incubator-jaeger",
        values: "{}",
        change: r#"{"fullnameOverride": "jaeger-renamed", "provisionDataStore": {"elasticsearch": true, "cassandra": true}, "cassandra": {"exporter": {"enabled": true, "servicemonitor": true}}}"#,
        left: &[
            (
                "* cronjobs.batch",
                "in a version that Kubernetes no longer serves",
            ),
            (
                "* horizontalpodautoscalers.autoscaling",
                "in a version that Kubernetes no longer serves",
            ),
            (
                "* poddisruptionbudgets.policy",
                "in a version that Kubernetes no longer serves",
            ),
            (
                "* rolebindings.rbac.authorization.k8s.io",
                "for these CronJobs, and for PodSecurityPolicies",
            ),
            ("* roles.rbac.authorization.k8s.io", "as above"),
        ],
    },
    Subject {
        name: "descheduler",
        path: "charts/kubernetes-sigs--descheduler/descheduler",
        values: "{}",
        change: r#"{"fullnameOverride": "descheduler-renamed", "kind": "Deployment", "replicas": 2, "leaderElection": {"enabled": true}, "podDisruptionBudget": {"enabled": true}, "service": {"enabled": true}, "serviceMonitor": {"enabled": true}}"#,
        left: &[],
    },
    Subject {
        name: "kwok",
        path: "charts/kubernetes-sigs--kwok/kwok",
        values: "{}",
        change: r#"{"fullnameOverride": "kwok-renamed"}"#,
        left: &[],
    },
    Subject {
        name: "azure",
        path: "charts/litmuschaos--litmus-helm/kube-azure",
        values: "{}",
        change: r#"{"fullnameOverride": "azure-renamed"}"#,
        left: &[],
    },
    Subject {
        name: "telegraf",
        path: "charts/influxdata--helm-charts/telegraf-operator",
        values: "{}",
        change: r#"{"fullnameOverride": "telegraf-renamed", "certManager": {"enable": true}}"#,
        left: &[],
    },
    Subject {
        name: "sealed",
        path: "charts/bitnami-labs--sealed-secrets/sealed-secrets",
        values: "{}",
        change: r#"{"fullnameOverride": "sealed-renamed", "ingress": {"enabled": true}, "networkPolicy": {"enabled": true, "egress": {"enabled": true}}, "metrics": {"serviceMonitor": {"enabled": true}, "dashboards": {"create": true}}, "pdb": {"create": true}}"#,
        left: &[],
    },
    Subject {
        name: "harbor",
        path: "charts/goharbor--harbor-helm/harbor-helm",
        values: "{}",
        change: r#"{"fullnameOverride": "harbor-renamed", "expose": {"type": "route", "route": {"parentRefs": [{"name": "gate"}], "hosts": ["example.com"]}}, "enableMigrateHelmHook": true, "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}}, "portal": {"replicas": 2, "podDisruptionBudget": {"enabled": true, "minAvailable": 1}}}"#,
        left: &[
            ("list pods", "no hook fails"),
            ("delete persistentvolumeclaims", "they are kept"),
        ],
    },
    Subject {
        name: "istiogateway",
        path: "charts/istio--istio/gateway",
        values: "{}",
        change: r#"{"name": "istiogateway-renamed", "kind": "DaemonSet", "global": {"networkPolicy": {"enabled": true}}, "autoscaling": {"enabled": true, "minReplicas": 2}, "podDisruptionBudget": {"minAvailable": 1}}"#,
        left: &[],
    },
    Subject {
        name: "backstage",
        path: "charts/deliveryhero--helm-charts/backstage",
        values: "{}",
        change: r#"{"fullnameOverride": "backstage-renamed", "database": {"create": true}, "lighthouse": {"enabled": true}}"#,
        left: &[],
    },
];
