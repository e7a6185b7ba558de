//! Promises and the tests that hold them: a table of a page with a column `test` names tests that are in the
//! tree. SECURITY.md promises nothing without such a table.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The page whose every section has a table of tests, but for those that promise nothing of the program.
const SECURITY: &str = "SECURITY.md";
const WITHOUT_PROMISES: [&str; 2] = ["Dependencies", "Reporting a vulnerability"];

/// Checks that SECURITY.md and the pages of `docs` name tests that there are.
pub fn check() -> Result<()> {
    let tests = tests_below(&["crates", "xtask"])?;
    let mut pages = vec![PathBuf::from(SECURITY)];
    for entry in fs::read_dir("docs").context("cannot read docs")? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    let (mut named, mut wrong) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
        let rows = rows(&text);
        named += rows.iter().map(|row| row.tests.len()).sum::<usize>();
        wrong.extend(complaints(page, &rows, &tests));
        if page == Path::new(SECURITY) {
            wrong.extend(sections_without_tests(&text, &rows));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{named} tests are named by promises, and are there.");
    Ok(())
}

/// A row of a table with a column `test`.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// From 1.
    line: usize,
    /// The heading above the table.
    section: String,
    tests: Vec<String>,
}

/// The rows of all tables whose last column is `test`.
fn rows(page: &str) -> Vec<Row> {
    let (mut rows, mut section, mut in_table) = (Vec::new(), String::new(), false);
    for (index, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.trim().clone_into(&mut section);
        }
        let Some(cells) = line.strip_prefix('|').and_then(|line| line.trim_end().strip_suffix('|')) else {
            in_table = false;
            continue;
        };
        let last = cells.rsplit('|').next().unwrap_or_default().trim();
        if last == "test" {
            in_table = true;
        } else if in_table && last.chars().any(|letter| letter != '-') {
            let tests = last.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            rows.push(Row { line: index + 1, section: section.clone(), tests });
        }
    }
    rows
}

fn complaints(page: &Path, rows: &[Row], tests: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        let at = format!("{}:{}", page.display(), row.line);
        if row.tests.is_empty() {
            wrong.push(format!("{at}: a promise without a test: name one, or take the promise away"));
        }
        let absent = row.tests.iter().filter(|test| !tests.contains(*test));
        wrong.extend(absent.map(|test| format!("{at}: there is no test `{test}`")));
    }
    wrong
}

fn sections_without_tests(page: &str, rows: &[Row]) -> Vec<String> {
    let sections = page.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim);
    let without = sections.filter(|section| {
        !WITHOUT_PROMISES.contains(section) && !rows.iter().any(|row| row.section == *section)
    });
    without
        .map(|section| format!("{SECURITY}: `{section}` names no tests that hold what it promises"))
        .collect()
}

/// The names of all functions with a `#[test]` above them, and of test programs, which may have none.
fn tests_below(folders: &[&str]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "rs") {
                let path = entry.path();
                found.extend(tests_in(&fs::read_to_string(&path)?));
                let is_program = folder.file_name().is_some_and(|name| name == "tests");
                found.extend(
                    path.file_stem().filter(|_| is_program).map(|stem| stem.to_string_lossy().into()),
                );
            }
        }
    }
    Ok(found)
}

fn tests_in(code: &str) -> Vec<String> {
    let (mut found, mut is_test) = (Vec::new(), false);
    for line in code.lines().map(str::trim_start) {
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        match function {
            Some(function) => {
                let name = function.split(['(', '<']).next().unwrap_or_default();
                found.extend(is_test.then(|| name.to_owned()));
                is_test = false;
            }
            None => is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test"),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n## One\n| promise | test |\n| --- | --- |\n| a `b` | `a_holds`, `b_holds` |\n\
        | b | none |\n\n| other | table |\n| --- | --- |\n| c | `no_test` |\n\n## Two\ntext\n## Dependencies\n";

    #[test]
    fn rows_of_tests_are_found_with_their_sections() {
        let row = |line, tests: &[&str]| Row {
            line,
            section: "One".to_owned(),
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
        };
        assert_eq!(rows(PAGE), [row(6, &["a_holds", "b_holds"]), row(7, &[])]);
        let said = sections_without_tests(PAGE, &rows(PAGE));
        assert!(said.len() == 1 && said[0].contains("`Two` names no tests"), "{said:?}");
    }

    #[test]
    fn a_test_that_is_not_there_is_a_complaint() {
        let code = "    #[test]\n    #[cfg(unix)]\n    fn a_holds() {\n}\nfn c_holds() {}\n";
        assert_eq!(tests_in(code), ["a_holds"]);
        let tests = tests_in(code).into_iter().collect();
        let said = complaints(Path::new("a.md"), &rows(PAGE), &tests);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].contains("a.md:6: there is no test `b_holds`") && said[1].contains("a.md:7"),
            "{said:?}"
        );
    }
}
