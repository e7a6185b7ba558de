//! Links of pages in Markdown: files and headings that they name are there, and the table of contents has
//! every page of the book, and the page of commands every man page.
//!
//! A heading is named as forges name it: in lower case, without punctuation, with `-` for each blank; the
//! second of a name ends in `-1`. Links to other hosts are not followed.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The table of contents.
pub const CONTENTS: &str = "docs/SUMMARY.md";
/// The page that has every man page.
const COMMAND_LINE: &str = "docs/command-line.md";
/// The folder of the man pages.
const MAN_PAGES: &str = "docs/man";
/// Pages outside the book that have links into it.
const BESIDE: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// A link in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its line, from 1.
    pub line: usize,
    /// The file, by its path from the repository's root; the page itself if the link names a heading alone.
    pub file: PathBuf,
    /// The heading, if it names one.
    pub heading: Option<String>,
}

/// Checks the links of all pages below `docs` and of those beside it.
pub fn check() -> Result<()> {
    let pages: BTreeSet<PathBuf> = below("docs")?.into_iter().chain(BESIDE.map(PathBuf::from)).collect();
    let contents = fs::read_to_string(CONTENTS).context("cannot read the table of contents")?;
    let listed: BTreeSet<PathBuf> =
        links(Path::new(CONTENTS), &contents).into_iter().map(|link| link.file).collect();
    let mut wrong: Vec<String> = pages
        .iter()
        .filter(|page| page.starts_with("docs") && page.as_path() != Path::new(CONTENTS))
        .filter(|page| !listed.contains(*page))
        .map(|page| format!("{CONTENTS} has no {}", page.display()))
        .collect();
    let mut headings = BTreeMap::new();
    let mut count = 0;
    for page in &pages {
        let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
        for link in links(page, &text) {
            count += 1;
            wrong.extend(complaint(page, &link, &mut headings)?);
        }
    }
    let command_line = fs::read_to_string(COMMAND_LINE).context("cannot read the page of commands")?;
    let manuals = files_of(Path::new(MAN_PAGES))?;
    wrong.extend(without_link(Path::new(COMMAND_LINE), &command_line, &manuals));
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{count} links of {} pages lead somewhere.", pages.len());
    Ok(())
}

/// The files of a folder.
fn files_of(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

/// A complaint for each of `files` that a page does not link to.
fn without_link(page: &Path, text: &str, files: &BTreeSet<PathBuf>) -> Vec<String> {
    let linked: BTreeSet<PathBuf> = links(page, text).into_iter().map(|link| link.file).collect();
    files.difference(&linked).map(|file| format!("{} has no {}", page.display(), file.display())).collect()
}

fn complaint(
    page: &Path,
    link: &Link,
    known: &mut BTreeMap<PathBuf, BTreeSet<String>>,
) -> Result<Option<String>> {
    let at = format!("{}:{}", page.display(), link.line);
    if !link.file.exists() {
        return Ok(Some(format!("{at}: there is no {}", link.file.display())));
    }
    let Some(heading) = &link.heading else { return Ok(None) };
    if !known.contains_key(&link.file) {
        let text = fs::read_to_string(&link.file)?;
        known.insert(link.file.clone(), headings(&text));
    }
    let is_there = known.get(&link.file).is_some_and(|all| all.contains(heading));
    Ok((!is_there).then(|| format!("{at}: {} has no heading `#{heading}`", link.file.display())))
}

/// The pages below a folder.
fn below(folder: &str) -> Result<Vec<PathBuf>> {
    let (mut pages, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    Ok(pages)
}

/// The links of a page to files of the repository, code left out.
pub fn links(page: &Path, text: &str) -> Vec<Link> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let targets = words.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        for target in targets {
            let target = target.split_whitespace().next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = match target.split_once('#') {
                Some((file, heading)) => (file, Some(heading.to_owned())),
                None => (target, None),
            };
            let file = if file.is_empty() { page.to_owned() } else { plain(&folder.join(file)) };
            found.push(Link { line, file, heading });
        }
    }
    found
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if plain.pop() => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The lines outside blocks of code, by number, without code that stands in them.
fn prose(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut in_code) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((index + 1, line.split('`').step_by(2).collect()));
        }
    }
    lines
}

/// The names of a page's headings, as links name them.
pub fn headings(text: &str) -> BTreeSet<String> {
    let (mut names, mut in_code) = (BTreeSet::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if in_code || level == 0 || !line[level..].starts_with(' ') {
            continue;
        }
        let name = name_of(&line[level..]);
        let again = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// The name of a heading: of a link in it, its text.
fn name_of(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading.trim();
    while let Some((before, link)) = rest.split_once("](") {
        text.push_str(before);
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let letters = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_those_of_prose_to_files() {
        let text =
            "[a](b.md#c) `[no](code.md)` [d](../e.toml)\n```\n[no](block.md)\n```\n[f](#g) [h](http://i/)\n";
        let link = |line, file: &str, heading: Option<&str>| Link {
            line,
            file: file.into(),
            heading: heading.map(str::to_owned),
        };
        let expected = [
            link(1, "docs/lab/b.md", Some("c")),
            link(1, "docs/e.toml", None),
            link(5, "docs/lab/a.md", Some("g")),
        ];
        assert_eq!(links(Path::new("docs/lab/a.md"), text), expected);
    }

    #[test]
    fn headings_are_named_as_forges_name_them() {
        let text = "# `[load]`: a *load*, on time\n## Twice\n## Twice\n```\n# a comment\n```\n## TLS and HTTP/2 [x](y.md)\n";
        let names = ["load-a-load-on-time", "twice", "twice-1", "tls-and-http2-x"];
        assert_eq!(headings(text), names.map(str::to_owned).into());
    }

    #[test]
    fn a_man_page_without_a_link_is_a_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["farfield-fit.1", "farfield-run.1"];
        for name in names {
            fs::write(folder.path().join(name), ".TH").unwrap();
        }
        let files = files_of(folder.path()).unwrap();
        assert_eq!(files.len(), 2);
        let page = folder.path().join("commands.md");
        let both = "| [farfield-fit(1)](farfield-fit.1) |\n| [farfield-run(1)](farfield-run.1) |\n";
        assert!(without_link(&page, both, &files).is_empty());
        // Code is no link.
        let one = "| [farfield-fit(1)](farfield-fit.1) |\n`[farfield-run(1)](farfield-run.1)`\n";
        let said = without_link(&page, one, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].ends_with("farfield-run.1"), "{said:?}");
    }

    #[test]
    fn what_is_not_there_is_a_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a.md");
        fs::write(&page, "# One\n").unwrap();
        let link = |file: &Path, heading: &str| Link {
            line: 7,
            file: file.to_owned(),
            heading: Some(heading.to_owned()),
        };
        let said = |link: &Link| complaint(Path::new("docs/x.md"), link, &mut BTreeMap::new()).unwrap();
        assert_eq!(said(&link(&page, "one")), None);
        assert!(said(&link(&page, "two")).unwrap().contains("docs/x.md:7: "));
        assert!(said(&link(&folder.path().join("b.md"), "one")).unwrap().contains("there is no"));
    }
}
