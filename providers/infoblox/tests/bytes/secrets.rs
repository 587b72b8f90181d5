//! A server that repeats what it was sent: neither the credential nor the session is ever told.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gslb_provider_contract::battery::scope;
use gslb_provider_contract::{Observe, Provider};
use gslb_provider_infoblox::Infoblox;
use tracing::level_filters::LevelFilter;

use crate::http::{ByteServer, Request, Script, json, reply};
use crate::stage::{BASIC, FOUND, PASSWORD, assert_presentable, change, grid_but, provider};

const COOKIE: &str = "ip=192.0.2.7,client=API,group=ops,ctime=1,timeout=600,user=svc-dns,4d1e8a0b";

/// The whole request, and the credential in the clear, in every form in which something of a reply is quoted.
fn echoes(request: &Request) -> Vec<(u16, &'static str, String)> {
    let said = format!("{PASSWORD} {} {}", request.head.replace("\r\n", " "), request.body);
    let text = serde_json::to_string(&said).unwrap();
    vec![
        (200, "text/plain", format!("debug: {said}")),
        (200, "application/json", text.clone()),
        (200, "application/json", format!("[{text}]")),
        (200, "application/json", format!(r#"[{{"_ref": "r", "fqdn": {text}, "view": "default"}}]"#)),
        (
            200,
            "application/json",
            format!(
                r#"[{{"_ref": "r", "fqdn": "cloud.example.com", "view": "default", "delegate_to": [{{"name": {text}, "address": "192.0.2.1"}}]}}]"#
            ),
        ),
        (200, "text/html", format!(r#"<meta http-equiv="refresh" content="0; url=https://x/?{said}">"#)),
        (
            400,
            "application/json",
            format!(r#"{{"Error": "e", "code": "Client.Ibap.Data.Conflict", "text": {text}}}"#),
        ),
        (404, "application/json", format!(r#"{{"Error": {text}, "code": "Client.Ibap.Data.NotFound"}}"#)),
        (400, "text/plain", format!("Version {said} not supported")),
        (500, "text/html", format!("<pre>{said}</pre>")),
    ]
}

fn echo(form: usize) -> impl Fn(&Request) -> Script + Send + 'static {
    move |request| {
        let (status, kind, body) = echoes(request).swap_remove(form);
        Script::Bytes(reply(status, kind, body.as_bytes()))
    }
}

fn forms() -> usize {
    echoes(&Request { head: String::new(), body: String::new() }).len()
}

fn fresh(server: &ByteServer) -> Infoblox {
    provider(server, Duration::from_secs(5))
}

#[tokio::test]
async fn a_server_that_repeats_the_credential_gets_it_into_no_error() {
    let server = ByteServer::start();
    for form in 0..forms() {
        server.answer(echo(form));
        assert_presentable(&fresh(&server).observe(&scope()).await.unwrap_err());
        assert_presentable_or_fine(fresh(&server).service().await.map(|told| format!("{told:?}")));
    }
}

#[tokio::test]
async fn one_that_repeats_the_session_cookie_gets_it_into_no_error_either() {
    let server = ByteServer::start();
    for form in 0..forms() {
        let provider = fresh(&server);
        server.answer(|_| {
            let set = format!("HTTP/1.1 200 OK\r\nSet-Cookie: ibapauth=\"{COOKIE}\"; httponly; path=/\r\n");
            let head = format!("{set}Content-Length: {}\r\n\r\n{FOUND}", FOUND.len());
            Script::Bytes(head.into_bytes())
        });
        let found = provider.observe(&scope()).await.unwrap();
        server.answer(echo(form));
        let failed = provider.observe(&scope()).await.unwrap_err();
        assert_presentable(&failed);
        let change = change(&found);
        server.answer(|_| json(FOUND));
        provider.observe(&scope()).await.unwrap();
        let write = echo(form);
        server.answer(move |request| match request.head.starts_with("POST") {
            true => write(request),
            false => grid_but(true, json("[]"))(request),
        });
        let failed = provider.apply(&change).await.unwrap_err();
        assert_presentable(&failed);
    }
}

fn assert_presentable_or_fine(outcome: Result<String, gslb_provider_contract::ProviderError>) {
    match outcome {
        Ok(told) => assert!(!told.contains(PASSWORD) && !told.contains(BASIC), "{told}"),
        Err(failed) => assert_presentable(&failed),
    }
}

/// Takes every line of every level.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_line_of_any_level_of_any_library_holds_credential_or_cookie() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // For the whole process: a callsite that another test's thread meets first would be off for good in this one.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = ByteServer::start();
    for form in 0..forms() {
        let provider = fresh(&server);
        server.answer(|_| {
            let set = format!("HTTP/1.1 200 OK\r\nSet-Cookie: ibapauth=\"{COOKIE}\"; httponly; path=/\r\n");
            Script::Bytes(format!("{set}Content-Length: {}\r\n\r\n{FOUND}", FOUND.len()).into_bytes())
        });
        provider.observe(&scope()).await.unwrap();
        server.answer(echo(form));
        provider.observe(&scope()).await.unwrap_err();
        drop((provider.restart().await, provider.close().await));
    }
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("Called WAPI."), "lines are captured: {text}");
    for secret in [PASSWORD, BASIC, "4d1e8a0b"] {
        assert!(
            !text.contains(secret),
            "{secret} in {}",
            &text[text.find(secret).unwrap_or(0).saturating_sub(300)..]
        );
    }
}
