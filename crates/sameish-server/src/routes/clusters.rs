//! What belongs together?

use super::{Names, json};
use crate::problem::{FieldError, Kind, Problem, shown};
use crate::state::App;
use crate::wire::{ClusterAnswer, ClusterDetailAnswer, ClustersAnswer, limit, pairs};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::ClusterId;
use sameish_store::ClustersPage;
use xxhash_rust::xxh3::xxh3_64;

/// A page of clusters of two and more documents, the newest first
#[utoipa::path(
    get, path = "/api/v1/{collection}/clusters", tag = "clusters",
    params(
        ("collection" = String, Path),
        ("limit" = Option<u64>, Query, description = "Most clusters; more than 1,000 are not given", minimum = 1),
        ("cursor" = Option<String>, Query, description = "The `next` of the page before"),
    ),
    responses((status = 200, description = "A page", body = ClustersAnswer))
)]
pub(crate) async fn list(
    State(app): State<App>,
    Names([name]): Names<1>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let page = page(query.as_deref(), &name, app.limits().results)?;
    let found = app.work(move |app| {
        let clusters = app.collection(&name)?.clusters(page)?;
        Ok(ClustersAnswer {
            next: clusters.next.map(|next| cursor(&name, next)),
            clusters: clusters.clusters.into_iter().map(ClusterAnswer::from).collect(),
        })
    });
    Ok(json(StatusCode::OK, &found.await?))
}

/// A cluster with its documents, in the order of their arrival
#[utoipa::path(
    get, path = "/api/v1/{collection}/clusters/{cluster}", tag = "clusters",
    params(("collection" = String, Path), ("cluster" = u64, Path, description = "The cluster's id")),
    responses((status = 200, description = "The cluster", body = ClusterDetailAnswer))
)]
pub(crate) async fn show(
    State(app): State<App>,
    Names([name, cluster]): Names<2>,
) -> Result<Response, Problem> {
    let found = app.work(move |app| {
        let collection = app.collection(&name)?;
        let absent = || Problem::new(Kind::NotFound, format!("no cluster has the id `{}`", shown(&cluster)));
        // As we write it: `+5` and `005` are names of nothing.
        let written = |id: &u64| id.to_string() == cluster;
        let id = cluster.parse().ok().filter(written).map(ClusterId).ok_or_else(absent)?;
        let found = collection.cluster(id)?.ok_or_else(absent)?;
        Ok(ClusterDetailAnswer::from(found))
    });
    Ok(json(StatusCode::OK, &found.await?))
}

fn page(query: Option<&str>, collection: &str, most: usize) -> Result<ClustersPage, Problem> {
    let mut page = ClustersPage::default();
    let mut errors = Vec::new();
    for (name, value) in pairs(query, &["limit", "cursor"], &mut errors) {
        if name == "cursor" {
            page.before = Some(read_cursor(collection, &value).ok_or_else(|| {
                Problem::new(
                    Kind::BadCursor,
                    "`cursor` must be the `next` of a page of this list, as it came",
                )
            })?);
            continue;
        }
        match limit(&value, most) {
            Some(limit) => page.limit = limit,
            None => {
                errors.push(FieldError::new("?limit", "out_of_range", "must be a whole number of at least 1"))
            }
        }
    }
    match errors.is_empty() {
        true => Ok(page),
        false => Err(Problem::fields(errors)),
    }
}

/// A place in a list: the last cluster shown, and a checksum that ties it to the list.
fn cursor(collection: &str, last: ClusterId) -> String {
    format!("{:x}-{:016x}", last.0, seal(collection, last.0))
}

fn read_cursor(collection: &str, text: &str) -> Option<ClusterId> {
    let (last, _) = text.split_once('-')?;
    let last = ClusterId(u64::from_str_radix(last, 16).ok()?);
    (cursor(collection, last) == text).then_some(last)
}

fn seal(collection: &str, last: u64) -> u64 {
    xxh3_64(format!("clusters of {collection} before {last}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let text = cursor("articles", ClusterId(77));
        assert_eq!(read_cursor("articles", &text), Some(ClusterId(77)));
        assert_eq!(read_cursor("headlines", &text), None);
        for forged in ["", "4d", "4e-0000000000000000", "+4d-1", &text.to_uppercase(), &format!("0{text}")] {
            assert_eq!(read_cursor("articles", forged), None, "{forged}");
        }
    }
}
