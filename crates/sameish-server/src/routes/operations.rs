//! Operation of the service: snapshots, statistics, metrics and health.

use crate::body::{self, Format, Payload};
use crate::problem::{Kind, Problem};
use crate::response::json;
use crate::state::App;
use crate::wire::{
    CollectionResponse, HealthResponse, SnapshotRequest, SnapshotResponse, StatsResponse, UnavailableResponse,
};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sameish_store::Health;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Copy all data to a new directory while the service runs
///
/// `sameish restore` restores the copy.
#[utoipa::path(
    post, path = "/api/v1/snapshot", tag = "operations",
    request_body(content = Option<SnapshotRequest>),
    responses((status = 201, description = "Created", body = SnapshotResponse))
)]
pub(crate) async fn snapshot(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::OptionalJson).await?;
    let busy = |_| Problem::new(Kind::Busy, "another snapshot is in progress; retry when it has finished");
    let permit = Arc::clone(&app.snapshot).try_acquire_owned().map_err(busy)?;
    // Not through `App::run`: copying a large store takes longer than `handler_seconds`.
    let task_app = app.clone();
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        create_snapshot(&task_app, payload)
    });
    let response = task.await.unwrap_or_else(|error| Err(Problem::internal(error)))?;
    json(&app, StatusCode::CREATED, &response)
}

fn create_snapshot(app: &App, payload: Payload) -> Result<SnapshotResponse, Problem> {
    let payload = payload.decoded(app)?;
    let request = payload.parse_optional::<SnapshotRequest>(app.limits())?;
    let name = request.and_then(|request| request.name).map_or_else(|| app.ids.next(), |name| name.0);
    let directory = app.settings.snapshots.clone();
    let path = directory.unwrap_or_else(|| app.catalog.directory().join("snapshots")).join(&name);
    if path.exists() {
        let detail = format!("a snapshot named `{name}` exists; use another name");
        return Err(Problem::new(Kind::Conflict, detail));
    }
    app.catalog.snapshot(&path)?;
    let path = std::path::absolute(&path).unwrap_or(path);
    Ok(SnapshotResponse { name, bytes: directory_size(&path), path: path.display().to_string() })
}

fn directory_size(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Get statistics of the service and of each collection
#[utoipa::path(
    get, path = "/api/v1/stats", tag = "operations",
    responses((status = 200, description = "Statistics", body = StatsResponse))
)]
pub(crate) async fn stats(State(app): State<App>) -> Result<Response, Problem> {
    let response = app.run(|app| {
        let mut collections = BTreeMap::new();
        for collection in app.catalog.collections() {
            collections.insert(collection.name().to_owned(), CollectionResponse::new(&collection)?);
        }
        let response = StatsResponse {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: app.started.elapsed().as_secs(),
            documents: collections.values().map(|collection| collection.documents).sum(),
            bytes: app.catalog.bytes()?,
            writes_waiting: app.catalog.waiting(),
            storage: match app.catalog.health() {
                Health::Ready => "ready",
                Health::Full => "full",
                Health::ReadOnly => "read_only",
                Health::Failed(_) => "failed",
            },
            collections,
            unavailable: UnavailableResponse::all(&app.catalog),
        };
        json(app, StatusCode::OK, &response)
    });
    response.await
}

/// Get metrics for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Metrics in the Prometheus text format", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    // Not through `App::run`: metrics are needed most when requests are queued.
    let text = tokio::task::spawn_blocking(move || app.metrics.render(&app));
    let text = text.await.map_err(Problem::internal)?;
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}

/// Check that the process is alive
#[utoipa::path(
    get, path = "/health/live", tag = "operations", security(()),
    responses((status = 200, description = "Alive", body = HealthResponse))
)]
pub(crate) async fn live() -> Response {
    health(&HealthResponse { status: "ok", expiry_paused: Vec::new(), unavailable: Vec::new() })
}

/// Check that the service is ready for requests
///
/// The service is not ready during shutdown and, after a failed sync, until it is restarted.
#[utoipa::path(
    get, path = "/health/ready", tag = "operations", security(()),
    responses((status = 200, description = "Ready", body = HealthResponse))
)]
pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Problem> {
    if app.is_draining() {
        return Err(Problem::draining());
    }
    let status = match app.catalog.health() {
        Health::Ready => "ok",
        Health::Full => "full",
        Health::ReadOnly => "read_only",
        Health::Failed(_) => return Err(Problem::storage_failed()),
    };
    let expiry_paused = app.paused_expiry.reasons();
    let unavailable = app.catalog.unavailable().into_iter().map(|collection| collection.name).collect();
    Ok(health(&HealthResponse { status, expiry_paused, unavailable }))
}

/// Returns the response of a health check, which works without free memory in the budget.
fn health(response: &HealthResponse) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    let body = serde_json::to_vec(response).unwrap_or_default();
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}

/// Get the OpenAPI description
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"))
)]
pub(crate) async fn openapi(State(app): State<App>) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, content_type)], app.openapi.get().cloned().unwrap_or_default()).into_response()
}
