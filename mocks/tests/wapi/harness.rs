//! A running grid, and a client of it.

use gslb_mocks::wapi::{Grid, GridBuilder, HttpServer, RestartMode, SimulatorTls};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use std::net::TcpListener;

pub(crate) const USER: &str = "svc-dns";
pub(crate) const PASSWORD: &str = "secret";

/// A grid that serves `example.com`, and the client's way to it.
pub(crate) struct Bench {
    pub(crate) grid: Grid,
    pub(crate) client: Client,
    pub(crate) base: String,
    _server: HttpServer,
}

/// A reply with its body read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) set_cookie: Option<String>,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The status, and the `code` and `text` of a refusal.
    pub(crate) fn refusal(&self) -> (u16, String, String) {
        let body = self.json();
        let member = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), member("code"), member("text"))
    }
}

/// A refusal as [`Reply::refusal`] gives it.
pub(crate) fn refusal(status: u16, code: &str, text: &str) -> (u16, String, String) {
    (status, format!("Client.Ibap.{code}"), text.to_owned())
}

pub(crate) fn builder() -> GridBuilder {
    Grid::builder()
        .username(USER)
        .password(PASSWORD)
        .view("internal")
        .zone_auth("example.com", "default")
        .zone_auth("example.com", "internal")
        .attribute("Owner")
        .restart(RestartMode::Manual)
}

pub(crate) fn bench() -> Bench {
    Bench::of(builder().build().unwrap())
}

impl Bench {
    pub(crate) fn of(grid: Grid) -> Self {
        let tls = SimulatorTls::generate(&["gm.example.com"]).unwrap();
        let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
        let client = client(&tls);
        let base = format!("{}/wapi/v2.12.3", server.url());
        Self { grid, client, base, _server: server }
    }

    /// A request with Basic credentials; the path is used as it is.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let mut request =
            self.client.request(method, format!("{}/{path}", self.base)).basic_auth(USER, Some(PASSWORD));
        if let Some(body) = body {
            request = request.json(&body);
        }
        read(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }

    /// Creates an object and returns its reference.
    pub(crate) async fn created(&self, type_name: &str, body: Value) -> String {
        let reply = self.post(type_name, body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json().as_str().unwrap().to_owned()
    }

    /// Creates the delegation that most tests use.
    pub(crate) async fn delegated(&self) -> String {
        self.created("zone_delegated", delegation("gslb.example.com")).await
    }
}

pub(crate) fn delegation(fqdn: &str) -> Value {
    json!({"fqdn": fqdn, "view": "default", "delegate_to": [server("ns-eu.example.net", "192.0.2.53")]})
}

pub(crate) fn server(name: &str, address: &str) -> Value {
    json!({"name": name, "address": address})
}

/// A client that trusts only the simulator's authority.
pub(crate) fn client(tls: &SimulatorTls) -> Client {
    // Another test of this process may have been first.
    rustls::crypto::ring::default_provider().install_default().ok();
    let ca = reqwest::Certificate::from_pem(tls.ca_pem().as_bytes()).unwrap();
    Client::builder().tls_certs_only([ca]).user_agent("wapi-test/1").no_proxy().build().unwrap()
}

pub(crate) async fn read(response: reqwest::Response) -> Reply {
    let header = |name| Some(response.headers().get(name)?.to_str().unwrap().to_owned());
    let content_type = header("content-type").unwrap_or_default();
    let set_cookie = header("set-cookie");
    Reply { status: response.status(), content_type, set_cookie, text: response.text().await.unwrap() }
}
