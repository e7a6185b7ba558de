//! Scripts of Postman: statements that say what a check or an extraction of a session says, one by one. A
//! script with conditions or loops is passed over as a whole, since what is in them need not happen.

use crate::checks::Checks;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes of a script that are looked at.
const SCRIPT_MAX: usize = 1 << 20;
/// Statements of a script that are looked at.
const STATEMENTS_MAX: usize = 10_000;

/// Meaning of a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// The statuses that are well.
    Status(Vec<String>),
    /// A text that the body has, or has not.
    Text(String, bool),
    /// A header field that is there.
    Header(String, Option<String>),
    /// A value at a JSON pointer.
    Json(String, Option<String>),
    /// A variable that is extracted; the source in TOML.
    Extract(String, String),
    /// A variable that is set.
    Set(String, String),
}

/// A script.
#[derive(Debug, Default, PartialEq)]
pub struct Script {
    /// Findings, in order.
    pub findings: Vec<Statement>,
    /// Statements without an equivalent.
    pub passed_over: usize,
}

static TEST: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)"#;
    Regex::new(&format!(
        r"^pm\.test\(\s*{text}\s*,\s*(?:async\s+)?(?:function\s*\w*\s*\([^)]*\)\s*$|(?:\([^)]*\)|\w+)\s*=>\s*)"
    ))
    .expect("an expression")
});
static DECLARATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:(?:const|let|var)\s+)?(\w+)\s*=\s*(.+)$").expect("an expression"));
static CONTROL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:if|else|for|while|do|switch|case|try|catch|return|forEach|map|setNextRequest|sendRequest|eval)\b|\?")
        .expect("an expression")
});
static SET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"^(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|postman\.set(?:Environment|Global)Variable)\(\s*["']([^"']+)["']\s*,\s*(.+)\)$"#,
    )
    .expect("an expression")
});
static OLD_TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^tests\[.+\]\s*=\s*(.+)$").expect("an expression"));
static IS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(.+?)\s*===?\s*(.+)$").expect("an expression"));

/// Reads a script.
pub fn read(text: &str) -> Script {
    let mut reader = ScriptReader { json: BTreeMap::new(), script: Script::default() };
    if text.len() > SCRIPT_MAX {
        reader.script.passed_over = 1;
        return reader.script;
    }
    let (statements, code) = statements(text);
    let own: Vec<&str> = statements.iter().map(|own| own.trim()).filter(|own| !is_nothing(own)).collect();
    if CONTROL.is_match(&code) || own.len() > STATEMENTS_MAX {
        reader.script.passed_over = own.len();
        return reader.script;
    }
    for statement in own {
        reader.statement(statement);
    }
    reader.script
}

/// Statements without comments, and the code without its texts. A bracket `{` or `}` ends a statement: what
/// is in the function of a test stands by itself.
fn statements(text: &str) -> (Vec<String>, String) {
    let (mut found, mut code, mut now) = (Vec::new(), String::new(), String::new());
    let mut open = 0_i32;
    let mut chars = text.chars().peekable();
    while let Some(letter) = chars.next() {
        match letter {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|letter| *letter != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                chars.next();
                for letter in chars.by_ref() {
                    if last == '*' && letter == '/' {
                        break;
                    }
                    last = letter;
                }
            }
            '"' | '\'' | '`' => {
                now.push(letter);
                while let Some(inner) = chars.next() {
                    now.push(inner);
                    match inner {
                        '\\' => now.extend(chars.next()),
                        inner if inner == letter => break,
                        _ => {}
                    }
                }
                code.push('"');
            }
            ';' | '{' | '}' => {
                found.push(std::mem::take(&mut now));
                open = 0;
                code.push(' ');
            }
            '\n' => {
                code.push(' ');
                if open > 0 {
                    now.push(' ');
                    continue;
                }
                while chars.next_if(|letter| letter.is_whitespace()).is_some() {}
                if chars.peek() != Some(&'.') {
                    found.push(std::mem::take(&mut now));
                    open = 0;
                }
            }
            letter => {
                open += i32::from("([".contains(letter)) - i32::from(")]".contains(letter));
                now.push(letter);
                code.push(letter);
            }
        }
    }
    found.push(now);
    (found, code)
}

/// True of the rest of the functions of tests, and of what only writes into a log.
fn is_nothing(statement: &str) -> bool {
    let is_wrapper = || TEST.find(statement).is_some_and(|found| found.end() == statement.len());
    statement.chars().all(|letter| ")}], ".contains(letter))
        || statement.starts_with("console.")
        || ["\"use strict\"", "'use strict'"].contains(&statement)
        || is_wrapper()
}

/// Subject of a statement.
enum Subject {
    Status,
    Body,
    Header(String),
    Json(String),
}

struct ScriptReader {
    /// Names of values of the reply's JSON, and where they stand in it.
    json: BTreeMap<String, String>,
    script: Script,
}

impl ScriptReader {
    fn statement(&mut self, statement: &str) {
        let inner = TEST.replace(statement, "");
        let inner = match inner.len() == statement.len() {
            true => statement,
            // The bracket that ends the test.
            false => inner.strip_suffix(')').unwrap_or(&inner),
        };
        match self.finding(inner.trim()) {
            Some(findings) => self.script.findings.extend(findings),
            None => self.script.passed_over += 1,
        }
    }

    fn finding(&mut self, statement: &str) -> Option<Vec<Statement>> {
        if let Some(parts) = OLD_TEST.captures(statement) {
            return self.old_test(parts.get(1)?.as_str());
        }
        if let Some(parts) = SET.captures(statement) {
            return self.set(&parts[1], parts[2].trim()).map(|own| vec![own]);
        }
        if let Some(rest) = statement.strip_prefix("pm.response.to.") {
            return of_response(rest);
        }
        if let Some(rest) = statement.strip_prefix("pm.expect(") {
            let (subject, rest) = until_closed(rest)?;
            return self.expect(subject.trim(), rest);
        }
        if let Some(parts) = DECLARATION.captures(statement) {
            let pointer = self.pointer(parts.get(2)?.as_str())?;
            self.json.insert(parts[1].to_owned(), pointer);
            return Some(Vec::new());
        }
        None
    }

    /// `tests["…"] = responseCode.code === 200`
    fn old_test(&self, value: &str) -> Option<Vec<Statement>> {
        if let Some(text) = value.strip_prefix("responseBody.has(") {
            let (text, rest) = until_closed(text)?;
            return rest.is_empty().then(|| Some(vec![Statement::Text(literal(text)?, true)])).flatten();
        }
        let parts = IS.captures(value)?;
        let (subject, wanted) = (self.subject(parts.get(1)?.as_str())?, literal(&parts[2])?);
        equals(subject, wanted)
    }

    fn set(&self, name: &str, value: &str) -> Option<Statement> {
        let of_source = |key: &str, value: &str| {
            let source = format!("{{ {key} = {} }}", crate::text::quoted(value));
            Some(Statement::Extract(name.to_owned(), source))
        };
        if let Some(pointer) = self.pointer(value) {
            return of_source("json", &pointer);
        }
        if let Some(Subject::Header(field)) = self.subject(value) {
            return of_source("header", &field);
        }
        if let Some(rest) = value.strip_prefix("pm.cookies.get(") {
            let (cookie, rest) = until_closed(rest)?;
            return rest.is_empty().then(|| of_source("cookie", &literal(cookie)?)).flatten();
        }
        Some(Statement::Set(name.to_owned(), literal(value)?))
    }

    fn subject(&self, expression: &str) -> Option<Subject> {
        match expression.trim() {
            "pm.response.code" | "responseCode.code" => Some(Subject::Status),
            "pm.response.text()" | "responseBody" => Some(Subject::Body),
            other => {
                let header = ["pm.response.headers.get(", "postman.getResponseHeader("];
                if let Some(rest) = header.iter().find_map(|begin| other.strip_prefix(begin)) {
                    let (name, rest) = until_closed(rest)?;
                    return rest.is_empty().then(|| Some(Subject::Header(literal(name)?))).flatten();
                }
                self.pointer(other).map(Subject::Json)
            }
        }
    }

    /// The JSON pointer of a value of the reply.
    fn pointer(&self, expression: &str) -> Option<String> {
        let expression = expression.trim();
        let of_all = ["pm.response.json()", "JSON.parse(responseBody)", "JSON.parse(pm.response.text())"];
        let (mut pointer, mut rest) = match of_all.iter().find_map(|all| expression.strip_prefix(all)) {
            Some(rest) => (String::new(), rest),
            None => {
                let end = expression.find(['.', '[']).unwrap_or(expression.len());
                (self.json.get(&expression[..end])?.clone(), &expression[end..])
            }
        };
        while !rest.is_empty() {
            let part = if let Some(more) = rest.strip_prefix('.') {
                let end = more.find(['.', '[']).unwrap_or(more.len());
                let (name, more) = more.split_at(end);
                rest = more;
                let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
                (!name.is_empty() && name.chars().all(is_name) && name != "length")
                    .then(|| name.to_owned())?
            } else {
                let (inside, more) = rest.strip_prefix('[')?.split_once(']')?;
                rest = more;
                literal(inside)?
            };
            pointer.push('/');
            pointer += &part.replace('~', "~0").replace('/', "~1");
        }
        Some(pointer)
    }

    /// `pm.expect(SUBJECT).to.eql(WANTED)` and its like.
    fn expect(&self, subject: &str, chain: &str) -> Option<Vec<Statement>> {
        let filler = [
            "to", "be", "been", "is", "that", "which", "and", "have", "has", "with", "of", "deep", "a", "an",
        ];
        let mut rest = chain;
        let mut is_there = true;
        loop {
            rest = rest.trim().strip_prefix('.')?.trim_start();
            let end = rest.find(['.', '(']).unwrap_or(rest.len());
            let (word, more) = rest.split_at(end);
            match word {
                "not" => is_there = !is_there,
                word if filler.contains(&word) && more.starts_with('.') => {}
                word => {
                    let argument = match more.strip_prefix('(') {
                        None => more.is_empty().then_some("")?,
                        Some(inside) => until_closed(inside).filter(|(_, end)| end.is_empty())?.0,
                    };
                    return self.expected(subject, word, argument.trim(), is_there);
                }
            }
            rest = more;
        }
    }

    fn expected(&self, subject: &str, word: &str, argument: &str, is_there: bool) -> Option<Vec<Statement>> {
        let subject = self.subject(subject)?;
        match (word, subject, is_there) {
            ("eql" | "equal" | "equals" | "eq", subject, true) => equals(subject, literal(argument)?),
            ("true" | "false", subject @ Subject::Json(_), true) => equals(subject, word.to_owned()),
            ("oneOf", Subject::Status, true) => {
                let inside = argument.strip_prefix('[')?.strip_suffix(']')?;
                let codes: Option<Vec<String>> = inside.split(',').map(|code| status(code.trim())).collect();
                codes.map(|codes| vec![Statement::Status(codes)])
            }
            ("include" | "includes" | "contain" | "contains", Subject::Body, is_there) => {
                Some(vec![Statement::Text(literal(argument)?, is_there)])
            }
            ("property", Subject::Json(pointer), true) => {
                let (name, value) = match argument.split_once(',') {
                    Some((name, value)) => (name, Some(literal(value)?)),
                    None => (argument, None),
                };
                let name = literal(name)?.replace('~', "~0").replace('/', "~1");
                Some(vec![Statement::Json(format!("{pointer}/{name}"), value)])
            }
            ("exist", Subject::Json(pointer), true) => Some(vec![Statement::Json(pointer, None)]),
            ("exist" | "ok", Subject::Header(name), true) => Some(vec![Statement::Header(name, None)]),
            _ => None,
        }
    }
}

fn equals(subject: Subject, wanted: String) -> Option<Vec<Statement>> {
    Some(vec![match subject {
        Subject::Status => Statement::Status(vec![status(&wanted)?]),
        Subject::Body => return None,
        Subject::Header(name) => Statement::Header(name, Some(wanted)),
        Subject::Json(pointer) => Statement::Json(pointer, Some(wanted)),
    }])
}

/// `pm.response.to.…`
fn of_response(rest: &str) -> Option<Vec<Statement>> {
    match rest {
        "be.ok" | "be.success" => return Some(vec![Statement::Status(vec!["2xx".to_owned()])]),
        "not.be.error" => return Some(vec![Statement::Status(vec!["100-399".to_owned()])]),
        _ => {}
    }
    let (word, inside) = rest.split_once('(')?;
    let (argument, end) = until_closed(inside)?;
    if !end.is_empty() {
        return None;
    }
    match word {
        "have.status" => status(argument.trim()).map(|code| vec![Statement::Status(vec![code])]),
        "have.header" => {
            let (name, value) = match argument.split_once(',') {
                Some((name, value)) => (name, Some(literal(value)?)),
                None => (argument, None),
            };
            Some(vec![Statement::Header(literal(name)?, value)])
        }
        _ => None,
    }
}

fn status(text: &str) -> Option<String> {
    let is_status =
        text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_status.then(|| text.to_owned())
}

/// A text up to the bracket that closes it, and what follows.
fn until_closed(text: &str) -> Option<(&str, &str)> {
    let mut open = 1;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(_) if std::mem::take(&mut escaped) => {}
            Some(_) if letter == '\\' => escaped = true,
            Some(own) => quote = Some(own).filter(|own| *own != letter),
            None => match letter {
                '"' | '\'' | '`' => quote = Some(letter),
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            },
        }
        if open == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// The value of a text, a number, a truth value, or a variable that is asked for.
fn literal(text: &str) -> Option<String> {
    let text = text.trim();
    let quote = text.chars().next().filter(|letter| "\"'`".contains(*letter));
    if let Some(quote) = quote {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote).filter(|_| text.len() > 1)?;
        let mut value = String::new();
        let mut chars = inside.chars();
        while let Some(letter) = chars.next() {
            match letter {
                '\\' => match chars.next()? {
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'r' => value.push('\r'),
                    letter @ ('"' | '\'' | '`' | '\\' | '/') => value.push(letter),
                    _ => return None,
                },
                letter if letter == quote => return None,
                '$' if quote == '`' => return None,
                letter => value.push(letter),
            }
        }
        return Some(value);
    }
    let asked = ["environment", "collectionVariables", "globals", "variables"];
    let asked = asked.iter().find_map(|of| text.strip_prefix("pm.")?.strip_prefix(of)?.strip_prefix(".get("));
    if let Some(rest) = asked {
        let (name, rest) = until_closed(rest)?;
        return rest.is_empty().then(|| Some(format!("{{{{{}}}}}", literal(name)?))).flatten();
    }
    let is_number = text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-')
        && serde_json::from_str::<serde_json::Number>(text).is_ok();
    (is_number || ["true", "false"].contains(&text)).then(|| text.to_owned())
}

/// Adds a check; false if there is no such check.
pub fn add(checks: &mut Checks, finding: &Statement, fill: &dyn Fn(&str) -> Option<String>) -> bool {
    if checks.is_full() {
        return false;
    }
    let filled = |value: &Option<String>| match value {
        Some(value) => fill(value).map(Some),
        None => Some(None),
    };
    match finding {
        Statement::Status(codes) => checks.status(codes.clone()),
        Statement::Text(text, is_there) => fill(text).is_some_and(|text| {
            checks.text(text, *is_there);
            true
        }),
        // The value of a field is no template.
        Statement::Header(name, value) => {
            !value.as_ref().is_some_and(|own| own.contains("{{")) && checks.header(name, value.clone())
        }
        Statement::Json(pointer, value) => {
            filled(value).is_some_and(|value| checks.json(&crate::text::literal(pointer), value))
        }
        Statement::Extract(..) | Statement::Set(..) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_tests_are_checks() {
        let text = r#"
            // The order is there.
            pm.test("Status; is { 201 }", function () {
                pm.response.to.have.status(201);
            });
            pm.test('short', () => pm.expect(pm.response.text()).to.include("a \"b\""));
            const body = pm.response.json();
            let item = body.items[0]
            pm.test(`value`, () => {
                pm.expect(item["a/b"])
                    .to.eql("x");
                pm.expect(body).to.have.property('id');
                pm.expect(body.paid).to.be.true;
            });
            pm.environment.set("token", body.data.token);
            pm.collectionVariables.set('n', 5);
            pm.globals.set("etag", pm.response.headers.get("ETag"));
            pm.environment.set("sid", pm.cookies.get("sid"));
            tests["old"] = responseCode.code === 201;
            tests["has"] = responseBody.has("z");
            console.log("done");
        "#;
        let extract = |name: &str, source: &str| Statement::Extract(name.into(), source.into());
        assert_eq!(
            read(text),
            Script {
                findings: vec![
                    Statement::Status(vec!["201".into()]),
                    Statement::Text("a \"b\"".into(), true),
                    Statement::Json("/items/0/a~1b".into(), Some("x".into())),
                    Statement::Json("/id".into(), None),
                    Statement::Json("/paid".into(), Some("true".into())),
                    extract("token", "{ json = \"/data/token\" }"),
                    Statement::Set("n".into(), "5".into()),
                    extract("etag", "{ header = \"ETag\" }"),
                    extract("sid", "{ cookie = \"sid\" }"),
                    Statement::Status(vec!["201".into()]),
                    Statement::Text("z".into(), true),
                ],
                passed_over: 0
            }
        );
    }

    /// Statements that need not happen are no checks, nor are those that say more than a check.
    #[test]
    fn what_has_no_equivalent_is_counted() {
        for (text, count) in [
            ("if (pm.response.code === 200) {\n pm.environment.set('a', 'b');\n}", 2),
            ("pm.expect(pm.response.responseTime).to.be.below(200);", 1),
            ("pm.expect(pm.response.code).to.not.eql(200);", 1),
            ("pm.expect(pm.response.text()).to.eql('x');", 1),
            ("pm.response.to.have.status('OK');\nrequire('x')", 2),
            ("pm.environment.set('a', Math.random());", 1),
            ("pm.environment.set('a', `x${y}`);", 1),
            ("pm.expect(body.a).to.eql(1);", 1),
            ("", 0),
            ("/* pm.response.to.have.status(200) */ // x", 0),
        ] {
            assert_eq!(read(text), Script { findings: Vec::new(), passed_over: count }, "{text}");
        }
        let long = "pm.environment.set('a', 1);".repeat(STATEMENTS_MAX + 1);
        assert_eq!(read(&long).findings, []);
        assert_eq!(read(&"(".repeat(SCRIPT_MAX + 1)).passed_over, 1);
        let _ = read(&"\n".repeat(100_000));
    }
}
