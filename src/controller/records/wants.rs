//! What the Gslbs want at their hosts, and how the hosts stand at the provider.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use gslb_core::changelog::ObjectRef;
use gslb_core::condition::{Condition, ConditionKind, Truth};
use gslb_core::group::Group;
use gslb_core::name::DomainName;
use gslb_core::records::{DesiredHost, Unfit};
use tokio::sync::watch;

use crate::controller::cache::Key;
use crate::controller::gslb::group::Id;

/// Reason of a host of which nothing is known yet.
pub(super) const NOT_ASKED: &str = "NotAsked";

/// What a Gslb wants at one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) gslb: Id,
    /// For the change log.
    pub(crate) object: ObjectRef,
    pub(crate) wish: Result<DesiredHost, Unfit>,
    /// Whether this cluster can serve the host.
    pub(crate) able: bool,
}

/// Stands for a Gslb that is gone.
pub(super) fn nobody() -> Id {
    Id { key: Key::new("", ""), group: Group::Canonical }
}

#[derive(Debug, Default)]
struct Plain {
    wants: BTreeMap<DomainName, Want>,
    told: BTreeMap<DomainName, Condition>,
}

/// Handle around the wants.
#[derive(Debug)]
pub(crate) struct Records {
    plain: Mutex<Plain>,
    changed: watch::Sender<u64>,
}

impl Default for Records {
    fn default() -> Self {
        Self { plain: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Records {
    /// A Gslb wants exactly this, and at those of `hosts` that are missing what it wanted before.
    pub(crate) fn want(&self, gslb: &Id, wants: BTreeMap<DomainName, Want>, hosts: &BTreeSet<DomainName>) {
        let mut plain = self.lock();
        let before = plain.wants.len();
        plain.wants.retain(|host, want| want.gslb != *gslb || hosts.contains(host));
        let mut changed = plain.wants.len() != before;
        for (host, want) in wants {
            changed |= plain.wants.get(&host) != Some(&want);
            plain.wants.insert(host, want);
        }
        let Plain { wants, told } = &mut *plain;
        told.retain(|host, _| wants.contains_key(host));
        drop(plain);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// A Gslb is gone.
    pub(crate) fn forget(&self, gslb: &Id) {
        self.want(gslb, BTreeMap::new(), &BTreeSet::new());
    }

    /// Tells when a want changed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// What is wanted of the hosts within a zone's name.
    pub(crate) fn within(&self, zone: &DomainName) -> BTreeMap<DomainName, Want> {
        let plain = self.lock();
        let within = plain.wants.iter().filter(|(host, _)| host.is_within(zone));
        within.map(|(host, want)| (host.clone(), want.clone())).collect()
    }

    /// Takes in how a host stands; gives the Gslb that has to tell something else than before.
    pub(crate) fn tell(&self, host: &DomainName, condition: Condition) -> Option<Id> {
        let mut plain = self.lock();
        let gslb = plain.wants.get(host)?.gslb.clone();
        let before = plain.told.insert(host.clone(), condition.clone());
        (before != Some(condition)).then_some(gslb)
    }

    /// How these hosts stand together; nothing if there are none.
    pub(crate) fn told(&self, hosts: &BTreeSet<DomainName>) -> Option<Condition> {
        let plain = self.lock();
        let unasked = || {
            let message = "the provider has not been asked about the records yet";
            Condition::unknown(ConditionKind::InSync, NOT_ASKED, message)
        };
        let all = hosts.iter().map(|host| plain.told.get(host).cloned().unwrap_or_else(unasked));
        together(all.collect())
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.plain.lock().expect("no panic while the wants are locked")
    }
}

/// The worst first, and of those that are as bad every different sentence.
fn together(conditions: Vec<Condition>) -> Option<Condition> {
    let badness = |condition: &Condition| match condition.status {
        Truth::False => 0,
        Truth::Unknown => 1,
        Truth::True => 2,
    };
    let worst = conditions.iter().map(badness).min()?;
    let mut left = conditions.into_iter().filter(|condition| badness(condition) == worst);
    let mut first = left.next()?;
    let mut sentences = vec![first.message.clone()];
    for condition in left {
        // What is plain good lends its words to whatever has something to say.
        if first.reason == super::host::IN_SYNC && condition.reason != super::host::IN_SYNC {
            first.reason = condition.reason;
            sentences.clear();
        }
        let news = condition.reason != super::host::IN_SYNC || first.reason == super::host::IN_SYNC;
        if news && !sentences.contains(&condition.message) {
            sentences.push(condition.message);
        }
    }
    Some(Condition { message: sentences.join("; "), ..first })
}

#[cfg(test)]
mod tests {
    use gslb_core::records::HostWish;

    use super::*;

    const KIND: ConditionKind = ConditionKind::InSync;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn want(gslb: &str, host: &str) -> (DomainName, Want) {
        let claim = "cloud.example.com/eu".parse().unwrap();
        let wish = Ok(DesiredHost { host: name(host), claim, wish: HostWish::Down });
        let gslb = Id { key: Key::new("web", gslb), group: Group::Canonical };
        (name(host), Want { gslb, object: super::super::unknown_object(), wish, able: true })
    }

    #[test]
    fn what_a_gslb_no_longer_names_is_wanted_no_more_and_what_it_waits_for_goes_on() {
        let records = Records::default();
        let zone = name("cloud.example.com");
        let (app, shop) = (want("a", "app.cloud.example.com"), want("a", "shop.cloud.example.com"));
        let gslb = app.1.gslb.clone();
        let hosts = |hosts: &[&str]| hosts.iter().map(|host| name(host)).collect::<BTreeSet<_>>();
        records.want(&gslb, [app, shop].into(), &hosts(&["app.cloud.example.com", "shop.cloud.example.com"]));
        records.want(&gslb, BTreeMap::new(), &hosts(&["app.cloud.example.com"]));
        let left: Vec<_> = records.within(&zone).into_keys().collect();
        assert_eq!(left, [name("app.cloud.example.com")]);
        records.forget(&gslb);
        assert_eq!(records.within(&zone), BTreeMap::new());
    }

    #[test]
    fn the_worst_of_the_hosts_is_told_with_every_sentence_as_bad() {
        let good = || Condition::good(KIND, "InSync", "fine");
        let noted = Condition::good(KIND, "LastRecordKept", "kept");
        let bad = |reason, message: &str| Condition::bad(KIND, reason, message);
        assert_eq!(together(vec![]), None);
        assert_eq!(together(vec![good(), good()]), Some(good()));
        assert_eq!(together(vec![good(), noted.clone(), good()]), Some(noted.clone()));
        assert_eq!(together(vec![noted.clone(), good()]), Some(noted));
        assert_eq!(
            together(vec![good(), bad("CnameConflict", "alias"), bad("ForeignRecords", "strangers")]),
            Some(bad("CnameConflict", "alias; strangers"))
        );
    }
}
