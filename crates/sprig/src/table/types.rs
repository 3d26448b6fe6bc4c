//! Go's names for the types and kinds of values, and deep equality.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, String as Text};

use crate::types;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("typeOf", &[Any], types::type_of)
        .signature("value", "string")
        .documentation("The name that Go has for the value's type.")
        .example("{{ typeOf (list 1) }}", "[]interface {}"),
    Function::pure("typeIs", &[Text, Any], types::type_is)
        .signature("name value", "bool")
        .documentation("Whether Go's name of the value's type is this one.")
        .example(r#"{{ typeIs "string" "a" }}"#, "true"),
    Function::pure("typeIsLike", &[Text, Any], types::type_is_like)
        .signature("name value", "bool")
        .documentation("Whether Go's name of the value's type, or of what it points to, is this one.")
        .example(r#"{{ typeIsLike "semver.Version" (semver "1.2.3") }}"#, "true"),
    Function::pure("kindOf", &[Any], types::kind_of)
        .signature("value", "string")
        .documentation(
            "The name that Go has for the value's kind, such as `map`, `slice`, `int` or `string`.",
        )
        .example("{{ kindOf (dict) }}", "map"),
    Function::pure("kindIs", &[Text, Any], types::kind_is)
        .signature("name value", "bool")
        .documentation("Whether Go's name of the value's kind is this one.")
        .example(r#"{{ kindIs "map" (dict) }}"#, "true"),
    Function::pure("deepEqual", &[Any, Any], types::equal)
        .signature("first second", "bool")
        .documentation(
            "Whether both values have the same type and the same content. An int never equals an int64.",
        )
        .example("{{ deepEqual (list 1 2) (list 1 2) }}", "true"),
    Function::pure("deepCopy", &[Any], types::copy)
        .signature("value", "any")
        .documentation("A copy that shares no map and no list with the value. Fails for nil.")
        .example(
            r#"{{ $a := dict "x" 1 }}{{ $b := deepCopy $a }}{{ $_ := set $b "x" 2 }}{{ $a.x }}"#,
            "1",
        ),
    Function::pure("mustDeepCopy", &[Any], types::copy)
        .signature("value", "any")
        .documentation("Like `deepCopy`.")
        .example(r#"{{ mustDeepCopy (dict "x" 1) | toJson }}"#, r#"{"x":1}"#),
];
