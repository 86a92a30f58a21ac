//! Single documents.

use super::cursor::List;
use super::{PathParams, Query, hints};
use crate::body::{self, Format};
use crate::memory::BufferedBytes;
use crate::problem::{Kind, Problem, shown};
use crate::response::{BoundedList, ListedItems, json, json_within, reserve_response};
use crate::state::App;
use crate::wire::{
    DeleteParams, DocumentListParams, DocumentParams, DocumentResponse, DocumentsResponse, Duplicate,
    InsertParams, InsertResponse, NewDocument, NewId, Replacement, check_sketches, ids_of_segment,
    is_reserved, reserved_problem,
};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sameish::DocId;
use sameish_store::{Collection, DocumentsPage};
use xxhash_rust::xxh3::xxh3_128;

/// Store a document
///
/// The response is sent when the document is on disk and in the index. Storing the same text under the same id again returns
/// `unchanged`; a different text under an existing id is a conflict. A document without an id gets a generated one. With the
/// header `Idempotency-Key`, the same key generates the same id, so that the request can be repeated safely. Unknown fields are
/// stored as `metadata`, or rejected with `strict=true`.
#[utoipa::path(
    post, path = "/api/v1/{collection}", tag = "documents",
    params(
        ("collection" = String, Path, description = "`articles`, `headlines`, `copies`, or a collection created with PUT"),
        ("Idempotency-Key" = Option<String>, Header, description = "For documents without an id: the same key generates the same id. 1 to 256 bytes"),
        InsertParams,
    ),
    request_body = NewDocument,
    responses(
        (status = 201, description = "Stored", body = InsertResponse),
        (status = 200, description = "Already exists with the same text", body = InsertResponse),
    )
)]
pub(crate) async fn insert(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<InsertParams>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let key = idempotency_key(&parts.headers)?;
    let payload = counted(&collection, body::read(&app, &parts.headers, body, Format::Json).await)?;
    let response = app.run_write(move |app| {
        let document = || {
            let payload = payload.decoded(app)?;
            let document: NewDocument = payload
                .parse_with(app.limits(), params.unknown_fields())
                .map_err(|problem| hints::add(problem, hints::for_rejected_document(payload.bytes())))?;
            let warnings = document.warnings();
            let document = document.into_document(|| generated_id(app, key.as_deref(), None))?;
            check_sketches(collection.analyzer(), &document)?;
            Ok((document, warnings))
        };
        let (document, warnings) = counted(&collection, document())?;
        let reserved = reserve_duplicates(app, &collection)?;
        let inserted = counted(&collection, collection.insert(document).map_err(Problem::from))?;
        app.metrics.count_documents(inserted.outcome.name(), collection.name(), 1);
        insert_response(InsertResponse::new(inserted, warnings, reserved))
    });
    response.await
}

/// Counts a document that is rejected because of its content.
fn counted<T>(collection: &Collection, result: Result<T, Problem>) -> Result<T, Problem> {
    if result.as_ref().is_err_and(Problem::rejects_document) {
        collection.count_rejected(1);
    }
    result
}

/// List documents, with their texts, in pages
///
/// Documents are in the order of their ids as JSON text: strings before numbers, and `10` before `2`. Documents that are stored or
/// deleted between two pages may be missing; all others are listed once.
#[utoipa::path(
    get, path = "/api/v1/{collection}/documents", tag = "documents",
    params(("collection" = String, Path), DocumentListParams),
    responses((status = 200, description = "A page of documents", body = DocumentsResponse))
)]
pub(crate) async fn list(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<DocumentListParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let list = List::Documents { collection: &name };
        let mut page = DocumentsPage::default();
        page.limit = params.limit.map_or(page.limit, |limit| limit.0).min(app.limits().results);
        page.after = list.document_before(params.cursor.as_deref())?;
        let mut documents = BoundedList::new(app);
        let mut listed = 0;
        let collection = app.collection(&name)?;
        let next = collection.documents_each(&page, app.limits().search_bytes, &mut |stored| {
            listed += 1;
            documents.push(DocumentResponse::from(stored))
        })?;
        let ListedItems { items, capped, buffered } = documents.finish()?;
        let response = DocumentsResponse {
            documents: items,
            next: next.as_ref().map(|id| list.cursor_after(id)),
            capped: capped || next.is_some() && listed < page.limit,
        };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}

/// Get a document
#[utoipa::path(
    get, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "Id of the document. `7` means the integer id 7 or, if there is none, the string id \"7\"; an id in double quotes is a string"),
        DocumentParams,
    ),
    responses((status = 200, description = "The document", body = DocumentResponse))
)]
pub(crate) async fn show(
    State(app): State<App>,
    PathParams([name, segment]): PathParams<2>,
    Query(params): Query<DocumentParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        for id in ids_of_segment(&segment) {
            if let Some(stored) = collection.get(&id)? {
                let document = match params.sketches {
                    Some(true) => DocumentResponse::with_sketches(stored, collection.analyzer().schemes()),
                    _ => DocumentResponse::from(stored),
                };
                return json(app, StatusCode::OK, &document);
            }
        }
        Err(not_found(&segment))
    });
    response.await
}

/// Store or replace a document
#[utoipa::path(
    put, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "Id of the document, as for GET. An `id` in the body must be the same"),
        InsertParams,
    ),
    request_body = Replacement,
    responses(
        (status = 201, description = "Stored", body = InsertResponse),
        (status = 200, description = "Replaced, or unchanged", body = InsertResponse),
    )
)]
pub(crate) async fn replace(
    State(app): State<App>,
    PathParams([name, segment]): PathParams<2>,
    Query(params): Query<InsertParams>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let payload = counted(&collection, body::read(&app, &parts.headers, body, Format::Json).await)?;
    let response = app.run_write(move |app| {
        let document = || {
            let payload = payload.decoded(app)?;
            let Replacement(mut document) = payload.parse_with(app.limits(), params.unknown_fields())?;
            let id = id_to_replace(&collection, &segment, document.id.as_ref())?;
            document.id = Some(NewId(id.clone()));
            let warnings = document.warnings();
            let document = document.into_document(|| id)?;
            check_sketches(collection.analyzer(), &document)?;
            Ok((document, warnings))
        };
        let (document, warnings) = counted(&collection, document())?;
        let reserved = reserve_duplicates(app, &collection)?;
        let inserted = counted(&collection, collection.replace(document).map_err(Problem::from))?;
        app.metrics.count_documents(inserted.outcome.name(), collection.name(), 1);
        insert_response(InsertResponse::new(inserted, warnings, reserved))
    });
    response.await
}

/// Delete a document from the store, the index and its cluster
#[utoipa::path(
    delete, path = "/api/v1/{collection}/{id}", tag = "documents",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "Id of the document, as for GET. 409 if it matches two stored documents"),
        DeleteParams,
    ),
    responses((status = 204, description = "Deleted"))
)]
pub(crate) async fn delete(
    State(app): State<App>,
    PathParams([name, segment]): PathParams<2>,
    Query(params): Query<DeleteParams>,
) -> Result<Response, Problem> {
    let deleted = app.run_write(move |app| {
        let collection = app.collection(&name)?;
        let id = match params.r#type {
            Some(id_type) => id_type.id_of_segment(&segment),
            None => id_to_delete(&collection, &segment)?,
        };
        match id.map(|id| collection.delete(&id)).transpose()? {
            Some(true) => {
                app.metrics.count_documents("deleted", collection.name(), 1);
                Ok(())
            }
            _ => Err(not_found(&segment)),
        }
    });
    deleted.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Returns the stored id that a path segment means. If it matches two stored documents, choosing one would make a repeated request
/// delete the other.
fn id_to_delete(collection: &Collection, segment: &str) -> Result<Option<DocId>, Problem> {
    let mut stored = Vec::new();
    for id in ids_of_segment(segment) {
        if collection.holds(&id)? {
            stored.push(id);
        }
    }
    if stored.len() > 1 {
        let detail = "the path matches two documents; add `?type=number` for the integer id or `?type=text` for the string id \
                      as written in the path";
        return Err(Problem::new(Kind::Conflict, detail));
    }
    Ok(stored.pop())
}

/// Returns the id under which a document is stored: the one in the body, else the stored one that the path means, else the one of
/// highest precedence.
fn id_to_replace(collection: &Collection, segment: &str, given: Option<&NewId>) -> Result<DocId, Problem> {
    let candidates = ids_of_segment(segment);
    if let Some(NewId(given)) = given {
        if !candidates.contains(given) {
            return Err(Problem::field("/id", "invalid", "differs from the id in the path; omit it"));
        }
        return check_not_new_and_reserved(collection, given.clone());
    }
    for id in &candidates {
        if collection.holds(id)? {
            return Ok(id.clone());
        }
    }
    match candidates.into_iter().next() {
        Some(new) => check_not_new_and_reserved(collection, new),
        // A reserved name without quotes is a route, not a document.
        None => Err(reserved_problem(&DocId::Text(segment.to_owned()))),
    }
}

/// Rejects a reserved id, unless a document was stored before its id was reserved.
fn check_not_new_and_reserved(collection: &Collection, id: DocId) -> Result<DocId, Problem> {
    if is_reserved(&id) && !collection.holds(&id)? { Err(reserved_problem(&id)) } else { Ok(id) }
}

pub(super) fn not_found(id: &str) -> Problem {
    if is_reserved(&DocId::Text(id.to_owned())) {
        let detail =
            format!("`{id}` is reserved for a route; a document with this id has the path `%22{id}%22`");
        return Problem::new(Kind::NotFound, detail);
    }
    Problem::new(Kind::NotFound, format!("no document has the id `{}`", shown(id)))
}

/// Reserves the memory of the response before a document is stored: afterwards a response must not fail for lack of memory.
fn reserve_duplicates(app: &App, collection: &Collection) -> Result<BoundedList<Duplicate>, Problem> {
    let max = insert_bytes(app, collection);
    Ok(BoundedList::within(reserve_response(app, max)?, max - InsertResponse::max_bytes(0)))
}

/// Returns the maximum size of the response to an insertion in bytes.
pub(super) fn insert_bytes(app: &App, collection: &Collection) -> usize {
    let duplicates = collection.analyzer().config().matching.limit as usize;
    InsertResponse::max_bytes(duplicates).min(app.limits().response_limit())
}

fn insert_response((response, buffered): (InsertResponse, BufferedBytes)) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(response.status_code()).map_err(Problem::internal)?;
    json_within(buffered, status, &response)
}

/// Maximum length of an idempotency key, in bytes.
const MAX_IDEMPOTENCY_KEY: usize = 256;

/// Returns the header `Idempotency-Key`, if there is one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<Vec<u8>>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    if !(1..=MAX_IDEMPOTENCY_KEY).contains(&key.len()) {
        let detail = format!("`idempotency-key` must have 1 to {MAX_IDEMPOTENCY_KEY} bytes");
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    Ok(Some(key.as_bytes().to_vec()))
}

/// Returns an id for a document without one: derived from the idempotency key and the line of a bulk request, or a new one.
pub(super) fn generated_id(app: &App, key: Option<&[u8]>, line: Option<u64>) -> DocId {
    let id = match (key, line) {
        (None, _) => app.ids.next(),
        (Some(key), None) => crate::ids::encode(xxh3_128(key)),
        (Some(key), Some(line)) => format!("{}-{line}", crate::ids::encode(xxh3_128(key))),
    };
    DocId::Text(id)
}
