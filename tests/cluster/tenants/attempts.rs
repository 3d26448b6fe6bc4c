//! What a tenant tries, each in a release of its own, and what it would reach.

use super::Tenants;

/// Something that a tenant writes into the values of a resource.
pub(super) struct Attempt {
    /// The resource's name.
    pub(super) name: &'static str,
    /// What `tpl` gets.
    pub(super) text: String,
    /// What the refusal names: the object as messages have it.
    pub(super) object: String,
    /// The rule of `confine` that is named.
    pub(super) rule: &'static str,
    /// What the server says where the account alone keeps it from being done.
    pub(super) forbidden: &'static str,
}

/// An object of a kind, with what else stands in its metadata.
fn object(api: &str, kind: &str, metadata: &str, rest: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{{metadata}}}\n{rest}\n")
}

/// A hook in the namespace of another tenant.
fn hook(other: &str, name: &'static str, events: &str) -> Attempt {
    let metadata =
        format!("name: planted-{name}, namespace: {other}, annotations: {{helm.sh/hook: '{events}'}}");
    Attempt {
        name,
        text: object("v1", "ConfigMap", &metadata, ""),
        object: format!("ConfigMap {other}/planted-{name}"),
        rule: "`confine.namespaces`",
        forbidden: "cannot get resource \"configmaps\"",
    }
}

/// A `ConfigMap` with what a lookup has found; one without a name asks for all of them.
fn looks_up(name: &'static str, kind: &str, (namespace, of): (&str, &str), object: String) -> Attempt {
    let lookup = format!(r#""v1" "{kind}" "{namespace}" "{of}""#);
    let forbidden = match (kind, of) {
        ("Namespace", _) => "cannot get resource \"namespaces\"",
        (_, "") => "cannot list resource \"secrets\"",
        _ => "cannot get resource \"secrets\"",
    };
    Attempt {
        name,
        text: format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: copied}}\ndata:\n  found: {{{{ lookup {lookup} | toJson | \
             quote }}}}\n"
        ),
        object,
        rule: "`confine.lookup`",
        forbidden,
    }
}

/// The values that tenant A writes: rows of the matrix.
pub(super) fn attempts(tenants: &Tenants) -> Vec<Attempt> {
    let (other, own, a) = (&tenants.other, &tenants.own, &tenants.bench.namespace);
    let rbac = "rbac.authorization.k8s.io/v1";
    let root = "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]";
    let in_other = |name: &str| format!("name: {name}, namespace: {other}");
    vec![
        Attempt {
            name: "object",
            text: object("v1", "ConfigMap", &in_other("planted"), ""),
            object: format!("ConfigMap {other}/planted"),
            rule: "`confine.namespaces`",
            forbidden: "cannot patch resource \"configmaps\"",
        },
        hook(other, "hook", "pre-install"),
        hook(other, "later-hook", "post-install,pre-delete"),
        looks_up("lookup", "Secret", (other, "vault"), format!("{other}/vault")),
        looks_up("lookup-all", "Secret", ("", ""), "ecret".to_owned()),
        looks_up("lookup-cluster", "Namespace", (a, other), other.clone()),
        looks_up(
            "lookup-operator",
            "Secret",
            (own, "vault"),
            format!("{own}/vault"),
        ),
        Attempt {
            name: "operator",
            text: object("v1", "ConfigMap", &format!("name: planted, namespace: {own}"), ""),
            object: format!("ConfigMap {own}/planted"),
            rule: "`confine.namespaces`",
            forbidden: "cannot patch resource \"configmaps\"",
        },
        Attempt {
            name: "cluster-role",
            text: object(rbac, "ClusterRole", &format!("name: root-{a}"), root),
            object: format!("ClusterRole root-{a}"),
            rule: "`confine.clusterScoped`",
            forbidden: "cannot patch resource \"clusterroles\"",
        },
        Attempt {
            name: "definition",
            text: object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                &format!("name: things.{a}.example.com"),
                &format!(
                    "spec:\n  group: {a}.example.com\n  scope: Namespaced\n  names: {{kind: Thing, plural: things}}\n  \
                     versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]"
                ),
            ),
            object: format!("CustomResourceDefinition things.{a}.example.com"),
            rule: "`confine.clusterScoped`",
            forbidden: "cannot patch resource \"customresourcedefinitions\"",
        },
        Attempt {
            name: "own-rights",
            text: object(rbac, "Role", "name: root", root),
            object: format!("Role {a}/root"),
            rule: "`confine.kinds.deny` of the watch has `*.rbac.authorization.k8s.io`",
            forbidden: "cannot patch resource \"roles\"",
        },
    ]
}
