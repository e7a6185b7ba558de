//! The text below the flags of a command: prose, exit codes and examples, in paragraphs whose first lines are
//! their titles.

use clap::Command;

const EXAMPLES: &str = "Examples:";
const EXIT_CODES: &str = "Exit codes:";

/// The end of a command's help, in parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HelpFooter {
    /// Paragraphs without a title.
    pub prose: Vec<String>,
    /// Exit codes, each with what it means.
    pub exit_codes: Vec<(String, String)>,
    /// Command lines.
    pub examples: Vec<String>,
}

impl HelpFooter {
    /// The footer of `command`.
    pub fn of(command: &Command) -> HelpFooter {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut after = HelpFooter::default();
        for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            if let Some(rest) = paragraph.strip_prefix(EXAMPLES) {
                after.examples = examples(rest);
            } else if let Some(rest) = paragraph.strip_prefix(EXIT_CODES) {
                after.exit_codes = rest.lines().filter_map(exit_code).collect();
            } else {
                after.prose.push(paragraph.to_owned());
            }
        }
        after
    }
}

/// `  3   what it means`
fn exit_code(line: &str) -> Option<(String, String)> {
    let (code, meaning) = line.trim().split_once(' ')?;
    Some((code.to_owned(), meaning.trim().to_owned()))
}

/// Command lines, which go on behind a line that ends in `\`.
fn examples(text: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match examples.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => {
                last.push_str("\n    ");
                last.push_str(line.trim());
            }
            None => examples.push(line.trim().to_owned()),
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_divide_the_parts() {
        let text = "It runs\nuntil Ctrl-C.\n\nExit codes:\n  0    fine\n  130  ended by Ctrl-C\n\nExamples:\n  \
                    farfield run a\n  farfield run \\\n      --b";
        let after = HelpFooter::of(&Command::new("x").after_help(text));
        assert_eq!(after.prose, ["It runs\nuntil Ctrl-C."]);
        assert_eq!(after.exit_codes[1], ("130".to_owned(), "ended by Ctrl-C".to_owned()));
        assert_eq!(after.examples, ["farfield run a", "farfield run \\\n    --b"]);
    }
}
