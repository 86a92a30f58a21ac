//! One document: stored, shown, replaced, deleted.

use super::{Names, json};
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::{Kind, Problem};
use crate::state::App;
use crate::wire::{DocumentAnswer, InsertAnswer, New, NewDocument, addressed, check_reserved};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sameish::DocId;
use xxhash_rust::xxh3::xxh3_128;

/// Store a document
///
/// When the answer comes, the document is on disk and in the index. The same text under the same id again is `unchanged`;
/// another text under a known id is a conflict. Without an id one is made; with the header `Idempotency-Key` the same key
/// makes the same id, so that a request can be repeated.
#[utoipa::path(
    post, path = "/api/v1/{collection}", tag = "documents",
    params(
        ("collection" = String, Path, description = "`articles`, `headlines`, `copies`, or one that was made with PUT"),
        ("Idempotency-Key" = Option<String>, Header, description = "For documents without an id: the same key makes the same id"),
    ),
    request_body = NewDocument,
    responses(
        (status = 201, description = "It is stored", body = InsertAnswer),
        (status = 200, description = "It was there, with the same text", body = InsertAnswer),
    )
)]
pub(crate) async fn insert(
    State(app): State<App>,
    Names([name]): Names<1>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let key = idempotency_key(&parts.headers)?;
    let payload = body::read(&app, &parts.headers, body, Takes::Json).await?;
    let answer = app.work(move |app| {
        let payload = payload.unpacked(app)?;
        let mut new = New::read(Json::parse(&payload.bytes)?, app.limits())?;
        let warnings = std::mem::take(&mut new.warnings);
        let document = new.named(|| made_id(app, key.as_deref(), None));
        let inserted = collection.insert(document)?;
        app.metrics.documents(inserted.outcome.name(), collection.name(), 1);
        Ok(InsertAnswer::new(inserted, warnings))
    });
    answered(answer.await?)
}

/// A stored document
#[utoipa::path(
    get, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "An integer means the document with that integer id, or else that text; in double quotes it is the text"),
    ),
    responses((status = 200, description = "The document", body = DocumentAnswer))
)]
pub(crate) async fn show(State(app): State<App>, Names([name, id]): Names<2>) -> Result<Response, Problem> {
    let found = app.work(move |app| {
        let collection = app.collection(&name)?;
        for id in addressed(&id) {
            if let Some(stored) = collection.get(&id)? {
                return Ok(DocumentAnswer::from(stored));
            }
        }
        Err(absent(&id))
    });
    Ok(json(StatusCode::OK, &found.await?))
}

/// Store a document in place of the one that has its id
#[utoipa::path(
    put, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "As for GET; an `id` in the body must be the same"),
    ),
    request_body = NewDocument,
    responses(
        (status = 201, description = "It is stored", body = InsertAnswer),
        (status = 200, description = "It took the place of another, or was there as it is", body = InsertAnswer),
    )
)]
pub(crate) async fn replace(
    State(app): State<App>,
    Names([name, segment]): Names<2>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Takes::Json).await?;
    let answer = app.work(move |app| {
        let payload = payload.unpacked(app)?;
        let mut new = New::read(Json::parse(&payload.bytes)?, app.limits())?;
        let meant = addressed(&segment);
        meant.iter().try_for_each(check_reserved)?;
        let id = match &new.id {
            Some(given) if meant.contains(given) => given.clone(),
            Some(_) => {
                return Err(Problem::field("/id", "invalid", "is another than in the address: leave it out"));
            }
            None => existing(&collection, &meant)?,
        };
        new.id = Some(id.clone());
        let warnings = std::mem::take(&mut new.warnings);
        let inserted = collection.replace(new.named(|| id))?;
        app.metrics.documents(inserted.outcome.name(), collection.name(), 1);
        Ok(InsertAnswer::new(inserted, warnings))
    });
    answered(answer.await?)
}

/// Take a document out of the store, the index and its cluster
#[utoipa::path(
    delete, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(("collection" = String, Path), ("id" = String, Path, description = "As for GET")),
    responses((status = 204, description = "It has gone"))
)]
pub(crate) async fn delete(State(app): State<App>, Names([name, id]): Names<2>) -> Result<Response, Problem> {
    let gone = app.work(move |app| {
        let collection = app.collection(&name)?;
        for id in addressed(&id) {
            if collection.delete(&id)? {
                app.metrics.documents("deleted", collection.name(), 1);
                return Ok(());
            }
        }
        Err(absent(&id))
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) fn absent(id: &str) -> Problem {
    Problem::new(Kind::NotFound, format!("no document has the id `{}`", crate::problem::shown(id)))
}

/// The id that is there, else the most likely one.
fn existing(collection: &sameish_store::Collection, meant: &[DocId]) -> Result<DocId, Problem> {
    for id in meant.iter().filter(|_| meant.len() > 1) {
        if collection.get(id)?.is_some() {
            return Ok(id.clone());
        }
    }
    Ok(meant[0].clone())
}

fn answered(answer: InsertAnswer) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(answer.code()).map_err(Problem::internal)?;
    Ok(json(status, &answer))
}

/// A client's own name for its request, if it gives one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<Vec<u8>>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match (1..=256).contains(&key.len()) {
        true => Ok(Some(key.as_bytes().to_vec())),
        false => Err(Problem::new(Kind::BadRequest, "`idempotency-key` must have 1 to 256 bytes")),
    }
}

/// An id for a document that came without: of the client's key, or new.
pub(super) fn made_id(app: &App, key: Option<&[u8]>, line: Option<u64>) -> DocId {
    let name = match (key, line) {
        (None, _) => app.ids.next(),
        (Some(key), None) => crate::ids::written(xxh3_128(key)),
        (Some(key), Some(line)) => format!("{}-{line}", crate::ids::written(xxh3_128(key))),
    };
    DocId::Text(name)
}
