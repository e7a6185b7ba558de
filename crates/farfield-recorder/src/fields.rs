//! Fields of one connection, which a proxy does not pass on (RFC 9110 section 7.6.1), and fields that the
//! versions of HTTP write otherwise.

use http::header::{
    CONNECTION, COOKIE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// The protocol that a message changes to, or wants to (RFC 9110 section 7.8). HTTP/2 in cleartext, which no
/// client needs any more (RFC 9113 section 3.1), is not passed on.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let wanted = headers.get(UPGRADE)?;
    let is_named = options(headers).any(|option| option == UPGRADE);
    (is_named && !wanted.as_bytes().eq_ignore_ascii_case(b"h2c")).then(|| wanted.clone())
}

/// Removes the fields of one connection. `TE: trailers` is said anew: the trailer section passes.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let takes_trailers = headers.get_all(TE).iter().any(|value| {
        let mut listed = value.as_bytes().split(|byte| *byte == b',');
        listed.any(|own| own.trim_ascii().eq_ignore_ascii_case(b"trailers"))
    });
    let listed: Vec<HeaderName> = options(headers).collect();
    let known = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        PROXY_CONNECTION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in listed.iter().chain(&known) {
        headers.remove(name);
    }
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Says that the connection changes to a protocol.
pub(crate) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Joins the cookies, which HTTP/2 may have in several fields and HTTP/1 has in one (RFC 9113 section
/// 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(mut whole) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        whole.set_sensitive(true);
        headers.insert(COOKIE, whole);
    }
}

/// Names that the Connection fields list.
fn options(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let listed = headers.get_all(CONNECTION).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    listed.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let own = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(own).collect()
    }

    #[test]
    fn fields_of_a_connection_stay_behind() {
        let mut fields = headers(&[
            ("connection", "Keep-Alive, X-Own"),
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("x-own", "1"),
            ("proxy-authorization", "Basic x"),
            ("te", "gzip, Trailers"),
            ("transfer-encoding", "chunked"),
            ("accept", "*/*"),
        ]);
        remove_hop_by_hop(&mut fields);
        assert_eq!(fields, headers(&[("accept", "*/*"), ("te", "trailers")]));
    }

    #[test]
    fn an_upgrade_is_one_that_the_connection_names() {
        let asked = |connection, protocol| {
            upgrade(&headers(&[("connection", connection), ("upgrade", protocol)])).is_some()
        };
        assert!(asked("keep-alive, Upgrade", "websocket"));
        assert!(!asked("keep-alive", "websocket") && !asked("upgrade", "h2c"));
    }

    #[test]
    fn cookies_are_one_field_over_http1() {
        let mut fields = headers(&[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        join_cookies(&mut fields);
        assert_eq!(fields, headers(&[("cookie", "a=1; b=2; c=3")]));
    }
}
