//! Certificates for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// The defect of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    Expired,
    OtherName,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Writes a certificate, its key, and the certificate of the authority into a folder. Returns
    /// the options that name them.
    pub fn issue(&self, folder: &Path, flaw: Flaw) -> Vec<String> {
        fs::create_dir_all(folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let name = if flaw == Flaw::OtherName { "elsewhere" } else { "isvd-dist" };
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if flaw == Flaw::Expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |option: &str, content: &str| {
            let path = folder.join(format!("{option}.pem"));
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            format!("--tls-{option}={}", path.display())
        };
        vec![write("cert", &certificate.pem()), write("key", &key.serialize_pem()), write("ca", &self.pem)]
    }
}
