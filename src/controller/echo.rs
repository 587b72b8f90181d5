//! Tells the echo of our own writes from news, so that a write of a pass does not start the next pass (F-50).
//!
//! A watch shows our write like everybody else's, and often before the API server's answer to it is here. What is heard
//! while a write is under way is therefore judged when the write has ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use super::cache::Key;

/// An object and the kind of write.
type Subject = (&'static str, Key);

/// What was written last, and what was heard meanwhile.
#[derive(Debug, Default)]
struct Heard {
    /// Versions that our last write made; one that took two calls made two.
    ours: Vec<String>,
    /// Versions that were heard during the write that is under way.
    meanwhile: Option<Vec<String>>,
    /// Whether one of those was not ours.
    overtaken: bool,
    /// Whether the object was heard to be gone during the write that is under way: the one that it made, perhaps.
    gone: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Echoes(Mutex<BTreeMap<Subject, Heard>>);

impl Echoes {
    /// Whether a version that the watch shows has to be acted on: somebody else made it.
    pub(crate) fn is_news(&self, what: &'static str, key: &Key, version: &str) -> bool {
        let mut all = self.lock();
        let Some(heard) = all.get_mut(&(what, key.clone())) else { return true };
        match &mut heard.meanwhile {
            Some(meanwhile) => {
                meanwhile.push(version.to_owned());
                false
            }
            None => !heard.ours.iter().any(|ours| ours == version),
        }
    }

    /// A write begins. It ends when the value is dropped, however that comes.
    pub(crate) fn write(&self, what: &'static str, key: &Key) -> UnderWay<'_> {
        let subject = (what, key.clone());
        let mut all = self.lock();
        let heard = all.entry(subject.clone()).or_default();
        heard.ours.clear();
        heard.meanwhile = Some(Vec::new());
        UnderWay { echoes: self, subject }
    }

    /// Whether somebody else's version was heard during a write since this was last asked.
    pub(crate) fn take_overtaken(&self, what: &'static str, key: &Key) -> bool {
        self.lock().get_mut(&(what, key.clone())).is_some_and(|heard| std::mem::take(&mut heard.overtaken))
    }

    /// Forgets a deleted object; during a write when that has ended.
    pub(crate) fn forget(&self, what: &'static str, key: &Key) {
        let mut all = self.lock();
        let subject = (what, key.clone());
        match all.get_mut(&subject).filter(|heard| heard.meanwhile.is_some()) {
            Some(heard) => heard.gone = true,
            None => drop(all.remove(&subject)),
        }
    }

    /// A complete list was read: whether it has what is being written is not known.
    pub(crate) fn listed(&self, what: &'static str) {
        let of_kind = |((kind, _), _): &(&Subject, &mut Heard)| *kind == what;
        for (_, heard) in self.lock().iter_mut().filter(of_kind) {
            heard.gone |= heard.meanwhile.is_some();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, Heard>> {
        self.0.lock().expect("no panic while the echoes are locked")
    }
}

/// A write that has not ended.
pub(crate) struct UnderWay<'a> {
    echoes: &'a Echoes,
    subject: Subject,
}

impl UnderWay<'_> {
    /// The API server said which version the write made.
    pub(crate) fn made(&self, version: Option<String>) {
        if let Some(heard) = self.echoes.lock().get_mut(&self.subject) {
            heard.ours.extend(version);
        }
    }

    /// Whether what was written may be gone again already, so that nothing is to be remembered of it.
    pub(crate) fn may_be_gone(&self) -> bool {
        self.echoes.lock().get(&self.subject).is_some_and(|heard| heard.gone)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut all = self.echoes.lock();
        if all.get(&self.subject).is_some_and(|heard| heard.gone) {
            all.remove(&self.subject);
        } else if let Some(heard) = all.get_mut(&self.subject) {
            let meanwhile = heard.meanwhile.take().unwrap_or_default();
            heard.overtaken |= meanwhile.iter().any(|version| !heard.ours.contains(version));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: &str = "Gslb";

    fn key() -> Key {
        Key::new("web", "app")
    }

    fn wrote(echoes: &Echoes, versions: &[&str]) {
        let write = echoes.write(WHAT, &key());
        for version in versions {
            write.made(Some((*version).to_owned()));
        }
    }

    #[test]
    fn what_we_never_wrote_is_news() {
        assert!(Echoes::default().is_news(WHAT, &key(), "1"));
    }

    #[test]
    fn each_version_of_our_last_write_is_an_echo_and_every_other_one_is_news() {
        let echoes = Echoes::default();
        wrote(&echoes, &["2", "3"]);
        assert!(["2", "3"].iter().all(|version| !echoes.is_news(WHAT, &key(), version)));
        assert!(echoes.is_news(WHAT, &key(), "4"));
        assert!(echoes.is_news("DNSEndpoint", &key(), "2"), "another object");
        wrote(&echoes, &["5"]);
        assert!(echoes.is_news(WHAT, &key(), "2"));
    }

    #[test]
    fn an_echo_that_comes_before_the_answer_is_none_the_less_an_echo() {
        let echoes = Echoes::default();
        let write = echoes.write(WHAT, &key());
        assert!(!echoes.is_news(WHAT, &key(), "2"), "to be judged later");
        write.made(Some("2".to_owned()));
        drop(write);
        assert!(!echoes.take_overtaken(WHAT, &key()));
    }

    #[test]
    fn news_during_a_write_is_told_once_when_the_write_has_ended_however_it_ends() {
        for made in [None, Some("3".to_owned())] {
            let echoes = Echoes::default();
            let write = echoes.write(WHAT, &key());
            assert!(!echoes.is_news(WHAT, &key(), "2"));
            write.made(made);
            assert!(!echoes.take_overtaken(WHAT, &key()), "the write is under way");
            drop(write);
            assert!(echoes.take_overtaken(WHAT, &key()));
            assert!(!echoes.take_overtaken(WHAT, &key()));
        }
    }

    #[test]
    fn an_object_that_was_deleted_during_its_write_is_forgotten() {
        let echoes = Echoes::default();
        let write = echoes.write(WHAT, &key());
        echoes.forget(WHAT, &key());
        write.made(Some("2".to_owned()));
        assert!(write.may_be_gone());
        drop(write);
        assert!(echoes.is_news(WHAT, &key(), "2"));
        assert!(!echoes.write(WHAT, &key()).may_be_gone(), "the next write is another one");
    }

    #[test]
    fn a_list_that_is_read_during_a_write_makes_nothing_of_it_certain() {
        let echoes = Echoes::default();
        let write = echoes.write(WHAT, &key());
        echoes.listed("DNSEndpoint");
        assert!(!write.may_be_gone(), "another kind");
        echoes.listed(WHAT);
        assert!(write.may_be_gone());
    }
}
