//! Collections.

use super::PathParams;
use crate::auth::Scope;
use crate::body::{self, Format};
use crate::problem::Problem;
use crate::response::json;
use crate::state::App;
use crate::wire::{
    CollectionChange, CollectionResponse, CollectionSettings, CollectionsResponse, UnavailableResponse,
};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sameish_store::{CollectionConfig, Error};

/// Create a collection
///
/// Repeating the request with the same settings changes nothing; with other settings it is a conflict.
#[utoipa::path(
    put, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "1 to 64 characters from a-z, 0-9, - and _")),
    request_body(content = Option<CollectionSettings>),
    responses(
        (status = 201, description = "Created", body = CollectionResponse),
        (status = 200, description = "Already exists with these settings", body = CollectionResponse),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::OptionalJson).await?;
    let response = app.run_write(move |app| {
        let payload = payload.decoded(app)?;
        let config = match payload.parse_optional::<CollectionSettings>(app.limits())? {
            Some(settings) => settings.into_config(app.limits())?,
            None => CollectionConfig::new(Default::default()),
        };
        let existed = app.catalog.collection(&name).is_ok();
        let collection = app.catalog.create(&name, config)?;
        let status = if existed { StatusCode::OK } else { StatusCode::CREATED };
        json(app, status, &CollectionResponse::new(&collection)?)
    });
    response.await
}

/// Change the retention or the window of a collection
///
/// A new window applies to documents that arrive later or are assigned again after a deletion. Other clusters do not change.
#[utoipa::path(
    patch, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path)),
    request_body(content = CollectionChange),
    responses((status = 200, description = "The collection", body = CollectionResponse))
)]
pub(crate) async fn change(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::Json).await?;
    let response = app.run_write(move |app| {
        let payload = payload.decoded(app)?;
        let change: CollectionChange = payload.parse(app.limits())?;
        let collection = app.collection(&name)?;
        collection.set_periods(move |periods| change.apply(periods))?;
        json(app, StatusCode::OK, &CollectionResponse::new(&collection)?.with_days(&collection)?)
    });
    response.await
}

/// List the collections with their settings and statistics
#[utoipa::path(
    get, path = "/api/v1", tag = "collections",
    responses((status = 200, description = "All collections, in the order of their names", body = CollectionsResponse))
)]
pub(crate) async fn list(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let scope = if app.settings.read_only { Scope::Read } else { app.keys.scope(&headers) };
        let mut collections = Vec::new();
        for collection in app.catalog.collections() {
            collections.push(CollectionResponse::new(&collection)?);
        }
        collections.sort_by(|a, b| a.name.cmp(&b.name));
        let unavailable = UnavailableResponse::all(&app.catalog);
        json(app, StatusCode::OK, &CollectionsResponse { collections, permits: scope.name(), unavailable })
    });
    response.await
}

/// Get the settings and statistics of a collection
#[utoipa::path(
    get, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path)),
    responses((status = 200, description = "The collection", body = CollectionResponse))
)]
pub(crate) async fn show(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        json(app, StatusCode::OK, &CollectionResponse::new(&collection)?.with_days(&collection)?)
    });
    response.await
}

/// Delete a collection with all its documents
///
/// An unavailable collection can be deleted, too. `articles`, `headlines` and `copies` exist again, without documents, after the
/// next start of the service.
#[utoipa::path(
    delete, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path)),
    responses((status = 204, description = "Deleted"))
)]
pub(crate) async fn delete(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
) -> Result<Response, Problem> {
    let deleted = app.run_write(move |app| {
        let name = app.collection_name(&name);
        if let Err(error @ Error::NoCollection { .. }) = app.catalog.collection(&name) {
            return Err(error.into());
        }
        // Another request may have deleted it meanwhile; the result is the same.
        app.catalog.drop_collection(&name)?;
        Ok(())
    });
    deleted.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
