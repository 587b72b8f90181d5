//! The certificates that a stand-in makes for itself at start.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A certificate authority of our own, and a server certificate signed by it.
#[derive(Clone)]
pub struct SimulatorTls {
    ca_pem: String,
    ca_file: Option<PathBuf>,
    server: Arc<ServerConfig>,
    client_pem: String,
    certificates: (CertificateDer<'static>, Vec<CertificateDer<'static>>),
    key: Vec<u8>,
}

/// The certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A name is no valid subject, or a key could not be made.
    #[error("certificate could not be made")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses the certificate.
    #[error("certificate was refused")]
    Server(#[from] rustls::Error),
}

impl SimulatorTls {
    /// Makes a certificate for `127.0.0.1`, `localhost` and the given names or addresses.
    ///
    /// # Errors
    /// When a name cannot stand in a certificate.
    pub fn generate(names: &[&str]) -> Result<Self, TlsError> {
        Self::make("simulator CA", &[&["127.0.0.1", "localhost"], names].concat(), |_| ())
    }

    /// A certificate of another authority, that does not name the host that it is shown for.
    ///
    /// # Errors
    /// When the name cannot stand in a certificate.
    pub fn of_another_host(name: &str) -> Result<Self, TlsError> {
        Self::make("another CA", &[name], |_| ())
    }

    /// A certificate that has been valid, for `127.0.0.1`.
    ///
    /// # Errors
    /// When a key cannot be made.
    pub fn expired() -> Result<Self, TlsError> {
        Self::make("simulator CA", &["127.0.0.1"], |leaf| leaf.not_after = rcgen::date_time_ymd(2020, 1, 1))
    }

    /// A certificate that may sign others, as those do that grids are shipped with, for `127.0.0.1`.
    ///
    /// # Errors
    /// When a key cannot be made.
    pub fn as_shipped() -> Result<Self, TlsError> {
        Self::make("simulator CA", &["127.0.0.1"], |leaf| {
            leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)
        })
    }

    fn make(ca: &str, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Result<Self, TlsError> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.distinguished_name.push(DnType::CommonName, ca);
        let key = KeyPair::generate()?;
        let ca = authority.self_signed(&key)?;
        let ca_pem = ca.pem();
        let issuer = Issuer::new(authority, key);

        let names = names.iter().map(|name| (*name).to_owned());
        let mut leaf = CertificateParams::new(names.collect::<Vec<_>>())?;
        leaf.distinguished_name.push(DnType::CommonName, "simulator");
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut leaf);
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &issuer)?;

        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, "svc-dns");
        client.use_authority_key_identifier_extension = true;
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let client_key = KeyPair::generate()?;
        let client_pem = client.signed_by(&client_key, &issuer)?.pem() + &client_key.serialize_pem();

        let certificates = (ca.der().clone(), vec![certificate.der().clone()]);
        let key = key.serialize_der();
        let server = Arc::new(server_config(&certificates.1, &key, None, rustls::DEFAULT_VERSIONS)?);
        Ok(Self { ca_pem, ca_file: None, server, client_pem, certificates, key })
    }

    /// The same server, which lets nobody in without a certificate of the same authority.
    ///
    /// # Errors
    /// When the TLS library refuses the authority.
    pub fn requiring_client_certificates(mut self) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificates.0.clone())?;
        self.server =
            Arc::new(server_config(&self.certificates.1, &self.key, Some(roots), rustls::DEFAULT_VERSIONS)?);
        Ok(self)
    }

    /// A client's certificate and its key, signed by the same authority.
    pub fn client_pem(&self) -> &str {
        &self.client_pem
    }

    /// Writes the authority's certificate where a client can load it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_ca(mut self, path: &Path) -> io::Result<Self> {
        std::fs::write(path, &self.ca_pem)?;
        self.ca_file = Some(path.to_owned());
        Ok(self)
    }

    /// The authority's certificate.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Where the authority's certificate was written, if it was.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// The same, for one version of TLS only.
    ///
    /// # Errors
    /// When the TLS library refuses the certificate.
    pub fn server_config_for(
        &self,
        version: &'static SupportedProtocolVersion,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        Ok(Arc::new(server_config(&self.certificates.1, &self.key, None, &[version])?))
    }

    /// For a test that speaks TLS by itself.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }
}

/// With roots, clients must show a certificate that leads to one of them.
fn server_config(
    chain: &[CertificateDer<'static>],
    key: &[u8],
    clients: Option<RootCertStore>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.to_vec()));
    let verifier = match clients {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(roots) => {
            let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            builder.build().map_err(|error| rustls::Error::General(error.to_string()))?
        }
    };
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.to_vec(), private)?;
    // The WAPI speaks HTTP/1.1; no HTTP/2 has been seen.
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

impl std::fmt::Debug for SimulatorTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatorTls").field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}
