//! Expressions over the numbers of a run: `1 - errors`, `steady.rates.body_bytes_per_s / rate`.
//!
//! A name is a metric (`p99(service)`, of a part of the run `p99{mobile}`), another column, or a number of
//! the summary by its path. As names contain hyphens (`classes.modem-56k.pages.failed`), a minus has a
//! blank before it: `a - b`, not `a-b`. Numbers may have units: `200ms` (in nanoseconds), `5%` (a share).

use farfield_base::{Duration, Share};
use std::fmt;
use std::str::FromStr;

/// Bytes of an expression at most.
pub const LENGTH_MAX: usize = 1_000;
/// Parentheses and signs within one another at most: an expression is read and computed by recursion.
const DEPTH_MAX: usize = 32;

/// An expression, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    term: Term,
}

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The expression is too long.
    #[error("an expression has at most {LENGTH_MAX} bytes")]
    TooLong,
    /// The expression has too many parentheses within one another.
    #[error("`{0}` has more than {DEPTH_MAX} parentheses and signs within one another")]
    TooDeep(String),
    /// Something is not as it should be.
    #[error(
        "`{text}`: {found} where {expected} should be; write metrics, columns or paths of the summary with + - * / ( )"
    )]
    Unexpected {
        /// The expression.
        text: String,
        /// The token that was found.
        found: String,
        /// The tokens that could stand there.
        expected: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Number(f64),
    Name(String),
    Negated(Box<Term>),
    Operation(Box<Term>, Operator, Box<Term>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Operator(Operator),
    Open,
    Close,
}

impl Expression {
    /// The names in it, in their order, each as often as it is there.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.term.collect(&mut names);
        names
    }

    /// The name that it consists of, if it is nothing more.
    pub fn single_name(&self) -> Option<&str> {
        match &self.term {
            Term::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The expression's value, with the numbers that `of` has for names.
    ///
    /// # Errors
    /// Errors of `of`, and that something is divided by 0.
    pub fn value(&self, of: &mut dyn FnMut(&str) -> Result<f64, String>) -> Result<f64, String> {
        self.term.value(of)
    }
}

impl Term {
    fn collect<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Term::Number(_) => {}
            Term::Name(name) => names.push(name),
            Term::Negated(term) => term.collect(names),
            Term::Operation(one, _, other) => {
                one.collect(names);
                other.collect(names);
            }
        }
    }

    fn value(&self, of: &mut dyn FnMut(&str) -> Result<f64, String>) -> Result<f64, String> {
        match self {
            Term::Number(number) => Ok(*number),
            Term::Name(name) => of(name),
            Term::Negated(term) => Ok(-term.value(of)?),
            Term::Operation(one, operator, other) => {
                let (one, other) = (one.value(of)?, other.value(of)?);
                match operator {
                    Operator::Add => Ok(one + other),
                    Operator::Subtract => Ok(one - other),
                    Operator::Multiply => Ok(one * other),
                    Operator::Divide if other == 0.0 => Err("a run has 0 for what it divides by".to_owned()),
                    Operator::Divide => Ok(one / other),
                }
            }
        }
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        if text.len() > LENGTH_MAX {
            return Err(ExpressionError::TooLong);
        }
        let mut reader = Reader { text, tokens: tokens(text)?, at: 0 };
        let term = reader.sum(0)?;
        match reader.tokens.get(reader.at) {
            None => Ok(Expression { text: text.trim().to_owned(), term }),
            Some(_) => Err(reader.unexpected("an operator or the end")),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

impl Reader<'_> {
    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let found = match self.tokens.get(self.at) {
            None => "its end".to_owned(),
            Some(Token::Number(number)) => format!("the number {number}"),
            Some(Token::Name(name)) => format!("the name {name}"),
            Some(Token::Operator(_)) => "an operator".to_owned(),
            Some(Token::Open | Token::Close) => "a parenthesis".to_owned(),
        };
        ExpressionError::Unexpected { text: self.text.to_owned(), found, expected }
    }

    fn operator(&mut self, of: [Operator; 2]) -> Option<Operator> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(operator)) if of.contains(operator) => {
                self.at += 1;
                Some(*operator)
            }
            _ => None,
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut term = self.product(depth)?;
        while let Some(operator) = self.operator([Operator::Add, Operator::Subtract]) {
            term = Term::Operation(Box::new(term), operator, Box::new(self.product(depth)?));
        }
        Ok(term)
    }

    fn product(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut term = self.factor(depth)?;
        while let Some(operator) = self.operator([Operator::Multiply, Operator::Divide]) {
            term = Term::Operation(Box::new(term), operator, Box::new(self.factor(depth)?));
        }
        Ok(term)
    }

    fn factor(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        if depth >= DEPTH_MAX {
            return Err(ExpressionError::TooDeep(self.text.to_owned()));
        }
        let token = self.tokens.get(self.at).cloned();
        let expected = "a number or a name";
        let term = match token {
            Some(Token::Number(number)) => Term::Number(number),
            Some(Token::Name(name)) => Term::Name(name),
            Some(Token::Operator(Operator::Subtract)) => {
                self.at += 1;
                return Ok(Term::Negated(Box::new(self.factor(depth + 1)?)));
            }
            Some(Token::Open) => {
                self.at += 1;
                let term = self.sum(depth + 1)?;
                if self.tokens.get(self.at) != Some(&Token::Close) {
                    return Err(self.unexpected("a closing parenthesis"));
                }
                term
            }
            _ => return Err(self.unexpected(expected)),
        };
        self.at += 1;
        Ok(term)
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '+' | '-' | '*' | '/' | '(' | ')' => {
                tokens.push(match first {
                    '+' => Token::Operator(Operator::Add),
                    '-' => Token::Operator(Operator::Subtract),
                    '*' => Token::Operator(Operator::Multiply),
                    '/' => Token::Operator(Operator::Divide),
                    '(' => Token::Open,
                    _ => Token::Close,
                });
                1
            }
            first if first.is_ascii_digit() => {
                let length =
                    length_of(rest, |letter| letter.is_ascii_alphanumeric() || ".%".contains(letter));
                let number = number(&rest[..length]);
                tokens.push(Token::Number(number.ok_or_else(|| no_token(text, &rest[..length]))?));
                length
            }
            first if first.is_ascii_alphabetic() || first == '_' => {
                let length = name_length(rest);
                tokens.push(Token::Name(rest[..length].to_owned()));
                length
            }
            other => return Err(no_token(text, &other.escape_default().to_string())),
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn no_token(text: &str, found: &str) -> ExpressionError {
    ExpressionError::Unexpected {
        text: text.escape_debug().to_string(),
        found: format!("`{found}`"),
        expected: "a number or a name",
    }
}

fn length_of(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_part(letter)).unwrap_or(text.len())
}

/// Bytes of the name that `text` begins with, with what a metric has in parentheses right after it, and the
/// part of the run in braces.
fn name_length(text: &str) -> usize {
    let length = bare_length(text);
    match text[length..].strip_prefix('{').and_then(|rest| rest.find('}')) {
        Some(inside) => length + inside + 2,
        None => length,
    }
}

fn bare_length(text: &str) -> usize {
    let length = length_of(text, |letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter));
    let inside =
        text[length..].strip_prefix('(').map(|rest| length_of(rest, |letter| letter.is_ascii_lowercase()));
    match inside {
        Some(inside) if text[length + 1 + inside..].starts_with(')') => length + inside + 2,
        _ => length,
    }
}

/// A number, a time in nanoseconds, or a share.
fn number(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let time = || text.parse::<Duration>().ok().map(|time| time.as_ns() as f64);
    number.or_else(time).or_else(|| text.parse::<Share>().ok().map(Share::as_f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let expression = text.parse::<Expression>().map_err(|error| error.to_string())?;
        expression.value(&mut |name| match name {
            "rate" => Ok(100.0),
            "errors" => Ok(0.25),
            "p99(service)" => Ok(3e6),
            "p99(service){a far-away client, 4G}" => Ok(6e6),
            "classes.modem-56k.pages.failed" => Ok(4.0),
            "none" => Ok(0.0),
            name => Err(format!("no {name}")),
        })
    }

    #[test]
    fn expressions_are_computed_by_the_rules_of_arithmetic() {
        for (text, expected) in [
            ("rate", 100.0),
            ("1 - errors", 0.75),
            ("rate * (1 - errors) / 2 + 1", 38.5),
            ("2 - 3 - 4", -5.0),
            ("8 / 4 / 2", 1.0),
            ("-rate*-1", 100.0),
            ("p99(service) / 1ms", 3.0),
            ("p99(service){a far-away client, 4G}/p99(service)", 2.0),
            ("classes.modem-56k.pages.failed - 50%", 3.5),
            ("1e3", 1000.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        let expression: Expression = "rate / (rate + p99(service))".parse().expect("an expression");
        assert_eq!(
            (expression.names(), expression.single_name()),
            (vec!["rate", "rate", "p99(service)"], None)
        );
    }

    #[test]
    fn what_cannot_be_computed_says_why() {
        let deep = format!("{}1{}", "(".repeat(40), ")".repeat(40));
        let signs = format!("{}1", "-".repeat(900));
        let long = "1+".repeat(600) + "1";
        for (text, part) in [
            ("", "its end where a number or a name"),
            ("rate +", "its end"),
            ("rate rate", "the name rate where an operator"),
            ("(rate", "a closing parenthesis"),
            ("rate{cdn", "`{`"),
            ("rate)", "a parenthesis where an operator"),
            ("rate; rm", "`;`"),
            ("\u{1b}[2J", "\\u{1b}"),
            ("3x", "`3x`"),
            ("rate / none", "a run has 0"),
            ("1e999", "`1e999`"),
            (deep.as_str(), "within one another"),
            (signs.as_str(), "within one another"),
            (long.as_str(), "at most 1000 bytes"),
            ("unknown", "no unknown"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
