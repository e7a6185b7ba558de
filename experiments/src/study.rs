//! `cargo xtask study`: figures of processes, computed, compared with the paper, and kept as pages.
//!
//! All random numbers follow from seeds and all time is virtual: a study writes the same page on every
//! machine.
//!
//! - one `study.rs` in the folder of each figure;
//! - [`traffic`]: the traffic of the WAGON paper, as a process and as a run; [`memory`], [`marginal`]:
//!   statistics of counts.

pub mod marginal;
pub mod memory;
pub mod setting;
pub mod traffic;
#[path = "../wagon/figure-11/study.rs"]
mod wagon_figure_11;
#[path = "../wagon/figure-13/study.rs"]
mod wagon_figure_13;
#[path = "../wagon/figure-14/study.rs"]
mod wagon_figure_14;
#[path = "../wagon/figure-17/study.rs"]
mod wagon_figure_17;
#[path = "../wagon/figure-2/study.rs"]
mod wagon_figure_2;
#[path = "../wagon/figure-6/study.rs"]
mod wagon_figure_6;
#[path = "../wagon/table-2/study.rs"]
mod wagon_table_2;

use crate::page::{Method, Page};
use anyhow::{Context, Result, bail};
use clap::Args;
use setting::Setting;
use std::path::{Path, PathBuf};

/// A study: its folder, and the function that runs it.
type Study = (&'static str, fn(&Setting) -> Result<Page>);

/// All studies, in the order of the paper.
const STUDIES: [Study; 7] = [
    ("wagon/table-2", wagon_table_2::study),
    ("wagon/figure-2", wagon_figure_2::study),
    ("wagon/figure-6", wagon_figure_6::study),
    ("wagon/figure-11", wagon_figure_11::study),
    ("wagon/figure-13", wagon_figure_13::study),
    ("wagon/figure-14", wagon_figure_14::study),
    ("wagon/figure-17", wagon_figure_17::study),
];

/// Runs studies, holds them against their papers, and keeps their pages in experiments/.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Studies to run, by their folders, such as wagon/figure-6; all by default.
    names: Vec<String>,
    /// Fewer and shorter series; their pages are kept only in the folder of `--out`.
    #[arg(long)]
    quick: bool,
    /// Folder to keep the pages in.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Executable of farfield; built by default.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the studies that are named. A claim of a paper that does not hold is a result, not a failure.
pub fn run(args: &StudyArgs) -> Result<()> {
    let studies = named(&args.names)?;
    let farfield = match &args.program {
        Some(program) => program.clone(),
        None => crate::build_farfield()?,
    };
    let scratch = tempfile::Builder::new().prefix("farfield-study-").tempdir()?;
    let setting = Setting { is_quick: args.quick, farfield, scratch: scratch.path().to_owned() };
    let folder = match (&args.out, args.quick) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, false) => Some(Path::new(crate::FOLDER)),
        (None, true) => None,
    };
    for (name, study) in studies {
        eprintln!("{name}");
        let page = study(&setting).with_context(|| format!("study {name}"))?;
        println!("## {}\n\n{}", page.title, page.claims_table());
        if let Some(folder) = folder {
            page.keep(folder, name, Method::Study, &origin(args.quick))?;
        }
        if args.out.is_none() && !args.quick {
            crate::index::write(Path::new("."))?;
        }
    }
    Ok(())
}

/// The paragraph on where the numbers come from.
fn origin(is_quick: bool) -> String {
    let form =
        if is_quick { "This is the quick form: fewer and shorter series." } else { "This is the full form." };
    format!(
        "All random numbers follow from seeds and all time is virtual: the same commit writes the same page, on any \
         machine. {form}"
    )
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
            names(&["wagon/figure-17", "wagon/figure-2"]).unwrap(),
            ["wagon/figure-2", "wagon/figure-17"]
        );
        assert_eq!(names(&[]).unwrap().len(), STUDIES.len());
        let error = names(&["figure-1"]).unwrap_err().to_string();
        assert!(error.contains("`figure-1`") && error.contains("wagon/table-2"), "{error}");
    }

    /// Each study has a page, which names it.
    #[test]
    fn every_study_has_its_page() {
        for (name, _) in STUDIES {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            let page = std::fs::read_to_string(folder.join("page.md")).expect(name);
            assert!(page.contains(&format!("`cargo xtask study {name}`")), "{name}");
            assert!(page.contains(&origin(false)), "{name}");
        }
    }
}
