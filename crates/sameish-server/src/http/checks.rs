//! Checks of the head of a request: its URI, its host and its origin.

use crate::problem::{Kind, Problem, shown};
use crate::state::App;
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
use std::net::IpAddr;

/// Checks that the URI is not too long, and that the path has no control characters.
pub(super) fn check_uri(app: &App, uri: &Uri) -> Result<(), Problem> {
    let max = app.limits().uri_bytes;
    let length = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if length > max {
        return Err(Problem::new(Kind::UriTooLong, format!("the URI has {length} bytes, maximum is {max}")));
    }
    if has_control_escape(uri.path()) {
        return Err(Problem::new(Kind::BadRequest, "the path contains a percent-encoded control character"));
    }
    Ok(())
}

/// Returns whether a path contains a percent-encoded control character such as `%00`.
fn has_control_escape(path: &str) -> bool {
    path.as_bytes().windows(3).any(|bytes| {
        bytes[0] == b'%'
            && (matches!(bytes[1], b'0' | b'1') && bytes[2].is_ascii_hexdigit()
                || &bytes[1..] == b"7f"
                || &bytes[1..] == b"7F")
    })
}

/// Checks the host of a request and returns it.
///
/// Without keys only `localhost`, IP addresses and configured names are accepted. Otherwise another site could let its own name
/// resolve to this service and send requests from the browsers of its visitors (DNS rebinding).
pub(super) fn check_host(
    app: &App,
    version: Version,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Option<String>, Problem> {
    let invalid = |detail: &'static str| Err(Problem::new(Kind::BadRequest, detail).closing());
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (uri.authority(), hosts.next(), hosts.next()) {
        (_, _, Some(_)) => return invalid("`host` is given twice"),
        (Some(authority), _, None) => authority.as_str().to_owned(),
        (None, Some(host), None) => host.to_str().unwrap_or("\0").to_owned(),
        (None, None, None) if version < Version::HTTP_11 => return Ok(None),
        (None, None, None) => return invalid("`host` is missing"),
    };
    let Some(name) = host_name(&host) else { return invalid("`host` is not a host name") };
    let is_configured = app.settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    let is_local = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    if app.keys.is_empty() && !is_configured && !is_local {
        let detail = format!("`host` is `{}`; add it to `hosts` in the settings, or set a key", shown(name));
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    Ok(Some(host))
}

/// Rejects writes from pages of other sites, if there are no keys: a browser sends some requests of such pages without asking
/// the service first. Browsers send the origin of a request; other clients do not.
pub(super) fn check_origin(host: Option<&str>, headers: &HeaderMap) -> Result<(), Problem> {
    let is_same_origin = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, origin)| host.is_some_and(|host| host.eq_ignore_ascii_case(origin)))
    };
    let is_cross_site = headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site");
    if is_cross_site || !headers.get_all(header::ORIGIN).iter().all(is_same_origin) {
        let detail = "a page of another origin cannot write to a service without keys; set a key";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok(())
}

/// Returns the name or address in a host, without brackets and port.
fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let is_valid =
        !name.is_empty() && name.bytes().all(is_allowed) && port.bytes().all(|byte| byte.is_ascii_digit());
    is_valid.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_host_names_and_addresses() {
        for (host, name) in [
            ("localhost:7070", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:7070", "::1"),
            ("news.example", "news.example"),
        ] {
            assert_eq!(host_name(host), Some(name));
        }
        for host in ["", ":80", "a b", "a/b", "a@b", "a:b", "[::1", "\0", "é"] {
            assert_eq!(host_name(host), None, "{host}");
        }
    }

    #[test]
    fn detects_percent_encoded_control_characters() {
        for path in ["/a%00", "/%0a", "/%1F", "/%7f"] {
            assert!(has_control_escape(path), "{path}");
        }
        for path in ["/a", "/%20", "/%2F..", "/%c3%a9", "/%", "/%0"] {
            assert!(!has_control_escape(path), "{path}");
        }
    }
}
