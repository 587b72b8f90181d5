//! What a plan tells besides its changes.

use std::net::IpAddr;

use crate::name::{DomainName, GeoTag};

/// Something that the user should know. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RecordFinding {
    /// An alias stands at the name.
    #[error(
        "{host} cannot have address records: it is an alias of {target}, which is left as it is; remove the CNAME record or give the application another host name"
    )]
    CnameConflict {
        /// The host.
        host: DomainName,
        /// Where it leads.
        target: String,
    },
    /// A host object stands at the name.
    #[error(
        "{host} gets no address records: a host record (record:host) of that name exists, which is left as it is; remove it or give the application another host name"
    )]
    HostRecordConflict {
        /// The host.
        host: DomainName,
    },
    /// Our own address stands there and belongs to nobody that we know.
    #[error(
        "{host} has a record for this cluster's address {address} that no cluster of the fleet made, so it stays whatever becomes of this cluster; remove it, and it is made anew"
    )]
    AddressNotOurs {
        /// The host.
        host: DomainName,
        /// The address.
        address: IpAddr,
    },
    /// An operator switched our record off.
    #[error(
        "the record {address} of {host} is disabled, so it does not answer; enable it again to serve the host here"
    )]
    Disabled {
        /// The host.
        host: DomainName,
        /// The address.
        address: IpAddr,
    },
    /// Addresses that nobody of the fleet decides about.
    #[error(
        "{host} also has {addresses}, which no cluster of this fleet made; they are left as they are and answered too; remove them by hand if they no longer serve the host"
    )]
    ForeignRecords {
        /// The host.
        host: DomainName,
        /// Comma separated.
        addresses: String,
    },
    /// Another cluster holds our address.
    #[error(
        "the record {address} of {host} is that of cluster {holder}; this cluster makes its own when that one is gone"
    )]
    AddressOfPeer {
        /// The host.
        host: DomainName,
        /// The address.
        address: IpAddr,
        /// Who holds it.
        holder: GeoTag,
    },
    /// Ours goes when those that are answered have come.
    #[error(
        "this cluster's records of {host} stay until one of {sites}, which the host is to be answered by, has a record"
    )]
    WaitsForSite {
        /// The host.
        host: DomainName,
        /// Comma separated.
        sites: String,
    },
    /// Nobody can serve the host, and the last record stays.
    #[error("no cluster can serve {host}; the last record of the fleet, this cluster's, stays")]
    LastRecordKept {
        /// The host.
        host: DomainName,
    },
    /// A record of a cluster that is not of the fleet any more.
    #[error(
        "{host} has {addresses} of cluster {holder}, of which nothing is known here, so they are left as they are; remove them by hand if that cluster is gone for good"
    )]
    UnknownHolder {
        /// The host.
        host: DomainName,
        /// The cluster.
        holder: GeoTag,
        /// Comma separated.
        addresses: String,
    },
    /// A cluster is gone and its record is the last one.
    #[error(
        "the record of cluster {holder} stays at {host} although that cluster is gone: no record of another one answers yet"
    )]
    KeptForWant {
        /// The host.
        host: DomainName,
        /// The cluster.
        holder: GeoTag,
    },
}

impl RecordFinding {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::CnameConflict { .. } => "CnameConflict",
            Self::HostRecordConflict { .. } => "HostRecordConflict",
            Self::AddressNotOurs { .. } => "AddressNotOurs",
            Self::Disabled { .. } => "RecordDisabled",
            Self::ForeignRecords { .. } => "ForeignRecords",
            Self::AddressOfPeer { .. } => "AddressOfPeer",
            Self::WaitsForSite { .. } => "WaitsForSite",
            Self::LastRecordKept { .. } => "LastRecordKept",
            Self::UnknownHolder { .. } => "UnknownHolder",
            Self::KeptForWant { .. } => "KeptForWant",
        }
    }

    /// Whether somebody has to do something before the host is answered as decided.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::CnameConflict { .. }
            | Self::HostRecordConflict { .. }
            | Self::AddressNotOurs { .. }
            | Self::Disabled { .. }
            | Self::ForeignRecords { .. } => true,
            Self::AddressOfPeer { .. }
            | Self::WaitsForSite { .. }
            | Self::LastRecordKept { .. }
            | Self::UnknownHolder { .. }
            | Self::KeptForWant { .. } => false,
        }
    }
}
