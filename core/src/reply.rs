//! What a DNS server said, and what that means: a positive, a negative, or no word (design §2.1).
//!
//! [`Response`] is the message as plain values, [`Reply`] the judgement over it. Only a server that was
//! understood and that speaks about the asked name counts; everything else is [`NoWord`], which must never be
//! taken for "no targets".

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::name::DomainName;
use crate::ttl::Ttl;

/// Longest CNAME chain that is followed, within one answer and across servers. Common resolvers stop between
/// 8 (BIND's older default) and 16; k8gb's budget for load-balancer names is of the same size.
pub const CHAIN_BUDGET: usize = 8;

/// A response code of RFC 1035 §4.1.1 or RFC 6891, as a number: unknown ones are kept.
pub mod rcode {
    /// The server answered.
    pub const NO_ERROR: u16 = 0;
    /// The server could not read the question.
    pub const FORM_ERR: u16 = 1;
    /// The server failed.
    pub const SERV_FAIL: u16 = 2;
    /// The name does not exist.
    pub const NX_DOMAIN: u16 = 3;
    /// The server does not know this kind of question.
    pub const NOT_IMP: u16 = 4;
    /// The server does not want to answer.
    pub const REFUSED: u16 = 5;
    /// The server does not know this version of EDNS.
    pub const BAD_VERS: u16 = 16;
}

/// One record of a response, as far as any rule reads it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// The name that the record sits at.
    pub owner_name: DomainName,
    /// Time to live.
    pub ttl: Ttl,
    /// Content.
    pub data: RecordData,
}

/// Content of a [`Record`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordData {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// Another name for the owner.
    Cname(DomainName),
    /// A name server of the owner.
    Ns(DomainName),
    /// Start of authority.
    Soa,
    /// Any other type.
    Other,
}

/// A DNS response whose id and question were found right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// Response code, see [`rcode`].
    pub rcode: u16,
    /// AA: the server speaks for the zone. k8gb's DNS never sets it, ours always does.
    pub authoritative: bool,
    /// TC: records are missing, and TCP did not bring them.
    pub truncated: bool,
    /// ANSWER section.
    pub answers: Vec<Record>,
    /// AUTHORITY section.
    pub authorities: Vec<Record>,
    /// ADDITIONAL section without OPT.
    pub additionals: Vec<Record>,
}

/// What a server's response to an address question means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// The name has these addresses. Never empty.
    Positive {
        /// All addresses of the answer.
        addresses: BTreeSet<Ipv4Addr>,
        /// AA.
        authoritative: bool,
        /// The answer was cut off: there may be more addresses.
        partial: bool,
        /// The name that the addresses belong to, if the asked one is a CNAME.
        alias: Option<DomainName>,
    },
    /// The name has no address.
    Negative {
        /// AA. A negative without it may come from a k8gb CoreDNS that is just reloading.
        authoritative: bool,
        /// NODATA if true, NXDOMAIN if not.
        name_exists: bool,
    },
    /// Nothing was said on the matter.
    NoWord(NoWord),
}

/// A response on its own, before a CNAME that leads out of it was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing more to ask.
    Settled(Reply),
    /// The name is another name for `target`, whose addresses are not in this response: ask a resolver.
    Alias {
        /// End of the CNAME chain.
        target: DomainName,
        /// AA.
        authoritative: bool,
    },
}

/// Why there is no word from a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NoWord {
    /// Nothing came in time.
    #[error("no answer in time")]
    Timeout,
    /// The network refused: kind of the error, for example `connection refused`.
    #[error("network error: {0}")]
    Network(String),
    /// SERVFAIL.
    #[error("the server failed (SERVFAIL)")]
    ServFail,
    /// REFUSED.
    #[error("the server refuses to answer (REFUSED)")]
    Refused,
    /// FORMERR, also without EDNS.
    #[error("the server cannot read the question (FORMERR)")]
    FormErr,
    /// Any other response code.
    #[error("the server answers with response code {0}")]
    OtherRcode(u16),
    /// Not a DNS message, or its answer is about another name.
    #[error("the answer cannot be understood")]
    Malformed,
    /// The CNAME chain returns to itself or has more than [`CHAIN_BUDGET`] links.
    #[error("the CNAME chain is a loop or has more than {CHAIN_BUDGET} links")]
    CnameLoop,
    /// TC without a single address, and TCP failed.
    #[error("the answer is truncated and TCP failed")]
    TruncatedWithoutTcp,
    /// The server does not serve the name's zone and points to other servers.
    #[error("the server does not serve the zone and refers to others")]
    Referral,
}

impl NoWord {
    /// Stable reason for conditions, events and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Timeout => "Timeout",
            Self::Network(_) => "NetworkError",
            Self::ServFail => "ServFail",
            Self::Refused => "Refused",
            Self::FormErr => "FormErr",
            Self::OtherRcode(_) => "UnexpectedRcode",
            Self::Malformed => "Malformed",
            Self::CnameLoop => "CnameLoop",
            Self::TruncatedWithoutTcp => "TruncatedWithoutTcp",
            Self::Referral => "Referral",
        }
    }

    /// The word that a response code other than NOERROR and NXDOMAIN stands for.
    pub fn from_rcode(code: u16) -> Self {
        match code {
            rcode::SERV_FAIL => Self::ServFail,
            rcode::REFUSED => Self::Refused,
            rcode::FORM_ERR => Self::FormErr,
            other => Self::OtherRcode(other),
        }
    }
}

impl Reply {
    /// Stable reason for conditions, events and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Positive { partial: false, .. } => "Answered",
            Self::Positive { partial: true, .. } => "AnsweredInPart",
            Self::Negative { name_exists: true, .. } => "NoData",
            Self::Negative { name_exists: false, .. } => "NxDomain",
            Self::NoWord(no_word) => no_word.reason(),
        }
    }
}

impl From<Reply> for Judgement {
    fn from(reply: Reply) -> Self {
        Self::Settled(reply)
    }
}

/// Where the answer section leads from the asked name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The asked name, or the target of the last CNAME.
    pub end: DomainName,
    /// Number of CNAMEs followed.
    pub links: usize,
    /// Addresses at `end`.
    pub addresses: BTreeSet<Ipv4Addr>,
    /// The smallest TTL of the records that were used; nothing if none was.
    pub ttl: Option<Ttl>,
}

impl Response {
    /// Judges the response to an `A` question about `asked`.
    pub fn judge(&self, asked: &DomainName) -> Judgement {
        let authoritative = self.authoritative;
        match self.rcode {
            rcode::NO_ERROR => {}
            // RFC 6604 §3: after a CNAME the code speaks about the end of the chain. No address either way.
            rcode::NX_DOMAIN => return Reply::Negative { authoritative, name_exists: false }.into(),
            other => return Reply::NoWord(NoWord::from_rcode(other)).into(),
        }
        let chain = match self.chain(asked) {
            Ok(chain) => chain,
            Err(no_word) => return Reply::NoWord(no_word).into(),
        };
        if !chain.addresses.is_empty() {
            let alias = (chain.links > 0).then_some(chain.end);
            let (addresses, partial) = (chain.addresses, self.truncated);
            return Reply::Positive { addresses, authoritative, partial, alias }.into();
        }
        if self.truncated {
            return Reply::NoWord(NoWord::TruncatedWithoutTcp).into();
        }
        // RFC 2308 §2.2: SOA in AUTHORITY is NODATA, NS without SOA is a referral.
        let soa = self.authorities.iter().any(|record| record.data == RecordData::Soa);
        let ns = self.authorities.iter().any(|record| matches!(record.data, RecordData::Ns(_)));
        if chain.links > 0 && !soa {
            return Judgement::Alias { target: chain.end, authoritative };
        }
        if ns && !soa && !authoritative {
            return Reply::NoWord(NoWord::Referral).into();
        }
        Reply::Negative { authoritative, name_exists: true }.into()
    }

    /// Follows the CNAME chain of the answer section. Records of other names are not looked at.
    ///
    /// # Errors
    /// [`NoWord::CnameLoop`]; [`NoWord::Malformed`] if a name has two different CNAMEs (RFC 2181 §10.1), or if
    /// there are addresses or CNAMEs and none belongs to the asked name.
    pub fn chain(&self, asked: &DomainName) -> Result<Chain, NoWord> {
        let mut chain = Chain { end: asked.clone(), links: 0, addresses: BTreeSet::new(), ttl: None };
        let mut seen = BTreeSet::from([asked.clone()]);
        loop {
            chain.take_addresses(&self.answers);
            if !chain.addresses.is_empty() {
                return Ok(chain);
            }
            let Some(target) = chain.next(&self.answers)? else {
                break;
            };
            chain.links += 1;
            chain.end = target.clone();
            if chain.links > CHAIN_BUDGET || !seen.insert(target) {
                return Err(NoWord::CnameLoop);
            }
        }
        let strangers =
            self.answers.iter().any(|record| matches!(record.data, RecordData::A(_) | RecordData::Cname(_)));
        if chain.links == 0 && strangers { Err(NoWord::Malformed) } else { Ok(chain) }
    }
}

impl Chain {
    fn take_addresses(&mut self, answers: &[Record]) {
        for record in answers {
            if let RecordData::A(address) = record.data
                && record.owner_name == self.end
            {
                self.addresses.insert(address);
                self.lower_ttl(record.ttl);
            }
        }
    }

    /// The CNAME target of `end`.
    fn next(&mut self, answers: &[Record]) -> Result<Option<DomainName>, NoWord> {
        let mut next: Option<&DomainName> = None;
        for record in answers {
            if let RecordData::Cname(target) = &record.data
                && record.owner_name == self.end
            {
                if next.is_some_and(|known| known != target) {
                    return Err(NoWord::Malformed);
                }
                next = Some(target);
                self.lower_ttl(record.ttl);
            }
        }
        Ok(next.cloned())
    }

    fn lower_ttl(&mut self, ttl: Ttl) {
        self.ttl = Some(self.ttl.map_or(ttl, |known| known.min(ttl)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "localtargets-app.cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn record(owner: &str, ttl: i64, data: RecordData) -> Record {
        Record { owner_name: name(owner), ttl: Ttl::from_secs(ttl).unwrap(), data }
    }
    fn a(owner: &str, address: &str) -> Record {
        record(owner, 30, RecordData::A(address.parse().unwrap()))
    }
    fn cname(owner: &str, target: &str) -> Record {
        record(owner, 30, RecordData::Cname(name(target)))
    }
    fn answer(answers: impl IntoIterator<Item = Record>) -> Response {
        Response { answers: answers.into_iter().collect(), ..Response::default() }
    }
    fn positive(addresses: &[&str]) -> Reply {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Reply::Positive { addresses, authoritative: false, partial: false, alias: None }
    }
    fn behind(alias: &str, addresses: &[&str]) -> Reply {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Reply::Positive { addresses, authoritative: false, partial: false, alias: Some(name(alias)) }
    }
    fn judge(response: &Response) -> Reply {
        match response.judge(&name(HOST)) {
            Judgement::Settled(reply) => reply,
            Judgement::Alias { target, .. } => panic!("an alias of {target}"),
        }
    }

    #[test]
    fn all_addresses_of_the_asked_name_are_taken_in_one_order() {
        let response = answer([a(HOST, "198.51.100.20"), a(HOST, "198.51.100.10"), a(HOST, "198.51.100.20")]);
        assert_eq!(judge(&response), positive(&["198.51.100.10", "198.51.100.20"]));
    }

    #[test]
    fn the_authoritative_bit_is_kept() {
        let response = Response { authoritative: true, ..answer([a(HOST, "198.51.100.10")]) };
        assert!(matches!(judge(&response), Reply::Positive { authoritative: true, partial: false, .. }));
        let empty = Response { authoritative: true, ..Response::default() };
        assert_eq!(judge(&empty), Reply::Negative { authoritative: true, name_exists: true });
    }

    #[test]
    fn an_empty_answer_is_nodata_even_without_soa() {
        assert_eq!(judge(&Response::default()), Reply::Negative { authoritative: false, name_exists: true });
    }

    #[test]
    fn nxdomain_is_a_negative_also_after_a_cname() {
        let bare = Response { rcode: rcode::NX_DOMAIN, ..Response::default() };
        let chained = Response { rcode: rcode::NX_DOMAIN, ..answer([cname(HOST, "lb.example.com")]) };
        let expected = Reply::Negative { authoritative: false, name_exists: false };
        assert_eq!((judge(&bare), judge(&chained)), (expected.clone(), expected));
    }

    /// F-34.
    #[test]
    fn every_other_response_code_is_no_word() {
        let cases = [
            (1, NoWord::FormErr, "FormErr"),
            (2, NoWord::ServFail, "ServFail"),
            (4, NoWord::OtherRcode(4), "UnexpectedRcode"),
            (5, NoWord::Refused, "Refused"),
            (9, NoWord::OtherRcode(9), "UnexpectedRcode"),
            (4095, NoWord::OtherRcode(4095), "UnexpectedRcode"),
        ];
        for (rcode, no_word, reason) in cases {
            let reply = judge(&Response { rcode, ..answer([a(HOST, "198.51.100.10")]) });
            assert_eq!(reply.reason(), reason);
            assert_eq!(reply, Reply::NoWord(no_word));
        }
    }

    /// F-36.
    #[test]
    fn addresses_of_another_name_are_not_used() {
        assert_eq!(
            judge(&answer([a("other.example.net", "198.51.100.66")])),
            Reply::NoWord(NoWord::Malformed)
        );
        let mixed = answer([a(HOST, "198.51.100.10"), a("other.example.net", "198.51.100.66")]);
        assert_eq!(judge(&mixed), positive(&["198.51.100.10"]));
    }

    #[test]
    fn a_chain_is_followed_in_any_order_of_records() {
        let records = [
            a("c.example.com", "192.0.2.10"),
            cname("b.example.com", "c.example.com"),
            cname(HOST, "b.example.com"),
        ];
        assert_eq!(judge(&answer(records)), behind("c.example.com", &["192.0.2.10"]));
    }

    #[test]
    fn a_chain_that_ends_outside_the_answer_is_an_alias() {
        let response = answer([cname(HOST, "lb.example.com"), cname("lb.example.com", "lb.example.net")]);
        let alias = Judgement::Alias { target: name("lb.example.net"), authoritative: false };
        assert_eq!(response.judge(&name(HOST)), alias);
    }

    #[test]
    fn a_chain_with_soa_ends_without_address() {
        let mut response = answer([cname(HOST, "lb.example.com")]);
        response.authorities = vec![record("example.com", 30, RecordData::Soa)];
        assert_eq!(judge(&response), Reply::Negative { authoritative: false, name_exists: true });
    }

    /// Conformance 34.
    #[test]
    fn a_loop_and_a_chain_that_is_too_long_are_no_word() {
        let turn = answer([
            cname(HOST, "b.example.com"),
            cname("b.example.com", HOST),
            cname(HOST, "b.example.com"),
        ]);
        let own = answer([cname(HOST, HOST)]);
        assert_eq!(judge(&turn), Reply::NoWord(NoWord::CnameLoop));
        assert_eq!(judge(&own), Reply::NoWord(NoWord::CnameLoop));
        assert_eq!(judge(&answer(links(CHAIN_BUDGET))), behind("n8.example.com", &["192.0.2.10"]));
        assert_eq!(judge(&answer(links(CHAIN_BUDGET + 1))), Reply::NoWord(NoWord::CnameLoop));
    }

    fn links(count: usize) -> Vec<Record> {
        let label = |index| if index == 0 { HOST.to_owned() } else { format!("n{index}.example.com") };
        let chain = (0..count).map(|index| cname(&label(index), &label(index + 1)));
        chain.chain([a(&label(count), "192.0.2.10")]).collect()
    }

    #[test]
    fn two_cnames_at_one_name_are_not_understood() {
        let response = answer([cname(HOST, "a.example.com"), cname(HOST, "b.example.com")]);
        assert_eq!(judge(&response), Reply::NoWord(NoWord::Malformed));
    }

    #[test]
    fn a_truncated_answer_is_used_only_with_an_address_and_is_marked() {
        let truncated = |records| Response { truncated: true, ..answer(records) };
        let addresses = BTreeSet::from(["198.51.100.10".parse().unwrap()]);
        assert_eq!(
            judge(&truncated(vec![a(HOST, "198.51.100.10")])),
            Reply::Positive { addresses, authoritative: false, partial: true, alias: None }
        );
        assert_eq!(judge(&truncated(vec![])), Reply::NoWord(NoWord::TruncatedWithoutTcp));
    }

    #[test]
    fn a_referral_is_no_word() {
        let ns = record("cloud.example.com", 30, RecordData::Ns(name("ns.example.com")));
        let mut response = Response { authorities: vec![ns], ..Response::default() };
        assert_eq!(judge(&response), Reply::NoWord(NoWord::Referral));
        response.authorities.push(record("example.com", 30, RecordData::Soa));
        assert_eq!(judge(&response), Reply::Negative { authoritative: false, name_exists: true });
    }

    #[test]
    fn the_chain_has_the_smallest_ttl_of_its_records() {
        let response = answer([
            record(HOST, 300, RecordData::Cname(name("b.example.com"))),
            record("b.example.com", 5, RecordData::A("192.0.2.10".parse().unwrap())),
            record("z.example.com", 1, RecordData::A("192.0.2.11".parse().unwrap())),
        ]);
        let chain = response.chain(&name(HOST)).unwrap();
        assert_eq!((chain.links, chain.ttl), (1, Ttl::from_secs(5).ok()));
    }
}
