//! Codecs of sketches: decoding arbitrary bytes or hex fails, or encoding the result gives the same input again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::sketch::{SchemeId, decode_sketch, encode_sketch};
use sameish::{Fingerprint, Signature};

fuzz_target!(|bytes: &[u8]| {
    if let Some((scheme, rest)) = bytes.split_first_chunk::<8>() {
        let scheme = SchemeId::from_u64(u64::from_le_bytes(*scheme));
        if let Ok(sketch) = decode_sketch(rest, scheme) {
            assert_eq!(encode_sketch(&sketch, scheme), rest);
        }
    }
    if let Ok(print) = Fingerprint::from_bytes(bytes) {
        assert_eq!(print.to_bytes(), bytes);
        assert_eq!(Fingerprint::from_hex(&print.to_hex()), Ok(print));
    }
    if let Ok(signature) = Signature::from_bytes(bytes) {
        assert_eq!(signature.to_bytes(), bytes);
        assert_eq!(Signature::from_hex(&signature.to_hex()), Ok(signature));
    }
    if let Ok(hex) = std::str::from_utf8(bytes) {
        if let Ok(print) = Fingerprint::from_hex(hex) {
            assert_eq!(print.to_hex(), hex.to_lowercase());
        }
        if let Ok(signature) = Signature::from_hex(hex) {
            assert_eq!(signature.to_hex(), hex.to_lowercase());
        }
    }
});
