//! Texts into lists and maps of texts, and back.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, Int, String as Text};

use crate::split;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("split", &[Text, Text], split::split)
        .signature("separator text", "map[string]string")
        .documentation(
            "The parts of the text between separators, as a map with the keys `_0`, `_1` and so on.",
        )
        .example(r#"{{ (split "/" "a/b")._1 }}"#, "b"),
    Function::pure("splitn", &[Text, Int, Text], split::splitn)
        .signature("separator count text", "map[string]string")
        .documentation("Like `split`, with at most so many parts, of which the last is the rest.")
        .example(r#"{{ (splitn "/" 2 "a/b/c")._1 }}"#, "b/c"),
    Function::pure("splitList", &[Text, Text], split::split_list)
        .signature("separator text", "[]string")
        .documentation("The parts of the text between separators, as a list.")
        .example(r#"{{ splitList "," "a,b" | toJson }}"#, r#"["a","b"]"#),
    Function::pure("join", &[Text, Any], split::join)
        .signature("separator list", "string")
        .documentation(
            "The items of the list as text, with the separator between. Nil items are left out; what is \
             no list is taken for a list of one.",
        )
        .example(r#"{{ list "a" 1 | join "-" }}"#, "a-1"),
    Function::pure("toStrings", &[Any], split::to_strings)
        .signature("list", "[]string")
        .documentation(
            "The items of the list as texts. Nil items are left out; what is no list is taken for a list \
             of one.",
        )
        .example("{{ list 1 true | toStrings | toJson }}", r#"["1","true"]"#),
    Function::pure("sortAlpha", &[Any], split::sort_alpha)
        .signature("list", "[]string")
        .documentation("The items of the list as texts, sorted by their bytes.")
        .example(
            r#"{{ list "b" "a" 10 9 | sortAlpha | toJson }}"#,
            r#"["10","9","a","b"]"#,
        ),
];
