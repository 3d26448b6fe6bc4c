//! Base 64 and base 32, and digests.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::String as Text;

use crate::encoding;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("b64enc", &[Text], encoding::b64enc)
        .signature("text", "string")
        .documentation("The text in base 64.")
        .example(r#"{{ b64enc "hello" }}"#, "aGVsbG8="),
    Function::pure("b64dec", &[Text], encoding::b64dec)
        .signature("text", "string")
        .documentation(
            "The text that the base 64 stands for. For what is no base 64, the result is the message that \
             says why.",
        )
        .example(r#"{{ b64dec "aGVsbG8=" }}"#, "hello"),
    Function::pure("b32enc", &[Text], encoding::b32enc)
        .signature("text", "string")
        .documentation("The text in base 32.")
        .example(r#"{{ b32enc "hello" }}"#, "NBSWY3DP"),
    Function::pure("b32dec", &[Text], encoding::b32dec)
        .signature("text", "string")
        .documentation(
            "The text that the base 32 stands for. For what is no base 32, the result is the message that \
             says why.",
        )
        .example(r#"{{ b32dec "NBSWY3DP" }}"#, "hello"),
    Function::pure("sha1sum", &[Text], encoding::sha1sum)
        .signature("text", "string")
        .documentation("The SHA-1 digest of the text, in hexadecimal digits.")
        .example(
            r#"{{ sha1sum "hello" }}"#,
            "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d",
        ),
    Function::pure("sha256sum", &[Text], encoding::sha256sum)
        .signature("text", "string")
        .documentation("The SHA-256 digest of the text, in hexadecimal digits.")
        .example(
            r#"{{ sha256sum "hello" }}"#,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ),
    Function::pure("sha512sum", &[Text], encoding::sha512sum)
        .signature("text", "string")
        .documentation("The SHA-512 digest of the text, in hexadecimal digits.")
        .example(r#"{{ sha512sum "hello" | trunc 16 }}"#, "9b71d224bd62f378"),
    Function::pure("adler32sum", &[Text], encoding::adler32sum)
        .signature("text", "string")
        .documentation("The Adler-32 checksum of the text, as a decimal number.")
        .example(r#"{{ adler32sum "hello" }}"#, "103547413"),
];
