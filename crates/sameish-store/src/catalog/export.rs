//! All documents of a collection, in order of arrival.

use super::browse::center_or_first;
use super::clusters::undamaged;
use super::collection::Collection;
use super::search::Sink;
use super::texts::TextBudget;
use crate::error::Result;
use crate::model::{ExportPage, Stored};
use crate::store::Read;

/// Number of documents that are read at a time, and at most per call.
const CHUNK: usize = 16;
const MAX_EXAMINED: usize = 2_000;

impl Collection {
    /// Passes documents to `sink`, in order of arrival. Returns [`ExportPage::after`] of the next call, or `None` if there are no
    /// more. Damaged documents are left out.
    ///
    /// A call ends when `sink` breaks, when about `max_text_bytes` of stored text are read, or when 2,000 documents are examined.
    pub fn export_each(
        &self,
        page: ExportPage,
        max_text_bytes: usize,
        sink: Sink<'_, Stored>,
    ) -> Result<Option<u64>> {
        let read = self.shared.readers.snapshot()?;
        let budget = TextBudget::new(max_text_bytes);
        let mut after = page.after;
        let mut examined = 0;
        while examined < MAX_EXAMINED && !budget.is_exhausted() {
            let rows = read.documents(self.live.row.number, after, CHUNK)?;
            if rows.is_empty() {
                return Ok(None);
            }
            for (number, row) in rows {
                examined += 1;
                if let Some(row) = undamaged(row.map(Some))? {
                    budget.take(&row.document);
                    let cluster = undamaged(read.member(number))?.map(|member| member.shown());
                    let is_selected = !page.representatives || is_representative(&*read, number)?;
                    if is_selected && sink(self.stored(&*read, row, cluster)).is_break() {
                        return Ok(Some(after));
                    }
                }
                after = number;
            }
        }
        Ok(Some(after))
    }
}

/// Returns `true` if a document is the center of its cluster, or in no cluster.
fn is_representative(read: &dyn Read, document: u64) -> Result<bool> {
    let Some(member) = undamaged(read.member(document))? else { return Ok(true) };
    let cluster = member.shown();
    let center = undamaged(read.cluster(cluster))?.and_then(|row| row.center);
    let center = center_or_first(read, cluster, center)?;
    Ok(center.is_none_or(|center| center.document == document))
}
