//! A folder of files, served as it is: a site that was made, or any other.
//!
//! All files are read when the origin starts and held in memory, at most [`ROOT_MAX`] together, so that no
//! reply waits for a disk. A folder is answered with its `index.html`. What a request's path cannot have as
//! it is, stands in it percent-encoded, and only then.

use bytes::Bytes;
use farfield_base::Bytes as Size;
use hyper::header::HeaderValue;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The files of a folder are no larger than this together: 2 GiB.
pub const ROOT_MAX: u64 = 2 << 30;

/// The files, by path.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<String, File>,
    bytes: u64,
}

/// A file, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Bytes,
}

impl Files {
    /// All that lies below `root`. A link to a file is a file; one to a folder is left out, as it may lead
    /// back.
    pub(crate) fn read(root: &Path) -> io::Result<Files> {
        let mut files = Files::default();
        files.read_folder(root, "/")?;
        Ok(files)
    }

    /// The file at `path`.
    pub(crate) fn find(&self, path: &str) -> Option<File> {
        self.files.get(path).cloned()
    }

    fn read_folder(&mut self, folder: &Path, path: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let below = format!("{path}{}", encoded(name.as_encoded_bytes()));
            if entry.file_type()?.is_dir() {
                self.read_folder(&entry.path(), &format!("{below}/"))?;
            } else if fs::metadata(entry.path())?.is_file() {
                let body = self.read_file(&entry.path())?;
                let file = File { content_type: content_type(&below), body };
                if name == "index.html" {
                    self.files.insert(path.to_owned(), file.clone());
                }
                self.files.insert(below, file);
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> io::Result<Bytes> {
        self.bytes = self.bytes.saturating_add(fs::metadata(path)?.len());
        if self.bytes > ROOT_MAX {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the files are more than 2 GiB together; serve fewer, or with another server",
            ));
        }
        farfield_files::read(path, Size(ROOT_MAX)).map(Bytes::from)
    }
}

fn encoded(name: &[u8]) -> String {
    name.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_graphic() && !b"?#\"<>\\'&".contains(byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

fn content_type(path: &str) -> HeaderValue {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    HeaderValue::from_static(match extension.as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    })
}
