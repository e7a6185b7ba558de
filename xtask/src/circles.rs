//! Crates whose modules form no circle: of two modules at most one leads to the other.
//!
//! Modules that lead to each other are one module in two files: neither is understood, tested or changed
//! without the other. A crate is in the table once it is free of that, and stays so. The module of a file is
//! the first part of its path below `src`; paths are read as words of the source, `crate::…` and as many
//! `super::` as lead to the crate's root, outside of comments and of modules of tests. What a crate's root
//! exports again counts as the module that has it.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates without circles.
const FREE: [&str; 6] = [
    "farfield-files",
    "farfield-monitor",
    "farfield-os",
    "farfield-testkit",
    "farfield-traffic",
    "farfield-user",
];

/// The modules that each module names.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Checks the crates of the table.
pub fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for name in FREE {
        let root = Path::new("crates").join(name).join("src");
        let arrows = arrows(&sources(&root)?);
        if let Some(circle) = circle(&arrows) {
            wrong.push(format!("the modules of {name} form a circle: {}", circle.join(" → ")));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{} crates: no module leads back to itself.", FREE.len());
    Ok(())
}

/// The files below a folder, each by its path there.
fn sources(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
                found.push((path.strip_prefix(root)?.to_owned(), text));
            }
        }
    }
    Ok(found)
}

fn arrows(sources: &[(PathBuf, String)]) -> Arrows {
    let module = |path: &Path| {
        let first = path.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs").to_owned();
        (!["lib", "main", "tests"].contains(&first.as_str())).then_some(first)
    };
    let modules: BTreeSet<String> = sources.iter().filter_map(|(path, _)| module(path)).collect();
    let root = sources.iter().find(|(path, _)| path.ends_with("lib.rs") && path.components().count() == 1);
    let exported = root.map(|(_, text)| exports(text, &modules)).unwrap_or_default();
    let mut arrows = Arrows::new();
    for (path, text) in sources {
        let Some(own) = module(path) else { continue };
        // `super::` leads from a file at the root to the root, and one more from each folder.
        let to_root = "super::".repeat(path.components().count());
        let text = code(text);
        let named =
            ["crate::".to_owned(), to_root].iter().flat_map(|start| heads(&text, start)).collect::<Vec<_>>();
        let named = named.into_iter().map(|name| exported.get(&name).cloned().unwrap_or(name));
        let others = named.filter(|name| *name != own && modules.contains(name));
        arrows.entry(own.clone()).or_default().extend(others);
    }
    arrows
}

/// The source without comments and without its module of tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let line = |line: &str| match line.trim_start().starts_with("//") {
        true => String::new(),
        false => line.split(" // ").next().unwrap_or(line).to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The first names behind each `start` that stands alone: one, or those of a group in braces.
fn heads(text: &str, start: &str) -> Vec<String> {
    let is_alone = |at: &usize| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$')
    };
    let places = text.match_indices(start).map(|(at, _)| at).filter(is_alone);
    places.flat_map(|at| names(&text[at + start.len()..])).collect()
}

/// The name at the beginning of a path, or those of the group that begins there.
fn names(path: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().expect("one at least").push(c),
        }
    }
    parts.iter().map(|part| word(part.trim())).filter(|name| !name.is_empty()).collect()
}

/// The modules of what the root exports again.
fn exports(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for piece in code(root).split("use ").skip(1) {
        let path = piece.split(';').next().unwrap_or(piece);
        let Some((module, rest)) = path.split_once("::") else { continue };
        if modules.contains(module) {
            let last = |name: &str| {
                let name = name.rsplit("::").next().unwrap_or(name);
                name.trim_matches(|c: char| c.is_whitespace() || c == '{' || c == '}').to_owned()
            };
            exported.extend(rest.split(',').map(|name| (last(name), module.to_owned())));
        }
    }
    exported
}

/// A circle, if there is one, from a module to itself.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    // Modules that lead to none but those of which that is known are on none.
    let mut left: BTreeSet<&String> = arrows.keys().collect();
    loop {
        let leads_on = |module: &&&String| arrows[**module].iter().any(|other| left.contains(other));
        let kept: BTreeSet<&String> = left.iter().filter(leads_on).copied().collect();
        if kept.len() == left.len() {
            break;
        }
        left = kept;
    }
    let mut way = vec![left.first().copied()?];
    loop {
        let next = arrows[way[way.len() - 1]].iter().find_map(|other| left.get(other).copied())?;
        if let Some(begin) = way.iter().position(|module| *module == next) {
            return Some(way[begin..].iter().chain([&next]).map(|module| (*module).clone()).collect());
        }
        way.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Option<String> {
        let sources: Vec<_> =
            sources.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        circle(&arrows(&sources)).map(|modules| modules.join(" "))
    }

    #[test]
    fn a_circle_is_named() {
        let one = ("a.rs", "use crate::b::B;\n");
        assert_eq!(found(&[one, ("b.rs", "")]), None);
        assert_eq!(found(&[one, ("b.rs", "fn f() -> crate::a::A {}\n")]).as_deref(), Some("a b a"));
        let through = [
            one,
            ("b.rs", "use super::c::C;"),
            ("c/deep.rs", "use super::super::a::A;"),
            ("d.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&through).as_deref(), Some("a b c a"));
        // Of one module, and of groups.
        assert_eq!(found(&[("a.rs", "use crate::a::x::X;"), ("a/x.rs", "use super::A;")]), None);
        let group = [("a.rs", "use crate::{c::{D, E}, b};"), ("b.rs", "use crate::a;"), ("c.rs", "")];
        assert_eq!(found(&group).as_deref(), Some("a b a"));
    }

    #[test]
    fn what_the_root_exports_is_its_module() {
        let root = ("lib.rs", "mod a;\nmod b;\npub use b::{B, c::C};\n");
        let circle = [root, ("a.rs", "use crate::C;"), ("b.rs", "use crate::a::A;")];
        assert_eq!(found(&circle).as_deref(), Some("a b a"));
        assert_eq!(found(&[root, ("a.rs", "use crate::D;"), ("b.rs", "use crate::a::A;")]), None);
    }

    #[test]
    fn comments_and_tests_lead_nowhere() {
        let one = ("a.rs", "use crate::b::B;\n");
        let others = "/// See [`crate::a`].\nfn f() {} // crate::a\n\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        assert_eq!(found(&[one, ("b.rs", others)]), None);
    }
}
