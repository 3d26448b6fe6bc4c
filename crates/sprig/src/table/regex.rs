//! Matching, finding, replacing and splitting by regular expressions of Go's syntax.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Int, String as Text};

use crate::regex;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("regexMatch", &[Text, Text], regex::is_match)
        .signature("expression text", "bool")
        .documentation(
            "Whether the expression matches some part of the text. A wrong expression matches nothing.",
        )
        .example(r#"{{ regexMatch "^[a-z]+$" "abc" }}"#, "true"),
    Function::pure("mustRegexMatch", &[Text, Text], regex::must_match)
        .signature("expression text", "bool")
        .documentation("Like `regexMatch`, but fails for a wrong expression.")
        .example(r#"{{ mustRegexMatch "[0-9]" "abc" }}"#, "false"),
    Function::pure("regexFind", &[Text, Text], regex::find)
        .signature("expression text", "string")
        .documentation("The first match in the text, or the empty text. Fails for a wrong expression.")
        .example(r#"{{ regexFind "[0-9]+" "web-12-a3" }}"#, "12"),
    Function::pure("mustRegexFind", &[Text, Text], regex::must_find)
        .signature("expression text", "string")
        .documentation("Like `regexFind`.")
        .example(r#"{{ mustRegexFind "[0-9]+" "web-12-a3" }}"#, "12"),
    Function::pure("regexFindAll", &[Text, Text, Int], regex::find_all)
        .signature("expression text count", "[]string")
        .documentation(
            "The matches in the text, at most so many; all of them for a negative count. Fails for a \
             wrong expression.",
        )
        .example(
            r#"{{ regexFindAll "[0-9]+" "1 22 333" 2 | toJson }}"#,
            r#"["1","22"]"#,
        ),
    Function::pure("mustRegexFindAll", &[Text, Text, Int], regex::must_find_all)
        .signature("expression text count", "[]string")
        .documentation("Like `regexFindAll`.")
        .example(
            r#"{{ mustRegexFindAll "[0-9]+" "1 22 333" -1 | toJson }}"#,
            r#"["1","22","333"]"#,
        ),
    Function::pure("regexReplaceAll", &[Text, Text, Text], regex::replace_all)
        .signature("expression text replacement", "string")
        .documentation(
            "The text with every match replaced; `${1}` in the replacement stands for the first group. \
             Fails for a wrong expression.",
        )
        .example(r#"{{ regexReplaceAll "a(x*)b" "-axxb-" "<${1}>" }}"#, "-<xx>-"),
    Function::pure(
        "mustRegexReplaceAll",
        &[Text, Text, Text],
        regex::must_replace_all,
    )
    .signature("expression text replacement", "string")
    .documentation("Like `regexReplaceAll`.")
    .example(r#"{{ mustRegexReplaceAll "[^a-z]+" "a_1_b" "-" }}"#, "a-b"),
    Function::pure(
        "regexReplaceAllLiteral",
        &[Text, Text, Text],
        regex::replace_literal,
    )
    .signature("expression text replacement", "string")
    .documentation(
        "The text with every match replaced by the replacement as it stands. Fails for a wrong \
             expression.",
    )
    .example(
        r#"{{ regexReplaceAllLiteral "a(x*)b" "-axxb-" "${1}" }}"#,
        "-${1}-",
    ),
    Function::pure(
        "mustRegexReplaceAllLiteral",
        &[Text, Text, Text],
        regex::must_replace_literal,
    )
    .signature("expression text replacement", "string")
    .documentation("Like `regexReplaceAllLiteral`.")
    .example(r#"{{ mustRegexReplaceAllLiteral "x" "axb" "-" }}"#, "a-b"),
    Function::pure("regexSplit", &[Text, Text, Int], regex::split)
        .signature("expression text count", "[]string")
        .documentation(
            "The parts of the text between matches, at most so many, of which the last is the rest; all \
             of them for a negative count. Fails for a wrong expression.",
        )
        .example(
            r#"{{ regexSplit "[,;]" "a,b;c" -1 | toJson }}"#,
            r#"["a","b","c"]"#,
        ),
    Function::pure("mustRegexSplit", &[Text, Text, Int], regex::must_split)
        .signature("expression text count", "[]string")
        .documentation("Like `regexSplit`.")
        .example(
            r#"{{ mustRegexSplit "[,;]" "a,b;c" 2 | toJson }}"#,
            r#"["a","b;c"]"#,
        ),
    Function::pure("regexQuoteMeta", &[Text], regex::quote_meta)
        .signature("text", "string")
        .documentation("An expression that matches just the text.")
        .example(r#"{{ regexQuoteMeta "a.b" }}"#, r"a\.b"),
];
