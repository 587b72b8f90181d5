//! What was read, as far as it could be.

use std::collections::BTreeSet;

use gslb_core::beneath::{Adoption, Beneath};
use gslb_core::claim::Claimant;
use gslb_core::delegation::ObservedDelegation;
use gslb_core::name::DomainName;
use gslb_core::records::ZoneRecords;
use gslb_provider_contract::ProviderError;
use serde::Deserialize;

use crate::answer::Failure;
use crate::service::Restarts;

/// What a read brought, or the sentence that says why it brought nothing.
pub(super) type Read<T> = Result<T, ProviderError>;

/// Everything that is judged.
#[derive(Debug)]
pub(super) struct Facts {
    /// The address that was asked last.
    pub(super) host: String,
    /// Whether its certificate was checked.
    pub(super) verified: bool,
    /// Those that are listed before it, and did not answer as the Grid Master.
    pub(super) passed_over: Vec<String>,
    /// WAPI version as configured.
    pub(super) version: String,
    /// DNS view as configured.
    pub(super) view: String,
    /// Whether the settings allow to restart the DNS service.
    pub(super) restarts: bool,
    /// What the grid says to somebody whom it lets in.
    pub(super) inside: Result<Inside, Shut>,
}

/// Why the grid said nothing.
#[derive(Debug)]
pub(super) struct Shut {
    pub(super) failure: Failure,
    /// If it refused the version: those that it takes, if it told them.
    pub(super) versions: Vec<String>,
}

/// What the grid says.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) schema: Schema,
    pub(super) account: Read<Option<Account>>,
    pub(super) views: Read<Vec<View>>,
    pub(super) attributes: Read<Vec<Attribute>>,
    pub(super) restarts: Read<Restarts>,
    pub(super) zones: Vec<ZoneFacts>,
    pub(super) records: Vec<RecordsFacts>,
}

impl Inside {
    /// Whether the account surely is a superuser, who sees everything.
    pub(super) fn is_superuser(&self) -> bool {
        let account = self.account.as_ref().ok().and_then(Option::as_ref);
        account.is_some_and(|account| account.groups.iter().any(|group| group.superuser))
    }
}

/// The root of the schema.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Schema {
    #[serde(default)]
    pub(super) supported_versions: Vec<String>,
    #[serde(default)]
    pub(super) supported_objects: Vec<String>,
}

/// The account that the daemon uses, as far as the grid shows it.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) groups: Vec<Group>,
}

/// A group of administrators.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) superuser: bool,
    /// Its own and those of its roles.
    pub(super) grants: Read<Vec<Grant>>,
}

/// A permission of a group or role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Grant {
    pub(super) permission: Access,
    #[serde(default)]
    pub(super) resource_type: String,
    /// Reference of what it is limited to; nothing for all of the kind in the grid. Compared with references that were
    /// read, never taken apart.
    #[serde(default)]
    pub(super) object: Option<String>,
}

/// What a permission gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Access {
    Deny,
    Read,
    Write,
}

/// A DNS view.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct View {
    #[serde(rename = "_ref")]
    pub(super) reference: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) disable: bool,
}

/// The definition of an extensible attribute.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Attribute {
    pub(super) name: String,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) flags: Option<String>,
    /// Empty: any object may have it.
    #[serde(default)]
    pub(super) allowed_object_types: Vec<String>,
}

/// What was read for one delegation.
#[derive(Debug)]
pub(super) struct ZoneFacts {
    pub(super) claimant: Claimant,
    /// Who asks that it be delegated whatever that hides, if anybody does.
    pub(super) adopts: Option<Adoption>,
    /// Zones of every kind, in every view that the account sees, whose name is that of the delegation or above it.
    pub(super) around: Read<Vec<Holder>>,
    /// The delegation in the configured view; nothing if there is none.
    pub(super) delegation: Read<Option<ObservedDelegation>>,
    /// What a delegation would hide; nothing where there is one already.
    pub(super) beneath: Option<Read<Beneath>>,
    /// Whether the zone that holds the delegation is signed; nothing without such a zone.
    pub(super) signed: Option<Read<bool>>,
    /// Key tags of the DS records at the delegation's name.
    pub(super) signers: Read<BTreeSet<u64>>,
}

/// What was read for one zone in records mode.
#[derive(Debug)]
pub(super) struct RecordsFacts {
    pub(super) zone: DomainName,
    /// Hosts that are to have records, as far as they are known.
    pub(super) hosts: BTreeSet<DomainName>,
    /// As in [`ZoneFacts`].
    pub(super) around: Read<Vec<Holder>>,
    /// What stands at and beneath the zone's name.
    pub(super) records: Read<ZoneRecords>,
}

impl RecordsFacts {
    /// The zones that hold its hosts in the view, the closest first.
    pub(super) fn holders<'a>(&'a self, view: &str) -> Vec<&'a Holder> {
        let around = self.around.as_deref().unwrap_or_default();
        let mut holders: Vec<_> = around.iter().filter(|holder| holder.view == view).collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.fqdn.len()));
        holders
    }
}

/// A zone of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) kind: ZoneKind,
    pub(super) reference: String,
    pub(super) fqdn: String,
    pub(super) view: String,
    pub(super) disabled: bool,
    pub(super) locked: bool,
    pub(super) locked_by: Option<String>,
    /// Whether a member of the grid, or a name server group, is set to serve it. Means something for
    /// [`ZoneKind::Auth`] only.
    pub(super) has_primary: bool,
}

/// Kinds of zones, which share one space of names in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ZoneKind {
    Auth,
    Delegated,
    Forward,
    Stub,
}

impl ZoneKind {
    pub(super) const ALL: [Self; 4] = [Self::Auth, Self::Delegated, Self::Forward, Self::Stub];

    /// The grid's name of the type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Auth => crate::wire::ZONE_AUTH,
            Self::Delegated => crate::wire::ZONE_DELEGATED,
            Self::Forward => "zone_forward",
            Self::Stub => "zone_stub",
        }
    }

    /// For sentences.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Auth => "an authoritative zone",
            Self::Delegated => "a delegated zone",
            Self::Forward => "a forward zone",
            Self::Stub => "a stub zone",
        }
    }
}

impl ZoneFacts {
    /// The zone that holds the delegation, or would: the closest one around its name in the view.
    pub(super) fn holder<'a>(around: &'a [Holder], zone: &str, view: &str) -> Option<&'a Holder> {
        let above = around.iter().filter(|holder| holder.view == view && holder.fqdn != zone);
        above.max_by_key(|holder| holder.fqdn.len())
    }
}
