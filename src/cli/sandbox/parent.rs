//! Whoever holds the parent zone: a grid, or a server that external-dns updates.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;

use super::external_dns::ExternalDns;
use super::grid::SimulatedGrid;
use super::topology::{Provider, Site};

/// The parent zone with everything that writes and serves it.
#[derive(Debug)]
pub(super) enum Parent {
    /// `--provider infoblox`
    Grid(SimulatedGrid),
    /// `--provider external-dns`
    ExternalDns(ExternalDns),
}

impl Parent {
    /// Which of the two it is.
    pub(super) fn provider(&self) -> Provider {
        match self {
            Self::Grid(_) => Provider::Infoblox,
            Self::ExternalDns(_) => Provider::ExternalDns,
        }
    }

    /// The grid, for what only a grid has.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn grid(&self) -> anyhow::Result<&SimulatedGrid> {
        match self {
            Self::Grid(grid) => Ok(grid),
            Self::ExternalDns(_) => anyhow::bail!("there is no grid with --provider external-dns"),
        }
    }

    /// Every cluster's external-dns, for what only they can do.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn external_dns(&self) -> anyhow::Result<&ExternalDns> {
        match self {
            Self::ExternalDns(all) => Ok(all),
            Self::Grid(_) => anyhow::bail!("there is no external-dns with --provider infoblox"),
        }
    }

    /// Where its DNS really listens.
    ///
    /// # Errors
    /// The operating system does not say.
    pub(super) fn dns(&self) -> anyhow::Result<SocketAddr> {
        let address = match self {
            Self::Grid(grid) => grid.dns(),
            Self::ExternalDns(all) => all.dns(),
        };
        address.context("the parent's DNS has no address")
    }

    /// CA file and URL of the grid, if there is one.
    pub(super) fn wapi(&self) -> Option<(&Path, String)> {
        let grid = self.grid().ok()?;
        Some((&grid.files().ca, grid.url()))
    }

    /// The delegation as it is stored: names of servers with their addresses. A server without one has an empty one.
    pub(super) fn stored(&self) -> Vec<(String, String)> {
        match self {
            Self::Grid(grid) => grid.stored(),
            Self::ExternalDns(all) => all.stored(),
        }
    }

    /// The sites that stand in the delegation with exactly their address.
    pub(super) fn delegated(&self) -> Vec<Site> {
        Site::in_delegation(&self.stored())
    }

    /// How many writes changed something so far.
    pub(super) fn writes(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.since(0).iter().filter(|entry| entry.effective).count(),
            Self::ExternalDns(all) => all.writes_after(0).len(),
        }
    }
}
