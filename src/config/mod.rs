//! Configuration: [`RawConfig`] is what the user wrote, [`Settings`] what the program uses.
//!
//! The environment is read once, through a function ([`RawConfig::read`]); nothing below this folder asks for
//! it again. All problems are reported at once, and the caller ends the process with [`EXIT_CODE`].

mod address;
mod adoption;
mod catalog;
mod dns;
mod file;
mod files;
mod infoblox;
mod instances;
mod log;
mod place;
mod print;
mod problem;
mod publish;
mod raw;
mod reader;
mod records;
mod secret;
pub mod settings;
#[cfg(test)]
mod tests;
mod value;
mod webhook;
mod webhook_provider;
mod zones;

pub use address::{Host, ServerAddress};
pub(crate) use catalog::masked_url;
pub use catalog::{Form, Readers, VARIABLES, Variable};
pub use file::{API_VERSION, KIND};
pub(crate) use files::read_file;
pub use files::{load, load_webhook};
pub use infoblox::{InfobloxSettings, ProviderChoice, RestartPolicy};
pub use log::{LogFormat, LogLevel, LogSettings};
pub use place::{FilePlace, Place, Position};
pub use problem::{BadConfiguration, EXIT_CODE, Found, Problem, Problems, Warning};
pub use publish::{Publication, Publications, Sight, View};
pub use raw::RawConfig;
pub use secret::{SecretError, SecretSource};
pub use settings::{ChangeLogSettings, DnsService, NamespacePolicy, Periods, Settings, TracingSettings};
pub use webhook_provider::WebhookProviderSettings;
