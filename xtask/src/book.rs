//! `cargo xtask book`: the book as a site, with a search that needs no server, and its links checked.
//!
//! The pages and what they link to are copied into one folder in the repository's own order, so that links
//! hold on the site as on a forge. MkDocs with its theme Material makes the site, installed by pip into the
//! build folder; mdBook would cost every build from nothing 98 s of processor time (0.5.4, without
//! optimisation), and pip costs 6 s. The site opens from a file, and asks no other host for anything.

pub mod links;

use anyhow::{Context, Result, bail};
use clap::Args;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, system};

/// Makes the book into a site with a search, after checking its links.
#[derive(Debug, Args)]
pub struct BookArgs {
    /// The folder of the site; `book` in the build folder if absent.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Installs nothing.
    #[arg(long)]
    no_install: bool,
}

/// The package that brings MkDocs, at the version that the settings are for.
const PACKAGE: &str = "mkdocs-material==9.8.2";

/// The theme's search needs a worker, which pages that are opened from files have not: the theme would load
/// this from another host.
const WORKER: &str = include_str!("book/iframe-worker.js");

/// Settings of the site; the table of contents follows.
const SETTINGS: &str = "\
site_name: farfield
docs_dir: pages
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.indexes, search.highlight, search.suggest, content.code.copy]
  palette:
    - media: '(prefers-color-scheme: light)'
      scheme: default
      primary: black
      toggle: { icon: material/weather-night, name: dark }
    - media: '(prefers-color-scheme: dark)'
      scheme: slate
      primary: black
      toggle: { icon: material/weather-sunny, name: light }
plugins: [search, offline]
extra: { generator: false, polyfills: [iframe-worker.js] }
markdown_extensions:
  - tables
  - sane_lists
  - pymdownx.superfences
  - pymdownx.highlight
  - toc: { permalink: true, slugify: !!python/object/apply:pymdownx.slugs.slugify { kwds: { case: lower } } }
validation:
  nav: { omitted_files: warn, not_found: warn }
  links: { not_found: warn, anchors: warn, absolute_links: warn }
nav:
";

/// Makes the site.
pub fn run(args: &BookArgs) -> Result<()> {
    links::check()?;
    let builds = std::path::absolute(process::builds()?)?;
    let out = match &args.out {
        Some(out) => std::path::absolute(out)?,
        None => builds.join("book"),
    };
    let mkdocs = provide(&builds, !args.no_install)?;
    let stage = tempfile::tempdir().context("cannot make a folder for the pages")?;
    let contents = fs::read_to_string(links::CONTENTS)?;
    let staged = copy_pages(&stage.path().join("pages"), &contents)?;
    fs::write(stage.path().join("pages/iframe-worker.js"), WORKER)?;
    let settings = stage.path().join("mkdocs.yml");
    fs::write(&settings, format!("{SETTINGS}{}", navigation(&contents, &staged)))?;
    // Its colours are for a terminal, and its news of itself for nobody here.
    process::run(
        Command::new(mkdocs)
            .args(["build", "--strict", "--quiet", "--config-file"])
            .arg(&settings)
            .arg("--site-dir")
            .arg(&out)
            .env("NO_MKDOCS_2_WARNING", "1"),
    )?;
    let foreign = foreign_resources(&out)?;
    if !foreign.is_empty() {
        bail!("the site asks other hosts for:\n{}", foreign.join("\n"));
    }
    eprintln!(
        "The book is at {}: {} pages; no other host is asked for anything.",
        out.join("index.html").display(),
        staged.len()
    );
    Ok(())
}

/// The program, in an environment of its own, made if `may_install` and it is not there.
pub fn provide(builds: &Path, may_install: bool) -> Result<PathBuf> {
    let folder = builds.join("xtask-book");
    let program = folder.join("bin/mkdocs");
    let version = Command::new(folder.join("bin/pip")).args(["show", "mkdocs-material"]).output();
    let wanted = PACKAGE.split_once("==").map_or(PACKAGE, |(_, version)| version);
    if version
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!("Version: {wanted}\n")))
    {
        return Ok(program);
    }
    let python = system::find("python3")
        .context("python3 is missing; on Debian and Ubuntu: sudo apt-get install python3-venv")?;
    if !may_install {
        bail!(
            "MkDocs is missing; `cargo xtask book` without `--no-install` installs it into {}",
            folder.display()
        );
    }
    eprintln!("Installing with pip, into {}: {PACKAGE}.", folder.display());
    process::run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    process::run(Command::new(folder.join("bin/pip")).args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        PACKAGE,
    ]))?;
    Ok(program)
}

/// Copies the pages of the table of contents into `stage`, with all that they lead to; returns the pages.
fn copy_pages(stage: &Path, contents: &str) -> Result<BTreeSet<PathBuf>> {
    let (mut pages, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<PathBuf> =
        links::links(Path::new(links::CONTENTS), contents).into_iter().map(|link| link.file).collect();
    while let Some(file) = open.pop() {
        if !seen.insert(file.clone()) || !file.is_file() {
            continue;
        }
        let copy = stage.join(&file);
        fs::create_dir_all(copy.parent().context("a file lies in a folder")?)?;
        if file.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&file)?;
            open.extend(links::links(&file, &text).into_iter().map(|link| link.file));
            fs::write(&copy, text)?;
            pages.insert(file);
        } else {
            fs::copy(&file, &copy).with_context(|| format!("cannot copy {}", file.display()))?;
        }
    }
    Ok(pages)
}

/// The table of contents as MkDocs has it; pages that only others lead to stand under a heading of their own.
fn navigation(contents: &str, staged: &BTreeSet<PathBuf>) -> String {
    let (mut text, mut listed) = (String::new(), BTreeSet::new());
    let mut indent = "  ";
    for line in contents.lines() {
        if let Some(part) = line.strip_prefix("# ").filter(|part| *part != "Summary") {
            writeln!(text, "  - {part}:").expect("a text takes text");
            indent = "      ";
        }
        let title = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(title, _)| title);
        if let (Some(title), Some(link)) = (title, links::links(Path::new(links::CONTENTS), line).pop()) {
            writeln!(text, "{indent}- {title:?}: {}", link.file.display()).expect("a text takes text");
            listed.insert(link.file);
        }
    }
    text.push_str("  - Elsewhere:\n");
    for page in staged.difference(&listed) {
        writeln!(text, "      - {}", page.display()).expect("a text takes text");
    }
    text
}

/// Resources of pages and styles that another host has: scripts, styles, pictures, fonts; links of the text
/// are none.
fn foreign_resources(site: &Path) -> Result<Vec<String>> {
    let (mut found, mut folders) = (Vec::new(), vec![site.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_read = path.extension().is_some_and(|end| end == "html" || end == "css");
            let text = if is_read { fs::read_to_string(&path)? } else { String::new() };
            found.extend(foreign_in(&text).into_iter().map(|one| format!("{}: {one}", path.display())));
        }
    }
    Ok(found)
}

fn foreign_in(text: &str) -> Vec<String> {
    let marks = ["src=\"http", "src=\"//", "url(http", "url(\"http", "url(//", "@import \"http"];
    let resources = marks.iter().flat_map(|mark| text.match_indices(mark));
    let styles = text.match_indices("<link ").filter(|(at, _)| {
        let tag = text[*at..].split('>').next().unwrap_or_default();
        tag.contains("href=\"http")
            && (tag.contains("stylesheet") || tag.contains("preconnect") || tag.contains("icon"))
    });
    resources.chain(styles).map(|(at, _)| text[at..].chars().take(80).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_becomes_one_of_mkdocs() {
        let contents =
            "# Summary\n\n[The book](README.md)\n\n# Start\n- [Begin: now](start.md)\n  - [Deep](a/b.md)\n";
        let staged = ["docs/README.md", "docs/start.md", "docs/a/b.md", "x/y.md"].map(PathBuf::from).into();
        let expected = "  - \"The book\": docs/README.md\n  - Start:\n      - \"Begin: now\": docs/start.md\n      \
                        - \"Deep\": docs/a/b.md\n  - Elsewhere:\n      - x/y.md\n";
        assert_eq!(navigation(contents, &staged), expected);
    }

    #[test]
    fn resources_of_other_hosts_are_found_and_links_are_none() {
        assert!(
            foreign_in("<a href=\"https://example.org/\">x</a><script src=\"a.js\"></script>").is_empty()
        );
        for text in [
            "<script src=\"https://example.org/a.js\"></script>",
            "<link rel=\"stylesheet\" href=\"https://example.org/a.css\">",
            "a { background: url(https://example.org/a.png) }",
        ] {
            assert_eq!(foreign_in(text).len(), 1, "{text}");
        }
    }
}
