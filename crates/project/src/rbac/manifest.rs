//! Roles as manifests: what `kubectl apply` takes.

use std::collections::{BTreeMap, BTreeSet};

use super::write::{MARKER, base_block_of, block, block_elsewhere, block_of, block_of_account, items};
use super::{ActsAs, Reach, Rules, leader_election_rules, metrics_rules, signing_rules};

/// Whose roles they are, and where they hold.
#[derive(Clone, Debug, Default)]
pub struct RoleOptions {
    /// The name of the roles, and the beginning of those that have another one.
    pub name: String,
    /// The operator's own namespace, in which its lease and its keys are.
    pub namespace: String,
    /// The operator's account there. With it, bindings are written, too.
    pub service_account: Option<String>,
    /// The namespaces that the operator watches (`WATCH_NAMESPACE`); none for all of them.
    pub watch_namespaces: BTreeSet<String>,
    /// Whether the operator holds a lease (`--leader-elect`).
    pub elects_leader: bool,
    /// Whether the operator asks who may see /metrics (`--metrics-require-rbac`).
    pub guards_metrics: bool,
}

/// The roles of an operator for these watches, and their bindings.
///
/// # Guarantees
/// The same input gives the same text.
///
/// ```
/// use steersman_project::rbac::{RoleOptions, roles};
///
/// let options = RoleOptions {
///     name: "web-operator".to_owned(),
///     namespace: "web-system".to_owned(),
///     service_account: Some("web-operator".to_owned()),
///     ..RoleOptions::default()
/// };
/// let text = roles(&[], &options);
/// assert!(text.contains("kind: ClusterRole\nmetadata:\n  name: web-operator\n"));
/// assert!(text.contains("kind: ClusterRoleBinding\n"));
/// ```
pub fn roles(watches: &[Rules], options: &RoleOptions) -> String {
    let mut documents = Vec::new();
    let metrics = || {
        if options.guards_metrics {
            format!("##\n## Guarded metrics\n##\n{}", items(&metrics_rules()))
        } else {
            String::new()
        }
    };
    if options.watch_namespaces.is_empty() {
        let blocks: String = watches.iter().map(block).collect();
        let rules = format!("{}{blocks}{}{MARKER}\n", base_block_of(watches), metrics());
        documents.push(role("ClusterRole", &options.name, None, options, &rules));
        documents.extend(binding("ClusterRole", &options.name, None, options));
    } else {
        let of_cluster: String = watches
            .iter()
            .map(|rules| block_of(rules, Reach::Cluster))
            .collect();
        let of_cluster = of_cluster + &metrics();
        if !of_cluster.is_empty() {
            documents.push(role("ClusterRole", &options.name, None, options, &of_cluster));
            documents.extend(binding("ClusterRole", &options.name, None, options));
        }
        let blocks: String = watches
            .iter()
            .map(|rules| block_of(rules, Reach::Namespaces))
            .collect();
        let rules = format!("{}{blocks}{MARKER}\n", base_block_of(watches));
        let mut of_namespaces: BTreeMap<&str, String> = BTreeMap::new();
        for watch in watches {
            for (namespace, rules) in watch.outside(&options.watch_namespaces) {
                let block = block_elsewhere(watch, rules);
                of_namespaces.entry(namespace).or_default().push_str(&block);
            }
        }
        for namespace in &options.watch_namespaces {
            of_namespaces.insert(namespace, rules.clone());
        }
        for (namespace, rules) in &of_namespaces {
            documents.push(role("Role", &options.name, Some(namespace), options, rules));
            documents.extend(binding("Role", &options.name, Some(namespace), options));
        }
    }
    if options.elects_leader {
        let name = format!("{}-leader-election", options.name);
        let namespace = Some(options.namespace.as_str());
        documents.push(role(
            "Role",
            &name,
            namespace,
            options,
            &items(&leader_election_rules()),
        ));
        documents.extend(binding("Role", &name, namespace, options));
    }
    let name = format!("{}-signing-keys", options.name);
    let namespace = Some(options.namespace.as_str());
    documents.push(role("Role", &name, namespace, options, &items(&signing_rules())));
    documents.extend(binding("Role", &name, namespace, options));
    documents.extend(of_accounts(watches, options));
    documents.join("---\n")
}

/// The roles of the accounts as which releases are made, for each name one, and one more for what is of the whole
/// cluster.
fn of_accounts(watches: &[Rules], options: &RoleOptions) -> Vec<String> {
    let mut accounts: BTreeMap<&ActsAs, Vec<&Rules>> = BTreeMap::new();
    for rules in watches {
        if let Some(acts_as) = &rules.acts_as {
            accounts.entry(acts_as).or_default().push(rules);
        }
    }
    let mut documents = Vec::new();
    for (acts_as, watches) in accounts {
        let (name, account) = match acts_as {
            ActsAs::Account(account) => (format!("{}-account-{account}", options.name), account.as_str()),
            ActsAs::AnyAccount => (format!("{}-account", options.name), "ACCOUNT"),
        };
        let blocks = |reach| -> String {
            let blocks = watches.iter().map(|rules| block_of_account(rules, reach));
            blocks.collect()
        };
        let (what, of_whole_cluster) = if watches.iter().any(|rules| rules.has_releases) {
            ("releases are made", "What charts have and look up")
        } else {
            ("runs write", "What tasks ask for")
        };
        let of_namespaces = format!(
            "# Of the accounts as which {what}. In each namespace with such resources:\n\
             #   kubectl create rolebinding {name} --clusterrole={name} \\\n\
             #     --serviceaccount=NAMESPACE:{account} --namespace=NAMESPACE\n{}",
            role("ClusterRole", &name, None, options, &blocks(Reach::Namespaces))
        );
        documents.push(of_namespaces);
        if let ActsAs::Account(account) = acts_as {
            for namespace in &options.watch_namespaces {
                let mut text = head("RoleBinding", &name, Some(namespace), options);
                text.push_str(&reference("ClusterRole", &name, account, namespace));
                documents.push(text);
            }
        }
        let of_cluster = blocks(Reach::Cluster);
        if !of_cluster.is_empty() {
            let name = format!("{name}-cluster");
            let text = role("ClusterRole", &name, None, options, &of_cluster);
            documents.push(format!(
                "# {of_whole_cluster} in the whole cluster. A ClusterRoleBinding gives it to an account: only to\n\
                 # one whose resources nobody may write but those who may do all of this.\n{text}"
            ));
        }
    }
    documents
}

fn role(kind: &str, name: &str, namespace: Option<&str>, options: &RoleOptions, rules: &str) -> String {
    format!("{}rules:\n{rules}", head(kind, name, namespace, options))
}

fn binding(kind: &str, name: &str, namespace: Option<&str>, options: &RoleOptions) -> Option<String> {
    let account = options.service_account.as_ref()?;
    let mut text = head(&format!("{kind}Binding"), name, namespace, options);
    text.push_str(&reference(kind, name, account, &options.namespace));
    Some(text)
}

/// What a binding has besides its head: the role, and the account that gets it.
fn reference(kind: &str, name: &str, account: &str, namespace: &str) -> String {
    format!(
        "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\nsubjects:\n\
         - kind: ServiceAccount\n  name: {account}\n  namespace: {namespace}\n"
    )
}

fn head(kind: &str, name: &str, namespace: Option<&str>, options: &RoleOptions) -> String {
    let namespace = namespace.map_or_else(String::new, |namespace| format!("  namespace: {namespace}\n"));
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{namespace}  labels:\n    \
         app.kubernetes.io/name: {}\n",
        options.name
    )
}
