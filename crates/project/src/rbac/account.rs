//! Which permissions are those of the accounts as which an operator makes releases, and which stay its own.

use super::{Purpose, Reach, Rule, Rules, base, merged};

/// As whom releases are rendered, applied and deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActsAs {
    /// As the ServiceAccount of this name, in the namespace of each release.
    Account(String),
    /// As one whose name is not known here.
    AnyAccount,
}

/// Leaves the operator what it does itself: it follows custom resources and the objects of their releases. The rest
/// becomes the account's.
pub(super) fn split(acts_as: &ActsAs, rules: &mut Rules) {
    let of_releases = std::mem::take(&mut rules.rules);
    rules.rules = base::custom_resource(&rules.kind);
    rules.rules.extend(base::acting(acts_as));
    rules.rules.extend(followed(&of_releases));
    let mut account = base::ownership(&rules.kind);
    account.extend(of_releases.into_iter().filter_map(without_watch));
    rules.account = account;
    for (namespace, elsewhere) in std::mem::take(&mut rules.elsewhere) {
        rules.notice(format!(
            "namespace {namespace}: the chart names it; bind the role of the ServiceAccounts there, too, to those whose \
             releases may have something there"
        ));
        let own = followed(&elsewhere);
        if !own.is_empty() {
            rules.elsewhere.insert(namespace, own);
        }
    }
}

/// What the operator itself does with the objects that these rules are for.
fn followed(rules: &[Rule]) -> Vec<Rule> {
    // What a chart's roles grant is for the account to have.
    let is_watched = |rule: &&Rule| rule.purpose == Purpose::Asked && has(rule, "watch");
    let watched = rules.iter().filter(is_watched);
    let only = watched.map(|rule| Rule {
        verbs: vec!["list".to_owned(), "watch".to_owned()],
        ..rule.clone()
    });
    let mut found: Vec<Rule> = only.collect();
    found.sort_by_key(|rule| rule.reach == Reach::Namespaces);
    merged(found)
}

fn without_watch(mut rule: Rule) -> Option<Rule> {
    if rule.purpose == Purpose::Held {
        return Some(rule);
    }
    rule.verbs.retain(|verb| verb != "watch");
    (!rule.verbs.is_empty()).then_some(rule)
}

fn has(rule: &Rule, verb: &str) -> bool {
    rule.verbs.iter().any(|known| known == verb)
}
