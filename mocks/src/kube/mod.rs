//! An in-memory Kubernetes API: enough of kube-apiserver for controllers, for `kubectl`, and for tests.
//!
//! It keeps objects as JSON and treats all kinds alike. What it has behaves as in Kubernetes: resource versions,
//! watches with bookmarks and 410, server-side apply with `managedFields`, status subresources, generations,
//! finalizers, owner references, CRDs with defaulting, pruning, validation and rules in CEL, tables, OpenAPI v3.
//!
//! Differences to the real one, all on purpose:
//!
//! - Built-in kinds are not validated beyond their metadata, and only the presets that matter to us are set.
//! - Garbage collection and the deletion of namespaces happen within the request, not some time later.
//! - Old states are not kept: a list at an exact older version is 410, later pages show the present state.
//! - Versions of a CRD are converted by name only; webhooks and scale subresources do not exist.
//! - Everyone may do everything; no answers in protocol buffers; no `/openapi/v2`.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! let server = gslb_mocks::kube::ApiServer::builder().build();
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let running = server.serve(listener)?;
//! println!("{}", gslb_mocks::kube::kubeconfig([("eu", running.url().as_str())]));
//! # Ok(())
//! # }
//! ```
//!
//! Reading order: `kinds` (what is served), `store` (state), `write` and `gc` (what writes do), `managed`
//! (who owns which field), `watch`, then `handler` (HTTP).

mod builtin;
mod crd;
mod discovery;
mod events;
mod faults;
mod fieldset;
mod gc;
mod handler;
mod journal;
mod jsonpath;
mod kinds;
mod kubeconfig;
mod managed;
mod mutate;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod read;
mod request;
mod schema;
mod selector;
mod server;
mod status;
mod store;
mod table;
mod typed;
mod validate;
mod watch;
mod write;

pub use faults::{Failure, Fault, Faults, Matcher};
pub use journal::{Journal, JournalEntry};
pub use kubeconfig::kubeconfig;
pub use server::{ApiServer, Builder, Refused, Running};
