//! Whether the grid serves what it holds: a change of a zone goes live with the next restart of its DNS service only
//! (reference.md §7.2).

use gslb_provider_contract::Service;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Failure;
use crate::client::Request;
use crate::provider::Infoblox;

/// The grid object.
#[derive(Debug, Deserialize)]
struct Reference {
    #[serde(rename = "_ref")]
    reference: String,
}

/// How the services of one member stand.
#[derive(Debug, Deserialize)]
struct RestartStatus {
    #[serde(default)]
    dns_status: Option<String>,
    #[serde(default)]
    member: Option<String>,
}

impl Infoblox {
    /// Has the grid look at its members, then reads what it saw. While it is still looking it has said nothing.
    pub(crate) async fn service_status(&self) -> Result<Service, Failure> {
        self.call_grid("requestrestartservicestatus", json!({"service_option": "DNS"})).await?;
        let target = "restartservicestatus?_return_fields=dns_status,member".to_owned();
        let members: Vec<RestartStatus> = self.parse(self.client.read(target).await?)?;
        let says = |member: &RestartStatus, words: &[&str]| {
            member.dns_status.as_deref().is_some_and(|status| words.contains(&status))
        };
        let mut waiting: Vec<String> = members
            .iter()
            .filter(|member| says(member, &["YES", "RESTART_PENDING"]))
            .map(|member| member.member.clone().unwrap_or_else(|| "a member".to_owned()))
            .collect();
        waiting.sort();
        Ok(match waiting.is_empty() {
            false => Service::NeedsRestart { text: self.waiting_words(&waiting) },
            true if members.iter().all(|member| says(member, &["NO"])) && !members.is_empty() => {
                Service::Current
            }
            true => Service::Untold,
        })
    }

    fn waiting_words(&self, members: &[String]) -> String {
        let fix = match self.client.settings().restarts {
            true => "that is done after a minute",
            false => "have it restarted, or set INFOBLOX_RESTART_POLICY to if-needed",
        };
        let (host, members) = (self.client.grid().host(), members.join(", "));
        format!(
            "Infoblox at {host} says that the DNS service of {members} has to be restarted to serve it; {fix}"
        )
    }

    /// Restarts the DNS service of the members that need it, and nothing else.
    pub(crate) async fn restart_services(&self) -> Result<(), Failure> {
        let arguments = json!({
            "member_order": "SIMULTANEOUSLY", "restart_option": "RESTART_IF_NEEDED", "service_option": "DNS"
        });
        self.call_grid("restartservices", arguments).await
    }

    async fn call_grid(&self, function: &str, arguments: Value) -> Result<(), Failure> {
        let grids: Vec<Reference> = self.parse(self.client.read("grid".to_owned()).await?)?;
        let [grid] = grids.as_slice() else {
            return Err(self.unexpected("did not tell which grid it is"));
        };
        let target = format!("{}?_function={function}", grid.reference);
        self.client.send(&Request { method: Method::POST, target, body: Some(arguments) }).await.map(drop)
    }
}
