//! The writer of requests: what a request's stream carries, encoded once and sent any number of times, on any
//! connection (RFC 9114, 4.1). Without a dynamic table it depends on no connection.

use super::frame;
use super::qpack::{self, Literal};
use super::varint;
use crate::http1::RequestError;
use crate::http2::{RequestHead, fields_of_http1};
use bytes::Bytes;

/// Appends what the stream of a request with `head` carries before the bytes of its body, of which there are
/// as many as the head says: a HEADERS frame and, if there is a body, the beginning of a DATA frame.
///
/// # Errors
/// A part that would make it another request than the one meant.
pub fn begin_request(head: &RequestHead<'_>, out: &mut Vec<u8>) -> Result<(), RequestError> {
    let fields = head.fields()?;
    let mut section = Vec::with_capacity(128);
    qpack::begin(&mut section);
    for (name, value) in &fields {
        put(name.as_bytes(), value.as_bytes(), &mut section);
    }
    varint::encode(frame::HEADERS, out);
    varint::encode(section.len() as u64, out);
    out.extend_from_slice(&section);
    begin_data(head.body_length.unwrap_or(0), out);
    Ok(())
}

/// As [`begin_request`], for a request whose head is written as HTTP/1, with a Host field, and was checked
/// when it was: for requests that are written while the run goes on. Fields of HTTP/1 connections are left
/// out. Allocates nothing once `out` has grown, for names of up to 64 bytes.
pub fn begin_request_of_http1(head: &[u8], scheme: &str, body_bytes: u64, out: &mut Vec<u8>) {
    varint::encode(frame::HEADERS, out);
    // The length goes in front of the section, in four bytes whatever it is.
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    qpack::begin(out);
    fields_of_http1(head, scheme, &mut |name: &[u8], value: &[u8]| put(name, value, out));
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&(length | 0x8000_0000).to_be_bytes());
    begin_data(body_bytes, out);
}

/// A request in one piece: its head as [`begin_request`] writes it, and its body.
///
/// # Errors
/// A part that would make it another request than the one meant.
pub fn encode_request(head: &RequestHead<'_>, body: &[u8]) -> Result<Bytes, RequestError> {
    let mut bytes = Vec::with_capacity(256 + body.len());
    begin_request(head, &mut bytes)?;
    bytes.extend_from_slice(body);
    Ok(Bytes::from(bytes))
}

/// Credentials, too, are written without the bit that forbids intermediaries to keep them in tables of their
/// own (RFC 9204, 7.1.3), as Chrome writes them: QPACK as quic-go had it in 2022, which servers such as
/// Caddy 2.6 still have, ends the connection at that bit. Nothing is inserted here in any case.
fn put(name: &[u8], value: &[u8], section: &mut Vec<u8>) {
    qpack::encode(Literal::Insertable, name, value, section);
}

/// The beginning of the body's frame, if there is a body.
fn begin_data(body_bytes: u64, out: &mut Vec<u8>) {
    if body_bytes > 0 {
        varint::encode(frame::DATA, out);
        varint::encode(body_bytes, out);
    }
}
