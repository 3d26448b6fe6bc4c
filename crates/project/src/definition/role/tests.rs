//! Which schema follows from which role.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{RoleOptions, sample_of_role};
use crate::check::{judge, structural_faults};
use crate::definition::Definition;
use crate::{CustomKind, Role};

/// As much of the operator's rule as these tests need: a capital begins a word, and a word has two letters.
fn variable_of(key: &str) -> String {
    let mut variable = String::new();
    for (place, letter) in key.char_indices() {
        if letter.is_ascii_uppercase() && place > 1 {
            variable.push('_');
        }
        variable.push(letter.to_ascii_lowercase());
    }
    variable
}

fn options() -> RoleOptions {
    RoleOptions {
        variable_of: Some(variable_of),
        ..RoleOptions::default()
    }
}

fn role(argument_specs: &str, defaults: &str) -> Role {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Role {
        name: "memcached".to_owned(),
        argument_specs: text(argument_specs),
        defaults: text(defaults),
    }
}

fn definition(roles: &[Role], options: &RoleOptions) -> Definition {
    let kind = CustomKind::new("cache.example.com", "v1", "Memcached");
    Definition::of_roles(&kind, roles, options).unwrap()
}

/// The options of the entry point, as `argument_specs`.
fn specs(options: Value) -> String {
    json!({"argument_specs": {"main": {"options": options}}}).to_string()
}

fn spec(definition: &Definition) -> Value {
    let mut spec = definition.schema()["properties"]["spec"].clone();
    spec.as_object_mut().unwrap().remove("description");
    spec
}

/// The schema of the spec as YAML, and the notices below it.
fn check(role: Role, expect: &Expect) {
    let definition = definition(&[role], &options());
    let mut text = crate::yaml::to_yaml(&spec(&definition));
    for notice in definition.notices() {
        let _ = writeln!(text, "# {notice}");
    }
    expect.assert_eq(&text);
}

/// The schema of one option `a` with the notices.
fn check_option(option: Value, defaults: &str, expect: &Expect) {
    let definition = definition(&[role(&specs(json!({"a": option})), defaults)], &options());
    let mut text = spec(&definition)["properties"]["a"].to_string();
    for notice in definition.notices() {
        let _ = write!(text, "\n{notice}");
    }
    expect.assert_eq(&text);
}

#[test]
fn argument_specs_and_defaults_make_a_schema() {
    let specs = "---
argument_specs:
  main:
    short_description: Runs memcached
    options:
      memcached_size:
        description: How many pods
        type: int
        required: true
      memcached_image:
        description:
          - The image,
          - with its tag
        default: docker.io/memcached:1.6
      memcached_mode:
        type: str
        choices: [plain, sasl]
        default: plain
      memcached_users:
        type: list
        elements: dict
        options:
          user_name: {required: true, type: str}
          quota_mib: {type: int, default: 64}
  other:
    options:
      not_of_main: {type: str}
";
    let defaults =
        "memcached_size: 3\n# How it is called in logs\nlog_name: memcached\n__own: 1\nansible_user: root\n";
    check(
        role(specs, defaults),
        &expect![[r#"
        properties:
          logName:
            description: "How it is called in logs (default: memcached)"
            type: string
          memcachedImage:
            description: |-
              The image,
              with its tag (default: docker.io/memcached:1.6)
            type: string
          memcachedMode:
            description: "Default: plain"
            enum:
            - plain
            - sasl
            type: string
          memcachedSize:
            description: "How many pods (default: 3)"
            type: integer
          memcachedUsers:
            items:
              properties:
                quotaMib:
                  description: "Default: 64"
                  type: integer
                userName:
                  type: string
              required:
              - userName
              type: object
            type: array
        type: object
        x-kubernetes-preserve-unknown-fields: true
    "#]],
    );
    let definition = definition(&[role(specs, defaults)], &options());
    assert_eq!(definition.schema()["description"], "Runs memcached");
}

#[test]
fn defaults_alone_make_a_schema_with_their_comments() {
    check(
        role(
            "",
            "---\n# -- How many pods\nreplica_count: 1\nlabels:\n  team_name: a\n  MY_VAR: b\nlist: [a, b]\nurl: '{{ host }}/x'\n",
        ),
        &expect![[r#"
            properties:
              labels:
                properties:
                  teamName:
                    type: string
                type: object
                x-kubernetes-preserve-unknown-fields: true
              list:
                items:
                  type: string
                type: array
              replicaCount:
                description: "How many pods (default: 1)"
                x-kubernetes-int-or-string: true
              url:
                nullable: true
                x-kubernetes-preserve-unknown-fields: true
            type: object
            x-kubernetes-preserve-unknown-fields: true
            # spec.labels: no key of a resource becomes a variable of this name, so it is left out: MY_VAR
        "#]],
    );
}

#[test]
fn without_either_a_spec_is_anything() {
    for roles in [
        vec![],
        vec![role("", "")],
        vec![role("---\n", "---\n# nothing\n")],
    ] {
        assert_eq!(
            spec(&definition(&roles, &options())),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
        );
    }
}

#[test]
fn types_are_those_of_ansible() {
    for (name, expect) in [
        ("str", r#"{"type":"string"}"#),
        ("path", r#"{"type":"string"}"#),
        ("int", r#"{"type":"integer"}"#),
        ("float", r#"{"type":"number"}"#),
        ("bool", r#"{"type":"boolean"}"#),
        ("bytes", r#"{"x-kubernetes-int-or-string":true}"#),
        (
            "dict",
            r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
        ),
        (
            "raw",
            r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#,
        ),
    ] {
        let definition = definition(&[role(&specs(json!({"a": {"type": name}})), "")], &options());
        assert_eq!(spec(&definition)["properties"]["a"].to_string(), expect, "{name}");
    }
    check_option(json!(null), "", &expect![[r#"{"type":"string"}"#]]);
    check_option(
        json!({"type": "list", "elements": "int"}),
        "",
        &expect![[r#"{"items":{"type":"integer"},"type":"array"}"#]],
    );
    check_option(
        json!({"type": "my.own"}),
        "",
        &expect![[r#"
        {"nullable":true,"x-kubernetes-preserve-unknown-fields":true}
        spec.a: the type `my.own` is not known: any value is accepted"#]],
    );
}

#[test]
fn nested_options_are_all_that_there_is_unless_some_have_no_key() {
    let option = |options: Value| json!({"type": "dict", "options": options});
    check_option(
        option(json!({"disk_type": {}})),
        "",
        &expect![[r#"{"properties":{"diskType":{"type":"string"}},"type":"object"}"#]],
    );
    check_option(
        option(json!({"disk_type": {}, "MY_VAR": {}})),
        "",
        &expect![[r#"
            {"properties":{"diskType":{"type":"string"}},"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: no key of a resource becomes a variable of this name, so it is left out: MY_VAR"#]],
    );
    check_option(
        option(json!({"disk_type": {"aliases": ["kind_of_disk"]}})),
        "",
        &expect![[
            r#"{"properties":{"diskType":{"type":"string"}},"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
        ]],
    );
    check_option(
        json!({"type": "dict", "options": {"a_side": {}, "other": {}}, "mutually_exclusive": [["a_side", "other"]]}),
        "",
        &expect![[r#"
            {"properties":{"a_side":{"type":"string"},"other":{"type":"string"}},"type":"object"}
            spec.a: mutually_exclusive has no counterpart in a definition and is not checked"#]],
    );
}

#[test]
fn choices_that_are_not_of_the_type_are_not_checked() {
    check_option(
        json!({"choices": ["on", "off"]}),
        "",
        &expect![[r#"{"enum":["on","off"],"type":"string"}"#]],
    );
    // What YAML makes of [yes, no].
    check_option(
        json!({"choices": [true, false]}),
        "",
        &expect![[r#"
        {"type":"string"}
        spec.a: its choices are not all of its type, and are not checked: texts such as yes need quotes"#]],
    );
    check_option(
        json!({"type": "list", "elements": "str", "choices": ["a", "b"]}),
        "",
        &expect![[r#"{"items":{"enum":["a","b"],"type":"string"},"type":"array"}"#]],
    );
    check_option(
        json!({"choices": ["on", "off"]}),
        "a: dim\n",
        &expect![[r#"
        {"description":"Default: dim","type":"string"}
        spec.a: its default is none of its choices, which are not checked"#]],
    );
}

#[test]
fn defaults_stand_beside_what_they_are_of() {
    check_option(
        json!({"type": "int", "required": true}),
        "a: 5\n",
        &expect![[r#"{"description":"Default: 5","type":"integer"}"#]],
    );
    check_option(
        json!({"type": "int"}),
        "a: five\n",
        &expect![[r#"
        {"description":"Default: five","nullable":true,"x-kubernetes-preserve-unknown-fields":true}
        spec.a: its default is of another type than argument_specs say: any value is accepted"#]],
    );
    check_option(
        json!({"type": "int"}),
        "a: '{{ 5 }}'\n",
        &expect![[r#"{"type":"integer"}"#]],
    );
    // Nobody should see it, whoever says it.
    check_option(
        json!({"no_log": true, "default": "hunter2"}),
        "a: hunter3\n",
        &expect![[r#"{"format":"password","type":"string"}"#]],
    );
    let with_defaults = RoleOptions {
        defaults: true,
        ..options()
    };
    let definition = definition(&[role("", "size: 1\nurl: '{{ host }}'\n")], &with_defaults);
    let properties = &spec(&definition)["properties"];
    assert_eq!(properties["size"]["default"], 1);
    assert_eq!(properties["url"].get("default"), None);
}

#[test]
fn what_is_required_and_has_a_template_as_default_may_be_left_out() {
    let specs = specs(json!({"host_name": {"required": true}, "port": {"type": "int", "required": true}}));
    let definition = definition(
        &[role(&specs, "host_name: '{{ inventory_hostname }}'\n")],
        &options(),
    );
    assert_eq!(spec(&definition)["required"], json!(["port"]));
    assert_eq!(definition.schema()["required"], json!(["spec"]));
}

#[test]
fn what_watches_yaml_sets_is_no_key() {
    let given = RoleOptions {
        given: BTreeSet::from(["pull_policy".to_owned()]),
        ..options()
    };
    let specs = specs(json!({"pull_policy": {"required": true}, "size": {"type": "int"}}));
    let definition = definition(&[role(&specs, "pull_policy: Always\n")], &given);
    assert_eq!(
        spec(&definition)["properties"],
        json!({"size": {"type": "integer"}})
    );
    assert_eq!(spec(&definition).get("required"), None);
}

#[test]
fn keys_are_variables_where_the_operator_does_not_rename_them() {
    let definition = definition(&[role("", "my_size: 1\nmySize: 2\n")], &RoleOptions::default());
    let properties = spec(&definition)["properties"].as_object().unwrap().clone();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["mySize", "my_size"]);
}

#[test]
fn several_roles_share_a_spec() {
    let roles = [
        role(&specs(json!({"size": {"type": "int", "required": true}})), ""),
        role(&specs(json!({"colour": {"required": true}})), ""),
    ];
    let definition = definition(&roles, &options());
    assert_eq!(spec(&definition)["required"], json!(["colour", "size"]));
    assert_eq!(spec(&definition)["properties"]["size"]["type"], "integer");
}

#[test]
fn what_cannot_be_read_is_noted() {
    check(
        role("a: [", "b: {"),
        &expect![[r"
        type: object
        x-kubernetes-preserve-unknown-fields: true
        # spec: argument_specs can't be read and say nothing: yaml: line 1: did not find expected node content
        # spec: defaults/main.yml can't be read and says nothing: yaml: line 1: did not find expected node content
    "]],
    );
}

#[test]
fn an_api_server_takes_the_schema_and_judges_by_it() {
    let specs = specs(json!({
        "memcached_size": {"type": "int", "required": true},
        "store": {"type": "dict", "options": {"disk_type": {"choices": ["ssd", "hdd"]}}},
    }));
    let definition = definition(&[role(&specs, "labels: {team_name: a}\n")], &options());
    let schema = definition.schema();
    assert_eq!(structural_faults(schema), []);
    let verdict = |spec: Value| judge(schema, &json!({"spec": spec, "status": {"own": 1}})).unwrap();
    let fine =
        verdict(json!({"memcachedSize": 1, "store": {"diskType": "ssd"}, "labels": {"any": "b"}, "more": 1}));
    assert_eq!((fine.refused, fine.dropped), (vec![], vec![]));
    let wrong = verdict(json!({"memcachedSize": "1", "store": {"diskType": "tape", "size": 1}}));
    let refused: Vec<&str> = wrong.refused.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(refused, ["/spec/memcachedSize", "/spec/store/diskType"]);
    assert_eq!(wrong.dropped, ["/spec/store/size"]);
}

#[test]
fn the_status_is_open_and_unmanaged_ones_promise_nothing() {
    let managed = definition(&[], &options());
    let status = &managed.schema()["properties"]["status"];
    assert_eq!(status["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(status["default"], json!({"observedGeneration": -1}));
    let columns = &managed.value()["spec"]["versions"][0]["additionalPrinterColumns"];
    assert_eq!(columns[0]["name"], "Ready");
    let unmanaged = RoleOptions {
        manages_status: false,
        ..options()
    };
    let unmanaged = definition(&[], &unmanaged);
    let status = &unmanaged.schema()["properties"]["status"];
    assert_eq!(status["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(status.get("default"), None);
}

#[test]
fn samples_have_the_keys_of_a_spec_and_the_comments_of_the_defaults() {
    let sample = |defaults: &str| sample_of_role(&role("", defaults), &options());
    assert_eq!(
        sample("---\n# How many\nmemcached_size: 1 # pods\n\nlabels:\n  team_name: a\n"),
        "# How many\nmemcachedSize: 1 # pods\n\nlabels:\n  teamName: a\n"
    );
    // What has no place in a spec leaves no comment either.
    assert_eq!(
        sample("# mine\n__own: 1\nurl: '{{ host }}'\nmemcached_size: 1\nMY_VAR: 1\n"),
        "memcachedSize: 1\n"
    );
    assert_eq!(sample("\"memcached_size\": 1\n"), "memcachedSize: 1\n");
    assert_eq!(sample("---\n# nothing\n"), "");
    assert_eq!(sample("["), "");
}
