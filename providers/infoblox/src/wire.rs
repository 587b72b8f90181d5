//! The shapes of WAPI that we read and write. They do not leave this crate.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::swap::REVISION;

/// Type name of a delegation.
pub(crate) const ZONE_DELEGATED: &str = "zone_delegated";
/// Type name of an authoritative zone.
pub(crate) const ZONE_AUTH: &str = "zone_auth";
/// Prefix of a reference to a task that waits for approval or for its time (reference.md §7.4).
pub(crate) const SCHEDULED_TASK: &str = "scheduledtask/";

/// A reference holds a name twice, once encoded, and a view. No outside reference.
const LONGEST_REFERENCE: usize = 1_500;

/// Every field that is asked for. All of them exist in every 2.x version; an unknown one would turn the whole
/// request into a 400.
pub(crate) const RETURN_FIELDS: &str = "fqdn,view,delegate_to,delegated_ttl,use_delegated_ttl,comment,disable,locked,locked_by,ns_group,extattrs";

/// A delegation as read. A grid leaves out what is empty, so every field but the identity may be missing.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ZoneDelegated {
    #[serde(rename = "_ref")]
    pub(crate) reference: String,
    pub(crate) fqdn: String,
    pub(crate) view: String,
    /// `null` for a zone that uses a name server group.
    #[serde(default)]
    pub(crate) delegate_to: Option<Vec<ExtServer>>,
    #[serde(default)]
    pub(crate) delegated_ttl: Option<u32>,
    #[serde(default)]
    pub(crate) use_delegated_ttl: Option<bool>,
    #[serde(default)]
    pub(crate) comment: Option<String>,
    #[serde(default)]
    pub(crate) disable: Option<bool>,
    #[serde(default)]
    pub(crate) locked: Option<bool>,
    #[serde(default)]
    pub(crate) locked_by: Option<String>,
    #[serde(default)]
    pub(crate) ns_group: Option<String>,
    #[serde(default)]
    pub(crate) extattrs: Option<Map<String, Value>>,
}

impl ZoneDelegated {
    /// The value of our revision attribute.
    pub(crate) fn revision(&self) -> Option<&str> {
        self.extattrs.as_ref()?.get(REVISION)?.get("value")?.as_str()
    }
}

/// An authoritative zone, as far as it is asked for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ZoneAuth {
    pub(crate) fqdn: String,
}

/// The definition of an extensible attribute, as far as it is asked for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Definition {
    pub(crate) name: String,
}

/// One name server entry; what we do not know of it (stealth, TSIG) is carried along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExtServer {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) address: Option<String>,
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// Body of a POST.
#[derive(Debug, Serialize)]
pub(crate) struct NewZone<'a> {
    pub(crate) fqdn: &'a str,
    pub(crate) view: &'a str,
    pub(crate) zone_format: &'static str,
    pub(crate) delegate_to: Vec<ExtServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delegated_ttl: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) use_delegated_ttl: Option<bool>,
    pub(crate) comment: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extattrs: Option<Value>,
}

/// Body of a PUT: what changes and nothing else, because everything left out stays as it is. A list is replaced whole.
#[derive(Debug, Serialize)]
pub(crate) struct NewServers {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delegate_to: Option<Vec<ExtServer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delegated_ttl: Option<u32>,
    /// Without it the value is ignored (reference.md §2.8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) use_delegated_ttl: Option<bool>,
}

/// A task as read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ScheduledTask {
    #[serde(rename = "_ref", default)]
    pub(crate) reference: Option<String>,
    #[serde(default)]
    pub(crate) submitter: Option<String>,
    #[serde(default)]
    pub(crate) approval_status: Option<String>,
    #[serde(default)]
    pub(crate) execution_status: Option<String>,
}

/// Body of a JSON error.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorBody {
    #[serde(default)]
    pub(crate) code: Option<String>,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(rename = "Error", default)]
    pub(crate) error: Option<String>,
}

impl ErrorBody {
    /// Whether it is all that a grid says of an error (reference.md §6.1). Others have a `code` or an `Error`, too.
    pub(crate) fn is_complete(&self) -> bool {
        let begins =
            |text: &Option<String>, with: &str| text.as_deref().is_some_and(|text| text.starts_with(with));
        self.text.is_some() && begins(&self.error, "AdmCon") && begins(&self.code, "Client.Ibap")
    }
}

/// The reference in the reply to a write of a delegation: that of the zone or of a task; everything else is no reply to a
/// write of ours.
pub(crate) fn written_reference(reply: &Value) -> Option<&str> {
    reference_of(reply, |reference| {
        reference.strip_prefix(ZONE_DELEGATED).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// The same of a record.
pub(crate) fn written_record(reply: &Value) -> Option<&str> {
    reference_of(reply, |reference| reference.starts_with("record:"))
}

/// A bare string, or an object if somebody in between asked for fields.
fn reference_of(reply: &Value, is_ours: impl Fn(&str) -> bool) -> Option<&str> {
    let reference = reply.as_str().or_else(|| reply.get("_ref")?.as_str())?;
    let sane = reference.len() <= LONGEST_REFERENCE && !reference.contains(char::is_control);
    Some(reference).filter(|_| sane && (is_ours(reference) || reference.starts_with(SCHEDULED_TASK)))
}
