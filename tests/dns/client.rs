//! A DNS client that shows everything: it sends bytes and returns bytes.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinEncodable};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn question(name: &str, rtype: RecordType) -> Message {
    let mut message = Message::new(4711, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), rtype));
    message
}

pub(crate) fn with_edns(mut message: Message, size: u16) -> Message {
    let mut edns = Edns::new();
    edns.set_max_payload(size);
    message.edns = Some(edns);
    message
}

pub(crate) async fn udp_bytes(server: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(bytes, server).await.unwrap();
    let mut buffer = vec![0; 65535];
    let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.expect("an answer").unwrap();
    buffer.truncate(length);
    buffer
}

pub(crate) async fn udp(server: SocketAddr, question: &Message) -> Message {
    Message::from_bytes(&udp_bytes(server, &question.to_bytes().unwrap()).await).unwrap()
}

pub(crate) async fn tcp_send(stream: &mut TcpStream, question: &Message) {
    let bytes = question.to_bytes().unwrap();
    stream.write_u16(u16::try_from(bytes.len()).unwrap()).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
}

pub(crate) async fn tcp_receive(stream: &mut TcpStream) -> Message {
    let length = timeout(PATIENCE, stream.read_u16()).await.expect("an answer").unwrap();
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.unwrap();
    Message::from_bytes(&bytes).unwrap()
}

pub(crate) async fn tcp(server: SocketAddr, question: &Message) -> Message {
    let mut stream = TcpStream::connect(server).await.unwrap();
    tcp_send(&mut stream, question).await;
    tcp_receive(&mut stream).await
}

/// rcode and the answers' data.
pub(crate) async fn ask(server: SocketAddr, name: &str, rtype: RecordType) -> String {
    let answer = udp(server, &question(name, rtype)).await;
    let data: Vec<String> = answer.answers.iter().map(|record| record.data.to_string()).collect();
    format!("{} {}", answer.metadata.response_code.to_str(), data.join(","))
}
