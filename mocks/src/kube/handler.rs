//! From HTTP to the store and back.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use axum::response::Response;
use serde_json::{Value, json};

use super::faults::Failure;
use super::journal::JournalEntry;
use super::kinds::Kind;
use super::request::{self, Query, Target};
use super::status::ApiError;
use super::store::Store;
use super::watch::{Scope, Watcher};
use super::{ApiServer, discovery, mutate, openapi, read};

/// The limit of kube-apiserver.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// What goes back to the client.
pub(super) enum Reply {
    Json { code: u16, body: String, warnings: Vec<String> },
    Watch(Box<Watcher>),
}

impl Reply {
    pub(super) fn ok(body: String) -> Self {
        Self::Json { code: 200, body, warnings: Vec::new() }
    }

    fn code(&self) -> u16 {
        match self {
            Self::Json { code, .. } => *code,
            Self::Watch(_) => 200,
        }
    }
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        Self::Json { code: error.code, body: error.body().to_string(), warnings: Vec::new() }
    }
}

pub(super) async fn handle(State(server): State<ApiServer>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match Target::parse(parts.uri.path()) {
        Some(target) => resource(&server, target, parts, body).await,
        None => other(&server, &parts),
    }
}

async fn resource(server: &ApiServer, target: Target, parts: Parts, body: Body) -> Response {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let Some(verb) = request::verb(&parts.method, &target, &query) else {
        return respond(ApiError::method_not_allowed().into());
    };
    let failure = server.faults().hit(verb, &target);
    if let Some(Failure::Delay(delay)) = &failure {
        tokio::time::sleep(*delay).await;
    }
    let body = match axum::body::to_bytes(body, BODY_LIMIT).await {
        Ok(body) => body,
        Err(error) => return respond(ApiError::new(413, "RequestEntityTooLarge", error.to_string()).into()),
    };
    let (reply, changed) = match &failure {
        Some(Failure::Status { code, reason, message }) => {
            (ApiError::new(*code, reason, message).into(), false)
        }
        Some(Failure::NamespaceTerminating) => {
            let Target { group, resource, namespace, name, .. } = &target;
            (ApiError::terminating(group, resource, namespace, name).into(), false)
        }
        Some(Failure::Delay(_) | Failure::LateAnswer(_) | Failure::LoseAnswer) | None => {
            let asked =
                Asked { server, target: &target, verb, query: &query, headers: &parts.headers, body: &body };
            server.with_store(|store| {
                let before = store.revision();
                let reply = asked.answer(store).unwrap_or_else(Reply::from);
                (reply, store.revision() != before)
            })
        }
    };
    let caught = changed.then(|| server.faults().catch(verb, &target)).flatten();
    server.journal().record(JournalEntry {
        verb,
        user_agent: user_agent(&parts.headers).to_owned(),
        group: target.group,
        version: target.version,
        resource: target.resource,
        subresource: target.subresource,
        namespace: target.namespace,
        name: target.name,
        status_code: reply.code(),
        changed,
    });
    if let Some(caught) = caught {
        return caught.hold().await;
    }
    if let Some(Failure::LateAnswer(delay)) = &failure {
        tokio::time::sleep(*delay).await;
    }
    if failure == Some(Failure::LoseAnswer) {
        let broken = futures::stream::once(async {
            Err::<Bytes, _>(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
        });
        return Response::new(Body::from_stream(broken));
    }
    respond(reply)
}

pub(super) fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A request to a resource, with everything that its answer depends on but the store.
pub(super) struct Asked<'a> {
    pub(super) server: &'a ApiServer,
    pub(super) target: &'a Target,
    pub(super) verb: &'static str,
    pub(super) query: &'a Query,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

impl Asked<'_> {
    fn answer(&self, store: &mut Store) -> Result<Reply, ApiError> {
        let target = self.target;
        if let Some(review) = self.review()? {
            return Ok(review);
        }
        let kind = store
            .registry
            .find(&target.group, &target.version, &target.resource)
            .ok_or_else(ApiError::unknown_path)?;
        self.check_path(&kind)?;
        let format = request::format(self.headers, self.query);
        match self.verb {
            "get" => read::get(store, &kind, target, format).map(Reply::ok),
            "list" => read::list(store, &kind, target, self.query, format).map(Reply::ok),
            "watch" => {
                let selector = read::selector(&kind, target, self.query)?;
                let scope = Scope { kind, namespace: target.namespace.clone(), selector, format };
                Watcher::start(self.server, store, scope, self.query)
                    .map(|watcher| Reply::Watch(Box::new(watcher)))
            }
            _ => mutate::answer(self, store, kind, format),
        }
    }

    fn check_path(&self, kind: &Arc<Kind>) -> Result<(), ApiError> {
        let target = self.target;
        let over_all_namespaces =
            target.namespace.is_empty() && target.name.is_empty() && ["list", "watch"].contains(&self.verb);
        let scope_fits = if kind.namespaced {
            !target.namespace.is_empty() || over_all_namespaces
        } else {
            target.namespace.is_empty()
        };
        match target.subresource.as_str() {
            _ if !scope_fits && self.verb == "create" => Err(ApiError::method_not_allowed()),
            _ if !scope_fits => Err(ApiError::unknown_path()),
            "" => Ok(()),
            "status" if kind.status && ["get", "update", "patch"].contains(&self.verb) => Ok(()),
            "status" if kind.status => Err(ApiError::method_not_allowed()),
            _ => Err(ApiError::unknown_path()),
        }
    }

    /// Questions about permissions: everyone may do everything.
    fn review(&self) -> Result<Option<Reply>, ApiError> {
        let status = match (self.target.group.as_str(), self.target.resource.as_str()) {
            (
                "authorization.k8s.io",
                "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews",
            ) => {
                json!({"allowed": true})
            }
            ("authorization.k8s.io", "selfsubjectrulesreviews") => json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": false,
            }),
            ("authentication.k8s.io", "selfsubjectreviews") => {
                json!({"userInfo": {"username": "anyone", "groups": ["system:masters"]}})
            }
            ("authentication.k8s.io", "tokenreviews") => {
                json!({"authenticated": true, "user": {"username": "anyone"}})
            }
            _ => return Ok(None),
        };
        let mut review = request::parse_body(self.body)?;
        if !review.is_object() {
            return Err(ApiError::bad_request("the object provided is unrecognized"));
        }
        review["status"] = status;
        Ok(Some(Reply::Json { code: 201, body: review.to_string(), warnings: Vec::new() }))
    }
}

/// Discovery, OpenAPI and health.
fn other(server: &ApiServer, parts: &Parts) -> Response {
    let path = parts.uri.path().trim_matches('/');
    if ["healthz", "livez", "readyz"].contains(&path) {
        return Response::new(Body::from("ok"));
    }
    if parts.method != Method::GET {
        return respond(ApiError::method_not_allowed().into());
    }
    let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let wants_aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2");
    let found = server.with_store(|store| {
        let registry = &store.registry;
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            ["api" | "apis"] if wants_aggregated => Some(discovery::aggregated(registry, path == "api")),
            ["version"] => Some(discovery::version()),
            ["api"] => Some(discovery::core_versions()),
            ["apis"] => Some(discovery::group_list(registry)),
            ["api", version] => discovery::resource_list(registry, "", version),
            ["apis", group] => discovery::group(registry, group),
            ["apis", group, version] => discovery::resource_list(registry, group, version),
            ["openapi", "v3"] => Some(openapi::index(registry)),
            ["openapi", "v3", rest @ ..] => openapi::document(registry, &rest.join("/")),
            _ => None,
        }
    });
    match found {
        Some(body) => {
            let mut response = respond(Reply::ok(body.to_string()));
            if wants_aggregated && (path == "api" || path == "apis") {
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static(discovery::AGGREGATED));
            }
            response
        }
        None => respond(ApiError::unknown_path().into()),
    }
}

fn respond(reply: Reply) -> Response {
    let mut response = Response::new(Body::empty());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match reply {
        Reply::Json { code, body, warnings } => {
            *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            for warning in warnings {
                // RFC 7234 §5.5: code 299, no agent, the text quoted.
                if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", Value::String(warning))) {
                    response.headers_mut().append(header::WARNING, value);
                }
            }
            *response.body_mut() = Body::from(body);
        }
        Reply::Watch(watcher) => *response.body_mut() = Body::from_stream(watcher.into_stream()),
    }
    response
}
