//! What an answer costs: in process, and over loopback beside a plain UDP echo on the same machine.
//!
//! `cargo bench --bench dns`. Figures of loops over sockets are the server thread's own CPU time (schedstat), so a
//! busy neighbour matters little; compare the ratio to the echo, not the numbers of two machines.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]

use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use gslb_bridge::dns::handler::Handler;
use gslb_bridge::dns::input::{HostInput, Inputs, SetData, SetInput, ZoneInput};
use gslb_bridge::dns::metrics::Metrics;
use gslb_bridge::dns::order::Order;
use gslb_bridge::dns::server::Listeners;
use gslb_bridge::dns::snapshot::{Snapshot, Source};
use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, Record, RecordType};
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder};
use hickory_server::net::NetError;
use hickory_server::net::runtime::TokioTime;
use hickory_server::net::xfer::Protocol;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponse;
use tokio_util::sync::CancellationToken;

/// Answers in one series.
const ROUNDS: usize = 100_000;
/// Questions under way at once over a socket.
const WINDOW: usize = 64;

fn main() {
    println!("{:44} {:>10}", "in process, parse to encoded answer", "ns/answer");
    for names in [10, 10_000] {
        let snapshot = Arc::new(ArcSwap::from_pointee(build(&inputs(names), &Snapshot::nothing())));
        for (kind, prefix, rtype) in KINDS {
            let cost = in_process(&snapshot, &questions(names, prefix, rtype));
            println!("  {:42} {cost:>10}", format!("{kind}, {names} names"));
        }
    }
    println!("{:44} {:>10}", "snapshot of 10 000 names", "µs");
    let before = inputs(10_000);
    let (fresh, snapshot) = timed(|| build(&before, &Snapshot::nothing()));
    println!("  {:42} {:>10}", "built from nothing", fresh.as_micros());
    let mut after = before.clone();
    after.hosts[0] = host("name0.cloud.example.com", 9);
    let (reused, next) = timed(|| build(&after, &snapshot));
    println!("  {:42} {:>10}", "built with one change", reused.as_micros());
    let (dropped, ()) = timed(|| drop((snapshot, next)));
    println!("  {:42} {:>10}", "dropped", dropped.as_micros());

    println!("{:44} {:>10} {:>8}", "over loopback, CPU of the server thread", "ns/answer", "answered");
    let echo = over_loopback("plain echo", serve_echo, &questions(10_000, "name", RecordType::A));
    for (kind, prefix, rtype) in KINDS {
        let label = format!("{kind}, 10 000 names");
        let cost = over_loopback(&label, serve_dns, &questions(10_000, prefix, rtype));
        println!("  {:42} {:>10.2}", "  … as a ratio to the echo", cost / echo);
    }
}

const KINDS: [(&str, &str, RecordType); 3] =
    [("A", "name", RecordType::A), ("NODATA", "name", RecordType::MX), ("NXDOMAIN", "none", RecordType::A)];

fn host(owner_name: &str, last: u32) -> Arc<HostInput> {
    let targets = (0..3).map(|number| Ipv4Addr::from_bits(0xc633_6400 + last + number)).collect();
    let set = SetInput { ttl: Ttl::DEFAULT, data: SetData::A(targets), order: Order::Shuffle };
    let owner_name = DomainName::parse(owner_name).unwrap();
    Arc::new(HostInput { owner_name, sets: vec![set], empty: EmptyAnswer::NoData, ttl: Ttl::DEFAULT })
}

fn inputs(names: usize) -> Inputs {
    let ns_name = DomainName::parse("gslb-ns-eu-cloud.example.com").unwrap();
    let zone = ZoneInput {
        apex: DomainName::parse("cloud.example.com").unwrap(),
        ns_names: [ns_name.clone()].into(),
        own_ns_name: Some(ns_name),
        negative_ttl: Ttl::DEFAULT,
    };
    let hosts = (0..names).map(|number| host(&format!("name{number}.cloud.example.com"), 1)).collect();
    Inputs { zones: vec![zone], hosts }
}

fn build(inputs: &Inputs, previous: &Snapshot) -> Snapshot {
    Snapshot::build(inputs, Source::Watch, previous)
}

/// Questions in an order without pattern, so that caches help as little as with real clients.
fn questions(names: usize, prefix: &str, rtype: RecordType) -> Vec<Vec<u8>> {
    (0..4096_usize)
        .map(|number| {
            let name = format!("{prefix}{}.cloud.example.com.", number.wrapping_mul(7919) % names);
            let mut message = Message::new(7, MessageType::Query, OpCode::Query);
            message.add_query(Query::query(Name::from_ascii(name).unwrap(), rtype));
            message.to_bytes().unwrap()
        })
        .collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let result = work();
    (started.elapsed(), result)
}

/// Encodes like the library's own sender, and sends nowhere.
#[derive(Clone)]
struct Nowhere;

#[async_trait]
impl ResponseHandler for Nowhere {
    async fn send_response<'a>(
        &mut self,
        response: MessageResponse<
            '_,
            'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
        >,
    ) -> Result<ResponseInfo, NetError> {
        let mut buffer = Vec::with_capacity(512);
        let info = response.destructive_emit(&mut BinEncoder::new(&mut buffer))?;
        black_box(&buffer);
        Ok(info)
    }
}

fn in_process(snapshot: &Arc<ArcSwap<Snapshot>>, questions: &[Vec<u8>]) -> u128 {
    let handler = Handler::new(Arc::clone(snapshot), Metrics::default());
    let source = "192.0.2.1:4711".parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (time, ()) = timed(|| {
        runtime.block_on(async {
            for round in 0..ROUNDS {
                let bytes = questions[round % questions.len()].clone();
                let request = Request::from_bytes(bytes, source, Protocol::Udp).unwrap();
                black_box(handler.handle_request::<_, TokioTime>(&request, Nowhere).await);
            }
        });
    });
    time.as_nanos() / u128::try_from(ROUNDS).unwrap()
}

/// CPU time of the calling thread, in nanoseconds.
fn thread_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

/// Each server returns its thread's CPU time since it was ready.
fn serve_echo(ready: &Sender<SocketAddr>, stop: &CancellationToken) -> u64 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let before = thread_cpu();
    ready.send(socket.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 1500];
    while !stop.is_cancelled() {
        if let Ok((length, source)) = socket.recv_from(&mut buffer) {
            socket.send_to(&buffer[..length], source).unwrap();
        }
    }
    thread_cpu() - before
}

fn serve_dns(ready: &Sender<SocketAddr>, stop: &CancellationToken) -> u64 {
    let snapshot = Arc::new(ArcSwap::from_pointee(build(&inputs(10_000), &Snapshot::nothing())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listeners = Listeners::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listeners.addresses()[0];
        let mut server = listeners.serve(snapshot, Metrics::default()).unwrap();
        let before = thread_cpu();
        ready.send(address).unwrap();
        stop.cancelled().await;
        let used = thread_cpu() - before;
        server.shutdown_gracefully().await.unwrap();
        used
    })
}

fn over_loopback(
    label: &str,
    serve: fn(&Sender<SocketAddr>, &CancellationToken) -> u64,
    questions: &[Vec<u8>],
) -> f64 {
    let (sender, receiver) = channel();
    let stop = CancellationToken::new();
    let watched = stop.clone();
    let server = thread::spawn(move || serve(&sender, &watched));
    let address = receiver.recv().unwrap();
    let answered = ask_all(address, questions);
    stop.cancel();
    let cpu = u32::try_from(server.join().unwrap() / 1000).unwrap();
    let cost = f64::from(cpu) * 1000.0 / f64::from(u32::try_from(answered.max(1)).unwrap());
    println!("  {label:42} {cost:>10.0} {answered:>8}");
    cost
}

fn ask_all(server: SocketAddr, questions: &[Vec<u8>]) -> usize {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let (mut answered, mut buffer) = (0, [0; 1500]);
    for start in (0..ROUNDS).step_by(WINDOW) {
        let batch = WINDOW.min(ROUNDS - start);
        for number in 0..batch {
            socket.send(&questions[(start + number) % questions.len()]).unwrap();
        }
        answered += (0..batch).take_while(|_| socket.recv(&mut buffer).is_ok()).count();
    }
    answered
}
