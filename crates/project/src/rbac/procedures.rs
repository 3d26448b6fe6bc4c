//! What is needed for the procedures of an entry: their runs, which are the operator's own, and the Jobs of their steps.

use super::{Options, Rule, Rules, base};
use crate::{CustomKind, Procedure};

/// What is done with runs: made by a schedule or by the command line, followed, and deleted where there are too many.
const RUN: &[&str] = &["get", "list", "watch", "create", "delete", "patch", "update"];
/// What has become of a run is written where it was not changed meanwhile.
const STATUS: &[&str] = &["get", "patch", "update"];

/// How pods of a Job have ended, and what they have said.
pub(super) const PODS: &[&str] = &["get", "list"];

/// Adds the rules for runs. They are never for an account, but for what whoever makes a Job needs that belongs to a run.
pub(super) fn add(options: &Options, rules: &mut Rules) {
    for procedure in &options.procedures {
        let runs = &procedure.runs;
        rules.rules.extend(of_runs(runs, &procedure.name));
        rules.rules.push(belonging(procedure));
        if options.acts_as.is_some() && procedure.makes_jobs {
            rules.account.push(belonging(procedure));
        }
    }
}

fn of_runs(runs: &CustomKind, procedure: &str) -> [Rule; 2] {
    let plural = &runs.plural;
    let rule = |resource: &str, verbs: &[&str], reason: String| {
        base::reaching(runs, Rule::new(&runs.group, &[resource], verbs, reason))
    };
    [
        rule(plural, RUN, format!("the runs of procedure {procedure}")),
        rule(
            &format!("{plural}/status"),
            STATUS,
            format!("how far each run of procedure {procedure} is"),
        ),
    ]
}

fn belonging(procedure: &Procedure) -> Rule {
    let reason = format!(
        "what is made for a run of procedure {} names it as an owner whose deletion waits for its own",
        procedure.name
    );
    base::finalizers(&procedure.runs, reason)
}

/// Where the Jobs of procedures are said to be from.
pub(super) fn places(options: &Options) -> Vec<String> {
    let procedures = options.procedures.iter();
    let making = procedures.filter(|procedure| procedure.makes_jobs);
    making
        .map(|procedure| format!("procedure {}", procedure.name))
        .collect()
}

#[cfg(test)]
#[expect(
    clippy::needless_raw_string_hashes,
    reason = "so that the expected texts can be written by the tests"
)]
mod tests {
    use expect_test::expect;
    use steersman_chart::Chart;

    use super::*;
    use crate::Scope;
    use crate::rbac::{ActsAs, Reach};

    const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  namespace: shop\n  \
                        annotations: {helm.sh/hook: pre-install}\n";

    fn procedure(name: &str, makes_jobs: bool) -> Procedure {
        Procedure {
            name: name.to_owned(),
            runs: CustomKind::new("example.com", "v1", format!("Web{name}")),
            parameters: Vec::new(),
            makes_jobs,
        }
    }

    fn rules(acts_as: Option<ActsAs>) -> Rules {
        let files = [
            ("Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}"),
            ("templates/hook.yaml", HOOK),
        ];
        let chart = Chart::from_files(files.map(|(name, text)| (name, text.as_bytes()))).unwrap();
        let options = Options {
            procedures: vec![procedure("backup", true), procedure("wait", false)],
            acts_as,
            ..Options::default()
        };
        Rules::of(&CustomKind::new("example.com", "v1", "Web"), &chart, &options).unwrap()
    }

    fn told(rules: &[Rule]) -> String {
        let lines = rules.iter().map(|rule| {
            let (resources, verbs) = (rule.resources.join(","), rule.verbs.join(","));
            format!("{resources}: {verbs} # {}\n", rule.reasons.join("; "))
        });
        lines.collect()
    }

    #[test]
    fn runs_are_followed_and_their_jobs_are_made() {
        let rules = rules(None);
        expect![[r#"
            webs: get,list,watch,patch # the custom resources, and the finalizer on them
            webs/status: patch # what became of each
            webs/finalizers: update # objects name their custom resource as an owner whose deletion waits for theirs
            pods: get,list # pods: procedure backup
            jobs: get,list,watch,create,patch,delete # jobs: web/templates/hook.yaml:2, a hook, procedure backup
            pods: list # how the pods of a hook that failed have ended
            webbackups: get,list,watch,create,delete,patch,update # the runs of procedure backup
            webbackups/status: get,patch,update # how far each run of procedure backup is
            webbackups/finalizers: update # what is made for a run of procedure backup names it as an owner whose deletion waits for its own
            webwaits: get,list,watch,create,delete,patch,update # the runs of procedure wait
            webwaits/status: get,patch,update # how far each run of procedure wait is
            webwaits/finalizers: update # what is made for a run of procedure wait names it as an owner whose deletion waits for its own
        "#]].assert_eq(&told(&rules.rules));
        expect![[r#"
            jobs: get,list,watch,create,patch,delete # jobs: web/templates/hook.yaml:2, a hook
            pods: list # how the pods of a hook that failed have ended
        "#]]
        .assert_eq(&told(&rules.elsewhere["shop"]));
    }

    #[test]
    fn an_account_makes_the_jobs_and_the_operator_has_the_runs() {
        let rules = rules(Some(ActsAs::AnyAccount));
        expect![[r#"
            webs: get,list,watch,patch # the custom resources, and the finalizer on them
            webs/status: patch # what became of each
            webs/finalizers: update # objects name their custom resource as an owner whose deletion waits for theirs
            serviceaccounts: impersonate # releases are made as a ServiceAccount of their namespace
            namespaces: get # whether a namespace is being deleted whose ServiceAccount may do nothing any more
            jobs: list,watch # jobs: web/templates/hook.yaml:2, a hook, procedure backup
            webbackups: get,list,watch,create,delete,patch,update # the runs of procedure backup
            webbackups/status: get,patch,update # how far each run of procedure backup is
            webbackups/finalizers: update # what is made for a run of procedure backup names it as an owner whose deletion waits for its own
            webwaits: get,list,watch,create,delete,patch,update # the runs of procedure wait
            webwaits/status: get,patch,update # how far each run of procedure wait is
            webwaits/finalizers: update # what is made for a run of procedure wait names it as an owner whose deletion waits for its own
        "#]].assert_eq(&told(&rules.rules));
        expect![[r#"
            webs/finalizers: update # objects name their custom resource as an owner whose deletion waits for theirs
            pods: get,list # pods: procedure backup
            jobs: get,list,create,patch,delete # jobs: web/templates/hook.yaml:2, a hook, procedure backup
            pods: list # how the pods of a hook that failed have ended
            webbackups/finalizers: update # what is made for a run of procedure backup names it as an owner whose deletion waits for its own
        "#]].assert_eq(&told(&rules.account));
    }

    #[test]
    fn runs_for_resources_of_the_cluster_are_of_the_cluster() {
        let mut backup = procedure("backup", true);
        backup.runs.scope = Scope::Cluster;
        let reaches = of_runs(&backup.runs, "backup").map(|rule| rule.reach);
        assert_eq!(reaches, [Reach::Cluster; 2]);
        assert_eq!(belonging(&backup).reach, Reach::Cluster);
    }
}
