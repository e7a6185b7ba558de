//! Variables of Postman: `{{name}}`, and its own, `{{$randomInt}}`.

use crate::holes::{Notation, TextPart, Unknown, Variables};

/// Notation of variables in Postman.
pub struct Braces;

impl Notation for Braces {
    fn next<'t>(&self, text: &'t str) -> Option<(usize, usize, &'t str)> {
        let mut from = 0;
        loop {
            let end = from + text[from..].find("}}")?;
            if let Some(begin) = text[from..end].rfind("{{").map(|begin| from + begin) {
                return Some((begin, end + 2, text[begin + 2..end].trim()));
            }
            from = end + 2;
        }
    }

    fn function(&self, inside: &str, _: &Variables) -> Option<Result<Vec<TextPart>, Unknown>> {
        let name = inside.strip_prefix('$')?;
        Some(match name {
            "randomInt" => Ok(vec![TextPart::Hole("random(0,1000)".to_owned())]),
            "guid" | "randomUUID" => Ok(crate::holes::uuid()),
            _ => Err(Unknown::Function(inside.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_without_a_beginning_are_text() {
        assert_eq!(Braces.next("a}} {{ b }}c"), Some((4, 11, "b")));
        assert_eq!(Braces.next(&"}}".repeat(200_000)), None);
    }
}
