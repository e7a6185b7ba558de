//! The hosts that requests are for, as the scenario and requests name them. The clients that connections to
//! them are opened with are in the module `host`.

use crate::proxy::Proxy;
use crate::version::HttpVersion;
use farfield_base::HostNumber;
use std::borrow::Cow;
use std::sync::Arc;
use url::Url;

/// A host that requests are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Host field: name or address, with the port where it is not the scheme's own.
    pub host: String,
    /// The version that is spoken.
    pub version: HttpVersion,
    /// The Authorization field of requests that say none of their own.
    pub authorization: Option<String>,
    /// The scheme is https.
    pub secure: bool,
    /// The proxy that connections go to.
    pub proxy: Option<Proxy>,
}

impl Target {
    /// The scheme's name.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Text before the path of a request in absolute form, if that is how a proxy is asked.
    pub(crate) fn absolute_prefix(&self) -> Option<String> {
        self.asked_proxy().map(|_| format!("{}://{}", self.scheme(), self.host))
    }

    /// The proxy that requests themselves are for: others go through its tunnels.
    fn asked_proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref().filter(|_| !self.secure && self.version.has_absolute_form())
    }

    /// The lines that a request with `own` fields gets beside these.
    pub(crate) fn credentials_beside<'a>(
        &self,
        own: impl IntoIterator<Item = &'a str> + Clone,
    ) -> impl Iterator<Item = (String, String)> {
        let beside = |name: &str, value: Option<String>| {
            let said = own.clone().into_iter().any(|own| own.eq_ignore_ascii_case(name));
            value.filter(|_| !said).map(|value| (name.to_owned(), value))
        };
        let of_proxy = self.asked_proxy().and_then(Proxy::authorization);
        let lines =
            [beside("Authorization", self.authorization.clone()), beside("Proxy-Authorization", of_proxy)];
        lines.into_iter().flatten()
    }
}

/// A host as its requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostName {
    /// Name or address, with the port where it is not the scheme's own.
    pub authority: Box<str>,
    /// The version that its requests are written for.
    pub version: HttpVersion,
    /// The scheme, `://` and the authority.
    pub origin: Box<str>,
}

impl HostName {
    /// The names of all `targets`, in their order.
    pub fn of_all(targets: &[Target]) -> Arc<[HostName]> {
        let name = |target: &Target| HostName {
            authority: target.host.as_str().into(),
            version: target.version,
            origin: format!("{}://{}", target.scheme(), target.host).into(),
        };
        targets.iter().map(name).collect()
    }
}

/// The host of a request for `target`, a path or a URL, and the path that it is asked for there: of a path
/// the first of `hosts`; nothing of a URL that is of none.
pub(crate) fn place<'a>(hosts: &[HostName], target: &'a str) -> Option<(HostNumber, Cow<'a, str>)> {
    let Some((scheme, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else {
        return Some((HostNumber::TARGET, target.into()));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "ws" => "http",
        "wss" => "https",
        _ => scheme,
    };
    // Names are compared as browsers have them, and a usual port may be written.
    let root = Url::parse(&format!("{scheme}://{authority}/")).ok()?;
    // Credentials are the host's, and not one request's.
    if authority.contains('@') {
        return None;
    }
    let is_of = |host: &HostName| {
        Url::parse(&format!("{}/", host.origin)).is_ok_and(|own| own.origin() == root.origin())
    };
    let place = hosts.iter().position(is_of)?;
    let path = if path.starts_with('/') { path.into() } else { format!("/{path}").into() };
    Some((HostNumber::at(place), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lead_to_their_hosts() {
        let target = |host: &str, secure| Target {
            host: host.into(),
            version: HttpVersion::Http11,
            authorization: None,
            secure,
            proxy: None,
        };
        let hosts =
            HostName::of_all(&[target("shop", false), target("shop", true), target("api:8080", false)]);
        for (url, expected) in [
            ("/", Some((0, "/"))),
            ("/go?to=http://api:8080/", Some((0, "/go?to=http://api:8080/"))),
            ("*", Some((0, "*"))),
            ("http://shop/a?b", Some((0, "/a?b"))),
            ("http://Shop:80?b", Some((0, "/?b"))),
            ("http://user:pass@shop/", None),
            ("HTTPS://SHOP", Some((1, "/"))),
            ("http://api:8080/", Some((2, "/"))),
            ("ws://api:8080/chat", Some((2, "/chat"))),
            ("WSS://shop/chat", Some((1, "/chat"))),
            ("http://api:80801/", None),
            ("http://api/", None),
            ("http://shop.test/", None),
        ] {
            let found = place(&hosts, url).map(|(host, path)| (host.index(), path.into_owned()));
            assert_eq!(found, expected.map(|(host, path)| (host, path.to_owned())), "{url}");
        }
    }
}
