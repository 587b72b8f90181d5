//! Who can reach whom.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tokio::sync::watch;

use super::topology::Site;

/// One end of a way between sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A cluster.
    Site(Site),
    /// The grid and its DNS.
    Parent,
    /// Somebody at this machine who looks in from outside: always let through.
    Outside,
}

impl End {
    /// Who sends from an address.
    pub(super) fn of(address: IpAddr) -> Self {
        Site::of(address).map_or(Self::Outside, Self::Site)
    }
}

/// The sites that are cut off from all others.
#[derive(Debug, Default)]
pub(super) struct Gate(watch::Sender<BTreeSet<Site>>);

impl Gate {
    pub(super) fn isolate(&self, site: Site) {
        self.0.send_if_modified(|isolated| isolated.insert(site));
    }

    pub(super) fn rejoin(&self, site: Site) {
        self.0.send_if_modified(|isolated| isolated.remove(&site));
    }

    /// Whether something may pass now.
    pub(super) fn is_open(&self, from: End, to: End) -> bool {
        is_open(&self.0.borrow(), from, to)
    }

    /// Completes once the way is open, or is not: as wanted.
    pub(super) async fn until(&self, from: End, to: End, open: bool) {
        // The gate outlives what waits for it; if not, it never changes again.
        if self.0.subscribe().wait_for(|isolated| is_open(isolated, from, to) == open).await.is_err() {
            std::future::pending().await
        }
    }
}

fn is_open(isolated: &BTreeSet<Site>, from: End, to: End) -> bool {
    let cut = |end| matches!(end, End::Site(site) if isolated.contains(&site));
    from == End::Outside || from == to || !(cut(from) || cut(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isolated_site_reaches_itself_only_and_people_still_reach_it() {
        let gate = Gate::default();
        gate.isolate(Site::Eu);
        let (eu, us, za) = (End::Site(Site::Eu), End::Site(Site::Us), End::Site(Site::Za));
        assert!(gate.is_open(eu, eu));
        assert!(gate.is_open(us, za));
        assert!(gate.is_open(us, End::Parent));
        assert!(gate.is_open(End::Outside, eu));
        assert!(!gate.is_open(eu, us));
        assert!(!gate.is_open(us, eu));
        assert!(!gate.is_open(eu, End::Parent));
        gate.rejoin(Site::Eu);
        assert!(gate.is_open(eu, us));
    }
}
