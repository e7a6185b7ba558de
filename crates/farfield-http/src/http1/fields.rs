//! The fields of a head, for users that need more of a reply than how to read it.

use memchr::{memchr, memchr_iter};

/// The fields of a head that was read, in order: names and values as they came, without the blanks around
/// values.
///
/// A folded value (RFC 9112, 5.2) is given with its line ends in it. Nothing is allocated.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// The head's lines behind the status line.
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// No fields.
    pub const fn none() -> Fields<'a> {
        Fields { rest: &[] }
    }

    /// The fields of a whole head, which may have blank lines before it.
    pub(crate) fn of(head: &'a [u8]) -> Fields<'a> {
        let start = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(head.len());
        let line = memchr(b'\n', &head[start..]);
        Fields { rest: line.map_or(&[], |end| &head[start + end + 1..]) }
    }

    /// The values of the field `name`, whose case does not matter.
    pub fn named(self, name: &str) -> impl Iterator<Item = &'a [u8]> + use<'a, '_> {
        self.filter(move |(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let folds = |at: &usize| matches!(self.rest.get(at + 1), Some(b' ' | b'\t'));
        let end = memchr_iter(b'\n', self.rest).find(|at| !folds(at))?;
        let (line, rest) = self.rest.split_at(end + 1);
        let colon = memchr(b':', line)?;
        self.rest = rest;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_of(head: &str) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Fields::of(head.as_bytes()).map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn fields_come_as_they_stand() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let head = "\r\nHTTP/1.1 200 OK\r\nA: 1\r\nb:  two words \r\nC:\r\nD: x\r\n y\r\nA: 2\n\r\n";
        let expected =
            [pair("A", "1"), pair("b", "two words"), pair("C", ""), pair("D", "x\r\n y"), pair("A", "2")];
        assert_eq!(fields_of(head), expected);
        let values: Vec<_> = Fields::of(head.as_bytes()).named("a").collect();
        assert_eq!(values, [b"1", b"2"]);
        assert_eq!(fields_of("HTTP/1.1 204 No Content\r\n\r\n"), []);
        assert_eq!(fields_of(""), []);
    }
}
