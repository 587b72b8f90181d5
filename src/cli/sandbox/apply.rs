//! Carries out injections.

use anyhow::Context;
use gslb_mocks::wapi::Fault;
use serde_json::{Value, json};

use super::children::Role;
use super::fault::Injection;
use super::grid::SimulatedGrid;
use super::kill;
use super::parent::Parent;
use super::timeline::Happening;
use super::topology::Site;
use super::world::World;

/// The cluster that has something to write while a fault of the grid keeps it from that.
const HELD: Site = Site::Eu;

/// What an injection did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    /// One sentence.
    pub(super) text: String,
    /// The same as values.
    pub(super) data: Value,
}

impl Report {
    fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), data: Value::Null }
    }
}

/// Carries out one injection and tells the timeline.
///
/// # Errors
/// It could not be done, or did not lead to what it must lead to.
pub(super) async fn apply(world: &World, injection: Injection) -> anyhow::Result<Report> {
    world.timeline.tell(happening(injection, format!("injected: {injection}")));
    let report = carry_out(world, injection).await;
    match &report {
        Ok(report) => {
            world.timeline.tell(happening(injection, report.text.clone()).with(report.data.clone()));
        }
        Err(error) => world.timeline.tell(happening(injection, format!("{injection} failed: {error:#}"))),
    }
    world.refresh()?;
    report
}

fn happening(injection: Injection, text: String) -> Happening {
    match injection.site() {
        Some(site) => Happening::at(site, "inject", text),
        None => Happening::overall("inject", text),
    }
}

async fn carry_out(world: &World, injection: Injection) -> anyhow::Result<Report> {
    injection.fits(world.parent.provider()).map_err(anyhow::Error::msg)?;
    Ok(match injection {
        Injection::AppDown { cluster } => {
            world.cluster(cluster).set_ready(false)?;
            world.application(cluster).stop();
            Report::said(format!("the application of {cluster} is down"))
        }
        Injection::AppUp { cluster } => {
            let listening = world.application(cluster).restart().await;
            listening.with_context(|| format!("the application of {cluster} cannot listen"))?;
            world.cluster(cluster).set_ready(true)?;
            Report::said(format!("the application of {cluster} is up"))
        }
        Injection::ClusterDown { cluster } => cluster_down(world, cluster).await,
        Injection::ClusterUp { cluster } => cluster_up(world, cluster).await,
        Injection::DnsDown { cluster } => {
            world.process(cluster, Role::Dns).stop().await;
            Report::said(format!("the DNS server of {cluster} is down"))
        }
        Injection::DnsUp { cluster } => {
            world.process(cluster, Role::Dns).resume().await;
            let pid = world.process(cluster, Role::Dns).running().await;
            let text = format!("the DNS server of {cluster} is up");
            Report { text, data: json!({"pid": pid}) }
        }
        Injection::Isolate { cluster } => {
            world.gate.isolate(cluster);
            Report::said(format!("{cluster} is cut off from its peers and the parent"))
        }
        Injection::Rejoin { cluster } => {
            world.gate.rejoin(cluster);
            Report::said(format!("{cluster} reaches its peers and the parent again"))
        }
        Injection::Wapi401
        | Injection::Wapi503
        | Injection::WapiHtml
        | Injection::WapiSlow
        | Injection::WapiLocked
        | Injection::WapiApproval
        | Injection::WapiMasterMoved => at_grid(world.parent.grid()?, injection)?,
        Injection::Clear => clear(world)?,
        Injection::ExternalDnsDown { cluster } => {
            world.parent.external_dns()?.stop(cluster);
            Report::said(format!("both external-dns of {cluster} are down"))
        }
        Injection::ExternalDnsUp { cluster } => {
            world.parent.external_dns()?.run(cluster);
            Report::said(format!("both external-dns of {cluster} are up"))
        }
        Injection::KillController { cluster, at } => kill::run(world, cluster, at).await?.report()?,
    })
}

async fn cluster_down(world: &World, cluster: Site) -> Report {
    for role in Role::ALL {
        world.process(cluster, role).stop().await;
    }
    if let Parent::ExternalDns(all) = &world.parent {
        all.stop(cluster);
    }
    Report::said(format!("both daemons of {cluster} are down"))
}

async fn cluster_up(world: &World, cluster: Site) -> Report {
    for role in Role::ALL {
        world.process(cluster, role).resume().await;
        world.process(cluster, role).running().await;
    }
    if let Parent::ExternalDns(all) = &world.parent {
        all.run(cluster);
    }
    Report::said(format!("both daemons of {cluster} are up"))
}

fn clear(world: &World) -> anyhow::Result<Report> {
    Ok(Report::said(match &world.parent {
        Parent::Grid(grid) => {
            grid.clear()?;
            "the grid is well"
        }
        Parent::ExternalDns(all) => {
            Site::ALL.into_iter().for_each(|site| all.run(site));
            "every external-dns runs"
        }
    }))
}

/// A fault of the grid.
fn at_grid(grid: &SimulatedGrid, injection: Injection) -> anyhow::Result<Report> {
    let (fault, text) = match injection {
        Injection::Wapi503 => (Fault::Unavailable, "the grid is unavailable (503)"),
        Injection::WapiHtml => (Fault::LoginPage, "the grid answers with an HTML log-in page"),
        Injection::WapiSlow => {
            let slow = "wapi-slow".parse().context("the simulator does not know how to be slow")?;
            (slow, "the grid answers three seconds late")
        }
        Injection::WapiMasterMoved => {
            (Fault::MetaRefresh, "the grid's address is that of a candidate, which refers to another one")
        }
        Injection::Wapi401 => {
            grid.change_passwords()?;
            return Ok(Report::said("the grid's passwords are other ones now"));
        }
        Injection::WapiLocked => {
            grid.lock(HELD)?;
            return Ok(Report::said(format!("the delegation lost {HELD} and is locked by the DNS team")));
        }
        Injection::WapiApproval => {
            grid.demand_approval(HELD)?;
            let text = format!("the delegation lost {HELD}, and what the daemons write needs approval");
            return Ok(Report::said(text));
        }
        _ => anyhow::bail!("`{injection}` is no fault of a grid"),
    };
    grid.inject(fault)?;
    Ok(Report::said(text))
}
