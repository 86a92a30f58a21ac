//! Clusters.

use super::{PathParams, Query, json};
use crate::problem::{Kind, Problem, shown};
use crate::state::App;
use crate::wire::{ClusterDetailResponse, ClusterListParams, ClusterResponse, ClustersResponse};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sameish::cluster::ClusterId;
use sameish_store::ClustersPage;
use xxhash_rust::xxh3::xxh3_64;

/// List the clusters of two or more documents, newest first
#[utoipa::path(
    get, path = "/api/v1/{collection}/clusters", tag = "clusters",
    params(("collection" = String, Path), ClusterListParams),
    responses((status = 200, description = "A page of clusters", body = ClustersResponse))
)]
pub(crate) async fn list(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<ClusterListParams>,
) -> Result<Response, Problem> {
    let page = page(&params, &name, app.limits().results)?;
    let response = app.run(move |app| {
        let clusters = app.collection(&name)?.clusters(page)?;
        Ok(ClustersResponse {
            next: clusters.next.map(|next| cursor(&name, next)),
            clusters: clusters.clusters.into_iter().map(ClusterResponse::from).collect(),
        })
    });
    Ok(json(StatusCode::OK, &response.await?))
}

/// Get a cluster with its documents, in order of arrival
#[utoipa::path(
    get, path = "/api/v1/{collection}/clusters/{cluster}", tag = "clusters",
    params(("collection" = String, Path), ("cluster" = u64, Path, description = "Id of the cluster")),
    responses((status = 200, description = "The cluster", body = ClusterDetailResponse))
)]
pub(crate) async fn show(
    State(app): State<App>,
    PathParams([name, cluster]): PathParams<2>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        let not_found =
            || Problem::new(Kind::NotFound, format!("no cluster has the id `{}`", shown(&cluster)));
        // Only the canonical form: `+5` and `005` are not ids.
        let is_canonical = |id: &u64| id.to_string() == cluster;
        let id = cluster.parse().ok().filter(is_canonical).map(ClusterId).ok_or_else(not_found)?;
        let cluster = collection.cluster(id)?.ok_or_else(not_found)?;
        Ok(ClusterDetailResponse::from(cluster))
    });
    Ok(json(StatusCode::OK, &response.await?))
}

fn page(params: &ClusterListParams, collection: &str, max: usize) -> Result<ClustersPage, Problem> {
    let mut page = ClustersPage::default();
    if let Some(limit) = params.limit {
        page.limit = limit.0.min(max);
    }
    if let Some(cursor) = &params.cursor {
        let invalid = || {
            let detail = "`cursor` must be the unchanged `next` of a page of this list";
            Problem::new(Kind::BadCursor, detail)
        };
        page.before = Some(parse_cursor(collection, cursor).ok_or_else(invalid)?);
    }
    Ok(page)
}

/// Returns a position in a list: the last cluster of a page, and a checksum that binds it to the list.
fn cursor(collection: &str, last: ClusterId) -> String {
    let checksum = xxh3_64(format!("clusters of {collection} before {}", last.0).as_bytes());
    format!("{:x}-{checksum:016x}", last.0)
}

fn parse_cursor(collection: &str, text: &str) -> Option<ClusterId> {
    let (last, _) = text.split_once('-')?;
    let last = ClusterId(u64::from_str_radix(last, 16).ok()?);
    (cursor(collection, last) == text).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_forged_cursors_and_cursors_of_other_lists() {
        let text = cursor("articles", ClusterId(77));
        assert_eq!(parse_cursor("articles", &text), Some(ClusterId(77)));
        assert_eq!(parse_cursor("headlines", &text), None);
        for forged in ["", "4d", "4e-0000000000000000", "+4d-1", &text.to_uppercase(), &format!("0{text}")] {
            assert_eq!(parse_cursor("articles", forged), None, "{forged}");
        }
    }
}
