//! Documents that people have, as scenarios: curl commands, recordings of browsers (HAR), OpenAPI documents,
//! Postman collections, JMeter plans.
//!
//! [`DocumentKind::of`] recognizes a document by its name and its first bytes. [`import`] returns the
//! scenario that asks for what is in it, as TOML that one can edit, with an account: entries that are in the
//! scenario and entries that are left out, by reason, are together all that the document has. Nothing is
//! completed in silence: what is assumed is a [note](Imported::notes), and values that are credentials are
//! named.
//!
//! Documents come from strangers. Their size is bounded by who opens them; here nesting, nodes, and what
//! aliases of YAML stand for are bounded, and document types of XML are refused. Files are opened by a
//! function that is passed in.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bindings;
mod checks;
mod curl;
mod draft;
mod files;
mod har;
mod holes;
mod jmeter;
mod kind;
mod multipart;
mod node;
mod openapi;
mod pause;
mod postman;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod yaml;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use draft::Draft;
use farfield_traffic::file::Load;
use farfield_traffic::session::replay::reading::ReplayAccount;
use files::Files;
pub use kind::DocumentKind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// Document to be imported.
pub struct ImportSource<'a> {
    /// The name of the file, or what stands for it: in the account, and in the scenario's name.
    pub name: &'a str,
    /// The document.
    pub bytes: &'a [u8],
    /// Opens files that the document names.
    pub load: &'a mut Load<'a>,
}

/// Wishes of the user beside the document.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The server whose requests are taken, and that is asked; by default that of most entries.
    pub target: Option<Url>,
    /// Servers whose requests are taken along with the target's: hosts of the scenario.
    pub hosts: Vec<Url>,
    /// Values of variables and parameters, by name, instead of the document's own. One that is a placeholder
    /// as a whole, such as `${env.TOKEN}`, stays one.
    pub values: BTreeMap<String, String>,
    /// Operations of an OpenAPI document that are no GET are on the path, too.
    pub all_methods: bool,
    /// Values of an HTTP Archive that a reply contains and a later request repeats are taken from the reply,
    /// and cookies that the server sets are those of each user; else they are only named.
    pub binds: bool,
    /// Folder that the relative names of files are joined with in the scenario, if it stands in another one.
    pub folder: Option<PathBuf>,
}

impl Wishes {
    /// A value that the user gives as a template; a placeholder has this `escape`, such as `|url`, which is
    /// how a text is encoded, too.
    fn template(&self, value: &str, escape: &str) -> String {
        match (environment(value), escape) {
            (Some(name), _) => format!("${{env.{name}{escape}}}"),
            (None, "|url") => text::percent_encoded(value),
            (None, _) => text::literal(value),
        }
    }

    /// The name of a file as the scenario has it, which may stand in another folder.
    fn placed(&self, file: &str) -> String {
        match &self.folder {
            Some(folder) => folder.join(file).to_string_lossy().into_owned(),
            None => file.to_owned(),
        }
    }

    /// Basic authentication (RFC 7617) with `USER:PASSWORD`.
    fn basic(&self, value: &str) -> String {
        match environment(value) {
            Some(name) => format!("Basic ${{env.{name}|base64}}"),
            None => format!("Basic {}", STANDARD.encode(value)),
        }
    }
}

/// The variable of the environment that a value is as a whole.
fn environment(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${env.")?.strip_suffix('}')?;
    text::is_environment(name).then_some(name)
}

/// A scenario, and the account of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The scenario, in TOML.
    pub scenario: String,
    /// The server that it asks.
    pub target: String,
    /// Entries that were taken, and those that were left out.
    pub reading: ReplayAccount,
    /// Assumptions, and parts of the document that concern no entry: a sentence each.
    pub notes: Vec<String>,
    /// Names of the credentials whose values are in the scenario, each with the first place of it.
    pub secrets: Vec<(String, String)>,
    /// Variables of the environment that the scenario needs.
    pub environment: Vec<String>,
    /// Files that were read, whose content or name is in the scenario.
    pub files: Vec<String>,
}

/// Why a document makes no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The document cannot be read.
    #[error("is no {kind}: {reason}")]
    Unreadable {
        /// Kind that it should have been.
        kind: &'static str,
        /// Fault, and its place.
        reason: String,
    },
    /// The document is larger, deeper or longer than documents may be.
    #[error("{0}")]
    Unbounded(String),
    /// No entry could be taken.
    #[error("has nothing that could be asked for: {0}")]
    Nothing(String),
    /// The document does not say where requests go.
    #[error(
        "does not say where its requests go; add `--target URL`, such as `--target http://127.0.0.1:8080/`"
    )]
    NoServer,
}

impl ImportError {
    /// With a reason that is short and on one line, whatever of the document is in it.
    fn brief(self) -> ImportError {
        match self {
            ImportError::Unreadable { kind, reason } => {
                ImportError::Unreadable { kind, reason: text::brief(&reason, 500) }
            }
            error => error,
        }
    }

    /// Nothing could be taken; `why` is what was left out.
    fn nothing(why: Vec<String>) -> ImportError {
        let none = || "no request of HTTP is in it".to_owned();
        ImportError::Nothing(if why.is_empty() { none() } else { why.join(": ") })
    }
}

/// The scenario of a document of this kind.
///
/// # Errors
/// A document that cannot be read, or of which nothing can be asked for.
pub fn import(
    kind: DocumentKind,
    source: ImportSource<'_>,
    wishes: &Wishes,
) -> Result<Imported, ImportError> {
    let mut draft = Draft::new(source.name, kind);
    let mut files = Files::default();
    let ImportSource { name, bytes, load } = source;
    let mut below = |path: &Path| files.of_document(path, load);
    let source = ImportSource { name, bytes, load: &mut below };
    let read = match kind {
        DocumentKind::Curl => curl::read(source, wishes, &mut draft),
        DocumentKind::Har => har::read(source, wishes, &mut draft),
        DocumentKind::OpenApi => openapi::read(source, wishes, &mut draft),
        DocumentKind::Postman => postman::read(source, wishes, &mut draft),
        DocumentKind::JMeter => jmeter::read(source, wishes, &mut draft),
    };
    read.map_err(ImportError::brief)?;
    draft.finish(wishes, files.names())
}

/// The scenario of the words of a curl command, without `curl` itself: a shell has taken the quotes.
///
/// # Errors
/// As [`import`].
pub fn import_words(words: &[String], load: &mut Load<'_>, wishes: &Wishes) -> Result<Imported, ImportError> {
    let mut draft = Draft::new("curl", DocumentKind::Curl);
    let mut files = Files::default();
    curl::read_words(words, &mut |path: &Path| files.by_hand(path, load), wishes, &mut draft)?;
    draft.finish(wishes, files.names())
}
