//! Certificates for a common name: authorities, self-signed ones, and those that they sign.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use aws_lc_rs::rsa::KeySize;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, SanType, SerialNumber,
};
use steersman_gotemplate::{Encoded, Failure, Object, Runtime, Str, Value};
use time::OffsetDateTime;

use super::key::{PrivateKey, STEPS};
use crate::Outcome;
use crate::arguments::{any, bytes, integer, text};
use crate::encoding::decode_base64;
use crate::text::items;

pub(crate) const TYPE_NAME: &str = "sprig.certificate";

/// A certificate and its private key, both as PEM: the fields `Cert` and `Key`.
#[derive(Clone, Debug)]
pub struct Certificate {
    certificate: Str,
    key: Str,
}

impl Certificate {
    fn value(certificate: impl Into<Str>, key: impl Into<Str>) -> Value {
        Value::Object(Rc::new(Self {
            certificate: certificate.into(),
            key: key.into(),
        }))
    }
}

impl Object for Certificate {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn kind_name(&self) -> &'static str {
        "struct"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Cert" => Some(self.certificate.clone().into()),
            "Key" => Some(self.key.clone().into()),
            _ => None,
        }
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(vec![
            ("Cert", self.certificate.clone().into()),
            ("Key", self.key.clone().into()),
        ])
    }

    fn encoded(&self) -> Encoded {
        Encoded::Fields(vec![
            ("Cert".into(), self.certificate.clone().into()),
            ("Key".into(), self.key.clone().into()),
        ])
    }
}

/// A failure, from what Go's error says.
fn failure(message: impl ToString) -> Failure {
    Failure::new(message.to_string())
}

fn generated_key(runtime: &mut dyn Runtime) -> Result<PrivateKey, Failure> {
    runtime.spend(STEPS)?;
    PrivateKey::generate_rsa(KeySize::Rsa2048)
        .map_err(|error| failure(format!("error generating rsa key: {error}")))
}

/// The key that the argument at `place` says.
fn given_key(runtime: &mut dyn Runtime, arguments: &[Value], place: usize) -> Result<PrivateKey, Failure> {
    runtime.spend(STEPS / 100)?;
    PrivateKey::parse(bytes(arguments, place))
        .map_err(|error| failure(format!("parsing private key: {error}")))
}

pub(crate) fn authority(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = generated_key(runtime)?;
    authority_of(runtime, arguments, &key)
}

pub(crate) fn authority_with_key(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = given_key(runtime, arguments, 2)?;
    authority_of(runtime, arguments, &key)
}

fn authority_of(runtime: &mut dyn Runtime, arguments: &[Value], key: &PrivateKey) -> Outcome {
    let mut params = parameters(
        runtime,
        &text(arguments, 0),
        [&Value::Nil, &Value::Nil],
        integer(arguments, 1),
    )?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages.push(KeyUsagePurpose::KeyCertSign);
    signed_by_itself(&params, key)
}

pub(crate) fn self_signed(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = generated_key(runtime)?;
    signed_by_itself(&leaf_parameters(runtime, arguments)?, &key)
}

pub(crate) fn self_signed_with_key(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = given_key(runtime, arguments, 4)?;
    signed_by_itself(&leaf_parameters(runtime, arguments)?, &key)
}

fn signed_by_itself(params: &CertificateParams, key: &PrivateKey) -> Outcome {
    let certificate = key
        .pair()
        .and_then(|pair| params.self_signed(pair).map_err(|error| error.to_string()))
        .map_err(creation)?;
    Ok(Certificate::value(written(&certificate), key.written()))
}

pub(crate) fn signed(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = generated_key(runtime)?;
    signed_by_authority(runtime, arguments, &key)
}

pub(crate) fn signed_with_key(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = given_key(runtime, arguments, 5)?;
    signed_by_authority(runtime, arguments, &key)
}

fn signed_by_authority(runtime: &mut dyn Runtime, arguments: &[Value], key: &PrivateKey) -> Outcome {
    let authority = match any(arguments, 4) {
        Value::Object(object) => object.as_any().downcast_ref::<Certificate>(),
        _ => None,
    };
    let authority = authority.ok_or_else(|| failure("unable to decode certificate"))?;
    let encoded = certificate_in(authority.certificate.as_bytes())?;
    let authority_key = PrivateKey::parse(authority.key.as_bytes())
        .map_err(|error| failure(format!("error parsing private key: {error}")))?;
    let mut params = leaf_parameters(runtime, arguments)?;
    params.use_authority_key_identifier_extension = true;
    let issuer = Issuer::from_ca_cert_der(
        &encoded.as_slice().into(),
        authority_key.pair().map_err(creation)?,
    )
    .map_err(creation)?;
    let certificate = params
        .signed_by(key.pair().map_err(creation)?, &issuer)
        .map_err(creation)?;
    Ok(Certificate::value(written(&certificate), key.written()))
}

fn creation(error: impl ToString) -> Failure {
    failure(format!("error creating certificate: {}", error.to_string()))
}

fn written(certificate: &rcgen::Certificate) -> String {
    super::key::written(&pem::Pem::new("CERTIFICATE", certificate.der().as_ref()))
}

/// The certificate in a PEM block, checked to be one.
fn certificate_in(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let block = pem::parse(text).map_err(|_| failure("unable to decode certificate"))?;
    x509_parser::parse_x509_certificate(block.contents()).map_err(|error| {
        failure(format!(
            "error parsing certificate: decodedCert.Bytes: x509: {error}"
        ))
    })?;
    Ok(block.into_contents())
}

pub(crate) fn custom(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let decoded = |place: usize, what: &str| {
        decode_base64(bytes(arguments, place)).map_err(|_| failure(format!("unable to decode base64 {what}")))
    };
    let certificate = decoded(0, "certificate")?;
    let key = decoded(1, "private key")?;
    certificate_in(&certificate)?;
    PrivateKey::parse(&key).map_err(|error| failure(format!("error parsing private key: {error}")))?;
    Ok(Certificate::value(
        Str::from_bytes(certificate),
        Str::from_bytes(key),
    ))
}

/// What a certificate for the first four arguments says: name, addresses, host names, days.
fn leaf_parameters(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<CertificateParams, Failure> {
    parameters(
        runtime,
        &text(arguments, 0),
        [any(arguments, 1), any(arguments, 2)],
        integer(arguments, 3),
    )
}

fn parameters(
    runtime: &mut dyn Runtime,
    name: &str,
    [addresses, hosts]: [&Value; 2],
    days: i64,
) -> Result<CertificateParams, Failure> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = host_names(hosts)?;
    params.subject_alt_names.extend(ip_addresses(addresses)?);
    params.distinguished_name = DistinguishedName::new();
    if !name.is_empty() {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    let mut serial = [0; 16];
    runtime.world().fill_random(&mut serial);
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    let now = runtime.world().now().seconds;
    params.not_before = moment(now)?;
    params.not_after = moment(now.saturating_add(days.saturating_mul(24 * 3600)))?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::DigitalSignature,
    ];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    Ok(params)
}

fn moment(seconds: i64) -> Result<OffsetDateTime, Failure> {
    OffsetDateTime::from_unix_timestamp(seconds)
        .map_err(|_| creation("x509: cannot represent time as GeneralizedTime"))
}

fn ip_addresses(addresses: &Value) -> Result<Vec<SanType>, Failure> {
    let addresses = items(addresses).unwrap_or_default();
    addresses
        .iter()
        .map(|address| match address {
            Value::Str(text) => text
                .text()
                .parse::<IpAddr>()
                .map(SanType::IpAddress)
                .map_err(|_| failure(format!("error parsing ip: {text}"))),
            other => Err(failure(format!(
                "error parsing ip: {} is not a string",
                steersman_gotemplate::format::print_value(other)
            ))),
        })
        .collect()
}

fn host_names(hosts: &Value) -> Result<Vec<SanType>, Failure> {
    let hosts = items(hosts).unwrap_or_default();
    hosts
        .iter()
        .map(|host| match host {
            Value::Str(text) => text
                .text()
                .into_owned()
                .try_into()
                .map(SanType::DnsName)
                .map_err(|_| creation(format!("x509: {text:?} cannot be encoded as an IA5String"))),
            other => Err(failure(format!(
                "error processing alternate dns name: {} is not a string",
                steersman_gotemplate::format::print_value(other)
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check, int, texts};

    fn field(value: &Value, name: &str) -> Value {
        let Value::Object(object) = value else {
            panic!("not an object")
        };
        object.field(name).unwrap()
    }

    fn der(certificate: &Value) -> Vec<u8> {
        certificate_in(steersman_gotemplate::format::print_value(&field(certificate, "Cert")).as_bytes())
            .unwrap()
    }

    /// Checks that the certificate is for `name` and was signed by `authority`.
    #[track_caller]
    fn verify(certificate: &Value, authority: &Value, name: &str) {
        let (certificate, authority) = (der(certificate), der(authority));
        let (_, certificate) = x509_parser::parse_x509_certificate(&certificate).unwrap();
        let (_, authority) = x509_parser::parse_x509_certificate(&authority).unwrap();
        certificate
            .verify_signature(Some(authority.public_key()))
            .unwrap();
        assert_eq!(certificate.issuer().to_string(), authority.subject().to_string());
        assert_eq!(certificate.subject().to_string(), format!("CN={name}"));
        let days = certificate.validity().not_after - certificate.validity().not_before;
        assert_eq!(days.unwrap().whole_days(), 30);
    }

    #[test]
    fn authorities_sign() {
        let authority = call("genCA", &["ca".into(), int(30)]).unwrap();
        verify(&authority, &authority, "ca");
        let arguments = [
            "cn".into(),
            texts(&["1.2.3.4"]),
            texts(&["a.b"]),
            int(30),
            authority.clone(),
        ];
        let certificate = call("genSignedCert", &arguments).unwrap();
        verify(&certificate, &authority, "cn");
        let encoded = |name| call("b64enc", &[field(&authority, name)]).unwrap();
        let custom = call("buildCustomCert", &[encoded("Cert"), encoded("Key")]).unwrap();
        verify(&certificate, &custom, "cn");
    }

    #[test]
    fn keys_of_all_kinds_can_be_given() {
        for kind in ["ecdsa", "ed25519", "rsa"] {
            let key = call("genPrivateKey", &[kind.into()]).unwrap();
            let authority = call("genCAWithKey", &["ca".into(), int(30), key.clone()]).unwrap();
            verify(&authority, &authority, "ca");
            let arguments = [
                "cn".into(),
                Value::Nil,
                Value::Nil,
                int(30),
                authority.clone(),
                key,
            ];
            verify(
                &call("genSignedCertWithKey", &arguments).unwrap(),
                &authority,
                "cn",
            );
        }
    }

    #[test]
    fn wrong_names_and_keys_are_refused() {
        let numbers = || Value::list(vec![int(1)]);
        check(
            "genSelfSignedCert",
            &["cn".into(), numbers(), Value::Nil, int(30)],
            "error: error parsing ip: 1 is not a string",
        );
        check(
            "genSelfSignedCert",
            &["cn".into(), texts(&["x"]), Value::Nil, int(30)],
            "error: error parsing ip: x",
        );
        check(
            "genSelfSignedCert",
            &["cn".into(), Value::Nil, numbers(), int(30)],
            "error: error processing alternate dns name: 1 is not a string",
        );
        check(
            "buildCustomCert",
            &["x".into(), "y".into()],
            "error: unable to decode base64 certificate",
        );
        check(
            "genCAWithKey",
            &["ca".into(), int(1), "x".into()],
            "error: parsing private key: no PEM data in input",
        );
    }
}
