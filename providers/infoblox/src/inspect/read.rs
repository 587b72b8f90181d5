//! Reads of the grid as a whole. None of them writes, and none depends on another one's success but on being let in.

use futures::{StreamExt, stream};
use gslb_provider_contract::{Inspected, ProviderError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::facts::{Account, Attribute, Facts, Grant, Group, Inside, Read, Schema, Shut};
use crate::answer::{Failure, Kind};
use crate::provider::{Infoblox, query};

/// The oldest version: every grid answers it, so it tells those that are left (reference.md §1.2).
const OLDEST_VERSION: &str = "1.0";
/// Zones that are looked at together; the client sends no more than four requests at once anyway.
const ZONES_AT_ONCE: usize = 4;

/// An administrator, as read.
#[derive(Debug, Deserialize)]
struct AdminUser {
    #[serde(default)]
    admin_groups: Vec<String>,
}

/// A group of administrators, as read.
#[derive(Debug, Deserialize)]
struct AdminGroup {
    #[serde(default)]
    superuser: bool,
    #[serde(default)]
    roles: Vec<String>,
}

impl Infoblox {
    /// Asks for the schema first: if that fails nothing else is sent, so a wrong password is sent once.
    pub(super) async fn facts(&self, what: &Inspected) -> Facts {
        let inside = match self.schema().await {
            Ok(schema) => Ok(self.inside(schema, what).await),
            Err(failure) => {
                let versions = match failure.kind {
                    Kind::Version => self.versions().await,
                    _ => Vec::new(),
                };
                Err(Shut { failure, versions })
            }
        };
        let grid = self.client.grid();
        let listed = self.client.settings().grids.iter();
        Facts {
            host: grid.host().to_owned(),
            verified: self.client.settings().verifies,
            passed_over: listed
                .take_while(|other| *other != grid)
                .map(|other| other.host().to_owned())
                .collect(),
            version: grid.version().to_owned(),
            view: self.view().to_owned(),
            restarts: self.client.settings().restarts,
            inside,
        }
    }

    async fn inside(&self, schema: Schema, what: &Inspected) -> Inside {
        let delegations: Vec<_> = what.delegations.iter().map(|zone| self.zone_facts(zone)).collect();
        let records: Vec<_> = what.records.iter().map(|zone| self.records_facts(zone)).collect();
        Inside {
            schema,
            account: self.account().await,
            views: self.all("view", &[("_return_fields", "name,disable")]).await,
            attributes: self.attributes().await,
            restarts: self.restarts().await.map_err(told),
            zones: stream::iter(delegations).buffered(ZONES_AT_ONCE).collect().await,
            records: stream::iter(records).buffered(ZONES_AT_ONCE).collect().await,
        }
    }

    async fn schema(&self) -> Result<Schema, Failure> {
        self.parse(self.client.read("?_schema".to_owned()).await?)
    }

    /// What the grid supports when it does not support what was asked for; empty if it does not say.
    async fn versions(&self) -> Vec<String> {
        let Some(client) = self.client.in_version(OLDEST_VERSION) else { return Vec::new() };
        let reply = client.read("?_schema".to_owned()).await;
        // It is a session of its own; what is not ended ends by itself.
        drop(client.logout().await);
        let schema = reply.and_then(|reply| self.parse::<Schema>(reply));
        schema.map(|schema| schema.supported_versions).unwrap_or_default()
    }

    async fn attributes(&self) -> Read<Vec<Attribute>> {
        self.all("extensibleattributedef", &[("_return_fields", "name,type,flags,allowed_object_types")])
            .await
    }

    /// The account with its groups; nothing if the grid shows no administrator of that name, which may be because the
    /// account may not see any, or because it is kept elsewhere (RADIUS, LDAP).
    async fn account(&self) -> Read<Option<Account>> {
        let user = self.client.settings().credentials.read()?.username;
        let found: Vec<AdminUser> =
            self.all("adminuser", &[("name", &user), ("_return_fields", "admin_groups")]).await?;
        let [user] = found.as_slice() else { return Ok(None) };
        let mut groups = Vec::new();
        for name in &user.admin_groups {
            match self.group(name).await? {
                Some(group) => groups.push(group),
                None => return Ok(None),
            }
        }
        Ok((!groups.is_empty()).then_some(Account { groups }))
    }

    async fn group(&self, name: &str) -> Read<Option<Group>> {
        let found: Vec<AdminGroup> =
            self.all("admingroup", &[("name", name), ("_return_fields", "superuser,roles")]).await?;
        let [group] = found.as_slice() else { return Ok(None) };
        let grants = self.grants(name, &group.roles).await;
        Ok(Some(Group { name: name.to_owned(), superuser: group.superuser, grants }))
    }

    async fn grants(&self, group: &str, roles: &[String]) -> Read<Vec<Grant>> {
        let roles = roles.iter().map(|role| ("role", role.as_str()));
        let mut grants = Vec::new();
        for holder in [("group", group)].into_iter().chain(roles) {
            let fields = ("_return_fields", "permission,resource_type,object");
            grants.extend(self.all::<Grant>("permission", &[holder, fields]).await?);
        }
        Ok(grants)
    }

    /// All objects of a type that pass the filters. A grid refuses a list of more than a thousand as a whole, and never
    /// cuts it short.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        kind: &str,
        arguments: &[(&str, &str)],
    ) -> Read<Vec<T>> {
        let target = query(kind, &[arguments, &[("_max_results", "-1000")]].concat());
        let reply = self.client.read(target).await.map_err(told)?;
        self.parse(reply).map_err(told)
    }
}

/// The sentence of a failure: what it means for a write is of no interest here.
pub(super) fn told(failure: Failure) -> ProviderError {
    failure.error
}
