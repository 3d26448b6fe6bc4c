//! Passwords, encryption, keys and certificates.

use steersman_gotemplate::Parameter::{Int, List, Named, String as Text, Uint32};
use steersman_gotemplate::{Effect, Function, Parameter};

use crate::crypto;

const CERTIFICATE: Parameter = Named(crypto::certificate::TYPE_NAME);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("bcrypt", &[Text], Effect::Random, crypto::password::bcrypt)
        .signature("password", "string")
        .documentation(
            "The bcrypt hash of the password, with a new salt. A password over 72 bytes gives a message \
             in place of a hash.",
        )
        .example(r#"{{ bcrypt "secret" | trunc 7 }}"#, "$2a$10$"),
    Function::new("htpasswd", &[Text, Text], Effect::Random, crypto::password::htpasswd)
        .signature("user password", "string")
        .documentation(
            "A line of a password file: the user and the bcrypt hash of the password. A user with a colon \
             gives a message in place of a line.",
        )
        .example(r#"{{ htpasswd "ada" "secret" | trunc 11 }}"#, "ada:$2a$10$"),
    Function::pure("derivePassword", &[Uint32, Text, Text, Text, Text], crypto::password::derive)
        .signature("counter type password user site", "string")
        .documentation(
            "The password that the Master Password algorithm derives for a site; the types are `maximum`, \
             `long`, `medium`, `short`, `basic` and `pin`. Any other type gives a message in place of a \
             password.",
        )
        .example(r#"{{ derivePassword 1 "long" "secret" "ada" "example.com" }}"#, "Xahe6(YurvPuty"),
    Function::new("encryptAES", &[Text, Text], Effect::Random, crypto::aes::encrypt)
        .signature("password text", "string")
        .documentation(
            "The text encrypted by AES-256 in CBC mode under the password, with a new initialization \
             vector, in base 64.",
        )
        .example(r#"{{ encryptAES "secret" "text" | decryptAES "secret" }}"#, "text"),
    Function::pure("decryptAES", &[Text, Text], crypto::aes::decrypt)
        .signature("password encrypted", "string")
        .documentation(
            "The text that `encryptAES` encrypted under the password. Fails for what it did not encrypt.",
        )
        .example(r#"{{ decryptAES "secret" (encryptAES "secret" "text") }}"#, "text"),
    Function::new("genPrivateKey", &[Text], Effect::Random, crypto::key::generate)
        .signature("kind", "string")
        .documentation(
            "A new private key of the kind `rsa` (4096 bits), `dsa`, `ecdsa` or `ed25519`, as PEM. Any \
             other kind gives a message in place of a key.",
        )
        .example(r#"{{ genPrivateKey "ed25519" | trunc 27 }}"#, "-----BEGIN PRIVATE KEY-----"),
    Function::new("genCA", &[Text, Int], Effect::Random, crypto::certificate::authority)
        .signature("name days", "sprig.certificate")
        .documentation(
            "A new certificate authority of the common name, valid for so many days, with an RSA key; its \
             fields are `Cert` and `Key`, both PEM.",
        )
        .example(r#"{{ (genCA "ca" 365).Cert | trunc 27 }}"#, "-----BEGIN CERTIFICATE-----"),
    Function::new("genCAWithKey", &[Text, Int, Text], Effect::Random, crypto::certificate::authority_with_key)
        .signature("name days key", "sprig.certificate")
        .documentation("Like `genCA`, for a private key given as PEM. Fails for what is no key.")
        .example(
            r#"{{ (genPrivateKey "ecdsa" | genCAWithKey "ca" 365).Cert | trunc 27 }}"#,
            "-----BEGIN CERTIFICATE-----",
        ),
    Function::new("genSelfSignedCert", &[Text, List, List, Int], Effect::Random, crypto::certificate::self_signed)
        .signature("name addresses hosts days", "sprig.certificate")
        .documentation(
            "A new certificate of the common name for IP addresses and host names (lists, or nil), valid \
             for so many days and signed by itself, with an RSA key. Fails for what is no address.",
        )
        .example(
            r#"{{ (genSelfSignedCert "web" (list "10.0.0.1") (list "web.ns.svc") 30).Cert | trunc 27 }}"#,
            "-----BEGIN CERTIFICATE-----",
        ),
    Function::new("genSelfSignedCertWithKey", &[Text, List, List, Int, Text], Effect::Random, crypto::certificate::self_signed_with_key)
        .signature("name addresses hosts days key", "sprig.certificate")
        .documentation("Like `genSelfSignedCert`, for a private key given as PEM. Fails for what is no key.")
        .example(
            r#"{{ (genPrivateKey "ecdsa" | genSelfSignedCertWithKey "web" nil nil 30).Cert | trunc 27 }}"#,
            "-----BEGIN CERTIFICATE-----",
        ),
    Function::new("genSignedCert", &[Text, List, List, Int, CERTIFICATE], Effect::Random, crypto::certificate::signed)
        .signature("name addresses hosts days authority", "sprig.certificate")
        .documentation(
            "Like `genSelfSignedCert`, signed by an authority that `genCA` or `buildCustomCert` gave.",
        )
        .example(
            r#"{{ (genCA "ca" 365 | genSignedCert "web" nil (list "web.ns.svc") 30).Cert | trunc 27 }}"#,
            "-----BEGIN CERTIFICATE-----",
        ),
    Function::new("genSignedCertWithKey", &[Text, List, List, Int, CERTIFICATE, Text], Effect::Random, crypto::certificate::signed_with_key)
        .signature("name addresses hosts days authority key", "sprig.certificate")
        .documentation("Like `genSignedCert`, for a private key given as PEM. Fails for what is no key.")
        .example(
            r#"{{ (genPrivateKey "ecdsa" | genSignedCertWithKey "web" nil nil 30 (genCA "ca" 365)).Cert | trunc 27 }}"#,
            "-----BEGIN CERTIFICATE-----",
        ),
    Function::pure("buildCustomCert", &[Text, Text], crypto::certificate::custom)
        .signature("certificate key", "sprig.certificate")
        .documentation(
            "The certificate and the private key, each PEM in base 64, as a value that `genSignedCert` \
             takes for an authority. Fails for what is neither.",
        )
        .example(
            r#"{{ $ca := genCA "ca" 365 }}{{ (buildCustomCert (b64enc $ca.Cert) (b64enc $ca.Key)).Cert | eq $ca.Cert }}"#,
            "true",
        ),
];
