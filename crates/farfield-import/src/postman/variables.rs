//! Variables of Postman: `{{name}}`, and its own, `{{$randomInt}}`.

use crate::holes::{Notation, Part, Unknown, Variables};

/// How Postman writes variables.
pub struct Braces;

impl Notation for Braces {
    fn next<'t>(&self, text: &'t str) -> Option<(usize, usize, &'t str)> {
        let end = text.find("}}")?;
        let begin = text[..end].rfind("{{");
        match begin {
            Some(begin) => Some((begin, end + 2, text[begin + 2..end].trim())),
            None => {
                let (begin, more, inside) = self.next(&text[end + 2..])?;
                Some((end + 2 + begin, end + 2 + more, inside))
            }
        }
    }

    fn function(&self, inside: &str, _: &Variables) -> Option<Result<Vec<Part>, Unknown>> {
        let name = inside.strip_prefix('$')?;
        Some(match name {
            "randomInt" => Ok(vec![Part::Hole("random(0,1000)".to_owned())]),
            "guid" | "randomUUID" => Ok(crate::holes::uuid()),
            _ => Err(Unknown::Function(inside.to_owned())),
        })
    }
}
