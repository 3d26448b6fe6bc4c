//! Whether what a plan does is within the bounds that the watch sets. Pure.

use std::collections::BTreeMap;

use serde_json::Value;
use steersman_cluster::discovery::Served;
use steersman_model::{ApiKind, ObjectId, RenderedObject, is_definition, objects_of_text};
use steersman_watches::{Confinement, OutOfBounds};

use super::Plan;
use crate::apply::is_ours_to_run;
use crate::reconcile::error::ReconcileError;
use crate::release::HookRecord;

/// The bounds of a release, and what is known of the scope of kinds.
pub(crate) struct Bounds<'a> {
    confinement: &'a Confinement,
    release_namespace: &'a str,
    served: &'a Served,
    /// Whether objects of these kinds are in namespaces, by group and kind, as definitions of the plan say it.
    defined: BTreeMap<(String, String), bool>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(confinement: &'a Confinement, release_namespace: &'a str, served: &'a Served) -> Self {
        Self {
            confinement,
            release_namespace,
            served,
            defined: BTreeMap::new(),
        }
    }

    /// Whether everything that the plan writes is within these bounds: definitions, objects, hooks of any event. What
    /// it deletes need not be, as it was there before.
    ///
    /// An object of a kind that nobody serves or defines is passed over: it is not applied.
    pub(crate) fn admit(mut self, plan: &Plan) -> Result<(), ReconcileError> {
        self.learn(&plan.definitions.objects);
        self.learn(&plan.objects);
        for definition in plan.definitions.due(&plan.objects, self.served) {
            self.object(definition)?;
        }
        for object in &plan.objects {
            if self.is_namespaced(&object.api).is_some() {
                self.object(object)?;
            }
        }
        plan.hooks.records.iter().try_for_each(|hook| self.hook(hook))
    }

    /// Whether the objects of a hook are.
    pub(crate) fn hook(&self, hook: &HookRecord) -> Result<(), ReconcileError> {
        if !is_ours_to_run(hook) {
            return Ok(());
        }
        self.test(hook)
    }

    /// Whether the objects of a test are, which is run on request alone.
    pub(crate) fn test(&self, hook: &HookRecord) -> Result<(), ReconcileError> {
        let objects = objects_of_text(&hook.path, &hook.manifest)?;
        objects.iter().try_for_each(|object| self.object(object))
    }

    /// The same of a single one.
    pub(crate) fn object(&self, object: &RenderedObject) -> Result<(), ReconcileError> {
        let is_namespaced = self.is_namespaced(&object.api);
        let id = ObjectId {
            group: object.api.group.clone(),
            kind: object.api.kind.clone(),
            namespace: is_namespaced.unwrap_or(true).then(|| {
                let named = object.namespace.as_deref();
                named.unwrap_or(self.release_namespace).to_owned()
            }),
            name: object.name.clone(),
        };
        let admitted = self.confinement.admit(&id, self.release_namespace);
        let admitted = match is_namespaced {
            None if !self.confinement.cluster_scoped => admitted.and(Err(OutOfBounds::UnknownScope)),
            _ => admitted,
        };
        admitted.map_err(|source| ReconcileError::OutOfBounds {
            origin: object.source.clone(),
            id: Box::new(id),
            source,
        })
    }

    /// Whether objects of this kind are in namespaces, in whatever version; `None` where nothing tells.
    fn is_namespaced(&self, api: &ApiKind) -> Option<bool> {
        let served = self.served.resource(api);
        let served = served.or_else(|| self.served.any_version(&api.group, &api.kind));
        served.map(|resource| resource.namespaced).or_else(|| {
            let key = (api.group.clone(), api.kind.clone());
            self.defined.get(&key).copied()
        })
    }

    fn learn(&mut self, objects: &[RenderedObject]) {
        for definition in objects.iter().filter(|object| is_definition(object)) {
            let text = |pointer| definition.value.pointer(pointer).and_then(Value::as_str);
            if let (Some(group), Some(kind), Some(scope)) =
                (text("/spec/group"), text("/spec/names/kind"), text("/spec/scope"))
            {
                let key = (group.to_owned(), kind.to_owned());
                self.defined.insert(key, scope == "Namespaced");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::{Expect, expect};
    use serde_json::json;
    use steersman_chart::{CrdFile, HookEvent};
    use steersman_model::{chain, objects_of_manifest};
    use steersman_watches::{AllowedNamespace, ConflictPolicy, CrdPolicy};

    use super::*;
    use crate::reconcile::plan::{Decision, Definitions, Hooks, PruneScope};

    const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
        metadata: {name: things.acme.com}\nspec: {group: acme.com, scope: SCOPE, names: {kind: Thing}, versions: [{name: v1}]}\n";

    fn plan(manifest: &str, hook: &str, definition: &str) -> Plan {
        let hook = HookRecord {
            name: "hook".to_owned(),
            kind: "ConfigMap".to_owned(),
            path: "web/templates/hook.yaml".to_owned(),
            manifest: hook.to_owned(),
            events: vec!["post-upgrade".to_owned()],
            weight: 0,
            delete_policies: Vec::new(),
            last_run: json!({}),
        };
        let file = CrdFile {
            source: "web/crds/things.yaml".to_owned(),
            text: definition.to_owned(),
        };
        Plan {
            decision: Decision::Install,
            definitions: Definitions::all(&[file], CrdPolicy::Create).unwrap(),
            hooks: Hooks {
                before: HookEvent::PreInstall,
                after: HookEvent::PostInstall,
                records: vec![hook],
            },
            objects: objects_of_manifest(manifest).unwrap(),
            stages: Vec::new(),
            completed: BTreeSet::new(),
            replaced: Vec::new(),
            former_managers: None,
            recreate: false,
            claims: crate::apply::ClaimPolicy::Leave,
            conflicts: ConflictPolicy::Overwrite,
            prune: PruneScope::default(),
        }
    }

    /// What is said of a plan where nothing is served, so that the plan alone tells of kinds.
    fn check(confinement: &Confinement, plan: &Plan, expect: &Expect) {
        let served = Served::default();
        let admitted = Bounds::new(confinement, "a", &served).admit(plan);
        expect.assert_eq(&admitted.map_or_else(|error| chain(&error), |()| "admitted".to_owned()));
    }

    fn thing(namespace: &str) -> String {
        format!(
            "# Source: web/templates/thing.yaml\napiVersion: acme.com/v1\nkind: Thing\nmetadata: {{name: t{namespace}}}\n"
        )
    }

    #[test]
    fn definitions_objects_and_hooks_are_judged_by_their_scope() {
        let narrow = Confinement::default();
        let wide = Confinement {
            cluster_scoped: true,
            ..Confinement::default()
        };
        let namespaced = DEFINITION.replace("SCOPE", "Namespaced");
        let of_cluster = DEFINITION.replace("SCOPE", "Cluster");
        let elsewhere = thing(", namespace: b");
        check(
            &narrow,
            &plan(&thing(""), "", &namespaced),
            &expect![
                "web/crds/things.yaml: CustomResourceDefinition a/things.acme.com may not be part of the release: nobody serves its kind, which may be of the whole cluster, and `confine.clusterScoped` of the watch is not true"
            ],
        );
        check(&wide, &plan(&thing(""), "", &namespaced), &expect!["admitted"]);
        check(
            &wide,
            &plan(&elsewhere, "", &namespaced),
            &expect![
                "web/templates/thing.yaml: Thing.acme.com b/t may not be part of the release: `confine.namespaces` of the \
                 watch has namespace a alone"
            ],
        );
        check(&wide, &plan(&elsewhere, "", &of_cluster), &expect!["admitted"]);
        check(
            &wide,
            &plan("", &elsewhere, &namespaced),
            &expect![
                "web/templates/hook.yaml: Thing.acme.com b/t may not be part of the release: `confine.namespaces` of the \
                 watch has namespace a alone"
            ],
        );
    }

    #[test]
    fn a_hook_of_a_kind_that_nobody_knows_may_be_of_the_whole_cluster() {
        let mut confinement = Confinement::default();
        check(
            &confinement,
            &plan(&thing(", namespace: b"), "", ""),
            &expect!["admitted"],
        );
        let unknown = plan("", &thing(""), "");
        check(
            &confinement,
            &unknown,
            &expect![
                "web/templates/hook.yaml: Thing.acme.com a/t may not be part of the release: nobody serves its kind, which may \
                 be of the whole cluster, and `confine.clusterScoped` of the watch is not true"
            ],
        );
        confinement.cluster_scoped = true;
        check(&confinement, &unknown, &expect!["admitted"]);
        confinement.namespaces = [AllowedNamespace::Named("c".to_owned())].into();
        check(
            &confinement,
            &unknown,
            &expect![
                "web/templates/hook.yaml: Thing.acme.com a/t may not be part of the release: `confine.namespaces` of the watch \
                 has namespace c alone"
            ],
        );
    }
}
