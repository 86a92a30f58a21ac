//! The last net around the decoder.
//!
//! The crate means to give errors for damaged files, but its issues list panics that remain (apache/arrow-rs 2855, 9742). A
//! panic over a damaged file is that file's fault, so nobody needs its trace.

use super::damaged;
use parquet::errors::Result;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Runs the decoder; a panic becomes an error, without a trace.
pub(crate) fn fenced<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !FENCED.get() {
                usual(panic);
            }
        }));
    });
    let before = FENCED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    FENCED.set(before);
    result.unwrap_or_else(|_| Err(damaged("it is damaged in a way that the decoder did not expect")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert!(fenced::<()>(|| panic!("on purpose")).is_err());
        assert_eq!(fenced(|| Ok(1)).unwrap(), 1);
        assert!(!FENCED.get());
    }
}
