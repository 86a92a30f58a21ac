//! Clusters.

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

/// A list with pages. A cursor is a position in one list.
#[derive(Clone, Copy, Debug)]
enum List<'a> {
    Clusters { collection: &'a str },
    Members { collection: &'a str, cluster: ClusterId },
}

impl List<'_> {
    /// Returns the cursor of a position: the position, and a checksum that binds it to the list.
    fn cursor(self, position: u64) -> String {
        let bound = match self {
            List::Clusters { collection } => format!("clusters of {collection} before {position}"),
            List::Members { collection, cluster } => {
                format!("documents of cluster {} of {collection} after {position}", cluster.0)
            }
        };
        format!("{position:x}-{:016x}", xxh3_64(bound.as_bytes()))
    }

    /// Returns the position of a cursor.
    fn position(self, cursor: Option<&str>) -> Result<Option<u64>, Problem> {
        let invalid = || {
            let detail = "`cursor` must be the unchanged `next` of a page of this list";
            Problem::new(Kind::BadCursor, detail)
        };
        cursor.map(|cursor| self.parse(cursor).ok_or_else(invalid)).transpose()
    }

    fn parse(self, text: &str) -> Option<u64> {
        let (position, _) = text.split_once('-')?;
        let position = u64::from_str_radix(position, 16).ok()?;
        (self.cursor(position) == text).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_forged_cursors_and_cursors_of_other_lists() {
        let articles = List::Clusters { collection: "articles" };
        let text = articles.cursor(77);
        assert_eq!(articles.parse(&text), Some(77));
        assert_eq!(List::Clusters { collection: "headlines" }.parse(&text), None);
        let members = |cluster| List::Members { collection: "articles", cluster: ClusterId(cluster) };
        assert_eq!(members(1).parse(&text), None);
        assert_eq!(members(1).parse(&members(2).cursor(77)), None);
        assert_eq!(members(1).parse(&members(1).cursor(77)), Some(77));
        for forged in ["", "4d", "4e-0000000000000000", "+4d-1", &text.to_uppercase(), &format!("0{text}")] {
            assert_eq!(articles.parse(forged), None, "{forged}");
        }
    }
}
