//! The options of curl (8.x, curl(1)): which take a value, and what each has to do with a request.

/// Effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Url,
    UrlQuery,
    Method,
    Header,
    Data,
    DataRaw,
    DataBinary,
    DataUrlencode,
    Json,
    Form,
    FormString,
    Get,
    Head,
    User,
    Bearer,
    Cookie,
    CookieJar,
    Agent,
    Referer,
    Range,
    Compressed,
    Location,
    MaxRedirects,
    Insecure,
    Http(&'static str),
    ConnectTo,
    Resolve,
    Proxy,
    ProxyUser,
    UnixSocket,
    AbstractUnixSocket,
    MaxTime,
    Upload,
    Certificate,
    Key,
    CaCertificate,
    GlobOff,
    PathAsIs,
    Next,
    /// The option is about curl's output, or what is done afterwards.
    NoMatter,
    /// The request is another without it.
    Differs(&'static str),
    /// There is no request of the session's language with it.
    Refused(&'static str),
}

use Effect::{
    AbstractUnixSocket, Agent, Bearer, CaCertificate, Certificate, Compressed, ConnectTo, Cookie, CookieJar,
    Data, DataBinary, DataRaw, DataUrlencode, Differs, Form, FormString, Get, GlobOff, Head, Header, Http,
    Insecure, Json, Key, Location, MaxRedirects, MaxTime, Method, Next, NoMatter, PathAsIs, Proxy, ProxyUser,
    Range, Referer, Refused, Resolve, UnixSocket, Upload, Url, UrlQuery, User,
};

/// An option: its name, its letter, whether it takes a value, and what it does.
pub type CurlOption = (&'static str, Option<char>, bool, Effect);

const CONNECTION: Effect = Differs("without an option about connections (--connect-timeout, --interface, …)");
const HANDSHAKE: Effect = Differs("without an option about TLS (--tlsv1.2, --ciphers, …)");
const REDIRECTS: Effect = Differs("without an option about redirects (--post301, --location-trusted, …)");
const PROXY: Effect = Differs("without a proxy");
const CHALLENGE: Effect = Refused("that answers a challenge (--digest, --ntlm, --negotiate, --anyauth)");
const OTHER: Effect = Refused("of another protocol than HTTP");
const CONFIGURED: Effect = Refused("with options in another file (--config, --netrc, --variable)");

/// The options that are about a request, and those about connections.
const OPTIONS: &[CurlOption] = &[
    ("url", None, true, Url),
    ("url-query", None, true, UrlQuery),
    ("request", Some('X'), true, Method),
    ("header", Some('H'), true, Header),
    ("data", Some('d'), true, Data),
    ("data-ascii", None, true, Data),
    ("data-raw", None, true, DataRaw),
    ("data-binary", None, true, DataBinary),
    ("data-urlencode", None, true, DataUrlencode),
    ("json", None, true, Json),
    ("form", Some('F'), true, Form),
    ("form-string", None, true, FormString),
    ("get", Some('G'), false, Get),
    ("head", Some('I'), false, Head),
    ("user", Some('u'), true, User),
    ("oauth2-bearer", None, true, Bearer),
    ("cookie", Some('b'), true, Cookie),
    ("cookie-jar", Some('c'), true, CookieJar),
    ("user-agent", Some('A'), true, Agent),
    ("referer", Some('e'), true, Referer),
    ("range", Some('r'), true, Range),
    ("compressed", None, false, Compressed),
    ("location", Some('L'), false, Location),
    ("max-redirs", None, true, MaxRedirects),
    ("insecure", Some('k'), false, Insecure),
    ("http1.0", Some('0'), false, Http("1.0")),
    ("http1.1", None, false, Http("1.1")),
    ("http2", None, false, Http("2")),
    ("http2-prior-knowledge", None, false, Http("2")),
    ("http3", None, false, Http("3")),
    ("http3-only", None, false, Http("3")),
    ("connect-to", None, true, ConnectTo),
    ("resolve", None, true, Resolve),
    ("max-time", Some('m'), true, MaxTime),
    ("upload-file", Some('T'), true, Upload),
    ("cert", Some('E'), true, Certificate),
    ("key", None, true, Key),
    ("cacert", None, true, CaCertificate),
    ("globoff", Some('g'), false, GlobOff),
    ("path-as-is", None, false, PathAsIs),
    ("next", Some(':'), false, Next),
    ("location-trusted", None, false, REDIRECTS),
    ("post301", None, false, REDIRECTS),
    ("post302", None, false, REDIRECTS),
    ("post303", None, false, REDIRECTS),
    ("proto-redir", None, true, REDIRECTS),
    ("connect-timeout", None, true, CONNECTION),
    ("interface", None, true, CONNECTION),
    ("ipv4", Some('4'), false, CONNECTION),
    ("ipv6", Some('6'), false, CONNECTION),
    ("keepalive-time", None, true, CONNECTION),
    ("no-keepalive", None, false, CONNECTION),
    ("limit-rate", None, true, CONNECTION),
    ("local-port", None, true, CONNECTION),
    ("tcp-fastopen", None, false, CONNECTION),
    ("haproxy-protocol", None, false, CONNECTION),
    ("dns-interface", None, true, CONNECTION),
    ("dns-ipv4-addr", None, true, CONNECTION),
    ("dns-ipv6-addr", None, true, CONNECTION),
    ("dns-servers", None, true, CONNECTION),
    ("doh-url", None, true, CONNECTION),
    ("alt-svc", None, true, CONNECTION),
    ("hsts", None, true, CONNECTION),
    ("speed-limit", Some('Y'), true, CONNECTION),
    ("speed-time", Some('y'), true, CONNECTION),
    ("expect100-timeout", None, true, CONNECTION),
    ("unix-socket", None, true, UnixSocket),
    ("abstract-unix-socket", None, true, AbstractUnixSocket),
    ("tlsv1", Some('1'), false, HANDSHAKE),
    ("tlsv1.0", None, false, HANDSHAKE),
    ("tlsv1.1", None, false, HANDSHAKE),
    ("tlsv1.2", None, false, HANDSHAKE),
    ("tlsv1.3", None, false, HANDSHAKE),
    ("tls-max", None, true, HANDSHAKE),
    ("tls13-ciphers", None, true, HANDSHAKE),
    ("ciphers", None, true, HANDSHAKE),
    ("curves", None, true, HANDSHAKE),
    ("capath", None, true, HANDSHAKE),
    ("cert-type", None, true, HANDSHAKE),
    ("key-type", None, true, HANDSHAKE),
    ("pass", None, true, HANDSHAKE),
    ("pinnedpubkey", None, true, HANDSHAKE),
    ("crlfile", None, true, HANDSHAKE),
    ("cert-status", None, false, HANDSHAKE),
    ("no-alpn", None, false, HANDSHAKE),
    ("no-sessionid", None, false, HANDSHAKE),
    ("ssl-allow-beast", None, false, HANDSHAKE),
    ("ssl-no-revoke", None, false, HANDSHAKE),
    ("false-start", None, false, HANDSHAKE),
    ("ssl", None, false, HANDSHAKE),
    ("ssl-reqd", None, false, HANDSHAKE),
    ("proxy", Some('x'), true, Proxy),
    ("preproxy", None, true, PROXY),
    ("proxy1.0", None, true, PROXY),
    ("proxy-user", Some('U'), true, ProxyUser),
    ("proxy-header", None, true, PROXY),
    ("proxy-insecure", None, false, PROXY),
    ("proxy-cacert", None, true, PROXY),
    ("proxy-anyauth", None, false, PROXY),
    ("proxy-basic", None, false, NoMatter),
    ("proxytunnel", Some('p'), false, PROXY),
    ("socks4", None, true, PROXY),
    ("socks4a", None, true, PROXY),
    ("socks5", None, true, PROXY),
    ("socks5-hostname", None, true, PROXY),
    ("digest", None, false, CHALLENGE),
    ("ntlm", None, false, CHALLENGE),
    ("negotiate", None, false, CHALLENGE),
    ("anyauth", None, false, CHALLENGE),
    ("aws-sigv4", None, true, Refused("that is signed anew each time (--aws-sigv4)")),
    ("config", Some('K'), true, CONFIGURED),
    ("netrc", Some('n'), false, CONFIGURED),
    ("netrc-file", None, true, CONFIGURED),
    ("netrc-optional", None, false, CONFIGURED),
    ("variable", None, true, CONFIGURED),
    ("request-target", None, true, Refused("with a target of its own (--request-target)")),
    (
        "time-cond",
        Some('z'),
        true,
        Refused("that depends on the time of a file (--time-cond, --etag-compare)"),
    ),
    ("etag-compare", None, true, Refused("that depends on the time of a file (--time-cond, --etag-compare)")),
    ("continue-at", Some('C'), true, Refused("that goes on with a transfer (--continue-at)")),
    ("mail-from", None, true, OTHER),
    ("mail-rcpt", None, true, OTHER),
    ("quote", Some('Q'), true, OTHER),
    ("telnet-option", Some('t'), true, OTHER),
    ("list-only", Some('l'), false, OTHER),
    ("append", Some('a'), false, OTHER),
    ("ftp-port", Some('P'), true, OTHER),
    ("crlf", None, false, Refused("whose body curl would convert (--crlf, --use-ascii)")),
    ("use-ascii", Some('B'), false, Refused("whose body curl would convert (--crlf, --use-ascii)")),
];

/// Options of no matter for a request: names, letters, whether they take a value.
const NO_MATTER: &[(&str, Option<char>, bool)] = &[
    ("basic", None, false),
    ("junk-session-cookies", Some('j'), false),
    ("create-dirs", None, false),
    ("disable", Some('q'), false),
    ("dump-header", Some('D'), true),
    ("etag-save", None, true),
    ("fail", Some('f'), false),
    ("fail-early", None, false),
    ("fail-with-body", None, false),
    ("form-escape", None, false),
    ("ignore-content-length", None, false),
    ("include", Some('i'), false),
    ("show-headers", None, false),
    ("http0.9", None, false),
    ("libcurl", None, true),
    ("max-filesize", None, true),
    ("no-buffer", Some('N'), false),
    ("no-clobber", None, false),
    ("no-progress-meter", None, false),
    ("output", Some('o'), true),
    ("output-dir", None, true),
    ("parallel", Some('Z'), false),
    ("parallel-immediate", None, false),
    ("parallel-max", None, true),
    ("progress-bar", Some('#'), false),
    ("proto", None, true),
    ("proto-default", None, true),
    ("rate", None, true),
    ("raw", None, false),
    ("remote-header-name", Some('J'), false),
    ("remote-name", Some('O'), false),
    ("remote-name-all", None, false),
    ("remote-time", Some('R'), false),
    ("remove-on-error", None, false),
    ("retry", None, true),
    ("retry-all-errors", None, false),
    ("retry-connrefused", None, false),
    ("retry-delay", None, true),
    ("retry-max-time", None, true),
    ("show-error", Some('S'), false),
    ("silent", Some('s'), false),
    ("skip-existing", None, false),
    ("stderr", None, true),
    ("styled-output", None, false),
    ("suppress-connect-headers", None, false),
    ("tcp-nodelay", None, false),
    ("trace", None, true),
    ("trace-ascii", None, true),
    ("trace-config", None, true),
    ("trace-ids", None, false),
    ("trace-time", None, false),
    ("verbose", Some('v'), false),
    ("write-out", Some('w'), true),
    ("xattr", None, false),
    ("noproxy", None, true),
];

/// The option of this name, or of the names that it begins alone.
pub fn long(name: &str) -> Option<CurlOption> {
    let all = || {
        let of_no_matter = NO_MATTER.iter().map(|(name, letter, takes)| (*name, *letter, *takes, NoMatter));
        OPTIONS.iter().copied().chain(of_no_matter)
    };
    let exact = all().find(|(own, ..)| *own == name);
    exact.or_else(|| {
        let mut begun = all().filter(|(own, ..)| name.len() > 2 && own.starts_with(name));
        let first = begun.next()?;
        begun.next().is_none().then_some(first)
    })
}

/// The option of this letter.
pub fn short(letter: char) -> Option<CurlOption> {
    let of_letter = OPTIONS.iter().copied().find(|(_, own, ..)| *own == Some(letter));
    of_letter.or_else(|| {
        let (name, own, takes) = NO_MATTER.iter().find(|(_, own, _)| *own == Some(letter))?;
        Some((name, *own, *takes, NoMatter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_letters_are_unique() {
        let names = OPTIONS.iter().map(|known| (known.0, known.1));
        let all: Vec<_> = names.chain(NO_MATTER.iter().map(|known| (known.0, known.1))).collect();
        assert_eq!(all.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), all.len());
        let letters: Vec<char> = all.iter().filter_map(|(_, letter)| *letter).collect();
        assert_eq!(letters.iter().collect::<BTreeSet<_>>().len(), letters.len());
        assert_eq!(long("locat").map(|known| known.3), None, "two begin so");
        assert_eq!(long("compres").map(|known| known.3), Some(Compressed));
        assert_eq!(short('s').map(|known| known.3), Some(NoMatter));
        assert_eq!((long("nothing"), short('%')), (None, None));
    }
}
