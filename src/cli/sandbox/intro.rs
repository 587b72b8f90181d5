//! What people are told: where everything is, and what to try.

use std::fmt::Write;
use std::path::Path;

use super::external_dns::PREFIX;
use super::grid::{self, SimulatedGrid};
use super::parent::Parent;
use super::topology::{HOST, Mode, OWN_NAMESPACE, Site, ZONE};
use super::world::World;

/// Told at once.
pub(super) fn starting(world: &World) -> String {
    let clusters = "Three clusters (eu, us, za), each with its own Kubernetes API, controller";
    let folder = world.folder().display();
    match &world.parent {
        Parent::Grid(_) => {
            format!("{clusters} and DNS server, and one grid.\nLogs: {folder}/{{eu,us,za}}/\n")
        }
        Parent::ExternalDns(_) => format!(
            "{clusters}, DNS server and two external-dns (modelled),\nand one parent zone at a server with dynamic updates.\nLogs: {folder}/{{eu,us,za}}/\n"
        ),
    }
}

/// Told when everything answers.
pub(super) fn ready(world: &World, ready_file: Option<&Path>) -> String {
    let mut text = String::from("\nEverything answers. Try, in a second terminal:\n\n");
    let mut line = |line: String| {
        // Strings take all that is written.
        writeln!(text, "  {line}").unwrap_or_default();
    };
    let dig = |site: Site| {
        let dns = world.ports.dns_of(site);
        format!("dig +short @{} -p {} {HOST}", dns.ip(), dns.port())
    };
    let parent = world.ports.parent_dns();
    line(format!("export KUBECONFIG={}", world.kubeconfig().display()));
    line("kubectl --context eu -n demo get gslb,ingress,endpointslices".to_owned());
    line("kubectl --context eu get zonedelegations,providerchanges".to_owned());
    for site in Site::ALL {
        line(dig(site));
    }
    let at_parent = format!("dig @{} -p {} +norecurse", parent.ip(), parent.port());
    match &world.parent {
        Parent::Grid(grid) => at_grid(world.mode, grid, &at_parent).into_iter().for_each(&mut line),
        Parent::ExternalDns(_) => at_zone(&at_parent).into_iter().for_each(&mut line),
    }
    line(format!("curl {}", world.ports.application_of(Site::Eu)));
    line(format!(
        "gslb-bridge changes verify --context eu --against {}",
        super::environment::change_log_in(world.folder(), Site::Eu).display()
    ));
    let fault = match &world.parent {
        Parent::Grid(_) => "wapi-503",
        Parent::ExternalDns(_) => "external-dns-down",
    };
    line(format!("gslb-bridge sandbox inject app-down eu     # and app-up, isolate, {fault}, …: see --help"));
    if let Some(path) = ready_file {
        line(format!("cat {}", path.display()));
    }
    text.push_str("\nCtrl-C ends everything.\n");
    text
}

/// What can be asked of a grid.
fn at_grid(mode: Mode, grid: &SimulatedGrid, at_parent: &str) -> [String; 2] {
    let (question, objects) = match mode {
        Mode::Delegation => (format!("{ZONE} NS"), "zone_delegated?_return_fields=fqdn,delegate_to,comment"),
        Mode::Records => (HOST.to_owned(), "record:a?_return_fields=name,ipv4addr,comment,extattrs"),
    };
    let curl = format!(
        "curl --cacert {} -u {}:{} '{}{objects}'",
        grid.files().ca.display(),
        grid::ADMIN,
        grid::admin_password(false),
        grid.url(),
    );
    [format!("{at_parent} {question}"), curl]
}

/// What can be asked where external-dns writes: what eu wants, what the zone refers to, its glue, and whose they are.
fn at_zone(at_parent: &str) -> [String; 4] {
    let server = Site::Eu.name_server();
    [
        format!("kubectl --context eu -n {OWN_NAMESPACE} get dnsendpoints -o yaml"),
        format!("{at_parent} {ZONE} NS"),
        format!("{at_parent} +short {server} A"),
        format!("{at_parent} +short {PREFIX}ns-{ZONE} TXT {PREFIX}a-{server} TXT"),
    ]
}
