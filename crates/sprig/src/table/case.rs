//! Words in upper, lower, title, camel, snake and kebab case.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::String as Text;

use crate::case;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("title", &[Text], case::to_title)
        .signature("text", "string")
        .documentation("The text with the first letter of every word in title case.")
        .example(r#"{{ title "hello world" }}"#, "Hello World"),
    Function::pure("untitle", &[Text], case::untitle)
        .signature("text", "string")
        .documentation("The text with the first letter of every word in lower case.")
        .example(r#"{{ untitle "Hello World" }}"#, "hello world"),
    Function::pure("swapcase", &[Text], case::swapcase)
        .signature("text", "string")
        .documentation(
            "The text in lower case where it was upper, and the reverse; letters at the start of words \
             become title case.",
        )
        .example(r#"{{ swapcase "Hello World" }}"#, "hELLO wORLD"),
    Function::pure("initials", &[Text], case::initials)
        .signature("text", "string")
        .documentation("The first letters of the words of the text.")
        .example(r#"{{ initials "Ada Lovelace" }}"#, "AL"),
    Function::pure("camelcase", &[Text], case::camelcase)
        .signature("text", "string")
        .documentation("The words of the text joined as `PascalCase`.")
        .example(r#"{{ camelcase "http_server" }}"#, "HttpServer"),
    Function::pure("snakecase", &[Text], case::snakecase)
        .signature("text", "string")
        .documentation("The words of the text joined as `snake_case`.")
        .example(r#"{{ snakecase "FirstName" }}"#, "first_name"),
    Function::pure("kebabcase", &[Text], case::kebabcase)
        .signature("text", "string")
        .documentation("The words of the text joined as `kebab-case`.")
        .example(r#"{{ kebabcase "FirstName" }}"#, "first-name"),
];
