//! Turns panics of the Parquet decoder into errors.
//!
//! The crate returns errors for most damaged files, but panics on some (apache/arrow-rs issues 2855 and 9742). Such a panic is
//! caused by the file, so it is reported as an unreadable input and without a backtrace.

use super::damaged;
use parquet::errors::Result;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the decoder. A panic becomes an error and prints no backtrace.
pub(crate) fn catch_panics<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !DECODING.get() {
                usual(panic);
            }
        }));
    });
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    result.unwrap_or_else(|_| Err(damaged("the file is damaged in a way that the decoder does not handle")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_becomes_an_error() {
        assert!(catch_panics::<()>(|| panic!("on purpose")).is_err());
        assert_eq!(catch_panics(|| Ok(1)).unwrap(), 1);
        assert!(!DECODING.get());
    }
}
