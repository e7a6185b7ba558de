//! `farfield experiment`: a question in a file, or one that is built in; its runs, and a page with the
//! answer.

pub mod built_in;
pub mod claims;
pub mod curves;
pub mod document;
pub mod evidence;
mod recompute;
mod story;

use crate::commands::sweep::{SweepRequest, made};
use crate::exit::Exit;
use crate::flags::on::OnFlags;
use crate::flags::sweep::ExperimentFlags;
use crate::output;
use crate::problem::Problem;
use document::{Question, Source};
use farfield_files::input::DOCUMENT_MAX;
use std::path::Path;

/// Makes the runs of a question, and prints its answer; or makes the page again; or lists what is built in.
pub fn experiment(flags: &ExperimentFlags) -> Result<Exit, Problem> {
    if flags.list {
        output::put(&built_in::listed())?;
        return Ok(Exit::Fine);
    }
    if let Some(folder) = &flags.recompute {
        return recompute::recompute(folder, flags.format);
    }
    let named = flags.question.as_deref().ok_or_else(|| {
        Problem::usage("write a question's file or the name of one that is built in; --list shows these")
    })?;
    let mut question = read(named)?;
    question.design.out.clone_from(&flags.out);
    if flags.budget.is_some() {
        question.repeat.budget.clone_from(&flags.budget);
    }
    let own = Inline::put(&question, named)?;
    let scenario = match (&question.scenario, &own) {
        (_, Some(inline)) => inline.file.as_str(),
        (Source::Named(name), None) => name,
        (Source::Inline(_), None) => unreachable!("it was put into a file"),
    };
    made(&asked(&question, Some(scenario), &flags.on), flags.format, flags.quiet)
}

/// The question of a file, or one that is built in.
fn read(named: &Path) -> Result<Question, Problem> {
    let refuse = |why: &dyn std::fmt::Display| Problem::usage(format!("{}: {why}", named.display()));
    if let Some(built_in) = built_in::named(named).filter(|_| !named.exists()) {
        let mut question = Question::read(built_in.text, Path::new("")).map_err(|why| refuse(&why))?;
        question.story.command = format!("farfield experiment {} --out FOLDER", built_in.name);
        return Ok(question);
    }
    let text = farfield_files::read_text(named, DOCUMENT_MAX).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            refuse(&"there is no such file, and no such question is built in; --list shows those that are")
        }
        _ => refuse(&error),
    })?;
    let mut question =
        Question::read(&text, named.parent().unwrap_or(Path::new(""))).map_err(|why| refuse(&why))?;
    question.story.command = "farfield experiment question.toml --out FOLDER".to_owned();
    Ok(question)
}

/// The sweep that a question asks for.
fn asked<'a>(question: &'a Question, scenario: Option<&'a str>, on: &'a OnFlags) -> SweepRequest<'a> {
    SweepRequest {
        what: scenario,
        overlay: question.overlay.clone(),
        design: &question.design,
        repeat: &question.repeat,
        on,
        name: "experiment",
        title: Some(&question.title),
        claims: &question.claims,
        looks: question.looks,
        question: Some(question),
    }
}

/// The scenario of a question that has it within itself, in a file as runs read it, as long as this lives.
struct Inline {
    file: String,
    _folder: tempfile::TempDir,
}

impl Inline {
    fn put(question: &Question, named: &Path) -> Result<Option<Inline>, Problem> {
        let Source::Inline(text) = &question.scenario else { return Ok(None) };
        let unwritten =
            |error: std::io::Error| Problem::failed(format!("cannot write the scenario: {error}"));
        let folder = farfield_files::temporary_folder("farfield-question-").map_err(unwritten)?;
        // Runs are named after their scenario's file.
        let name = match named.file_stem().and_then(|stem| stem.to_str()) {
            Some("question") | None => "scenario",
            Some(stem) => stem,
        };
        let file = folder.path().join(format!("{name}.toml"));
        farfield_files::output::put(&file, text.as_bytes()).map_err(unwritten)?;
        let file = file.to_str().map(str::to_owned);
        let file = file.ok_or_else(|| Problem::failed("the folder of temporary files is not UTF-8"))?;
        Ok(Some(Inline { file, _folder: folder }))
    }
}
