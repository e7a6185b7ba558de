//! The bytes of every request of the scenario, encoded once before the run.

use crate::expect::{check_expectation, is_expectation};
use crate::target::{self, HostName, Target};
use bytes::Bytes;
use farfield_base::{HostNumber, SpokenVersion};
use farfield_http::http1::{Answering, RequestError, RequestHead, Version};
use farfield_http::http2::{self, CommonFields, RequestBlock};
use farfield_http::http3;
use farfield_traffic::request::{Request, RequestSet};
use std::borrow::Cow;
use std::sync::Arc;

/// Encoded requests, by number.
#[derive(Debug, Clone)]
pub struct Book {
    entries: Vec<BookEntry>,
    hosts: Arc<[HostName]>,
}

/// One request: its bytes, and what may answer it.
#[derive(Debug, Clone)]
pub(crate) struct BookEntry {
    pub host: HostNumber,
    forms: Forms,
    pub answering: Answering,
    /// The bytes at its end that wait for the server's word, if it asks for that.
    pub expecting_bytes: u32,
    /// The request may be sent twice (RFC 9110 section 9.2.2); any other is never repeated.
    pub idempotent: bool,
    /// The request asks for no change (RFC 9110 section 9.2.1).
    pub safe: bool,
}

/// The bytes of a request, for each version that may be spoken.
#[derive(Debug, Clone, Default)]
struct Forms {
    http1: Option<Http1Request>,
    http2: Option<Box<Http2Request>>,
    /// Bytes of a stream of HTTP/3.
    http3: Option<Bytes>,
}

/// A request for a connection of HTTP/1.
#[derive(Debug, Clone)]
struct Http1Request {
    /// Sent where more may follow on the connection.
    persistent: Bytes,
    /// Sent where the policy allows no further request on the connection.
    last: Bytes,
}

/// A request for a stream of HTTP/2.
#[derive(Debug, Clone)]
pub(crate) struct Http2Request {
    pub block: RequestBlock,
    pub body: Bytes,
}

impl Book {
    /// Encodes all of `set` for its hosts: a path for the target, the first of `targets`, and a URL for that
    /// of them which it is of.
    ///
    /// # Errors
    /// A request that cannot be written as HTTP of its host's version, or is of none of the hosts.
    pub fn encode(set: &RequestSet, targets: &[Target]) -> Result<Book, RequestError> {
        let hosts = HostName::of_all(targets);
        let placed = set.requests().iter().map(|request| PlacedRequest::of(request, &hosts, targets));
        let placed = placed.collect::<Result<Vec<PlacedRequest<'_>>, RequestError>>()?;
        for own in &placed {
            check_expectation(&own.headers, !own.request.body.is_empty())?;
        }
        // Connections lead to one host each, and so do the fields that their requests have in common.
        let common = |host: usize| {
            let own = placed.iter().filter(|own| own.host.index() == host);
            let heads: Vec<_> = match hosts[host].version.may_have_streams() {
                true => own.map(PlacedRequest::head_for_streams).collect(),
                false => Vec::new(),
            };
            CommonFields::of(&heads)
        };
        let common = (0..hosts.len()).map(common).collect::<Result<Vec<_>, _>>()?;
        let entry = |own: &PlacedRequest<'_>| {
            Ok(BookEntry {
                host: own.host,
                forms: own.forms(&common[own.host.index()])?,
                answering: Answering::method(own.request.method.as_str()),
                expecting_bytes: expecting_bytes(own.request),
                idempotent: own.request.method.is_idempotent(),
                safe: own.request.method.is_safe(),
            })
        };
        let entries = placed.iter().map(entry).collect::<Result<Vec<BookEntry>, RequestError>>()?;
        Ok(Book { entries, hosts })
    }

    /// A copy in memory of its own, so that workers do not meet on reference counts.
    pub fn for_worker(&self) -> Book {
        let own = |entry: &BookEntry| {
            let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
            let http1 = |own: &Http1Request| {
                let (persistent, last) = (copy(&own.persistent), copy(&own.last));
                Http1Request { persistent, last }
            };
            // The blocks are read only where they are; a connection keeps a handle of the body.
            let http2 = |own: &Http2Request| {
                let (block, body) = (own.block.clone(), copy(&own.body));
                Box::new(Http2Request { block, body })
            };
            let forms = Forms {
                http1: entry.forms.http1.as_ref().map(http1),
                http2: entry.forms.http2.as_deref().map(http2),
                http3: entry.forms.http3.as_ref().map(copy),
            };
            BookEntry { forms, ..entry.clone() }
        };
        let entries = self.entries.iter().map(own).collect();
        Book { entries, hosts: Arc::clone(&self.hosts) }
    }

    /// The hosts that requests are for, by number.
    pub(crate) fn hosts(&self) -> &[HostName] {
        &self.hosts
    }

    /// The bytes of a request of HTTP/1, for a connection that is kept or not.
    pub(crate) fn bytes(&self, request: u32, persistent: bool) -> &Bytes {
        let own = self.entry(request).forms.http1.as_ref().expect("connections of HTTP/1 are planned for");
        if persistent { &own.persistent } else { &own.last }
    }

    /// A request for a stream of HTTP/2.
    pub(crate) fn http2(&self, request: u32) -> &Http2Request {
        self.entry(request).forms.http2.as_ref().expect("connections of HTTP/2 are planned for")
    }

    /// Bytes of a stream of HTTP/3 for a request.
    pub(crate) fn http3(&self, request: u32) -> &Bytes {
        self.entry(request).forms.http3.as_ref().expect("connections of HTTP/3 are planned for")
    }

    pub(crate) fn entry(&self, request: u32) -> &BookEntry {
        &self.entries[request as usize]
    }
}

/// A request at its host.
#[derive(Debug)]
struct PlacedRequest<'a> {
    request: &'a Request,
    host: HostNumber,
    target: &'a Target,
    /// The path there.
    path: Cow<'a, str>,
    /// The fields that are its own or the target's.
    headers: Vec<(String, String)>,
}

impl<'a> PlacedRequest<'a> {
    fn of(
        request: &'a Request,
        hosts: &[HostName],
        targets: &'a [Target],
    ) -> Result<PlacedRequest<'a>, RequestError> {
        let (host, path) =
            target::place(hosts, &request.path).ok_or_else(|| RequestError::Target(request.path.clone()))?;
        let target = &targets[host.index()];
        let own = request.headers.iter();
        let mut headers: Vec<(String, String)> = own
            .clone()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        headers.extend(target.credentials_beside(own.map(|(name, _)| name.as_str())));
        Ok(PlacedRequest { request, host, target, path, headers })
    }

    /// Encodes the request for each version that may be spoken.
    fn forms(&self, common: &CommonFields) -> Result<Forms, RequestError> {
        let http1 = |version| {
            let encode = |persistent| self.http1_bytes(version, persistent);
            Ok::<_, RequestError>(Http1Request { persistent: encode(true)?, last: encode(false)? })
        };
        let http2 = || {
            let body = Bytes::copy_from_slice(&self.request.body);
            let block = self.head_for_streams().encode(common)?;
            Ok::<_, RequestError>(Box::new(Http2Request { block, body }))
        };
        let http3 = || http3::encode_request(&self.head_for_streams(), &self.request.body);
        let version = self.target.version;
        Ok(Forms {
            http1: version.of_http1().map(http1).transpose()?,
            http2: version.may_be(SpokenVersion::Http2).then(http2).transpose()?,
            http3: version.may_be(SpokenVersion::Http3).then(http3).transpose()?,
        })
    }

    /// Bytes of the body, if the request has one or its method is expected to have one.
    fn body_length(&self) -> Option<u64> {
        let Request { method, body, .. } = self.request;
        let carries_body = !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method.as_str());
        carries_body.then_some(body.len() as u64)
    }

    /// Head and body in HTTP/1.
    fn http1_bytes(&self, version: Version, persistent: bool) -> Result<Bytes, RequestError> {
        let method = self.request.method.as_str();
        let head = RequestHead {
            method,
            target: &self.path,
            host: &self.target.host,
            version,
            persistent,
            headers: &self.headers,
            body_length: self.body_length(),
        };
        let mut bytes = head.encode()?;
        if let Some(prefix) = self.target.absolute_prefix() {
            let from = method.len() + 1;
            // OPTIONS about the server as a whole has no path in this form (RFC 9112 section 3.2.4).
            let to = from + usize::from(*self.path == *"*");
            bytes.splice(from..to, prefix.into_bytes());
        }
        bytes.extend_from_slice(&self.request.body);
        Ok(Bytes::from(bytes))
    }

    fn head_for_streams(&self) -> http2::RequestHead<'_> {
        http2::RequestHead {
            method: self.request.method.as_str(),
            scheme: self.target.scheme(),
            authority: &self.target.host,
            target: &self.path,
            headers: &self.headers,
            body_length: self.body_length(),
        }
    }
}

/// Bytes of the body, if the request asks for the server's word before them.
fn expecting_bytes(request: &Request) -> u32 {
    let mut headers = request.headers.iter();
    let expects = headers.any(|(name, value)| is_expectation(name.as_str().as_bytes(), value.as_bytes()));
    if expects { u32::try_from(request.body.len()).unwrap_or(u32::MAX) } else { 0 }
}
