//! The handle to one API server, and how it is built and served.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::faults::Faults;
use super::gc::DeleteOptions;
use super::handler;
use super::journal::Journal;
use super::kinds::Kind;
use super::managed::Writer;
use super::object::{self, Key};
use super::read::in_version;
use super::status::ApiError;
use super::store::Store;
use super::write::{FieldValidation, Ownership, Write, from_stored};

/// Changes that each collection keeps for watches; a watch further behind must list again.
const WINDOW: usize = 4096;
/// Requests that the journal keeps.
const JOURNAL: usize = 16_384;

/// An API server in memory. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Mutex<Store>,
    faults: Faults,
    journal: Journal,
}

/// Why a direct call was refused: the `Status` that a client would have got.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: String,
    /// The text for humans.
    pub message: String,
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self { code: error.code, reason: error.reason, message: error.message }
    }
}

/// Settings of a server before it starts.
#[derive(Debug, Default)]
pub struct Builder {
    crds: Vec<String>,
    first_group: Option<String>,
    window: Option<usize>,
}

impl Builder {
    /// Serves the CRDs in `yaml`, which may hold several documents.
    #[must_use]
    pub fn crd_yaml(mut self, yaml: &str) -> Self {
        self.crds.push(yaml.into());
        self
    }

    /// Lets discovery name this group before the others, which come by name: kubectl takes a kind's short name for the
    /// first group that has it.
    #[must_use]
    pub fn first_group(mut self, group: &str) -> Self {
        self.first_group = Some(group.into());
        self
    }

    /// Keeps only `changes` changes for each collection, so that watches fall behind soon.
    #[must_use]
    pub fn watch_window(mut self, changes: usize) -> Self {
        self.window = Some(changes);
        self
    }

    /// The server, with the namespaces that every cluster has.
    ///
    /// # Panics
    ///
    /// If a CRD cannot be read or is refused: it is part of the program that builds the server.
    pub fn build(self) -> ApiServer {
        let mut store = Store::new(self.window.unwrap_or(WINDOW));
        store.registry.first_group = self.first_group;
        let inner =
            Inner { store: Mutex::new(store), faults: Faults::default(), journal: Journal::new(JOURNAL) };
        let server = ApiServer { inner: Arc::new(inner) };
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server.apply_object(namespace).expect("the namespaces of every cluster are well-formed");
        }
        for yaml in &self.crds {
            let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).expect("CRDs are YAML");
            for crd in documents.into_iter().filter(|document| !document.is_null()) {
                server.apply_object(crd).expect("CRDs are accepted");
            }
        }
        server
    }
}

impl ApiServer {
    /// Starts to describe a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The API as a service that needs no socket.
    pub fn router(&self) -> Router {
        Router::new().fallback(handler::handle).with_state(self.clone())
    }

    /// Serves on `listener` until it is shut down or the handle is dropped.
    ///
    /// # Errors
    ///
    /// If the listener has no address.
    pub fn serve(&self, listener: TcpListener) -> std::io::Result<Running> {
        let addr = listener.local_addr()?;
        let stop = CancellationToken::new();
        // Events are small and must not wait for more to come.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let serving =
            axum::serve(listener, self.router()).with_graceful_shutdown(stop.clone().cancelled_owned());
        let task = tokio::spawn(async move { serving.await });
        Ok(Running { addr, stop, task, faults: self.inner.faults.clone() })
    }

    /// Faults that can be injected.
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// Requests so far.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// Forgets all past changes: running watches end with 410 and clients must list again.
    pub fn expire_watches(&self) {
        self.with_store(Store::compact);
    }

    /// From now on the garbage collector is behind: what belongs to objects that are gone stays. A real one may need
    /// seconds.
    pub fn hold_garbage(&self) {
        self.with_store(|store| store.holds_garbage = true);
    }

    /// The resource version of the last change.
    pub fn revision(&self) -> u64 {
        self.with_store(|store| store.revision())
    }

    /// Applies an object on the server's side, as field manager `direct` and with force; its `status` too.
    ///
    /// # Errors
    ///
    /// What a client would be refused with.
    pub fn apply_object(&self, object: Value) -> Result<Value, Refused> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        self.with_store(|store| {
            let kind = store.registry.of(&api_version, &kind).ok_or_else(ApiError::unknown_path)?;
            let namespace = match object::namespace(&object) {
                "" if kind.namespaced => "default",
                namespace => namespace,
            };
            let mut write = direct_write(&kind, Key::new(namespace, object::name(&object)), true);
            let (_, mut written) = store.apply(&write, &object, true)?;
            if kind.status && !object["status"].is_null() {
                write.status_only = true;
                write.writer.subresource = "status".into();
                let status =
                    json!({"apiVersion": api_version, "kind": kind.kind, "status": object["status"]});
                written = store.apply(&write, &status, true)?.1;
            }
            from_stored(&kind, &mut written.value);
            Ok(written.value)
        })
    }

    /// Replaces or creates an object without server-side apply; its status stays as it is.
    ///
    /// # Errors
    ///
    /// What a client would be refused with.
    pub fn put_object(&self, object: Value) -> Result<Value, Refused> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        self.with_store(|store| {
            let kind = store.registry.of(&api_version, &kind).ok_or_else(ApiError::unknown_path)?;
            let namespace = match object::namespace(&object) {
                "" if kind.namespaced => "default",
                namespace => namespace,
            };
            let write = direct_write(&kind, Key::new(namespace, object::name(&object)), false);
            let mut written = match store.get(&kind, &write.key) {
                Some(before) => store.update(&write, &before.value(), object, Ownership::Record)?,
                None => store.create(&write, object, Ownership::Record)?,
            };
            from_stored(&kind, &mut written.value);
            Ok(written.value)
        })
    }

    /// Replaces an object's status, as a client of that subresource would.
    ///
    /// # Errors
    ///
    /// What a client would be refused with: a conflict too, if `object` is an older state.
    pub fn put_status(&self, object: Value) -> Result<Value, Refused> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        self.with_store(|store| {
            let kind = store.registry.of(&api_version, &kind).filter(|kind| kind.status);
            let kind = kind.ok_or_else(ApiError::unknown_path)?;
            let key = Key::new(object::namespace(&object), object::name(&object));
            let before = store.get(&kind, &key).ok_or_else(ApiError::unknown_path)?.value();
            let mut write = direct_write(&kind, key, false);
            write.status_only = true;
            write.writer.subresource = "status".into();
            let mut written = store.update(&write, &before, object, Ownership::Record)?;
            from_stored(&kind, &mut written.value);
            Ok(written.value)
        })
    }

    /// An object by `apiVersion`, kind, namespace (empty for cluster-wide kinds) and name.
    pub fn get(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        self.with_store(|store| {
            let kind = store.registry.of(api_version, kind)?;
            let found = store.get(&kind, &Key::new(namespace, name))?;
            Some(in_version(&kind, &found))
        })
    }

    /// The objects of a kind, of all namespaces with an empty `namespace`.
    pub fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Vec<Value> {
        self.with_store(|store| {
            let Some(kind) = store.registry.of(api_version, kind) else { return Vec::new() };
            store.collection(&kind).list(namespace).map(|object| in_version(&kind, object)).collect()
        })
    }

    /// Deletes an object as a client would; whether it is gone rather than waiting for its finalizers.
    ///
    /// # Errors
    ///
    /// What a client would be refused with.
    pub fn delete(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<bool, Refused> {
        self.with_store(|store| {
            let kind = store.registry.of(api_version, kind).ok_or_else(ApiError::unknown_path)?;
            let write = direct_write(&kind, Key::new(namespace, name), false);
            Ok(store.delete(&write, &DeleteOptions::default())?.1)
        })
    }

    pub(super) fn with_store<R>(&self, work: impl FnOnce(&mut Store) -> R) -> R {
        // A panic under the lock is a bug that its test reports; others may still look at the state.
        work(&mut self.inner.store.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn direct_write(kind: &Arc<Kind>, key: Key, applies: bool) -> Write {
    let writer = Writer {
        manager: "direct".into(),
        applies,
        api_version: kind.api_version(),
        subresource: String::new(),
    };
    Write {
        kind: kind.clone(),
        key,
        status_only: false,
        writer,
        dry_run: false,
        validation: FieldValidation::Strict,
    }
}

/// A server that listens. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
    faults: Faults,
}

impl Running {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its address for a kubeconfig.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Stops listening, ends all watches and waits for requests in flight.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        self.faults.drop_watches();
        // It can only fail by being cancelled, and then it has stopped as well.
        drop((&mut self.task).await);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}
