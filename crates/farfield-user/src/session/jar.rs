//! A user's cookies (RFC 6265).
//!
//! A cookie goes to the host that set it, whatever its port and scheme, or to all hosts of its Domain, which
//! must be that host's; Secure over plain HTTP refuses it, but from this machine itself, as browsers and curl
//! have it. Time is the run's; an Expires counts from the reply's own Date or, without one, is only
//! distinguished from the past, by which servers delete. A jar takes a cookie's bytes and 64 more for each.
//!
//! Not known are the public suffixes, under which anybody may have a name: a Domain of one label alone, such
//! as `org`, is refused (section 5.3, step 5).

use super::cookie_date::date;
use farfield_base::{Duration, HostNumber, Instant};
use std::fmt;
use std::net::IpAddr;

/// Cookies that a jar holds of one name or domain; its first makes room (section 6.1 asks for 50).
const COOKIES_MAX: usize = 64;
/// Bytes of a cookie's name and value; longer ones are refused (section 6.1 asks for 4096).
const BYTES_MAX: usize = 4096;
/// Bytes of a cookie's path; one with a longer path is refused.
const PATH_BYTES_MAX: usize = 1024;

/// The cookies of one user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    scope: CookieScope,
    /// True if the cookie goes over TLS alone.
    secure: bool,
    /// `name=value`, as it is sent.
    pair: Box<[u8]>,
    name_len: u16,
    /// Without a path it is `/`.
    path: Option<Box<[u8]>>,
    /// From then on it is gone.
    ends: Instant,
}

/// The hosts that a cookie goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CookieScope {
    /// All of the name of this one.
    Host(HostNumber),
    /// All of a domain, in lower case.
    Domain(Box<str>),
}

/// A host as cookies know it: by its name, and not by its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CookieHost {
    /// Name or address, without the port, in lower case.
    name: Box<str>,
    /// The number of the first host of this name.
    first: HostNumber,
    /// The scheme is https.
    secure: bool,
    /// True if the host is this machine: nobody listens on the way there (W3C Secure Contexts section 3.1).
    is_here: bool,
}

impl CookieHost {
    /// The only host there is, with this authority.
    pub fn of(authority: &str, secure: bool) -> CookieHost {
        let name = without_port(authority).trim_end_matches('.').to_ascii_lowercase();
        let is_here = is_this_machine(&name);
        CookieHost { name: name.into(), first: HostNumber::TARGET, secure, is_here }
    }

    /// The host behind others.
    pub fn behind<'a>(&self, mut others: impl ExactSizeIterator<Item = &'a CookieHost>) -> CookieHost {
        let own = others.len();
        let first = others.position(|other| other.name == self.name).unwrap_or(own);
        CookieHost { first: HostNumber::at(first), ..self.clone() }
    }

    /// True if cookies that are secure go there.
    fn is_trusted(&self) -> bool {
        self.secure || self.is_here
    }
}

/// A request that cookies go with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CookieQuery<'a, 't> {
    pub host: &'a CookieHost,
    /// Path and query.
    pub target: &'t [u8],
    pub now: Instant,
}

impl Cookie {
    /// True if it goes to the host.
    fn is_for(&self, host: &CookieHost) -> bool {
        let is_in_scope = match &self.scope {
            CookieScope::Host(first) => *first == host.first,
            CookieScope::Domain(domain) => covers(domain, &host.name),
        };
        is_in_scope && (!self.secure || host.is_trusted())
    }

    fn name(&self) -> &[u8] {
        &self.pair[..usize::from(self.name_len)]
    }

    fn value(&self) -> &[u8] {
        self.pair.get(usize::from(self.name_len) + 1..).unwrap_or_default()
    }

    fn path(&self) -> &[u8] {
        self.path.as_deref().unwrap_or(b"/")
    }
}

/// The reply that sets a cookie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setter<'a> {
    /// The target that was asked for: path and query.
    pub target: &'a [u8],
    /// The host that was asked.
    pub host: &'a CookieHost,
    /// Instant at which the reply's head came.
    pub now: Instant,
    /// The reply's Date, as it says.
    pub date: Option<&'a [u8]>,
}

/// Why a cookie is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CookieRefusal {
    /// The cookie has no name, or no `=`.
    Nameless,
    /// Name and value, or its path, are longer than this.
    TooLong(usize),
    /// There are control characters in it.
    Controls,
    /// The cookie is for another host: its Domain.
    OtherHost(String),
    /// The cookie is Secure, and was set over plain HTTP.
    NotSecure,
}

impl fmt::Display for CookieRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CookieRefusal::Nameless => f.write_str("it has no name and value (RFC 6265 section 5.2)"),
            CookieRefusal::TooLong(most) => {
                write!(f, "it is longer than {most} bytes (RFC 6265 section 6.1)")
            }
            CookieRefusal::Controls => f.write_str("there are control characters in it"),
            CookieRefusal::OtherHost(domain) => {
                write!(f, "its Domain, {domain}, is not the server's (RFC 6265 section 5.3, step 6)")
            }
            CookieRefusal::NotSecure => {
                f.write_str("it is Secure, and the server is asked over plain HTTP; ask it over https")
            }
        }
    }
}

impl Jar {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// The value of the cookie called `name`: that with the longest path, if several are.
    pub fn value(&self, name: &str, now: Instant) -> Option<&[u8]> {
        let named = |cookie: &&Cookie| cookie.name() == name.as_bytes() && cookie.ends > now;
        self.cookies.iter().filter(named).max_by_key(|cookie| cookie.path().len()).map(Cookie::value)
    }

    /// Takes what a Set-Cookie field says (sections 5.2 and 5.3), or says why not.
    pub fn set(&mut self, field: &[u8], setter: Setter<'_>) -> Result<(), CookieRefusal> {
        let mut parts = field.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default();
        let equals = pair.iter().position(|byte| *byte == b'=').ok_or(CookieRefusal::Nameless)?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        let controls = |bytes: &[u8]| bytes.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
        if name.is_empty() {
            return Err(CookieRefusal::Nameless);
        }
        if name.len() + value.len() > BYTES_MAX {
            return Err(CookieRefusal::TooLong(BYTES_MAX));
        }
        if controls(name) || controls(value) {
            return Err(CookieRefusal::Controls);
        }
        let (mut path, mut max_age, mut expires, mut secure) = (None, None, None, false);
        let mut scope = CookieScope::Host(setter.host.first);
        for part in parts {
            let (key, value) = match part.iter().position(|byte| *byte == b'=') {
                Some(equals) => (part[..equals].trim_ascii(), part[equals + 1..].trim_ascii()),
                None => (part.trim_ascii(), &[][..]),
            };
            let text = || std::str::from_utf8(value).ok();
            let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
            match key.len() {
                4 if is("path") => path = value.starts_with(b"/").then_some(value),
                6 if is("domain") && !value.is_empty() => match text() {
                    Some(domain) if covers(domain, &setter.host.name) => {
                        let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
                        scope = CookieScope::Domain(domain.into());
                    }
                    _ => return Err(CookieRefusal::OtherHost(String::from_utf8_lossy(value).into_owned())),
                },
                6 if is("secure") && !setter.host.is_trusted() => return Err(CookieRefusal::NotSecure),
                6 if is("secure") => secure = true,
                7 if is("max-age") => max_age = text().and_then(|text| text.parse::<i64>().ok()).or(max_age),
                7 if is("expires") => expires = text().and_then(date).or(expires),
                _ => {}
            }
        }
        let path = path.unwrap_or_else(|| default_path(setter.target));
        if path.len() > PATH_BYTES_MAX {
            return Err(CookieRefusal::TooLong(PATH_BYTES_MAX));
        }
        let ends = ending(max_age, expires, setter);
        let same = |old: &&mut Cookie| {
            let is_same = old.name() == name && old.value() == value && old.path() == path;
            is_same && old.scope == scope && old.secure == secure
        };
        if let Some(known) = self.cookies.iter_mut().find(same)
            && ends > setter.now
        {
            known.ends = ends;
            return Ok(());
        }
        let pair = [name, b"=", value].concat().into_boxed_slice();
        let path = (path != b"/").then(|| path.into());
        self.put(Cookie { scope, secure, pair, name_len: name.len() as u16, path, ends }, setter.now);
        Ok(())
    }

    /// A cookie of the same name, hosts and path is replaced, in its place (section 5.3, step 11).
    fn put(&mut self, cookie: Cookie, now: Instant) {
        let same = |old: &Cookie| {
            old.name() == cookie.name() && old.path == cookie.path && old.scope == cookie.scope
        };
        let place = self.cookies.iter().position(same);
        match (place, cookie.ends > now) {
            (Some(place), true) => self.cookies[place] = cookie,
            (Some(place), false) => drop(self.cookies.remove(place)),
            (None, true) => {
                // No host makes room in what is another's.
                let of_scope = |old: &&Cookie| old.scope == cookie.scope;
                if self.cookies.iter().filter(of_scope).count() == COOKIES_MAX
                    && let Some(place) = self.cookies.iter().position(|old| old.scope == cookie.scope)
                {
                    self.cookies.remove(place);
                }
                // Longer paths first, and of the same length the older first (section 5.4, step 2).
                let longer = |old: &Cookie| old.path().len() >= cookie.path().len();
                let place = self.cookies.iter().take_while(|old| longer(old)).count();
                self.cookies.insert(place, cookie);
            }
            (None, false) => {}
        }
    }

    /// The `name=value` of each cookie that goes with a request, in the order of section 5.4.
    pub fn pairs<'a, 't>(
        &'a self,
        asked: CookieQuery<'t, 't>,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 't> {
        let path = path_of(asked.target);
        let goes = move |cookie: &&Cookie| {
            cookie.ends > asked.now && cookie.is_for(asked.host) && path_matches(path, cookie.path())
        };
        self.cookies.iter().filter(goes).map(|cookie| &*cookie.pair)
    }
}

/// End of a cookie: Max-Age before Expires (section 5.3, step 3), and never with the session.
fn ending(max_age: Option<i64>, expires: Option<i64>, setter: Setter<'_>) -> Instant {
    /// 2026-01-01: what expires before this was written is over.
    const LONG_AGO_S: i64 = 1_767_225_600;
    let sent = || date(std::str::from_utf8(setter.date?).ok()?);
    let lifetime_s = match (max_age, expires, expires.and_then(|_| sent())) {
        (Some(age), _, _) => age,
        (None, Some(expires), Some(date)) => expires - date,
        (None, Some(expires), None) if expires < LONG_AGO_S => 0,
        (None, _, _) => return Instant::MAX,
    };
    match u64::try_from(lifetime_s) {
        Ok(seconds) => setter.now + Duration::from_secs(seconds.min(1 << 32)),
        Err(_) => Instant::ZERO,
    }
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// True if the host, in lower case, is this machine by its name or address.
fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True if a Domain attribute covers the host (section 5.1.3).
fn covers(domain: &str, host: &str) -> bool {
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    if host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let Some(split) = host.len().checked_sub(domain.len() + 1) else { return false };
    let is_name = host.parse::<IpAddr>().is_err();
    is_name
        && domain.contains('.')
        && host.is_char_boundary(split)
        && host.as_bytes()[split] == b'.'
        && host[split + 1..].eq_ignore_ascii_case(domain)
}

/// The path of a target, before its query.
fn path_of(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr(b'?', target).unwrap_or(target.len())]
}

/// Section 5.1.4.
fn default_path(target: &[u8]) -> &[u8] {
    let path = path_of(target);
    match memchr::memrchr(b'/', path) {
        Some(0) | None => b"/",
        Some(at) => &path[..at],
    }
}

/// Section 5.1.4.
fn path_matches(path: &[u8], of_cookie: &[u8]) -> bool {
    path.strip_prefix(of_cookie)
        .is_some_and(|rest| rest.is_empty() || of_cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn shop() -> CookieHost {
        CookieHost::of("www.shop.org:8080", false)
    }

    fn setter<'a>(host: &'a CookieHost, target: &'a str) -> Setter<'a> {
        Setter { target: target.as_bytes(), host, now: at(10), date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT") }
    }

    fn jar(fields: &[(&str, &str)]) -> Jar {
        let mut jar = Jar::default();
        fields.iter().for_each(|(target, field)| drop(jar.set(field.as_bytes(), setter(&shop(), target))));
        jar
    }

    fn sent(jar: &Jar, target: &str, seconds: u64) -> String {
        sent_to(&shop(), jar, target, seconds)
    }

    fn sent_to(host: &CookieHost, jar: &Jar, target: &str, seconds: u64) -> String {
        let asked = CookieQuery { host, target: target.as_bytes(), now: at(seconds) };
        let pairs = jar.pairs(asked).map(|pair| String::from_utf8_lossy(pair).into_owned());
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// Cookies are of names, and not of ports and schemes; a Domain takes them further, and Secure keeps them
    /// back.
    #[test]
    fn cookies_go_to_the_hosts_that_they_are_for() {
        let mut hosts: Vec<CookieHost> = Vec::new();
        for (authority, secure) in [
            ("shop.test", false),
            ("shop.test", true),
            ("API.shop.test:8443", true),
            ("cdn.test", false),
            ("www.api.shop.test", false),
        ] {
            let host = CookieHost::of(authority, secure).behind(hosts.iter());
            hosts.push(host);
        }
        let mut jar = Jar::default();
        for (host, field) in [
            (0, "a=1"),
            (1, "b=2; Secure"),
            (2, "c=3; Domain=shop.test"),
            (2, "d=4; domain=.Api.Shop.Test; secure"),
            (3, "a=5"),
        ] {
            let set = jar.set(field.as_bytes(), setter(&hosts[host], "/"));
            assert_eq!(set, Ok(()), "{field}");
        }
        for field in ["e=6; Domain=test", "e=6; Domain=api.shop.test"] {
            assert!(jar.set(field.as_bytes(), setter(&hosts[0], "/")).is_err(), "{field}");
        }
        let sent: Vec<String> = hosts.iter().map(|host| sent_to(host, &jar, "/", 11)).collect();
        assert_eq!(sent, ["a=1; c=3", "a=1; b=2; c=3", "c=3; d=4", "a=5", "c=3"]);
        // A host that sets many makes no room in what is another's.
        for number in 0..2 * COOKIES_MAX {
            jar.set(format!("n{number}=1").as_bytes(), setter(&hosts[3], "/")).expect("a cookie");
        }
        assert_eq!(sent_to(&hosts[1], &jar, "/", 11), "a=1; b=2; c=3");
        jar.set(b"a=5", setter(&hosts[3], "/")).expect("a cookie");
        // A name elsewhere is another cookie, and here this one.
        jar.set(b"a=7", setter(&hosts[1], "/")).expect("a cookie");
        assert_eq!(sent_to(&hosts[0], &jar, "/", 11), "a=7; c=3");
        assert!(sent_to(&hosts[3], &jar, "/", 11).ends_with("a=5"));
    }

    /// A server that sets cookies without end, each as long as it may be and longer.
    #[test]
    fn a_jar_takes_so_much_and_no_more() {
        let (mut own, shop) = (Jar::default(), shop());
        for number in 0..10_000 {
            let (long, path) = ("v".repeat(BYTES_MAX - 5), "p".repeat(PATH_BYTES_MAX - 1));
            let mut set = |field: String, target: &str| own.set(field.as_bytes(), setter(&shop, target));
            assert_eq!(set(format!("{number:05}={long}; Path=/{path}"), "/"), Ok(()));
            assert_eq!(set(format!("{number:05}={long}v"), "/"), Err(CookieRefusal::TooLong(BYTES_MAX)));
            let too_long = Err(CookieRefusal::TooLong(PATH_BYTES_MAX));
            assert_eq!(set(format!("{number:05}=v; Path=/{path}p"), "/"), too_long);
            assert_eq!(set(format!("{number:05}=v"), &format!("/{path}p/x")), too_long);
        }
        assert_eq!(own.cookies.len(), COOKIES_MAX);
        let bytes: usize = own.cookies.iter().map(|own| own.pair.len() + own.path().len()).sum();
        assert!(bytes <= COOKIES_MAX * (BYTES_MAX + 1 + PATH_BYTES_MAX), "{bytes}");
        assert!(own.cookies.iter().all(|own| own.path().len() == PATH_BYTES_MAX));
    }

    #[test]
    fn cookies_go_where_their_path_says() {
        let jar = jar(&[
            ("/", "a=1"),
            ("/x/y", "b=2"),
            ("/", "c=3; Path=/x/; HttpOnly; SameSite=Lax"),
            ("/x/y?z=/q", "d=4; path=no"),
            ("/", "a=5"),
        ]);
        assert_eq!(sent(&jar, "/", 11), "a=5");
        assert_eq!(sent(&jar, "/x", 11), "b=2; d=4; a=5");
        assert_eq!(sent(&jar, "/x/z?q", 11), "c=3; b=2; d=4; a=5");
        assert_eq!(sent(&jar, "/xy", 11), "a=5");
        assert_eq!(jar.value("a", at(11)), Some(&b"5"[..]));
        assert_eq!(jar.value("e", at(11)), None);
    }

    #[test]
    fn cookies_end_when_they_say() {
        let jar = jar(&[
            ("/", "a=1; Max-Age=5"),
            ("/", "b=2; Expires=Sun, 06 Nov 1994 08:49:47 GMT"),
            ("/", "c=3; Expires=Sun, 06 Nov 1994 08:49:47 GMT; Max-Age=60"),
            ("/", "d=4"),
        ]);
        assert_eq!(sent(&jar, "/", 14), "a=1; b=2; c=3; d=4");
        assert_eq!(sent(&jar, "/", 15), "b=2; c=3; d=4");
        assert_eq!(sent(&jar, "/", 20), "c=3; d=4");
        let mut jar = jar;
        let shop = shop();
        let undated = Setter { date: None, ..setter(&shop, "/") };
        for (field, setter) in [
            ("d=; Max-Age=0", setter(&shop, "/")),
            ("c=x; expires=Thu, 01-Jan-1970 00:00:00 GMT", undated),
            ("e=x; expires=Wed, 31 Dec 2025 23:59:59 GMT", undated),
        ] {
            assert_eq!(jar.set(field.as_bytes(), setter), Ok(()), "{field}");
        }
        assert_eq!(sent(&jar, "/", 11), "a=1; b=2");
    }

    #[test]
    fn what_is_no_cookie_of_ours_is_refused() {
        let refused = [
            "a",
            "=1",
            "a=1; Domain=other.org",
            "a=1; Domain=w.shop.org",
            "a=1; Secure",
            "a=\u{1}",
            "a=1; domain=hop.org",
        ];
        for field in refused {
            assert!(jar(&[("/", field)]).is_empty(), "{field}");
        }
        for field in ["a=1; Domain=shop.org", "a=1; domain=.WWW.shop.org", "a=1; Domain=", "a==; x"] {
            assert!(!jar(&[("/", field)]).is_empty(), "{field}");
        }
        assert!(
            !covers("0.0.1", "127.0.0.1")
                && covers("127.0.0.1", "127.0.0.1")
                && covers("::1", without_port("[::1]:80"))
                && !covers("org", "shop.org")
        );
    }

    #[test]
    fn a_secure_cookie_needs_a_secure_server() {
        let mut jar = Jar::default();
        let secure = CookieHost::of("www.shop.org", true);
        assert_eq!(jar.set(b"a=1; Secure", setter(&shop(), "/")), Err(CookieRefusal::NotSecure));
        assert_eq!(jar.set(b"a=1; Secure", setter(&secure, "/")), Ok(()));
        assert_eq!((sent_to(&secure, &jar, "/", 11), sent(&jar, "/", 11)), ("a=1".into(), String::new()));
        for (host, is_kept) in [
            ("localhost", true),
            ("LOCALHOST:9101", true),
            ("shop.localhost.", true),
            ("127.0.0.1:80", true),
            ("127.99.0.1", true),
            ("[::1]:443", true),
            ("localhost.example", false),
            ("192.0.2.1", false),
            ("notlocalhost", false),
        ] {
            let host_of = CookieHost::of(host, false);
            let set = Jar::default().set(b"a=1; Secure", setter(&host_of, "/"));
            assert_eq!(set.is_ok(), is_kept, "{host}");
        }
    }

    proptest! {
        /// A jar sends one `name=value` a cookie, without a byte that would end the field, whatever is set.
        #[test]
        fn any_field_leaves_a_jar_that_can_be_sent(fields in prop::collection::vec("\\PC{0,40}|[a-c]=[a-z; =]{0,9}(; (path|max-age|expires|domain)=\\PC{0,12})?", 0..80)) {
            let mut jar = Jar::default();
            for field in &fields {
                let _ = jar.set(field.as_bytes(), setter(&shop(), "/x"));
            }
            prop_assert!(jar.cookies.len() <= COOKIES_MAX);
            for pair in jar.pairs(CookieQuery { host: &shop(), target: b"/x/y", now: at(11) }) {
                prop_assert!(pair.contains(&b'=') && !pair.contains(&b';') && !pair.contains(&b'\n'));
            }
        }
    }
}
