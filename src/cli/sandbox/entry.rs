//! A site's entry in the delegation where its controller keeps it: at the grid, or in the cluster's DNSEndpoint.

use gslb_mocks::Trap;
use gslb_mocks::wapi;

use super::grid::site_of;
use super::parent::Parent;
use super::topology::Site;
use super::world::World;

/// The entry of one site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) world: &'a World,
    pub(super) site: Site,
}

impl Entry<'_> {
    /// Takes it away, as somebody would by hand. Gives the moment, for [`Self::writes_since`].
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn remove_by_hand(&self) -> anyhow::Result<u64> {
        match &self.world.parent {
            Parent::Grid(grid) => {
                let mark = grid.mark();
                grid.remove_by_hand(self.site).map(|()| mark)
            }
            Parent::ExternalDns(_) => self.world.cluster(self.site).remove_from_delegation(),
        }
    }

    /// Catches the controller's next effective write of it.
    pub(super) fn trap_write(&self) -> Trap {
        match &self.world.parent {
            Parent::Grid(grid) => grid.trap_write(self.site),
            Parent::ExternalDns(_) => self.world.cluster(self.site).trap_delegation(),
        }
    }

    /// Effective writes since a moment of [`Self::remove_by_hand`].
    pub(super) fn writes_since(&self, moment: u64) -> usize {
        let is_write = |entry: &wapi::Entry| entry.effective && site_of(entry) == Some(self.site);
        match &self.world.parent {
            Parent::Grid(grid) => grid.since(moment).iter().filter(|entry| is_write(entry)).count(),
            Parent::ExternalDns(_) => {
                let generation = self.world.cluster(self.site).delegation_generation();
                usize::try_from(generation.saturating_sub(moment)).unwrap_or(usize::MAX)
            }
        }
    }

    /// Whether it stands in the parent's delegation, and where the controller keeps it.
    pub(super) fn is_there(&self) -> bool {
        let kept = match &self.world.parent {
            Parent::Grid(_) => true,
            Parent::ExternalDns(_) => self.world.cluster(self.site).is_in_delegation(),
        };
        kept && self.world.parent.delegated().contains(&self.site)
    }

    /// The requests so far, for [`Self::was_read_since`].
    pub(super) fn requests(&self) -> u64 {
        match &self.world.parent {
            Parent::Grid(grid) => grid.mark(),
            Parent::ExternalDns(_) => self.world.cluster(self.site).requests(),
        }
    }

    /// Whether the controller read it since.
    pub(super) fn was_read_since(&self, requests: u64) -> bool {
        let is_read = |entry: &wapi::Entry| {
            site_of(entry) == Some(self.site) && entry.method == "GET" && entry.uri.contains("zone_delegated")
        };
        match &self.world.parent {
            Parent::Grid(grid) => grid.since(requests).iter().any(is_read),
            Parent::ExternalDns(_) => self.world.cluster(self.site).read_delegation_since(requests),
        }
    }
}
