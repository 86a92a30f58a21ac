//! Escaping of untrusted text for the terminal, HTML and SVG.

pub(crate) use sameish_batch::escape::{escaped, escaped_markup, escaped_name, is_steering};
