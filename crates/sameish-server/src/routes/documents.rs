//! One document: stored, shown, replaced, deleted.

use super::{Names, json};
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::{Kind, Problem};
use crate::state::App;
use crate::wire::{DocumentAnswer, IdType, InsertAnswer, New, NewDocument, addressed, check_reserved};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sameish::DocId;
use sameish_store::Collection;
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
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "As for GET; a conflict where it may mean two documents that are there"),
        ("type" = Option<String>, Query, description = "`number` or `text`: which of the two is meant", pattern = "^(number|text)$"),
    ),
    responses((status = 204, description = "It has gone"))
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Names([name, segment]): Names<2>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let kind = IdType::read(query.as_deref())?;
    let gone = app.work(move |app| {
        let collection = app.collection(&name)?;
        let id = match kind {
            Some(kind) => kind.addressed(&segment),
            None => the_only_one(&collection, &segment)?,
        };
        match id.map(|id| collection.delete(&id)).transpose()? {
            Some(true) => {
                app.metrics.documents("deleted", collection.name(), 1);
                Ok(())
            }
            _ => Err(absent(&segment)),
        }
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The stored document that a segment means. Where it may mean two, taking the likelier one out would make the same request
/// take out the other when it is repeated.
fn the_only_one(collection: &Collection, segment: &str) -> Result<Option<DocId>, Problem> {
    let mut there = Vec::new();
    for id in addressed(segment) {
        if collection.holds(&id)? {
            there.push(id);
        }
    }
    match there.len() {
        0 | 1 => Ok(there.pop()),
        _ => {
            let detail = "this may mean two documents that are stored: say which with `?type=number` (the integer) or \
                          `?type=text` (the text as it is written)";
            Err(Problem::new(Kind::Conflict, detail))
        }
    }
}

pub(super) fn absent(id: &str) -> Problem {
    Problem::new(Kind::NotFound, format!("no document has the id `{}`", crate::problem::shown(id)))
}

/// The id that is there, else the most likely one.
fn existing(collection: &Collection, meant: &[DocId]) -> Result<DocId, Problem> {
    for id in meant.iter().filter(|_| meant.len() > 1) {
        if collection.holds(id)? {
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
