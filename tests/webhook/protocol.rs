//! Negotiation, media types, limits: whatever is wrong with a request, nothing is written.

use axum::body::Body;
use axum::http::Request;
use futures::StreamExt;
use gslb_provider_webhook::protocol::{Endpoint, MEDIA_TYPE};
use serde_json::json;

use crate::world::{Answer, Stage, builder, create, delete, endpoint};

#[tokio::test(flavor = "multi_thread")]
async fn the_negotiation_tells_the_domains_in_the_one_media_type() {
    let stage = Stage::new();
    let body = r#"{"include":["example.com"]}"#.to_owned();
    let negotiated = Answer { status: 200, media: MEDIA_TYPE.to_owned(), body };
    for (method, path) in [("GET", "/"), ("GET", "/base/"), ("POST", "/")] {
        assert_eq!(stage.send(method, path, Body::empty()).await, negotiated, "{method} {path}");
    }
    // A probe says nothing of what it takes.
    assert_eq!(stage.ask(Request::get("/").body(Body::empty()).unwrap()).await, negotiated);
    assert_eq!(stage.grid.journal().entries().len(), 0);
}

/// Method, path, Content-Type, Accept and body; status, and what is said.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, u16, &'a str);

async fn assert_refused(stage: &Stage, cases: &[Case<'_>]) {
    for (method, path, sent, accepted, body, status, said) in cases {
        let request = Request::builder().method(*method).uri(*path).header("content-type", *sent);
        let request = request.header("accept", *accepted).body(Body::from((*body).to_owned())).unwrap();
        let answer = stage.ask(request).await;
        assert_eq!(answer.status, *status, "{method} {path} {}", answer.body);
        assert!(answer.body.contains(said), "{method} {path} {}", answer.body);
        assert_eq!(answer.media, "text/plain; charset=utf-8");
    }
    assert_eq!((stage.writes(), stage.log().len()), (0, 0));
}

fn one() -> Endpoint {
    endpoint("www", "A", 0, &["192.0.2.1"])
}

#[tokio::test(flavor = "multi_thread")]
async fn another_media_type_version_or_method_is_refused_and_nothing_is_written() {
    let (json, version_2) = ("application/json", "application/external.dns.webhook+json;version=2");
    let good = serde_json::to_string(&delete(&[one()])).unwrap();
    let ours = MEDIA_TYPE;
    let cases = [
        ("POST", "/records", json, ours, good.as_str(), 415, "Content-Type is \"application/json\""),
        ("POST", "/records", version_2, ours, &good, 415, "and must be application/external.dns"),
        ("POST", "/adjustendpoints", version_2, ours, "[]", 415, "Content-Type is"),
        ("POST", "/adjustendpoints", ours, version_2, "[]", 406, "Accept is"),
        ("GET", "/records", ours, version_2, "", 406, "and the only form is application/external.dns"),
        ("GET", "/", ours, "text/html", "", 406, "Accept is \"text/html\""),
        ("PUT", "/records", ours, ours, &good, 400, "/records is read with GET and changed with POST"),
        ("GET", "/adjustendpoints", ours, ours, "", 400, "/adjustendpoints is asked with POST"),
    ];
    assert_refused(&Stage::new(), &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_broken_or_too_large_is_refused_and_nothing_is_written() {
    let stage = Stage::with(builder(), &[("WEBHOOK_MAX_ENDPOINTS", "3")]);
    let good = serde_json::to_string(&delete(&[one()])).unwrap();
    let many = serde_json::to_string(&create(&vec![one(); 4])).unwrap();
    let unpaired = json!({"updateOld": [one()]}).to_string();
    let large = "x".repeat((1 << 20) + 1);
    let changes = |body, status, said| ("POST", "/records", MEDIA_TYPE, MEDIA_TYPE, body, status, said);
    let cases = [
        changes(&good[..good.len() / 2], 400, "the body cannot be read as changes: EOF"),
        changes("", 400, "the body cannot be read as changes"),
        changes("[]", 400, "a list, where an object is expected"),
        changes(&unpaired, 400, "updateOld has 1 entries and updateNew 0"),
        changes(&many, 413, "the request has 4 endpoints, and the limit is 3"),
        changes(&large, 413, "the body has more than 1048576 bytes"),
        (
            "POST",
            "/adjustendpoints",
            MEDIA_TYPE,
            MEDIA_TYPE,
            "{}",
            400,
            "the body cannot be read as endpoints",
        ),
    ];
    assert_refused(&stage, &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_bodies_at_once_take_no_more_room_than_one() {
    let stage = Stage::with(builder(), &[("WEBHOOK_MAX_ENDPOINTS", "3")]);
    let send = async |body: Body| stage.send("POST", "/records", body).await;
    let blanks = |kilobytes: usize| axum::body::Bytes::from(vec![b' '; kilobytes << 10]);
    let (sender, rest) = futures::channel::oneshot::channel::<axum::body::Bytes>();
    // It takes most of the room, and waits.
    let first =
        futures::stream::iter([blanks(900)]).chain(futures::stream::once(async { rest.await.unwrap() }));
    let first = send(Body::from_stream(first.map(Ok::<_, std::convert::Infallible>)));
    let second = async {
        let answer = send(Body::from(blanks(200))).await;
        sender.send("{}".into()).unwrap();
        answer
    };
    let (first, second) = futures::join!(first, second);
    assert_eq!((first.status, second.status), (204, 503), "{first:?} {second:?}");
    assert!(second.body.starts_with("the bodies of other requests take all the room"), "{second:?}");
    assert_eq!(send(Body::from([&blanks(900), "{}".as_bytes()].concat())).await.status, 204);
}

/// C064, C067.
#[tokio::test(flavor = "multi_thread")]
async fn endpoints_are_adjusted_to_what_will_be_listed_and_none_is_left_out() {
    let stage = Stage::new();
    let asked = [
        endpoint("WWW", "CNAME", 30, &["LB.example.net."]),
        endpoint("spf", "TXT", 0, &["v=spf1 -all"]),
        endpoint("mail", "MX", 0, &["10 mx.example.com"]),
    ];
    let answer = stage.send("POST", "/adjustendpoints", serde_json::to_vec(&asked).unwrap()).await;
    assert_eq!((answer.status, answer.media.as_str()), (200, MEDIA_TYPE));
    let adjusted: Vec<Endpoint> = serde_json::from_str(&answer.body).unwrap();
    let expected = [
        endpoint("www", "CNAME", 30, &["lb.example.net"]),
        endpoint("spf", "TXT", 0, &["\"v=spf1 -all\""]),
        endpoint("mail", "MX", 0, &["10 mx.example.com"]),
    ];
    assert_eq!(adjusted, expected);
    assert_eq!(stage.send("POST", "/adjustendpoints", "null").await.body, "[]");
}
