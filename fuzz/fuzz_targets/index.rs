//! Stored Hamming indexes: arbitrary bytes are rejected, or give an index that can be queried and modified. The target corrects the
//! checksums of the first record heads, so that the fuzzer reaches the code behind them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::index::{DocNumber, HammingIndex, HammingView};
use sameish::Fingerprint;

fuzz_target!(|bytes: &[u8]| {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    let aligned: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    aligned[..bytes.len()].copy_from_slice(bytes);
    for head in aligned.chunks_exact_mut(128).take(8) {
        let sum = xxhash_rust::xxh3::xxh3_64(&head[..120]);
        head[120..].copy_from_slice(&sum.to_le_bytes());
    }
    let query = Fingerprint::from_u64(0x0123_4567_89AB_CDEF);
    if let Ok(view) = HammingView::from_bytes(aligned) {
        view.find_all(query, &mut Vec::new());
        view.find_first_bulk(&[query; 3]);
    }
    if let Ok(mut index) = HammingIndex::from_bytes(aligned) {
        index.insert(query, DocNumber(1));
        assert!(index.remove(query, DocNumber(1)));
    }
});
