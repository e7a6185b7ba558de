//! The index of all pages, `docs/experiments.md`: which claims of which pages do not hold, are undecided or
//! were not judged.
//!
//! That part of the index is written from the pages themselves, between two marks, whenever pages are
//! written. A test holds it against the pages, and sees to it that every page is linked.

use crate::page::State;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The index, from the root of the repository.
const FILE: &str = "docs/experiments.md";

/// The marks around the part that is written.
const MARKS: [&str; 2] =
    ["<!-- claims: written by `cargo xtask experiment` -->\n", "<!-- end of claims -->\n"];

/// A claim that does not hold, as its page has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    says: String,
    seen: String,
    verdict: String,
}

/// A page, and its claims that do not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// The folder of its figure, such as `wasp/figure-9`.
    name: String,
    /// The page has numbers.
    is_measured: bool,
    open: Vec<Open>,
}

/// Writes the index anew, from the pages below `root`, the root of the repository.
pub fn write(root: &Path) -> Result<()> {
    let file = root.join(FILE);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = with_claims(&text, &entries(&root.join(crate::FOLDER))?)?;
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The pages below `folder`, by name.
fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let pattern = |folder: &Path| -> Result<Vec<std::path::PathBuf>> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
        paths.retain(|path| path.is_dir());
        paths.sort();
        Ok(paths)
    };
    let mut found = Vec::new();
    for paper in pattern(folder)? {
        for figure in pattern(&paper)? {
            let Ok(page) = fs::read_to_string(figure.join("page.md")) else { continue };
            let name = figure.strip_prefix(folder)?.to_string_lossy().into_owned();
            found.push(entry(&name, &page));
        }
    }
    Ok(found)
}

/// The entry of the page `name` with this text.
fn entry(name: &str, page: &str) -> Entry {
    let is_measured = crate::experiment::is_measured(page);
    Entry { name: name.to_owned(), is_measured, open: page.lines().filter_map(open).collect() }
}

/// The claim of a row of a page's table, unless it holds or the line is none.
fn open(line: &str) -> Option<Open> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let [says, seen, verdict] = cells[..] else { return None };
    let states = [State::Undecided, State::NotJudged, State::Fails];
    let is_open = states.iter().any(|state| verdict.starts_with(state.words()));
    is_open.then(|| Open { says: says.to_owned(), seen: seen.to_owned(), verdict: verdict.to_owned() })
}

/// The index `text` with the part between the marks written from `entries`.
fn with_claims(text: &str, entries: &[Entry]) -> Result<String> {
    let [begin, end] = MARKS;
    let (Some((before, _)), Some((_, after))) = (text.split_once(begin), text.split_once(end)) else {
        bail!("{FILE} lacks the marks {begin}and {end}");
    };
    Ok(format!("{before}{begin}{}{end}{after}", claims(entries)))
}

/// The part between the marks.
fn claims(entries: &[Entry]) -> String {
    let link = |entry: &Entry| format!("[{0}](../experiments/{0}/page.md)", entry.name);
    let open = || entries.iter().filter(|entry| entry.is_measured && !entry.open.is_empty());
    let mut text = String::new();
    if open().next().is_some() {
        text.push_str("\n| page | claim | seen | verdict |\n| --- | --- | --- | --- |\n");
    }
    for entry in open() {
        for (number, Open { says, seen, verdict }) in entry.open.iter().enumerate() {
            let page = if number == 0 { link(entry) } else { String::new() };
            writeln!(text, "| {page} | {says} | {seen} | {verdict} |").expect("a String takes all");
        }
    }
    let unmeasured: Vec<String> = entries.iter().filter(|entry| !entry.is_measured).map(link).collect();
    if !unmeasured.is_empty() {
        text.push_str("\nNot measured in their present form, so that none of their claims is judged:\n");
        text.push_str(&unmeasured.join(",\n"));
        text.push_str(".\n");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Claim, Method, Page};

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn the_index_is_what_the_pages_say() {
        let text = fs::read_to_string(root().join(FILE)).unwrap();
        let entries = entries(&root().join(crate::FOLDER)).unwrap();
        let expected = with_claims(&text, &entries).unwrap();
        assert!(text == expected, "{FILE} is not what the pages say; run `cargo xtask experiment --index`");
        for Entry { name, .. } in entries {
            assert!(
                text.contains(&format!("(../experiments/{name}/page.md)")),
                "{FILE} does not link {name}"
            );
        }
    }

    /// A page as it is written, with a claim in each state: what is read back is what was judged.
    #[test]
    fn pages_are_read_as_they_are_written() {
        let claim = |state, because: &str| Claim {
            state,
            because: because.to_owned(),
            ..Claim::new(format!("it is {state:?}"), "1 ± 0", true)
        };
        let page = Page {
            title: "Title".to_owned(),
            source: "Paper".to_owned(),
            saw: "| a | table | **does not hold water** |\n".to_owned(),
            here: "Method.".to_owned(),
            claims: vec![
                claim(State::Holds, ""),
                claim(State::Fails, "a at 1"),
                claim(State::Undecided, ""),
                claim(State::NotJudged, "b at 2"),
            ],
            noticed: String::new(),
            tables: Vec::new(),
            charts: Vec::new(),
        };
        let found = entry("paper/figure-1", &page.markdown("paper/figure-1", Method::Study, "From seeds."));
        let verdicts: Vec<&str> = found.open.iter().map(|open| open.verdict.as_str()).collect();
        assert_eq!(verdicts, ["**does not hold**: a at 1", "**undecided**", "**not judged**: b at 2"]);
        assert!(found.is_measured);
        let text = claims(&[found, Entry { name: "p/f".to_owned(), is_measured: false, open: Vec::new() }]);
        let rows = "| [paper/figure-1](../experiments/paper/figure-1/page.md) | it is Fails | 1 ± 0 | **does not hold**: a at 1 |\n\
                    |  | it is Undecided | 1 ± 0 | **undecided** |\n";
        assert!(
            text.contains(rows) && text.contains("judged:\n[p/f](../experiments/p/f/page.md).\n"),
            "{text}"
        );
    }

    #[test]
    fn an_index_without_marks_is_refused() {
        assert!(with_claims("nothing", &[]).unwrap_err().to_string().contains("end of claims"));
        let [begin, end] = MARKS;
        let text = with_claims(&format!("a\n{begin}old\n{end}b\n"), &[]).unwrap();
        assert_eq!(text, format!("a\n{begin}\n{end}b\n"));
    }
}
