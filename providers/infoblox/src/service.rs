//! Whether the grid serves what it holds: a change of a zone goes live with the next restart of its DNS service only
//! (reference.md §7.2).

use std::collections::BTreeSet;

use gslb_provider_contract::{ProviderError, Service};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::answer::Failure;
use crate::client::Request;
use crate::provider::{Infoblox, query};

/// The grid object.
#[derive(Debug, Deserialize)]
struct Reference {
    #[serde(rename = "_ref")]
    reference: String,
}

/// What a service of a member waits for.
#[derive(Debug, Deserialize)]
struct RestartRequest {
    #[serde(default)]
    needed: Option<String>,
    #[serde(default)]
    member: Option<String>,
    #[serde(default)]
    service: Option<String>,
}

/// What the grid says of restarts of its DNS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Restarts {
    /// Nothing, or nothing that is clear.
    Untold,
    /// All members serve what the grid holds.
    NotNeeded,
    /// These members do not. Never empty.
    Needed(BTreeSet<String>),
}

impl Infoblox {
    /// Whether the grid serves what it holds, for the daemon.
    pub(crate) async fn service_status(&self) -> Result<Service, Failure> {
        Ok(match self.restarts().await? {
            Restarts::Untold => Service::Untold,
            Restarts::NotNeeded => Service::Current,
            Restarts::Needed(members) => Service::NeedsRestart { text: self.waiting_words(&members) },
        })
    }

    /// Reads what waits for a restart. Having the grid look at its members anew would be a POST, so what it has seen by
    /// itself must do. A version that has no such list says nothing.
    pub(crate) async fn restarts(&self) -> Result<Restarts, Failure> {
        let target = query(
            "grid:servicerestart:request",
            &[("_return_fields", "member,needed,service"), ("_max_results", "-1000")],
        );
        let requests: Vec<RestartRequest> = match self.client.read(target).await {
            Ok(found) => self.parse(found)?,
            Err(Failure { error: ProviderError::Refused { .. }, .. }) => return Ok(Restarts::Untold),
            Err(failure) => return Err(failure),
        };
        let of_dns: Vec<_> =
            requests.iter().filter(|request| request.service.as_deref() == Some("DNS")).collect();
        let needs = |request: &RestartRequest| request.needed.as_deref() == Some("YES");
        let waiting: BTreeSet<String> = of_dns
            .iter()
            .filter(|request| needs(request))
            .map(|request| request.member.clone().unwrap_or_else(|| "a member".to_owned()))
            .collect();
        let current = |request: &RestartRequest| request.needed.as_deref() == Some("NO");
        Ok(match waiting.is_empty() {
            false => Restarts::Needed(waiting),
            true if of_dns.is_empty() || !of_dns.iter().all(|request| current(request)) => Restarts::Untold,
            true => Restarts::NotNeeded,
        })
    }

    fn waiting_words(&self, members: &BTreeSet<String>) -> String {
        let fix = match self.client.settings().restarts {
            true => "that is done after a minute",
            false => "have it restarted, or set INFOBLOX_RESTART_POLICY to if-needed",
        };
        let members = members.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let (host, members) = (self.client.grid().host(), self.client.secrets.quote(&members));
        format!(
            "Infoblox at {host} says that the DNS service of {members} has to be restarted to serve it; {fix}"
        )
    }

    /// Restarts the DNS service of the members that need it, and nothing else.
    pub(crate) async fn restart_services(&self) -> Result<(), Failure> {
        let arguments = json!({
            "member_order": "SIMULTANEOUSLY", "restart_option": "RESTART_IF_NEEDED", "service_option": "DNS"
        });
        let grids: Vec<Reference> = self.parse(self.client.read("grid".to_owned()).await?)?;
        let [grid] = grids.as_slice() else {
            return Err(self.unexpected("did not tell which grid it is"));
        };
        let target = format!("{}?_function=restartservices", grid.reference);
        self.client.send(&Request { method: Method::POST, target, body: Some(arguments) }).await.map(drop)
    }
}
