use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use gslb_bridge::dns::handler::Handler;
use gslb_bridge::dns::input::{HostInput, Inputs, SetData, SetInput, ZoneInput};
use gslb_bridge::dns::metrics::Metrics;
use gslb_bridge::dns::order::Order;
use gslb_bridge::dns::server::Listeners;
use gslb_bridge::dns::snapshot::{Snapshot, Source};
use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;
use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::RecordType;
use hickory_proto::serialize::binary::BinEncodable;
use hickory_server::Server;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::net::{TcpStream, UdpSocket};

use crate::client::*;

fn host(owner_name: &str, records: u32, empty: EmptyAnswer) -> Arc<HostInput> {
    let targets: Vec<Ipv4Addr> =
        (1..=records).map(|number| Ipv4Addr::from_bits(0xc633_6400 + number)).collect();
    let set = SetInput { ttl: Ttl::DEFAULT, data: SetData::A(targets), order: Order::Fixed };
    let sets = if records == 0 { vec![] } else { vec![set] };
    let owner_name = DomainName::parse(owner_name).unwrap();
    Arc::new(HostInput { owner_name, sets, empty, ttl: Ttl::DEFAULT })
}

fn sample() -> Snapshot {
    let ns_name = DomainName::parse("gslb-ns-eu-cloud.example.com").unwrap();
    let zone = ZoneInput {
        apex: DomainName::parse("cloud.example.com").unwrap(),
        ns_names: [ns_name.clone()].into(),
        own_ns_name: Some(ns_name),
        negative_ttl: Ttl::DEFAULT,
    };
    let hosts = vec![
        host("app.cloud.example.com", 2, EmptyAnswer::NoData),
        host("many.cloud.example.com", 100, EmptyAnswer::NoData),
        host("localtargets-many.cloud.example.com", 100, EmptyAnswer::NoData),
        host("unsure.cloud.example.com", 0, EmptyAnswer::ServFail),
    ];
    Snapshot::build(&Inputs { zones: vec![zone], hosts }, Source::Watch, &Snapshot::nothing())
}

fn serve(snapshot: Snapshot) -> (SocketAddr, Server<Handler>, Metrics) {
    let listeners = Listeners::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let address = listeners.addresses()[0];
    let metrics = Metrics::default();
    let server = listeners.serve(Arc::new(ArcSwap::from_pointee(snapshot)), metrics.clone()).unwrap();
    (address, server, metrics)
}

#[tokio::test]
async fn udp_and_tcp_give_the_same_answer_and_echo_the_question_byte_for_byte() {
    let (address, _server, _) = serve(sample());
    let mixed = question("aPP.Cloud.eXample.COM.", RecordType::A);
    for answer in [udp(address, &mixed).await, tcp(address, &mixed).await] {
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
        assert!(answer.metadata.authoritative && !answer.metadata.recursion_available);
        assert_eq!(answer.answers.len(), 2);
        assert!(answer.authorities.is_empty() && answer.additionals.is_empty() && answer.edns.is_none());
        assert!(answer.queries[0].name.eq_case(&mixed.queries[0].name), "0x20");
    }
}

#[tokio::test]
async fn a_large_set_is_cut_over_udp_and_whole_over_tcp() {
    let (address, _server, metrics) = serve(sample());
    let many = with_edns(question("many.cloud.example.com.", RecordType::A), 65535);
    let cut = udp(address, &many).await;
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    assert_eq!(cut.edns.unwrap().max_payload(), 1232);
    let whole = tcp(address, &many).await;
    assert!(!whole.metadata.truncation && whole.edns.is_some());
    assert_eq!(whole.answers.len(), 100);
    let local = question("localtargets-many.cloud.example.com.", RecordType::A);
    let bytes = udp_bytes(address, &local.to_bytes().unwrap()).await;
    assert!(bytes.len() <= 512);
    let part = Message::from_vec(&bytes).unwrap();
    assert!(part.metadata.truncation && part.answers.len() > 20);
    let first: Vec<_> = part.answers.iter().map(|record| &record.data).collect();
    let all: Vec<_> = whole.answers.iter().map(|record| &record.data).collect();
    assert_eq!(first[..], all[..first.len()], "the first ones, in fixed order");
    let page = metrics.page(0);
    assert!(page.contains("gslb_bridge_dns_truncated_total 2"), "{page}");
    assert!(page.contains(r#"gslb_bridge_dns_queries_total{rcode="NOERROR",transport="udp"} 2"#), "{page}");
}

#[tokio::test]
async fn an_unsure_host_is_servfail_with_the_reason_for_clients_that_can_read_it() {
    let (address, _server, _) = serve(sample());
    let plain = question("unsure.cloud.example.com.", RecordType::A);
    let answer = udp(address, &plain).await;
    assert_eq!(answer.metadata.response_code, ResponseCode::ServFail);
    assert!(answer.edns.is_none());
    let answer = udp(address, &with_edns(plain, 1232)).await;
    let options = answer.edns.unwrap();
    let options: Vec<_> = options.options().as_ref().iter().map(|(code, _)| u16::from(*code)).collect();
    assert_eq!(options, [15]);
}

#[tokio::test]
async fn requests_that_are_no_plain_question_are_turned_down_on_the_wire() {
    let (address, _server, _) = serve(sample());
    let mut notify = question("cloud.example.com.", RecordType::SOA);
    notify.metadata.op_code = OpCode::Notify;
    assert_eq!(udp(address, &notify).await.metadata.response_code, ResponseCode::NotImp);
    let mut version = with_edns(question("app.cloud.example.com.", RecordType::A), 1232);
    version.edns.as_mut().unwrap().set_version(1);
    let answer = udp(address, &version).await;
    assert_eq!(u16::from(answer.metadata.response_code), 16, "BADVERS");
    assert!(answer.answers.is_empty());
    assert_eq!(ask(address, "registry.example.net.", RecordType::A).await, "Query Refused ");
    assert_eq!(ask(address, "cloud.example.com.", RecordType::AXFR).await, "Query Refused ");
}

#[tokio::test]
async fn several_questions_on_one_connection_are_answered_in_turn() {
    let (address, _server, _) = serve(sample());
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        tcp_send(&mut stream, &question("app.cloud.example.com.", RecordType::A)).await;
    }
    for _ in 0..3 {
        assert_eq!(tcp_receive(&mut stream).await.answers.len(), 2);
    }
}

#[tokio::test]
async fn a_second_server_on_the_same_port_is_an_error() {
    let (address, _server, _) = serve(sample());
    let error = Listeners::bind(&[address]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen for DNS on {address} (UDP)")), "{error}");
}

/// Bits flipped, bytes cut, bytes added, whole packets of noise: the server stays, and answers the next question.
#[tokio::test]
async fn damaged_packets_do_no_harm() {
    let (address, _server, _) = serve(sample());
    let mut rng = StdRng::seed_from_u64(42);
    let good = with_edns(question("app.cloud.example.com.", RecordType::A), 1232).to_bytes().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for round in 0..3000 {
        let mut packet = good.clone();
        for _ in 0..rng.random_range(1..6) {
            let position = rng.random_range(0..packet.len());
            match rng.random_range(0..4) {
                0 => packet[position] ^= 1 << rng.random_range(0..8),
                1 => packet[position] = rng.random(),
                2 => packet.truncate(position.max(1)),
                _ => packet.insert(position, rng.random()),
            }
        }
        socket.send_to(&packet, address).await.unwrap();
        if round % 100 == 0 {
            let answer = ask(address, "app.cloud.example.com.", RecordType::A).await;
            assert_eq!(answer, "No Error 198.51.100.1,198.51.100.2");
        }
    }
    assert_eq!(ask(address, "nothing.cloud.example.com.", RecordType::A).await, "Non-Existent Domain ");
}
