//! HTTPS_PROXY and NO_PROXY on the way to the Kubernetes API: heard, and never told with their password.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::process::Output;

use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;

const PASSWORD: &str = "pr0xyS3c";

struct Cluster {
    files: TempDir,
    running: Running,
}

impl Cluster {
    async fn start() -> Self {
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        let running = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
        let files = TempDir::new().unwrap();
        let config = kubeconfig([("eu", running.url().as_str())]);
        std::fs::write(files.path().join("kubeconfig"), config).unwrap();
        Self { files, running }
    }

    /// Exit code, and everything that was said.
    async fn changes(&self, proxy: &str, no_proxy: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.args(["changes", "list", "--kubeconfig"]).arg(self.files.path().join("kubeconfig"));
        command.env_remove("https_proxy").env_remove("no_proxy");
        command.env("HTTPS_PROXY", proxy).env("NO_PROXY", no_proxy);
        let Output { status, stdout, stderr } = command.output().await.unwrap();
        (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
    }
}

#[tokio::test]
async fn an_api_that_no_proxy_names_is_asked_without_the_proxy() {
    let cluster = Cluster::start().await;
    // Nothing listens there.
    let proxy = format!("http://svc:{PASSWORD}@127.0.0.1:1");
    for no_proxy in ["127.0.0.1", "example.com,127.0.0.0/8", "*"] {
        let (code, said) = cluster.changes(&proxy, no_proxy).await;
        assert_eq!(code, 0, "{no_proxy}: {said}");
    }
}

#[tokio::test]
async fn any_other_api_is_asked_through_the_proxy() {
    let cluster = Cluster::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    // Also without a scheme, as for the grid.
    let address = listener.local_addr().unwrap();
    for url in [format!("http://svc:{PASSWORD}@{address}"), format!("svc:{PASSWORD}@{address}")] {
        let proxy = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let length = connection.read(&mut request).await.unwrap();
            connection.write_all(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        };
        let (asked, (code, said)) = tokio::join!(proxy, cluster.changes(&url, ""));
        let api = cluster.running.addr();
        assert!(asked.starts_with(&format!("CONNECT {api} ")), "{asked}");
        assert!(asked.to_ascii_lowercase().contains("proxy-authorization: basic "), "{asked}");
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("proxy authorization required") && !said.contains(PASSWORD), "{said}");
    }
}

#[tokio::test]
async fn a_proxy_of_another_kind_is_refused_without_its_password() {
    let cluster = Cluster::start().await;
    let (code, said) = cluster.changes(&format!("socks5://svc:{PASSWORD}@127.0.0.1:1"), "").await;
    assert_eq!(
        (code, said.as_str()),
        (
            78,
            "gslb-bridge: cannot use the kubeconfig: the proxy socks5://***@127.0.0.1:1/ is no HTTP proxy, and the Kubernetes API is asked through no other; correct HTTPS_PROXY or the kubeconfig, or name the API's host in NO_PROXY\n"
        )
    );
}
