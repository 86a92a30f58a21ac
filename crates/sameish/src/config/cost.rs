//! What may a document cost?
//!
//! Collections can be created by clients of a service, so no setting may make a small document expensive: its sketches are
//! stored, indexed and loaded again at every start. [`check`] bounds each setting by its cost per document. With all settings
//! at their bounds, a document takes
//!
//! - [`MAX_SKETCH_BYTES`] bytes of sketches: 8 for the fingerprint, 4 per row of the signature, 4 per set bit of the code;
//! - one entry per Hamming table, band and set bit in the indexes, at most [`MAX_TABLES`] + [`MAX_ROWS`] +
//!   [`MAX_ACTIVE_BITS`] entries;
//! - [`MAX_ROWS`] operations per shingle for the signature, and [`MAX_CODE_BITS`] operations per token for the code (per byte
//!   of the text with `token_similarity`), eight times the cost of preset `sdr`.

use super::{Blocks, Config, MAX_ROWS, SdrConfig};
use crate::error::{Error, Result};
use crate::index::{MAX_TABLES, table_count};

/// Maximum size of the sketches of one document in bytes.
pub const MAX_SKETCH_BYTES: usize = 8 + 4 * MAX_ROWS as usize + 4 * MAX_ACTIVE_BITS as usize;
/// Maximum size of a sparse code in a [`Config`], in bits. An [`SdrEncoder`](crate::sketch::SdrEncoder) of its own may use up
/// to [`MAX_SDR_SIZE`](super::MAX_SDR_SIZE) bits.
pub const MAX_CODE_BITS: u32 = 16_384;
/// Maximum number of set bits of a sparse code in a [`Config`].
pub const MAX_ACTIVE_BITS: u32 = 2_048;
/// Maximum number of entries of `sdr.vocabulary` and `sdr.excludes` together.
pub const MAX_VOCABULARY: usize = 1_000_000;

/// Returns an error if a setting makes documents too expensive. The settings must be valid otherwise.
pub(super) fn check(config: &Config) -> Result<()> {
    if let Some(blocks) = config.simhash.as_ref().and_then(|simhash| simhash.blocks) {
        check_blocks(blocks)?;
    }
    config.sdr.as_ref().map_or(Ok(()), check_code)
}

fn check_blocks(blocks: Blocks) -> Result<()> {
    let tables = table_count(blocks);
    if tables > MAX_TABLES {
        let value = format!("{} choose {}, {tables} tables", blocks.total, blocks.differing);
        let expected = format!("at most {MAX_TABLES} tables, because each has an entry per document");
        return Err(Error::field("simhash.blocks", value, expected));
    }
    Ok(())
}

fn check_code(sdr: &SdrConfig) -> Result<()> {
    if sdr.size > MAX_CODE_BITS {
        let expected =
            format!("at most {MAX_CODE_BITS}, because each token of a document takes that many operations");
        return Err(Error::field("sdr.size", sdr.size, expected));
    }
    let active = sdr.bits()?;
    if active > MAX_ACTIVE_BITS {
        let expected = format!("at most {MAX_ACTIVE_BITS}, because each takes 4 bytes per document");
        return Err(Error::field("sdr.active_bits", active, expected));
    }
    let words = sdr.vocabulary.as_ref().map_or(0, |words| words.len()) + sdr.excludes.len();
    if words > MAX_VOCABULARY {
        let value = format!("{words} words together with `sdr.excludes`");
        return Err(Error::field("sdr.vocabulary", value, format!("at most {MAX_VOCABULARY} words")));
    }
    Ok(())
}
