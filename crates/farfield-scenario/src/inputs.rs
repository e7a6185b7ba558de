//! Input files: what a scenario names is read through [`Inputs`], kept beside the result ([`Inputs::keep`]),
//! and checked before the run is repeated from its directory ([`checked_scenario`]).
//!
//! A file of up to [`LARGEST_COPY`] is copied into `inputs/` of the run directory under its own name, from
//! the bytes that the run itself used. A larger one, and one with a private key, which a result that is
//! passed on must not contain, is named by its absolute path. `inputs.json` has the
//! size and the SHA-256 digest of each, and that of the scenario, so that a run is repeated with what it was
//! made with or not at all.

use crate::Scenario;
use crate::ScenarioError;
use farfield_engine::RunDirectory;
use farfield_files::input::{SCENARIO_FILES_MAX, SCENARIO_MAX};
use farfield_files::{Budget, open_regular, read_text};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The largest file of which a run keeps a copy, in bytes.
pub const LARGEST_COPY: u64 = 16 << 20;
/// The list of all input files, in the run directory.
const LIST: &str = "inputs.json";
const SCENARIO: &str = "scenario.toml";
/// The folder of the copies, in the run directory.
const COPIES: &str = "inputs";

/// The files of one scenario.
#[derive(Debug)]
pub struct Inputs {
    beside: PathBuf,
    largest_copy: u64,
    /// The rest of the room for all files together: a scenario may name many large ones.
    room: Budget,
    files: Vec<Input>,
}

/// A file that was read.
#[derive(Debug)]
struct Input {
    /// Path as the scenario writes it.
    written: PathBuf,
    /// Content, unless that is too large to keep.
    content: Option<Vec<u8>>,
    print: Print,
}

/// Size and digest of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Print {
    bytes: u64,
    sha256: String,
}

/// `inputs.json`
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    scenario: Print,
    files: Vec<Listed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    /// Path in the scenario that the run was made from.
    written: PathBuf,
    /// Path in the scenario of the run directory.
    path: PathBuf,
    #[serde(flatten)]
    print: Print,
}

impl Print {
    fn of(bytes: &[u8]) -> Print {
        Print { bytes: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) }
    }

    /// The digest of the file at `path`, which may be larger than memory.
    fn of_file(path: &Path) -> io::Result<Print> {
        let mut file = open_regular(path)?;
        let (mut digest, mut bytes, mut part) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut part)? {
                0 => return Ok(Print { bytes, sha256: hex(&digest.finalize()) }),
                count => {
                    digest.update(&part[..count]);
                    bytes += count as u64;
                }
            }
        }
    }
}

pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Inputs {
    /// The files of a scenario whose relative paths begin at the folder `beside`.
    pub fn beside(beside: &Path) -> Inputs {
        Inputs {
            beside: beside.to_owned(),
            largest_copy: LARGEST_COPY,
            room: Budget::new(SCENARIO_FILES_MAX),
            files: Vec::new(),
        }
    }

    /// The folder in which relative paths begin.
    pub fn folder(&self) -> &Path {
        &self.beside
    }

    /// Reads the file at `path`, and keeps it for the run directory.
    ///
    /// # Errors
    /// Those of the system; that it is no regular file, or that the scenario's files are too large together.
    pub fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let known = self.files.iter().find(|file| file.written == path);
        if let Some(content) = known.and_then(|file| file.content.as_ref()) {
            return Ok(content.clone());
        }
        if known.is_some() {
            // It is too large to keep, and has had its room.
            return farfield_files::read(&self.beside.join(path), SCENARIO_FILES_MAX);
        }
        let bytes = self.room.read(&self.beside.join(path))?;
        let may_be_copied = bytes.len() as u64 <= self.largest_copy && !has_private_key(&bytes);
        let content = may_be_copied.then(|| bytes.clone());
        self.files.push(Input { written: path.to_owned(), content, print: Print::of(&bytes) });
        Ok(bytes)
    }

    /// Keeps the files in `directory` with the list of them, and returns `scenario` as TOML that names them
    /// there.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(self, scenario: &Scenario, directory: &RunDirectory) -> Result<String, ScenarioError> {
        let names = self.names();
        let rename = |written: &str| {
            let at = self.files.iter().position(|file| file.written == Path::new(written))?;
            names[at].to_str().map(str::to_owned)
        };
        let scenario = renamed(scenario, &rename).to_toml();
        let mut files = Vec::with_capacity(self.files.len());
        for (file, path) in self.files.iter().zip(&names) {
            let mut print = file.print.clone();
            if let Some(content) = &file.content {
                // A model of a site may name files itself.
                let is_model = path.extension().is_some_and(|end| end == "toml");
                let own = is_model.then(|| with_names(content, &rename)).flatten();
                let content = own.as_deref().unwrap_or(content);
                print = Print::of(content);
                directory.keep(path, content).map_err(ScenarioError::unavailable)?;
            }
            files.push(Listed { written: file.written.clone(), path: path.clone(), print });
        }
        let list = List { scenario: Print::of(scenario.as_bytes()), files };
        let list = serde_json::to_string_pretty(&list).expect("plain data");
        directory.replace(LIST, list.as_bytes()).map_err(ScenarioError::unavailable)?;
        Ok(scenario)
    }

    /// Digests of the files that are not copied, each in a line: another machine has to have them itself.
    pub(crate) fn prints_of_uncopied(&self) -> String {
        let files = self.files.iter().filter(|file| file.content.is_none());
        files.map(|file| format!("# {} {}\n", file.print.sha256, file.print.bytes)).collect()
    }

    /// The path of each file in the scenario of the run directory. Copies have the files' own names, since
    /// an upload sends its file's name, and the ends of names say what is in a file.
    fn names(&self) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let written = self.beside.join(&file.written);
            let name = match (&file.content, written.file_name()) {
                (Some(_), Some(name)) => {
                    let first = Path::new(COPIES).join(name);
                    let others =
                        (2..).map(|number: u64| Path::new(COPIES).join(number.to_string()).join(name));
                    let free = |path: &PathBuf| !names.contains(path);
                    std::iter::once(first).chain(others).find(free).expect("numbers do not run out")
                }
                _ => absolute(&written),
            };
            names.push(name);
        }
        names
    }
}

/// True if `bytes` have a private key in PEM (RFC 7468).
fn has_private_key(bytes: &[u8]) -> bool {
    let label = b"PRIVATE KEY-----";
    bytes.windows(label.len()).any(|window| window == label)
}

/// `path` from the root; `path` itself where the current folder is unknown.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// `scenario` with other names for its files.
fn renamed(scenario: &Scenario, rename: &dyn Fn(&str) -> Option<String>) -> Scenario {
    let mut table = Table::try_from(scenario).expect("a scenario is a table");
    match rename_files(&mut table, "", rename) {
        true => Scenario {
            ignored: scenario.ignored.clone(),
            ..Value::Table(table).try_into().expect("it was a scenario, and has other names of files alone")
        },
        false => scenario.clone(),
    }
}

/// The `content` of a scenario table kept in a file of its own, with its files renamed; `None` if it names
/// none.
fn with_names(content: &[u8], rename: &dyn Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut table: Table = std::str::from_utf8(content).ok()?.parse().ok()?;
    rename_files(&mut table, "", rename).then(|| table.to_string().into_bytes())
}

/// Renames the files that `table` names, and returns whether a name changed. The table is the value of
/// `key`.
fn rename_files(table: &mut Table, key: &str, rename: &dyn Fn(&str) -> Option<String>) -> bool {
    // The names of what is in these are the user's own.
    if ["headers", "fields", "environment"].contains(&key) {
        return false;
    }
    let mut changed = false;
    for (name, value) in table.iter_mut() {
        match value {
            Value::String(path)
                if ["file", "trace", "site"].contains(&name.as_str())
                    || key == "tls" && ["ca", "certificate", "key"].contains(&name.as_str()) =>
            {
                if let Some(new) = rename(path).filter(|new| new != path) {
                    *path = new;
                    changed = true;
                }
            }
            Value::Table(inner) => changed |= rename_files(inner, name, rename),
            Value::Array(values) => {
                for inner in values.iter_mut().filter_map(Value::as_table_mut) {
                    changed |= rename_files(inner, name, rename);
                }
            }
            _ => {}
        }
    }
    changed
}

/// The scenario of the run in `directory`, once it and all of its files are found to be as the run left
/// them.
///
/// # Errors
/// If it is no run directory, or one of its files is lacking or another.
pub fn checked_scenario(directory: &Path) -> Result<PathBuf, ScenarioError> {
    let scenario = directory.join(SCENARIO);
    let shown = directory.display();
    if !scenario.is_file() {
        let sentence = format!("{shown} is no run directory: it has no {SCENARIO}");
        return Err(ScenarioError::invalid(sentence));
    }
    let otherwise = format!("`farfield run {}` runs the scenario as it is now", scenario.display());
    let list = directory.join(LIST);
    let refuse = |why: String| {
        ScenarioError::invalid(format!("cannot repeat the run in {shown}: {LIST} {why}; {otherwise}"))
    };
    let text = read_text(&list, SCENARIO_MAX).map_err(|error| refuse(format!("cannot be read ({error})")))?;
    let list: List = serde_json::from_str(&text).map_err(|error| refuse(format!("is damaged ({error})")))?;
    let own = Listed { written: SCENARIO.into(), path: SCENARIO.into(), print: list.scenario };
    for file in std::iter::once(&own).chain(&list.files) {
        let path = directory.join(&file.path);
        let refuse = |why: String| {
            let named = match file.written == file.path {
                true => String::new(),
                false => format!(" (that was {})", file.written.display()),
            };
            ScenarioError::invalid(format!(
                "cannot repeat the run in {shown}: {}{named} {why}; put back the file of {} bytes with the SHA-256 \
                 digest {}, or {otherwise}",
                file.path.display(),
                file.print.bytes,
                file.print.sha256,
            ))
        };
        match Print::of_file(&path) {
            Ok(found) if found == file.print => {}
            Ok(found) if found.bytes != file.print.bytes => {
                return Err(refuse(format!("was changed since: it has {} bytes", found.bytes)));
            }
            Ok(_) => return Err(refuse("was changed since".to_owned())),
            Err(error) => return Err(refuse(format!("cannot be read ({error})"))),
        }
    }
    Ok(scenario)
}

/// The scenario of the run in `directory`, checked as by [`checked_scenario`], as a text that may stand in
/// any folder: the copies of its files in the directory are named by their absolute paths. Names within a
/// model of a site stay as they are.
///
/// # Errors
/// Those of [`checked_scenario`].
pub fn scenario_for_anywhere(directory: &Path) -> Result<String, ScenarioError> {
    let path = checked_scenario(directory)?;
    let text = read_text(&path, SCENARIO_MAX).map_err(ScenarioError::unavailable)?;
    let mut table: Table = text.parse().map_err(ScenarioError::invalid)?;
    let home = absolute(directory);
    let rename = |written: &str| {
        let is_copy = Path::new(written).starts_with(COPIES);
        is_copy.then(|| home.join(written).to_str().map(str::to_owned)).flatten()
    };
    // As it was written, where nothing is to be changed.
    Ok(if rename_files(&mut table, "", &rename) { table.to_string() } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::collections::BTreeSet;
    use std::fs;

    /// The scenario `text` beside `files`, kept in a run directory; a file of more than `largest_copy` bytes
    /// is not copied.
    fn kept(text: &str, files: &[(&str, &str)], largest_copy: u64) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().expect("a folder");
        let here = home.path().join("here");
        for (name, content) in files {
            let path = here.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        let directory = home.path().join("run");
        keep(text, &here, &directory, largest_copy);
        (home, directory)
    }

    /// Keeps the scenario `text`, whose files lie in `beside`, in `directory`.
    fn keep(text: &str, beside: &Path, directory: &Path, largest_copy: u64) {
        let path = beside.join("s.toml");
        let plan = from_text(text, Some(&path), &Overlay::default()).expect(text);
        let mut resolved = plan.prepare(String::new()).map_err(|error| error.to_string()).expect(text);
        // Read anew with the test's bound.
        let read: Vec<PathBuf> = resolved.inputs.files.drain(..).map(|file| file.written).collect();
        resolved.inputs.largest_copy = largest_copy;
        for path in read {
            resolved.inputs.read(&path).expect("it was read before");
        }
        let created = RunDirectory::create(directory).expect("a directory");
        let text = resolved.inputs.keep(&resolved.scenario, &created);
        let text = text.map_err(|error| error.to_string()).expect("kept");
        fs::write(directory.join(SCENARIO), text).expect("a file");
    }

    /// Every path below `folder`, with what is in it.
    fn all_files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).expect("a folder") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push((
                        path.strip_prefix(folder).expect("below").to_owned(),
                        fs::read(&path).expect("a file"),
                    )),
                }
            }
        }
        found.sort();
        found
    }

    const SIMULATED: &str = "plane = 'simulated'\nnetwork = { clients = 4, rtt = '10ms' }\n";

    /// A scenario of each kind that names files, with the files.
    fn scenarios() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
        let log = "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 23\n\
                   192.0.2.1 - - [10/Oct/2000:13:55:39 -0700] \"GET /b HTTP/1.0\" 200 23\n";
        let model = "pages = 5\ndocuments = 3\nzipf = 1.0\n[sizes]\nmax = '1MB'\n\
                     body = { distribution = 'empirical', file = '../data/sizes' }\n";
        let reply = "[[simulated.reply]]\npath = '/'\nbody = { file = 'data/body' }\n";
        let upload = "[[session.state]]\nname = 'send'\npath = '/send'\nmethod = 'POST'\n\
                      form.files.photo = { file = 'data/body' }\n";
        let looped =
            "load = { model = 'open', arrivals = { process = 'gaps', file = 'data/gaps', loop = true } }";
        let post = "[[requests.request]]\npath = '/'\nmethod = 'POST'\n\
                    headers = { file = 'body' }\nbody = { file = 'body' }";
        let data = "[[session.data]]\nfile = 'u.csv'\n[[session.state]]\nname = 'a'\npath = '/${name}'";
        let html = ("data/body", "<form><input type=file name=photo></form>");
        [
            (looped, vec![("data/gaps", "0.1\n0.2\n")]),
            (
                "load = { model = 'open', arrivals = { process = 'instants', file = 'data/at' } }",
                vec![("data/at", "0.1\n0.2\n")],
            ),
            (
                "load.think = { distribution = 'mixture', parts = [{ weight = 1.0, of = { distribution = 'empirical', file = 'a/x' } }, \
                 { weight = 1.0, of = { distribution = 'empirical', file = 'b/x' } }] }",
                vec![("a/x", "1\n"), ("b/x", "2\n")],
            ),
            ("requests.file = 'urls'", vec![("urls", "/a\nPOST /b\n")]),
            (post, vec![("body", "a=b")]),
            ("requests.site = 'models/m.toml'", vec![("models/m.toml", model), ("../data/sizes", "100\n200\n")]),
            (reply, vec![html]),
            ("network.up = { trace = 'rates' }\nnetwork.down = { delay = '5ms' }", vec![("rates", "1\n2\n")]),
            ("session = { replay = { file = 'access.log' } }", vec![("access.log", log)]),
            (data, vec![("u.csv", "name\na\nb\n")]),
            (
                "[[session.state]]\nname = 'a'\npath = '/'\nmethod = 'POST'\nbody = { file = 'order.json' }",
                vec![("order.json", "{}")],
            ),
            (upload, vec![html]),
        ]
        .map(|(text, files)| (text.to_owned(), files))
        .into()
    }

    #[test]
    fn every_scenario_is_repeated_from_its_directory() {
        for (text, files) in scenarios() {
            let text = match text.strip_prefix("network.up") {
                Some(_) => format!(
                    "plane = 'simulated'\nnetwork.clients = 4\n[[network.class]]\nname = 'a'\n{}",
                    text.replace("network.", "")
                ),
                None => format!("{SIMULATED}{text}"),
            };
            let (home, first) = kept(&text, &files, LARGEST_COPY);
            fs::remove_dir_all(home.path().join("here")).expect("it is there");
            let _ = fs::remove_dir_all(home.path().join("data"));
            let scenario = checked_scenario(&first).map_err(|problem| problem.to_string()).expect(&text);
            let again = home.path().join("again");
            keep(&fs::read_to_string(scenario).expect("text"), &first, &again, LARGEST_COPY);
            let [first, again] = [&first, &again].map(|folder| all_files(folder));
            // The list says how a file was named before, and that is another name by now.
            let without_list = |files: &[(PathBuf, Vec<u8>)]| -> Vec<(PathBuf, Vec<u8>)> {
                files.iter().filter(|(path, _)| path != Path::new(LIST)).cloned().collect()
            };
            assert_eq!(without_list(&first), without_list(&again), "{text}");
            let copies = first.iter().filter(|(path, _)| path.starts_with("inputs")).count();
            let wanted: BTreeSet<_> = files.iter().map(|(name, _)| name).collect();
            assert_eq!(copies, wanted.len(), "{text}\n{first:?}");
        }
    }

    #[test]
    fn a_large_file_is_named_where_it_is() {
        let text = format!("{SIMULATED}requests.file = 'urls'");
        let (home, directory) = kept(&text, &[("urls", "/a\n/b\n")], 5);
        let original = home.path().join("here/urls");
        let scenario =
            fs::read_to_string(checked_scenario(&directory).expect("nothing was changed")).expect("text");
        assert!(scenario.contains(&format!("file = \"{}\"", original.display())), "{scenario}");
        assert!(!directory.join("inputs").exists());
        fs::write(&original, "/a\n/c\n").expect("a file");
        let problem = checked_scenario(&directory).expect_err("another file").to_string();
        assert!(
            problem.contains(original.to_str().expect("UTF-8")) && problem.contains("was changed since"),
            "{problem}"
        );
    }

    #[test]
    fn a_damaged_directory_is_refused() {
        let text = format!("{SIMULATED}requests.file = 'urls'");
        let refused = |damage: &dyn Fn(&Path)| {
            let (_home, directory) = kept(&text, &[("urls", "/a\n/b\n")], LARGEST_COPY);
            assert!(checked_scenario(&directory).is_ok());
            damage(&directory);
            checked_scenario(&directory).expect_err("it is damaged").to_string()
        };
        let says = |problem: String, parts: &[&str]| {
            for part in parts {
                assert!(problem.contains(part), "`{part}` is not in: {problem}");
            }
        };
        let remove = |name: &'static str| move |run: &Path| fs::remove_file(run.join(name)).expect("a file");
        let write = |name: &'static str, text: &'static str| {
            move |run: &Path| fs::write(run.join(name), text).expect("a file")
        };
        says(refused(&remove(SCENARIO)), &["is no run directory", "scenario.toml"]);
        says(refused(&remove(LIST)), &["inputs.json cannot be read", "`farfield run ", "scenario.toml`"]);
        says(refused(&write(LIST, "{")), &["inputs.json is damaged"]);
        says(
            refused(&remove("inputs/urls")),
            &["inputs/urls (that was urls) cannot be read", "6 bytes", "SHA-256"],
        );
        says(refused(&write("inputs/urls", "/a\n/c\n")), &["inputs/urls (that was urls) was changed since;"]);
        says(refused(&write("inputs/urls", "")), &["was changed since: it has 0 bytes"]);
        says(refused(&write(SCENARIO, "seed = 2")), &["scenario.toml was changed since", "as it is now"]);
    }

    /// The text of a run's scenario reads the run's copies from wherever it stands, and is refused where the
    /// run could not be repeated.
    #[test]
    fn a_scenario_is_taken_elsewhere_with_its_files() {
        let text = "[[requests.request]]\npath = '/a'\nmethod = 'POST'\nheaders = { file = 'inputs/body' }\n\
                    body = { file = 'body' }\n";
        let (home, directory) = kept(text, &[("body", "whole")], LARGEST_COPY);
        let taken = scenario_for_anywhere(&directory).expect("a text");
        let elsewhere = home.path().join("elsewhere/s.toml");
        let plan = from_text(&taken, Some(&elsewhere), &Overlay::default()).expect(&taken);
        let table: Table = taken.parse().expect("TOML");
        let (copy, request) = (directory.join("inputs/body"), &table["requests"]["request"][0]);
        assert_eq!(request["body"]["file"].as_str(), copy.to_str(), "{taken}");
        assert_eq!(request["headers"]["file"].as_str(), Some("inputs/body"), "the value of a field");
        let resolved = plan.prepare(String::new()).map_err(|error| error.to_string()).expect(&taken);
        assert_eq!(fs::read_to_string(&resolved.inputs.files[0].written).expect("a file"), "whole");
        fs::write(copy, "other").expect("a file");
        let error = scenario_for_anywhere(&directory).expect_err("it was changed").to_string();
        assert!(error.contains("was changed since"), "{error}");
        let (_home, plain) = kept("seed = 7", &[], LARGEST_COPY);
        let own = fs::read_to_string(plain.join(SCENARIO)).expect("a file");
        assert_eq!(scenario_for_anywhere(&plain).expect("a text"), own);
    }

    /// NIST's example of one block (FIPS 180-2, appendix B.1), in memory and from a file.
    #[test]
    fn digests_are_those_of_sha_256() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("abc");
        fs::write(&path, "abc").expect("a file");
        let print = Print::of(b"abc");
        assert_eq!(print.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Print::of_file(&path).expect("a file"), print);
    }
}
