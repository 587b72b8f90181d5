//! Documents that must say what the code says.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod says;

use std::fs;
use std::path::Path;

use gslb_bridge::config::{Form, RawConfig, Readers, Settings, VARIABLES, Variable};
use gslb_bridge::dns::settings::DnsSettings;
use gslb_bridge::metrics;
use gslb_bridge::webhook::settings::WebhookSettings;

use self::says::assert_says;

#[test]
fn the_reference_lists_every_setting() {
    let rows: String = VARIABLES.iter().map(row).collect();
    let table = format!(
        "| Variable | Key in the file | Read by | Default | Meaning |\n|---|---|---|---|---|\n{rows}"
    );
    assert_says("docs/configuration.md", "variables", &table);
}

#[test]
fn the_reference_lists_every_metric_of_run() {
    assert_says("docs/operating.md", "metrics", &metrics::reference());
}

#[test]
fn the_reference_lists_every_metric_of_the_webhook() {
    assert_says("docs/webhook.md", "metrics", &gslb_bridge::webhook::reference());
}

fn row(variable: &Variable) -> String {
    let Variable { name, key, form, default, meaning, secret, readers } = variable;
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let (key, default) = (code(key.unwrap_or_default()), code(default));
    let form = match form {
        Form::List | Form::Zones => ", a list",
        Form::Text | Form::Path | Form::Version | Form::Whole | Form::Decimal | Form::Flag => "",
    };
    let readers = match readers {
        Readers::Run => "`run`",
        Readers::Dns => "`dns`",
        Readers::Webhook => "`webhook`",
        Readers::Both => "`run`, `dns`",
        Readers::Writers => "`run`, `webhook`",
        Readers::All => "all",
    };
    let secret = if *secret { " Never shown." } else { "" };
    format!("| `{name}` | {key}{form} | {readers} | {default} | {meaning}{secret} |\n")
}

#[test]
fn the_example_of_a_configuration_file_has_every_key_and_is_taken() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/gslb-bridge.yaml");
    let raw = RawConfig::default().and_file(Some(&path));
    assert_eq!(Settings::resolve(&raw).unwrap().warnings, []);
    DnsSettings::resolve(&raw).unwrap();
    assert_eq!(WebhookSettings::resolve(&raw).unwrap().warnings, []);
    for process in [Readers::Run, Readers::Dns, Readers::Webhook] {
        let page = raw.print(process);
        let (keys, _) = page.split_once("# In the environment only").unwrap();
        let absent: Vec<_> =
            keys.lines().filter(|line| line.contains("# default") || line.contains(": not set")).collect();
        assert_eq!(absent, [""; 0]);
    }
}

#[test]
fn the_example_of_several_grids_and_views_is_taken_and_has_every_key_of_a_place() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/gslb-bridge-views.yaml");
    let raw = RawConfig::default().and_file(Some(&path));
    let settings = Settings::resolve(&raw).unwrap();
    assert_eq!(settings.warnings, []);
    let views = settings.publications.views();
    let views: Vec<_> = views.iter().map(|view| format!("{}/{}", view.provider, view.view)).collect();
    assert_eq!(views, ["core/internal", "core/partners", "dmz/external"]);
    let text = fs::read_to_string(path).unwrap();
    for key in ["provider:", "view:", "nsAddresses:", "edgeDnsServers:"] {
        assert!(
            text.contains(&format!("        {key}")) || text.contains(&format!("      - {key}")),
            "{key}"
        );
    }
}

#[test]
fn the_example_of_a_webhook_is_taken_and_has_every_key_of_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/gslb-bridge-webhook.yaml");
    let raw = RawConfig::default().and_file(Some(&path));
    let settings = Settings::resolve(&raw).unwrap();
    assert_eq!((settings.warnings, settings.provider.name()), (vec![], "webhook"));
    let page = raw.print(Readers::Run);
    let section = page.lines().skip_while(|line| *line != "webhookProvider:").skip(1);
    let section: Vec<_> = section.take_while(|line| line.starts_with("  ")).collect();
    let keys =
        VARIABLES.iter().filter(|known| known.key.is_some_and(|key| key.starts_with("webhookProvider.")));
    assert_eq!(section.len(), keys.count());
    assert!(section.iter().all(|line| line.contains("# file, line")), "{section:?}");
}

/// k8gb's own variables come first in the table of all.
#[test]
fn the_page_for_those_who_come_from_k8gb_tells_the_fate_of_every_variable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/from-k8gb.md");
    let page = fs::read_to_string(path).unwrap();
    let of_k8gb = VARIABLES.iter().take_while(|variable| variable.name != "PEER_SWEEP_SECONDS");
    let missing: Vec<_> =
        of_k8gb.filter(|variable| !page.contains(&format!("`{}`", variable.name))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
