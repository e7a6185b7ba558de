//! Admission of requests to a server, by Host, Origin and token.
//!
//! A page of another site that a browser shows can ask a server on this machine for anything. It cannot read
//! the answer, unless its own name is made to lead to this machine (DNS rebinding), which the Host shows; and
//! it can make the server act (cross-site request forgery), which Origin and Sec-Fetch-Site show. Other users
//! of the machine, and other machines, have no token.
//!
//! The token comes in `Authorization` alone. A cookie would go to every server of this host, whatever its
//! port (RFC 6265, section 8.5), and so to the one that a run measures; a URL would leave it in logs and
//! histories.

use super::{WebReply, one};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, StatusCode};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a token.
const TOKEN_BYTES: usize = 24;

/// A server's conditions on requests.
#[derive(Debug)]
pub struct Guard {
    /// Names by which it may be asked, besides IP addresses.
    names: Vec<String>,
    /// Only addresses of the loopback interface are taken as Host.
    is_local: bool,
    token: Option<String>,
}

/// The reason why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request asks for another host, or for none.
    Host,
    /// The request comes from a page of another origin.
    Origin,
    /// A command that a form of another page could have sent.
    Form,
    /// The request has no token, or another one.
    Token,
}

impl Refusal {
    pub(super) fn answer(self) -> WebReply {
        let (status, sentence) = match self {
            Refusal::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "the request's Host is no address of this server: open the URL that farfield printed",
            ),
            Refusal::Origin => (StatusCode::FORBIDDEN, "the request comes from a page of another origin"),
            Refusal::Form => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "commands are JSON: set Content-Type: application/json")
            }
            Refusal::Token => (
                StatusCode::UNAUTHORIZED,
                "the request has no valid token: open the whole URL that farfield printed, with `#token=…`; programs \
                 send `Authorization: Bearer …`",
            ),
        };
        let answer = WebReply::refusal(status, sentence);
        // RFC 9110, section 15.5.2.
        if self == Refusal::Token { answer.with(header::WWW_AUTHENTICATE, "Bearer") } else { answer }
    }
}

impl Guard {
    /// The guard of a server at `address` that anyone who reaches it may read.
    pub fn open(address: SocketAddr) -> Guard {
        let mut names = vec!["localhost".to_owned()];
        let is_local = address.ip().is_loopback();
        if !is_local {
            // The name of this machine, by which others of its network know it.
            let name = farfield_files::system::read_text("/proc/sys/kernel/hostname").unwrap_or_default();
            names.extend(Some(name.trim().to_lowercase()).filter(|name| !name.is_empty()));
        }
        Guard { names, is_local, token: None }
    }

    /// The guard of a server at `address` that only who has the token may use, and the token.
    pub fn with_token(address: SocketAddr) -> io::Result<(Guard, String)> {
        let mut random = [0; TOKEN_BYTES];
        farfield_files::system::open("/dev/urandom")?.read_exact(&mut random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((Guard { token: Some(token.clone()), ..Guard::open(address) }, token))
    }

    /// Judges a request; `is_public` is what may be read without the token.
    pub fn judge(&self, method: &Method, headers: &HeaderMap, is_public: bool) -> Result<(), Refusal> {
        let host = one(headers, &header::HOST).ok().flatten().ok_or(Refusal::Host)?;
        if !self.knows(host) {
            return Err(Refusal::Host);
        }
        let origin = one(headers, &header::ORIGIN).map_err(|()| Refusal::Origin)?;
        if origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
            return Err(Refusal::Origin);
        }
        let is_reading = matches!(*method, Method::GET | Method::HEAD);
        if !is_reading {
            let site =
                one(headers, &HeaderName::from_static("sec-fetch-site")).map_err(|()| Refusal::Origin)?;
            if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
                return Err(Refusal::Origin);
            }
            let kind = one(headers, &header::CONTENT_TYPE).ok().flatten().unwrap_or_default();
            if kind.split(';').next().map(str::trim) != Some("application/json") {
                return Err(Refusal::Form);
            }
        }
        if is_public && is_reading { Ok(()) } else { self.judge_token(headers) }
    }

    fn judge_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = one(headers, &header::AUTHORIZATION).ok().flatten();
        // RFC 9110, section 11.1: the scheme's case does not matter.
        let (scheme, given) = given.and_then(|value| value.split_once(' ')).ok_or(Refusal::Token)?;
        let is_right = scheme.eq_ignore_ascii_case("Bearer") && is_same(given.trim_start(), token);
        if is_right { Ok(()) } else { Err(Refusal::Token) }
    }

    /// True if `host` is this server: an address, or one of its names. A name that an attacker's server of
    /// names leads here is none of them.
    fn knows(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.is_local,
            Err(_) => {
                let name = name.trim_end_matches('.').to_lowercase();
                let is_in_domain = |own: &String| !self.is_local && name.starts_with(&format!("{own}."));
                self.names.iter().any(|own| *own == name || is_in_domain(own))
            }
        }
    }
}

/// True if two secrets are equal, found in a time that does not depend on where they differ.
fn is_same(given: &str, secret: &str) -> bool {
    given.len() == secret.len()
        && given.bytes().zip(secret.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(guard: &Guard, method: Method, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        judged_at(guard, method, headers, false)
    }

    fn judged_at(
        guard: &Guard,
        method: Method,
        headers: &[(&str, &str)],
        is_public: bool,
    ) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a name");
            map.append(name, value.parse().expect("a value"));
        }
        guard.judge(&method, &map, is_public)
    }

    fn local() -> SocketAddr {
        "127.0.0.1:9000".parse().expect("an address")
    }

    #[test]
    fn other_names_for_this_machine_are_refused() {
        let guard = Guard::open(local());
        for host in ["127.0.0.1:9000", "localhost:9000", "LOCALHOST", "[::1]:9000", "127.1.2.3", "localhost."]
        {
            assert_eq!(judged(&guard, Method::GET, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:9000",
            "localhost.evil",
            "10.0.0.1",
            "[::1",
            "",
            "0x7f000001",
        ] {
            assert_eq!(judged(&guard, Method::GET, &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judged(&guard, Method::GET, &[]), Err(Refusal::Host));
        let two = [("host", "127.0.0.1"), ("host", "evil.example")];
        assert_eq!(judged(&guard, Method::GET, &two), Err(Refusal::Host));
        let remote = Guard::open("0.0.0.0:9000".parse().expect("an address"));
        assert!(judged(&remote, Method::GET, &[("host", "10.0.0.1:9000")]).is_ok());
        assert_eq!(judged(&remote, Method::GET, &[("host", "evil.example")]), Err(Refusal::Host));
    }

    #[test]
    fn pages_of_other_origins_can_do_nothing() {
        let guard = Guard::open(local());
        let json = ("content-type", "application/json");
        let post = |more: &[(&str, &str)]| {
            let headers = [&[("host", "127.0.0.1:9000")], more].concat();
            judged(&guard, Method::POST, &headers)
        };
        assert!(post(&[json]).is_ok(), "a program");
        assert!(
            post(&[json, ("origin", "http://127.0.0.1:9000"), ("sec-fetch-site", "same-origin")]).is_ok()
        );
        for (more, why) in [
            (&[json, ("origin", "http://evil.example")][..], Refusal::Origin),
            (&[json, ("origin", "null")], Refusal::Origin),
            (&[json, ("origin", "http://127.0.0.1:9001")], Refusal::Origin),
            (&[json, ("origin", "https://127.0.0.1:9000")], Refusal::Origin),
            (&[json, ("sec-fetch-site", "cross-site")], Refusal::Origin),
            (&[json, ("sec-fetch-site", "same-site")], Refusal::Origin),
            (&[], Refusal::Form),
            (&[("content-type", "text/plain")], Refusal::Form),
            (&[("content-type", "application/x-www-form-urlencoded")], Refusal::Form),
        ] {
            assert_eq!(post(more), Err(why), "{more:?}");
        }
    }

    #[test]
    fn without_the_token_nothing_is_answered() {
        let (guard, token) = Guard::with_token(local()).expect("random numbers");
        let (_, other) = Guard::with_token(local()).expect("random numbers");
        assert_ne!(token, other);
        let host = ("host", "127.0.0.1:9000");
        let asked = |more: &[(&str, &str)]| judged(&guard, Method::GET, &[&[host], more].concat());
        assert_eq!(asked(&[]), Err(Refusal::Token));
        assert_eq!(asked(&[("authorization", &format!("Bearer {token}"))]), Ok(()));
        assert_eq!(asked(&[("authorization", &format!("bearer  {token}"))]), Ok(()));
        let (right, of_another, basic) =
            (format!("Bearer {token}"), format!("Bearer {other}"), format!("Basic {token}"));
        for wrong in [&of_another, &basic, token.as_str(), "Bearer", "Bearer ", ""] {
            assert_eq!(asked(&[("authorization", wrong)]), Err(Refusal::Token), "{wrong}");
        }
        let two = [("authorization", right.as_str()), ("authorization", "Bearer 0")];
        assert_eq!(asked(&two), Err(Refusal::Token));
        for cookie in ["farfield-9000", "token", "Authorization"] {
            assert_eq!(asked(&[("cookie", &format!("{cookie}={token}"))]), Err(Refusal::Token), "{cookie}");
        }
    }

    /// Files of the page are the same everywhere; commands are never public.
    #[test]
    fn what_is_public_is_read_without_a_token_and_by_its_host_alone() {
        let (guard, _) = Guard::with_token(local()).expect("random numbers");
        let host = ("host", "127.0.0.1:9000");
        assert_eq!(judged_at(&guard, Method::GET, &[host], true), Ok(()));
        assert_eq!(judged_at(&guard, Method::GET, &[("host", "evil.example")], true), Err(Refusal::Host));
        let headers = [host, ("content-type", "application/json")];
        assert_eq!(judged_at(&guard, Method::POST, &headers, true), Err(Refusal::Token));
    }
}
