//! The files for TLS between processes.

use std::path::{Path, PathBuf};

use clap::Args;

use super::ClusterError;
use super::secret::is_open;
use crate::dataset::format::read_short;
use crate::engine::mesh::{Tls, TlsError};

/// The most bytes of a PEM file: a bundle of all public authorities has a quarter of that.
const LONGEST: usize = 1 << 20;

/// The files for TLS: all of them, or none.
#[derive(Debug, Clone, Args)]
pub struct TlsArguments {
    /// Encrypt all that processes say: the certificate of this one, for the name isvd-dist (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"], hide_short_help = true)]
    pub tls_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,

    /// The certificate of the authority that signs those of all processes (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    pub tls_ca: Option<PathBuf>,
}

impl TlsArguments {
    /// What the files hold, if there are any.
    pub(super) fn read(&self) -> Result<Option<Tls>, ClusterError> {
        let (Some(certificate), Some(key), Some(authority)) = (&self.tls_cert, &self.tls_key, &self.tls_ca) else {
            return Ok(None);
        };
        let read = |path: &Path| {
            read_short(path, LONGEST).map_err(|source| ClusterError::Unreadable { path: path.into(), source })
        };
        let pem = [read(certificate)?, read(key)?, read(authority)?];
        if is_open(key).map_err(|source| ClusterError::Unreadable { path: key.clone(), source })? {
            return Err(ClusterError::OpenSecret { path: key.clone() });
        }
        Tls::new(&pem[0], &pem[1], &pem[2]).map(Some).map_err(|source| {
            let (option, path) = match source {
                TlsError::Key(_) => ("--tls-key", key),
                TlsError::Authority(_) => ("--tls-ca", authority),
                _ => ("--tls-cert", certificate),
            };
            ClusterError::Tls { option, path: path.clone(), source }
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// Catches a file that is read to an end that it does not have, in the place of any of the
    /// three.
    #[test]
    fn a_device_without_an_end_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for place in 0..3 {
            let mut paths = [(); 3].map(|()| Some(file.path().to_owned()));
            paths[place] = Some("/dev/zero".into());
            let [tls_cert, tls_key, tls_ca] = paths;
            let error = TlsArguments { tls_cert, tls_key, tls_ca }.read().unwrap_err();
            let ClusterError::Unreadable { path, source } = error else { panic!("{error:?}") };
            assert_eq!((path, source.kind()), ("/dev/zero".into(), ErrorKind::FileTooLarge));
        }
    }
}
