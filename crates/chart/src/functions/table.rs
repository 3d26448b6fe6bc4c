//! What Helm adds to the functions of Sprig, and what it puts in place of some of them.

use steersman_gotemplate::Parameter::{Any, String as Text};
use steersman_gotemplate::{Effect, Function};

use super::{duration, json, template, toml, yaml};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("include", &[Text, Any], Effect::Template, template::include)
        .signature("name value", "string")
        .documentation(
            "The output of the template of that name, with the value as its dot. Fails if there is none \
             or it fails.",
        )
        .example(
            r#"{{ define "greet" }}hello {{ . }}{{ end }}{{ include "greet" "world" | upper }}"#,
            "HELLO WORLD",
        ),
    Function::new("tpl", &[Text, Any], Effect::Template, template::tpl)
        .signature("text value", "string")
        .documentation(
            "The output of the text, taken as a template, with the value as its dot. Fails if it cannot \
             be parsed or fails.",
        )
        .example(r#"{{ tpl "{{ .Release.Name }}" . }}"#, "rel"),
    Function::new(
        "lookup",
        &[Text, Text, Text, Text],
        Effect::Lookup,
        template::lookup,
    )
    .signature("version kind namespace name", "map[string]any")
    .documentation(
        "The object of an API version and kind with this namespace and name in the cluster, or the \
             list of all where the name is empty. An object that is not there, and rendering without a \
             cluster, give an empty map.",
    )
    .example(r#"{{ lookup "v1" "Secret" "default" "absent" | toJson }}"#, "{}"),
    Function::pure("required", &[Text, Any], template::required)
        .signature("message value", "any")
        .documentation("The value. Fails with the message if it is nil or the empty text.")
        .example(r#"{{ required "a name is needed" "web" }}"#, "web"),
    Function::pure("fail", &[Text], template::fail)
        .signature("message", "string")
        .documentation("Fails with the message."),
    Function::new(
        "getHostByName",
        &[Text],
        Effect::Lookup,
        template::get_host_by_name,
    )
    .signature("name", "string")
    .documentation("An address of the host, where the caller allows that question, else the empty text.")
    .example(r#"{{ getHostByName "example.com" | quote }}"#, r#""""#),
    Function::pure("toYaml", &[Any], yaml::to_yaml_text)
        .signature("value", "string")
        .documentation(
            "The value as YAML, without a line feed at the end. What YAML cannot express gives the empty \
             text.",
        )
        .example(r#"{{ dict "a" (list 1 "b") | toYaml }}"#, "a:\n- 1\n- b"),
    Function::pure("mustToYaml", &[Any], yaml::must_to_yaml)
        .signature("value", "string")
        .documentation("Like `toYaml`, but fails for what YAML cannot express.")
        .example(r#"{{ dict "a" 1 | mustToYaml }}"#, "a: 1"),
    Function::pure("toYamlPretty", &[Any], yaml::to_yaml_pretty)
        .signature("value", "string")
        .documentation(
            "The value as YAML with indented lists. What YAML cannot express gives the empty text.",
        )
        .example(
            r#"{{ dict "a" (list 1 "b") | toYamlPretty }}"#,
            "a:\n  - 1\n  - b",
        ),
    Function::pure("fromYaml", &[Text], yaml::from_yaml)
        .signature("text", "map[string]any")
        .documentation(
            "The map that the YAML stands for. Where it stands for none, a map with the message under \
             `Error`.",
        )
        .example(r#"{{ (fromYaml "a: 1").a }}"#, "1"),
    Function::pure("fromYamlArray", &[Text], yaml::from_yaml_array)
        .signature("text", "[]any")
        .documentation("The list that the YAML stands for. Where it stands for none, a list of the message.")
        .example(r#"{{ fromYamlArray "[1, 2]" | join "-" }}"#, "1-2"),
    Function::pure("fromJson", &[Text], json::from_json)
        .signature("text", "map[string]any")
        .documentation(
            "The map that the JSON stands for. Where it stands for none, a map with the message under \
             `Error`.",
        )
        .example(r#"{{ (fromJson "{\"a\": 1}").a }}"#, "1"),
    Function::pure("fromJsonArray", &[Text], json::from_json_array)
        .signature("text", "[]any")
        .documentation("The list that the JSON stands for. Where it stands for none, a list of the message.")
        .example(r#"{{ fromJsonArray "[1, 2]" | join "-" }}"#, "1-2"),
    Function::pure("toToml", &[Any], toml::to_toml)
        .signature("value", "string")
        .documentation("The value as TOML. What TOML cannot express gives the message that says why.")
        .example(r#"{{ dict "a" (dict "b" 1) | toToml }}"#, "[a]\n  b = 1\n"),
    Function::pure("mustToToml", &[Any], toml::must_to_toml)
        .signature("value", "string")
        .documentation("Like `toToml`, but fails for what TOML cannot express.")
        .example(r#"{{ dict "a" "b" | mustToToml }}"#, "a = \"b\"\n"),
    Function::pure("fromToml", &[Text], toml::from_toml)
        .signature("text", "map[string]any")
        .documentation(
            "The map that the TOML stands for. Where it stands for none, a map with the message under \
             `Error`.",
        )
        .example(r#"{{ (fromToml "[a]\nb = 1").a.b }}"#, "1"),
    Function::pure("mustToDuration", &[Any], duration::must_to_duration)
        .signature("value", "time.Duration")
        .documentation(
            "The duration that a text such as `1h30m` says, or a number of seconds. Fails for what is \
             neither.",
        )
        .example(r#"{{ mustToDuration "90m" }}"#, "1h30m0s"),
    Function::pure("durationSeconds", &[Any], duration::seconds)
        .signature("duration", "float64")
        .documentation(
            "The duration in seconds. Here and in its siblings a duration is a text such as `1h30m` or a \
             number of seconds, and what is neither counts as 0.",
        )
        .example(r#"{{ durationSeconds "1m30s" }}"#, "90"),
    Function::pure("durationMilliseconds", &[Any], duration::milliseconds)
        .signature("duration", "int64")
        .documentation("The duration in whole milliseconds.")
        .example(r#"{{ durationMilliseconds "1.5s" }}"#, "1500"),
    Function::pure("durationMicroseconds", &[Any], duration::microseconds)
        .signature("duration", "int64")
        .documentation("The duration in whole microseconds.")
        .example(r#"{{ durationMicroseconds "2ms" }}"#, "2000"),
    Function::pure("durationNanoseconds", &[Any], duration::nanoseconds)
        .signature("duration", "int64")
        .documentation("The duration in nanoseconds.")
        .example(r#"{{ durationNanoseconds "2us" }}"#, "2000"),
    Function::pure("durationMinutes", &[Any], duration::minutes)
        .signature("duration", "float64")
        .documentation("The duration in minutes.")
        .example(r#"{{ durationMinutes "1h30m" }}"#, "90"),
    Function::pure("durationHours", &[Any], duration::hours)
        .signature("duration", "float64")
        .documentation("The duration in hours.")
        .example(r#"{{ durationHours "90m" }}"#, "1.5"),
    Function::pure("durationDays", &[Any], duration::days)
        .signature("duration", "float64")
        .documentation("The duration in days of 24 hours.")
        .example(r#"{{ durationDays "36h" }}"#, "1.5"),
    Function::pure("durationWeeks", &[Any], duration::weeks)
        .signature("duration", "float64")
        .documentation("The duration in weeks of 7 days.")
        .example(r#"{{ durationWeeks "168h" }}"#, "1"),
    Function::pure("durationRoundTo", &[Any, Any], duration::round_to)
        .signature("duration unit", "time.Duration")
        .documentation("The duration rounded to the nearest multiple of the unit.")
        .example(r#"{{ durationRoundTo "1h31m" "1h" }}"#, "2h0m0s"),
    Function::pure("durationTruncateTo", &[Any, Any], duration::truncate_to)
        .signature("duration unit", "time.Duration")
        .documentation("The duration rounded towards 0 to a multiple of the unit.")
        .example(r#"{{ durationTruncateTo "1h59m" "1h" }}"#, "1h0m0s"),
];
