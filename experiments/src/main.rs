//! Studies of processes: the traffic figures of the WAGON paper, computed, held against what it says, and kept as pages.
//!
//! An experiment is a curve measured on a server; `cargo xtask experiment` runs those. A study is about a process, a law or
//! an equation: it draws from it or has farfield simulate it, and is the same on every machine. `cargo xtask study` builds
//! and runs this.
//!
//! - [`keepalive`], [`table_2`], [`site`], [`popularity`], [`requests`], [`constant`], [`rate`]: a study each;
//! - [`traffic`]: the paper's traffic, as a process and as a run; [`memory`], [`marginal`]: what counts tell;
//! - [`page`], [`figure`]: how it is written down.

mod constant;
mod figure;
mod keepalive;
mod marginal;
mod memory;
mod page;
mod popularity;
mod rate;
mod requests;
mod setting;
mod site;
mod table_2;
mod traffic;

use anyhow::{Context, Result, bail};
use clap::Parser;
use page::Page;
use setting::Setting;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A study: its name and what runs it.
type Study = (&'static str, fn(&Setting) -> Result<Page>);

/// All of them, in the order of the paper.
const STUDIES: [Study; 7] = [
    ("wagon-table-2", table_2::study),
    ("wagon-figure-2", site::study),
    ("wagon-figure-6", requests::study),
    ("wagon-figure-11", popularity::study),
    ("wagon-figure-13", constant::study),
    ("wagon-figure-14", rate::study),
    ("wagon-figure-17", keepalive::study),
];

/// Where pages lie.
const PAGES: &str = "docs/experiments";

/// Runs studies, holds them against what their papers say, and keeps their pages in docs/experiments.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask study", bin_name = "cargo xtask study")]
struct Args {
    /// Which to run; all if none is named.
    names: Vec<String>,
    /// Fewer and shorter series; their pages are kept only where `--out` says.
    #[arg(long)]
    quick: bool,
    /// Where to keep the pages.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The farfield that runs are made with.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("studies: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is named. A claim of a paper that does not hold is a result, not a failure.
fn run(args: &Args) -> Result<()> {
    let studies = named(&args.names)?;
    let scratch = tempfile::Builder::new().prefix("farfield-study-").tempdir()?;
    let setting =
        Setting { is_quick: args.quick, farfield: args.program.clone(), scratch: scratch.path().to_owned() };
    let folder = match (&args.out, args.quick) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, false) => Some(Path::new(PAGES)),
        (None, true) => None,
    };
    for (name, study) in studies {
        eprintln!("{name}");
        let page = study(&setting).with_context(|| format!("study {name}"))?;
        println!("## {}\n\n{}", page.title, page.claims_table());
        if let Some(folder) = folder {
            keep(folder, name, &page, args.quick)?;
        }
    }
    Ok(())
}

/// The studies with these names, or all.
fn named(names: &[String]) -> Result<Vec<Study>> {
    if let Some(unknown) = names.iter().find(|name| STUDIES.iter().all(|study| study.0 != **name)) {
        let known: Vec<&str> = STUDIES.iter().map(|study| study.0).collect();
        bail!("there is no study `{unknown}`; there are {}", known.join(", "));
    }
    let wanted = |study: &Study| names.is_empty() || names.iter().any(|name| name == study.0);
    Ok(STUDIES.into_iter().filter(wanted).collect())
}

fn keep(folder: &Path, name: &str, page: &Page, is_quick: bool) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut files = vec![(format!("{name}.md"), page.written(name, is_quick))];
    for (number, figure) in page.figures.iter().enumerate() {
        files.push((page::figure_file(name, number), figure.svg()));
    }
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("{}", file.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_and_unknown_ones_are_refused() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            named(&wanted).map(|found| found.iter().map(|study| study.0).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&["wagon-figure-17", "wagon-figure-2"]).unwrap(),
            ["wagon-figure-2", "wagon-figure-17"]
        );
        assert_eq!(names(&[]).unwrap().len(), STUDIES.len());
        let error = names(&["figure-1"]).unwrap_err().to_string();
        assert!(error.contains("`figure-1`") && error.contains("wagon-table-2"), "{error}");
    }
}
