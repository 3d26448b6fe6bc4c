//! Which schema follows from which chart.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use steersman_chart::Chart;

use super::{Definition, Options};
use crate::CustomKind;

fn chart(files: &[(&str, &str)]) -> Chart {
    let mut all = vec![("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")];
    all.extend(files);
    Chart::from_files(all.iter().map(|(name, text)| (*name, text.as_bytes()))).unwrap()
}

fn definition(files: &[(&str, &str)]) -> Definition {
    let kind = CustomKind::new("example.com", "v1", "Web");
    Definition::of(&kind, &chart(files), &Options::default()).unwrap()
}

fn spec(definition: &Definition) -> Value {
    let mut spec = definition.schema()["properties"]["spec"].clone();
    spec.as_object_mut().unwrap().remove("description");
    spec
}

/// The schema of the spec as YAML, and the notices below it.
fn check(files: &[(&str, &str)], expect: &Expect) {
    let definition = definition(files);
    let mut text = crate::yaml::to_yaml(&spec(&definition));
    for notice in definition.notices() {
        let _ = writeln!(text, "# {notice}");
    }
    expect.assert_eq(&text);
}

/// The same of one property `a`, which has a schema and maybe a default.
fn check_schema(schema: Value, values: &str, expect: &Expect) {
    let mut document = json!({"properties": {"a": schema}});
    if let Some(definitions) = document["properties"]["a"]
        .as_object_mut()
        .and_then(|a| a.remove("definitions"))
    {
        document["definitions"] = definitions;
    }
    let document = document.to_string();
    let definition = definition(&[("values.schema.json", &document), ("values.yaml", values)]);
    let property = spec(&definition)["properties"]
        .get("a")
        .cloned()
        .unwrap_or_default();
    let mut text = property.to_string();
    for notice in definition.notices() {
        let _ = write!(text, "\n{notice}");
    }
    expect.assert_eq(&text);
}

/// The same of one property `a` of which there are only defaults.
fn check_values(values: &str, expect: &Expect) {
    let definition = definition(&[("values.yaml", values)]);
    expect.assert_eq(&spec(&definition)["properties"]["a"].to_string());
}

#[test]
fn a_schema_and_the_comments_of_the_defaults_make_a_schema() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["replicas", "host"],
        "properties": {"replicas": {"type": "integer", "minimum": 1}, "host": {"type": "string", "description": "Where"}},
    });
    check(
        &[
            ("values.schema.json", &schema.to_string()),
            ("values.yaml", "# -- How many\nreplicas: 2\nother: 1\n"),
        ],
        &expect![[r#"
            properties:
              host:
                description: Where
                type: string
              replicas:
                description: "How many (default: 2)"
                minimum: 1
                type: integer
            required:
            - host
            type: object
        "#]],
    );
}

#[test]
fn what_the_defaults_give_is_not_required_and_what_can_be_left_out_can_be_null() {
    let schema = json!({
        "type": "object",
        "required": ["x", "y", "z"],
        "properties": {"x": {"type": "string"}, "w": {"type": "string"}},
    });
    check_schema(
        schema.clone(),
        "a: {x: one, w: two, z: null}\n",
        &expect![[
            r#"{"nullable":true,"properties":{"w":{"description":"Default: two","nullable":true,"type":"string"},"x":{"description":"Default: one","type":"string"},"z":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}},"required":["y","z"],"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
        ]],
    );
    check_schema(
        schema,
        "",
        &expect![[
            r#"{"properties":{"w":{"type":"string"},"x":{"type":"string"}},"required":["x","y","z"],"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
        ]],
    );
}

#[test]
fn required_keys_of_the_spec_make_the_spec_required() {
    let definition = definition(&[("values.schema.json", r#"{"required": ["host"]}"#)]);
    assert_eq!(definition.schema()["required"], json!(["spec"]));
}

#[test]
fn types_of_several_kinds_become_what_a_definition_knows() {
    for (types, expect) in [
        (json!("string"), expect![[r#"{"type":"string"}"#]]),
        (
            json!(["string", "null"]),
            expect![[r#"{"nullable":true,"type":"string"}"#]],
        ),
        (
            json!(["string", "integer"]),
            expect![[r#"{"x-kubernetes-int-or-string":true}"#]],
        ),
        (
            json!(["string", "number"]),
            expect![[r#"{"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (json!("number"), expect![[r#"{"type":"number"}"#]]),
        (
            json!(["object", "array"]),
            expect![[r#"{"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (
            json!("array"),
            expect![[
                r#"{"items":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true},"type":"array"}"#
            ]],
        ),
    ] {
        check_schema(json!({"type": types}), "", &expect);
    }
    check_schema(
        json!(true),
        "",
        &expect![[r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#]],
    );
    check_schema(json!(false), "", &expect!["null"]);
}

#[test]
fn choices_have_the_type_of_their_values_and_stand_apart_where_there_may_be_null() {
    check_schema(
        json!({"enum": ["x", "y"]}),
        "",
        &expect![[r#"{"enum":["x","y"],"type":"string"}"#]],
    );
    check_schema(
        json!({"const": 3}),
        "",
        &expect![[r#"{"enum":[3],"type":"integer"}"#]],
    );
    check_schema(
        json!({"type": "string", "enum": ["x", "y"]}),
        "a: x\n",
        &expect![[
            r#"{"allOf":[{"enum":["x","y"]}],"description":"Default: x","nullable":true,"type":"string"}"#
        ]],
    );
    check_schema(
        json!({"enum": [{"x": 1}]}),
        "",
        &expect![[r#"
        {"nullable":true,"x-kubernetes-preserve-unknown-fields":true}
        spec.a: a choice among lists or maps is not checked"#]],
    );
}

#[test]
fn bounds_are_read_in_the_spelling_of_every_draft() {
    check_schema(
        json!({"type": "integer", "minimum": 1.0, "exclusiveMinimum": true}),
        "",
        &expect![[r#"{"exclusiveMinimum":true,"minimum":1,"type":"integer"}"#]],
    );
    check_schema(
        json!({"type": "number", "exclusiveMaximum": 2.5, "multipleOf": 0.5}),
        "",
        &expect![[r#"{"exclusiveMaximum":true,"maximum":2.5,"multipleOf":0.5,"type":"number"}"#]],
    );
    check_schema(
        json!({"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 9}}),
        "",
        &expect![[r#"{"items":{"maxLength":9,"type":"string"},"minItems":1,"type":"array"}"#]],
    );
}

#[test]
fn what_the_server_would_refuse_is_left_out_with_a_notice() {
    check_schema(
        json!({"type": "string", "pattern": "^(?!x)"}),
        "",
        &expect![[r#"
        {"type":"string"}
        spec.a: the pattern ^(?!x) is no regular expression of the API server's and is not checked"#]],
    );
    check_schema(
        json!({"type": "string", "format": "uri"}),
        "",
        &expect![[r#"
        {"type":"string"}
        spec.a: the format uri is not checked"#]],
    );
    check_schema(
        json!({"type": "array", "uniqueItems": true}),
        "",
        &expect![[r#"
        {"items":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true},"type":"array"}
        spec.a: uniqueItems has no counterpart in a definition and is not checked"#]],
    );
    check_schema(
        json!({"type": "object", "if": {"required": ["x"]}, "then": {"required": ["y"]}}),
        "",
        &expect![[r#"
            {"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: if has no counterpart in a definition and is not checked"#]],
    );
    check_schema(
        json!({"$ref": "https://example.com/x.json"}),
        "",
        &expect![[r#"
        {"nullable":true,"x-kubernetes-preserve-unknown-fields":true}
        spec.a: the schema https://example.com/x.json is not in the chart's values.schema.json: any value is accepted"#]],
    );
}

#[test]
fn references_are_followed_and_recursion_ends() {
    check_schema(
        json!({"$ref": "#/definitions/port", "description": "Of the Service", "definitions": {"port": {"type": "integer"}}}),
        "",
        &expect![[r#"{"description":"Of the Service","type":"integer"}"#]],
    );
    let tree = json!({"type": "object", "properties": {"x": {"$ref": "#/definitions/tree"}}});
    check_schema(
        json!({"$ref": "#/definitions/tree", "definitions": {"tree": tree}}),
        "",
        &expect![[r#"
            {"properties":{"x":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}},"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a.x: the schema #/definitions/tree contains itself: any value is accepted below"#]],
    );
}

#[test]
fn references_that_multiply_have_an_end() {
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/definitions/d{}", level + 1)});
        definitions.insert(
            format!("d{level}"),
            json!({"properties": {"x": next, "y": next, "z": next}}),
        );
    }
    let document = json!({"$ref": "#/definitions/d0", "definitions": definitions}).to_string();
    let definition = definition(&[("values.schema.json", &document)]);
    assert!(definition.value().to_string().len() < 256 * 1024);
    let last = definition.notices().last().unwrap().to_string();
    assert!(last.contains("too large or too deep"), "{last}");
}

#[test]
fn schemas_of_strangers_do_not_multiply() {
    let properties = |count: usize| -> serde_json::Map<String, Value> {
        let property = |number| (format!("p{number}"), json!({"type": "string"}));
        (0..count).map(property).collect()
    };
    let mut branches = vec![json!({"properties": properties(5000)})];
    branches.push(json!({"additionalProperties": {"properties": properties(5000)}}));
    branches.extend((0..60).map(|number| json!({"additionalProperties": {"pattern": format!("a{number}")}})));
    for keyword in ["allOf", "anyOf"] {
        let document = json!({"properties": {"a": {keyword: branches}}}).to_string();
        let definition = definition(&[("values.schema.json", &document)]);
        assert!(definition.value().to_string().len() < 256 * 1024);
    }
}

#[test]
fn all_of_is_merged() {
    check_schema(
        json!({"allOf": [
            {"type": "object", "properties": {"x": {"type": "string", "pattern": "^a"}}, "required": ["x"]},
            {"properties": {"x": {"pattern": "b$", "maxLength": 3}, "y": {"type": "boolean"}}},
        ]}),
        "",
        &expect![[
            r#"{"properties":{"x":{"allOf":[{"pattern":"b$"}],"maxLength":3,"pattern":"^a","type":"string"},"y":{"type":"boolean"}},"required":["x"],"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
        ]],
    );
}

#[test]
fn any_of_and_one_of_are_united() {
    check_schema(
        json!({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer", "minimum": 0}]}),
        "",
        &expect![[r#"{"minimum":0,"pattern":"^a","x-kubernetes-int-or-string":true}"#]],
    );
    check_schema(
        json!({"oneOf": [{"type": "null"}, {"type": "boolean"}]}),
        "",
        &expect![[r#"{"nullable":true,"type":"boolean"}"#]],
    );
    check_schema(
        json!({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "maxLength": 3}]}),
        "",
        &expect![[r#"{"anyOf":[{"pattern":"^a"},{"maxLength":3}],"type":"string"}"#]],
    );
    let first = json!({"type": "object", "additionalProperties": false, "required": ["x"], "properties": {"x": {"type": "string"}}});
    let second = json!({"type": "object", "additionalProperties": false, "required": ["x"], "properties": {"x": {"type": "integer"}, "y": {}}});
    check_schema(
        json!({"oneOf": [first, second]}),
        "",
        &expect![[
            r#"{"properties":{"x":{"x-kubernetes-int-or-string":true},"y":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}},"required":["x"],"type":"object"}"#
        ]],
    );
    check_schema(
        json!({"type": "object", "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}),
        "",
        &expect![[r#"
            {"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: which keys are required depends on which of several schemas the value follows: that is not checked"#]],
    );
}

#[test]
fn not_is_kept_where_it_is_about_the_value_itself() {
    check_schema(
        json!({"type": "string", "not": {"enum": ["root"]}}),
        "",
        &expect![[r#"{"not":{"enum":["root"]},"type":"string"}"#]],
    );
    check_schema(
        json!({"type": "object", "not": {"required": ["x"]}}),
        "",
        &expect![[r#"
            {"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: a schema that must not hold is about more than the value itself and is not checked"#]],
    );
}

#[test]
fn maps_keep_what_the_schema_does_not_forbid() {
    check_schema(
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "a: {x: one}\n",
        &expect![[
            r#"{"additionalProperties":{"nullable":true,"type":"string"},"nullable":true,"type":"object"}"#
        ]],
    );
    check_schema(
        json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {"x": {}}}),
        "",
        &expect![[r#"
            {"properties":{"x":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}},"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: a definition has no types for keys beside its properties: their values are not checked"#]],
    );
    check_schema(
        json!({"type": "object", "additionalProperties": false, "patternProperties": {"^x": {"type": "string"}}}),
        "",
        &expect![[r#"
            {"additionalProperties":{"type":"string"},"type":"object"}
            spec.a: which keys there may be is not checked"#]],
    );
    check_schema(
        json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}}),
        "",
        &expect![[r#"
            {"type":"object","x-kubernetes-preserve-unknown-fields":true}
            spec.a: what holds for keys of certain patterns is not checked"#]],
    );
    check_schema(
        json!({"type": "object"}),
        "a: {x: one}\n",
        &expect![[r#"{"nullable":true,"type":"object","x-kubernetes-preserve-unknown-fields":true}"#]],
    );
}

#[test]
fn a_default_that_the_schema_does_not_allow_is_allowed() {
    check_schema(
        json!({"type": "string"}),
        "a: 1\n",
        &expect![[r#"
        {"description":"Default: 1","nullable":true,"x-kubernetes-preserve-unknown-fields":true}
        spec.a: its default is of another type than the schema says: any value is accepted"#]],
    );
}

#[test]
fn types_follow_from_defaults_only_where_they_are_safe() {
    for (value, expect) in [
        (
            "true",
            expect![[r#"{"description":"Default: true","nullable":true,"type":"boolean"}"#]],
        ),
        (
            "3",
            expect![[r#"{"description":"Default: 3","nullable":true,"x-kubernetes-int-or-string":true}"#]],
        ),
        (
            "0.5",
            expect![[
                r#"{"description":"Default: 0.5","nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
        (
            "nginx",
            expect![[r#"{"description":"Default: nginx","nullable":true,"type":"string"}"#]],
        ),
        (
            "''",
            expect![[r#"{"nullable":true,"x-kubernetes-int-or-string":true}"#]],
        ),
        (
            "'1.10'",
            expect![[
                r#"{"description":"Default: 1.10","nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
        (
            "10Gi",
            expect![[r#"{"description":"Default: 10Gi","nullable":true,"x-kubernetes-int-or-string":true}"#]],
        ),
        (
            "100m",
            expect![[
                r#"{"description":"Default: 100m","nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
        (
            "'true'",
            expect![[
                r#"{"description":"Default: true","nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
        (
            "null",
            expect![[r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (
            "{}",
            expect![[r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (
            "[]",
            expect![[r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (
            "|\n  x: y\n",
            expect![[r#"{"nullable":true,"x-kubernetes-preserve-unknown-fields":true}"#]],
        ),
        (
            "[x, z]",
            expect![[r#"{"items":{"type":"string"},"nullable":true,"type":"array"}"#]],
        ),
        (
            "[{x: one}]",
            expect![[
                r#"{"items":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"nullable":true,"type":"array"}"#
            ]],
        ),
        (
            "[{x: one}, z]",
            expect![[
                r#"{"items":{"nullable":true,"x-kubernetes-preserve-unknown-fields":true},"nullable":true,"type":"array"}"#
            ]],
        ),
        (
            "{x: one}",
            expect![[
                r#"{"nullable":true,"properties":{"x":{"description":"Default: one","nullable":true,"type":"string"}},"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
        (
            "{limits: {cpu: 1}}",
            expect![[
                r#"{"nullable":true,"properties":{"limits":{"nullable":true,"type":"object","x-kubernetes-preserve-unknown-fields":true}},"type":"object","x-kubernetes-preserve-unknown-fields":true}"#
            ]],
        ),
    ] {
        check_values(&format!("a: {value}\n"), &expect);
    }
}

#[test]
fn a_value_whose_type_templates_ask_for_may_be_of_any() {
    let template = "{{ if kindIs \"string\" .Values.a }}{{ end }}";
    let definition = definition(&[("values.yaml", "a: x\nb: x\n"), ("templates/a.yaml", template)]);
    expect![[r#"{"a":{"description":"Default: x","nullable":true,"x-kubernetes-preserve-unknown-fields":true},"b":{"description":"Default: x","nullable":true,"type":"string"}}"#]].assert_eq(&spec(&definition)["properties"].to_string());
}

#[test]
fn comments_become_descriptions() {
    let values = "\
# A title

# -- Of helm-docs,
# in two lines
# @default -- none
a: 1
# -- (list) With a type
b: []
# @param c.d [object, nullable] Of readme-generator
# d.e -- Elsewhere
c:
  d: {}
# ------
# Plain words. See:
#   https://example.com
# key: commented out
d:
  e: x
f: \"#\" # Behind it
# g: 1
g: 2
# @schema
# type: [string, integer]
# enum: [x, 1]
# @schema
# -- With a schema
h: x
";
    check(
        &[("values.yaml", values)],
        &expect![[r#"
        properties:
          a:
            description: "Of helm-docs, in two lines (default: 1)"
            nullable: true
            x-kubernetes-int-or-string: true
          b:
            description: With a type
            items:
              nullable: true
              x-kubernetes-preserve-unknown-fields: true
            nullable: true
            type: array
          c:
            description: d.e -- Elsewhere
            nullable: true
            properties:
              d:
                description: Of readme-generator
                nullable: true
                type: object
                x-kubernetes-preserve-unknown-fields: true
            type: object
            x-kubernetes-preserve-unknown-fields: true
          d:
            description: "Plain words. See: https://example.com key: commented out"
            nullable: true
            properties:
              e:
                description: "Elsewhere (default: x)"
                nullable: true
                type: string
            type: object
            x-kubernetes-preserve-unknown-fields: true
          f:
            description: "Behind it (default: #)"
            nullable: true
            type: string
          g:
            description: "Default: 2"
            nullable: true
            x-kubernetes-int-or-string: true
          h:
            allOf:
            - enum:
              - x
              - 1
            description: "With a schema (default: x)"
            nullable: true
            x-kubernetes-int-or-string: true
        type: object
        x-kubernetes-preserve-unknown-fields: true
    "#]],
    );
}

#[test]
fn subcharts_are_below_their_names_and_their_globals_at_the_top() {
    let main = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, alias: store, version: 1.0.0, condition: store.enabled}]\n";
    check(
        &[
            ("Chart.yaml", main),
            (
                "values.yaml",
                "# -- The database\nstore:\n  enabled: false\n  size: 5\n",
            ),
            (
                "charts/db/Chart.yaml",
                "apiVersion: v2\nname: db\nversion: 1.0.0\n",
            ),
            (
                "charts/db/values.yaml",
                "# -- How large\nsize: 1Gi\nglobal:\n  # -- Where from\n  registry: r\n",
            ),
            (
                "charts/db/values.schema.json",
                r#"{"properties": {"size": {"type": ["integer", "string"]}}, "required": ["size"]}"#,
            ),
        ],
        &expect![[r#"
            properties:
              global:
                nullable: true
                properties:
                  registry:
                    description: "Where from (default: r)"
                    nullable: true
                    type: string
                type: object
                x-kubernetes-preserve-unknown-fields: true
              store:
                description: The database
                nullable: true
                properties:
                  enabled:
                    description: "Default: false"
                    nullable: true
                    type: boolean
                  size:
                    description: "How large (default: 5)"
                    x-kubernetes-int-or-string: true
                type: object
                x-kubernetes-preserve-unknown-fields: true
            type: object
            x-kubernetes-preserve-unknown-fields: true
        "#]],
    );
}

#[test]
fn values_that_the_operator_sets_are_not_required() {
    let chart = chart(&[(
        "values.schema.json",
        r#"{"required": ["host"], "properties": {"host": {"type": "string"}}}"#,
    )]);
    let kind = CustomKind::new("example.com", "v1", "Web");
    let options = Options {
        given: json!({"host": "x"}).as_object().unwrap().clone(),
        ..Options::default()
    };
    let definition = Definition::of(&kind, &chart, &options).unwrap();
    assert_eq!(spec(&definition).get("required"), None);
}

#[test]
fn a_large_definition_loses_descriptions_and_then_depth() {
    let long = "word ".repeat(40);
    let mut values = String::new();
    for group in 0..60 {
        let _ = writeln!(values, "group{group}:");
        for number in 0..30 {
            let _ = writeln!(values, "  # {long}\n  key{number}: x");
        }
    }
    let definition = definition(&[("values.yaml", &values)]);
    assert!(definition.value().to_string().len() < 256 * 1024);
    expect!["spec: the definition would be 486 KiB, more than `kubectl apply` can handle: descriptions end at a depth of 1"].assert_eq(&definition.notices()[0].to_string());
    let deep = &spec(&definition)["properties"]["group1"]["properties"]["key1"];
    expect![[r#"{"nullable":true,"type":"string"}"#]].assert_eq(&deep.to_string());
}
