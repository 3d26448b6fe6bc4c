//! Random texts and numbers, all drawn from the rendering's world.

use steersman_gotemplate::Parameter::{Int, String as Text};
use steersman_gotemplate::{Effect, Function};

use crate::random;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("randAlphaNum", &[Int], Effect::Random, random::rand_alpha_num)
        .signature("length", "string")
        .documentation("So many random letters and digits.")
        .example("{{ randAlphaNum 12 | len }}", "12"),
    Function::new("randAlpha", &[Int], Effect::Random, random::rand_alpha)
        .signature("length", "string")
        .documentation("So many random letters.")
        .example(r#"{{ randAlpha 12 | regexMatch "^[a-zA-Z]+$" }}"#, "true"),
    Function::new("randNumeric", &[Int], Effect::Random, random::rand_numeric)
        .signature("length", "string")
        .documentation("So many random digits.")
        .example(r#"{{ randNumeric 12 | regexMatch "^[0-9]+$" }}"#, "true"),
    Function::new("randAscii", &[Int], Effect::Random, random::rand_ascii)
        .signature("length", "string")
        .documentation("So many random printable characters of ASCII.")
        .example("{{ randAscii 12 | len }}", "12"),
    Function::new("randBytes", &[Int], Effect::Random, random::rand_bytes)
        .signature("length", "string")
        .documentation("So many random bytes, in base 64.")
        .example("{{ randBytes 16 | b64dec | len }}", "16"),
    Function::new("randInt", &[Int, Int], Effect::Random, random::rand_int)
        .signature("least limit", "int")
        .documentation(
            "A random integer from the least one until the limit. Fails where the limit is not greater.",
        )
        .example("{{ randInt 5 6 }}", "5"),
    Function::new("shuffle", &[Text], Effect::Random, random::shuffle)
        .signature("text", "string")
        .documentation("The characters of the text in random order.")
        .example(r#"{{ shuffle "aaaa" }}"#, "aaaa"),
    Function::new("uuidv4", &[], Effect::Random, random::uuid)
        .signature("", "string")
        .documentation("A random UUID of version 4.")
        .example("{{ uuidv4 | len }}", "36"),
];
