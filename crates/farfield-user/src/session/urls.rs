//! References in pages and heads, made into what is asked of the hosts that users talk to (RFC 3986 section
//! 5).
//!
//! The `url` crate resolves them as browsers do (WHATWG URL, which is section 5 for what is well-formed).
//! A URL that leads to another name, another port or another scheme than those of a host is nothing that can
//! be asked for here, and is not turned into something that can.

use super::jar::CookieHost;
use farfield_base::HostNumber;
use std::sync::Arc;
use url::{Position, Url};

/// One host that users talk to.
#[derive(Debug, Clone)]
pub(crate) struct TargetHost {
    /// Root of the host.
    root: Url,
    cookie_host: CookieHost,
    /// The scheme, `://` and its name or address, with the port where that is not the scheme's own.
    origin: Box<str>,
}

/// The hosts that users talk to, by number.
#[derive(Debug, Clone)]
pub(crate) struct Servers(Arc<[TargetHost]>);

impl Servers {
    pub fn of(mut hosts: Vec<TargetHost>) -> Servers {
        for place in 0..hosts.len() {
            let (before, rest) = hosts.split_at_mut(place);
            let before = before.iter().map(TargetHost::cookie_host);
            rest[0].cookie_host = rest[0].cookie_host.behind(before);
        }
        Servers(hosts.into())
    }

    /// A host.
    pub fn at(&self, host: HostNumber) -> &TargetHost {
        &self.0[host.index()]
    }

    /// The host and the target to ask there when the page at `base` names `reference`; nothing if that is no
    /// host's.
    pub fn resolve(&self, base: &Url, reference: &str) -> Option<(HostNumber, String)> {
        let url = base.join(reference).ok()?;
        let target = |(place, host): (usize, &TargetHost)| {
            host.target(&url).map(|target| (HostNumber::at(place), target.to_owned()))
        };
        self.0.iter().enumerate().find_map(target)
    }
}

impl TargetHost {
    /// The server that requests call `host`, over TLS where it is `secure`; nothing if that is no host of a
    /// URL.
    pub fn of(host: &str, secure: bool) -> Option<TargetHost> {
        let scheme = if secure { "https" } else { "http" };
        let root = Url::parse(&format!("{scheme}://{host}/")).ok()?;
        let origin = root[..Position::BeforePath].into();
        let cookie_host = CookieHost::of(host, secure);
        Some(TargetHost { root, origin, cookie_host })
    }

    /// The host as cookies know it.
    pub fn cookie_host(&self) -> &CookieHost {
        &self.cookie_host
    }

    /// The scheme's name.
    pub fn scheme(&self) -> &str {
        self.root.scheme()
    }

    /// The scheme, `://` and its name or address.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// True if the scheme is https.
    pub fn is_secure(&self) -> bool {
        self.root.scheme() == "https"
    }

    /// The page that was asked for at `location`: path and query.
    pub fn page(&self, location: &str) -> Url {
        // Not a reference to resolve: what begins with two slashes is a path here.
        Url::parse(&[self.origin(), location].concat()).unwrap_or_else(|_| self.root.clone())
    }

    /// The target to ask for at `url`: path and query, without the fragment; nothing if it is another
    /// server's, or of another scheme.
    pub fn target<'u>(&self, url: &'u Url) -> Option<&'u str> {
        let here = url.scheme() == self.root.scheme()
            && url.host() == self.root.host()
            && url.port_or_known_default() == self.root.port_or_known_default();
        here.then(|| &url[Position::BeforePath..Position::AfterQuery])
    }
}

pub(crate) const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// True if a byte may stand in a request's target: those that RFC 3986 allows, and others that servers are
/// known to be sent.
pub(crate) fn is_sendable(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolve(base: &str, reference: &str, host: &str) -> Option<String> {
        let server = TargetHost::of(host, false).expect("a host");
        let base = server.page(base);
        Servers::of(vec![server]).resolve(&base, reference).map(|(_, target)| target)
    }

    fn resolved(reference: &str) -> Option<String> {
        resolve("/b/c/d;p?q", reference, "shop:8080")
    }

    /// The examples of RFC 3986 sections 5.4.1 and 5.4.2, and more of their kind.
    #[test]
    fn references_are_resolved_as_in_the_rfc() {
        let check = |reference: &str, expected: &str| {
            assert_eq!(resolved(reference).as_deref(), Some(expected), "{reference}");
        };
        for (reference, expected) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y#s", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            ("g;x", "/b/c/g;x"),
            ("g;x?y#s", "/b/c/g;x?y"),
            ("../../", "/"),
            ("../../../../g", "/g"),
            (".g", "/b/c/.g"),
            ("g..", "/b/c/g.."),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("g/./h", "/b/c/g/h"),
            ("g;x=1/./y", "/b/c/g;x=1/y"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/./x", "/b/c/g?y/./x"),
            ("g#s/./x", "/b/c/g"),
            ("g#s/../x", "/b/c/g"),
            ("http:g", "/b/c/g"),
            ("//shop:8080/x#s", "/x"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q"),
            ("g#s", "/b/c/g"),
            ("", "/b/c/d;p?q"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            ("./g/.", "/b/c/g/"),
            ("g/../h", "/b/c/h"),
            ("g?y/../x", "/b/c/g?y/../x"),
            ("//shop:8080", "/"),
            ("http://SHOP:8080/x", "/x"),
            ("http://shop:8080?x", "/?x"),
            (" a b\n", "/b/c/a%20b"),
            ("é", "/b/c/%C3%A9"),
            ("a:b/../c".trim_start_matches("a:"), "/b/c/c"),
        ] {
            check(reference, expected);
        }
    }

    /// Over TLS the usual port is 443, and plain HTTP leads elsewhere.
    #[test]
    fn a_secure_server_is_another_than_the_plain_one() {
        let server = TargetHost::of("shop", true).expect("a host");
        assert_eq!(server.origin(), "https://shop");
        let base = server.page("/a/b");
        let servers = Servers::of(vec![server]);
        let to = |reference| servers.resolve(&base, reference).map(|(_, target)| target);
        for (reference, expected) in [
            ("c", Some("/a/c")),
            ("https://shop/x", Some("/x")),
            ("https://shop:443/x", Some("/x")),
            ("http://shop/x", None),
            ("http://shop:443/x", None),
            ("https://shop:80/x", None),
        ] {
            assert_eq!(to(reference).as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn the_usual_port_may_be_written() {
        for host in ["shop", "shop:80", "[::1]"] {
            for written in [host.to_owned(), format!("{}:80", host.trim_end_matches(":80"))] {
                assert_eq!(
                    resolve("/", &format!("http://{written}/x"), host).as_deref(),
                    Some("/x"),
                    "{written}"
                );
            }
        }
        assert_eq!(resolve("/", "http://shop:8080/", "shop"), None);
    }

    #[test]
    fn what_is_another_servers_is_not_asked_for() {
        for reference in [
            "http://other/",
            "//other/x",
            "//g",
            "g:h",
            "http://shop/",
            "http://shop:8081/",
            "http://shop.:8080/",
            "https://shop:8080/",
            "data:text/plain,x",
            "mailto:a@b",
            "javascript:void(0)",
            "tel:+44",
            "http://",
        ] {
            assert_eq!(resolved(reference), None, "{reference}");
        }
    }

    proptest! {
        #[test]
        fn what_comes_out_can_be_asked_for(base in "/[a-z/?.]{0,12}", reference in "\\PC{0,20}") {
            if let Some(target) = resolve(&base, &reference, "shop") {
                prop_assert_eq!(resolve("/elsewhere", &target, "shop").filter(|_| !target.starts_with("//")),
                    Some(target.clone()).filter(|_| !target.starts_with("//")));
                prop_assert!(target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{}", target);
            }
        }
    }
}
