//! One question to all addresses of a peer, and what the replies say together.

use std::net::SocketAddr;

use crate::reply::{NoWord, Reply};
use crate::target::{Targets, is_usable};

/// The replies of all addresses of a peer to one question, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    replies: Vec<(SocketAddr, Reply)>,
}

/// What a round says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every address that gave a definite answer gave addresses.
    Positive(Targets),
    /// The same, but every answer was cut and could not be had whole: there may be more addresses.
    Partial(Targets),
    /// Every address that gave a definite answer said no.
    Negative {
        /// All of them set AA: they are gslb-bridge servers, which know (k8gb's plugin never sets it,
        /// contract §8.4).
        authoritative: bool,
    },
    /// Some said yes, some no.
    Mixed(Targets),
    /// No address gave a definite answer.
    NoWord(NoWord),
}

impl Round {
    /// Collects the replies. No reply at all (no address known) reads as no word.
    pub fn new(replies: impl IntoIterator<Item = (SocketAddr, Reply)>) -> Self {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.sort_by_key(|(address, _)| *address);
        Self { replies }
    }

    /// What the replies say together.
    pub fn verdict(&self) -> Verdict {
        let mut targets = Targets::new();
        let (mut positive, mut whole, mut negative, mut authoritative) = (false, false, false, true);
        let mut silence = None;
        for (_, reply) in &self.replies {
            match reply {
                Reply::Positive { addresses, partial, .. } => {
                    let usable: Targets = addresses.iter().copied().filter(|a| is_usable(*a)).collect();
                    if usable.is_empty() {
                        // Nothing that a client could reach is as good as nothing said.
                        silence.get_or_insert(NoWord::Malformed);
                        continue;
                    }
                    positive = true;
                    whole |= !*partial;
                    targets.extend(usable);
                }
                Reply::Negative { authoritative: aa, .. } => {
                    negative = true;
                    authoritative &= *aa;
                }
                Reply::NoWord(cause) => {
                    silence.get_or_insert_with(|| cause.clone());
                }
            }
        }
        match (positive, negative) {
            (true, false) if whole => Verdict::Positive(targets),
            (true, false) => Verdict::Partial(targets),
            (false, true) => Verdict::Negative { authoritative },
            (true, true) => Verdict::Mixed(targets),
            (false, false) => Verdict::NoWord(silence.unwrap_or(NoWord::Timeout)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([198, 51, 100, last], 53))
    }
    fn yes(last: u8) -> Reply {
        let addresses = Targets::from([[192, 0, 2, last].into()]);
        Reply::Positive { addresses, authoritative: false, partial: false, alias: None }
    }
    fn cut(last: u8) -> Reply {
        let addresses = Targets::from([[192, 0, 2, last].into()]);
        Reply::Positive { addresses, authoritative: false, partial: true, alias: None }
    }
    fn no(authoritative: bool) -> Reply {
        Reply::Negative { authoritative, name_exists: false }
    }
    const SILENT: Reply = Reply::NoWord(NoWord::Timeout);

    /// Conformance 102; F-31.
    #[test]
    fn silent_addresses_do_not_count_against_the_others_and_one_whole_answer_is_enough() {
        let targets = Targets::from([[192, 0, 2, 1].into(), [192, 0, 2, 2].into()]);
        let cases = [
            (vec![yes(1), yes(2)], Verdict::Positive(targets.clone())),
            (vec![cut(1), yes(2)], Verdict::Positive(targets.clone())),
            (vec![cut(1), SILENT, cut(2)], Verdict::Partial(targets)),
            (vec![yes(1), SILENT], Verdict::Positive(Targets::from([[192, 0, 2, 1].into()]))),
            (vec![no(false), SILENT], Verdict::Negative { authoritative: false }),
            (vec![no(true), no(true)], Verdict::Negative { authoritative: true }),
            (vec![no(true), no(false)], Verdict::Negative { authoritative: false }),
            (vec![yes(1), no(true)], Verdict::Mixed(Targets::from([[192, 0, 2, 1].into()]))),
            (vec![SILENT, Reply::NoWord(NoWord::ServFail)], Verdict::NoWord(NoWord::Timeout)),
            (vec![], Verdict::NoWord(NoWord::Timeout)),
        ];
        for (replies, expected) in cases {
            let round = Round::new(replies.into_iter().zip(1..).map(|(reply, last)| (at(last), reply)));
            assert_eq!(round.verdict(), expected);
        }
    }
}
