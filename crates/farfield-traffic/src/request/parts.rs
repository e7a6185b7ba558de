//! The parts of a request as a scenario writes them, each of a type that cannot be wrong.

use crate::file::{self, FileError, Load};
use bytes::Bytes;
use farfield_base::random::Stream;
use farfield_base::{Bytes as Size, TextOrTable};
use http::{HeaderName, HeaderValue, Method, header};
use rand::Rng;
use serde::de;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// Error of an invalid part of a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A method that cannot be sent.
    #[error("`{0}` is not a method; write it in capitals, such as `GET` or `POST`")]
    Method(String),
    /// CONNECT, which asks for a tunnel.
    #[error("`CONNECT` asks for a tunnel and not for an object; write another method, such as `GET`")]
    Connect,
    /// A path that cannot be sent.
    #[error(
        "`{0}` is not a path; begin it with `/`, percent-encode blanks and all but ASCII, and leave out the part from `#`"
    )]
    Path(String),
    /// A header field's name that cannot be sent.
    #[error("`{0}` is not a header's name; write letters, digits and `-`")]
    HeaderName(String),
    /// A header field's value that cannot be sent.
    #[error("the value of header `{0}` cannot be sent; write it in printable ASCII, on one line")]
    HeaderValue(String),
    /// A header field that the client writes itself.
    #[error("header `{0}` follows from the body and is written by the client; leave it out")]
    Framing(String),
    /// A filler too large to hold in memory.
    #[error("`size` of the body is {0}; write at most 1GiB")]
    BodySize(Size),
    /// Two ways to say what the body is, or none.
    #[error("a body is a text, or a table with either `file` or `size`")]
    Body,
    /// A weight below zero, or not finite.
    #[error("`weight` is {0}; write a number from 0 up")]
    Weight(f64),
}

/// A method of requests with objects as replies.
pub(crate) fn method(text: &str) -> Result<Method, PartError> {
    match Method::from_bytes(text.as_bytes()) {
        Ok(Method::CONNECT) => Err(PartError::Connect),
        Ok(method) if !text.bytes().any(|b| b.is_ascii_lowercase()) => Ok(method),
        _ => Err(PartError::Method(text.to_owned())),
    }
}

/// Request target: origin form, absolute form, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RequestTarget(String);

impl RequestTarget {
    /// The text as it will be sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RequestTarget {
    type Error = PartError;

    /// Percent-encodes what is not ASCII, as RFC 3987 section 3.1 has it.
    fn try_from(path: String) -> Result<RequestTarget, PartError> {
        let path = ascii(path);
        let form = ["/", "http://", "https://"].iter().any(|begin| path.starts_with(begin)) || path == "*";
        let sendable = path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
        if form && sendable && path.parse::<http::Uri>().is_ok() {
            Ok(RequestTarget(path))
        } else {
            Err(PartError::Path(path))
        }
    }
}

/// `path` with each byte beyond ASCII as `%` and two hexadecimal digits.
fn ascii(path: String) -> String {
    if path.is_ascii() {
        return path;
    }
    let encoded = |byte: u8| match byte.is_ascii() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.bytes().map(encoded).collect()
}

/// Relative frequency of a page: from 0 up, finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Weight(f64);

impl Weight {
    /// The default weight.
    pub const ONE: Weight = Weight(1.0);

    /// The number.
    pub fn as_f64(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Weight {
    type Error = PartError;

    fn try_from(weight: f64) -> Result<Weight, PartError> {
        if weight.is_finite() && weight >= 0.0 { Ok(Weight(weight)) } else { Err(PartError::Weight(weight)) }
    }
}

/// Header fields, in order. In a scenario a table whose values are texts, or lists of texts for a field that
/// is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<(HeaderName, HeaderValue)>);

impl Headers {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields.
    pub fn fields(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0
    }

    /// True if there is a field of this name, in lower case.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own.as_str() == name)
    }

    /// Adds one field. Content-Length and Transfer-Encoding are refused: they follow from the body.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), PartError> {
        let bad_name = |_| PartError::HeaderName(name.to_owned());
        let parsed: HeaderName = name.parse().map_err(bad_name)?;
        if parsed == header::CONTENT_LENGTH || parsed == header::TRANSFER_ENCODING {
            return Err(PartError::Framing(parsed.to_string()));
        }
        let value = HeaderValue::from_str(value).map_err(|_| PartError::HeaderValue(parsed.to_string()))?;
        self.0.push((parsed, value));
        Ok(())
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (place, (name, _)) in self.0.iter().enumerate() {
            let earlier = self.0[..place].iter().any(|(other, _)| other == name);
            if !earlier {
                map.serialize_entry(name.as_str(), &self.texts(name))?;
            }
        }
        map.end()
    }
}

impl Headers {
    fn texts(&self, name: &HeaderName) -> Texts {
        let of_name = self.0.iter().filter(|(other, _)| other == name);
        // Only texts come in, so that `to_str` gives each back.
        let mut texts: Vec<String> =
            of_name.map(|(_, value)| value.to_str().unwrap_or_default().to_owned()).collect();
        match texts.len() {
            1 => Texts::One(texts.remove(0)),
            _ => Texts::Many(texts),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "the value of a header is a text, or a list of texts")]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        deserializer.deserialize_map(HeadersVisitor)
    }
}

struct HeadersVisitor;

impl<'de> de::Visitor<'de> for HeadersVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of headers such as { accept = \"text/html\" }")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
        let mut headers = Headers::default();
        while let Some((name, texts)) = map.next_entry::<String, Texts>()? {
            let texts = match texts {
                Texts::One(text) => vec![text],
                Texts::Many(texts) => texts,
            };
            for text in texts {
                headers.push(&name, &text).map_err(de::Error::custom)?;
            }
        }
        Ok(headers)
    }
}

/// A body as a scenario writes it: a text, `{ file = "form.bin" }`, or `{ size = "1MB" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodySpec {
    /// Content as text.
    Text(String),
    /// Content of this file.
    File(PathBuf),
    /// Random bytes of this count, reproducible by the seed: incompressible.
    Filler(Filler),
}

/// The size of a body of random bytes, at most 1 GiB, since it is held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filler(Size);

impl Filler {
    /// A filler of this size.
    pub fn new(size: Size) -> Result<Filler, PartError> {
        const MAX: u64 = 1 << 30;
        if size.0 <= MAX { Ok(Filler(size)) } else { Err(PartError::BodySize(size)) }
    }
}

impl BodySpec {
    /// The bytes: a file's from `load`, a filler's from `stream`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn resolve(&self, load: &mut Load<'_>, mut stream: Stream) -> Result<Bytes, FileError> {
        Ok(match self {
            BodySpec::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            BodySpec::File(path) => file::read(path, load)?.into(),
            BodySpec::Filler(Filler(size)) => {
                let mut bytes = vec![0; size.0 as usize];
                stream.fill_bytes(&mut bytes);
                bytes.into()
            }
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
}

impl Serialize for BodySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (file, size) = match self {
            BodySpec::Text(text) => return text.serialize(serializer),
            BodySpec::File(path) => (Some(path.clone()), None),
            BodySpec::Filler(Filler(size)) => (None, Some(*size)),
        };
        BodyTable { file, size }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BodySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BodySpec, D::Error> {
        TextOrTable {
            expected: "a text, or a table such as { file = \"form.bin\" } or { size = \"1MB\" }",
            text: |text| Ok(BodySpec::Text(text.to_owned())),
            number: None,
            table: |table| match table {
                BodyTable { file: Some(path), size: None } => Ok(BodySpec::File(path)),
                BodyTable { file: None, size: Some(size) } => {
                    Filler::new(size).map(BodySpec::Filler).map_err(|error| error.to_string())
                }
                _ => Err(PartError::Body.to_string()),
            },
        }
        .read(deserializer)
    }
}
