use hickory_proto::op::Query;
use hickory_proto::rr::{Name, RData};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::super::builders::*;
use super::*;

const SERIAL: u32 = 1_700_000_000 - 1_700_000_000 % 3600;

/// One answer in one line: rcode, AA, answers, SOA with TTL and minimum, EDE.
fn line(plan: &Plan<'_>) -> String {
    let mut words = vec![plan.rcode.to_str().to_owned()];
    if plan.aa {
        words.push("aa".into());
    }
    words.extend(plan.answers.iter().map(|record| format!("{} {}", record.ttl, record.data)));
    if let Some(soa) = &plan.authority {
        let RData::SOA(data) = &soa.data else { panic!("no SOA in AUTHORITY: {soa}") };
        words.push(format!("soa={} ttl={} minimum={}", soa.name, soa.ttl, data.minimum));
    }
    if let Some(ede) = plan.ede {
        words.push(format!("ede={}", ede.code()));
    }
    words.join(" | ")
}

fn query(name: &str, rtype: RecordType) -> LowerQuery {
    LowerQuery::from(Query::query(Name::from_ascii(name).unwrap(), rtype))
}

fn ask_with(snapshot: &Snapshot, op_code: OpCode, query: &LowerQuery, edns_version: Option<u8>) -> String {
    let question = Question { op_code, query: Some(query), edns_version };
    line(&decide(snapshot, &question, SERIAL, &mut StdRng::seed_from_u64(7)))
}

fn ask(snapshot: &Snapshot, name: &str, rtype: RecordType) -> String {
    ask_with(snapshot, OpCode::Query, &query(name, rtype), None)
}

/// Conformance 97, 108; F-01.
#[test]
fn each_kind_of_name_gets_its_kind_of_answer() {
    use RecordType as R;
    let soa =
        "300 gslb-ns-eu-cloud.example.com. hostmaster.dns.cloud.example.com. 1699999200 7200 1800 86400 300";
    let nodata = |ttl: u32| format!("No Error | aa | soa=cloud.example.com. ttl={ttl} minimum=300");
    let cases = [
        ("app.cloud.example.com.", R::A, "No Error | aa | 30 198.51.100.1 | 30 198.51.100.2".into()),
        ("App.Cloud.EXAMPLE.com.", R::A, "No Error | aa | 30 198.51.100.1 | 30 198.51.100.2".into()),
        ("app.cloud.example.com.", R::AAAA, nodata(30)),
        ("app.cloud.example.com.", R::TXT, nodata(30)),
        ("app.cloud.example.com.", R::MX, nodata(30)),
        ("app.cloud.example.com.", R::ANY, "No Error | aa | 30 198.51.100.1 | 30 198.51.100.2".into()),
        ("six.cloud.example.com.", R::AAAA, "No Error | aa | 30 2001:db8::1".into()),
        ("eu._gslb-bridge.cloud.example.com.", R::TXT, "No Error | aa | 30 v=1age=0".into()),
        ("localtargets-app.cloud.example.com.", R::A, "No Error | aa | 30 198.51.100.1".into()),
        ("down.cloud.example.com.", R::A, nodata(5)),
        ("localtargets-down.cloud.example.com.", R::A, nodata(5)),
        ("unsure.cloud.example.com.", R::A, "Server Failure | ede=23".into()),
        ("unsure.cloud.example.com.", R::ANY, "Server Failure | ede=23".into()),
        ("under.cloud.example.com.", R::A, nodata(300)),
        (
            "nothing.cloud.example.com.",
            R::A,
            "Non-Existent Domain | aa | soa=cloud.example.com. ttl=300 minimum=300".into(),
        ),
        (
            "below.app.cloud.example.com.",
            R::A,
            "Non-Existent Domain | aa | soa=cloud.example.com. ttl=300 minimum=300".into(),
        ),
        ("cloud.example.com.", R::SOA, format!("No Error | aa | {soa}")),
        ("cloud.example.com.", R::ANY, format!("No Error | aa | {soa}")),
        (
            "cloud.example.com.",
            R::NS,
            "No Error | aa | 300 gslb-ns-eu-cloud.example.com. | 300 gslb-ns-us-cloud.example.com.".into(),
        ),
        ("cloud.example.com.", R::A, nodata(300)),
        ("example.com.", R::A, "Query Refused | ede=20".into()),
        ("xcloud.example.com.", R::A, "Query Refused | ede=20".into()),
        (".", R::NS, "Query Refused | ede=20".into()),
        ("cloud.example.com.", R::AXFR, "Query Refused".into()),
        ("cloud.example.com.", R::IXFR, "Query Refused".into()),
    ];
    let served = sample();
    for (name, rtype, expected) in cases {
        assert_eq!(ask(&served, name, rtype), expected, "{name} {rtype}");
    }
}

#[test]
fn other_requests_than_questions_in_class_in_are_turned_down() {
    let served = sample();
    let plain = query("app.cloud.example.com.", RecordType::A);
    assert_eq!(ask_with(&served, OpCode::Update, &plain, None), "Not Implemented");
    assert_eq!(ask_with(&served, OpCode::Notify, &plain, None), "Not Implemented");
    assert_eq!(ask_with(&served, OpCode::Status, &plain, None), "Not Implemented");
    assert_eq!(
        ask_with(&served, OpCode::Query, &plain, Some(1)),
        ResponseCode::BADVERS.to_str(),
        "RFC 6891 §6.1.3"
    );
    let mut chaos = Query::query(Name::from_ascii("version.bind.").unwrap(), RecordType::TXT);
    chaos.set_query_class(DNSClass::CH);
    assert_eq!(ask_with(&served, OpCode::Query, &chaos.into(), None), "Query Refused");
    let none = Question { op_code: OpCode::Query, query: None, edns_version: None };
    assert_eq!(line(&decide(&served, &none, SERIAL, &mut StdRng::seed_from_u64(7))), "Form Error");
}

#[test]
fn nothing_is_denied_before_anything_is_known() {
    let nothing = Snapshot::nothing();
    assert_eq!(ask(&nothing, "app.cloud.example.com.", RecordType::A), "Server Failure | ede=14");
    assert_eq!(ask(&nothing, "cloud.example.com.", RecordType::SOA), "Server Failure | ede=14");
}

#[test]
fn a_zone_without_name_servers_serves_its_hosts_and_denies_no_ns() {
    let served = snapshot([zone("cloud.example.com", &[], 30)], [a("app.cloud.example.com", addresses(1))]);
    assert_eq!(ask(&served, "app.cloud.example.com.", RecordType::A), "No Error | aa | 30 198.51.100.1");
    assert_eq!(ask(&served, "cloud.example.com.", RecordType::NS), "Server Failure");
    assert!(ask(&served, "cloud.example.com.", RecordType::SOA).contains(" ns1.dns.cloud.example.com. "));
}

/// Conformance 108; F-02.
#[test]
fn names_belong_to_the_innermost_zone() {
    let served = snapshot(
        [zone("example.com", &["ns.example.net"], 60), zone("b.c.example.com", &["ns.example.net"], 20)],
        [a("x.b.c.example.com", addresses(1))],
    );
    let inner = |rcode: &str| format!("{rcode} | aa | soa=b.c.example.com. ttl=20 minimum=20");
    let outer = |rcode: &str| format!("{rcode} | aa | soa=example.com. ttl=60 minimum=60");
    assert_eq!(ask(&served, "y.b.c.example.com.", RecordType::A), inner("Non-Existent Domain"));
    assert_eq!(ask(&served, "y.c.example.com.", RecordType::A), outer("Non-Existent Domain"));
    assert_eq!(ask(&served, "c.example.com.", RecordType::A), outer("No Error"), "empty non-terminal");
    assert_eq!(ask(&served, "b.c.example.com.", RecordType::DS), outer("No Error"), "DS is the parent's");
    assert_eq!(ask(&served, "example.com.", RecordType::DS), outer("No Error"), "its parent is not here");
}

#[test]
fn a_negative_answer_about_a_gslbs_name_is_kept_for_the_lowest_of_three_limits() {
    let kept = |zone_ttl: i64, gslb_ttl: i64| {
        let host = empty("down.cloud.example.com", EmptyAnswer::NoData, gslb_ttl);
        let served = snapshot([zone("cloud.example.com", &["ns.example.net"], zone_ttl)], [host]);
        let answer = ask(&served, "down.cloud.example.com.", RecordType::A);
        answer.split("ttl=").nth(1).unwrap().split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!([kept(300, 60), kept(300, 5), kept(17, 60), kept(0, 60)], [30, 5, 17, 0]);
}

#[test]
fn hosts_outside_every_zone_and_at_an_apex_are_left_out() {
    let served = snapshot(
        [zone("cloud.example.com", &["ns.example.net"], 30)],
        [a("cloud.example.com", addresses(1)), a("app.example.net", addresses(1))],
    );
    assert_eq!(served.host_count(), 0);
    assert_eq!(ask(&served, "app.example.net.", RecordType::A), "Query Refused | ede=20");
}

#[test]
fn only_localtargets_answers_may_be_cut() {
    let served = sample();
    let divisible = |name: &str| {
        let query = query(name, RecordType::A);
        let question = Question { op_code: OpCode::Query, query: Some(&query), edns_version: None };
        decide(&served, &question, SERIAL, &mut StdRng::seed_from_u64(7)).divisible
    };
    assert!(divisible("LocalTargets-app.cloud.example.com."));
    assert!(!divisible("app.cloud.example.com."));
}

#[test]
fn the_serial_is_the_current_hour() {
    assert_eq!(serial_at(1_700_000_000), 1_699_999_200);
    assert_eq!(serial_at(1_699_999_200), 1_699_999_200);
    assert_eq!(serial_at(-1), 0);
}

#[test]
fn unchanged_hosts_are_taken_over_and_change_nothing() {
    let first = inputs(
        [zone("cloud.example.com", &["ns.example.net"], 30)],
        [a("app.cloud.example.com", addresses(1)), a("b.cloud.example.com", addresses(2))],
    );
    let before = Snapshot::build(&first, Source::Watch, &Snapshot::nothing());
    let mut second = first.clone();
    second.hosts[1] = std::sync::Arc::new(a("b.cloud.example.com", addresses(3)));
    let reused = Snapshot::build(&second, Source::Watch, &before);
    let fresh = Snapshot::build(&second, Source::Watch, &Snapshot::nothing());
    for name in ["app.cloud.example.com.", "b.cloud.example.com."] {
        assert_eq!(ask(&reused, name, RecordType::A), ask(&fresh, name, RecordType::A));
    }
}
