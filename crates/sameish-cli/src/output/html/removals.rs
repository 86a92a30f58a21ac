//! What went, and from where: the tables of the page.

use super::markup::{bare, name};
use super::{LargeCluster, NAME, Removed};
use crate::output::figures::{percent, similarity, sized};
use crate::output::messages::grouped;

/// Rows of a table; the others are summed up.
const ROWS: usize = 50;
/// Letters of a text's beginning.
const BEGINS: usize = 200;

pub(super) fn by_source(sources: &[Removed]) -> String {
    let none = "The documents name no sources.";
    section("sources", "Removed by source", "Source", sources, none)
}

pub(super) fn by_length(lengths: &[Removed]) -> String {
    section("lengths", "Removed by length", "Length", lengths, "There were no documents.")
}

fn section(id: &str, title: &str, first: &str, rows: &[Removed], none: &str) -> String {
    let table = match rows.is_empty() {
        true => format!("<p class=\"quiet\">{none}</p>\n"),
        false => table(first, rows),
    };
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{table}</section>\n")
}

/// On a phone a row takes two lines. Roles are named because browsers forget them when a table is laid out as a grid.
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
         <caption>Documents and text that were removed; the bar is the share of documents.</caption>\n\
         <thead role=\"rowgroup\"><tr role=\"row\">{columns}</tr></thead>\n\
         <tbody role=\"rowgroup\">\n{body}</tbody>\n<tfoot role=\"rowgroup\">\n{}</tfoot>\n</table>\n",
        row(&summed("all".into(), rows)),
    )
}

/// Many rows as one.
pub(crate) fn summed(name: String, rows: &[Removed]) -> Removed {
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
    let name = named(&row.name);
    format!("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">{name}</th>{cells}</tr>\n")
}

fn named(source: &str) -> String {
    match source {
        "" => "<span class=\"quiet\">(no name)</span>".into(),
        _ => format!("<bdi>{}</bdi>", name(source, NAME)),
    }
}

/// Drawn and not coloured in, so that it is printed too.
fn bar(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(if share > 0.0 { 1.0 } else { 0.0 });
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"100\" height=\"6\"/><rect class=\"above\" width=\"{width:.1}\" height=\"6\"/></svg>"
    )
}

pub(super) fn largest(clusters: &[LargeCluster]) -> String {
    let inner = match clusters.is_empty() {
        true => "<p class=\"quiet\">No two documents were put together.</p>\n".into(),
        false => largest_table(clusters),
    };
    format!("<section id=\"largest\">\n<h2>Largest clusters</h2>\n{inner}</section>\n")
}

fn largest_table(clusters: &[LargeCluster]) -> String {
    let body: String = clusters.iter().map(cluster_row).collect();
    format!(
        "<table>\n<caption>The document that was kept and how it begins; how many documents the cluster has; and how \
         similar its least similar member is to the kept one.</caption>\n\
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
        named(&cluster.center),
        grouped(cluster.size),
        cluster.least_similar.map_or("–".into(), similarity),
    )
}
