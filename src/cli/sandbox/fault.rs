//! What can be injected, in the words of the command line, of scenarios and of the control channel.

use std::fmt;

use clap::{Parser, Subcommand, ValueEnum};

use super::topology::{Provider, Site};

/// One injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(super) enum Injection {
    /// The application of a cluster fails: its endpoint is not ready, and it stops listening.
    AppDown {
        /// Cluster
        cluster: Site,
    },
    /// The application of a cluster is well again.
    AppUp {
        /// Cluster
        cluster: Site,
    },
    /// Both daemons of a cluster are killed and stay down, its external-dns too.
    ClusterDown {
        /// Cluster
        cluster: Site,
    },
    /// Both daemons of a cluster start again, its external-dns too.
    ClusterUp {
        /// Cluster
        cluster: Site,
    },
    /// The DNS server of a cluster is killed and stays down.
    DnsDown {
        /// Cluster
        cluster: Site,
    },
    /// The DNS server of a cluster starts again.
    DnsUp {
        /// Cluster
        cluster: Site,
    },
    /// A cluster can reach neither its peers nor the parent, and they cannot reach it. Its API stays reachable.
    Isolate {
        /// Cluster
        cluster: Site,
    },
    /// The isolation of a cluster ends.
    Rejoin {
        /// Cluster
        cluster: Site,
    },
    /// Both external-dns of a cluster end and stay away.
    ExternalDnsDown {
        /// Cluster
        cluster: Site,
    },
    /// Both external-dns of a cluster start again.
    ExternalDnsUp {
        /// Cluster
        cluster: Site,
    },
    /// The grid's password changes, and nobody tells the daemons; replaces its fault before.
    #[command(name = "wapi-401")]
    Wapi401,
    /// The grid answers every request with 503; replaces its fault before.
    #[command(name = "wapi-503")]
    Wapi503,
    /// The grid answers every request with status 200 and an HTML log-in page; replaces its fault before.
    WapiHtml,
    /// The grid answers every request three seconds late; replaces its fault before.
    WapiSlow,
    /// An administrator takes eu's name server out of the delegation and locks it; replaces the grid's fault before.
    WapiLocked,
    /// The grid demands approval of what the daemons write, and somebody takes eu's name server out of the delegation;
    /// replaces its fault before.
    WapiApproval,
    /// The grid's master moves away: at its address a candidate refers to another one; replaces its fault before.
    WapiMasterMoved,
    /// All faults of the grid end: its lock too, what waits is approved, and the daemons get the right password. Without
    /// a grid: every external-dns runs.
    Clear,
    /// Somebody removes a cluster's name server from the delegation, with external-dns from the cluster's DNSEndpoint; the
    /// cluster's controller, which puts it back, is killed at an exact point of that, and starts again.
    KillController {
        /// Cluster
        cluster: Site,
        /// When it is killed
        #[arg(long, value_enum)]
        at: KillPoint,
    },
}

/// When a controller is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum KillPoint {
    /// The change log has the intent, and the controller does not know it yet.
    AfterIntent,
    /// The grid, or the DNSEndpoint, has the change, and the controller does not know it yet.
    AfterWrite,
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(subcommand)]
    injection: Injection,
}

impl Injection {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// They name no injection; the text says what would.
    pub(super) fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self, String> {
        let words = words.iter().map(|word| word.as_ref().to_owned());
        let parsed = Words::try_parse_from(words.map(std::ffi::OsString::from));
        parsed.map(|words| words.injection).map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        })
    }

    /// The words that [`Self::parse`] reads.
    pub(super) fn words(self) -> Vec<&'static str> {
        match self {
            Self::AppDown { cluster } => vec!["app-down", cluster.tag()],
            Self::AppUp { cluster } => vec!["app-up", cluster.tag()],
            Self::ClusterDown { cluster } => vec!["cluster-down", cluster.tag()],
            Self::ClusterUp { cluster } => vec!["cluster-up", cluster.tag()],
            Self::DnsDown { cluster } => vec!["dns-down", cluster.tag()],
            Self::DnsUp { cluster } => vec!["dns-up", cluster.tag()],
            Self::Isolate { cluster } => vec!["isolate", cluster.tag()],
            Self::Rejoin { cluster } => vec!["rejoin", cluster.tag()],
            Self::ExternalDnsDown { cluster } => vec!["external-dns-down", cluster.tag()],
            Self::ExternalDnsUp { cluster } => vec!["external-dns-up", cluster.tag()],
            Self::Wapi401 => vec!["wapi-401"],
            Self::Wapi503 => vec!["wapi-503"],
            Self::WapiHtml => vec!["wapi-html"],
            Self::WapiSlow => vec!["wapi-slow"],
            Self::WapiLocked => vec!["wapi-locked"],
            Self::WapiApproval => vec!["wapi-approval"],
            Self::WapiMasterMoved => vec!["wapi-master-moved"],
            Self::Clear => vec!["clear"],
            Self::KillController { cluster, at } => {
                vec!["kill-controller", cluster.tag(), "--at", at.word()]
            }
        }
    }

    /// The cluster that it hits.
    pub(super) fn site(self) -> Option<Site> {
        match self {
            Self::AppDown { cluster }
            | Self::AppUp { cluster }
            | Self::ClusterDown { cluster }
            | Self::ClusterUp { cluster }
            | Self::DnsDown { cluster }
            | Self::DnsUp { cluster }
            | Self::Isolate { cluster }
            | Self::Rejoin { cluster }
            | Self::ExternalDnsDown { cluster }
            | Self::ExternalDnsUp { cluster }
            | Self::KillController { cluster, .. } => Some(cluster),
            Self::Wapi401
            | Self::Wapi503
            | Self::WapiHtml
            | Self::WapiSlow
            | Self::WapiLocked
            | Self::WapiApproval
            | Self::WapiMasterMoved
            | Self::Clear => None,
        }
    }
}

impl Injection {
    /// Whether it means anything with a provider.
    ///
    /// # Errors
    /// It is about the other one; the text says what to do.
    pub(super) fn fits(self, provider: Provider) -> Result<(), String> {
        let needed = match self {
            Self::AppDown { .. }
            | Self::AppUp { .. }
            | Self::ClusterDown { .. }
            | Self::ClusterUp { .. }
            | Self::DnsDown { .. }
            | Self::DnsUp { .. }
            | Self::Isolate { .. }
            | Self::Rejoin { .. }
            | Self::Clear
            | Self::KillController { .. } => return Ok(()),
            Self::ExternalDnsDown { .. } | Self::ExternalDnsUp { .. } => Provider::ExternalDns,
            Self::Wapi401
            | Self::Wapi503
            | Self::WapiHtml
            | Self::WapiSlow
            | Self::WapiLocked
            | Self::WapiApproval
            | Self::WapiMasterMoved => Provider::Infoblox,
        };
        if needed == provider {
            return Ok(());
        }
        let (missing, instead) = match needed {
            Provider::Infoblox => ("grid", "external-dns-down"),
            Provider::ExternalDns => ("external-dns", "wapi-503"),
        };
        Err(format!(
            "`{self}` needs a sandbox with --provider {needed}: this one has --provider {provider}, so there is no {missing}; start another one, or inject for example {instead}"
        ))
    }
}

impl KillPoint {
    /// As on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::AfterIntent => "after-intent",
            Self::AfterWrite => "after-write",
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_injection_is_read_from_its_own_words() {
        let eu = Site::Eu;
        let all = [
            Injection::AppDown { cluster: eu },
            Injection::AppUp { cluster: eu },
            Injection::ClusterDown { cluster: eu },
            Injection::ClusterUp { cluster: eu },
            Injection::DnsDown { cluster: eu },
            Injection::DnsUp { cluster: eu },
            Injection::Isolate { cluster: eu },
            Injection::Rejoin { cluster: eu },
            Injection::ExternalDnsDown { cluster: eu },
            Injection::ExternalDnsUp { cluster: eu },
            Injection::Wapi401,
            Injection::Wapi503,
            Injection::WapiHtml,
            Injection::WapiSlow,
            Injection::WapiLocked,
            Injection::WapiApproval,
            Injection::WapiMasterMoved,
            Injection::Clear,
            Injection::KillController { cluster: eu, at: KillPoint::AfterIntent },
            Injection::KillController { cluster: eu, at: KillPoint::AfterWrite },
        ];
        for injection in all {
            assert_eq!(Injection::parse(&injection.words()), Ok(injection));
        }
    }

    #[test]
    fn a_fault_of_what_is_not_there_is_refused_with_a_sentence() {
        let sentence = "`wapi-503` needs a sandbox with --provider infoblox: this one has --provider external-dns, so there is no grid; start another one, or inject for example external-dns-down";
        assert_eq!(Injection::Wapi503.fits(Provider::ExternalDns), Err(sentence.to_owned()));
        let down = Injection::ExternalDnsDown { cluster: Site::Eu };
        let sentence = "`external-dns-down eu` needs a sandbox with --provider external-dns: this one has --provider infoblox, so there is no external-dns; start another one, or inject for example wapi-503";
        assert_eq!(down.fits(Provider::Infoblox), Err(sentence.to_owned()));
        for provider in [Provider::Infoblox, Provider::ExternalDns] {
            assert_eq!(Injection::Clear.fits(provider), Ok(()));
        }
    }

    #[test]
    fn what_is_no_injection_is_refused_with_a_sentence() {
        let text = Injection::parse(&["app-down", "mars"]).unwrap_err();
        assert!(text.contains("mars"), "{text}");
        assert!(Injection::parse(&["kill-controller", "eu"]).is_err());
        assert!(Injection::parse::<&str>(&[]).is_err());
    }
}
