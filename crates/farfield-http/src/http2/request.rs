//! The writer of requests: a head becomes header blocks once, ahead of time, and is then sent any number of
//! times, on any connection.
//!
//! The fields that all requests of a run have in common ([`CommonFields`]) go into the server's dynamic table
//! with a connection's first request; later ones name them by their index. Nothing else is inserted, so that
//! each request has three blocks, and a connection's state says which to send. Credentials are never
//! inserted (RFC 7541, 7.1.3).

use super::head::is_of_http1;
use super::hpack::encoder::{self, Literal};
use super::hpack::{DEFAULT_TABLE_BYTES, ENTRY_OVERHEAD_BYTES};
use crate::http1::{self, Answering, RequestError, Version};
use bytes::Bytes;
use smallvec::SmallVec;

/// The index of the dynamic table's newest entry (RFC 7541, 2.3.3).
const NEWEST: u32 = 62;

/// The head of a request.
#[derive(Debug, Clone)]
pub struct RequestHead<'a> {
    /// The method, case-sensitive (RFC 9110, 9.1).
    pub method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host and, if it is not the scheme's own, `:port`.
    pub authority: &'a str,
    /// Path and query as they are to be sent, percent-encoded, or `*` for OPTIONS.
    pub target: &'a str,
    /// More fields, in this order; names are sent in lower case. A Host, User-Agent or Accept here replaces
    /// the one that would be sent.
    pub headers: &'a [(String, String)],
    /// Bytes of body that will follow; none if the request has no body.
    pub body_length: Option<u64>,
}

/// A request's header blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBlock {
    /// Inserts the common fields in the server's table.
    pub(super) first: Bytes,
    /// Names the common fields by their index.
    pub(super) later: Bytes,
    /// Leaves the table alone.
    pub(super) plain: Bytes,
    /// Bytes of the common fields in the table; 0 if there are none, and the blocks are all equal.
    pub(super) common_bytes: u32,
    /// The mark of these common fields: requests of two sets may meet on a connection.
    pub(super) common_mark: u64,
    pub(super) answering: Answering,
    /// Bytes of the body that must follow.
    pub(super) body_bytes: u64,
}

/// The fields that all requests of a run have in common, in the order of their insertion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonFields {
    fields: Vec<Field>,
    /// Bytes of theirs in a table (RFC 7541, 4.1).
    table_bytes: u32,
}

/// Name and value.
pub(crate) type Field = (String, String);

impl CommonFields {
    /// The fields that all of `heads` have in common, as many as a table of the default size holds. Fields
    /// that the static table has, credentials, and those that a head has more than once are not among them.
    ///
    /// # Errors
    /// A head that cannot be sent.
    pub fn of(heads: &[RequestHead<'_>]) -> Result<CommonFields, RequestError> {
        let lists = heads.iter().map(RequestHead::fields).collect::<Result<Vec<_>, _>>()?;
        let mut common = CommonFields::default();
        for field in lists.first().into_iter().flatten() {
            let (name, value) = (field.0.as_bytes(), field.1.as_bytes());
            let once_in = |list: &Vec<Field>| {
                let mut named = list.iter().filter(|other| other.0 == field.0);
                named.next() == Some(field) && named.next().is_none()
            };
            let size = (name.len() + value.len()) as u32 + ENTRY_OVERHEAD_BYTES;
            let suits = !is_credential(name) && !encoder::is_static(name, value);
            if suits && common.table_bytes + size <= DEFAULT_TABLE_BYTES && lists.iter().all(once_in) {
                common.table_bytes += size;
                common.fields.push(field.clone());
            }
        }
        Ok(common)
    }

    /// A hash of the fields (FNV-1a).
    fn mark(&self) -> u64 {
        let bytes =
            self.fields.iter().flat_map(|(name, value)| [name.as_bytes(), b"\n", value.as_bytes(), b"\n"]);
        bytes.flatten().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

impl RequestHead<'_> {
    /// The head's blocks, for connections whose first requests insert `common`. A request that lacks one of
    /// these fields leaves the table alone.
    ///
    /// # Errors
    /// A part that would make it another request than the one meant.
    pub fn encode(&self, common: &CommonFields) -> Result<RequestBlock, RequestError> {
        let fields = self.fields()?;
        let none = CommonFields::default();
        let common = if common.fields.iter().all(|field| fields.contains(field)) { common } else { &none };
        let own = |field: &&Field| !common.fields.contains(field);
        // RFC 9113, 8.3: pseudo-header fields come first.
        let (pseudo, regular) = fields.split_at(4);
        let block = |place: &dyn Fn(usize, &Field, &mut Vec<u8>)| {
            let mut block = Vec::with_capacity(128);
            pseudo.iter().filter(own).for_each(|field| write(Literal::NotInserted, field, &mut block));
            common.fields.iter().enumerate().for_each(|(at, field)| place(at, field, &mut block));
            regular.iter().filter(own).for_each(|field| write(Literal::NotInserted, field, &mut block));
            Bytes::from(block)
        };
        let newest_at = common.fields.len().saturating_sub(1);
        Ok(RequestBlock {
            first: block(&|_, field, out| write(Literal::Inserted, field, out)),
            later: block(&|at, _, out| encoder::indexed(NEWEST + (newest_at - at) as u32, out)),
            plain: block(&|_, field, out| write(Literal::NotInserted, field, out)),
            common_bytes: common.table_bytes,
            common_mark: common.mark(),
            answering: Answering::method(self.method),
            body_bytes: self.body_length.unwrap_or(0),
        })
    }

    /// All fields, the four pseudo-header fields before the others.
    pub(crate) fn fields(&self) -> Result<Vec<Field>, RequestError> {
        let as_http1 = http1::RequestHead {
            method: self.method,
            target: self.target,
            host: self.authority,
            version: Version::Http11,
            persistent: true,
            headers: self.headers,
            body_length: self.body_length,
        };
        as_http1.check()?;
        let mut fields: Vec<Field> = Vec::with_capacity(self.headers.len() + 8);
        let mut push = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
        push(":method", self.method);
        push(":scheme", self.scheme);
        push(":authority", as_http1.given("host").unwrap_or(self.authority));
        push(":path", self.target);
        if as_http1.given("user-agent").is_none() {
            push("user-agent", concat!("farfield/", env!("CARGO_PKG_VERSION")));
        }
        if as_http1.given("accept").is_none() {
            push("accept", "*/*");
        }
        for (name, value) in self.headers {
            let lower = name.to_ascii_lowercase();
            // 8.2.1: no blank stands at either end of a value.
            let value = value.trim_matches([' ', '\t']);
            if !may_be_sent(lower.as_bytes(), value.as_bytes()) {
                return Err(RequestError::HeaderOfHttp1(name.clone()));
            }
            if lower != "host" {
                push(&lower, value);
            }
        }
        if let Some(bytes) = as_http1.content_length() {
            push("content-length", &bytes.to_string());
        }
        Ok(fields)
    }
}

impl RequestBlock {
    /// A request with `block`, which [`block_of_http1`] wrote, and with so many bytes of body.
    pub fn of_block(block: Bytes, answering: Answering, body_bytes: u64) -> RequestBlock {
        let (first, later) = (Bytes::new(), Bytes::new());
        RequestBlock { first, later, plain: block, common_bytes: 0, common_mark: 0, answering, body_bytes }
    }
}

/// Appends the header block of a request whose head is written as HTTP/1, with a Host field, and was checked
/// when it was: for requests that are written while the run goes on. Fields of HTTP/1 connections are left
/// out. The block leaves the server's table alone. Allocates nothing for names of up to 64 bytes.
pub fn block_of_http1(head: &[u8], scheme: &str, block: &mut Vec<u8>) {
    fields_of_http1(head, scheme, &mut |name: &[u8], value: &[u8]| {
        let literal = if is_credential(name) { Literal::Never } else { Literal::NotInserted };
        encoder::field(literal, name, value, block);
    });
}

/// Hands the fields of such a head to `put`, the four pseudo-header fields before the others.
pub(crate) fn fields_of_http1(head: &[u8], scheme: &str, put: &mut impl FnMut(&[u8], &[u8])) {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
    let fields = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    });
    let is_host = |name: &[u8]| name.eq_ignore_ascii_case(b"host");
    put(b":method", words.next().unwrap_or_default());
    put(b":scheme", scheme.as_bytes());
    if let Some((_, host)) = fields.clone().find(|(name, _)| is_host(name)) {
        put(b":authority", host);
    }
    put(b":path", words.next().unwrap_or_default());
    let mut lower: SmallVec<[u8; 64]> = SmallVec::new();
    for (name, value) in fields.filter(|(name, _)| !is_host(name)) {
        lower.clear();
        lower.extend(name.iter().map(u8::to_ascii_lowercase));
        if may_be_sent(&lower, value) {
            put(&lower, value);
        }
    }
}

/// RFC 9113, 8.2.2: a request has no field about its connection, and TE says nothing but `trailers`.
fn may_be_sent(name: &[u8], value: &[u8]) -> bool {
    let only_trailers = name != b"te" || value.eq_ignore_ascii_case(b"trailers");
    !is_of_http1(name) && name != b"http2-settings" && only_trailers
}

fn write(literal: Literal, (name, value): &Field, out: &mut Vec<u8>) {
    let literal = if is_credential(name.as_bytes()) { Literal::Never } else { literal };
    encoder::field(literal, name.as_bytes(), value.as_bytes(), out);
}

fn is_credential(name: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization" | b"cookie")
}
