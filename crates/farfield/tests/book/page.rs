//! Commands of a page in Markdown: blocks of `console` and `sh`, in order, with what the page shows of their
//! output.
//!
//! A comment before a block says what the test cannot know; readers do not see it:
//!
//! | comment | the block |
//! | --- | --- |
//! | `<!-- not run: REASON -->` | is not run |
//! | `<!-- run: exit 3 -->` | its last command ends with this exit code; 0 without the comment |
//! | `<!-- run: each exit 2 -->` | each of its commands does |
//! | `<!-- run: exit 0 or 99 -->` | with one of these: a threshold that a busy machine may break |
//! | `<!-- run: other output, REASON -->` | what it shows is not compared |
//! | `<!-- file: NAME -->` | of any language: is the file NAME, made before what follows is run |
//! | `<!-- setup: COMMAND -->` | anywhere: a command that readers need not see |
//!
//! In a block of `console` commands begin with `$ `, and go on in the next line behind `\` or a line that
//! begins with `> `; other lines are output. `$ cat NAME` of a file that is not there makes it. A block of
//! `sh` is commands alone, and is one command if it has compound commands in it. Blocks begin at the left
//! margin with three backquotes and one of [`LANGUAGES`], so that no block of commands is overlooked.

/// Words behind the backquotes of blocks. Those of shells are `console` and `sh` alone.
const LANGUAGES: [&str; 8] = ["", "console", "python", "sh", "sql", "text", "toml", "yaml"];

/// A command of a page, or a file that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its line in the page, from 1.
    pub line: usize,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Command {
        text: String,
        /// The exit codes that it may end with.
        exits: Vec<i32>,
        /// Output as the page shows it; empty if it is not compared.
        shown: Vec<String>,
    },
    File {
        name: String,
        content: String,
        /// True if it is made although there is one.
        replaces: bool,
    },
}

/// The steps of a page, the number of its blocks that run, and the reasons of those that do not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub steps: Vec<Step>,
    pub run: usize,
    /// Line and reason of each block that is not run.
    pub not_run: Vec<(usize, String)>,
}

/// A fenced block with the comment before it.
struct Block<'a> {
    /// The line of its first line of content, from 1.
    line: usize,
    language: &'a str,
    comment: Option<&'a str>,
    content: Vec<&'a str>,
}

/// The manner in which a block is run, by its comment.
struct Way {
    exits: Vec<i32>,
    /// True if each command ends so, and not the last alone.
    is_of_each: bool,
    compares: bool,
}

impl Way {
    fn of(block: &Block<'_>) -> Result<Way, String> {
        let mut way = Way { exits: vec![0], is_of_each: false, compares: true };
        let words = block.comment.and_then(|words| words.strip_prefix("run: "));
        for option in words.into_iter().flat_map(|words| words.split("; ")) {
            let each = option.strip_prefix("each ");
            let codes = each.unwrap_or(option).strip_prefix("exit ");
            match (codes.map(|codes| codes.split(" or ").map(str::parse).collect()), each) {
                (Some(Ok(codes)), _) => (way.exits, way.is_of_each) = (codes, each.is_some()),
                (None, None) if option.starts_with("other output, ") => way.compares = false,
                _ => return Err(format!("line {}: `{option}` is no way to run a block", block.line - 1)),
            }
        }
        Ok(way)
    }
}

impl Page {
    /// Reads a page; fails with line and reason on a comment that says nothing known, or a block without end.
    pub fn read(text: &str) -> Result<Page, String> {
        let mut page = Page::default();
        let (mut comment, mut block): (Option<&str>, Option<Block<'_>>) = (None, None);
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(open) = &mut block {
                if line.trim_end() == "```" {
                    page.add(open)?;
                    block = None;
                } else {
                    open.content.push(line);
                }
            } else if let Some(language) = line.strip_prefix("```") {
                let language = language.trim_end();
                if !LANGUAGES.contains(&language) {
                    return Err(format!("line {number}: a block in `{language}`, not in {LANGUAGES:?}"));
                }
                block =
                    Some(Block { line: number + 1, language, comment: comment.take(), content: Vec::new() });
            } else if is_other_fence(line) {
                return Err(format!("line {number}: a block begins with ``` at the left margin"));
            } else if let Some(words) = comment_of(line) {
                match words.strip_prefix("setup: ") {
                    Some(setup) => page.command(number, setup.to_owned()),
                    None => comment = Some(words),
                }
            } else if !line.trim().is_empty() {
                comment = None;
            }
        }
        match block {
            Some(open) => Err(format!("line {}: a block without an end", open.line)),
            None => Ok(page),
        }
    }

    fn add(&mut self, block: &Block<'_>) -> Result<(), String> {
        if let Some(name) = block.comment.and_then(|words| words.strip_prefix("file: ")) {
            let content = block.content.iter().map(|line| format!("{line}\n")).collect();
            let action = Action::File { name: name.to_owned(), content, replaces: true };
            self.steps.push(Step { line: block.line, action });
            return Ok(());
        }
        if !["console", "sh"].contains(&block.language) {
            let prompt = (block.line..).zip(&block.content).find(|(_, line)| line.starts_with("$ "));
            return prompt.map_or(Ok(()), |(number, _)| {
                Err(format!("line {number}: a command in a block of `{}`, not of console", block.language))
            });
        }
        if let Some(reason) = block.comment.and_then(|words| words.strip_prefix("not run: ")) {
            self.not_run.push((block.line, reason.to_owned()));
            return Ok(());
        }
        let way = Way::of(block)?;
        self.run += 1;
        let begin = self.steps.len();
        match block.language {
            "sh" => self.add_script(block),
            _ => self.add_session(block, way.compares)?,
        }
        let first = if way.is_of_each { begin } else { self.steps.len().saturating_sub(1).max(begin) };
        for step in &mut self.steps[first..] {
            if let Action::Command { exits, .. } = &mut step.action {
                exits.clone_from(&way.exits);
            }
        }
        match self.steps[begin..].last().map(|step| &step.action) {
            Some(Action::Command { .. }) => {}
            Some(Action::File { .. }) if way.exits == [0] => {}
            _ => return Err(format!("line {}: a block without a command", block.line - 1)),
        }
        Ok(())
    }

    fn command(&mut self, line: usize, text: String) {
        self.steps.push(Step { line, action: Action::Command { text, exits: vec![0], shown: Vec::new() } });
    }

    fn add_script(&mut self, block: &Block<'_>) {
        let compound =
            |line: &&str| line.contains("<<") || line.ends_with("; do") || line.ends_with("; then");
        if block.content.iter().any(compound) {
            return self.command(block.line, block.content.join("\n"));
        }
        let mut open = false;
        for (number, line) in (block.line..).zip(&block.content) {
            match self.steps.last_mut().map(|step| &mut step.action) {
                Some(Action::Command { text, .. }) if open => {
                    text.push('\n');
                    text.push_str(line);
                }
                _ if line.trim().is_empty() || line.starts_with('#') => continue,
                _ => self.command(number, (*line).to_owned()),
            }
            open = line.ends_with('\\');
        }
    }

    fn add_session(&mut self, block: &Block<'_>, compares: bool) -> Result<(), String> {
        let mut open = false;
        let begin = self.steps.len();
        for (number, line) in (block.line..).zip(&block.content) {
            let is_first = self.steps.len() == begin;
            match (line.strip_prefix("$ "), self.steps.last_mut().map(|step| &mut step.action)) {
                (Some(command), _) => {
                    self.command(number, command.to_owned());
                    open = command.ends_with('\\');
                }
                (None, Some(Action::Command { text, .. }))
                    if !is_first && (open || line.starts_with("> ")) =>
                {
                    text.push('\n');
                    text.push_str(line.strip_prefix("> ").unwrap_or(line));
                    open = line.ends_with('\\');
                }
                (None, Some(Action::Command { shown, .. })) if !is_first => shown.push((*line).to_owned()),
                _ => return Err(format!("line {number}: output before a command")),
            }
        }
        for step in &mut self.steps[begin..] {
            let Action::Command { text, shown, .. } = &mut step.action else { continue };
            if let Some(name) = text.strip_prefix("cat ").filter(|name| !name.contains(' '))
                && !shown.is_empty()
            {
                let content = shown.iter().map(|line| format!("{line}\n")).collect();
                step.action = Action::File { name: name.to_owned(), content, replaces: false };
            } else if !compares {
                shown.clear();
            }
        }
        Ok(())
    }
}

/// True if a line begins a block that is indented, quoted, in a list, or between tildes.
fn is_other_fence(line: &str) -> bool {
    let text =
        line.trim_start_matches(|letter: char| " \t>-*+.)".contains(letter) || letter.is_ascii_digit());
    text.starts_with("```") || text.starts_with("~~~")
}

/// The words of a line that is a comment.
fn comment_of(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim())
}

/// The first words of the lines in `shown` with which no line of `output` begins: labels of results, which
/// stay where figures differ from run to run. A sentence on a word that is refused is compared as a whole.
pub fn absent<'a>(shown: &'a [String], output: &str) -> Vec<&'a str> {
    let first = |line: &'a str| line.split_whitespace().next().unwrap_or_default();
    let labels = shown.iter().map(|line| first(line)).filter(|word| {
        word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-')
    });
    let sentences = shown.iter().map(String::as_str).filter(|line| line.starts_with("farfield: `"));
    labels
        .filter(|label| !output.lines().any(|line| line.split_whitespace().next() == Some(*label)))
        .chain(sentences.filter(|sentence| !output.lines().any(|line| line == *sentence)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: usize, text: &str, exit: i32, shown: &[&str]) -> Step {
        let shown = shown.iter().map(|line| (*line).to_owned()).collect();
        Step { line, action: Action::Command { text: text.to_owned(), exits: vec![exit], shown } }
    }

    #[test]
    fn sessions_are_commands_and_their_output() {
        let text = "# A page\n<!-- setup: serve & -->\n\n<!-- run: exit 3 -->\n```console\n$ one \\\n  more\n$ two\nout\n```\n";
        let page = Page::read(text).unwrap();
        let steps = [
            command(2, "serve &", 0, &[]),
            command(6, "one \\\n  more", 0, &[]),
            command(8, "two", 3, &["out"]),
        ];
        assert_eq!(page.steps, steps);
        assert_eq!((page.run, page.not_run.len()), (1, 0));
    }

    #[test]
    fn scripts_are_a_command_a_line_unless_they_are_compound() {
        let page = Page::read("```sh\none   # first\n\n# only a comment\ntwo \\\n  more\n```\n").unwrap();
        assert_eq!(page.steps, [command(2, "one   # first", 0, &[]), command(5, "two \\\n  more", 0, &[])]);
        let page = Page::read("```sh\ncat > a <<'EOF'\nx\nEOF\n```\n").unwrap();
        assert_eq!(page.steps, [command(2, "cat > a <<'EOF'\nx\nEOF", 0, &[])]);
    }

    #[test]
    fn what_is_not_run_has_a_reason_and_other_languages_are_no_commands() {
        let page = Page::read("<!-- not run: no such host -->\n```sh\none\n```\ntext\n```toml\na = 1\n```\n")
            .unwrap();
        assert_eq!(page, Page { not_run: vec![(3, "no such host".to_owned())], ..Page::default() });
        // A comment stands before its block, with no words between.
        let page = Page::read("<!-- not run: no such host -->\nwords\n```sh\none\n```\n").unwrap();
        assert_eq!(page.run, 1);
    }

    #[test]
    fn files_are_made_of_blocks_and_of_what_cat_shows() {
        let text = "<!-- file: a.toml -->\n```toml\na = 1\n```\n```console\n$ cat b\nb\n$ cat c d\n```\n";
        let file = |line, name: &str, content: &str, replaces| Step {
            line,
            action: Action::File { name: name.to_owned(), content: content.to_owned(), replaces },
        };
        let steps = Page::read(text).unwrap().steps;
        assert_eq!(
            steps,
            [file(3, "a.toml", "a = 1\n", true), file(6, "b", "b\n", false), command(8, "cat c d", 0, &[])]
        );
    }

    #[test]
    fn unknown_comments_and_blocks_without_an_end_are_refused() {
        for (text, said) in [
            ("<!-- run: exits 3 -->\n```sh\none\n```\n", "line 2: `exits 3` is no way"),
            ("```sh\none\n", "line 2: a block without an end"),
            ("```console\nout\n```\n", "line 2: output before"),
            ("```sh\n# nothing\n```\n", "line 1: a block without a command"),
            ("text\n```bash\none\n```\n", "line 2: a block in `bash`, not in"),
            ("``` console\n$ one\n```\n", "line 1: a block in ` console`, not in"),
            ("```text\nwords\n$ one\n```\n", "line 3: a command in a block of `text`"),
            ("````sh\none\n````\n", "line 1: a block in ``sh`, not in"),
            ("~~~console\n$ one\n~~~\n", "line 1: a block begins with ``` at"),
            ("- words\n\n  ```console\n  $ one\n  ```\n", "line 3: a block begins with ``` at"),
            ("1. ```console\n", "line 1: a block begins with ``` at"),
            ("> ```sh\n> one\n> ```\n", "line 1: a block begins with ``` at"),
        ] {
            let error = Page::read(text).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn labels_that_are_not_printed_are_found() {
        let shown: Vec<String> =
            ["VALID  17 checks", "…", "p99 4ms", "rate  3/s", "100 1ms"].map(str::to_owned).into();
        assert_eq!(absent(&shown, "run\n  rate  5/s\nINVALID 1\n"), ["VALID"]);
    }
}
