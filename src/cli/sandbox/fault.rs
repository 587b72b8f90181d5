//! What can be injected, in the words of the command line, of scenarios and of the control channel.

use std::fmt;

use clap::{Parser, Subcommand, ValueEnum};

use super::topology::Site;

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
    /// All faults of the grid end: its lock too, what waits is approved, and the daemons get the right password.
    Clear,
    /// Somebody removes a cluster's name server from the delegation; the cluster's controller, which puts it back, is
    /// killed at an exact point of that, and starts again.
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
    /// The grid has the change, and the controller does not know it yet.
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
            Self::DnsDown { cluster } => vec!["dns-down", cluster.tag()],
            Self::DnsUp { cluster } => vec!["dns-up", cluster.tag()],
            Self::Isolate { cluster } => vec!["isolate", cluster.tag()],
            Self::Rejoin { cluster } => vec!["rejoin", cluster.tag()],
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
            | Self::DnsDown { cluster }
            | Self::DnsUp { cluster }
            | Self::Isolate { cluster }
            | Self::Rejoin { cluster }
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
            Injection::DnsDown { cluster: eu },
            Injection::DnsUp { cluster: eu },
            Injection::Isolate { cluster: eu },
            Injection::Rejoin { cluster: eu },
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
    fn what_is_no_injection_is_refused_with_a_sentence() {
        let text = Injection::parse(&["app-down", "mars"]).unwrap_err();
        assert!(text.contains("mars"), "{text}");
        assert!(Injection::parse(&["kill-controller", "eu"]).is_err());
        assert!(Injection::parse::<&str>(&[]).is_err());
    }
}
