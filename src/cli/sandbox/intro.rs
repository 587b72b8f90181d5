//! What people are told: where everything is, and what to try.

use std::fmt::Write;
use std::path::Path;

use super::grid;
use super::topology::{HOST, Mode, Site, ZONE};
use super::world::World;

/// Told at once.
pub(super) fn starting(world: &World) -> String {
    format!(
        "Three clusters (eu, us, za), each with its own Kubernetes API, controller and DNS server, and one grid.\n\
         Logs: {}/{{eu,us,za}}/\n",
        world.folder().display()
    )
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
    let (question, objects) = match world.mode {
        Mode::Delegation => (format!("{ZONE} NS"), "zone_delegated?_return_fields=fqdn,delegate_to,comment"),
        Mode::Records => (HOST.to_owned(), "record:a?_return_fields=name,ipv4addr,comment,extattrs"),
    };
    line(format!("dig @{} -p {} +norecurse {question}", parent.ip(), parent.port()));
    line(format!(
        "curl --cacert {} -u {}:{} '{}{objects}'",
        world.grid.files().ca.display(),
        grid::ADMIN,
        grid::admin_password(false),
        world.grid.url(),
    ));
    line(format!("curl {}", world.ports.application_of(Site::Eu)));
    line(format!(
        "gslb-bridge changes verify --context eu --against {}",
        super::environment::change_log_in(world.folder(), Site::Eu).display()
    ));
    line(
        "gslb-bridge sandbox inject app-down eu     # and app-up, isolate, wapi-503, …: see --help"
            .to_owned(),
    );
    if let Some(path) = ready_file {
        line(format!("cat {}", path.display()));
    }
    text.push_str("\nCtrl-C ends everything.\n");
    text
}
