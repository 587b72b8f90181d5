//! The proxy that the environment names is used for the grid, end to end: the built program, a proxy on loopback that
//! only knows `CONNECT`, and the simulated grid over verified TLS behind it.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::net::{SocketAddr, TcpListener};
use std::process::Output;
use std::sync::{Arc, Mutex};

use gslb_mocks::wapi::{Grid, HttpServer, SimulatorTls};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::process::Command;

/// Of the account at the proxy.
const PASSWORD: &str = "pr0xy-s3cret";
/// `someone:pr0xy-s3cret`.
const BASIC: &str = "c29tZW9uZTpwcjB4eS1zM2NyZXQ=";

/// The heads of all requests that came to it.
type Heads = Arc<Mutex<Vec<String>>>;

/// A proxy that connects, or refuses with this status.
fn proxy(refuses: Option<&'static str>) -> (SocketAddr, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Heads::default();
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(tunnel(stream, refuses, Arc::clone(&noted)));
        }
    });
    (address, heads)
}

async fn tunnel(stream: TcpStream, refuses: Option<&str>, noted: Heads) {
    let mut client = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(client.read_line(&mut head).await.unwrap() > 0, "{head}");
    }
    let target = head.split(' ').nth(1).unwrap().to_owned();
    noted.lock().unwrap().push(head);
    if let Some(status) = refuses {
        let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        client.write_all(reply.as_bytes()).await.unwrap();
        return;
    }
    let mut grid = TcpStream::connect(target).await.unwrap();
    client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
    // Either side may end it as it likes.
    drop(copy_bidirectional(&mut client, &mut grid).await);
}

struct Behind {
    grid: Grid,
    server: HttpServer,
    folder: TempDir,
}

fn grid() -> Behind {
    let grid =
        Grid::builder().username("svc-dns").password("s3cret-grid").zone_auth("example.com", "default");
    let grid = grid.build().unwrap();
    let zone = json!({"fqdn": "cloud.example.com",
        "delegate_to": [{"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"}]});
    grid.edit(|admin| admin.create("zone_delegated", zone)).unwrap();
    let folder = TempDir::new().unwrap();
    let tls = SimulatorTls::generate(&[]).unwrap().write_ca(&folder.path().join("ca.pem")).unwrap();
    let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
    Behind { grid, server, folder }
}

impl Behind {
    /// What the program says on both streams while it reads from the grid, with every line that it has to log.
    async fn read_with(&self, environment: &[(&str, &str)]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("record").arg(self.folder.path().join("recording")).env_clear().envs([
            ("CLUSTER_GEO_TAG", "eu"),
            ("EDGE_DNS_SERVERS", "127.0.0.1"),
            ("DNS_ZONES", "example.com:cloud.example.com:30"),
            ("INFOBLOX_GRID_HOST", "127.0.0.1"),
            ("INFOBLOX_WAPI_USERNAME", "svc-dns"),
            ("INFOBLOX_WAPI_PASSWORD", "s3cret-grid"),
            ("LOG_LEVEL", "trace"),
        ]);
        command.env("INFOBLOX_WAPI_PORT", self.server.address().port().to_string());
        command.env("INFOBLOX_CA_FILE", self.folder.path().join("ca.pem")).envs(environment.iter().copied());
        let Output { status, stdout, stderr } = command.output().await.unwrap();
        let said = String::from_utf8([stdout, stderr].concat()).unwrap();
        for secret in [PASSWORD, BASIC, "s3cret-grid"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
        (status.code().unwrap(), said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_of_the_environment_is_asked_to_connect_and_sees_no_request() {
    for name in ["HTTPS_PROXY", "https_proxy"] {
        let behind = grid();
        let (address, heads) = proxy(None);
        let (code, said) = behind.read_with(&[(name, &format!("http://someone:{PASSWORD}@{address}"))]).await;
        assert_eq!(code, 0, "{said}");
        let heads = heads.lock().unwrap().clone();
        let connect = format!("CONNECT {} HTTP/1.1\r\n", behind.server.address());
        assert!(!heads.is_empty() && heads.iter().all(|head| head.starts_with(&connect)), "{heads:?}");
        assert!(heads.iter().all(|head| head.contains(&format!("Basic {BASIC}"))), "{heads:?}");
        assert!(!heads.concat().contains("/wapi/"), "{heads:?}");
        assert!(behind.grid.journal().count(|entry| entry.uri.contains("zone_delegated")) > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grid_that_no_proxy_lists_is_asked_without_it() {
    for (name, value) in [("NO_PROXY", "127.0.0.1"), ("no_proxy", "127.0.0.0/8"), ("NO_PROXY", "*")] {
        let behind = grid();
        let (address, heads) = proxy(None);
        // A single star stands for every host name, but for no address.
        let host = if value == "*" { "localhost" } else { "127.0.0.1" };
        let proxy = format!("http://{address}");
        let (code, said) =
            behind.read_with(&[("HTTPS_PROXY", &proxy), (name, value), ("INFOBLOX_GRID_HOST", host)]).await;
        assert_eq!(code, 0, "{said}");
        assert_eq!(*heads.lock().unwrap(), Vec::<String>::new(), "{name}={value}");
        assert!(behind.grid.journal().count(|entry| entry.uri.contains("zone_delegated")) > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_is_told_apart_from_a_grid_that_is_away() {
    let cases = [
        (
            "407 Proxy Authentication Required",
            "the proxy on the way to Infoblox at 127.0.0.1 asks for a user name and a password, or refuses those it has (HTTP 407)",
        ),
        (
            "403 Forbidden",
            "Infoblox at 127.0.0.1 is unavailable: the proxy of HTTPS_PROXY does not connect to it",
        ),
    ];
    for (status, words) in cases {
        let behind = grid();
        let (address, _) = proxy(Some(status));
        let (code, said) =
            behind.read_with(&[("HTTPS_PROXY", &format!("http://someone:{PASSWORD}@{address}"))]).await;
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(words), "{said}");
        assert_eq!(behind.grid.journal().entries(), []);
    }
}
