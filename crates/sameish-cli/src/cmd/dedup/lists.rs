//! The lists of `--clusters` and `--removed`.

use super::DedupResult;
use crate::exit::Failure;
use crate::output::jsonl::rounded;
use sameish_batch::input::InputResult;
use sameish_batch::output::CompressedOutput;
use std::path::Path;

impl DedupResult<'_> {
    /// Returns a line for each cluster with more than one document.
    pub(super) fn cluster_lines(&self) -> impl Iterator<Item = String> {
        (1..).zip(&self.selection.clusters).map(|(number, cluster)| self.cluster_line(number, cluster))
    }

    fn cluster_line(&self, number: usize, cluster: &[u32]) -> String {
        let ids = &self.corpus.signed.ids;
        let members: Vec<&str> = cluster.iter().map(|&doc| ids.get(doc)).collect();
        let similarity = |doc: &u32| self.clusters.similarity[*doc as usize];
        let mean = cluster[1..].iter().map(similarity).sum::<f64>() / (cluster.len() - 1) as f64;
        format!(
            "{{\"id\":\"cluster-{number}\",\"center\":{},\"members\":[{}],\"mean_similarity\":{}{}}}\n",
            members[0],
            members.join(","),
            rounded(f64::from(mean as f32)),
            verified_field(cluster[1..].iter().all(|&doc| self.clusters.verified[doc as usize]))
        )
    }

    /// Returns a line for each removed document.
    pub(super) fn removed_lines(&self) -> impl Iterator<Item = String> {
        self.selection.removed_documents(self.corpus).map(|doc| {
            let center = self.clusters.center[doc as usize];
            let similarity = rounded(self.clusters.similarity[doc as usize]);
            let id = self.corpus.signed.ids.get(doc);
            let kept = self.corpus.signed.ids.get(center);
            let verified = verified_field(self.clusters.verified[doc as usize]);
            format!("{{\"id\":{id},\"kept\":{kept},\"similarity\":{similarity}{verified}}}\n")
        })
    }
}

/// Returns the field that marks a match as not verified.
fn verified_field(verified: bool) -> &'static str {
    if verified { "" } else { ",\"verified\":false" }
}

/// Writes lines to a file.
pub(super) fn write(
    path: &Path,
    lines: impl Iterator<Item = String>,
    force: bool,
    inputs: &[InputResult],
) -> Result<(), Failure> {
    let mut output = CompressedOutput::create(Some(path), force, inputs)?;
    let mut piece = String::new();
    for line in lines {
        piece += &line;
        if piece.len() > 1 << 16 {
            output.write(piece.as_bytes())?;
            piece.clear();
        }
    }
    output.write(piece.as_bytes())?;
    output.finish()?;
    Ok(())
}
