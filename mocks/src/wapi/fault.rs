//! Faults, injected by value: what goes wrong, for which requests, how often.

use crate::trap::{Caught, Trap, Traps};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The password is rejected: 401 HTML, and it counts as a bad log-in.
    Unauthorized,
    /// 403 HTML.
    Forbidden,
    /// 503 with the text `Temporary Unavailable`.
    Unavailable,
    /// 503 with this `Retry-After`.
    Busy(&'static str),
    /// 502 HTML of a proxy in front of the grid.
    BadGateway,
    /// 504 HTML of the same: the grid took too long, and may still be at work.
    GatewayTimeout,
    /// 400 with this text: the grid understood and says no, for example for a missing permission.
    Refuse(&'static str),
    /// 200 with the HTML log-in page of something that answers in the grid's place.
    LoginPage,
    /// 200 with an HTML page that points to the grid master.
    MetaRefresh,
    /// The request is answered this much later.
    Slow(Duration),
    /// The connection ends before anything happened.
    ResetBeforeCommit,
    /// The request is carried out, and the reply is lost.
    ResetAfterCommit,
    /// The request is carried out, and something in between answers with this status and a page of its own.
    Replaced(u16),
    /// 200 with a text that shows the headers of the request.
    Echo,
    /// 200 with this JSON, so many times in a list.
    Flood(&'static str, usize),
}

/// A text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown fault '{0}': use wapi-401, wapi-403, wapi-503, wapi-502, wapi-504, wapi-html, wapi-refresh, \
     wapi-slow[=MILLISECONDS], wapi-reset-before or wapi-reset-after"
)]
pub struct UnknownFault(String);

impl FromStr for Fault {
    type Err = UnknownFault;

    /// The names that the command line uses.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownFault(text.to_owned());
        Ok(match text {
            "wapi-401" => Self::Unauthorized,
            "wapi-403" => Self::Forbidden,
            "wapi-503" => Self::Unavailable,
            "wapi-502" => Self::BadGateway,
            "wapi-504" => Self::GatewayTimeout,
            "wapi-html" => Self::LoginPage,
            "wapi-refresh" => Self::MetaRefresh,
            // Zone writes were seen to take one to three seconds on real grids.
            "wapi-slow" => Self::Slow(Duration::from_secs(3)),
            "wapi-reset-before" => Self::ResetBeforeCommit,
            "wapi-reset-after" => Self::ResetAfterCommit,
            _ => {
                let milliseconds = text.strip_prefix("wapi-slow=").ok_or_else(unknown)?;
                Self::Slow(Duration::from_millis(milliseconds.parse().map_err(|_| unknown())?))
            }
        })
    }
}

/// A fault, and the requests that it hits. Without conditions it hits all.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    fault: Fault,
    methods: Vec<String>,
    path: Option<String>,
    skip: u32,
    times: Option<u32>,
    share: f64,
}

impl From<Fault> for FaultRule {
    fn from(fault: Fault) -> Self {
        Self { fault, methods: Vec::new(), path: None, skip: 0, times: None, share: 1.0 }
    }
}

impl Fault {
    /// Only requests of that method.
    pub fn on_method(self, method: &str) -> FaultRule {
        FaultRule::from(self).on_method(method)
    }

    /// Only requests whose path and query contain the text.
    pub fn on_path(self, part: &str) -> FaultRule {
        FaultRule::from(self).on_path(part)
    }

    /// Only that many requests; then the rule is used up.
    pub fn times(self, times: u32) -> FaultRule {
        FaultRule::from(self).times(times)
    }
}

impl FaultRule {
    /// Only requests of that method; several calls allow several methods.
    #[must_use]
    pub fn on_method(mut self, method: &str) -> Self {
        self.methods.push(method.to_ascii_uppercase());
        self
    }

    /// Only requests whose path and query contain the text.
    #[must_use]
    pub fn on_path(mut self, part: &str) -> Self {
        self.path = Some(part.to_owned());
        self
    }

    /// Lets that many matching requests pass first.
    #[must_use]
    pub fn after(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    /// Only that many requests; then the rule is used up.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Only this share of the matching requests, 0 to 1, drawn from the grid's seed.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share.clamp(0.0, 1.0);
        self
    }

    fn matches(&self, method: &str, uri: &str) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method))
            && self.path.as_ref().is_none_or(|part| uri.contains(part.as_str()))
            && self.times != Some(0)
    }
}

/// The faults that are in force.
#[derive(Debug)]
pub struct Faults {
    inner: Mutex<Inner>,
    traps: Traps<IpAddr>,
}

#[derive(Debug)]
struct Inner {
    rules: Vec<FaultRule>,
    dice: StdRng,
}

impl Faults {
    pub(crate) fn seeded(seed: u64) -> Self {
        let inner = Inner { rules: Vec::new(), dice: StdRng::seed_from_u64(seed) };
        Self { inner: Mutex::new(inner), traps: Traps::default() }
    }

    /// Puts a fault into force.
    pub fn inject(&self, rule: impl Into<FaultRule>) {
        self.lock().rules.push(rule.into());
    }

    /// Ends all faults and puts this one into force, if there is one, in one step. Traps stay.
    pub fn replace(&self, fault: Option<Fault>) {
        self.lock().rules = fault.map(FaultRule::from).into_iter().collect();
    }

    /// Sets a trap for the next effective write of a client: it is carried out and never answered.
    pub fn trap_write_of(&self, client: IpAddr) -> Trap {
        self.traps.set(client)
    }

    /// Ends all faults and traps.
    pub fn clear(&self) {
        self.lock().rules.clear();
        self.traps.clear();
    }

    /// The faults that are still in force; used-up rules are not.
    pub fn in_force(&self) -> Vec<Fault> {
        self.lock().rules.iter().filter(|rule| rule.times != Some(0)).map(|rule| rule.fault).collect()
    }

    /// The faults that hit a request, in the order of injection.
    pub(crate) fn hit(&self, targets: &[(String, String)]) -> Vec<Fault> {
        let mut inner = self.lock();
        let Inner { rules, dice } = &mut *inner;
        let mut hits = Vec::new();
        for rule in rules.iter_mut() {
            if !targets.iter().any(|(method, uri)| rule.matches(method, uri)) {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if rule.share < 1.0 && !dice.random_bool(rule.share) {
                continue;
            }
            rule.times = rule.times.map(|times| times - 1);
            hits.push(rule.fault);
        }
        hits
    }

    pub(crate) fn catch_write_of(&self, client: IpAddr) -> Option<Caught> {
        self.traps.catch(|trapped| *trapped == client)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_hits_only_what_it_names_and_only_so_often() {
        let faults = Faults::seeded(1);
        faults.inject(Fault::Unavailable.on_method("POST").on_path("zone_delegated").after(1).times(1));
        let hit =
            |method: &str| faults.hit(&[(method.to_owned(), "/wapi/v2.12.3/zone_delegated".to_owned())]);
        assert_eq!(hit("GET"), []);
        assert_eq!(hit("POST"), []);
        assert_eq!(hit("POST"), [Fault::Unavailable]);
        assert_eq!(hit("POST"), []);
        assert_eq!(faults.in_force(), []);
    }

    #[test]
    fn a_fault_that_replaces_the_others_is_the_only_one() {
        let faults = Faults::seeded(1);
        faults.inject(Fault::Unavailable);
        faults.replace(Some(Fault::LoginPage));
        assert_eq!(faults.hit(&[("GET".to_owned(), "/".to_owned())]), [Fault::LoginPage]);
        faults.replace(None);
        assert_eq!(faults.in_force(), []);
    }

    #[test]
    fn the_same_seed_hits_the_same_requests() {
        let draw = || {
            let faults = Faults::seeded(7);
            faults.inject(FaultRule::from(Fault::Unavailable).share(0.5));
            (0..32).map(|_| faults.hit(&[("GET".to_owned(), "/".to_owned())]).len()).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().contains(&0) && draw().contains(&1));
    }

    #[test]
    fn faults_have_names_for_the_command_line() {
        assert_eq!("wapi-401".parse(), Ok(Fault::Unauthorized));
        assert_eq!("wapi-slow=50".parse(), Ok(Fault::Slow(Duration::from_millis(50))));
        assert!("wapi-teapot".parse::<Fault>().is_err());
    }
}
