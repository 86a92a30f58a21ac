//! Export of a collection.

use super::stream::ChannelBody;
use super::{NDJSON, PathParams, Query};
use crate::http::ResponseKind;
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{DocumentResponse, ExportParams};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use sameish_store::{Collection, ExportPage};
use std::io;
use std::ops::ControlFlow;
use tokio::sync::mpsc;

/// Size in bytes of the texts of one part of an export.
const PART_BYTES: usize = 256 << 10;

/// Export all documents
///
/// One document per line, as `GET /api/v1/{c}/{id}` returns it, in order of arrival. Documents that are stored or deleted during
/// the export may be missing or included. An export counts as a bulk request. If it fails, the service breaks the connection.
#[utoipa::path(
    get, path = "/api/v1/{collection}/export", tag = "documents",
    params(("collection" = String, Path), ExportParams),
    responses((status = 200, description = "The documents", content_type = "application/x-ndjson", body = DocumentResponse))
)]
pub(crate) async fn export(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<ExportParams>,
) -> Result<Response, Problem> {
    let permit = app.bulk_permit()?;
    let representatives = params.representatives.unwrap_or(false);
    let collection = app.run(move |app| app.collection(&name)).await?;
    let (sender, receiver) = mpsc::channel(1);
    let task = app.clone();
    tokio::spawn(async move {
        let page = ExportPage { after: 0, representatives };
        tokio::select! {
            () = send_all(collection, page, &sender) => {}
            () = task.until_draining() => {
                let ended = io::Error::other("the service is shutting down");
                // The connection breaks anyway if the client does not read.
                _ = sender.try_send(Err(ended));
            }
        }
        drop(permit);
    });
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON))];
    let mut response = (StatusCode::OK, headers, Body::new(ChannelBody::lines(receiver))).into_response();
    response.extensions_mut().insert(ResponseKind::Endless);
    Ok(response)
}

/// Sends all documents, part by part. Waits until the client has read.
async fn send_all(collection: Collection, mut page: ExportPage, sender: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let reader = collection.clone();
        let part = tokio::task::spawn_blocking(move || read_part(&reader, page)).await;
        let (part, next) = match part.map_err(io::Error::other).flatten() {
            Ok((lines, next)) => (Ok(lines), next),
            Err(error) => (Err(error), None),
        };
        let is_sent = part.as_ref().is_ok_and(Bytes::is_empty) || sender.send(part).await.is_ok();
        match next.filter(|_| is_sent) {
            Some(after) => page.after = after,
            None => return,
        }
    }
}

fn read_part(collection: &Collection, page: ExportPage) -> io::Result<(Bytes, Option<u64>)> {
    let mut lines = Vec::new();
    let next = collection.export_each(page, PART_BYTES, &mut |stored| {
        // Documents have string keys, so serialization into a vector cannot fail.
        _ = serde_json::to_writer(&mut lines, &DocumentResponse::from(stored));
        lines.push(b'\n');
        ControlFlow::Continue(())
    });
    Ok((lines.into(), next.map_err(io::Error::other)?))
}
