//! Private keys, as PEM.

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaKeyPair,
};
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_RSA_SHA256,
};
use rustls_pki_types::PrivateKeyDer;
use steersman_gotemplate::{Runtime, Value};

use super::{der, dsa};
use crate::Outcome;
use crate::arguments::text;

const PKCS8: &str = "PRIVATE KEY";
const RSA: &str = "RSA PRIVATE KEY";
const EC: &str = "EC PRIVATE KEY";
const DSA: &str = "DSA PRIVATE KEY";

/// The work of making a key of 2048 bits, in steps of a template.
pub(super) const STEPS: u64 = 300_000;

/// A private key, and the form in which Sprig shows it.
pub(super) struct PrivateKey {
    pem: Pem,
    /// What signs; DSA keys sign no certificates.
    pair: Option<KeyPair>,
}

pub(crate) fn generate(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let kind = text(arguments, 0);
    runtime.spend(if matches!(&*kind, "" | "rsa") {
        13 * STEPS
    } else {
        STEPS / 10
    })?;
    let key = match &*kind {
        "" | "rsa" => PrivateKey::generate_rsa(KeySize::Rsa4096).map(|key| key.pem),
        "dsa" => Ok(Pem::new(DSA, dsa::generate(runtime.world()))),
        "ecdsa" => generate_ecdsa(),
        "ed25519" => generate_ed25519(),
        other => return Ok(format!("Unknown type {other}").into()),
    };
    Ok(match key {
        Ok(pem) => written(&pem).into(),
        Err(error) => format!("failed to generate private key: {error}").into(),
    })
}

fn generate_ecdsa() -> Result<Pem, String> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|error| error.to_string())?;
    Ok(Pem::new(EC, rfc5915(&pair)?))
}

fn generate_ed25519() -> Result<Pem, String> {
    let document = Ed25519KeyPair::generate()
        .and_then(|pair| pair.to_pkcs8v1())
        .map_err(|error| error.to_string())?;
    Ok(Pem::new(PKCS8, document.as_ref()))
}

fn rfc5915(pair: &EcdsaKeyPair) -> Result<Vec<u8>, String> {
    let key = pair.private_key();
    let encoded: EcPrivateKeyRfc5915Der<'_> = key.as_der().map_err(|error| error.to_string())?;
    Ok(encoded.as_ref().to_vec())
}

/// The PEM block with the line ends that Go writes.
pub(super) fn written(pem: &Pem) -> String {
    pem::encode_config(pem, EncodeConfig::new().set_line_ending(LineEnding::LF))
}

impl PrivateKey {
    pub(super) fn generate_rsa(size: KeySize) -> Result<Self, String> {
        let encoded = RsaKeyPair::generate(size)
            .and_then(|pair| AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair))
            .map_err(|error| error.to_string())?;
        Self::of_der(&PrivateKeyDer::Pkcs8(encoded.as_ref().into()))
    }

    /// The key in a PEM block of any kind that Sprig knows.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let Ok(block) = pem::parse(text) else {
            return Err("no PEM data in input".to_owned());
        };
        let tag = block.tag();
        let contents = block.contents();
        if tag == PKCS8 {
            return Self::of_der(&PrivateKeyDer::Pkcs8(contents.into()))
                .map_err(|error| format!("decoding PEM as PKCS#8: {error}"));
        }
        let Some(kind) = tag.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {tag}"));
        };
        let of_kind = |key: PrivateKeyDer<'_>| {
            Self::of_der(&key).map_err(|error| format!("parsing {kind} private key from PEM: {error}"))
        };
        match tag {
            RSA => of_kind(PrivateKeyDer::Pkcs1(contents.into())),
            EC => of_kind(PrivateKeyDer::Sec1(contents.into())),
            DSA if der::is_integers(contents, 6) => Ok(Self {
                pem: block,
                pair: None,
            }),
            DSA => Err("parsing DSA private key from PEM: asn1: structure error".to_owned()),
            _ => Err(format!("invalid private key type {kind}")),
        }
    }

    fn of_der(encoded: &PrivateKeyDer<'_>) -> Result<Self, String> {
        let pair = KeyPair::try_from(encoded).map_err(|error| error.to_string())?;
        let content = encoded.secret_der();
        let pem = if pair.algorithm() == &PKCS_RSA_SHA256 {
            let inner = match encoded {
                PrivateKeyDer::Pkcs8(_) => {
                    der::private_key_of_pkcs8(content).ok_or("asn1: structure error")?
                }
                _ => content,
            };
            Pem::new(RSA, inner)
        } else if let Some(algorithm) = ecdsa_algorithm(&pair) {
            let pair =
                EcdsaKeyPair::from_private_key_der(algorithm, content).map_err(|error| error.to_string())?;
            Pem::new(EC, rfc5915(&pair)?)
        } else {
            Pem::new(PKCS8, content)
        };
        Ok(Self {
            pem,
            pair: Some(pair),
        })
    }

    /// What signs, unless it is a DSA key.
    pub(super) fn pair(&self) -> Result<&KeyPair, String> {
        self.pair
            .as_ref()
            .ok_or_else(|| "x509: only RSA, ECDSA, Ed25519, and ML-DSA keys supported".to_owned())
    }

    /// The key as Sprig shows it.
    pub(super) fn written(&self) -> String {
        written(&self.pem)
    }
}

fn ecdsa_algorithm(pair: &KeyPair) -> Option<&'static EcdsaSigningAlgorithm> {
    let algorithm = pair.algorithm();
    if algorithm == &PKCS_ECDSA_P256_SHA256 {
        Some(&ECDSA_P256_SHA256_ASN1_SIGNING)
    } else if algorithm == &PKCS_ECDSA_P384_SHA384 {
        Some(&ECDSA_P384_SHA384_ASN1_SIGNING)
    } else if algorithm == &PKCS_ECDSA_P521_SHA512 {
        Some(&ECDSA_P521_SHA512_ASN1_SIGNING)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check};

    #[test]
    fn keys_are_made_and_read_again() {
        for (kind, header) in [("rsa", RSA), ("ecdsa", EC), ("ed25519", PKCS8), ("dsa", DSA)] {
            let text =
                steersman_gotemplate::format::print_value(&call("genPrivateKey", &[kind.into()]).unwrap())
                    .to_string();
            assert!(text.starts_with(&format!("-----BEGIN {header}-----\n")), "{text}");
            assert!(text.ends_with(&format!("-----END {header}-----\n")), "{text}");
            let key = PrivateKey::parse(text.as_bytes()).unwrap();
            assert_eq!(key.written(), text);
            assert_eq!(key.pair().is_ok(), kind != "dsa");
        }
        check("genPrivateKey", &["x".into()], "Unknown type x");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for (text, expect) in [
            ("", "no PEM data in input"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "no private key data in PEM block of type CERTIFICATE",
            ),
            (
                "-----BEGIN X PRIVATE KEY-----\nAAAA\n-----END X PRIVATE KEY-----\n",
                "invalid private key type X",
            ),
        ] {
            assert_eq!(PrivateKey::parse(text.as_bytes()).err().as_deref(), Some(expect));
        }
    }
}
