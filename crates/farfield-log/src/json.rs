//! JSON lines: one object a line, with a map from fields to their meaning.
//!
//! A field inside an object is named with points: `request.uri`. Texts go into buffers that all lines share.

use crate::parser::{Broken, Parsed, Record, request_line};
use crate::pattern::origin_form;
use crate::timestamp;
use farfield_base::{Duration, Instant};
use memchr::memrchr;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names of the fields. A field that no line has costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FieldMap {
    /// The time: a text (RFC 3339, or as the Common Log Format has it) or seconds since 1970. A number above
    /// 10¹¹ is taken for milliseconds, above 10¹⁴ for microseconds, above 10¹⁷ for nanoseconds.
    pub time: String,
    /// The client: an address or a name, with its port or without; the first of a list.
    pub client: String,
    /// The user agent.
    pub agent: String,
    /// The method.
    pub method: String,
    /// The target.
    pub path: String,
    /// The whole request line, for logs that have the method and the target in one.
    pub request: String,
    /// The referring page.
    pub referrer: String,
    /// The status.
    pub status: String,
    /// The reply's bytes.
    pub bytes: String,
    /// The transfer time.
    pub transfer: String,
    /// Unit of the transfer time.
    pub transfer_unit: TransferUnit,
}

impl Default for FieldMap {
    /// The names that nginx's variables have.
    fn default() -> FieldMap {
        let name = str::to_owned;
        FieldMap {
            time: name("time"),
            client: name("remote_addr"),
            agent: name("http_user_agent"),
            method: name("request_method"),
            path: name("request_uri"),
            request: name("request"),
            referrer: name("http_referer"),
            status: name("status"),
            bytes: name("body_bytes_sent"),
            transfer: name("request_time"),
            transfer_unit: TransferUnit::Seconds,
        }
    }
}

impl FieldMap {
    /// Purpose of each field, with its name.
    fn named(&self) -> [(&'static str, &str); FIELDS] {
        [
            ("time", &self.time),
            ("client", &self.client),
            ("agent", &self.agent),
            ("method", &self.method),
            ("path", &self.path),
            ("request", &self.request),
            ("referrer", &self.referrer),
            ("status", &self.status),
            ("bytes", &self.bytes),
            ("transfer", &self.transfer),
        ]
    }
}

/// Unit of a transfer time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TransferUnit {
    pub(crate) fn duration(self, count: f64) -> Option<Duration> {
        let seconds = match self {
            TransferUnit::Seconds => count,
            TransferUnit::Milliseconds => count / 1e3,
            TransferUnit::Microseconds => count / 1e6,
            TransferUnit::Nanoseconds => count / 1e9,
        };
        (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds))
    }
}

/// The fields that are texts, or may be.
const FIELDS: usize = 10;

/// A field's value on this line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Absent,
    Text,
    Number(f64),
}

/// The parser with its buffers.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    names: [String; FIELDS],
    unit: TransferUnit,
    values: [Value; FIELDS],
    texts: [Vec<u8>; FIELDS],
    /// The names of the objects around, each with its point.
    prefix: String,
    map: FieldMap,
    /// Lines on which each field had a value.
    found: [u64; FIELDS],
}

impl Json {
    pub(crate) fn new(map: FieldMap) -> Json {
        Json {
            names: map.named().map(|(_, name)| name.to_owned()),
            unit: map.transfer_unit,
            values: [Value::Absent; FIELDS],
            texts: Default::default(),
            prefix: String::new(),
            map,
            found: [0; FIELDS],
        }
    }

    /// Purpose of each field, its name, and the number of lines so far on which it had a value.
    pub(crate) fn found(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.map.named().into_iter().zip(self.found).map(|((what, name), lines)| (what, name, lines))
    }

    pub(crate) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Parsed<'a> {
        self.values = [Value::Absent; FIELDS];
        self.prefix.clear();
        let mut reader = serde_json::Deserializer::from_slice(line);
        let read = Object(self).deserialize(&mut reader).and_then(|()| reader.end());
        read.map_err(|_| Broken("not a JSON object"))?;
        for (found, value) in self.found.iter_mut().zip(&self.values) {
            *found += u64::from(*value != Value::Absent);
        }
        let at = self.time().ok_or(Broken("the time is none, or not there"))?;
        let texts: [&[u8]; FIELDS] = std::array::from_fn(|at| self.text(at));
        let [_, client, agent, method, path, request, referrer, ..] = texts;
        let (method, path) = if path.is_empty() { request_line(request) } else { (method, path) };
        let (host, path) = origin_form(path);
        let client = without_port(client);
        if client.is_empty() || path.is_empty() {
            return Err(Broken("no client or no target"));
        }
        let status = self.number(7).filter(|n| (0.0..1000.0).contains(n)).unwrap_or(0.0) as u16;
        let bytes = self.number(8).filter(|n| *n >= 0.0).map(|n| n as u64);
        let transfer = self.number(9).and_then(|n| self.unit.duration(n));
        Ok(Some(Record { at, client, agent, method, path, referrer, host, status, bytes, transfer }))
    }

    fn text(&self, at: usize) -> &[u8] {
        match self.values[at] {
            Value::Text if self.texts[at] != b"-" => &self.texts[at],
            _ => b"",
        }
    }

    fn number(&self, at: usize) -> Option<f64> {
        match self.values[at] {
            Value::Absent => None,
            Value::Text => {
                let text = std::str::from_utf8(&self.texts[at]).ok()?;
                // As Google's balancers write a time: `0.012s`.
                let digits = text.strip_suffix('s').unwrap_or(text);
                digits.parse().ok().filter(|n: &f64| n.is_finite())
            }
            Value::Number(number) => Some(number),
        }
    }

    fn time(&self) -> Option<Instant> {
        /// Seconds since 1970 are below this for three thousand years; milliseconds are above it since 1973,
        /// and below a thousand times as much.
        const SECONDS_MAX: f64 = 1e11;
        if self.values[0] == Value::Text {
            let text = self.texts[0].as_slice();
            if let Some(at) = timestamp::rfc3339(text).or_else(|| timestamp::common(text)) {
                return Some(at);
            }
        }
        let number = self.number(0).filter(|n| *n >= 0.0)?;
        let unit = [1.0, 1e3, 1e6, 1e9].into_iter().find(|unit| number / unit <= SECONDS_MAX)?;
        let seconds = number / unit;
        // The whole and the fraction apart: their product has more digits than a float.
        let ns = || (seconds as u64) * 1_000_000_000 + (seconds.fract() * 1e9).round() as u64;
        (seconds < 1.7e10).then(|| Instant::from_ns(ns()))
    }
}

/// The client alone: of a list, as `X-Forwarded-For` has it, the first; of an address with a port, the
/// address.
fn without_port(client: &[u8]) -> &[u8] {
    let first = client.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    let Some(colon) = memrchr(b':', first) else { return first };
    let (address, port) = (&first[..colon], &first[colon + 1..]);
    let has_port = !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    match address.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")) {
        Some(inner) if has_port => inner,
        // A second colon: an address of version 6, without brackets and without a port.
        None if has_port && !address.contains(&b':') => address,
        _ => first,
    }
}

/// Reads an object's fields into the parser.
struct Object<'a>(&'a mut Json);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let outer = self.0.prefix.len();
        while map.next_key_seed(Key(&mut self.0.prefix))?.is_some() {
            let name = self.0.prefix.as_str();
            if let Some(at) = self.0.names.iter().position(|wanted| wanted == name) {
                map.next_value_seed(FieldVisitor { json: self.0, at })?;
            } else if self.0.names.iter().any(|wanted| {
                wanted.strip_prefix(self.0.prefix.as_str()).is_some_and(|inner| inner.starts_with('.'))
            }) {
                self.0.prefix.push('.');
                map.next_value_seed(Inner(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.0.prefix.truncate(outer);
        }
        Ok(())
    }
}

/// Appends a key to the prefix.
struct Key<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<(), E> {
        self.0.push_str(key);
        Ok(())
    }
}

/// A value that some field is inside of, if it is an object.
struct Inner<'a>(&'a mut Json);

/// A value that is a field.
struct FieldVisitor<'a> {
    json: &'a mut Json,
    at: usize,
}

impl FieldVisitor<'_> {
    fn set(self, value: Value) {
        self.json.values[self.at] = value;
    }
}

/// Visitor methods that accept any value and ignore it.
macro_rules! passes_over {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: de::Error>(self, _: $type) -> Result<(), E> { Ok(()) })*
        fn visit_unit<E: de::Error>(self) -> Result<(), E> {
            Ok(())
        }
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
    };
}

impl<'de> DeserializeSeed<'de> for Inner<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_> {
    type Value = ();

    passes_over! { visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object(self.0).visit_map(map)
    }
}

impl<'de> DeserializeSeed<'de> for FieldVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldVisitor<'_> {
    type Value = ();

    passes_over! { visit_bool(bool) }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.set(Value::Number(number as f64));
        Ok(())
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.set(Value::Number(number as f64));
        Ok(())
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        self.set(Value::Number(number));
        Ok(())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        let buffer = &mut self.json.texts[self.at];
        buffer.clear();
        buffer.extend_from_slice(text.as_bytes());
        self.set(Value::Text);
        Ok(())
    }
    /// Takes the first of a list, as fields of HTTP that may come several times are written.
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let FieldVisitor { json, at } = self;
        if seq.next_element_seed(FieldVisitor { json, at })?.is_some() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }
    /// A field's name may be the first part of another's: `request` and `request.uri`.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.json.prefix.push('.');
        Object(self.json).visit_map(map)
    }
}
