//! Who may do what: roles that go into the `ClusterServiceVersion`, and those that stand beside it.

use serde_json::{Value, json};

use super::manifests::Manifests;
use super::value::{list, name, namespace, text};

/// The roles of a project, divided.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Permissions {
    /// `permissions`: for each service account what it may do in namespaces.
    pub(super) namespaced: Vec<Value>,
    /// `clusterPermissions`: for each service account what it may do everywhere.
    pub(super) cluster: Vec<Value>,
    /// Roles, bindings and service accounts that are not the operator's.
    pub(super) beside: Vec<Value>,
}

/// A service account of an operator.
#[derive(PartialEq)]
struct Account<'a> {
    name: &'a str,
    /// Empty where it is not known.
    namespace: &'a str,
}

/// Divides roles and bindings: what is bound to the service account of a Deployment, or to one of `extra`, goes into the
/// `ClusterServiceVersion`, from which OLM makes roles, bindings and the account itself. A binding that has other
/// subjects, too, stays beside it as it is.
pub(super) fn divide(manifests: &Manifests, extra: &[String]) -> Permissions {
    let accounts = accounts(manifests, extra);
    let mut namespaced = Rules::new(&accounts);
    let mut cluster = Rules::new(&accounts);
    let mut inside: Vec<&Value> = Vec::new();
    let mut permissions = Permissions::default();
    for (bindings, rules) in [
        (&manifests.role_bindings, &mut namespaced),
        (&manifests.cluster_role_bindings, &mut cluster),
    ] {
        for binding in bindings {
            let role = role_of(manifests, binding);
            let mut has_others = role.is_none();
            for subject in list(binding, "/subjects") {
                match (role, find(&accounts, subject)) {
                    (Some(role), Some(account)) => {
                        rules.add(account, role);
                        inside.push(role);
                    }
                    _ => has_others = true,
                }
            }
            if has_others {
                permissions.beside.push(binding.clone());
            }
        }
    }
    permissions.namespaced = namespaced.into_list();
    permissions.cluster = cluster.into_list();
    let is_inside = |role: &Value| inside.iter().any(|found| std::ptr::eq(*found, role));
    let roles = manifests.roles.iter().chain(&manifests.cluster_roles);
    permissions
        .beside
        .extend(roles.filter(|role| !is_inside(role)).cloned());
    let own = |account: &&Value| !accounts.iter().any(|own| own.name == name(account));
    let service_accounts = manifests.service_accounts.iter().filter(own);
    permissions.beside.extend(service_accounts.cloned());
    permissions
}

fn accounts<'a>(manifests: &'a Manifests, extra: &'a [String]) -> Vec<Account<'a>> {
    let of_deployments = manifests.deployments.iter().map(|deployment| Account {
        name: match text(deployment, "/spec/template/spec/serviceAccountName") {
            "" => "default",
            name => name,
        },
        namespace: namespace(deployment),
    });
    let extra = extra.iter().map(|name| Account { name, namespace: "" });
    let mut accounts: Vec<Account<'a>> = Vec::new();
    for account in of_deployments.chain(extra) {
        if !accounts.contains(&account) {
            accounts.push(account);
        }
    }
    accounts
}

/// The account that a subject of a binding is.
fn find(accounts: &[Account<'_>], subject: &Value) -> Option<usize> {
    let space = text(subject, "/namespace");
    if text(subject, "/kind") != "ServiceAccount" {
        return None;
    }
    accounts.iter().position(|account| {
        let same_place = space.is_empty() || account.namespace.is_empty() || space == account.namespace;
        account.name == text(subject, "/name") && same_place
    })
}

/// The role that a binding binds, if it is one of the project's.
fn role_of<'a>(manifests: &'a Manifests, binding: &Value) -> Option<&'a Value> {
    let wanted = text(binding, "/roleRef/name");
    match text(binding, "/roleRef/kind") {
        "ClusterRole" => manifests.cluster_roles.iter().find(|role| name(role) == wanted),
        "Role" => {
            let mut same_name = manifests.roles.iter().filter(|role| name(role) == wanted);
            same_name.find(|role| namespace(role) == namespace(binding))
        }
        _ => None,
    }
}

/// Rules by account.
struct Rules<'a> {
    accounts: &'a [Account<'a>],
    rules: Vec<Vec<Value>>,
}

impl<'a> Rules<'a> {
    fn new(accounts: &'a [Account<'a>]) -> Self {
        Self {
            accounts,
            rules: vec![Vec::new(); accounts.len()],
        }
    }

    /// Adds the rules of a role; one that the account has already adds nothing.
    fn add(&mut self, account: usize, role: &Value) {
        for rule in list(role, "/rules") {
            if !self.rules[account].contains(rule) {
                self.rules[account].push(rule.clone());
            }
        }
    }

    fn into_list(self) -> Vec<Value> {
        let mut list: Vec<(&str, Vec<Value>)> = Vec::new();
        for (account, rules) in self.accounts.iter().zip(self.rules) {
            match list.iter_mut().find(|(name, _)| *name == account.name) {
                Some((_, before)) => before.extend(rules),
                None => list.push((account.name, rules)),
            }
        }
        list.retain(|(_, rules)| !rules.is_empty());
        list.sort_by_key(|(name, _)| *name);
        list.into_iter()
            .map(|(name, rules)| json!({"serviceAccountName": name, "rules": rules}))
            .collect()
    }
}
