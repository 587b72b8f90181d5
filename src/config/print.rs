//! `--print-config`: what is in force, as a configuration file, each value with its source.

use std::fmt::Write as _;

use super::catalog::{
    INSTANCE_SECTION, PROVIDERS, Readers, VARIABLES, Variable, instance_settings, variable,
};
use super::file::{API_VERSION, KIND};
use super::raw::{RawConfig, Source};
use super::value::{Value, quoted};

/// A setting in force.
struct InForce {
    value: Value,
    /// Where it comes from.
    source: String,
}

impl RawConfig {
    /// What `process` uses, as a configuration file that says the same. What no file may say stands in comments behind
    /// it, secrets masked.
    ///
    /// It is for settings that were resolved without a problem.
    pub fn print(&self, process: Readers) -> String {
        let mut page = String::new();
        if let Some(file) = self.file() {
            page.push_str(&format!("# With the file {}.\n", file.name().escape_debug()));
        }
        page.push_str(&format!("apiVersion: {API_VERSION}\nkind: {KIND}\n"));
        let mut section = "";
        for known in by_section(process) {
            let key = known.key.unwrap_or_default();
            let (within, name) = key.rsplit_once('.').unwrap_or(("", key));
            let selects = match within {
                "infoblox" => Some("INFOBLOX_GRID_HOST"),
                "webhookProvider" => Some("WEBHOOK_PROVIDER_URL"),
                _ => None,
            };
            if selects.is_some_and(|name| self.value(name).trim().is_empty()) {
                continue;
            }
            if within != section {
                page.push_str(&format!("{within}:\n"));
                section = within;
            }
            let indent = if within.is_empty() { 0 } else { 2 };
            page.push_str(&self.line(known, name, indent));
        }
        if process != Readers::Dns {
            self.print_instances(&mut page);
        }
        self.print_rest(process, &mut page);
        page
    }

    /// The listed providers, each with all its settings.
    fn print_instances(&self, page: &mut String) {
        let Some(instances) = self.instances() else { return };
        page.push_str(&format!("{PROVIDERS}:\n"));
        for (instance, raw) in instances {
            let line = instance.within.at.line;
            let name = instance.name.as_ref().map(|name| name.text.as_str()).unwrap_or_default();
            page.push_str(&format!("  - name: {} # file, line {line}\n", quoted(name)));
            page.push_str(&format!("    type: {}\n", quoted(INSTANCE_SECTION)));
            for (key, known) in instance_settings() {
                page.push_str(&raw.line(known, key, 4));
            }
        }
    }

    fn line(&self, known: &'static Variable, name: &str, indent: usize) -> String {
        let InForce { value, source } = self.in_force(known);
        if value == Value::Text(String::new()) && source == "default" {
            return format!("{:indent$}# {name}: not set\n", "");
        }
        match value {
            // The comment stands on the line of the key, before the zones.
            Value::Zones(ref zones) if !zones.is_empty() => {
                format!("{:indent$}{name}: # {source}{}\n", "", value.yaml(indent + 2))
            }
            value => format!("{:indent$}{name}: {} # {source}\n", "", value.yaml(indent)),
        }
    }

    fn in_force(&self, known: &'static Variable) -> InForce {
        let of = |name: &'static str, value: Value| InForce { value, source: self.source_of(name) };
        let written = self.in_force_of(known.name);
        let empty = matches!(&written, Value::Text(text) if text.is_empty())
            || matches!(&written, Value::List(items) if items.is_empty());
        let text = |name| self.value(name).trim();
        match known.name {
            "EDGE_DNS_SERVERS" if empty && !text("EDGE_DNS_SERVER").is_empty() => {
                let server = format!("{}:{}", text("EDGE_DNS_SERVER"), text("EDGE_DNS_SERVER_PORT"));
                of("EDGE_DNS_SERVER", Value::List(vec![server]))
            }
            "INFOBLOX_CA_FILE" if empty => of("SSL_CERT_FILE", self.in_force_of("SSL_CERT_FILE")),
            "POD_NAME" if empty => of("HOSTNAME", self.in_force_of("HOSTNAME")),
            name => of(name, written),
        }
    }

    fn in_force_of(&self, name: &'static str) -> Value {
        let of_text = |text: &str| Value::of_variable(variable(name).form, text);
        match self.source(name) {
            Source::Variable(text) | Source::Default(text) => of_text(text),
            Source::File(value) => value.value().unwrap_or_else(|| of_text(variable(name).default)),
        }
    }

    fn source_of(&self, name: &'static str) -> String {
        match self.source(name) {
            Source::Variable(_) => name.to_owned(),
            Source::File(value) => format!("file, line {}", value.at().line),
            Source::Default(_) => "default".to_owned(),
        }
    }

    /// What has no key.
    fn print_rest(&self, process: Readers, page: &mut String) {
        page.push_str("# In the environment only:\n");
        let rest = VARIABLES.iter().filter(|known| known.key.is_none() && known.readers.include(process));
        for known in rest {
            let value = self.value(known.name);
            let shown = known.shown(value);
            let from = if self.written(known.name).is_some() { "" } else { " (default)" };
            writeln!(page, "# {}={}{from}", known.name, shown.escape_debug())
                .expect("a String takes everything");
        }
    }
}

/// The settings of the file: those at its left margin first, then the sections in the order of the reference.
fn by_section(process: Readers) -> Vec<&'static Variable> {
    let section = |known: &Variable| {
        let key = known.key.unwrap_or_default();
        key.split_once('.').map(|(section, _)| section)
    };
    let mut known: Vec<_> =
        VARIABLES.iter().filter(|known| known.key.is_some() && known.readers.include(process)).collect();
    let first = |wanted: &Variable| {
        let wanted = section(wanted);
        wanted.map(|wanted| VARIABLES.iter().position(|known| section(known) == Some(wanted)))
    };
    known.sort_by_key(|known| first(known));
    known
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Settings;
    use crate::dns::settings::DnsSettings;

    type Pairs = Vec<(&'static str, String)>;

    fn environment(pairs: &[(&'static str, String)]) -> RawConfig {
        RawConfig::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone()))
    }

    fn pairs(pairs: &[(&'static str, &str)]) -> Pairs {
        pairs.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
    }

    fn printed(given: &[(&'static str, &str)], process: Readers) -> String {
        environment(&pairs(given)).print(process)
    }

    const PAGE: &str = r#"# With the file gslb.yaml.
apiVersion: gslb-bridge.io/v1alpha1
kind: Configuration
clusterGeoTag: "eu" # file, line 3
peerGeoTags: [] # default
zones: # file, line 5
  - {zone: "a.example.com", parentZone: "example.com", negativeTtlSeconds: 30}
edgeDnsServers: ["192.0.2.53", "dns.example.com:1053"] # EDGE_DNS_SERVERS
nameServerTtlSeconds: 30 # default
podNamespace: "k8gb" # default
clusterExposedIPs: [] # default
metricsAddress: "0.0.0.0:8080" # default
nameServerPrefix: "gslb-ns-" # default
# dnsSourceAddress: not set
namespacePolicy: "off" # default
podName: "gslb-0" # HOSTNAME
periods:
  gslbSeconds: 30 # default
  zoneDelegationSeconds: 300 # default
  peerSweepSeconds: 5 # default
  lastResortSeconds: 3600 # default
glue:
  coreDnsServiceType: "ClusterIP" # default
  # dnsService: not set
externalDns:
  enabled: false # default
infoblox:
  gridHost: "gm.example.com" # INFOBLOX_GRID_HOST
  wapiPort: 443 # default
  wapiVersion: "2.12" # default
  requestTimeoutSeconds: 20 # default
  dnsView: "default" # default
  caFile: "/etc/ssl/all.pem" # SSL_CERT_FILE
  tlsVerify: true # default
  # clientCertificateFile: not set
  # clientKeyFile: not set
  restartPolicy: "never" # default
  # usernameFile: not set
  # passwordFile: not set
log:
  level: "warn" # LOG_LEVEL
  format: "simple" # default
  noColor: false # default
changeLog:
  # file: not set
  # hmacKeyFile: not set
# In the environment only:
# EDGE_DNS_SERVER= (default)
# EDGE_DNS_SERVER_PORT=53 (default)
# ZONE_DELEGATION_RECOVERY_SECONDS=3600 (default)
# COREDNS_EXPOSED=false (default)
# TRACING_ENABLED=false (default)
# TRACING_SAMPLING_RATIO=1.0 (default)
# OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318 (default)
# INFOBLOX_WAPI_USERNAME=***
# INFOBLOX_WAPI_PASSWORD=***
# INFOBLOX_HTTP_POOL_CONNECTIONS=10 (default)
# PEER_HOLD_SECONDS=60
# HTTPS_PROXY= (default)
# NO_PROXY= (default)
# SSL_CERT_FILE=/etc/ssl/all.pem
# HOSTNAME=gslb-0
# CONFIG_FILE= (default)
"#;

    #[test]
    fn every_value_is_printed_with_its_source_and_no_secret() {
        let given = pairs(&[
            ("EDGE_DNS_SERVERS", "192.0.2.53,dns.example.com:1053"),
            ("LOG_LEVEL", "warn"),
            ("INFOBLOX_GRID_HOST", "gm.example.com"),
            ("INFOBLOX_WAPI_USERNAME", "gslb"),
            ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
            ("SSL_CERT_FILE", "/etc/ssl/all.pem"),
            ("HOSTNAME", "gslb-0"),
            ("PEER_HOLD_SECONDS", "60"),
        ]);
        let file = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\nclusterGeoTag: eu\nzones:\n- {zone: a.example.com, parentZone: example.com, negativeTtlSeconds: 30}\n";
        let page = environment(&given).and_text("gslb.yaml", file).print(Readers::Run);
        assert_eq!(page, PAGE);
    }

    #[test]
    fn each_process_prints_what_it_reads() {
        let run = printed(&[("DNS_LISTEN", "not read")], Readers::Run);
        assert!(run.contains("externalDns:") && !run.contains("dnsServer:"), "{run}");
        let dns = printed(&[("INFOBLOX_GRID_HOST", "gm")], Readers::Dns);
        assert!(
            dns.contains("dnsServer:\n  listen: [\"0.0.0.0:5353\"] # default") && !dns.contains("infoblox"),
            "{dns}"
        );
    }

    #[test]
    fn neither_a_line_end_in_a_value_nor_in_a_file_name_makes_a_line_of_the_page() {
        let raw = environment(&pairs(&[("HOSTNAME", "a\nlog: {}"), ("CHANGE_LOG_FILE", "/a\nb: 1 # c")]));
        let page = raw
            .and_text("x\nkind: y", "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\n")
            .print(Readers::Run);
        assert!(
            !page
                .lines()
                .any(|line| ["log: {}", "b: 1", "kind: y"].iter().any(|part| line.starts_with(part))),
            "{page}"
        );
    }

    /// A value that the setting takes, in the notation of the environment.
    fn legal(name: &'static str) -> BoxedStrategy<String> {
        let of = |pattern: &str| prop::string::string_regex(pattern).unwrap().boxed();
        match name {
            "CLUSTER_GEO_TAG" => of("[a-zA-Z0-9]{1,9}| no|NULL|1e3"),
            "EXT_GSLB_CLUSTERS_GEO_TAGS" => of("|eu|1,2 , true,~?|no,off,"),
            "DNS_ZONES" => of(" ?|example\\.com : [a-z]{1,9}\\.example\\.com: \\+?[0-9]{1,4};?"),
            "EDGE_DNS_SERVERS" => of("192\\.0\\.2\\.[1-9](:[1-9]{3})?|dns\\.example\\.com , 192\\.0\\.2\\.1"),
            "EDGE_DNS_SERVER" => of("|192\\.0\\.2\\.9"),
            "EDGE_DNS_SERVER_PORT" | "INFOBLOX_WAPI_PORT" => of("[1-9]{1,4}| 1053 |0*53"),
            "NS_RECORD_TTL" | "RECONCILE_REQUEUE_SECONDS" | "ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS" => {
                of("\\+?0*[1-9][0-9]{0,3}")
            }
            "LAST_RESORT_SECONDS" | "DNS_STOP_SECONDS" => of("[0-9]{1,4}"),
            "INFOBLOX_HTTP_REQUEST_TIMEOUT" | "PEER_HOLD_SECONDS" => of("[1-9][0-9]{0,2}"),
            "PEER_SWEEP_SECONDS" => of("[1-9]\\.?[0-9]{0,3}|\\.5|1e1|\\+3\\.0"),
            "POD_NAMESPACE" => of("[a-z]{1,9}|null|5|0x1f"),
            "COREDNS_SERVICE_TYPE" => of("ClusterIP|LoadBalancer|NodePort"),
            "CLUSTER_EXPOSED_IPS" => of("|192\\.0\\.2\\.1, 192\\.0\\.2\\.2,"),
            "EXTDNS_ENABLED" => of("false|No|0"),
            "NO_COLOR" => of("true|YES|1|false"),
            "METRICS_ADDRESS" => of("127\\.0\\.0\\.1(:[1-9]{4})?|localhost"),
            "GLUEA_PREFIX" => of("|gslb-ns-|[a-z]{1,5}-|1-"),
            "INFOBLOX_GRID_HOST" => of("|gm\\.example\\.com|192\\.0\\.2\\.1| gm "),
            "INFOBLOX_WAPI_VERSION" => of("v?2\\.1[0-9]|2\\.3\\.1"),
            "INFOBLOX_DNS_VIEW" => of("|default|no|[ -~]{1,20}|[äöü\u{1f600}]{1,4}"),
            "LOG_LEVEL" => of("error|warn|info|debug|trace"),
            "LOG_FORMAT" => of("simple|json"),
            "DNS_SOURCE_ADDRESS" => of("|192\\.0\\.2\\.1|2001:db8::1"),
            "DNS_SERVICE" => of("|gslb/[a-z]{1,9}"),
            "NAMESPACE_POLICY" => of("off|enforce"),
            "DNS_LISTEN" => of("192\\.0\\.2\\.1|\\[::1\\]:53, 0\\.0\\.0\\.0:5353"),
            "INFOBLOX_WAPI_USERNAME" | "INFOBLOX_WAPI_PASSWORD" => of("hunter[0-9]{3}"),
            _ if name.ends_with("FILE") && name != "CONFIG_FILE" => {
                of("|/[ -~]{1,20}|/[äöü\u{1f600}\n\t#:]{1,9}")
            }
            "POD_NAME" | "HOSTNAME" => of("[a-z0-9-]{1,9}"),
            _ => Just(variable(name).default.to_owned()).boxed(),
        }
    }

    /// What is needed is always there, everything else sometimes.
    fn environments() -> impl Strategy<Value = Pairs> {
        let needed =
            ["CLUSTER_GEO_TAG", "EDGE_DNS_SERVERS", "INFOBLOX_WAPI_USERNAME", "INFOBLOX_WAPI_PASSWORD"];
        let one = move |known: &'static Variable| {
            let value = legal(known.name).prop_map(move |text| (known.name, text));
            if needed.contains(&known.name) {
                return value.prop_map(Some).boxed();
            }
            prop::option::weighted(0.4, value).boxed()
        };
        VARIABLES.iter().map(one).collect::<Vec<_>>().prop_map(|all| all.into_iter().flatten().collect())
    }

    /// Without what tells where a value came from.
    fn run_settings(raw: &RawConfig) -> Result<String, String> {
        let settings = Settings::resolve(raw).map_err(|problems| problems.to_string())?;
        Ok(format!("{:?}", Settings { warnings: Vec::new(), ..settings }))
    }

    fn dns_settings(raw: &RawConfig) -> Result<String, String> {
        DnsSettings::resolve(raw)
            .map(|settings| format!("{settings:?}"))
            .map_err(|problems| problems.to_string())
    }

    /// The page as the file, beside the variables that no file can say.
    fn fed_back(given: &Pairs, process: Readers) -> RawConfig {
        let page = environment(given).print(process);
        let left = given.iter().filter(|(name, _)| variable(name).key.is_none()).cloned();
        environment(&left.collect::<Pairs>()).and_text("printed", &page)
    }

    proptest! {
        #[test]
        fn the_printed_page_gives_the_same_settings(given in environments()) {
            let before = run_settings(&environment(&given));
            prop_assume!(before.is_ok());
            let again = fed_back(&given, Readers::Run);
            prop_assert_eq!(run_settings(&again), before);
            prop_assert_eq!(again.warnings(Readers::Run), vec![]);
        }

        #[test]
        fn the_printed_page_gives_the_dns_server_the_same_settings(given in environments()) {
            let before = dns_settings(&environment(&given));
            prop_assume!(before.is_ok());
            prop_assert_eq!(dns_settings(&fed_back(&given, Readers::Dns)), before);
        }

        #[test]
        fn no_page_and_no_problem_shows_a_secret(given in environments(), junk in ".{0,40}", cut in 0_usize..900) {
            let page = environment(&given).print(Readers::Run);
            prop_assert!(!page.contains("hunter"), "{}", page);
            let end = page.char_indices().map(|(at, _)| at).find(|at| *at >= cut).unwrap_or(page.len());
            let raw = environment(&given).and_text("broken", &format!("{}{junk}{}", &page[..end], &page[end..]));
            let shown = format!("{raw:?} {:?}", Settings::resolve(&raw));
            prop_assert!(!shown.contains("hunter"), "{}", shown);
        }
    }
}
