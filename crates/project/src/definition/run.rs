//! The `CustomResourceDefinition` of the runs of a procedure.

use serde_json::{Value, json};

use super::notice::Notices;
use super::status::{PRESERVE, conditions, observed_generation};
use super::{Definition, DefinitionError, Frame, age, fit, names, whole};
use crate::{CustomKind, Procedure, Scope};

/// What has become of a run, in the order in which one comes to it.
const PHASES: [&str; 6] = [
    "Pending",
    "Running",
    "Finishing",
    "Succeeded",
    "Failed",
    "Cancelled",
];

impl Definition {
    /// The definition of the kind of a procedure's runs. The procedure is one of resources of the kind `of`.
    ///
    /// # Errors
    /// Kubernetes would not accept the names of the kind, or the category that its runs are found by.
    pub fn of_procedure(of: &CustomKind, procedure: &Procedure) -> Result<Self, DefinitionError> {
        let kind = &procedure.runs;
        names::check(kind)?;
        let category = procedure.category(of);
        names::check_category(&category)?;
        let frame = Frame {
            about: format!(
                "{} is a run of the procedure {} of {}",
                kind.kind, procedure.name, of.kind
            ),
            source: "a procedure",
            categories: vec![Procedure::CATEGORY.to_owned(), category],
            status: status(),
            columns: columns(),
            scale: None,
        };
        let whose = match kind.scope {
            Scope::Namespaced => ", in the namespace of the run,",
            Scope::Cluster => "",
        };
        let mut spec = procedure.spec(whose);
        let mut notices = Notices::new();
        fit::fit(
            &mut spec,
            fit::size(&whole(kind, &frame, &json!({}))),
            &mut notices,
        );
        Ok(Self {
            value: whole(kind, &frame, &spec),
            notices: notices.finish(),
        })
    }
}

/// What the operator writes of a run. By its default kstatus knows that nobody has seen a new run.
fn status() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    json!({
        "description": "How far the run is",
        "type": "object",
        PRESERVE: true,
        "default": {"observedGeneration": -1},
        "properties": {
            "observedGeneration": observed_generation(),
            "phase": {"description": "How far it is, in one word", "type": "string", "enum": PHASES},
            "message": text("What it waits for, or why it has failed"),
            "step": text("The step that is under way"),
            "startedAt": time("When its first step was begun"),
            "endedAt": time("When it came to its end"),
            "steps": steps(),
            "result": {"description": "What the steps have said of what they have done", PRESERVE: true},
            "conditions": conditions("The state of the run, in the vocabulary of kstatus"),
            "record": {
                "description": "What the operator goes by when it goes on, signed by it",
                "type": "object",
                PRESERVE: true,
            },
        },
    })
}

fn steps() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    json!({
        "description": "What has become of each step",
        "type": "array",
        "items": {
            "type": "object",
            PRESERVE: true,
            "properties": {
                "name": text("As the procedure calls it"),
                "state": text("How far it is"),
                "attempt": {
                    "description": "How often it was begun",
                    "type": "integer",
                    "format": "int64",
                },
                "job": text("The Job of the last attempt"),
                "startedAt": time("When it was begun"),
                "endedAt": time("When it came to its end"),
                "message": text("What it waits for, or why it has failed"),
            },
        },
    })
}

fn time(description: &str) -> Value {
    json!({"description": description, "type": "string", "format": "date-time"})
}

/// What `kubectl get` shows of a run.
fn columns() -> Value {
    let text = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    let mut message = text("Message", ".status.message");
    message["priority"] = 1.into();
    json!([
        text("Resource", ".spec.resource"),
        text("Phase", ".status.phase"),
        text("Step", ".status.step"),
        age(),
        message,
    ])
}

#[cfg(test)]
#[expect(
    clippy::needless_raw_string_hashes,
    reason = "so that the expected texts can be written by the tests"
)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::Parameter;
    use crate::check::structural_faults;

    fn restore() -> Procedure {
        let parameter = |name: &str, type_name| Parameter {
            name: name.to_owned(),
            type_name,
            required: false,
            default: None,
            description: None,
            allowed: Vec::new(),
        };
        Procedure {
            name: "restore".to_owned(),
            runs: CustomKind::new("example.com", "v1", "EtcdClusterRestore"),
            parameters: vec![
                Parameter {
                    required: true,
                    description: Some("Which one".to_owned()),
                    ..parameter("snapshot", "string")
                },
                Parameter {
                    required: true,
                    default: Some("fast".into()),
                    allowed: vec!["fast".into(), "safe".into()],
                    ..parameter("mode", "string")
                },
                parameter("members", "integer"),
            ],
            makes_jobs: true,
        }
    }

    fn cluster() -> CustomKind {
        CustomKind::new("example.com", "v1", "EtcdCluster")
    }

    #[test]
    fn runs_have_a_kind_of_their_own_that_is_found_by_a_category() {
        let definition = Definition::of_procedure(&cluster(), &restore()).unwrap();
        let names = crate::yaml::to_yaml(&definition.value()["spec"]["names"]);
        expect![[r#"
            categories:
            - procedures
            - etcdclusters-restore
            kind: EtcdClusterRestore
            listKind: EtcdClusterRestoreList
            plural: etcdclusterrestores
            shortNames:
            - ecrestore
            singular: etcdclusterrestore
        "#]]
        .assert_eq(&names);
        assert_eq!(structural_faults(definition.schema()), []);
        let columns = definition.value()["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
        let columns = columns.unwrap().iter();
        let columns: Vec<&str> = columns.filter_map(|column| column["name"].as_str()).collect();
        assert_eq!(columns, ["Resource", "Phase", "Step", "Age", "Message"]);
    }

    #[test]
    fn a_run_says_its_resource_and_parameters_once() {
        let definition = Definition::of_procedure(&cluster(), &restore()).unwrap();
        let schema = definition.schema();
        assert_eq!(schema["required"], json!(["spec"]));
        assert_eq!(
            schema["description"],
            "EtcdClusterRestore is a run of the procedure restore of EtcdCluster"
        );
        expect![[r#"
            description: What the procedure restore is carried out for, and how
            properties:
              members:
                type: integer
              mode:
                default: fast
                enum:
                - fast
                - safe
                maxLength: 4096
                type: string
              resource:
                description: Name of the resource, in the namespace of the run, that the procedure is carried out for
                maxLength: 253
                minLength: 1
                pattern: ^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$
                type: string
              snapshot:
                description: Which one
                maxLength: 4096
                type: string
            required:
            - resource
            - snapshot
            type: object
            x-kubernetes-validations:
            - message: "a run does not change: make another one"
              rule: self == oldSelf
        "#]].assert_eq(&crate::yaml::to_yaml(&schema["properties"]["spec"]));
    }

    #[test]
    fn runs_are_where_the_resources_are() {
        let mut restore = restore();
        restore.runs.scope = Scope::Cluster;
        let definition = Definition::of_procedure(&cluster(), &restore).unwrap();
        assert_eq!(definition.value()["spec"]["scope"], "Cluster");
        let resource = &definition.schema()["properties"]["spec"]["properties"]["resource"];
        assert_eq!(
            resource["description"],
            "Name of the resource that the procedure is carried out for"
        );
    }

    #[test]
    fn a_category_has_room_for_63_characters() {
        let mut restore = restore();
        restore.name = "a".repeat(63);
        let error = Definition::of_procedure(&cluster(), &restore).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the category \"etcdclusters-{}\" of the runs of a procedure is longer than 63 characters: give the procedure a \
                 shorter name",
                restore.name
            )
        );
    }
}
