//! Hints for common mistakes.

use crate::problem::Problem;

/// Adds a hint to the detail of a problem.
pub(super) fn add(mut problem: Problem, hint: Option<&str>) -> Problem {
    if let Some(hint) = hint {
        problem.detail = format!("{}; {hint}", problem.detail).into();
    }
    problem
}

/// Maximum length of a path that a hint shows, in bytes.
const MAX_SHOWN_PATH: usize = 200;

/// Returns a hint for a path that no route matches: probably the id contains a slash that is not percent-encoded.
pub(super) fn for_unknown_path(path: &str) -> Option<String> {
    let (collection, rest) = path.strip_prefix("/api/v1/")?.split_once('/')?;
    let (id, action) = match rest.strip_suffix("/similar") {
        Some(id) => (id, "/similar"),
        None => (rest, ""),
    };
    if collection.is_empty() || !id.contains('/') {
        return None;
    }
    let encoded = format!("/api/v1/{collection}/{}{action}", id.replace('/', "%2F"));
    let hint = "if the id contains `/`, write it as `%2F`";
    Some(if encoded.len() <= MAX_SHOWN_PATH { format!("{hint}: `{encoded}`") } else { hint.to_owned() })
}

/// Returns a hint for a line of a bulk request that is not one JSON value: probably several lines were joined.
///
/// `offset` is where the line stops being JSON.
pub(super) fn for_broken_line(line: &[u8], offset: usize) -> Option<&'static str> {
    let before = line.get(..offset)?.trim_ascii_end();
    let is_joined = before.ends_with(b"}") && line.get(offset..)?.trim_ascii_start().starts_with(b"{");
    is_joined.then_some(
        "the line has more than one JSON object; write one per line; with curl, send the file with `--data-binary @FILE`, because \
         `-d` removes line breaks",
    )
}

/// Returns a hint for a rejected document: probably it is a list of documents, or its quotes are not those of JSON.
pub(super) fn for_rejected_document(body: &[u8]) -> Option<&'static str> {
    let body = body.trim_ascii_start();
    if body.starts_with(b"[") {
        return Some("to store several documents, send one JSON object per line to `/bulk`");
    }
    let first_key = body.strip_prefix(b"{")?.trim_ascii_start();
    first_key.starts_with(b"'").then_some(
        "JSON has double quotes; in a shell, write the body in single quotes, as in `-d '{\"text\": \"...\"}'`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_single_quotes_are_recognized() {
        assert!(for_rejected_document(b" [{\"text\": \"a\"}]").unwrap().contains("/bulk"));
        assert!(for_rejected_document(b"{ 'text': 'a'}").unwrap().contains("double quotes"));
        for body in ["", "{", "{\"text\": '", "7", "'"] {
            assert_eq!(for_rejected_document(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn slash_in_an_id_gets_the_encoded_path() {
        let hint = |path: &str| for_unknown_path(path).unwrap_or_default();
        assert!(hint("/api/v1/articles/a/b").ends_with("`/api/v1/articles/a%2Fb`"));
        assert!(hint("/api/v1/articles/http://x/y/similar").ends_with("/http:%2F%2Fx%2Fy/similar`"));
        assert_eq!(hint(&format!("/api/v1/articles/{}", "a/".repeat(500))).matches('/').count(), 1);
        for path in
            ["/nothing", "/api/v2/a/b/c", "/api/v1/", "/api/v1/articles/a", "/api/v1/articles/a/similar"]
        {
            assert_eq!(hint(path), "", "{path}");
        }
    }

    #[test]
    fn joined_lines_are_recognized() {
        let line = br#"{"id":1} {"id":2}"#;
        assert!(for_broken_line(line, 9).is_some());
        assert!(for_broken_line(line, 8).is_some());
        for offset in [0, 3, 17, 99] {
            assert_eq!(for_broken_line(line, offset), None, "{offset}");
        }
        assert_eq!(for_broken_line(br#"{"id":1}}"#, 8), None);
    }
}
