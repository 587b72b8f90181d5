//! A server that wants another handshake after the request, as Apache does for a client certificate of some paths only.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gslb_mocks::wapi::SimulatorTls;
use gslb_provider_contract::battery::scope;
use gslb_provider_contract::{Observe, ProviderError};
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::{
    ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig, ServerConnection, StreamOwned,
    SupportedCipherSuite,
};

use crate::stage::provider_at;

/// RFC 5246 §7.4.1.1: HelloRequest.
const HELLO_REQUEST: (ContentType, &[u8]) = (ContentType::Handshake, &[0, 0, 0, 0]);
/// RFC 5246 §7.2: fatal, handshake_failure. What OpenSSL ends the connection with if nobody renegotiates.
const HANDSHAKE_FAILURE: (ContentType, &[u8]) = (ContentType::Alert, &[2, 40]);
/// RFC 8446 §4.3.2: CertificateRequest with an empty context and the extension signature_algorithms.
const CERTIFICATE_REQUEST: (ContentType, &[u8]) =
    (ContentType::Handshake, &[13, 0, 0, 11, 0, 0, 8, 0, 13, 0, 4, 0, 2, 8, 4]);

/// Reads a request, then sends these messages under the keys of the connection.
fn after_the_request(
    version: &'static rustls::SupportedProtocolVersion,
    messages: &'static [(ContentType, &'static [u8])],
) -> (SimulatorTls, u16) {
    let tls = SimulatorTls::generate(&[]).unwrap();
    let mut config = ServerConfig::clone(&tls.server_config_for(version).unwrap());
    config.enable_secret_extraction = true;
    config.send_tls13_tickets = 0;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        // As many as a read is tried.
        for stream in listener.incoming().take(3) {
            let mut stream =
                StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream.unwrap());
            let read = stream.read(&mut [0; 8192]).unwrap();
            assert!(read > 0);
            let (connection, mut socket) = stream.into_parts();
            let version = connection.protocol_version().unwrap();
            let suite = connection.negotiated_cipher_suite().unwrap();
            let (sequence, secrets) = connection.dangerous_extract_secrets().unwrap().tx;
            let mut encrypter = encrypter(suite, secrets);
            for (number, (typ, payload)) in (sequence..).zip(messages) {
                socket.write_all(&record(&mut *encrypter, version, *typ, payload, number)).unwrap();
            }
            // Until the client has ended it.
            drop(socket.read_to_end(&mut vec![]));
        }
    });
    (tls, port)
}

fn encrypter(suite: SupportedCipherSuite, secrets: ConnectionTrafficSecrets) -> Box<dyn MessageEncrypter> {
    let (key, iv) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } | ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            (key, iv)
        }
        _ => panic!("ring prefers AES here"),
    };
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            suite.aead_alg.encrypter(key, &iv.as_ref()[..4], &iv.as_ref()[4..])
        }
        SupportedCipherSuite::Tls13(suite) => suite.aead_alg.encrypter(key, iv),
    }
}

fn record(
    encrypter: &mut dyn MessageEncrypter,
    version: ProtocolVersion,
    typ: ContentType,
    payload: &[u8],
    number: u64,
) -> Vec<u8> {
    let plain = OutboundPlainMessage { typ, version, payload: OutboundChunks::Single(payload) };
    encrypter.encrypt(plain, number).unwrap().encode()
}

#[tokio::test]
async fn a_server_that_wants_another_handshake_is_told_by_a_sentence_of_its_own() {
    let cases = [
        (&rustls::version::TLS12, &[HELLO_REQUEST, HANDSHAKE_FAILURE][..]),
        (&rustls::version::TLS12, &[HELLO_REQUEST, HELLO_REQUEST]),
        (&rustls::version::TLS13, &[CERTIFICATE_REQUEST]),
    ];
    for (version, messages) in cases {
        let (tls, port) = after_the_request(version, messages);
        let failed = provider_at(port, &tls, Duration::from_secs(5)).observe(&scope()).await.unwrap_err();
        assert!(matches!(failed, ProviderError::Misconfigured { .. }), "{failed:?}");
        assert_eq!(
            failed.to_string(),
            "Infoblox at 127.0.0.1 asks for another TLS handshake after the first one, as servers do that want a client certificate for some paths only; that is never done, so have it ask in the first handshake, and set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE"
        );
    }
}
