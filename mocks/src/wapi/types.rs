//! The object types that the simulator knows, reconstructed from the vendor's schema as clients saw it.

use super::schema::{Field, Kind, ObjectType, Unset};
use super::{admins, dnssec};

const FORMATS: Kind = Kind::Choice(&["FORWARD", "IPV4", "IPV6"]);
const CREATORS: Kind = Kind::Choice(&["STATIC", "DYNAMIC", "SYSTEM"]);
/// The TTL that a grid hands down unless told otherwise.
pub(crate) const INHERITED_TTL: u64 = 28_800;

const FQDN: Field = Field::new("fqdn", Kind::ZoneName, "rws").search("=:~").base().required();
const COMMENT: Field = Field::new("comment", Kind::Text, "rwus").search("=:~");
const DISABLE: Field = Field::new("disable", Kind::Bool, "rwu").unset(Unset::Bool(false));
const EXTATTRS: Field = Field::new("extattrs", Kind::Attributes, "rwu").unset(Unset::Map);
const LOCKED: Field = Field::new("locked", Kind::Bool, "rwu").unset(Unset::Bool(false));
const LOCKED_BY: Field = Field::new("locked_by", Kind::Text, "r");
const PARENT: Field = Field::new("parent", Kind::Text, "rs").search("=");
const ZONE_FORMAT: Field =
    Field::new("zone_format", FORMATS, "rws").search("=").unset(Unset::Text("FORWARD"));
const ZONE_VIEW: Field = Field::new("view", Kind::Text, "rws").search("=").base();
const DNS_FQDN: Field = Field::new("dns_fqdn", Kind::Text, "r");
const DISPLAY_DOMAIN: Field = Field::new("display_domain", Kind::Text, "r");

/// `view` of records whose view can be changed (but not to one without the zone).
const VIEW: Field = Field::new("view", Kind::Text, "rwus").search("=").base();
const NAME: Field = Field::new("name", Kind::Name, "rwus").search("=:~").base().required();
const ZONE: Field = Field::new("zone", Kind::Text, "rs").search("=");
const CREATOR: Field = Field::new("creator", CREATORS, "rwus").search("=").unset(Unset::Text("STATIC"));
const TTL: Field = Field::new("ttl", Kind::Uint, "rwu").unset(Unset::Number(INHERITED_TTL));
const USE_TTL: Field = Field::new("use_ttl", Kind::Bool, "rwu").unset(Unset::Bool(false));

const ZONE_DELEGATED: &[Field] = &[
    FQDN,
    Field::new("delegate_to", Kind::Servers, "rwu").base(),
    ZONE_VIEW,
    Field::new("ns_group", Kind::Text, "rwu"),
    ZONE_FORMAT,
    Field::new("delegated_ttl", Kind::Uint, "rwu").unset(Unset::Number(INHERITED_TTL)),
    Field::new("use_delegated_ttl", Kind::Bool, "rwu").unset(Unset::Bool(false)),
    COMMENT,
    DISABLE,
    LOCKED,
    LOCKED_BY,
    EXTATTRS,
    PARENT,
    DNS_FQDN,
    DISPLAY_DOMAIN,
    Field::new("enable_rfc2317_exclusion", Kind::Bool, "rwu").unset(Unset::Bool(false)),
    Field::new("prefix", Kind::Text, "rwu"),
    Field::new("ms_ad_integrated", Kind::Bool, "rwu").unset(Unset::Bool(false)),
    Field::new("ms_ddns_mode", Kind::Choice(&["NONE", "ANY", "SECURE"]), "rwu").unset(Unset::Text("NONE")),
    Field::new("ms_managed", Kind::Text, "r").unset(Unset::Text("NONE")),
    Field::new("ms_read_only", Kind::Bool, "r").unset(Unset::Bool(false)),
    Field::new("using_srg_associations", Kind::Bool, "r").unset(Unset::Bool(false)),
];

const ZONE_AUTH: &[Field] = &[
    FQDN,
    Field::new("view", Kind::Text, "rwus").search("=").base(),
    ZONE_FORMAT,
    Field::new("grid_primary", Kind::Members, "rwu").unset(Unset::List),
    Field::new("grid_secondaries", Kind::Members, "rwu").unset(Unset::List),
    Field::new("ns_group", Kind::Text, "rwu"),
    COMMENT,
    DISABLE,
    LOCKED,
    LOCKED_BY,
    EXTATTRS,
    PARENT,
    DNS_FQDN,
    DISPLAY_DOMAIN,
    Field::new("is_dnssec_signed", Kind::Bool, "r").unset(Unset::Bool(false)),
    Field::new("network_view", Kind::Text, "r").unset(Unset::Text("default")),
    Field::new("prefix", Kind::Text, "rwu"),
    Field::new("soa_default_ttl", Kind::Uint, "rwu").unset(Unset::Number(INHERITED_TTL)),
    Field::new("soa_negative_ttl", Kind::Uint, "rwu").unset(Unset::Number(900)),
    Field::new("use_grid_zone_timer", Kind::Bool, "rwu").unset(Unset::Bool(false)),
    Field::new("soa_serial_number", Kind::Uint, "r"),
    Field::new("restart_if_needed", Kind::Bool, "wu"),
];

const ZONE_FORWARD: &[Field] = &[
    FQDN,
    ZONE_VIEW,
    Field::new("forward_to", Kind::Servers, "rwu").base().required(),
    ZONE_FORMAT,
    COMMENT,
    DISABLE,
    LOCKED,
    LOCKED_BY,
    EXTATTRS,
    PARENT,
];

const ZONE_STUB: &[Field] = &[
    FQDN,
    ZONE_VIEW,
    Field::new("stub_from", Kind::Servers, "rwu").base().required(),
    ZONE_FORMAT,
    COMMENT,
    DISABLE,
    LOCKED,
    LOCKED_BY,
    EXTATTRS,
    PARENT,
];

const VIEWS: &[Field] = &[
    Field::new("name", Kind::Text, "rwus").search("=:~").base().required(),
    Field::new("is_default", Kind::Bool, "rs").search("=").base().unset(Unset::Bool(false)),
    Field::new("comment", Kind::Text, "rwus").search("=:~").base(),
    Field::new("network_view", Kind::Text, "rws").search("=").unset(Unset::Text("default")),
    DISABLE,
    EXTATTRS,
];

const NETWORK_VIEWS: &[Field] = &[
    Field::new("name", Kind::Text, "rwus").search("=:~").base().required(),
    Field::new("is_default", Kind::Bool, "rs").search("=").base().unset(Unset::Bool(false)),
    Field::new("comment", Kind::Text, "rwus").search("=:~").base(),
    EXTATTRS,
];

const RECORD_A: &[Field] = &[
    NAME,
    Field::new("ipv4addr", Kind::Ipv4, "rwus").search("=~").base().required(),
    ZONE_VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_AAAA: &[Field] = &[
    NAME,
    Field::new("ipv6addr", Kind::Ipv6, "rwus").search("=~").base().required(),
    ZONE_VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_CNAME: &[Field] = &[
    NAME,
    Field::new("canonical", Kind::Name, "rwus").search("=:~").base().required(),
    VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
    Field::new("dns_canonical", Kind::Text, "r"),
];

const RECORD_TXT: &[Field] = &[
    NAME,
    Field::new("text", Kind::CharacterStrings, "rwus").search("=:~").base().required(),
    VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_MX: &[Field] = &[
    NAME,
    Field::new("mail_exchanger", Kind::Name, "rwus").search("=:~").base().required(),
    Field::new("preference", Kind::Uint, "rwus").search("=").base().required(),
    VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_SRV: &[Field] = &[
    NAME,
    Field::new("priority", Kind::Uint, "rwus").search("=").base().required(),
    Field::new("weight", Kind::Uint, "rwus").search("=").base().required(),
    Field::new("port", Kind::Uint, "rwus").search("=").base().required(),
    Field::new("target", Kind::Name, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    ZONE,
    TTL,
    USE_TTL,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_CAA: &[Field] = &[
    NAME,
    Field::new("ca_flag", Kind::Uint, "rwus").search("=").base(),
    Field::new("ca_tag", Kind::Text, "rwus").search("=:~").base().required(),
    Field::new("ca_value", Kind::Text, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    ZONE,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_DNAME: &[Field] = &[
    NAME,
    Field::new("target", Kind::Name, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    ZONE,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_NAPTR: &[Field] = &[
    NAME,
    Field::new("order", Kind::Uint, "rwus").search("=").base().required(),
    Field::new("preference", Kind::Uint, "rwus").search("=").base().required(),
    Field::new("replacement", Kind::Text, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    ZONE,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_PTR: &[Field] = &[
    NAME,
    Field::new("ptrdname", Kind::Name, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    ZONE,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_TLSA: &[Field] = &[
    NAME,
    Field::new("certificate_data", Kind::Text, "rwus").search("=").base().required(),
    ZONE_VIEW,
    ZONE,
    COMMENT,
    CREATOR,
    DISABLE,
    EXTATTRS,
];

const RECORD_HOST: &[Field] = &[
    NAME,
    Field::new("ipv4addrs", Kind::HostIpv4, "rwu").base(),
    Field::new("ipv6addrs", Kind::HostIpv6, "rwu").base(),
    VIEW,
    ZONE,
    Field::new("ipv4addr", Kind::Ipv4, "s").search("=~"),
    Field::new("ipv6addr", Kind::Ipv6, "s").search("=~"),
    Field::new("configure_for_dns", Kind::Bool, "rwu").unset(Unset::Bool(true)),
    Field::new("network_view", Kind::Text, "rws").search("=").unset(Unset::Text("default")),
    Field::new("aliases", Kind::TextList, "rwu").unset(Unset::List),
    // Not every release has it.
    Field::new("use_dns_ea_inheritance", Kind::Bool, "rwu").unset(Unset::Bool(false)),
    TTL,
    USE_TTL,
    COMMENT,
    DISABLE,
    EXTATTRS,
];

/// Kinds that are only looked for; their own fields are left out.
const RECORD_OTHER: &[Field] = &[NAME, VIEW, ZONE, COMMENT, DISABLE, EXTATTRS];

/// Inferred from clients: the name is one for people, what it answers is the pattern.
const RECORD_DTCLBDN: &[Field] = &[
    Field::new("name", Kind::Text, "rwus").search("=:~").base().required(),
    Field::new("pattern", Kind::Text, "rwus").search("=:~").base().required(),
    VIEW,
    ZONE,
    COMMENT,
    DISABLE,
    EXTATTRS,
];

const RECORD_NS: &[Field] = &[
    Field::new("name", Kind::Name, "rws").search("=:~").base().required(),
    Field::new("nameserver", Kind::Name, "rwus").search("=:~").base().required(),
    ZONE_VIEW,
    Field::new("addresses", Kind::NsAddresses, "rwu").required(),
    ZONE,
    Field::new("creator", CREATORS, "rs").search("=").unset(Unset::Text("STATIC")),
];

const ATTRIBUTE_TYPES: Kind = Kind::Choice(&["STRING", "ENUM", "INTEGER", "EMAIL", "URL", "DATE"]);

const ATTRIBUTE_DEFINITIONS: &[Field] = &[
    Field::new("name", Kind::Text, "rwus").search("=:~").base().required(),
    // That it may be updated is inferred: Ansible sends it with every change.
    Field::new("type", ATTRIBUTE_TYPES, "rwus").search("=").base().required(),
    Field::new("comment", Kind::Text, "rwus").search("=:~").base(),
    Field::new("default_value", Kind::Any, "rwu").base(),
    Field::new("flags", Kind::Text, "rwu"),
    Field::new("min", Kind::Uint, "rwu"),
    Field::new("max", Kind::Uint, "rwu"),
    Field::new("list_values", Kind::List, "rwu").unset(Unset::List),
    Field::new("allowed_object_types", Kind::TextList, "rwu").unset(Unset::List),
    Field::new("namespace", Kind::Text, "rs").search("=").unset(Unset::Text("default")),
];

const GRIDS: &[Field] = &[
    Field::new("name", Kind::Text, "ru"),
    Field::new("service_status", Kind::Text, "r").unset(Unset::Text("WORKING")),
    Field::new("restart_banner_setting", Kind::Any, "r"),
    Field::new("enable_recycle_bin", Kind::Bool, "ru").unset(Unset::Bool(true)),
];

const MEMBERS: &[Field] = &[
    Field::new("host_name", Kind::Text, "rs").search("=:~").base(),
    Field::new("config_addr_type", Kind::Text, "rs").search("=").base().unset(Unset::Text("IPV4")),
    Field::new("platform", Kind::Text, "rs").search("=").base().unset(Unset::Text("VNIOS")),
    Field::new("service_type_configuration", Kind::Text, "r").base().unset(Unset::Text("ALL_V4")),
    Field::new("vip_setting", Kind::Any, "r"),
    Field::new("comment", Kind::Text, "rs").search("=:~"),
    EXTATTRS,
];

const TASKS: &[Field] = &[
    Field::new("approval_status", Kind::Text, "rus").search("=").base().unset(Unset::Text("NONE")),
    Field::new("execution_status", Kind::Text, "rs").search("=").base(),
    Field::new("task_id", Kind::Uint, "rs").search("=<>").base(),
    Field::new("submitter", Kind::Text, "rs").search("=:~"),
    Field::new("approver", Kind::Text, "rs").search("=:~"),
    Field::new("scheduled_time", Kind::Uint, "rus").search("=<>"),
    Field::new("changed_objects", Kind::List, "r").unset(Unset::List),
    // For searches only, as one client uses it; that it takes patterns is not known.
    Field::new("changed_objects.name", Kind::Text, "s").search("="),
    Field::new("submitter_comment", Kind::Text, "rus"),
    Field::new("ticket_number", Kind::Text, "rus"),
];

const RESTART_STATUS: &[Field] = &[
    Field::new("dns_status", Kind::Text, "r").base(),
    Field::new("dhcp_status", Kind::Text, "r").base().unset(Unset::Text("NO_REQUEST")),
    Field::new("member", Kind::Text, "rs").search("=").base(),
];

/// What waits for a restart, as clients generated from the vendor's schema know it.
const RESTART_REQUESTS: &[Field] = &[
    Field::new("member", Kind::Text, "rs").search("=").base(),
    Field::new("service", Kind::Text, "rs").search("=").base(),
    Field::new("needed", Kind::Text, "r").base(),
    Field::new("state", Kind::Text, "r").base().unset(Unset::Text("NEW")),
    Field::new("result", Kind::Text, "r"),
    Field::new("error", Kind::Text, "r"),
];

const NS_GROUP_DELEGATION: &[Field] = &[
    Field::new("name", Kind::Text, "rwus").search("=:~").base().required(),
    Field::new("delegate_to", Kind::Servers, "rwu").base().required(),
    COMMENT,
    EXTATTRS,
];

/// All types, in the order of the root schema.
pub(crate) static TYPES: &[ObjectType] = &[
    ObjectType { name: "admingroup", operations: "cud", fields: admins::GROUPS },
    ObjectType { name: "adminrole", operations: "cud", fields: admins::ROLES },
    ObjectType { name: "adminuser", operations: "cud", fields: admins::USERS },
    ObjectType { name: "extensibleattributedef", operations: "cud", fields: ATTRIBUTE_DEFINITIONS },
    ObjectType { name: "grid", operations: "u", fields: GRIDS },
    ObjectType { name: "grid:servicerestart:request", operations: "", fields: RESTART_REQUESTS },
    ObjectType { name: "member", operations: "u", fields: MEMBERS },
    ObjectType { name: "networkview", operations: "cud", fields: NETWORK_VIEWS },
    ObjectType { name: "nsgroup:delegation", operations: "cud", fields: NS_GROUP_DELEGATION },
    ObjectType { name: "permission", operations: "cud", fields: admins::PERMISSIONS },
    ObjectType { name: "record:a", operations: "cud", fields: RECORD_A },
    ObjectType { name: "record:aaaa", operations: "cud", fields: RECORD_AAAA },
    ObjectType { name: "record:alias", operations: "cud", fields: RECORD_OTHER },
    ObjectType { name: "record:caa", operations: "cud", fields: RECORD_CAA },
    ObjectType { name: "record:cname", operations: "cud", fields: RECORD_CNAME },
    ObjectType { name: "record:dname", operations: "cud", fields: RECORD_DNAME },
    ObjectType { name: "record:dtclbdn", operations: "cud", fields: RECORD_DTCLBDN },
    ObjectType { name: "record:ds", operations: "d", fields: dnssec::RECORD_DS },
    ObjectType { name: "record:host", operations: "cud", fields: RECORD_HOST },
    ObjectType { name: "record:https", operations: "cud", fields: RECORD_OTHER },
    ObjectType { name: "record:mx", operations: "cud", fields: RECORD_MX },
    ObjectType { name: "record:naptr", operations: "cud", fields: RECORD_NAPTR },
    ObjectType { name: "record:ns", operations: "cud", fields: RECORD_NS },
    ObjectType { name: "record:ptr", operations: "cud", fields: RECORD_PTR },
    ObjectType { name: "record:srv", operations: "cud", fields: RECORD_SRV },
    ObjectType { name: "record:svcb", operations: "cud", fields: RECORD_OTHER },
    ObjectType { name: "record:tlsa", operations: "cud", fields: RECORD_TLSA },
    ObjectType { name: "record:txt", operations: "cud", fields: RECORD_TXT },
    ObjectType { name: "restartservicestatus", operations: "", fields: RESTART_STATUS },
    ObjectType { name: "scheduledtask", operations: "ud", fields: TASKS },
    ObjectType { name: "view", operations: "cud", fields: VIEWS },
    ObjectType { name: "zone_auth", operations: "cud", fields: ZONE_AUTH },
    ObjectType { name: "zone_delegated", operations: "cud", fields: ZONE_DELEGATED },
    ObjectType { name: "zone_forward", operations: "cud", fields: ZONE_FORWARD },
    ObjectType { name: "zone_stub", operations: "cud", fields: ZONE_STUB },
];

/// The type of that name, or the grid's refusal.
pub(crate) fn object_type(name: &str) -> Result<&'static ObjectType, super::error::WapiError> {
    TYPES
        .iter()
        .find(|candidate| candidate.name == name)
        .ok_or_else(|| super::error::WapiError::Proto(format!("Unknown object type ({name})")))
}
