use std::net::SocketAddr;
use std::pin::Pin;

use futures::{Stream, StreamExt};
use gslb_mocks::kube::{ApiServer, Matcher, Running};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Error, Event, watcher};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::*;
use crate::watch_retry::Pauses;

const PATIENCE: Duration = Duration::from_secs(30);
/// The bound of these tests: the rule is the same, and nobody has 45 s.
const SHORT: Duration = Duration::from_millis(300);

/// A proxy that can stop to pass on what it takes. What it swallowed once is broken for good.
struct Proxy {
    address: SocketAddr,
    swallows: watch::Sender<bool>,
}

impl Proxy {
    async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (swallows, swallowing) = watch::channel(false);
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (near_reads, near_writes) = near.into_split();
                let (far_reads, far_writes) = TcpStream::connect(server).await.unwrap().into_split();
                tokio::spawn(pump(near_reads, far_writes, swallowing.clone()));
                tokio::spawn(pump(far_reads, near_writes, swallowing.clone()));
            }
        });
        Self { address, swallows }
    }

    fn swallow(&self, on: bool) {
        self.swallows.send_replace(on);
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    swallowing: watch::Receiver<bool>,
) {
    let (mut buffer, mut broken) = ([0; 4096], false);
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        broken |= *swallowing.borrow();
        if !broken && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<Event<ConfigMap>, Error>>>>;

struct World {
    api: ApiServer,
    proxy: Proxy,
    events: Events,
    _running: Running,
}

async fn world() -> World {
    let api = ApiServer::builder().build();
    let running = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let proxy = Proxy::to(running.addr()).await;
    let config = Config::new(format!("http://{}", proxy.address).parse().unwrap());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client_with(config, SHORT).unwrap());
    let events = watcher(config_maps, watching()).backoff(Pauses::up_to(SHORT)).boxed();
    World { api, proxy, events, _running: running }
}

impl World {
    /// Follows the watch until an event of it is looked for.
    async fn until(&mut self, what: &str, fits: impl Fn(&Result<Event<ConfigMap>, Error>) -> bool) {
        let looked_for = async { while !fits(&self.events.next().await.expect("a watch never ends")) {} };
        tokio::time::timeout(PATIENCE, looked_for).await.unwrap_or_else(|_| panic!("not in time: {what}"));
    }

    fn create(&self, name: &str) {
        let metadata = json!({"name": name, "namespace": "default"});
        self.api.put_object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
    }
}

fn is_listed(event: &Result<Event<ConfigMap>, Error>) -> bool {
    matches!(event, Ok(Event::InitDone))
}

#[tokio::test]
async fn a_watch_whose_bytes_are_swallowed_is_told_and_goes_on_when_they_come_again() {
    let mut world = world().await;
    world.until("a list", is_listed).await;
    world.proxy.swallow(true);
    world.create("unheard");
    // The watch that runs, and then one that gets no answer at all.
    world.until("the watch is told", Result::is_err).await;
    world.until("the next try is told", Result::is_err).await;
    world.proxy.swallow(false);
    let is_unheard = |object: &ConfigMap| object.name_any() == "unheard";
    world.until("the change", |event| matches!(event, Ok(Event::Apply(object)) if is_unheard(object))).await;
}

#[tokio::test]
async fn a_list_that_is_never_answered_is_told_and_made_again() {
    let mut world = world().await;
    world.proxy.swallow(true);
    world.until("it is told", |event| matches!(event, Err(Error::InitialListFailed(_)))).await;
    world.proxy.swallow(false);
    world.until("a list", is_listed).await;
}

/// A client that tries again by itself says nothing for minutes.
#[tokio::test]
async fn an_api_server_that_is_not_available_is_told_at_once() {
    for code in [429, 503, 504] {
        let mut world = world().await;
        world.api.faults().fail(Matcher::new("list", "", "configmaps"), code, 1);
        let is_told = |event: &_| match event {
            Err(Error::InitialListFailed(kube::Error::Api(status))) => status.code == code,
            _ => false,
        };
        world.until("it is told", is_told).await;
        world.until("a list", is_listed).await;
    }
}

#[test]
fn a_calm_watch_is_ended_by_the_server_before_it_counts_as_silent() {
    assert!(Duration::from_secs(WATCH.into()) + Duration::from_secs(5) <= SILENCE);
}
