//! Texts with variables of other programs: their values where they are known, and placeholders where a
//! session has them.

use crate::Wishes;
use crate::text::Names;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Values of variables may have variables in them, to this depth.
const DEPTH_MAX: u32 = 8;
/// Bytes of a text at most: a few variables that name one another many times stand for any length.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of all texts of a document at most, since one value may stand in each.
const ALL_BYTES_MAX: usize = 64 << 20;

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart {
    /// Text.
    Text(String),
    /// The inside of a placeholder, without a way of writing.
    Hole(String),
}

/// Why a text cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A variable without a value.
    Variable(String),
    /// A function, or a variable of the other program's own.
    Function(String),
    /// The variables of a text stand for too much.
    Endless,
    /// All texts together are too much.
    Spent,
}

impl Unknown {
    /// The reason for which an entry is left out, and what is named beside.
    pub fn reason(&self) -> (&'static str, String) {
        let named = |name: &String| format!("`{}`", crate::text::one_line(name));
        match self {
            Unknown::Variable(name) => {
                ("with a variable that has no value; `--value NAME=VALUE` gives it one", named(name))
            }
            Unknown::Function(name) => ("with a function that a session does not have", named(name)),
            Unknown::Spent => ("behind the 64 MiB of text that are made of a document", String::new()),
            Unknown::Endless => ("with variables that name one another without end", String::new()),
        }
    }
}

/// Notation of variables in another program.
pub trait Notation {
    /// The next variable in a text: where it begins and ends, and what is between its marks.
    fn next<'t>(&self, text: &'t str) -> Option<(usize, usize, &'t str)>;

    /// Parts that a function stands for; `None` if it is the name of a variable.
    fn function(&self, inside: &str, variables: &Variables) -> Option<Result<Vec<TextPart>, Unknown>>;
}

/// Variables, of which the last that gives one a value wins.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    /// Variables of the user.
    given: BTreeMap<String, String>,
    /// Variables of the document.
    values: BTreeMap<String, String>,
    /// Variables that a session has, with the names that it has for them.
    found: BTreeMap<String, String>,
    taken: Names,
    /// Bytes of texts so far.
    spent: Cell<usize>,
}

impl Variables {
    /// The user's alone.
    pub fn new(wishes: &Wishes) -> Variables {
        Variables { given: wishes.values.clone(), ..Variables::default() }
    }

    /// Gives a variable a value of the document's.
    pub fn set(&mut self, name: &str, value: &str) {
        self.found.remove(name);
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Says that a session has this variable from now on; its name there.
    pub fn find(&mut self, name: &str) -> String {
        if let Some(known) = self.found.get(name) {
            return known.clone();
        }
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let mut own: String =
            name.chars().map(|letter| if fits(letter) { letter } else { '_' }).take(100).collect();
        if !crate::text::is_variable(&own) {
            own = format!("own-{own}");
        }
        let unique = self.taken.unique(&own);
        self.found.insert(name.to_owned(), unique.clone());
        unique
    }

    /// Gives a variable a value within a part of the document; its value before.
    pub fn set_within(&mut self, name: &str, value: &str) -> (String, Option<String>) {
        (name.to_owned(), self.values.insert(name.to_owned(), value.to_owned()))
    }

    /// Takes values of a part of the document back, at its end.
    pub fn leave(&mut self, before: Vec<(String, Option<String>)>) {
        for (name, value) in before.into_iter().rev() {
            match value {
                Some(value) => self.values.insert(name, value),
                None => self.values.remove(&name),
            };
        }
    }

    /// The user's value of a name.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// True if there is a value.
    pub fn has(&self, name: &str) -> bool {
        [&self.given, &self.values, &self.found].iter().any(|own| own.contains_key(name))
    }

    /// The parts of a text.
    pub fn parts(&self, text: &str, notation: &dyn Notation) -> Result<Vec<TextPart>, Unknown> {
        let mut expansion = Expansion { variables: self, notation, left: BYTES_MAX, parts: Vec::new() };
        let made = match self.spent.get() > ALL_BYTES_MAX {
            true => Err(Unknown::Spent),
            false => expansion.text(text, DEPTH_MAX),
        };
        self.spent.set(self.spent.get() + BYTES_MAX - expansion.left);
        made.map(|()| expansion.parts)
    }
}

/// A text whose variables are being replaced.
struct Expansion<'a> {
    variables: &'a Variables,
    notation: &'a dyn Notation,
    /// Bytes that are left; what is empty costs, too.
    left: usize,
    parts: Vec<TextPart>,
}

impl Expansion<'_> {
    fn put(&mut self, part: TextPart) -> Result<(), Unknown> {
        let (TextPart::Text(text) | TextPart::Hole(text)) = &part;
        self.left = self.left.checked_sub(text.len() + 1).ok_or(Unknown::Endless)?;
        match (self.parts.last_mut(), part) {
            (_, TextPart::Text(own)) if own.is_empty() => {}
            (Some(TextPart::Text(known)), TextPart::Text(own)) => known.push_str(&own),
            (_, part) => self.parts.push(part),
        }
        Ok(())
    }

    fn text(&mut self, text: &str, depth: u32) -> Result<(), Unknown> {
        let mut rest = text;
        while let Some((begin, end, inside)) = self.notation.next(rest) {
            self.put(TextPart::Text(rest[..begin].to_owned()))?;
            self.variable(inside, depth)?;
            rest = &rest[end..];
        }
        self.put(TextPart::Text(rest.to_owned()))
    }

    fn variable(&mut self, inside: &str, depth: u32) -> Result<(), Unknown> {
        let Variables { given, values, found, .. } = self.variables;
        if let Some(value) = given.get(inside) {
            // Values that the user gives are as they are.
            return self.put(match crate::environment(value) {
                Some(name) => TextPart::Hole(format!("env.{name}")),
                None => TextPart::Text(value.clone()),
            });
        }
        if let Some(name) = found.get(inside) {
            return self.put(TextPart::Hole(name.clone()));
        }
        if let Some(value) = values.get(inside) {
            let depth = depth.checked_sub(1).ok_or(Unknown::Endless)?;
            return self.text(value, depth);
        }
        match self.notation.function(inside, self.variables) {
            Some(parts) => parts?.into_iter().try_for_each(|part| self.put(part)),
            None => Err(Unknown::Variable(inside.to_owned())),
        }
    }
}

/// Parts as a template: texts by `text`, placeholders with this way of writing, such as `|url`.
pub fn template(parts: &[TextPart], text: impl Fn(&str) -> String, escape: &str) -> String {
    let written = parts.iter().map(|part| match part {
        TextPart::Text(own) => text(own),
        TextPart::Hole(inside) => format!("${{{inside}{escape}}}"),
    });
    written.collect()
}

/// Parts as a text, if there is no placeholder among them.
pub fn constant(parts: &[TextPart]) -> Option<String> {
    let mut whole = String::new();
    for part in parts {
        match part {
            TextPart::Text(text) => whole.push_str(text),
            TextPart::Hole(_) => return None,
        }
    }
    Some(whole)
}

/// A UUID of version 4 (RFC 9562) whose random digits are decimal ones.
pub fn uuid() -> Vec<TextPart> {
    let hole = |digits: u32| {
        let least = 10_u64.pow(digits - 1);
        TextPart::Hole(format!("random({least},{})", least * 10 - 1))
    };
    let text = |text: &str| TextPart::Text(text.to_owned());
    vec![hole(8), text("-"), hole(4), text("-4"), hole(3), text("-8"), hole(3), text("-"), hole(12)]
}
