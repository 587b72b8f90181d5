//! What the grid answers over DNS.

use crate::harness::{Bench, bench, builder, delegation, server};
use gslb_mocks::wapi::{DnsServer, DnsSockets, RestartMode};
use hickory_proto::op::{Edns, Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

async fn served(bench: &Bench) -> (SocketAddr, DnsServer) {
    let sockets = DnsSockets::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = sockets.address().unwrap();
    (address, bench.grid.serve_dns(sockets))
}

fn question(name: &str, rtype: RecordType) -> Message {
    let mut message = Message::new(4711, hickory_proto::op::MessageType::Query, OpCode::Query);
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), rtype));
    message
}

async fn ask_udp(to: SocketAddr, message: &Message) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&message.to_vec().unwrap(), to).await.unwrap();
    let mut buffer = vec![0; 4096];
    let received =
        tokio::time::timeout(Duration::from_secs(5), socket.recv(&mut buffer)).await.unwrap().unwrap();
    Message::from_vec(&buffer[..received]).unwrap()
}

async fn ask_tcp(to: SocketAddr, message: &Message) -> Message {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let bytes = message.to_vec().unwrap();
    stream.write_u16(bytes.len().try_into().unwrap()).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    let mut reply = vec![0; stream.read_u16().await.unwrap().into()];
    stream.read_exact(&mut reply).await.unwrap();
    Message::from_vec(&reply).unwrap()
}

async fn ask(to: SocketAddr, name: &str, rtype: RecordType) -> Message {
    ask_udp(to, &question(name, rtype)).await
}

fn lines(records: &[hickory_proto::rr::Record]) -> Vec<String> {
    records.iter().map(|r| format!("{} {} {} {}", r.name, r.ttl, r.record_type(), r.data)).collect()
}

/// A delegation with one name server in the parent and one elsewhere.
fn two_servers() -> serde_json::Value {
    let servers =
        json!([server("ns-eu.example.com", "192.0.2.53"), server("ns-us.example.net", "198.51.100.53")]);
    json!({"fqdn": "gslb.example.com", "delegate_to": servers, "delegated_ttl": 30, "use_delegated_ttl": true})
}

/// §10.1 13 [inferred].
#[tokio::test]
async fn a_delegation_is_answered_by_a_referral_with_glue_for_names_in_the_parent_inferred() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    bench.created("zone_delegated", two_servers()).await;
    bench.grid.restart_services();
    for name in ["gslb.example.com.", "App.GSLB.example.com."] {
        let reply = ask(address, name, RecordType::A).await;
        assert_eq!(
            (reply.metadata.authoritative, reply.metadata.response_code),
            (false, ResponseCode::NoError)
        );
        assert_eq!(lines(&reply.answers), [] as [String; 0]);
        let ns = ["gslb.example.com. 30 NS ns-eu.example.com.", "gslb.example.com. 30 NS ns-us.example.net."];
        assert_eq!(lines(&reply.authorities), ns);
        assert_eq!(lines(&reply.additionals), ["ns-eu.example.com. 28800 A 192.0.2.53"]);
    }
}

/// §10.1 13 [inferred].
#[tokio::test]
async fn a_name_server_in_the_parent_has_a_system_address_record_inferred() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    bench.created("zone_delegated", two_servers()).await;
    bench.grid.restart_services();
    let reply = ask(address, "ns-eu.example.com.", RecordType::A).await;
    assert!(reply.metadata.authoritative);
    assert_eq!(lines(&reply.answers), ["ns-eu.example.com. 28800 A 192.0.2.53"]);
    let other_type = ask(address, "ns-eu.example.com.", RecordType::AAAA).await;
    assert_eq!((other_type.answers.len(), other_type.metadata.response_code), (0, ResponseCode::NoError));
}

/// §10.1 13 [code].
#[tokio::test]
async fn a_zone_change_goes_live_with_the_restart_and_a_record_at_once() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    bench.delegated().await;
    bench.created("record:a", json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"})).await;
    assert_eq!(
        ask(address, "gslb.example.com.", RecordType::A).await.metadata.response_code,
        ResponseCode::NXDomain
    );
    assert_eq!(lines(&ask(address, "www.example.com.", RecordType::A).await.answers).len(), 1);
    assert!(bench.grid.needs_restart());

    let grid = bench.get("grid").await.json()[0]["_ref"].as_str().unwrap().to_owned();
    let arguments = json!({"member_order": "SIMULTANEOUSLY", "restart_option": "RESTART_IF_NEEDED", "service_option": "DNS"});
    let reply = bench.post(&format!("{grid}?_function=restartservices"), arguments).await;
    assert_eq!(reply.status, 200);
    assert_eq!(ask(address, "gslb.example.com.", RecordType::A).await.authorities.len(), 1);
}

/// §10.1 13 [doc].
#[tokio::test]
async fn a_grid_may_restart_by_itself() {
    let bench = Bench::of(builder().restart(RestartMode::After(Duration::ZERO)).build().unwrap());
    let (address, _dns) = served(&bench).await;
    bench.delegated().await;
    assert_eq!(ask(address, "gslb.example.com.", RecordType::NS).await.authorities.len(), 1);
}

/// §10.1 13 [doc].
#[tokio::test]
async fn a_disabled_delegation_is_not_served() {
    let bench = Bench::of(builder().restart(RestartMode::Immediate).build().unwrap());
    let (address, _dns) = served(&bench).await;
    let reference = bench.delegated().await;
    assert_eq!(ask(address, "gslb.example.com.", RecordType::NS).await.authorities.len(), 1);
    bench.put(&reference, json!({"disable": true})).await;
    assert_eq!(
        ask(address, "gslb.example.com.", RecordType::NS).await.metadata.response_code,
        ResponseCode::NXDomain
    );
}

/// §10.1 13 [doc].
#[tokio::test]
async fn negative_answers_carry_the_soa_and_foreign_names_are_refused() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    bench.created("record:txt", json!({"name": "deep.er.example.com", "text": "\"hello world\""})).await;
    let missing = ask(address, "nosuch.example.com.", RecordType::A).await;
    assert_eq!(missing.metadata.response_code, ResponseCode::NXDomain);
    assert_eq!(missing.authorities[0].record_type(), RecordType::SOA);
    let empty = ask(address, "er.example.com.", RecordType::A).await;
    assert_eq!((empty.metadata.response_code, empty.authorities.len()), (ResponseCode::NoError, 1));
    let foreign = ask(address, "example.org.", RecordType::A).await;
    assert_eq!(
        (foreign.metadata.response_code, foreign.metadata.authoritative),
        (ResponseCode::Refused, false)
    );
}

/// §10.1 13 [doc].
#[tokio::test]
async fn an_alias_is_followed_inside_the_zone() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    bench.created("record:cname", json!({"name": "alias.example.com", "canonical": "www.example.com"})).await;
    bench.created("record:a", json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"})).await;
    let reply = ask(address, "alias.example.com.", RecordType::A).await;
    let expected = ["alias.example.com. 28800 CNAME www.example.com.", "www.example.com. 28800 A 192.0.2.10"];
    assert_eq!(lines(&reply.answers), expected);
}

/// §10.1 13 [doc].
#[tokio::test]
async fn what_does_not_fit_into_udp_is_truncated_and_whole_over_tcp() {
    let bench = bench();
    let (address, _dns) = served(&bench).await;
    let servers: Vec<_> =
        (1..=40).map(|n| server(&format!("ns{n}.example.com"), &format!("192.0.2.{n}"))).collect();
    bench.created("zone_delegated", json!({"fqdn": "gslb.example.com", "delegate_to": servers})).await;
    bench.grid.restart_services();
    let plain = question("gslb.example.com.", RecordType::NS);
    let short = ask_udp(address, &plain).await;
    assert!(short.metadata.truncation && short.edns.is_none());
    let whole = ask_tcp(address, &plain).await;
    assert_eq!(
        (whole.metadata.truncation, whole.authorities.len(), whole.additionals.len()),
        (false, 40, 40)
    );

    let mut with_edns = question("example.com.", RecordType::SOA);
    let mut edns = Edns::new();
    edns.set_max_payload(4096);
    with_edns.set_edns(edns);
    let reply = ask_udp(address, &with_edns).await;
    assert_eq!((reply.answers.len(), reply.edns.unwrap().max_payload()), (1, 1232));
}

/// §10.1 13 [doc].
#[tokio::test]
async fn each_view_answers_for_itself() {
    let bench = bench();
    let sockets = DnsSockets::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let internal = sockets.address().unwrap();
    let _internal = bench.grid.serve_dns_view("internal", sockets);
    let (external, _external) = served(&bench).await;
    bench.created("zone_delegated", delegation("gslb.example.com")).await;
    bench.grid.restart_services();
    assert_eq!(
        ask(external, "gslb.example.com.", RecordType::NS).await.authorities[0].record_type(),
        RecordType::NS
    );
    assert_eq!(
        ask(internal, "gslb.example.com.", RecordType::NS).await.metadata.response_code,
        ResponseCode::NXDomain
    );
}
