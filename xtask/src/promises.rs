//! Promises and the tests that hold them: a table of a page with a column `test` names tests that are in the
//! tree, and so may prose on such a page, in parentheses. SECURITY.md promises nothing without such a table.
//!
//! A name is one of a function with `#[test]`, of a test that a macro writes where it is called, or of a test
//! program. Where several have it, what tells them apart stands before it: `program::test`, `module::test`.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The page whose every section has a table of tests, but for those that promise nothing of the program.
const SECURITY: &str = "SECURITY.md";
const WITHOUT_PROMISES: [&str; 2] = ["Dependencies", "Reporting a vulnerability"];

/// Checks that SECURITY.md and the pages of `docs` name tests that there are.
pub fn check() -> Result<()> {
    let tests = Tests::below(&["crates", "xtask"])?;
    let mut pages = vec![PathBuf::from(SECURITY)];
    for entry in fs::read_dir("docs").context("cannot read docs")? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    let (mut named, mut wrong) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
        let mut rows = rows(&text);
        if !rows.is_empty() {
            rows.extend(prose(&text));
        }
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

/// A row of a table with a column `test`, or a line of prose that names tests.
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

/// The lines of prose that name tests, in parentheses with nothing else in them.
fn prose(page: &str) -> Vec<Row> {
    let (mut rows, mut section) = (Vec::new(), String::new());
    for (index, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.trim().clone_into(&mut section);
        }
        if line.starts_with('|') {
            continue;
        }
        let groups = line.split('(').skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        let tests: Vec<String> = groups.filter_map(names_alone).flatten().collect();
        if !tests.is_empty() {
            rows.push(Row { line: index + 1, section: section.clone(), tests });
        }
    }
    rows
}

/// The names in `group`, if it is nothing but names that tests may have: of three words and more.
fn names_alone(group: &str) -> Option<Vec<String>> {
    let name = |part: &str| {
        let name = part.trim().strip_prefix('`')?.strip_suffix('`')?;
        let test = name.rsplit("::").next()?;
        let is_name = test.matches('_').count() >= 2
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:-".contains(&byte));
        is_name.then(|| name.to_owned())
    };
    group.split(',').map(name).collect()
}

fn complaints(page: &Path, rows: &[Row], tests: &Tests) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        let at = format!("{}:{}", page.display(), row.line);
        if row.tests.is_empty() {
            wrong.push(format!("{at}: a promise without a test: name one, or take the promise away"));
        }
        for name in &row.tests {
            match &tests.named(name)[..] {
                [] => wrong.push(format!("{at}: there is no test `{name}`")),
                [_] => {}
                several => {
                    let paths: Vec<String> =
                        several.iter().map(|path| format!("`{}`", path.join("::"))).collect();
                    wrong.push(format!("{at}: `{name}` may be {}: write which", paths.join(" or ")));
                }
            }
        }
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

/// The tests of the tree, and its test programs.
#[derive(Debug, Default)]
struct Tests {
    /// The path of each: its crate, its program and modules, its name.
    paths: Vec<Vec<String>>,
}

impl Tests {
    /// Those in the files below the folders.
    fn below(folders: &[&str]) -> Result<Tests> {
        let mut files = BTreeMap::new();
        let mut folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else if entry.path().extension().is_some_and(|end| end == "rs") {
                    files.insert(entry.path(), fs::read_to_string(entry.path())?);
                }
            }
        }
        Ok(Tests::of(&files))
    }

    fn of(files: &BTreeMap<PathBuf, String>) -> Tests {
        let macros: BTreeMap<String, Vec<String>> = files.values().flat_map(|code| macros_in(code)).collect();
        let mut tests = Tests::default();
        for (path, code) in files {
            let mut found = tests_in(code);
            let calls = |name: &String| {
                let call = format!("{name}!(");
                code.lines().map(str::trim_start).any(|line| {
                    line.starts_with(&call)
                        || line
                            .split("::")
                            .last()
                            .is_some_and(|last| last.starts_with(&call) && !line.starts_with('/'))
                })
            };
            found.extend(
                macros.iter().filter(|(name, _)| calls(name)).flat_map(|(_, written)| written.clone()),
            );
            let modules = modules_of(path);
            let is_program = path.parent().is_some_and(|folder| folder.ends_with("tests"))
                || path.ends_with("main.rs") && path.iter().rev().nth(2).is_some_and(|part| part == "tests");
            if is_program {
                tests.paths.push(modules.clone());
            }
            tests.paths.extend(found.into_iter().map(|name| [&modules[..], &[name]].concat()));
        }
        tests
    }

    /// Those that a name with some of its path may mean.
    fn named(&self, name: &str) -> Vec<&Vec<String>> {
        let parts: Vec<&str> = name.split("::").collect();
        let means = |path: &&Vec<String>| {
            let (Some((test, _)), Some((last, before))) = (path.split_last(), parts.split_last()) else {
                return false;
            };
            let mut rest = path[..path.len() - 1].iter();
            test == last && before.iter().all(|part| rest.any(|module| module == part))
        };
        self.paths.iter().filter(means).collect()
    }
}

/// A file's crate, and the modules on the way to it.
fn modules_of(path: &Path) -> Vec<String> {
    let without_end = path.with_extension("");
    let parts = without_end.iter().map(|part| part.to_string_lossy().into_owned());
    parts.filter(|part| !["crates", "src", "tests", "main", "mod", "lib"].contains(&part.as_str())).collect()
}

/// The names of all functions with a `#[test]` above them, but for those in the bodies of macros.
fn tests_in(code: &str) -> Vec<String> {
    let (mut found, mut is_test, mut macro_ends) = (Vec::new(), false, None);
    for whole in code.lines() {
        let line = whole.trim_start();
        let indent = whole.len() - line.len();
        match macro_ends {
            Some(begin) => {
                if indent == begin && line.starts_with('}') {
                    macro_ends = None;
                }
                continue;
            }
            None if line.starts_with("macro_rules!") => {
                macro_ends = Some(indent);
                continue;
            }
            None => {}
        }
        found.extend(test_at(line, &mut is_test));
    }
    found
}

/// The name of the test that begins in a line, where `is_test` says whether one of the lines above has
/// `#[test]`.
fn test_at(line: &str, is_test: &mut bool) -> Option<String> {
    let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
    let Some(function) = function else {
        *is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        return None;
    };
    let name = function.split(['(', '<']).next().unwrap_or_default();
    std::mem::take(is_test).then(|| name.to_owned())
}

/// The macros that write tests, with the names of these.
fn macros_in(code: &str) -> Vec<(String, Vec<String>)> {
    let mut macros: Vec<(String, Vec<String>)> = Vec::new();
    let (mut is_test, mut begin) = (false, None);
    for whole in code.lines() {
        let line = whole.trim_start();
        let indent = whole.len() - line.len();
        if let Some(name) = line.strip_prefix("macro_rules! ") {
            macros.push((name.trim_end_matches([' ', '{']).to_owned(), Vec::new()));
            begin = Some(indent);
        } else if begin == Some(indent) && line.starts_with('}') {
            begin = None;
        } else if let (Some(_), Some((_, tests))) = (begin, macros.last_mut()) {
            tests.extend(test_at(line, &mut is_test));
        }
    }
    macros.retain(|(_, tests)| !tests.is_empty());
    macros
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n## One\n| promise | test |\n| --- | --- |\n| a `b` | `a_holds`, `b_holds` |\n\
        | b | none |\n\n| other | table |\n| --- | --- |\n| c | `no_test` |\n\n## Two\ntext\n## Dependencies\n";

    fn tests(files: &[(&str, &str)]) -> Tests {
        Tests::of(&files.iter().map(|(path, code)| (PathBuf::from(path), (*code).to_owned())).collect())
    }

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
    fn prose_names_tests_in_parentheses() {
        let page = "## One\na sentence (`it_is_so`, `a::it_is_not`), and\n(`sessionStorage`) (see `that_one_here`)\n";
        let [row] = &prose(page)[..] else { panic!("{:?}", prose(page)) };
        assert_eq!((row.line, &row.tests[..]), (2, &["it_is_so".to_owned(), "a::it_is_not".to_owned()][..]));
    }

    #[test]
    fn a_test_that_is_not_there_is_a_complaint() {
        let code = "    #[test]\n    #[cfg(unix)]\n    fn a_holds() {\n}\nfn c_holds() {}\n";
        assert_eq!(tests_in(code), ["a_holds"]);
        let tests = tests(&[("crates/one/src/a.rs", code)]);
        let said = complaints(Path::new("a.md"), &rows(PAGE), &tests);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].contains("a.md:6: there is no test `b_holds`") && said[1].contains("a.md:7"),
            "{said:?}"
        );
    }

    #[test]
    fn a_name_that_several_tests_have_needs_their_program() {
        let code = "#[test]\nfn it_holds() {}\n";
        let tests = tests(&[("crates/one/tests/far/main.rs", code), ("crates/two/src/lib.rs", code)]);
        for (name, found) in [
            ("it_holds", 2),
            ("far::it_holds", 1),
            ("one::far::it_holds", 1),
            ("two::it_holds", 1),
            ("near::it_holds", 0),
            ("far", 1),
        ] {
            assert_eq!(tests.named(name).len(), found, "{name}");
        }
        let row = Row { line: 3, section: String::new(), tests: vec!["it_holds".to_owned()] };
        let said = complaints(Path::new("a.md"), &[row], &tests);
        assert_eq!(said, ["a.md:3: `it_holds` may be `one::far::it_holds` or `two::it_holds`: write which"]);
    }

    /// A macro's body is no test; where it is called, it is.
    #[test]
    fn tests_of_macros_are_where_they_are_called() {
        let body = "#[macro_export]\nmacro_rules! both {\n    () => {\n        #[test]\n        fn of_both() {}\n    };\n}\n\
            #[test]\nfn own() {}\n";
        assert_eq!(tests_in(body), ["own"]);
        let found = |code: &str| tests(&[("crates/kit/src/kit.rs", body), ("crates/a/tests/of_a.rs", code)]);
        assert!(found("").named("of_both").is_empty());
        assert!(found("/// both!()\nuse kit::both;\n").named("of_both").is_empty());
        for call in ["both!(1);\n", "kit::both!(\n    1\n);\n"] {
            assert_eq!(found(call).named("of_a::of_both").len(), 1, "{call}");
        }
    }
}
