//! Values for want of a value, and choices between values.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, Bool, String as Text};

use crate::defaults;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("default", &[Any, Any], defaults::default)
        .variadic()
        .signature("default values", "any")
        .documentation("The first of the values, or the default if that is empty or not given.")
        .example(r#"{{ default "nginx" "" }}"#, "nginx"),
    Function::pure("empty", &[Any], defaults::empty)
        .signature("value", "bool")
        .documentation(
            "Whether the value is the empty one of its kind: nil, false, 0, or a text, list or map \
             without content.",
        )
        .example("{{ empty (list) }}", "true"),
    Function::pure("coalesce", &[Any], defaults::coalesce)
        .variadic()
        .signature("values", "any")
        .documentation("The first value that is not empty, nil if all are.")
        .example(r#"{{ coalesce 0 "" "c" }}"#, "c"),
    Function::pure("all", &[Any], defaults::all)
        .variadic()
        .signature("values", "bool")
        .documentation("Whether none of the values is empty; true for none at all.")
        .example(r#"{{ all 1 "a" }}"#, "true"),
    Function::pure("any", &[Any], defaults::some)
        .variadic()
        .signature("values", "bool")
        .documentation("Whether at least one of the values is not empty.")
        .example(r#"{{ any 0 "" 1 }}"#, "true"),
    Function::pure("ternary", &[Any, Any, Bool], defaults::ternary)
        .signature("yes no condition", "any")
        .documentation("The first value if the condition is true, else the second.")
        .example(r#"{{ ternary "on" "off" true }}"#, "on"),
    Function::pure("fail", &[Text], defaults::fail)
        .signature("message", "string")
        .documentation("Fails with the message. In charts, Helm's function of this name replaces it."),
];
