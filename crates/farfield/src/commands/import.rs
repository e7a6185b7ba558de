//! `farfield import`: a scenario from what people have, and an account of what is in it.
//!
//! The scenario goes to standard output or into a file; standard error says how many entries of the document
//! are in it, which are not and why, what was assumed, and which credentials it has in it.

use crate::exit::Exit;
use crate::flags::import::ImportFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Bytes;
use farfield_files::input::DOCUMENT_MAX;
use farfield_import::{DocumentKind, ImportSource, Imported, Wishes};
use farfield_scenario::{Overlay, Url};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The largest document, but for archives, which have bodies of replies in them.
const SOURCE_MAX: Bytes = Bytes(32 << 20);
/// The largest file that a document names and that is written into the scenario.
const NAMED_MAX: Bytes = Bytes(16 << 20);

/// Imports the document that the flags name.
pub fn import(flags: &ImportFlags) -> Result<Exit, Problem> {
    import_for(flags, ScenarioReaders::AsItsContent)
}

/// The users who may read the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScenarioReaders {
    /// The file's owner alone.
    Owner,
    /// The file's owner alone if credentials or contents of files are in it, else whoever the umask lets.
    AsItsContent,
}

/// Imports the document that the flags name, into a scenario for these readers.
pub(super) fn import_for(flags: &ImportFlags, readers: ScenarioReaders) -> Result<Exit, Problem> {
    let typed = pasted(flags);
    let named = flags.file.as_deref().filter(|_| typed.is_none()).unwrap_or("curl");
    let document = match (typed, flags.command.is_empty()) {
        (Some(command), _) => Some(command.as_bytes().to_vec()),
        (None, true) => Some(read(named, flags.from)?),
        (None, false) => None,
    };
    let kind = match &document {
        None => DocumentKind::Curl,
        Some(bytes) => flags.from.or_else(|| DocumentKind::of(named, bytes)).ok_or_else(|| unknown(named))?,
    };
    let base = base_of(flags, kind);
    let wishes = wishes(flags, &base)?;
    let folder = base.clone();
    let imported = match &document {
        None => {
            let words = words_of_curl(&flags.command)?;
            let mut load = |path: &Path| farfield_files::read(&folder.join(path), NAMED_MAX);
            farfield_import::import_words(words, &mut load, &wishes)
        }
        // A stranger's, where the words of a command are the user's.
        Some(bytes) => {
            let name = if named == "-" { "standard input" } else { named };
            let mut load = |path: &Path| farfield_files::read_below(&folder, path, NAMED_MAX);
            farfield_import::import(kind, ImportSource { name, bytes, load: &mut load }, &wishes)
        }
    };
    let imported = imported.map_err(|error| Problem::usage(format!("{named} {error}")))?;
    let refusal = refusal(&imported, flags, &base);
    account(named, kind, &imported, refusal.as_deref());
    match &flags.out {
        None => output::put(&imported.scenario)?,
        Some(path) => write(path, &imported, readers)
            .map_err(|error| Problem::failed(format!("cannot write {}: {error}", path.display())))?,
    }
    Ok(Exit::Fine)
}

/// The text of a command of curl that stands in the place of a file's name, or behind `--`, as one word. It
/// is read as a document: somebody else may have written it.
fn pasted(flags: &ImportFlags) -> Option<&str> {
    let text = match flags.command.as_slice() {
        [] => flags.file.as_deref()?,
        [word] => word.as_str(),
        _ => return None,
    };
    let is_command = text.trim().contains(char::is_whitespace)
        && flags.from.is_none_or(|kind| kind == DocumentKind::Curl)
        && DocumentKind::of("", text.as_bytes()) == Some(DocumentKind::Curl);
    (is_command && !Path::new(text).exists()).then_some(text)
}

/// Writes the scenario; a file with credentials or contents of files in it is its owner's alone.
fn write(path: &Path, imported: &Imported, readers: ScenarioReaders) -> io::Result<()> {
    let scenario = imported.scenario.as_bytes();
    let is_harmless = imported.secrets.is_empty() && imported.files.is_empty();
    if readers == ScenarioReaders::AsItsContent && is_harmless {
        return farfield_files::output::put(path, scenario);
    }
    match path.symlink_metadata() {
        Err(_) => farfield_files::create_private(path)?.write_all(scenario),
        // One that others may read is not written into, but replaced.
        // A link is replaced as well, and what it leads to is left.
        Ok(old) if old.is_file() || old.is_symlink() => replace_private(path, |to| to.write_all(scenario)),
        // A pipe or a terminal.
        Ok(_) => farfield_files::output::put(path, scenario),
    }
}

/// Replaces a file by one that its owner alone may read.
pub(super) fn replace_private(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|own| *own != Path::new("")).unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|own| own.to_str());
    let name = name.ok_or_else(|| io::Error::other("its name is no text in UTF-8"))?;
    farfield_files::Folder::open(folder)?.replace(name, write)
}

/// The folder that names of files in the document are relative to: its own, and for commands of curl the one
/// that they are typed in.
fn base_of(flags: &ImportFlags, kind: DocumentKind) -> PathBuf {
    let file = flags.file.as_deref().filter(|_| kind != DocumentKind::Curl).map(Path::new);
    file.and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
}

/// The words behind `curl`.
fn words_of_curl(command: &[String]) -> Result<&[String], Problem> {
    match command.split_first() {
        Some((program, words)) if program == "curl" => Ok(words),
        program => Err(Problem::usage(format!(
            "`{}` is not `curl`; write the command behind `--` as it would be typed",
            program.map_or("", |(program, _)| program)
        ))),
    }
}

fn wishes(flags: &ImportFlags, base: &Path) -> Result<Wishes, Problem> {
    let target = match &flags.target {
        None => None,
        Some(url) => {
            // A target that a scenario would refuse is refused before anything is read.
            url.parse::<Url>().map_err(|error| Problem::usage(format!("--target: {error}")))?;
            Some(url.parse().map_err(|error| Problem::usage(format!("--target: {error}")))?)
        }
    };
    let host = |url: &String| {
        let refused = |error: &dyn std::fmt::Display| Problem::usage(format!("--host: {error}"));
        let known = url.parse::<Url>().map_err(|error| refused(&error))?;
        let root = format!("{}://{}/", known.scheme(), known.authority());
        root.parse().map_err(|error| refused(&error))
    };
    let hosts = flags.hosts.iter().map(host).collect::<Result<_, Problem>>()?;
    let folder_of = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let beside = flags.out.as_deref().map(folder_of).unwrap_or_default();
    let folder = match beside == base {
        true => None,
        false => std::path::absolute(base.join(".")).ok(),
    };
    Ok(Wishes {
        target,
        hosts,
        values: flags.values.iter().cloned().collect(),
        all_methods: flags.all_methods,
        binds: flags.bind,
        folder,
    })
}

/// The document.
fn read(named: &str, from: Option<DocumentKind>) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: io::Error| Problem::failed(format!("cannot read {named}: {error}"));
    let is_archive = from == Some(DocumentKind::Har) || named.to_ascii_lowercase().ends_with(".har");
    let max = if is_archive { DOCUMENT_MAX } else { SOURCE_MAX };
    if named != "-" {
        return farfield_files::read_typed_text(Path::new(named), max)
            .map(String::into_bytes)
            .map_err(unreadable);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(max.0 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 > max.0 {
        true => Err(Problem::failed(format!(
            "standard input has more than {max}, which is the most that is read here"
        ))),
        false => Ok(bytes),
    }
}

fn unknown(named: &str) -> Problem {
    Problem::usage(format!(
        "{named} is none of what is imported: commands of curl, HAR files, OpenAPI documents (JSON or YAML), Postman collections, \
         JMeter plans; if it is one, name its kind with `--from`"
    ))
}

/// The reason for which `farfield run` would refuse the scenario, if it would.
fn refusal(imported: &Imported, flags: &ImportFlags, base: &Path) -> Option<String> {
    let path = flags.out.clone().unwrap_or_else(|| base.join("imported.toml"));
    let read = farfield_scenario::from_text(&imported.scenario, Some(&path), &Overlay::default());
    read.err().map(|error| error.to_string())
}

/// Reports on standard error what is in the scenario and what is not.
fn account(named: &str, kind: DocumentKind, imported: &Imported, refusal: Option<&str>) {
    let Imported { reading, target, notes, secrets, environment, files, .. } = imported;
    let (taken, all) = (reading.taken, reading.entries());
    let name = if named == "-" { "standard input" } else { named };
    let entries = if all == 1 { "entry" } else { "entries" };
    output::put_error(format_args!("{name} is {kind}: {taken} of {all} {entries} taken, for {target}\n"));
    for warning in reading.warnings_of("are asked for otherwise than they are written there") {
        output::put_error(format_args!("warning: {warning}\n"));
    }
    for note in notes {
        output::put_error(format_args!("note: {note}\n"));
    }
    if !secrets.is_empty() {
        let named: Vec<String> =
            secrets.iter().map(|(name, place)| format!("`{name}` (first: {place})")).collect();
        output::put_error(format_args!(
            "warning: the scenario has credentials in it: {}; `${{env.NAME}}` in their place reads them from the environment\n",
            named.join(", ")
        ));
    }
    let listed =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !files.is_empty() {
        output::put_error(format_args!(
            "note: these files are in the scenario, or are named by it: {}\n",
            listed(files)
        ));
    }
    if !environment.is_empty() {
        output::put_error(format_args!(
            "note: the scenario needs these variables of the environment: {}\n",
            listed(environment)
        ));
    }
    if let Some(refusal) = refusal {
        output::put_error(format_args!(
            "warning: as it is, `farfield run` refuses the scenario: {refusal}\n"
        ));
    }
}
