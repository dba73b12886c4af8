//! TLS between processes: both sides present certificates of one authority before the handshake.
//!
//! A certificate is for the cluster, not for a machine: it must bear [`Tls::NAME`], and all
//! processes may use the same one. Machines need no names in certificates, and an authority that
//! also signs others lets none of them in.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig,
    ServerConnection,
};

use super::hello::Role;

/// The certificate of this process, and the authority it trusts.
#[derive(Clone)]
pub struct Tls {
    calling: Arc<ClientConfig>,
    answering: Arc<ServerConfig>,
}

/// Which of the files for TLS cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate.
    #[error("{0}")]
    Certificate(String),
    /// The key of the certificate.
    #[error("{0}")]
    Key(String),
    /// The certificate of the authority.
    #[error("{0}")]
    Authority(String),
}

impl Tls {
    /// What certificates must be for.
    pub const NAME: &'static str = "isvd-dist";

    /// From a certificate chain, its key, and the authority's certificate, as PEM. What other
    /// processes would refuse is an error here.
    pub fn new(certificate: &[u8], key: &[u8], authority: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate).map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for root in certificates(authority).map_err(TlsError::Authority)? {
            roots.add(root).map_err(|error| TlsError::Authority(error.to_string()))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let not_believed = |error: &dyn fmt::Display| TlsError::Authority(error.to_string());
        let believes_answerers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| not_believed(&error))?;
        let believes_callers = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| not_believed(&error))?;

        let (own, others, now) = (&chain[0], &chain[1..], UnixTime::now());
        believes_answerers
            .verify_server_cert(own, others, &name(), &[], now)
            .map(drop)
            .and_then(|()| believes_callers.verify_client_cert(own, others, now).map(drop))
            .map_err(|error| TlsError::Certificate(explained(&error)))?;

        let unfit = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::Key("it is not the key of the certificate".to_owned()),
            other => TlsError::Key(other.to_string()),
        };
        let versions = [&TLS13];
        let mut calling = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(unfit)?
            .with_webpki_verifier(believes_answerers)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(unfit)?;
        let mut answering = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(unfit)?
            .with_client_cert_verifier(believes_callers)
            .with_single_cert(chain, key)
            .map_err(unfit)?;
        // No session is resumed.
        calling.resumption = Resumption::disabled();
        answering.send_tls13_tickets = 0;
        Ok(Self { calling: Arc::new(calling), answering: Arc::new(answering) })
    }

    /// Performs the TLS handshake, and verifies the certificate of the other side.
    pub(super) fn agree(&self, role: Role, stream: &mut (impl Read + Write)) -> io::Result<Connection> {
        let mut connection: Connection = match role {
            Role::Caller => ClientConnection::new(self.calling.clone(), name()).map(Into::into),
            Role::Answerer => ServerConnection::new(self.answering.clone()).map(Into::into),
        }
        .map_err(told)?;
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(stream) {
                // Tells the other side why, if it listens.
                while connection.wants_write() && connection.write_tls(stream).is_ok_and(|sent| sent > 0) {}
                return Err(in_words(error));
            }
        }
        if role == Role::Answerer {
            // The name of an answerer is verified in the handshake.
            let shown = connection.peer_certificates().and_then(<[_]>::first);
            let shown = shown.ok_or(rustls::Error::NoCertificatesPresented).map_err(told)?;
            ParsedCertificate::try_from(shown).and_then(|shown| verify_server_name(&shown, &name())).map_err(told)?;
        }
        Ok(connection)
    }
}

impl Debug for Tls {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(not shown)")
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.calling, &other.calling)
    }
}

impl Eq for Tls {}

fn name() -> ServerName<'static> {
    ServerName::try_from(Tls::NAME).expect("it is a name")
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found =
        CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if found.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(found) }
}

/// Explains a failed TLS handshake.
fn in_words(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
        return io::Error::other("it hung up when it was to agree on TLS: does it use TLS, too?");
    }
    match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
        Some(error) => io::Error::other(explained(error)),
        None => error,
    }
}

/// A TLS error as an I/O error.
pub(super) fn told(error: rustls::Error) -> io::Error {
    io::Error::other(explained(&error))
}

fn explained(error: &rustls::Error) -> String {
    use AlertDescription as Alert;
    use CertificateError as Wrong;
    match error {
        rustls::Error::InvalidCertificate(wrong) => match wrong {
            Wrong::UnknownIssuer | Wrong::BadSignature => {
                "its certificate is not signed by the authority that this process believes".to_owned()
            }
            Wrong::Expired | Wrong::ExpiredContext { .. } => "its certificate has expired".to_owned(),
            Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => "its certificate is not valid yet".to_owned(),
            Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
                format!("its certificate is not for the name {}", Tls::NAME)
            }
            other => format!("its certificate cannot be used: {other}"),
        },
        rustls::Error::NoCertificatesPresented => "it has no certificate".to_owned(),
        rustls::Error::AlertReceived(alert) => match alert {
            Alert::UnknownCA | Alert::DecryptError | Alert::BadCertificate => {
                "it refused the certificate of this process: is it signed by the same authority?".to_owned()
            }
            Alert::CertificateExpired => "it refused the certificate of this process, which has expired".to_owned(),
            other => format!("it refused TLS with this process: {other:?}"),
        },
        rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. } => {
            "it does not speak TLS, and this process does".to_owned()
        }
        other => format!("TLS with it failed: {other}"),
    }
}
