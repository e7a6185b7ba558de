//! Files that a form sends: read from disk as they are, or written from a template.

use super::template::Template;
use super::{SessionError, Text, names};
use crate::file::{self, Load};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `{ file = "photo.jpg", name = "me.jpg", type = "image/jpeg" }`, or `{ text = "${name}" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UploadKeys", into = "UploadKeys")]
pub struct UploadSpec {
    /// The content.
    pub content: ContentSpec,
    /// File name; as on disk, or `text.txt`, if absent.
    pub name: Option<Template>,
    /// Media type; `application/octet-stream`, or `text/plain`, if absent.
    pub media_type: Option<MediaType>,
}

/// Source of a file's bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentSpec {
    /// Bytes of a file.
    File(PathBuf),
    /// A text, which may have placeholders.
    Text(Template),
}

/// A media type that can stand in a header field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaType(String);

/// The keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UploadKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Template>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Template>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    media_type: Option<MediaType>,
}

impl TryFrom<UploadKeys> for UploadSpec {
    type Error = &'static str;

    fn try_from(written: UploadKeys) -> Result<UploadSpec, &'static str> {
        let UploadKeys { file, text, name, media_type } = written;
        let content = match (file, text) {
            (Some(file), None) => ContentSpec::File(file),
            (None, Some(text)) => ContentSpec::Text(text),
            _ => return Err("a file that is sent has either a `file` or a `text`"),
        };
        Ok(UploadSpec { content, name, media_type })
    }
}

impl From<UploadSpec> for UploadKeys {
    fn from(UploadSpec { content, name, media_type }: UploadSpec) -> UploadKeys {
        let (file, text) = match content {
            ContentSpec::File(file) => (Some(file), None),
            ContentSpec::Text(text) => (None, Some(text)),
        };
        UploadKeys { file, text, name, media_type }
    }
}

impl TryFrom<String> for MediaType {
    type Error = String;

    fn try_from(text: String) -> Result<MediaType, String> {
        let (essence, _) = text.split_once(';').unwrap_or((&text, ""));
        let is_token = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
        };
        let parts = essence.trim().split_once('/');
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match parts.is_some_and(|(kind, sort)| is_token(kind) && is_token(sort)) && printable {
            true => Ok(MediaType(text)),
            false => Err(format!("`{text}` is no media type; write one such as `image/jpeg`")),
        }
    }
}

impl From<MediaType> for String {
    fn from(media_type: MediaType) -> String {
        media_type.0
    }
}

/// A file that a form sends, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    /// The content.
    pub content: UploadContent,
    /// File name.
    pub name: Text,
    /// Media type.
    pub media_type: String,
}

/// The bytes of a file that a form sends.
#[derive(Debug, Clone, PartialEq)]
pub enum UploadContent {
    /// Constant content.
    Bytes(Bytes),
    /// Written each time.
    Text(Text),
}

impl UploadSpec {
    /// The templates, each with the key below this one's.
    pub(super) fn templates(&self) -> impl Iterator<Item = (&'static str, &Template)> {
        let text = match &self.content {
            ContentSpec::Text(text) => Some(("text", text)),
            ContentSpec::File(_) => None,
        };
        text.into_iter().chain(self.name.iter().map(|name| ("name", name)))
    }

    /// The file itself, with numbers for `names`; `key` is where it stands.
    pub(super) fn resolve(
        &self,
        names: &names::Names,
        key: &str,
        load: &mut Load<'_>,
    ) -> Result<Upload, SessionError> {
        let plain = |text: &str| Template::try_from(text.replace('$', "$$")).expect("no placeholder in it");
        let (content, usual_name, usual_type) = match &self.content {
            ContentSpec::File(path) => {
                let bytes = file::read(path, load);
                let bytes = bytes.map_err(|error| SessionError::file(format!("{key}.file"), &error))?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                (UploadContent::Bytes(bytes.into()), plain(&name), "application/octet-stream")
            }
            ContentSpec::Text(text) => {
                let text = names.text(&format!("{key}.text"), text)?;
                (UploadContent::Text(text), plain("text.txt"), "text/plain")
            }
        };
        let name = self.name.as_ref().unwrap_or(&usual_name);
        Ok(Upload {
            content,
            name: names.text(&format!("{key}.name"), name)?,
            media_type: self.media_type.as_ref().map_or(usual_type, |own| &own.0).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_source() {
        let read = |text: &str| toml::from_str::<UploadSpec>(text).map_err(|error| error.to_string());
        for text in ["file = 'a/b.png'", "text = '${x}'\nname = '${x}.csv'\ntype = 'text/csv; charset=utf-8'"]
        {
            let spec = read(text).expect(text);
            assert_eq!(read(&toml::to_string(&spec).expect("TOML")), Ok(spec));
        }
        for (text, part) in [
            ("", "either a `file` or a `text`"),
            ("file = 'a'\ntext = 'b'", "either a `file` or a `text`"),
            ("file = 'a'\ntype = 'image'", "no media type"),
            ("file = 'a'\ntype = \"image/png\\r\\nX: y\"", "no media type"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
