//! Passwords, encryption, keys and certificates.

mod aes;
mod certificate;
mod der;
mod dsa;
mod key;
mod password;

use steersman_gotemplate::Parameter::{Int, List, Named, String as Text};
use steersman_gotemplate::{Effect, Function, Parameter};

use crate::table::{Body, effectful, pure};

pub use certificate::Certificate;

const CERTIFICATE: Parameter = Named(certificate::TYPE_NAME);

const fn random(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    call: Body,
) -> Function {
    effectful(name, parameters, Effect::Random, summary, call)
}

pub(crate) const FUNCTIONS: &[Function] = &[
    random(
        "bcrypt",
        &[Text],
        "The bcrypt hash of the text.",
        password::bcrypt,
    ),
    random(
        "htpasswd",
        &[Text, Text],
        "A line of a password file for a user and a password.",
        password::htpasswd,
    ),
    pure(
        "derivePassword",
        &[Int, Text, Text, Text, Text],
        "The Master Password for counter, type, password, user and site.",
        password::derive,
    ),
    random(
        "encryptAES",
        &[Text, Text],
        "The second text encrypted by the first, in base 64.",
        aes::encrypt,
    ),
    pure(
        "decryptAES",
        &[Text, Text],
        "The text that `encryptAES` encrypted.",
        aes::decrypt,
    ),
    random(
        "genPrivateKey",
        &[Text],
        "A new private key of the kind rsa, dsa, ecdsa or ed25519.",
        key::generate,
    ),
    random(
        "genCA",
        &[Text, Int],
        "A new certificate authority of a name, valid for some days.",
        certificate::authority,
    ),
    random(
        "genCAWithKey",
        &[Text, Int, Text],
        "Like `genCA`, for a given key.",
        certificate::authority_with_key,
    ),
    random(
        "genSelfSignedCert",
        &[Text, List, List, Int],
        "A new certificate for a name, addresses and host names, valid for some days.",
        certificate::self_signed,
    ),
    random(
        "genSelfSignedCertWithKey",
        &[Text, List, List, Int, Text],
        "Like `genSelfSignedCert`, for a given key.",
        certificate::self_signed_with_key,
    ),
    random(
        "genSignedCert",
        &[Text, List, List, Int, CERTIFICATE],
        "Like `genSelfSignedCert`, signed by an authority.",
        certificate::signed,
    ),
    random(
        "genSignedCertWithKey",
        &[Text, List, List, Int, CERTIFICATE, Text],
        "Like `genSignedCert`, for a given key.",
        certificate::signed_with_key,
    ),
    pure(
        "buildCustomCert",
        &[Text, Text],
        "The certificate and key given in base 64.",
        certificate::custom,
    ),
];
