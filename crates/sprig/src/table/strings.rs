//! Trimming, cutting, repeating, wrapping and quoting.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Any, Int, String as Text};

use crate::strings;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("hello", &[], strings::hello)
        .signature("", "string")
        .documentation("The text `Hello!`.")
        .example("{{ hello }}", "Hello!"),
    Function::pure("trim", &[Text], strings::trim)
        .signature("text", "string")
        .documentation("The text without white space at its ends.")
        .example(r#"{{ trim "  a b " }}"#, "a b"),
    Function::pure("trimAll", &[Text, Text], strings::trim_all)
        .signature("characters text", "string")
        .documentation("The text without any of the characters at its ends.")
        .example(r#"{{ trimAll "$-" "-$5.00-" }}"#, "5.00"),
    Function::pure("trimall", &[Text, Text], strings::trim_all)
        .signature("characters text", "string")
        .documentation("The old name of `trimAll`.")
        .example(r#"{{ trimall "$" "$5.00" }}"#, "5.00"),
    Function::pure("trimPrefix", &[Text, Text], strings::trim_prefix)
        .signature("prefix text", "string")
        .documentation("The text without the prefix, or the whole text if it starts otherwise.")
        .example(r#"{{ trimPrefix "v" "v1.2" }}"#, "1.2"),
    Function::pure("trimSuffix", &[Text, Text], strings::trim_suffix)
        .signature("suffix text", "string")
        .documentation("The text without the suffix, or the whole text if it ends otherwise.")
        .example(r#"{{ trunc 4 "abc-def" | trimSuffix "-" }}"#, "abc"),
    Function::pure("nospace", &[Text], strings::nospace)
        .signature("text", "string")
        .documentation("The text without any white space.")
        .example(r#"{{ nospace "a b\tc" }}"#, "abc"),
    Function::pure("upper", &[Text], strings::upper)
        .signature("text", "string")
        .documentation("The text in upper case.")
        .example(r#"{{ upper "größe" }}"#, "GRÖßE"),
    Function::pure("lower", &[Text], strings::lower)
        .signature("text", "string")
        .documentation("The text in lower case.")
        .example(r#"{{ lower "ABC" }}"#, "abc"),
    Function::pure("trunc", &[Int, Text], strings::trunc)
        .signature("length text", "string")
        .documentation(
            "The first bytes of the text up to the length, or its last ones if the length is negative.",
        )
        .example(r#"{{ trunc 5 "hello world" }}"#, "hello"),
    Function::pure("substr", &[Int, Int, Text], strings::substr)
        .signature("start end text", "string")
        .documentation(
            "The bytes of the text from the start until the end; a negative start means 0 and a negative \
             end the end of the text. Fails where the start lies behind the end.",
        )
        .example(r#"{{ substr 0 5 "hello world" }}"#, "hello"),
    Function::pure("abbrev", &[Int, Text], strings::abbrev)
        .signature("width text", "string")
        .documentation(
            "The text, with `...` in place of what is over the width. A width under 4 leaves the text \
             alone.",
        )
        .example(r#"{{ abbrev 8 "hello world" }}"#, "hello..."),
    Function::pure("abbrevboth", &[Int, Int, Text], strings::abbrevboth)
        .signature("offset width text", "string")
        .documentation(
            "The text cut to the width, with `...` in place of what is left out on either side of the \
             offset.",
        )
        .example(r#"{{ abbrevboth 5 10 "1234 5678 9123" }}"#, "...5678..."),
    Function::pure("repeat", &[Int, Text], strings::repeat)
        .signature("count text", "string")
        .documentation("The text so many times. Fails for a negative count.")
        .example(r#"{{ repeat 3 "ab" }}"#, "ababab"),
    Function::pure("contains", &[Text, Text], strings::contains)
        .signature("part text", "bool")
        .documentation("Whether the part occurs in the text.")
        .example(r#"{{ contains "ell" "hello" }}"#, "true"),
    Function::pure("hasPrefix", &[Text, Text], strings::has_prefix)
        .signature("prefix text", "bool")
        .documentation("Whether the text starts with the prefix.")
        .example(r#"{{ hasPrefix "he" "hello" }}"#, "true"),
    Function::pure("hasSuffix", &[Text, Text], strings::has_suffix)
        .signature("suffix text", "bool")
        .documentation("Whether the text ends with the suffix.")
        .example(r#"{{ hasSuffix "lo" "hello" }}"#, "true"),
    Function::pure("replace", &[Text, Text, Text], strings::replace)
        .signature("old new text", "string")
        .documentation("The text with every `old` in it replaced by `new`.")
        .example(r#"{{ replace "." "-" "a.b.c" }}"#, "a-b-c"),
    Function::pure("indent", &[Int, Text], strings::indent)
        .signature("spaces text", "string")
        .documentation("The text with so many spaces before each of its lines.")
        .example(r#"{{ indent 2 "a\nb" }}"#, "  a\n  b"),
    Function::pure("nindent", &[Int, Text], strings::nindent)
        .signature("spaces text", "string")
        .documentation("A line feed, and then what `indent` gives.")
        .example(r#"{{ nindent 2 "a" | quote }}"#, r#""\n  a""#),
    Function::pure("wrap", &[Int, Text], strings::wrap)
        .signature("width text", "string")
        .documentation(
            "The text broken into lines at spaces, so that no line is longer than the width; longer words \
             stay whole.",
        )
        .example(r#"{{ wrap 7 "one two three" }}"#, "one two\nthree"),
    Function::pure("wrapWith", &[Int, Text, Text], strings::wrap_with)
        .signature("width separator text", "string")
        .documentation("The text broken at the width by the separator, words that are longer too.")
        .example(
            r#"{{ wrapWith 5 "\t" "hello world" | quote }}"#,
            r#""hello\tworld""#,
        ),
    Function::pure("plural", &[Text, Text, Int], strings::plural)
        .signature("one many count", "string")
        .documentation("`one` if the count is 1, else `many`.")
        .example(r#"{{ plural "replica" "replicas" 3 }}"#, "replicas"),
    Function::pure("toString", &[Any], strings::to_string)
        .signature("value", "string")
        .documentation("The value as text: as it stands if it is one, else as `print` writes it.")
        .example("{{ toString 80 | quote }}", r#""80""#),
    Function::pure("quote", &[Any], strings::quote)
        .variadic()
        .signature("values", "string")
        .documentation(
            "The values as text in double quotes, escaped as in Go, with spaces between. Nil values are \
             left out.",
        )
        .example(r#"{{ quote "a" 1 nil }}"#, r#""a" "1""#),
    Function::pure("squote", &[Any], strings::squote)
        .variadic()
        .signature("values", "string")
        .documentation(
            "The values as text in single quotes, without escapes, with spaces between. Nil values are \
             left out.",
        )
        .example(r#"{{ squote "a" 1 nil }}"#, "'a' '1'"),
    Function::pure("cat", &[Any], strings::cat)
        .variadic()
        .signature("values", "string")
        .documentation("The values as text with spaces between. Nil values are left out.")
        .example(r#"{{ cat "a" 1 true }}"#, "a 1 true"),
];
