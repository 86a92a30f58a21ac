//! Clusters.

use super::cursor::List;
use super::{PathParams, Query};
use crate::problem::{Kind, Problem, shown};
use crate::response::{BoundedList, ListedItems, json_within};
use crate::state::App;
use crate::wire::{
    ClusterDetailResponse, ClusterListParams, ClusterParams, ClusterResponse, ClustersResponse, Id,
    MemberResponse,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sameish::cluster::ClusterId;
use sameish_store::{ClusterPage, ClustersPage, MembersPage};

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
    let (limit, cursor) = (params.limit, params.cursor);
    let response = app.run(move |app| {
        let list = List::Clusters { collection: &name };
        let mut page = ClustersPage::default();
        page.limit = limit.map_or(page.limit, |limit| limit.0.min(app.limits().results));
        page.before = list.position(cursor.as_deref())?.map(ClusterId);
        let mut clusters = BoundedList::new(app);
        let mut listed = 0;
        let next = app.collection(&name)?.clusters_each(page, app.limits().search_bytes, &mut |cluster| {
            listed += 1;
            clusters.push(ClusterResponse::from(cluster))
        })?;
        let ListedItems { items, capped, buffered } = clusters.finish()?;
        let response = ClustersResponse {
            clusters: items,
            next: next.map(|next| list.cursor(next.0)),
            capped: capped || next.is_some() && listed < page.limit,
        };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}

/// Get a cluster with its documents, in order of arrival
#[utoipa::path(
    get, path = "/api/v1/{collection}/clusters/{cluster}", tag = "clusters",
    params(
        ("collection" = String, Path),
        ("cluster" = u64, Path, description = "Id of the cluster"),
        ClusterParams,
    ),
    responses((status = 200, description = "The cluster with a page of its documents", body = ClusterDetailResponse))
)]
pub(crate) async fn show(
    State(app): State<App>,
    PathParams([name, cluster]): PathParams<2>,
    Query(params): Query<ClusterParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        let not_found =
            || Problem::new(Kind::NotFound, format!("no cluster has the id `{}`", shown(&cluster)));
        // Only the canonical form: `+5` and `005` are not ids.
        let is_canonical = |id: &u64| id.to_string() == cluster;
        let id = cluster.parse().ok().filter(is_canonical).map(ClusterId).ok_or_else(not_found)?;
        let list = List::Members { collection: &name, cluster: id };
        let after = list.position(params.cursor.as_deref())?.unwrap_or(0);
        let max = app.limits().results;
        let page = MembersPage { after, limit: params.limit.map_or(max, |limit| limit.0.min(max)) };
        let mut members = BoundedList::new(app);
        let mut listed = 0;
        let detail = collection.cluster_each(id, page, app.limits().search_bytes, &mut |member| {
            listed += 1;
            members.push(MemberResponse::from(member))
        })?;
        let ClusterPage { id, size, pending, center, next } = detail.ok_or_else(not_found)?;
        let ListedItems { items, capped, buffered } = members.finish()?;
        let response = ClusterDetailResponse {
            id: id.0,
            size,
            pending,
            center: center.map(Id),
            members: items,
            next: next.map(|next| list.cursor(next)),
            capped: capped || next.is_some() && listed < page.limit,
        };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}
