//! The table of Go's functions.

use crate::function::{Function, Parameter};

use super::{and, call, collection, compare, escape, not, or, print, printf, println};

const REFLECT: &[Parameter] = &[Parameter::Reflect];
const TWO_REFLECT: &[Parameter] = &[Parameter::Reflect, Parameter::Reflect];
const ANY: &[Parameter] = &[Parameter::Any];

pub(super) static BUILTINS: &[Function] = &[
    Function::pure("and", TWO_REFLECT, and)
        .variadic()
        .signature("first rest", "any")
        .documentation(
            "The first argument that is empty, or the last one if none is. Arguments after the one that \
             decides are not evaluated.",
        )
        .example(r#"{{ and true "" "never looked at" | quote }}"#, r#""""#),
    Function::pure("call", TWO_REFLECT, call)
        .variadic()
        .signature("function arguments", "any")
        .documentation(
            "Calls a function value with the arguments. No value in a chart is a function, so it always \
             fails.",
        ),
    Function::pure("eq", TWO_REFLECT, compare::eq)
        .variadic()
        .signature("first others", "bool")
        .documentation(
            "Whether the first argument equals at least one of the others. Fails for values of kinds that \
             cannot be compared, such as maps, and for a number beside a text.",
        )
        .example(r#"{{ eq "b" "a" "b" }}"#, "true"),
    Function::pure("ge", TWO_REFLECT, compare::ge)
        .signature("first second", "bool")
        .documentation(
            "Whether the first argument is greater than the second or equal to it. Fails unless both are \
             texts, integers or floats.",
        )
        .example("{{ ge 2 2 }}", "true"),
    Function::pure("gt", TWO_REFLECT, compare::gt)
        .signature("first second", "bool")
        .documentation(
            "Whether the first argument is greater than the second. Fails unless both are texts, integers \
             or floats.",
        )
        .example("{{ gt 2 2 }}", "false"),
    Function::pure("html", ANY, escape::html)
        .variadic()
        .signature("values", "string")
        .documentation(
            "The arguments as `print` writes them, with the characters that mean something in HTML \
             escaped.",
        )
        .example(r#"{{ html "a < b" }}"#, "a &lt; b"),
    Function::pure("index", TWO_REFLECT, collection::index)
        .variadic()
        .signature("collection keys", "any")
        .documentation(
            "The element of a map, list or text at a key or index, and with more keys the element inside \
             of that. A key that is missing gives the zero value; an index out of range fails.",
        )
        .example(r#"{{ index (dict "a" (list 1 2)) "a" 1 }}"#, "2"),
    Function::pure("js", ANY, escape::js)
        .variadic()
        .signature("values", "string")
        .documentation("The arguments as `print` writes them, escaped for a JavaScript string.")
        .example(r#"{{ js "it's" }}"#, r"it\'s"),
    Function::pure("le", TWO_REFLECT, compare::le)
        .signature("first second", "bool")
        .documentation(
            "Whether the first argument is less than the second or equal to it. Fails unless both are \
             texts, integers or floats.",
        )
        .example("{{ le 1 2 }}", "true"),
    Function::pure("len", REFLECT, collection::len)
        .signature("value", "int")
        .documentation(
            "The number of elements of a map or list, or of bytes of a text. Fails for other kinds.",
        )
        .example(r#"{{ len "größe" }}"#, "7"),
    Function::pure("lt", TWO_REFLECT, compare::lt)
        .signature("first second", "bool")
        .documentation(
            "Whether the first argument is less than the second. Fails unless both are texts, integers or \
             floats.",
        )
        .example("{{ lt 1 2 }}", "true"),
    Function::pure("ne", TWO_REFLECT, compare::ne)
        .signature("first second", "bool")
        .documentation("Whether the arguments differ. Fails for values that `eq` cannot compare.")
        .example(r#"{{ ne "a" "b" }}"#, "true"),
    Function::pure("not", REFLECT, not)
        .signature("value", "bool")
        .documentation(
            "Whether the argument is empty: false, 0, nil, or a text, list or map without content.",
        )
        .example(r#"{{ not "" }}"#, "true"),
    Function::pure("or", TWO_REFLECT, or)
        .variadic()
        .signature("first rest", "any")
        .documentation(
            "The first argument that is not empty, or the last one if all are. Arguments after the one \
             that decides are not evaluated.",
        )
        .example(r#"{{ or "" "fallback" }}"#, "fallback"),
    Function::pure("print", ANY, print)
        .variadic()
        .signature("values", "string")
        .documentation(
            "The arguments as text, with a space between two neighbours of which neither is a text.",
        )
        .example(r#"{{ print 1 2 "three" }}"#, "1 2three"),
    Function::pure("printf", &[Parameter::String, Parameter::Any], printf)
        .variadic()
        .signature("format values", "string")
        .documentation(
            "The arguments written into a format of Go's `fmt`. What does not fit a verb is shown in the \
             result as `%!…`; it never fails.",
        )
        .example(r#"{{ printf "%s-%03d" "web" 7 }}"#, "web-007"),
    Function::pure("println", ANY, println)
        .variadic()
        .signature("values", "string")
        .documentation("The arguments as text with spaces between, and a line feed at the end.")
        .example(r#"{{ println "a" 1 | quote }}"#, r#""a 1\n""#),
    Function::pure("slice", TWO_REFLECT, collection::slice)
        .variadic()
        .signature("collection indexes", "any")
        .documentation(
            "The part of a list or text from the first index until the second; without them its start and \
             its end. Fails for indexes out of range. In charts, the function for lists replaces it.",
        ),
    Function::pure("urlquery", ANY, escape::urlquery)
        .variadic()
        .signature("values", "string")
        .documentation("The arguments as `print` writes them, escaped for the query of a URL.")
        .example(r#"{{ urlquery "a b&c" }}"#, "a+b%26c"),
];
