//! TLS between processes: both sides present certificates of the same authority.
//!
//! A certificate is for the cluster, not for a machine: it must have the name [`Tls::NAME`], and
//! all processes may use the same one. Other certificates of the authority are refused by their
//! names.

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

/// Why a file for TLS cannot be used.
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
    /// The name that certificates must have.
    pub const NAME: &'static str = "isvd-dist";

    /// From a certificate chain, its key, and the certificate of the authority, as PEM. A
    /// certificate that other processes would refuse is an error.
    pub fn new(certificate: &[u8], key: &[u8], authority: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate).map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for root in certificates(authority).map_err(TlsError::Authority)? {
            roots.add(root).map_err(|error| TlsError::Authority(error.to_string()))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let not_trusted = |error: &dyn fmt::Display| TlsError::Authority(error.to_string());
        let verifies_answerers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| not_trusted(&error))?;
        let verifies_callers = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| not_trusted(&error))?;

        let (own, others, now) = (&chain[0], &chain[1..], UnixTime::now());
        verifies_answerers
            .verify_server_cert(own, others, &name(), &[], now)
            .map(drop)
            .and_then(|()| verifies_callers.verify_client_cert(own, others, now).map(drop))
            .map_err(|error| TlsError::Certificate(explained(&error)))?;

        let unfit = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::Key("it is not the key of the certificate".to_owned()),
            other => TlsError::Key(other.to_string()),
        };
        let versions = [&TLS13];
        let mut calling = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(unfit)?
            .with_webpki_verifier(verifies_answerers)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(unfit)?;
        let mut answering = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(unfit)?
            .with_client_cert_verifier(verifies_callers)
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
        .map_err(tls_error)?;
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(stream) {
                // Sends the reason to the other side.
                while connection.wants_write() && connection.write_tls(stream).is_ok_and(|sent| sent > 0) {}
                return Err(handshake_error(error));
            }
        }
        if role == Role::Answerer {
            // The name of an answerer is verified in the handshake.
            let certificate = connection.peer_certificates().and_then(<[_]>::first);
            let certificate = certificate.ok_or(rustls::Error::NoCertificatesPresented).map_err(tls_error)?;
            ParsedCertificate::try_from(certificate)
                .and_then(|parsed| verify_server_name(&parsed, &name()))
                .map_err(tls_error)?;
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
    if found.is_empty() { Err("it contains no certificate".to_owned()) } else { Ok(found) }
}

/// Explains a failed TLS handshake.
fn handshake_error(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
        return io::Error::other("it closed the connection during the TLS handshake: does it use TLS, too?");
    }
    match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
        Some(error) => io::Error::other(explained(error)),
        None => error,
    }
}

/// A TLS error as an I/O error.
pub(super) fn tls_error(error: rustls::Error) -> io::Error {
    io::Error::other(explained(&error))
}

fn explained(error: &rustls::Error) -> String {
    use AlertDescription as Alert;
    use CertificateError as Wrong;
    match error {
        rustls::Error::InvalidCertificate(wrong) => match wrong {
            Wrong::UnknownIssuer | Wrong::BadSignature => {
                "its certificate is not signed by the authority that this process trusts".to_owned()
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
            "it does not use TLS, and this process does".to_owned()
        }
        other => format!("TLS with it failed: {other}"),
    }
}
