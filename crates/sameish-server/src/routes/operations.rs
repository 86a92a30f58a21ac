//! What does an operator ask?

use super::json;
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::{Kind, Problem};
use crate::state::App;
use crate::wire::{CollectionAnswer, HealthAnswer, SnapshotAnswer, SnapshotRequest, StatsAnswer};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sameish_store::Health;
use std::path::Path;
use std::sync::Arc;

/// Copy all data into a new folder while the service runs
///
/// `sameish restore` puts such a copy back.
#[utoipa::path(
    post, path = "/api/v1/snapshot", tag = "operations",
    request_body(content = Option<SnapshotRequest>),
    responses((status = 201, description = "It is made", body = SnapshotAnswer))
)]
pub(crate) async fn snapshot(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Takes::JsonOrNothing).await?;
    let busy = |_| Problem::new(Kind::Busy, "a snapshot is being made: try again when it is done");
    let alone = Arc::clone(&app.snapshot).try_acquire_owned().map_err(busy)?;
    // Not within the time of ordinary answers: a large store takes longer to copy.
    let working = app.clone();
    let work = tokio::task::spawn_blocking(move || {
        let _alone = alone;
        let payload = payload.unpacked(&working)?;
        let asked = match payload.bytes.is_empty() {
            true => SnapshotRequest::default(),
            false => SnapshotRequest::read(Json::parse(&payload.bytes)?)?,
        };
        let folder =
            working.settings.snapshots.clone().unwrap_or_else(|| working.catalog.folder().join("snapshots"));
        let name = asked.name.unwrap_or_else(|| working.ids.next());
        let path = folder.join(&name);
        if path.exists() {
            return Err(Problem::new(
                Kind::Conflict,
                format!("there is a snapshot named `{name}`: use another name"),
            ));
        }
        working.catalog.snapshot(&path)?;
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(SnapshotAnswer { name, bytes: bytes_of(&path), path: path.display().to_string() })
    });
    let answer = work.await.unwrap_or_else(|fault| Err(Problem::internal(fault)))?;
    Ok(json(StatusCode::CREATED, &answer))
}

fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Figures of the service and of each collection
#[utoipa::path(
    get, path = "/api/v1/stats", tag = "operations",
    responses((status = 200, description = "Figures", body = StatsAnswer))
)]
pub(crate) async fn stats(State(app): State<App>) -> Result<Response, Problem> {
    let figures = app.work(|app| {
        let mut collections = std::collections::BTreeMap::new();
        for collection in app.catalog.collections() {
            collections.insert(collection.name().to_owned(), CollectionAnswer::new(&collection)?);
        }
        Ok(StatsAnswer {
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
        })
    });
    Ok(json(StatusCode::OK, &figures.await?))
}

/// Figures for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Text that Prometheus reads", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    // Beside the queue: figures are wanted most when there is one.
    let rendering = app.clone();
    let text = tokio::task::spawn_blocking(move || rendering.metrics.render(&rendering));
    let text = text.await.map_err(Problem::internal)?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Whether the process is alive
#[utoipa::path(
    get, path = "/health/live", tag = "operations", security(()),
    responses((status = 200, description = "It is", body = HealthAnswer))
)]
pub(crate) async fn live() -> Response {
    json(StatusCode::OK, &HealthAnswer { status: "ok" })
}

/// Whether the service wants requests
///
/// Not while it stops, and not after a failed sync, which only a restart cures.
#[utoipa::path(
    get, path = "/health/ready", tag = "operations", security(()),
    responses((status = 200, description = "It does", body = HealthAnswer))
)]
pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Problem> {
    if app.is_draining() {
        return Err(Problem::new(Kind::Draining, "the service is stopping"));
    }
    let status = match app.catalog.health() {
        Health::Ready => "ok",
        Health::Full => "full",
        Health::ReadOnly => "read_only",
        Health::Failed(_) => {
            return Err(Problem::new(
                Kind::StorageFailed,
                "writing failed: reads go on, writes stop until a restart",
            ));
        }
    };
    Ok(json(StatusCode::OK, &HealthAnswer { status }))
}

/// This description
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"))
)]
pub(crate) async fn openapi(State(app): State<App>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], app.openapi.get().cloned().unwrap_or_default()).into_response()
}
