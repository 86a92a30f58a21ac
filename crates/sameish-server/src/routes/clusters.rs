//! Clusters.

use super::cursor::List;
use super::{PathParams, Query};
use crate::problem::{Kind, Problem, shown};
use crate::response::{BoundedList, ListedItems, json_within};
use crate::state::App;
use crate::wire::{
    ClusterDetailResponse, ClusterListParams, ClusterParams, ClusterResponse, ClusterSourceResponse,
    ClustersResponse, FirstResponse, Id, MemberResponse,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sameish::cluster::ClusterId;
use sameish_store::{ClusterPage, ClusterPosition, MemberPosition, MembersPage};

/// List the clusters of two or more documents
///
/// A page may have fewer clusters than `limit`, even none, because a request examines at most 10,000 clusters, or 2,500 with `q`.
/// Request further pages with `next` until it is null.
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
    let response = app.run(move |app| {
        let mut page = params.page(app.limits())?;
        let filter = format!("{:?} {:?}", page.order, page.filter);
        let list = List::Clusters { collection: &name, filter: &filter };
        let position = list.position(params.cursor.as_deref())?;
        page.after = position.map(|[key, cluster]| ClusterPosition { key, cluster: ClusterId(cluster) });
        let mut clusters = BoundedList::new(app);
        let mut listed = 0;
        let next = app.collection(&name)?.clusters_each(&page, &mut |cluster| {
            listed += 1;
            clusters.push(ClusterResponse::from(cluster))
        })?;
        let ListedItems { items, capped, buffered } = clusters.finish()?;
        let response = ClustersResponse {
            clusters: items,
            next: next.map(|next| list.cursor([next.key, next.cluster.0])),
            capped: capped || next.is_some() && listed < page.limit,
        };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}

/// Get a cluster with its documents, in order of their dates
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
        let position = list.position(params.cursor.as_deref())?;
        let after = position.map(|[moment, document]| MemberPosition { moment: moment as i64, document });
        let max = app.limits().results;
        let page = MembersPage { after, limit: params.limit.map_or(max, |limit| limit.0.min(max)) };
        let mut members = BoundedList::new(app);
        let mut listed = 0;
        let detail = collection.cluster_each(id, page, app.limits().search_bytes, &mut |member| {
            listed += 1;
            members.push(MemberResponse::from(member))
        })?;
        let ClusterPage { id, size, pending, center, first, last, sources, next, .. } =
            detail.ok_or_else(not_found)?;
        let ListedItems { items, capped, buffered } = members.finish()?;
        let response = ClusterDetailResponse {
            id: id.0,
            size,
            pending,
            center: center.map(Id),
            first: first.map(FirstResponse::from),
            last: last.map(|last| last.to_string()),
            sources: sources.into_iter().map(ClusterSourceResponse::from).collect(),
            members: items,
            next: next.map(|next| list.cursor([next.moment as u64, next.document])),
            capped: capped || next.is_some() && listed < page.limit,
        };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}
