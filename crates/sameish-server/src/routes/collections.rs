//! Collections: made and shown.

use super::{Names, json};
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{CollectionAnswer, CollectionSettings};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish_store::CollectionConfig;

/// Make a collection
///
/// The same settings again change nothing; others under a name that is taken are a conflict.
#[utoipa::path(
    put, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "1 to 64 of a-z, 0-9, - and _")),
    request_body(content = Option<CollectionSettings>),
    responses(
        (status = 201, description = "It is made", body = CollectionAnswer),
        (status = 200, description = "It was there, with these settings", body = CollectionAnswer),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    Names([name]): Names<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Takes::JsonOrNothing).await?;
    let made = app.work(move |app| {
        let payload = payload.unpacked(app)?;
        let config = match payload.bytes.is_empty() {
            true => CollectionConfig::new(Default::default()),
            false => CollectionSettings::read(Json::parse(&payload.bytes)?, app.limits())?,
        };
        let known = app.catalog.collection(&name).is_ok();
        let collection = app.catalog.create(&name, config)?;
        let status = if known { StatusCode::OK } else { StatusCode::CREATED };
        Ok((status, CollectionAnswer::new(&collection)?))
    });
    let (status, answer) = made.await?;
    Ok(json(status, &answer))
}

/// The settings and figures of a collection
#[utoipa::path(
    get, path = "/api/v1/{collection}", tag = "collections",
    params(("collection" = String, Path)),
    responses((status = 200, description = "The collection", body = CollectionAnswer))
)]
pub(crate) async fn show(State(app): State<App>, Names([name]): Names<1>) -> Result<Response, Problem> {
    let found = app.work(move |app| Ok(CollectionAnswer::new(&app.collection(&name)?)?));
    Ok(json(StatusCode::OK, &found.await?))
}
