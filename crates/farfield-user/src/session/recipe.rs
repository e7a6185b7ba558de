//! Requests of states as far as they are the same each time, and the parts that all requests for a host have:
//! both are encoded before the run.

use crate::expect::check_expectation;
use crate::target::{self, HostName, Target};
use crate::version::HttpVersion;
use farfield_base::HostNumber;
use farfield_http::http1::{RequestError, RequestHead, Version};
use farfield_http::http2::{self, CommonFields};
use farfield_traffic::session::websocket::SocketStep;
use farfield_traffic::session::{SessionState, Text, TextPiece};
use http::Method;

/// A state's request, as far as it is the same each time.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub method: Method,
    /// The part of a WebSocket's life that the state is, if it is one.
    pub websocket: Option<SocketStep>,
    /// The host of a path that does not begin with a value.
    pub host: HostNumber,
    pub path: Option<Text>,
    /// The target, where it is the same each time.
    pub fixed_path: Option<Box<str>>,
    /// The lines that are the same each time, for each host.
    pub lines: Box<[Box<[u8]>]>,
    /// Lines that are the same each time, less the state's own credentials, for a host that a page leads to.
    pub led_lines: Box<[Box<[u8]>]>,
    /// The others, each with `name: `, and whether it is a credential.
    pub fields: Vec<(Box<[u8]>, Text, bool)>,
    /// The state writes its own Cookie field.
    pub own_cookies: bool,
    pub own: OwnFields,
    pub body: Option<Text>,
    /// Objects that are fetched with the page.
    pub embedded: Box<[(HostNumber, Box<str>)]>,
}

/// Fields that a state writes itself, among those that are written beside its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnFields {
    pub encoding: bool,
    pub language: bool,
    pub referer: bool,
    pub content_type: bool,
}

impl OwnFields {
    fn of(state: &SessionState) -> OwnFields {
        let has = |name: &str| state.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        OwnFields {
            encoding: has("accept-encoding"),
            language: has("accept-language"),
            referer: has("referer"),
            content_type: has("content-type"),
        }
    }
}

/// True if a field is for the host that it was written for and no other.
fn is_for_one_host(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

impl Recipe {
    /// True if a page says where the request goes: its path begins with a value, or a form has it.
    pub fn is_led(&self) -> bool {
        match &self.path {
            Some(path) => matches!(path.0.first(), Some(TextPiece::Value(..))),
            None => true,
        }
    }

    /// A state's request, which is for one of `targets`, or for any where its path begins with a value.
    /// Refuses what cannot be written as HTTP.
    pub fn of(state: &SessionState, hosts: &[HostName], targets: &[Target]) -> Result<Recipe, RequestError> {
        let (host, path) = match &state.path {
            Some(path) => {
                let (host, path) = placed(path, hosts)?;
                (host, Some(path))
            }
            None => (HostNumber::TARGET, None),
        };
        let embedded = state.embedded.iter().map(|url| {
            let (host, path) = target::place(hosts, url).ok_or_else(|| RequestError::Target(url.clone()))?;
            Ok((host, path.as_ref().into()))
        });
        let fixed = |(name, text): &(String, Text)| Some((name.clone(), text.constant()?.to_owned()));
        let constant: Vec<(String, String)> = state.headers.iter().filter_map(fixed).collect();
        let varying =
            |(name, text): &(String, Text)| text.constant().is_none().then(|| (name.clone(), text.clone()));
        let varying: Vec<(String, Text)> = state.headers.iter().filter_map(varying).collect();
        check_expectation(&constant, state.body.is_some() || state.form.is_some())?;
        let lines = targets.iter().map(|target| common_lines(target, &constant, &varying));
        let lines = lines.collect::<Result<_, RequestError>>()?;
        let led: Vec<_> = constant.iter().filter(|(name, _)| !is_for_one_host(name)).cloned().collect();
        let led_lines = targets.iter().map(|target| common_lines(target, &led, &varying));
        let led_lines = led_lines.collect::<Result<_, RequestError>>()?;
        let target = &targets[host.index()];
        // The method is checked with a path that is none of its business.
        RequestHead {
            method: state.method.as_str(),
            target: "/",
            host: &target.host,
            version: target.version.of_http1().unwrap_or(Version::Http11),
            persistent: true,
            headers: &[],
            body_length: None,
        }
        .encode()?;
        Ok(Recipe {
            method: state.method.clone(),
            websocket: state.websocket,
            host,
            fixed_path: path.as_ref().and_then(Text::constant).map(Box::from),
            path,
            lines,
            led_lines,
            embedded: embedded.collect::<Result<_, RequestError>>()?,
            fields: varying
                .into_iter()
                .map(|(name, text)| {
                    let is_credential = is_for_one_host(&name);
                    (format!("{name}: ").into_bytes().into(), text, is_credential)
                })
                .collect(),
            own: OwnFields::of(state),
            own_cookies: state.headers.iter().any(|(name, _)| name == "cookie"),
            body: state.body.clone(),
        })
    }
}

/// The parts that all requests for a host have.
#[derive(Debug)]
pub(super) struct HostForm {
    pub version: HttpVersion,
    /// Before the target of every request: scheme and host, in absolute form.
    pub prefix: Box<str>,
    /// The lines of a request without fields of its own.
    pub lines: Box<[u8]>,
    /// The Host field, and those of them that are credentials.
    pub own_lines: Box<[u8]>,
}

impl HostForm {
    pub fn of(target: &Target) -> Result<HostForm, RequestError> {
        let credentials = target.credentials_beside(std::iter::empty());
        let own_lines = [("Host".to_owned(), target.host.clone())].into_iter().chain(credentials);
        let own_lines: String = own_lines.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Ok(HostForm {
            version: target.version,
            prefix: target.absolute_prefix().unwrap_or_default().into(),
            lines: common_lines(target, &[], &[])?,
            own_lines: own_lines.into_bytes().into(),
        })
    }
}

/// The host of a path, and the path there: a URL is of the host that it begins with, and all else of the
/// target, but for what begins with a value.
fn placed(path: &Text, hosts: &[HostName]) -> Result<(HostNumber, Text), RequestError> {
    let Some(TextPiece::Plain(first)) = path.0.first() else { return Ok((HostNumber::TARGET, path.clone())) };
    let (number, rest) =
        target::place(hosts, first).ok_or_else(|| RequestError::Target(first.to_string()))?;
    let mut path = path.clone();
    path.0[0] = TextPiece::Plain(rest.as_ref().into());
    Ok((number, path))
}

/// The lines that every request has, and those of `constant`: Host, User-Agent and Accept are left to a field
/// of `varying` that has their name.
fn common_lines(
    target: &Target,
    constant: &[(String, String)],
    varying: &[(String, Text)],
) -> Result<Box<[u8]>, RequestError> {
    let own = constant.iter().map(|(name, _)| name).chain(varying.iter().map(|(name, _)| name));
    let credentials = target.credentials_beside(own.map(String::as_str));
    let constant: Vec<(String, String)> = constant.iter().cloned().chain(credentials).collect();
    if target.version.may_have_streams() {
        let varying = varying.iter().map(|(name, _)| (name.clone(), String::new()));
        check_for_http2(target, &constant.iter().cloned().chain(varying).collect::<Vec<_>>())?;
    }
    let version = target.version.of_http1().unwrap_or(Version::Http11);
    let head = RequestHead {
        method: "GET",
        target: "/",
        host: &target.host,
        version,
        // Its version's default, so that no word is said about it.
        persistent: version == Version::Http11,
        headers: &constant,
        body_length: None,
    };
    let encoded = head.encode()?;
    let lines = encoded.split_inclusive(|byte| *byte == b'\n').skip(1).filter(|line| *line != b"\r\n");
    let left_out = |line: &&[u8]| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        varying.iter().any(|(varying, _)| varying.as_bytes().eq_ignore_ascii_case(name))
    };
    Ok(lines.filter(|line| !left_out(line)).flatten().copied().collect())
}

/// Refuses fields that HTTP/2 and HTTP/3 have no place for.
fn check_for_http2(target: &Target, headers: &[(String, String)]) -> Result<(), RequestError> {
    let head = http2::RequestHead {
        method: "GET",
        scheme: target.scheme(),
        authority: &target.host,
        target: "/",
        headers,
        body_length: None,
    };
    head.encode(&CommonFields::default()).map(|_| ())
}
