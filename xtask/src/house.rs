//! The rules for code that a script can check; the compiler and clippy check the others.
//!
//! Rules are of lines, not of syntax: a rule is a text that has no place in any Rust file, not even in a
//! comment.

use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A text that may stand nowhere, and why. Split, so that this file keeps its own rules.
const BANNED: &[(&str, &str)] = &[
    (concat!("#[", "ignore"), "a test that does not run guards nothing; let it skip itself, with a reason"),
    (concat!("todo", "!("), "what is not built is not there"),
    (concat!("unimplemented", "!("), "what is not built is not there"),
    (concat!("dbg", "!("), "it prints into other people's output"),
    (concat!("fn ", "get_"), "name what it returns"),
];

/// Calls that read a clock or wait for a length of time, in tests as elsewhere. A file with one says why, in
/// an `expect` of the lint that refuses it.
const CLOCKS: [&str; 3] =
    [concat!("thread::sl", "eep("), concat!("Instant::n", "ow("), concat!("SystemTime::n", "ow(")];

/// Names that say nothing of what a file holds.
const EMPTY_NAMES: [&str; 5] = ["util", "utils", "misc", "helper", "helpers"];

/// Words of no field, and the field's words for them. Looked for in identifiers, comments and texts alike.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    (concat!("to", "ld"), "reported, returned, recorded, passed"),
    (concat!("cr", "ew"), "workers"),
    (concat!("out", "box"), "sample channel"),
    (concat!("err", "and"), "pending request"),
];

/// Phrases of no field, and the field's for them.
const FOREIGN_PHRASES: &[(&str, &str)] = &[
    (concat!("cannot be ", "meant"), "invalid"),
    (concat!("unless ", "said"), "by default"),
    (concat!("chance ", "from"), "random numbers from"),
];

/// Openings of docs that hide what is documented.
const OPENINGS: [&str; 10] =
    ["Has ", "Have ", "Whose ", "The same", "What ", "Whether ", "How ", "Who ", "Whoever ", "Which "];

/// Comments end before this column.
const COMMENT_WIDTH: usize = 110;

/// Lines that are longer hold a text, or rustfmt would have wrapped them.
const CODE_WIDTH: usize = 120;

/// Lines of a file at most: one that has more holds more than one mechanism.
const FILE_LINES: usize = 600;

/// A rule that is broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    file: PathBuf,
    /// From 1.
    line: usize,
    what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// Reads every Rust file under `folders` and returns what breaks a rule, in order of files.
pub fn inspect(folders: &[&str]) -> Result<Vec<Complaint>> {
    let mut files = Vec::new();
    for folder in folders {
        rust_files(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut broken = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        broken.extend(inspect_file(&file, &text));
    }
    Ok(broken)
}

/// Complaints about words, phrases and openings of docs in a line that only insiders understand.
fn foreign(line: &str) -> Vec<String> {
    let lower = line.to_lowercase();
    let words: Vec<&str> = lower.split(|letter: char| !letter.is_alphanumeric()).collect();
    let found = FOREIGN_WORDS.iter().filter(|(word, _)| words.contains(word));
    let phrases = FOREIGN_PHRASES.iter().filter(|(phrase, _)| lower.contains(phrase));
    let mut broken: Vec<String> =
        found.chain(phrases).map(|(foreign, plain)| format!("`{foreign}`: write {plain}")).collect();
    let comment = line.trim_start();
    let doc = comment.strip_prefix("/// ").or_else(|| comment.strip_prefix("//! "));
    if let Some(opening) = doc.and_then(|doc| OPENINGS.iter().find(|opening| doc.starts_with(**opening))) {
        broken.push(format!("a doc opens with `{}`: name the thing first", opening.trim_end()));
    }
    broken
}

/// True if a line is a comment that goes past the width. Rows of tables cannot be wrapped.
fn is_too_wide(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
    line.trim_start().starts_with("//") && !text.starts_with('|') && line.chars().count() > COMMENT_WIDTH
}

/// True if a long line has a run of blanks in mid-sentence: where a text went on in the next line, with the
/// `\\` lost, so that its indentation became part of it.
fn has_lost_backslash(line: &str) -> bool {
    let is_gap = |(at, _): (usize, &str)| {
        let text = &line[..at];
        let before = text.ends_with(|letter: char| letter.is_alphanumeric() || letter == ',');
        let after = line[at..].trim_start().starts_with(char::is_lowercase);
        before && after && !text.ends_with("\\n")
    };
    line.chars().count() > CODE_WIDTH
        && !line.trim_start().starts_with("//")
        && line.contains('"')
        && line.match_indices("        ").any(is_gap)
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        let is_build = entry.file_name() == "target";
        if entry.file_type()?.is_dir() && !is_build {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn inspect_file(file: &Path, text: &str) -> Vec<Complaint> {
    let complain = |line, what: String| Complaint { file: file.to_owned(), line, what };
    let mut broken = Vec::new();
    let stem = file.file_stem().unwrap_or_default();
    if EMPTY_NAMES.iter().any(|name| stem == *name) {
        broken.push(complain(1, "name the file after the one mechanism it holds".to_owned()));
    }
    if !text.starts_with("//!") {
        broken.push(complain(1, "open the file with `//!`: what it does, and what it does not".to_owned()));
    }
    let lines = text.lines().count();
    if lines > FILE_LINES {
        broken
            .push(complain(1, format!("{lines} lines are more than {FILE_LINES}: cut it by what it holds")));
    }
    let says_why = text.contains("clippy::disallowed_methods");
    // Examples in docs stand between fences.
    let mut in_example = false;
    for (index, line) in text.lines().enumerate() {
        in_example ^= line.trim_start().starts_with("//") && line.contains("```");
        if has_lost_backslash(line) {
            broken.push(complain(
                index + 1,
                "a text has a run of blanks: end its line with a backslash".to_owned(),
            ));
        }
        if !in_example && is_too_wide(line) {
            broken.push(complain(index + 1, format!("a comment is wider than {COMMENT_WIDTH} columns")));
        }
        let is_comment = line.trim_start().starts_with("//");
        for call in CLOCKS.iter().filter(|call| !says_why && !is_comment && line.contains(**call)) {
            broken
                .push(complain(index + 1, format!("`{call})`: time is handed in; say why with an `expect`")));
        }
        let found = BANNED.iter().filter(|(banned, _)| line.contains(banned));
        broken.extend(found.map(|(banned, why)| complain(index + 1, format!("`{banned}`: {why}"))));
        broken.extend(foreign(line).into_iter().map(|what| complain(index + 1, what)));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(name: &str, text: &str) -> Vec<String> {
        inspect_file(Path::new(name), text).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_good_file_is_left_alone() {
        assert!(complaints("wheel.rs", "//! The event wheel.\n\nfn forget_all() {}\n").is_empty());
    }

    #[test]
    fn each_banned_text_is_found_where_it_stands() {
        for (banned, why) in BANNED {
            let text = format!("//! A file.\nfn f() {{}}\n{banned}\n");
            assert_eq!(complaints("a.rs", &text), [format!("a.rs:3: `{banned}`: {why}")]);
        }
    }

    #[test]
    fn clocks_are_read_with_a_reason() {
        for call in CLOCKS {
            let text = format!("//! A file.\nfn f() {{ {call}) }}\n// {call})\n");
            assert_eq!(complaints("a.rs", &text).len(), 1, "{call}");
            let reason = format!("{text}#[expect(clippy::disallowed_methods, reason = \"it measures\")]\n");
            assert!(complaints("a.rs", &reason).is_empty(), "{call}");
        }
    }

    #[test]
    fn names_and_first_lines_count() {
        assert_eq!(complaints("src/util.rs", "fn f() {}\n").len(), 2);
        let long = |lines| format!("//! A file.\n{}", "\n".repeat(lines - 1));
        assert!(complaints("a.rs", &long(FILE_LINES)).is_empty());
        let one_more = complaints("a.rs", &long(FILE_LINES + 1));
        assert_eq!(one_more, ["a.rs:1: 601 lines are more than 600: cut it by what it holds"]);
    }

    #[test]
    fn foreign_words_openings_and_wide_comments_are_found() {
        for line in ["let retold = 1;", "/// A crewless run.", "    // Whose it is stands elsewhere."] {
            assert_eq!(foreign(line), [""; 0], "{line}");
        }
        for (word, plain) in FOREIGN_WORDS {
            assert_eq!(foreign(&format!("fn {word}_again()")), [format!("`{word}`: write {plain}")]);
        }
        for opening in OPENINGS {
            assert_eq!(foreign(&format!("    /// {opening} x")).len(), 1, "{opening}");
        }
        let wide = format!("// {}", "ä".repeat(COMMENT_WIDTH - 3));
        assert!(!is_too_wide(&wide) && is_too_wide(&format!("{wide}ä")));
        let row = format!("//! | {} |", "a".repeat(COMMENT_WIDTH));
        let example = format!("//! A file.\n//! ```\n//! {row}{row}\n//! ```\n{row}\n{wide}ä\n");
        assert_eq!(complaints("a.rs", &example), ["a.rs:6: a comment is wider than 110 columns"]);
    }

    #[test]
    fn a_text_that_lost_its_backslash_is_found() {
        let text = format!("        \"{}, and write{}remove it\"", "a ".repeat(40), " ".repeat(17));
        assert!(has_lost_backslash(&text));
        let table = text.replace("remove", "17");
        assert!(!has_lost_backslash(&table) && !has_lost_backslash(&text.replace("write ", "write: ")));
        assert_eq!(complaints("a.rs", &format!("//! A file.\n{text}\n")).len(), 1);
    }

    #[test]
    fn this_program_keeps_the_rules() {
        assert_eq!(inspect(&[concat!(env!("CARGO_MANIFEST_DIR"), "/src")]).unwrap(), []);
    }
}
