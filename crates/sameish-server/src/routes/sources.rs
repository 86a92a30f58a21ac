//! Sources: how often one of them publishes after another.

use super::cursor::List;
use super::{PathParams, Query};
use crate::problem::Problem;
use crate::response::{BoundedList, ListedItems, json, json_within};
use crate::state::App;
use crate::wire::{SourcePairResponse, SourcePairsResponse, SourceParams, SourcesResponse};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sameish::cluster::ClusterId;
use sameish_store::{MemberPosition, PairPosition, PairsPage, SourceCell};
use std::collections::HashSet;

/// Default number of sources, and of pairs in a page.
const DEFAULT_SOURCES: usize = 30;
const DEFAULT_PAIRS: usize = 50;

/// List the sources, and how often one source publishes after another
///
/// Each document of a cluster forms a pair with the first document of the cluster by date. With `later` and `earlier`, the response
/// lists the pairs of these two sources instead. The matrix of a large collection may lack the documents of the last seconds.
#[utoipa::path(
    get, path = "/api/v1/{collection}/sources", tag = "clusters",
    params(("collection" = String, Path), SourceParams),
    responses((status = 200, description = "The sources, or a page of pairs", body = SourcesOrPairs))
)]
pub(crate) async fn show(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<SourceParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let SourceParams { later, earlier, limit, cursor } = params;
        let limit = limit.map(|limit| limit.0);
        match (later, earlier) {
            (None, None) if cursor.is_none() => matrix(app, &name, limit.unwrap_or(DEFAULT_SOURCES)),
            (Some(later), Some(earlier)) => {
                let limit = limit.unwrap_or(DEFAULT_PAIRS).min(app.limits().results);
                let page = PairsPage { later: later.0, earlier: earlier.0, after: None, limit };
                pairs(app, &name, page, cursor.as_deref())
            }
            (None, _) => Err(Problem::field("?later", "missing", "is required with `earlier` and `cursor`")),
            (_, None) => Err(Problem::field("?earlier", "missing", "is required with `later`")),
        }
    });
    response.await
}

fn matrix(app: &App, name: &str, limit: usize) -> Result<Response, Problem> {
    let found = app.collection(name)?.sources()?;
    let shown: HashSet<&Option<String>> =
        found.sources.iter().take(limit).map(|source| &source.source).collect();
    let is_shown = |cell: &&SourceCell| shown.contains(&cell.later) && shown.contains(&cell.earlier);
    let response = SourcesResponse {
        sources: found.sources.iter().take(limit).map(Into::into).collect(),
        total: found.total,
        matrix: found.cells.iter().filter(is_shown).map(Into::into).collect(),
        examined: found.examined,
        complete: found.complete,
        as_of: found.as_of.to_string(),
    };
    json(app, StatusCode::OK, &response)
}

fn pairs(app: &App, name: &str, mut page: PairsPage, cursor: Option<&str>) -> Result<Response, Problem> {
    let pair = format!("{:?} {:?}", page.later, page.earlier);
    let list = List::Pairs { collection: name, pair: &pair };
    page.after = list.position(cursor)?.map(|[cluster, is_inside, moment, document]| PairPosition {
        cluster: ClusterId(cluster),
        member: (is_inside == 1).then_some(MemberPosition { moment: moment as i64, document }),
    });
    let mut found = BoundedList::new(app);
    let mut listed = 0;
    let next = app.collection(name)?.pairs_each(&page, app.limits().search_bytes, &mut |pair| {
        listed += 1;
        found.push(SourcePairResponse::from(pair))
    })?;
    let ListedItems { items, capped, buffered } = found.finish()?;
    let cursor = |PairPosition { cluster, member }| match member {
        Some(member) => list.cursor([cluster.0, 1, member.moment as u64, member.document]),
        None => list.cursor([cluster.0, 0, 0, 0]),
    };
    let source = |name: String| Some(name).filter(|name| !name.is_empty());
    let response = SourcePairsResponse {
        capped: capped || next.is_some() && listed < page.limit,
        later: source(page.later),
        earlier: source(page.earlier),
        pairs: items,
        next: next.map(cursor),
    };
    json_within(buffered, StatusCode::OK, &response)
}

/// The sources, or the pairs of two of them.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the response")]
pub(crate) enum SourcesOrPairs {
    Sources(SourcesResponse),
    Pairs(SourcePairsResponse),
}
