//! The tables of the report: removed documents by source and length, and the largest clusters.

use super::markup::{bare, name};
use super::{LargeCluster, NAME, Removed};
use crate::report::figures::grouped;
use crate::report::figures::{percent, similarity, sized};

/// Maximum number of rows. The remaining rows are added up in one row.
const ROWS: usize = 50;
/// Maximum length of the first words of a cluster, in characters.
const BEGINS: usize = 200;

pub(super) fn by_source(sources: &[Removed]) -> String {
    let table = (!sources.is_empty()).then(|| table("Source", sources));
    section("sources", "Removed by source", table, "The documents have no sources.")
}

pub(super) fn by_length(lengths: &[Removed]) -> String {
    let table = (!lengths.is_empty()).then(|| table("Length", lengths));
    section("lengths", "Removed by length", table, "There were no documents.")
}

pub(super) fn largest(clusters: &[LargeCluster]) -> String {
    let table = (!clusters.is_empty()).then(|| largest_table(clusters));
    section("largest", "Largest clusters", table, "There are no clusters: no two documents match.")
}

fn section(id: &str, title: &str, table: Option<String>, empty: &str) -> String {
    let table = table.unwrap_or_else(|| format!("<p class=\"quiet\">{empty}</p>\n"));
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{table}</section>\n")
}

/// Renders a table. On a phone a row takes two lines. The roles are explicit because browsers drop them when a table is laid
/// out as a grid.
fn table(first: &str, rows: &[Removed]) -> String {
    let (shown, more) = rows.split_at(rows.len().min(ROWS));
    let mut body: String = shown.iter().map(row).collect();
    if !more.is_empty() {
        body.push_str(&row(&summed(format!("and {} more", grouped(more.len() as u64)), more)));
    }
    let columns = [first, "Documents", "Share", "Text"]
        .map(|column| format!("<th scope=\"col\" role=\"columnheader\">{column}</th>"))
        .concat();
    format!(
        "<table class=\"removals\" role=\"table\">\n\
         <caption>Removed documents and text. The bar is the share of documents removed.</caption>\n\
         <thead role=\"rowgroup\"><tr role=\"row\">{columns}</tr></thead>\n\
         <tbody role=\"rowgroup\">\n{body}</tbody>\n<tfoot role=\"rowgroup\">\n{}</tfoot>\n</table>\n",
        row(&summed("all".into(), rows)),
    )
}

/// Adds rows up.
pub fn summed(name: String, rows: &[Removed]) -> Removed {
    let sum = |part: fn(&Removed) -> u64| rows.iter().map(part).fold(0, u64::saturating_add);
    Removed {
        name,
        documents: sum(|row| row.documents),
        removed: sum(|row| row.removed),
        bytes: sum(|row| row.bytes),
        removed_bytes: sum(|row| row.removed_bytes),
    }
}

fn row(row: &Removed) -> String {
    let share = if row.documents == 0 { 0.0 } else { row.removed as f64 / row.documents as f64 };
    let cells = [
        format!("{} <small>of {}</small>", grouped(row.removed), grouped(row.documents)),
        format!("{}{}", bare(&percent(row.removed, row.documents)), bar(share)),
        format!("{} <small>of {}</small>", sized(row.removed_bytes), sized(row.bytes)),
    ];
    let cells = cells.map(|cell| format!("<td role=\"cell\">{cell}</td>")).concat();
    let name = source_name(&row.name);
    format!("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">{name}</th>{cells}</tr>\n")
}

fn source_name(source: &str) -> String {
    match source {
        "" => "<span class=\"quiet\">(no name)</span>".into(),
        _ => format!("<bdi>{}</bdi>", name(source, NAME)),
    }
}

/// Renders a share as SVG, because browsers do not print background colors.
fn bar(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(if share > 0.0 { 1.0 } else { 0.0 });
    format!(
        "<svg class=\"share\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"100\" height=\"6\"/><rect class=\"bar\" width=\"{width:.1}\" height=\"6\"/></svg>"
    )
}

fn largest_table(clusters: &[LargeCluster]) -> String {
    let body: String = clusters.iter().map(cluster_row).collect();
    format!(
        "<table>\n<caption>The kept document and its first words, the number of documents in the cluster, and the \
         similarity of the member that is least similar to the kept document.</caption>\n\
         <thead><tr><th scope=\"col\">Kept</th><th scope=\"col\" class=\"number\">Size</th>\
         <th scope=\"col\" class=\"number\">Least similar</th></tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
    )
}

fn cluster_row(cluster: &LargeCluster) -> String {
    let begins = match cluster.begins.trim() {
        "" => "(no text)".into(),
        begins => name(&begins.split_whitespace().collect::<Vec<_>>().join(" "), BEGINS),
    };
    format!(
        "<tr><th scope=\"row\">{}<p class=\"quiet begins\" dir=\"auto\">{begins}</p></th>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        source_name(&cluster.center),
        grouped(cluster.size),
        cluster.least_similar.map_or("–".into(), similarity),
    )
}
