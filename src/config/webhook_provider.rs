//! What the provider `webhook` needs: where the webhook is, and how its TXT records look.

use std::collections::BTreeSet;
use std::time::Duration;

use gslb_provider_webhook::WebhookUrl;
use gslb_provider_webhook::settings::{TxtPrefix, parse_owner};

use super::catalog::masked_url;
use super::problem::Problem;
use super::reader::Reader;

/// Selects the webhook.
pub(super) const URL: &str = "WEBHOOK_PROVIDER_URL";
/// What the file has for it.
pub(super) const SECTION: &str = "webhookProvider";

/// How to reach a webhook provider of external-dns, and whose the records there are.
#[derive(Debug, Clone)]
pub struct WebhookProviderSettings {
    /// The webhook.
    pub url: WebhookUrl,
    /// Owner id of the fleet.
    pub owner: String,
    /// Owner ids that count as the fleet's.
    pub adopted_owners: BTreeSet<String>,
    /// What the names of TXT records begin with.
    pub txt_prefix: TxtPrefix,
    /// Deadline of one request.
    pub request_timeout: Duration,
}

impl WebhookProviderSettings {
    /// Nothing if a problem was reported.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let url = read_url(reader);
        let owner = reader.parsed("WEBHOOK_PROVIDER_OWNER", "write for example gslb-bridge", parse_owner);
        let fix = "list owner ids such as k8gb-eu";
        let adopted = reader.list("WEBHOOK_PROVIDER_ADOPT_OWNERS", fix, parse_owner);
        let fix = "write for example external-dns-";
        let txt_prefix = reader.parsed("WEBHOOK_PROVIDER_TXT_PREFIX", fix, TxtPrefix::parse);
        let request_timeout = reader.seconds("WEBHOOK_PROVIDER_TIMEOUT_SECONDS", 1);
        Some(Self {
            url: url?,
            owner: owner?,
            adopted_owners: adopted.into_iter().collect(),
            txt_prefix: txt_prefix?,
            request_timeout,
        })
    }
}

/// A password in it is not shown.
fn read_url(reader: &mut Reader<'_>) -> Option<WebhookUrl> {
    let text = reader.text(URL);
    match WebhookUrl::parse(text) {
        Ok(url) => Some(url),
        Err(limit) => {
            let fix = "write for example http://localhost:8888";
            reader.report(Problem::with_value(URL, masked_url(text), limit, fix));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ProviderChoice, RawConfig, Settings};
    use super::*;

    const GIVEN: [(&str, &str); 2] = [("CLUSTER_GEO_TAG", "eu"), ("EDGE_DNS_SERVERS", "192.0.2.53")];
    const HOOK: (&str, &str) = (URL, "http://localhost:8888");

    fn resolve(more: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let find = |name: &str| {
            let mut pairs = GIVEN.iter().chain(more);
            pairs.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let problems =
            |problems: super::super::Problems| problems.0.iter().map(ToString::to_string).collect();
        Settings::resolve(&RawConfig::read(find)).map_err(problems)
    }

    fn hook(more: &[(&str, &str)]) -> WebhookProviderSettings {
        match resolve(&[&[HOOK], more].concat()).unwrap().provider {
            ProviderChoice::Webhook(hook) => hook,
            other => panic!("the webhook was not selected, but {other:?}"),
        }
    }

    #[test]
    fn a_url_is_enough_and_the_owner_is_none_that_external_dns_has_by_default() {
        let bare = hook(&[]);
        assert_eq!(bare.url.to_string(), "http://localhost:8888");
        assert_eq!((bare.owner.as_str(), bare.adopted_owners.len()), ("gslb-bridge", 0));
        assert_eq!((bare.txt_prefix, bare.request_timeout.as_secs()), (TxtPrefix::default(), 15));
        let full = hook(&[
            ("WEBHOOK_PROVIDER_OWNER", "fleet"),
            ("WEBHOOK_PROVIDER_ADOPT_OWNERS", "k8gb-eu, k8gb-us"),
            ("WEBHOOK_PROVIDER_TXT_PREFIX", "External-DNS-"),
            ("WEBHOOK_PROVIDER_TIMEOUT_SECONDS", "30"),
        ]);
        assert_eq!((full.owner.as_str(), full.adopted_owners.len()), ("fleet", 2));
        assert_eq!(full.txt_prefix, TxtPrefix::parse("external-dns-").unwrap());
    }

    #[test]
    fn the_clusters_of_a_fleet_are_found_in_the_delegation_unless_they_are_listed() {
        assert!(resolve(&[HOOK]).unwrap().finds_peers());
        assert!(!resolve(&[HOOK, ("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us")]).unwrap().finds_peers());
    }

    #[test]
    fn what_cannot_work_is_told_and_no_password_with_it() {
        let cases = [
            (
                (URL, "http://svc:hunter2@hook:8888"),
                "WEBHOOK_PROVIDER_URL is \"http://***@hook:8888\": the protocol knows no user and no password; write for example http://localhost:8888",
            ),
            (
                (URL, "localhost:8888"),
                "WEBHOOK_PROVIDER_URL is \"localhost:8888\": a webhook is reached by http or https; write for example http://localhost:8888",
            ),
            (
                ("WEBHOOK_PROVIDER_TXT_PREFIX", "%{record_type}-"),
                "WEBHOOK_PROVIDER_TXT_PREFIX is \"%{record_type}-\": placeholders such as %{record_type} are not known here; write for example external-dns-",
            ),
            (
                ("WEBHOOK_PROVIDER_OWNER", "a,b"),
                "WEBHOOK_PROVIDER_OWNER is \"a,b\": an owner id has 1 to 63 visible characters, without commas, equal signs, quotes and backslashes; write for example gslb-bridge",
            ),
            (
                ("WEBHOOK_PROVIDER_TIMEOUT_SECONDS", "0"),
                "WEBHOOK_PROVIDER_TIMEOUT_SECONDS is \"0\": it must be a whole number from 1 to 31536000; write for example 15",
            ),
        ];
        for (pair, expected) in cases {
            assert_eq!(resolve(&[pair, HOOK]).unwrap_err(), [expected]);
        }
    }

    #[test]
    fn a_setting_of_what_is_not_selected_is_told() {
        let told = |more: &[(&str, &str)]| {
            let warnings = resolve(more).unwrap().warnings;
            warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&[("WEBHOOK_PROVIDER_OWNER", "fleet")]),
            ["WEBHOOK_PROVIDER_OWNER has no effect, as WEBHOOK_PROVIDER_URL names no webhook"]
        );
        assert_eq!(
            told(&[HOOK, ("WEBHOOK_PROVIDER_OWNER", "fleet"), ("INFOBLOX_DNS_VIEW", "x")]),
            ["INFOBLOX_DNS_VIEW has no effect, as INFOBLOX_GRID_HOST names no grid"]
        );
    }

    #[test]
    fn one_provider_is_selected_and_no_other_beside_it() {
        let grid = ("INFOBLOX_GRID_HOST", "gm.example.com");
        let account = [("INFOBLOX_WAPI_USERNAME", "gslb"), ("INFOBLOX_WAPI_PASSWORD", "hunter2")];
        assert_eq!(
            resolve(&[&[HOOK, grid], &account[..]].concat()).unwrap_err(),
            [
                "WEBHOOK_PROVIDER_URL is \"http://localhost:8888\": only one provider can be selected, and INFOBLOX_GRID_HOST selects Infoblox already; remove WEBHOOK_PROVIDER_URL or INFOBLOX_GRID_HOST"
            ]
        );
        assert_eq!(
            resolve(&[HOOK, ("EXTDNS_ENABLED", "true")]).unwrap_err(),
            [
                "EXTDNS_ENABLED is \"true\": only one provider can be selected, and WEBHOOK_PROVIDER_URL selects a webhook already; set EXTDNS_ENABLED to false or remove WEBHOOK_PROVIDER_URL"
            ]
        );
    }

    #[test]
    fn a_section_without_a_url_has_no_effect_and_is_told() {
        let told = |keys: &str| {
            let header = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\nclusterGeoTag: eu\nedgeDnsServers: [192.0.2.53]\n";
            let raw = RawConfig::read(|_| None).and_text("gslb.yaml", &format!("{header}{keys}"));
            Settings::resolve(&raw).map_err(|problems| problems.0[0].to_string())
        };
        let section = "webhookProvider: {owner: fleet}\n";
        assert_eq!(
            told(section).unwrap_err(),
            "WEBHOOK_PROVIDER_URL (webhookProvider.url in the file) is not set: the file has settings below webhookProvider, which have no effect without a webhook; set it, or remove webhookProvider"
        );
        let whole = "webhookProvider:\n  url: http://localhost:8888\n  owner: fleet\n  adoptOwners: [k8gb-eu]\n  txtPrefix: x-\n  timeoutSeconds: 5\n";
        assert_eq!(told(whole).unwrap().provider.name(), "webhook");
        let listed =
            "providers:\n- {name: core, type: infoblox, gridHost: gm, usernameFile: /u, passwordFile: /p}\n";
        assert_eq!(
            told(&format!("{listed}webhookProvider: {{url: \"http://localhost:8888\"}}\n")).unwrap_err(),
            "gslb.yaml:7:24: webhookProvider.url is set beside providers, which lists the grids already; remove it, or providers"
        );
    }
}
