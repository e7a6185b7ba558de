//! Templates filled in, with what a user in a session has.

use super::text::{TextContext, write_bytes};
use super::visit::Visit;
use bytes::BytesMut;
use farfield_base::random::Stream;
use farfield_traffic::session::query::{Css, Lookup, Pattern, Pointer, Query};
use farfield_traffic::session::template::Escape;
use farfield_traffic::session::{Session, Text, TextPiece, Value};
use rand::RngExt;
use std::borrow::Cow;

/// A query whose holes can be filled.
pub(crate) trait Fillable: Query {
    /// The context that its values stand in.
    const CONTEXT: TextContext;
}

impl Fillable for Css {
    const CONTEXT: TextContext = TextContext::Selector;
}

impl Fillable for Pattern {
    const CONTEXT: TextContext = TextContext::Pattern;
}

impl Fillable for Pointer {
    const CONTEXT: TextContext = TextContext::Pointer;
}

/// The values that holes are filled with.
pub(crate) struct Filling<'a> {
    pub visit: &'a Visit,
    pub session: &'a Session,
    pub user: u32,
    pub rng: &'a mut Stream,
}

impl Filling<'_> {
    /// Writes `text`.
    pub fn write(&mut self, text: &Text, context: TextContext, out: &mut BytesMut) {
        for piece in &text.0 {
            match piece {
                TextPiece::Plain(text) => out.extend_from_slice(text.as_bytes()),
                TextPiece::Bytes(bytes) => out.extend_from_slice(bytes),
                TextPiece::Value(value, escape) => self.write_value(*value, *escape, context, out),
            }
        }
    }

    /// The query; nothing where what fills its holes makes none of it.
    pub fn query<'q, Q: Fillable>(&mut self, lookup: &'q Lookup<Q>) -> Option<Cow<'q, Q>> {
        match lookup {
            Lookup::Fixed(query) => Some(Cow::Borrowed(query)),
            Lookup::Varying(text) => {
                let mut filled = BytesMut::new();
                self.write(text, Q::CONTEXT, &mut filled);
                Q::try_from(String::from_utf8_lossy(&filled).into_owned()).ok().map(Cow::Owned)
            }
        }
    }

    /// Writes `text` as a reference: what it begins with may be a link as a page had it, whose parts are its
    /// own.
    pub fn write_reference(&mut self, text: &Text, out: &mut BytesMut) {
        for (index, piece) in text.0.iter().enumerate() {
            match piece {
                TextPiece::Plain(text) => out.extend_from_slice(text.as_bytes()),
                TextPiece::Bytes(bytes) => out.extend_from_slice(bytes),
                TextPiece::Value(value, escape) => {
                    let context = if index == 0 { TextContext::Body } else { TextContext::Target };
                    self.write_value(*value, *escape, context, out);
                }
            }
        }
    }

    fn write_value(&mut self, value: Value, escape: Escape, context: TextContext, out: &mut BytesMut) {
        let mut digits = itoa::Buffer::new();
        let bytes = match value {
            Value::Variable(number) => self.visit.variable(number),
            Value::Column { data, column } => {
                let row = self.visit.row(data);
                self.session.data[usize::from(data)].value(row, column).as_bytes()
            }
            Value::Environment(number) => self.session.environment[usize::from(number)].value().as_bytes(),
            Value::User => digits.format(self.user).as_bytes(),
            Value::Session => digits.format(self.visit.number).as_bytes(),
            Value::Click => digits.format(self.visit.click).as_bytes(),
            Value::Random(from, to) => digits.format(self.rng.random_range(from..=to)).as_bytes(),
        };
        write_bytes(bytes, escape, context, out);
    }
}
