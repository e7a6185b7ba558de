//! The bytes of every request of the scenario, encoded once before the run.

use bytes::Bytes;
use farfield_http::http1::{Answering, RequestError, RequestHead, Version};
use farfield_traffic::request::RequestSet;

/// The server that requests are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Host field: name or address, with the port where it is not the scheme's own.
    pub host: String,
    /// The version that requests announce.
    pub version: Version,
    /// The Authorization field of requests that say none of their own.
    pub authorization: Option<String>,
    /// Whether the scheme is https.
    pub secure: bool,
}

impl Target {
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
}

/// One request: its bytes, and what may answer it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Sent where more may follow on the connection.
    pub persistent: Bytes,
    /// Sent where the policy allows no further request on the connection.
    pub last: Bytes,
    pub answering: Answering,
    /// Whether the request may be sent twice (RFC 9110 section 9.2.2); any other is never repeated.
    pub idempotent: bool,
}

impl Book {
    /// Encodes all of `set` for `target`. Refuses a request that cannot be written as HTTP.
    pub fn encode(set: &RequestSet, target: &Target) -> Result<Book, RequestError> {
        let mut entries = Vec::with_capacity(set.requests().len());
        for request in set.requests() {
            let headers = request.headers.iter().map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            });
            let mut headers: Vec<(String, String)> = headers.collect();
            headers
                .extend(target.authorization_beside(request.headers.iter().map(|(name, _)| name.as_str())));
            let carries_body =
                !request.body.is_empty() || ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
            let encode = |persistent| {
                let head = RequestHead {
                    method: request.method.as_str(),
                    target: &request.path,
                    host: &target.host,
                    version: target.version,
                    persistent,
                    headers: &headers,
                    body_length: carries_body.then_some(request.body.len() as u64),
                };
                let mut bytes = head.encode()?;
                bytes.extend_from_slice(&request.body);
                Ok::<_, RequestError>(Bytes::from(bytes))
            };
            entries.push(Entry {
                persistent: encode(true)?,
                last: encode(false)?,
                answering: Answering::method(request.method.as_str()),
                idempotent: request.method.is_idempotent(),
            });
        }
        Ok(Book { entries })
    }

    /// A copy in memory of its own, so that workers do not meet on reference counts.
    pub fn for_worker(&self) -> Book {
        let own = |entry: &Entry| Entry {
            persistent: Bytes::copy_from_slice(&entry.persistent),
            last: Bytes::copy_from_slice(&entry.last),
            ..entry.clone()
        };
        Book { entries: self.entries.iter().map(own).collect() }
    }

    /// The bytes of a request, for a connection that is kept or not.
    pub(crate) fn bytes(&self, request: u32, persistent: bool) -> &Bytes {
        let entry = self.entry(request);
        if persistent { &entry.persistent } else { &entry.last }
    }

    pub(crate) fn entry(&self, request: u32) -> &Entry {
        &self.entries[request as usize]
    }
}
