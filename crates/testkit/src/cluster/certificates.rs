//! The control plane's own certificate authority, and the keys of its service accounts.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use super::error::{ControlPlaneError, io_failed};

/// Names and addresses that clients know the API server by. The last one is the first of the Service range,
/// where `kubernetes.default` lives.
const SERVER_NAMES: [&str; 5] = [
    "127.0.0.1",
    "localhost",
    "kubernetes.default",
    "kubernetes.default.svc",
    "10.0.0.1",
];

/// Signs the certificates of one control plane and keeps them in one folder.
#[derive(Debug)]
pub(super) struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Paths of a pair in PEM, for command lines of programs.
#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Authority {
    /// Makes a new authority with its certificate in `folder/ca.crt`, and the key pair that service account
    /// tokens are signed with in `service-account.key` and `service-account.pub`.
    pub(super) fn create(folder: &Path) -> Result<Self, ControlPlaneError> {
        let mut params = named("steersman-testkit", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = KeyPair::generate()
            .and_then(|key| CertifiedIssuer::self_signed(params, key))
            .map_err(failed("the authority"))?;
        let authority = Self {
            folder: folder.to_path_buf(),
            issuer,
        };
        write(&authority.certificate_file(), &authority.issuer.pem())?;
        write(&authority.key_file(), &authority.issuer.key().serialize_pem())?;

        let tokens = KeyPair::generate().map_err(failed("ServiceAccount tokens"))?;
        write(&folder.join("service-account.key"), &tokens.serialize_pem())?;
        write(&folder.join("service-account.pub"), &tokens.public_key_pem())?;
        Ok(authority)
    }

    pub(super) fn certificate_file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.folder.join("ca.key")
    }

    /// A serving certificate for the API server.
    pub(super) fn issue_server(&self) -> Result<KeyFiles, ControlPlaneError> {
        let names = SERVER_NAMES.map(str::to_owned).to_vec();
        let mut params = CertificateParams::new(names).map_err(failed("kube-apiserver"))?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue("kube-apiserver", params)
    }

    /// A client certificate: Kubernetes takes the common name as the user and the organization as its group.
    pub(super) fn issue_client(
        &self,
        file: &str,
        user: &str,
        group: Option<&str>,
    ) -> Result<KeyFiles, ControlPlaneError> {
        let mut params = named(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(file, params)
    }

    fn issue(&self, file: &str, mut params: CertificateParams) -> Result<KeyFiles, ControlPlaneError> {
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed(file))?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed(file))?;
        let files = KeyFiles {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        write(&files.certificate, &certificate.pem())?;
        write(&files.key, &key.serialize_pem())?;
        Ok(files)
    }
}

fn named(common_name: &str, organization: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    params
}

fn write(path: &Path, text: &str) -> Result<(), ControlPlaneError> {
    fs::write(path, text).map_err(io_failed("write", path))
}

fn failed(subject: &str) -> impl FnOnce(rcgen::Error) -> ControlPlaneError {
    let subject = subject.to_owned();
    move |source| ControlPlaneError::Certificate { subject, source }
}
