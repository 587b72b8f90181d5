//! Sets up the configured providers, and what they need from the cluster.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use gslb_core::login::LoginRecord;
use gslb_provider_contract::error::BoxError;
use gslb_provider_external_dns::ExternalDns;
use gslb_provider_infoblox::{CallObserver, Credentials, GridAddress, Infoblox, LoginMemory};
use gslb_provider_webhook::Webhook;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::json;

use crate::config::{
    Host, InfobloxSettings, ProviderChoice, RestartPolicy, SecretSource, Settings, WebhookProviderSettings,
    read_file,
};
use crate::controller::write::FIELD_MANAGER;
use crate::kube_call::{in_time, said};
use crate::metrics::Metrics;
use crate::providers::Providers;

/// ConfigMap that counts bad log-ins over restarts.
const LOGIN_MEMORY: &str = "gslb-bridge-login";

/// The configured providers.
///
/// # Errors
/// The settings do not fit together or a file cannot be read.
pub(crate) fn providers(
    settings: &Settings,
    client: &Client,
    metrics: &Metrics,
) -> anyhow::Result<Providers> {
    let set_up = |name: &str, settings_of_grid: &InfobloxSettings| -> anyhow::Result<_> {
        let calls = Arc::new(metrics.of_grid(name));
        infoblox(name, settings_of_grid, client, &settings.namespace, calls)
    };
    match &settings.provider {
        ProviderChoice::None => Ok(Providers::plain(None)),
        ProviderChoice::ExternalDns => {
            let provider = ExternalDns::new(client.clone(), &settings.namespace, FIELD_MANAGER);
            Ok(Providers::plain(Some(Arc::new(provider))))
        }
        ProviderChoice::Infoblox(infoblox) => {
            let base = set_up(Infoblox::ID, infoblox)?;
            let views = with_views(Providers::default(), settings, Infoblox::ID, &base);
            Ok(views.and_plain(Arc::new(base)))
        }
        ProviderChoice::Webhook(given) => {
            let calls = Arc::new(metrics.of_grid(Webhook::ID));
            Ok(Providers::plain(Some(Arc::new(Webhook::new(webhook(given, settings), calls)?))))
        }
        ProviderChoice::Listed(grids) => {
            let mut providers = Providers::default();
            for (name, infoblox) in grids {
                let base = set_up(name, infoblox).with_context(|| format!("provider {name}"))?;
                providers = with_views(providers, settings, name, &base);
            }
            Ok(providers)
        }
    }
}

/// One grid as a provider, which counts bad log-ins over restarts together with all processes that call it by this name.
///
/// # Errors
/// A file cannot be read, or a setting cannot work.
pub(crate) fn infoblox(
    name: &str,
    settings: &InfobloxSettings,
    client: &Client,
    namespace: &str,
    calls: Arc<dyn CallObserver>,
) -> anyhow::Result<Infoblox> {
    let api = Api::namespaced(client.clone(), namespace);
    // An apply gives up what it does not name: each writes its own record as a manager of its own.
    let field_manager = match name {
        Infoblox::ID => FIELD_MANAGER.to_owned(),
        name => format!("{FIELD_MANAGER}-login-{name}"),
    };
    let memory = ClusterMemory { api, record: name.to_owned(), field_manager };
    Ok(Infoblox::new(grid(settings)?, Arc::new(memory), calls)?.named(name))
}

/// What the provider needs to know of a webhook.
fn webhook(given: &WebhookProviderSettings, settings: &Settings) -> gslb_provider_webhook::Settings {
    let WebhookProviderSettings { url, owner, adopted_owners, txt_prefix, request_timeout } = given.clone();
    gslb_provider_webhook::Settings {
        url,
        owner,
        adopted_owners,
        txt_prefix,
        ns_prefix: settings.ns_prefix.clone(),
        request_timeout,
        clock: Arc::new(Timestamp::now),
    }
}

/// All views of a grid that zones are published in.
fn with_views(providers: Providers, settings: &Settings, name: &str, base: &Infoblox) -> Providers {
    let views = settings.publications.views().into_iter().filter(|view| view.provider == name);
    views.fold(providers, |providers, view| {
        let provider = Arc::new(base.in_view(&view.view));
        providers.with_view(view, provider)
    })
}

/// What the provider needs to know of a grid.
///
/// # Errors
/// A file cannot be read, or a setting cannot work.
pub(crate) fn grid(settings: &InfobloxSettings) -> anyhow::Result<gslb_provider_infoblox::Settings> {
    let ca_bundles = match &settings.ca_file {
        None => Vec::new(),
        Some(path) => {
            let bundle = read_file(path)
                .with_context(|| format!("INFOBLOX_CA_FILE {} cannot be read", path.display()))?;
            vec![bundle]
        }
    };
    let address = |host: &Host| GridAddress::new(&host.to_string(), settings.port, &settings.version);
    let hosts = std::iter::once(&settings.host).chain(&settings.other_hosts);
    Ok(gslb_provider_infoblox::Settings {
        grids: hosts.map(address).collect::<Result<_, _>>()?,
        client_certificate: client_certificate(settings.client_certificate.as_ref())?,
        view: settings.view.clone(),
        credentials: credentials(&settings.username, &settings.password),
        ca_bundles,
        verifies: settings.tls_verify,
        restarts: settings.restart_policy == RestartPolicy::IfNeeded,
        request_timeout: settings.request_timeout,
        retry_pause: gslb_provider_infoblox::settings::RETRY_PAUSE,
        clock: Arc::new(Timestamp::now),
    })
}

/// Certificate and key in one text.
fn client_certificate(files: Option<&(PathBuf, PathBuf)>) -> anyhow::Result<Option<SecretSlice<u8>>> {
    let Some((certificate, key)) = files else { return Ok(None) };
    let pem_of = |name: &str, path: &PathBuf| {
        read_file(path).with_context(|| format!("{name} {} cannot be read", path.display()))
    };
    let mut pem = pem_of("INFOBLOX_CLIENT_CERT_FILE", certificate)?;
    pem.push(b'\n');
    pem.extend(pem_of("INFOBLOX_CLIENT_KEY_FILE", key)?);
    Ok(Some(pem.into()))
}

/// Files stay files: the provider reads them anew for every log-in.
fn credentials(username: &SecretSource, password: &SecretSource) -> Credentials {
    match (username, password) {
        (SecretSource::File(username), SecretSource::File(password)) => {
            Credentials::Files { username_file: username.clone(), password_file: password.clone() }
        }
        (SecretSource::File(username), SecretSource::Value(password)) => {
            Credentials::UsernameFile { username_file: username.clone(), password: password.clone() }
        }
        (SecretSource::Value(username), SecretSource::File(password)) => Credentials::PasswordFile {
            username: username.expose_secret().to_owned(),
            password_file: password.clone(),
        },
        (SecretSource::Value(username), SecretSource::Value(password)) => {
            Credentials::Values { username: username.expose_secret().to_owned(), password: password.clone() }
        }
    }
}

/// Keeps the count of bad log-ins in a ConfigMap of ours; it holds a short keyed hash, never the secret.
struct ClusterMemory {
    api: Api<ConfigMap>,
    /// Key of the ConfigMap: each instance counts for itself.
    record: String,
    field_manager: String,
}

#[async_trait]
impl LoginMemory for ClusterMemory {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        Ok(self.read().await?.0)
    }

    /// Names the version that was compared, so that the API refuses it if somebody writes in between.
    async fn store(&self, before: Option<&LoginRecord>, record: &LoginRecord) -> Result<(), BoxError> {
        let (stored, version) = self.read().await?;
        if stored.as_ref() != before {
            return Err("another process stored meanwhile".into());
        }
        let mut body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LOGIN_MEMORY},
            "data": {&self.record: serde_json::to_string(record)?},
        });
        if let Some(version) = version {
            body["metadata"]["resourceVersion"] = version.into();
        }
        let params = PatchParams::apply(&self.field_manager).force();
        let patched = in_time(self.api.patch(LOGIN_MEMORY, &params, &Patch::Apply(&body))).await;
        patched.map_err(|error| said(&error))?;
        Ok(())
    }
}

impl ClusterMemory {
    /// The record, and the version of the ConfigMap if there is one.
    async fn read(&self) -> Result<(Option<LoginRecord>, Option<String>), BoxError> {
        let stored = in_time(self.api.get_opt(LOGIN_MEMORY)).await.map_err(|error| said(&error))?;
        let Some(stored) = stored else { return Ok((None, None)) };
        let record = stored.data.as_ref().and_then(|data| data.get(&self.record));
        let record = record.map(|record| serde_json::from_str(record)).transpose()?;
        Ok((record, stored.metadata.resource_version))
    }
}

#[cfg(test)]
mod tests {
    use gslb_core::login::Salt;
    use gslb_mocks::kube::ApiServer;

    use super::*;

    #[tokio::test]
    async fn a_record_is_stored_in_the_place_of_the_one_that_was_seen_only() {
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        let api = Api::namespaced(Client::new(api.router(), "default"), "default");
        let (record, field_manager) = ("infoblox".to_owned(), FIELD_MANAGER.to_owned());
        let memory = ClusterMemory { api, record, field_manager };
        assert_eq!(memory.load().await.unwrap(), None);
        let [ours, theirs] = [1, 2].map(|byte| LoginRecord::new(Salt::new([byte; 16])));
        memory.store(None, &theirs).await.unwrap();
        memory.store(None, &ours).await.unwrap_err();
        assert_eq!(memory.load().await.unwrap(), Some(theirs.clone()));
        memory.store(Some(&theirs), &ours).await.unwrap();
        assert_eq!(memory.load().await.unwrap(), Some(ours));
    }

    #[test]
    fn what_is_given_as_a_file_is_read_for_every_log_in() {
        let file = |path: &str| SecretSource::File(path.into());
        let value = || SecretSource::Value("x".into());
        // A file that is not there yet shows that nothing is read here.
        let (username, password) = (file("/nonexistent/username"), file("/nonexistent/password"));
        assert!(matches!(credentials(&username, &password), Credentials::Files { .. }));
        assert!(matches!(credentials(&username, &value()), Credentials::UsernameFile { .. }));
        assert!(matches!(credentials(&value(), &password), Credentials::PasswordFile { .. }));
        assert!(matches!(credentials(&value(), &value()), Credentials::Values { .. }));
    }
}
