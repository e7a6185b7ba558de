//! The bytes of every request of the scenario, encoded once before the run.

use bytes::Bytes;
use farfield_http::http1::{Answering, RequestError, RequestHead, Version};
use farfield_http::http2::{self, CommonFields, RequestBlock};
use farfield_http::http3;
use farfield_traffic::request::{Request, RequestSet};

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2: over TLS as ALPN agrees (RFC 9113 section 3.2), else by prior knowledge (section 3.3).
    Http2,
    /// HTTP/3, over QUIC (RFC 9114).
    Http3,
}

impl HttpVersion {
    /// The version of HTTP/1 that heads announce, if it is one.
    pub(crate) fn of_http1(self) -> Option<Version> {
        match self {
            HttpVersion::Http10 => Some(Version::Http10),
            HttpVersion::Http11 => Some(Version::Http11),
            HttpVersion::Http2 | HttpVersion::Http3 => None,
        }
    }

    /// The version as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            HttpVersion::Http10 => Version::Http10.name(),
            HttpVersion::Http11 => Version::Http11.name(),
            HttpVersion::Http2 => "HTTP/2",
            HttpVersion::Http3 => "HTTP/3",
        }
    }
}

/// The server that requests are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Host field: name or address, with the port where it is not the scheme's own.
    pub host: String,
    /// The version that is spoken.
    pub version: HttpVersion,
    /// The Authorization field of requests that say none of their own.
    pub authorization: Option<String>,
    /// Whether the scheme is https.
    pub secure: bool,
}

impl Target {
    /// The scheme's name.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// The line that a request with `own` fields gets beside these.
    pub(crate) fn authorization_beside<'a>(
        &self,
        own: impl IntoIterator<Item = &'a str>,
    ) -> Option<(String, String)> {
        let said = own.into_iter().any(|name| name.eq_ignore_ascii_case("authorization"));
        self.authorization.clone().filter(|_| !said).map(|value| ("Authorization".to_owned(), value))
    }
}

/// Encoded requests, by number.
#[derive(Debug, Clone)]
pub struct Book {
    entries: Vec<Entry>,
    version: HttpVersion,
}

/// One request: its bytes, and what may answer it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    form: Form,
    pub answering: Answering,
    /// Whether the request may be sent twice (RFC 9110 section 9.2.2); any other is never repeated.
    pub idempotent: bool,
    /// Whether the request asks for no change (RFC 9110 section 9.2.1).
    pub safe: bool,
}

/// The bytes of a request.
#[derive(Debug, Clone)]
enum Form {
    Http1 {
        /// Sent where more may follow on the connection.
        persistent: Bytes,
        /// Sent where the policy allows no further request on the connection.
        last: Bytes,
    },
    Http2(Box<Http2Request>),
    /// What a stream of HTTP/3 carries.
    Http3(Bytes),
}

/// A request for a stream of HTTP/2.
#[derive(Debug, Clone)]
pub(crate) struct Http2Request {
    pub block: RequestBlock,
    pub body: Bytes,
}

impl Book {
    /// Encodes all of `set` for `target`.
    ///
    /// # Errors
    /// A request that cannot be written as HTTP of the target's version.
    pub fn encode(set: &RequestSet, target: &Target) -> Result<Book, RequestError> {
        let headers: Vec<_> = set.requests().iter().map(|request| headers(request, target)).collect();
        let requests = || set.requests().iter().zip(&headers);
        let forms: Vec<Form> = match target.version.of_http1() {
            Some(version) => {
                let form = |(request, headers): (&Request, &Vec<_>)| {
                    let encode = |persistent| http1_bytes(request, headers, target, version, persistent);
                    Ok(Form::Http1 { persistent: encode(true)?, last: encode(false)? })
                };
                requests().map(form).collect::<Result<_, RequestError>>()?
            }
            None if target.version == HttpVersion::Http3 => {
                let form = |(request, headers): (&Request, &Vec<_>)| {
                    let head = head_for_streams(request, headers, target);
                    http3::encode_request(&head, &request.body).map(Form::Http3)
                };
                requests().map(form).collect::<Result<_, RequestError>>()?
            }
            None => {
                let heads: Vec<_> =
                    requests().map(|(request, headers)| head_for_streams(request, headers, target)).collect();
                let common = CommonFields::of(&heads)?;
                let form = |(request, head): (&Request, &http2::RequestHead<'_>)| {
                    let body = Bytes::copy_from_slice(&request.body);
                    Ok(Form::Http2(Http2Request { block: head.encode(&common)?, body }.into()))
                };
                set.requests().iter().zip(&heads).map(form).collect::<Result<_, RequestError>>()?
            }
        };
        let entry = |(request, form): (&Request, Form)| Entry {
            form,
            answering: Answering::method(request.method.as_str()),
            idempotent: request.method.is_idempotent(),
            safe: request.method.is_safe(),
        };
        let entries = set.requests().iter().zip(forms).map(entry).collect();
        Ok(Book { entries, version: target.version })
    }

    /// A copy in memory of its own, so that workers do not meet on reference counts.
    pub fn for_worker(&self) -> Book {
        let own = |entry: &Entry| {
            let form = match &entry.form {
                Form::Http1 { persistent, last } => Form::Http1 {
                    persistent: Bytes::copy_from_slice(persistent),
                    last: Bytes::copy_from_slice(last),
                },
                // The blocks are read only where they are; a connection keeps a handle of the body.
                Form::Http2(request) => {
                    let body = Bytes::copy_from_slice(&request.body);
                    Form::Http2(Http2Request { block: request.block.clone(), body }.into())
                }
                Form::Http3(bytes) => Form::Http3(Bytes::copy_from_slice(bytes)),
            };
            Entry { form, ..entry.clone() }
        };
        Book { entries: self.entries.iter().map(own).collect(), version: self.version }
    }

    /// The version that the requests are encoded for.
    pub(crate) fn version(&self) -> HttpVersion {
        self.version
    }

    /// The bytes of a request of HTTP/1, for a connection that is kept or not, or of HTTP/3, for a stream.
    pub(crate) fn bytes(&self, request: u32, persistent: bool) -> &Bytes {
        match &self.entry(request).form {
            Form::Http1 { persistent: bytes, .. } if persistent => bytes,
            Form::Http1 { last, .. } => last,
            Form::Http3(bytes) => bytes,
            Form::Http2(_) => unreachable!("connections of HTTP/2 send blocks"),
        }
    }

    /// A request for a stream of HTTP/2.
    pub(crate) fn http2(&self, request: u32) -> &Http2Request {
        match &self.entry(request).form {
            Form::Http2(request) => request,
            Form::Http1 { .. } | Form::Http3(_) => unreachable!("other connections send bytes"),
        }
    }

    pub(crate) fn entry(&self, request: u32) -> &Entry {
        &self.entries[request as usize]
    }
}

/// The fields of a request that are its own or the target's.
fn headers(request: &Request, target: &Target) -> Vec<(String, String)> {
    let own = request.headers.iter();
    let mut headers: Vec<(String, String)> = own
        .clone()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    headers.extend(target.authorization_beside(own.map(|(name, _)| name.as_str())));
    headers
}

/// Bytes of the body, if the request has one or its method is expected to have one.
fn body_length(request: &Request) -> Option<u64> {
    let carries_body =
        !request.body.is_empty() || ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
    carries_body.then_some(request.body.len() as u64)
}

/// Head and body in HTTP/1.
fn http1_bytes(
    request: &Request,
    headers: &[(String, String)],
    target: &Target,
    version: Version,
    persistent: bool,
) -> Result<Bytes, RequestError> {
    let head = RequestHead {
        method: request.method.as_str(),
        target: &request.path,
        host: &target.host,
        version,
        persistent,
        headers,
        body_length: body_length(request),
    };
    let mut bytes = head.encode()?;
    bytes.extend_from_slice(&request.body);
    Ok(Bytes::from(bytes))
}

fn head_for_streams<'a>(
    request: &'a Request,
    headers: &'a [(String, String)],
    target: &'a Target,
) -> http2::RequestHead<'a> {
    http2::RequestHead {
        method: request.method.as_str(),
        scheme: target.scheme(),
        authority: &target.host,
        target: &request.path,
        headers,
        body_length: body_length(request),
    }
}
