//! Words of a shell's commands (POSIX.1-2017, Shell Command Language, 2.2, and bash's `$'…'`), as far as
//! commands that people copy need them.
//!
//! Nothing is executed. A variable that the text itself sets has its value; any other is kept as a mark, to
//! become a variable of farfield's environment. A command that needs more of a shell, such as the output of
//! another command, says so.

use crate::text::is_environment;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// Mark before and behind the name of a variable in a word: no word of a shell has it.
pub const MARK: char = '\0';

/// Bytes that variables stand for at most, together: a few that name one another stand for any length.
const VALUES_MAX: usize = 64 << 20;

/// Variables that are not set may have a default in place, and that another, to this depth.
const DEFAULTS_MAX: u32 = 8;

/// A command.
#[derive(Debug, Default, PartialEq)]
pub struct Command {
    /// The command's first line, from 1.
    pub line: usize,
    /// The command's words, the program first.
    pub words: Vec<String>,
    /// Part of a shell that it needs and that is not there.
    pub problem: Option<&'static str>,
    /// The command was ended by a `&` outside of quotes.
    pub ampersand: bool,
}

/// The commands of a text; `given` are variables whose value is the user's, whatever the text sets.
///
/// # Errors
/// A quote that is not closed, with its line; variables that stand for too much.
pub fn commands(text: &str, given: &BTreeMap<String, String>) -> Result<Vec<Command>, String> {
    let value = |value: &String| match crate::environment(value) {
        Some(name) => format!("{MARK}{name}{MARK}"),
        None => value.replace(MARK, ""),
    };
    let mut lexer = Lexer {
        chars: text.chars().peekable(),
        line: 1,
        given,
        known: given.iter().map(|(name, own)| (name.clone(), value(own))).collect(),
        left: Some(VALUES_MAX),
        commands: Vec::new(),
        command: Command { line: 1, ..Command::default() },
        word: None,
        redirected: false,
    };
    while let Some(letter) = lexer.next() {
        lexer.plain(letter)?;
        if lexer.left.is_none() {
            return Err(format!("line {}: variables stand for more than 64 MiB", lexer.line));
        }
    }
    lexer.end_command();
    Ok(lexer.commands)
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    given: &'a BTreeMap<String, String>,
    known: BTreeMap<String, String>,
    /// Bytes of variables that are left.
    left: Option<usize>,
    commands: Vec<Command>,
    command: Command,
    word: Option<String>,
    /// The next word is the name of a file.
    redirected: bool,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.chars.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn needs(&mut self, what: &'static str) {
        self.command.problem.get_or_insert(what);
    }

    /// A character outside of quotes.
    fn plain(&mut self, letter: char) -> Result<(), String> {
        match letter {
            ' ' | '\t' | '\r' => self.end_word(),
            '\n' | ';' | '(' | ')' => self.end_command(),
            '#' if self.word.is_none() => {
                while self.chars.peek().is_some_and(|letter| *letter != '\n') {
                    self.next();
                }
            }
            '&' | '|' => {
                let twice = self.chars.next_if_eq(&letter).is_some();
                self.command.ampersand = letter == '&' && !twice && !self.command.words.is_empty();
                self.end_command();
            }
            '<' | '>' => self.redirect(letter),
            '\\' => match self.next() {
                Some('\n') => {}
                Some('\r') if self.chars.peek() == Some(&'\n') => _ = self.next(),
                Some(letter) => self.push(letter),
                None => {}
            },
            '\'' => {
                self.word.get_or_insert_default();
                self.quoted()?;
            }
            '"' => {
                self.word.get_or_insert_default();
                self.double_quoted()?;
            }
            '`' => self.substitution('`'),
            '$' => self.dollar(false)?,
            letter => self.push(letter),
        }
        Ok(())
    }

    fn redirect(&mut self, letter: char) {
        // `2>`: the number is no word.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if letter == '<' {
            self.needs("whose input comes from a file or from its text, as with `<`");
        }
        while self.chars.peek().is_some_and(|next| ['<', '>', '&', '|', '-'].contains(next)) {
            self.next();
        }
        self.redirected = true;
    }

    fn quoted(&mut self) -> Result<(), String> {
        let line = self.line;
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(letter) => self.push(letter),
                None => return Err(format!("line {line}: a quote `'` is not closed")),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), String> {
        let line = self.line;
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some('\r') if self.chars.peek() == Some(&'\n') => _ = self.next(),
                    Some(letter @ ('$' | '`' | '"' | '\\')) => self.push(letter),
                    Some(letter) => {
                        self.push('\\');
                        self.push(letter);
                    }
                    None => {}
                },
                Some('`') => self.substitution('`'),
                Some('$') => self.dollar(true)?,
                Some(letter) => self.push(letter),
                None => return Err(format!("line {line}: a quote `\"` is not closed")),
            }
        }
    }

    /// Reads the words after a `$`.
    fn dollar(&mut self, in_quotes: bool) -> Result<(), String> {
        match self.chars.peek().copied() {
            Some('\'') if !in_quotes => {
                self.next();
                return self.ansi_quoted();
            }
            Some('"') if !in_quotes => {
                self.next();
                self.word.get_or_insert_default();
                return self.double_quoted();
            }
            Some('(') => self.substitution(')'),
            Some('{') => {
                self.next();
                let (mut inside, mut open) = (String::new(), 1);
                loop {
                    match self.next() {
                        Some('}') if open == 1 => break,
                        Some(letter) => {
                            open += i32::from(letter == '{') - i32::from(letter == '}');
                            inside.push(letter);
                        }
                        None => return Err(format!("line {}: a `${{` is not closed", self.line)),
                    }
                }
                self.parameter(&inside, 0);
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let mut name = String::new();
                while let Some(letter) =
                    self.chars.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                {
                    name.push(letter);
                }
                self.parameter(&name, 0);
            }
            Some(letter) if letter.is_ascii_digit() || "@*#?-!$".contains(letter) => {
                self.needs("with a parameter of a shell's script");
            }
            _ => self.push('$'),
        }
        Ok(())
    }

    /// `NAME`, or `NAME:-DEFAULT`.
    fn parameter(&mut self, inside: &str, depth: u32) {
        let (name, default) = match inside.split_once(":-").or_else(|| inside.split_once('-')) {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_environment(name) || depth == DEFAULTS_MAX {
            return self.needs("with a parameter of a shell's script");
        }
        let word = self.word.get_or_insert_default();
        match (self.known.get(name), default) {
            (Some(value), _) => {
                self.left = self.left.and_then(|left| left.checked_sub(value.len() + 1));
                if self.left.is_some() {
                    word.push_str(value);
                }
            }
            (None, Some(default)) if default.contains('$') => match default.strip_prefix('$') {
                Some(other) => {
                    let other = other.trim_start_matches('{').to_owned();
                    self.parameter(&other, depth + 1);
                }
                None => self.needs("with a parameter of a shell's script"),
            },
            (None, Some(default)) => word.push_str(default),
            (None, None) => {
                word.push(MARK);
                word.push_str(name);
                word.push(MARK);
            }
        }
    }

    /// The output of a command, which is not executed.
    fn substitution(&mut self, end: char) {
        self.needs("with the output of another command");
        let mut depth = 0_u32;
        while let Some(letter) = self.next() {
            match letter {
                '(' if end == ')' => depth += 1,
                ')' if end == ')' && depth > 1 => depth -= 1,
                letter if letter == end => return,
                _ => {}
            }
        }
    }

    /// `$'…'` (bash, ANSI-C Quoting).
    fn ansi_quoted(&mut self) -> Result<(), String> {
        let line = self.line;
        let mut bytes = Vec::new();
        loop {
            let Some(letter) = self.next() else {
                return Err(format!("line {line}: a quote `$'` is not closed"));
            };
            match letter {
                '\'' => break,
                '\\' => self.escape(&mut bytes),
                letter => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        // As in bash, a zero ends the text.
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        match std::str::from_utf8(&bytes[..end]) {
            Ok(text) => self.word.get_or_insert_default().push_str(text),
            Err(_) => self.needs("with bytes that are no text in UTF-8"),
        }
        Ok(())
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(letter) = self.next() else { return };
        let simple = match letter {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 0x1b,
            'f' => 0x0c,
            'v' => 0x0b,
            '\\' | '\'' | '"' | '?' => letter as u8,
            'x' => return bytes.extend(self.digits(16, 2, None).map(|code| code as u8)),
            '0'..='7' => return bytes.extend(self.digits(8, 3, Some(letter)).map(|code| code as u8)),
            'u' | 'U' => {
                let code = self.digits(16, if letter == 'u' { 4 } else { 8 }, None).and_then(char::from_u32);
                match code {
                    Some(code) => bytes.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes()),
                    None => self.needs("with a character that is none of Unicode"),
                }
                return;
            }
            'c' => {
                bytes.extend(self.next().map(|letter| letter as u8 & 0x1f));
                return;
            }
            letter => {
                bytes.push(b'\\');
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
        };
        bytes.push(simple);
    }

    /// A number of at most so many digits.
    fn digits(&mut self, radix: u32, max: usize, first: Option<char>) -> Option<u32> {
        let mut digits: String = first.into_iter().collect();
        while digits.len() < max
            && let Some(digit) = self.chars.next_if(|letter| letter.is_digit(radix))
        {
            digits.push(digit);
        }
        u32::from_str_radix(&digits, radix).ok()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.redirected) {
            return;
        }
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirected = false;
        let mut command = std::mem::take(&mut self.command);
        self.command.line = self.line;
        if command.words.first().is_some_and(|word| word == "$") {
            // The prompt of a documentation's shell.
            command.words.remove(0);
        }
        let assigns = |word: &String| {
            let (name, value) = word.split_once('=')?;
            is_environment(name).then(|| (name.to_owned(), value.to_owned()))
        };
        if command.words.first().is_some_and(|word| word == "export") {
            command.words.remove(0);
        }
        if command.words.iter().all(|word| assigns(word).is_some()) {
            if command.problem.is_none() {
                let set = command.words.iter().filter_map(assigns);
                self.known.extend(set.filter(|(name, _)| !self.given.contains_key(name)));
            }
            return;
        }
        // Those for this command alone concern no curl.
        while command.words.first().is_some_and(|word| assigns(word).is_some()) {
            command.words.remove(0);
        }
        self.commands.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let found = commands(text, &BTreeMap::new()).expect(text);
        found.into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn words_are_those_of_bash() {
        for (text, expected) in [
            (r#"curl 'a b' "c \"d\" \$e \\ \x" f\ g"#, vec!["curl", "a b", "c \"d\" $e \\ \\x", "f g"]),
            ("curl \\\n  -H 'x' \\\r\n y", vec!["curl", "-H", "x", "y"]),
            (r"curl $'a\'b\n\x41\u00e9\101\\ é'z", vec!["curl", "a'b\nAéA\\ éz"]),
            ("curl ''\"\" a''b", vec!["curl", "", "ab"]),
            ("# one\n$ curl a # two", vec!["curl", "a"]),
            ("curl a 2>/dev/null >x", vec!["curl", "a"]),
            ("curl \"$A\" ${B}c ${C:-d} '$E' $", vec!["curl", "\0A\0", "\0B\0c", "d", "$E", "$"]),
            ("A=1 B='x y'\nexport C=3; curl $A-$B$C", vec!["curl", "1-x y3"]),
            ("curl 'it'\\''s'", vec!["curl", "it's"]),
            ("curl a#b", vec!["curl", "a#b"]),
        ] {
            assert_eq!(words(text), [expected], "{text}");
        }
        assert_eq!(
            words("curl a; curl b && curl c | jq .x"),
            [vec!["curl", "a"], vec!["curl", "b"], vec!["curl", "c"], vec!["jq", ".x"]]
        );
    }

    #[test]
    fn what_needs_a_shell_says_so() {
        for (text, part) in [
            ("curl $(cat x) b", "output of another"),
            ("curl `cat x` b", "output of another"),
            ("curl \"$(a (b) c)\" b", "output of another"),
            ("curl -d @- <<X", "input"),
            ("curl $1", "parameter"),
            ("curl ${A#b}", "parameter"),
            (r"curl $'\xff'", "no text"),
        ] {
            let found = commands(text, &BTreeMap::new()).expect(text);
            assert!(found[0].problem.expect(text).contains(part), "{text}: {found:?}");
        }
        for text in ["curl 'a", "curl \"a", "curl $'a", "curl ${a"] {
            assert!(commands(text, &BTreeMap::new()).expect_err(text).contains("not closed"), "{text}");
        }
        assert!(commands("curl http://a/?b=1&c=2", &BTreeMap::new()).expect("words")[0].ampersand);
    }

    #[test]
    fn what_variables_stand_for_is_bounded() {
        let text = format!("A=xxxxxxxx\n{}curl $A", "A=$A$A\n".repeat(40));
        assert!(commands(&text, &BTreeMap::new()).expect_err("endless").contains("64 MiB"));
    }

    #[test]
    fn a_value_by_hand_is_not_set_by_the_text() {
        let given = [("BASE", "http://127.0.0.1"), ("T", "${env.TOKEN}")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let found = commands("BASE=http://prod.example T=x\ncurl $BASE/$T", &given).expect("words");
        assert_eq!(found[0].words, ["curl", "http://127.0.0.1/\0TOKEN\0"]);
    }

    proptest! {
        /// Words in a shell's own quoting are read back.
        #[test]
        fn quoted_words_are_read_back(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            let found = commands(&format!("x {}", quoted.join(" ")), &BTreeMap::new()).expect("words");
            prop_assert_eq!(&found[0].words[1..], &words[..]);
        }

        #[test]
        fn any_text_has_commands_or_none(text in "[a-z$'\"\\\\ {}()<>|&;#\n=-]{0,60}") {
            let _ = commands(&text, &BTreeMap::new());
        }
    }
}
