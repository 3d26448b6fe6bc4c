//! JSON as Go's `encoding/json` writes and reads it.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, String as Text};

use crate::json;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("toJson", &[Any], json::to_json)
        .signature("value", "string")
        .documentation("The value as JSON on one line. What JSON cannot express gives the empty text.")
        .example(r#"{{ toJson (dict "a" (list 1 true)) }}"#, r#"{"a":[1,true]}"#),
    Function::pure("mustToJson", &[Any], json::must_to_json)
        .signature("value", "string")
        .documentation("Like `toJson`, but fails for what JSON cannot express.")
        .example(r#"{{ mustToJson (list 1 "a") }}"#, r#"[1,"a"]"#),
    Function::pure("toPrettyJson", &[Any], json::to_pretty_json)
        .signature("value", "string")
        .documentation(
            "The value as JSON, indented by two spaces. What JSON cannot express gives the empty text.",
        )
        .example(r#"{{ toPrettyJson (dict "a" 1) }}"#, "{\n  \"a\": 1\n}"),
    Function::pure("mustToPrettyJson", &[Any], json::must_to_pretty_json)
        .signature("value", "string")
        .documentation("Like `toPrettyJson`, but fails for what JSON cannot express.")
        .example(r#"{{ mustToPrettyJson (dict "a" 1) }}"#, "{\n  \"a\": 1\n}"),
    Function::pure("toRawJson", &[Any], json::must_to_raw_json)
        .signature("value", "string")
        .documentation(
            "The value as JSON in which `<`, `>` and `&` are not escaped. Fails for what JSON cannot \
             express.",
        )
        .example(r#"{{ toRawJson "a & b" }}"#, r#""a & b""#),
    Function::pure("mustToRawJson", &[Any], json::must_to_raw_json)
        .signature("value", "string")
        .documentation("Like `toRawJson`.")
        .example(r#"{{ mustToRawJson "a & b" }}"#, r#""a & b""#),
    Function::pure("fromJson", &[Text], json::from_json)
        .signature("text", "any")
        .documentation(
            "The value that the JSON stands for, nil if it is none. In charts, Helm's function of this \
             name replaces it.",
        ),
    Function::pure("mustFromJson", &[Text], json::must_from_json)
        .signature("text", "any")
        .documentation("The value that the JSON stands for, of whatever kind. Fails for what is no JSON.")
        .example(r#"{{ (mustFromJson "{\"a\": [1, 2]}").a | join "," }}"#, "1,2"),
];
