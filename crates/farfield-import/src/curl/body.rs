//! Bodies of curl: `--data` and its relatives, forms, files.

use super::options::Effect;
use super::words::MARK;
use crate::files;
use crate::multipart::{self, FormPart, media_type_of};
use crate::state::Body;
use crate::text::{literal, percent_encoded};
use farfield_traffic::file::Load;
use std::path::Path;

/// Bytes of a file that are written into the scenario at most; of one that is longer its name is.
const WRITTEN_MAX: usize = 256 << 10;

/// A word as a template: marks become variables of the environment.
pub fn template(word: &str) -> String {
    marked(word, literal, "")
}

/// A word whose texts are written by `text`, and whose variables are encoded by `escape`.
fn marked(word: &str, text: impl Fn(&str) -> String, escape: &str) -> String {
    let parts = word.split(MARK).enumerate().map(|(place, part)| match place % 2 == 1 {
        true => format!("${{env.{part}{escape}}}"),
        false => text(part),
    });
    parts.collect()
}

/// The body of `--data`, `--data-raw`, `--data-binary`, `--data-urlencode` and `--json`; `&` stands between
/// several, of which those of `--json` follow one another.
pub fn of_data(data: &[(Effect, String)], load: &mut Load<'_>) -> Result<Option<Body>, &'static str> {
    let mut whole: Option<String> = None;
    for (effect, value) in data {
        let part = match (effect, value.strip_prefix('@')) {
            (Effect::DataUrlencode, _) => encoded(value, load)?,
            (Effect::DataRaw, _) | (_, None) => template(value),
            (Effect::Data, Some(file)) => {
                let text = text_of(file, load)?;
                literal(&text.replace(['\r', '\n', '\0'], ""))
            }
            (_, Some(file)) => match of_file(file, load)? {
                Body::Text(text) => text,
                body if data.len() == 1 => return Ok(Some(body)),
                Body::File(_) => return Err("whose body is a file that is no text, and more"),
            },
        };
        let joint = if *effect == Effect::Json { "" } else { "&" };
        match &mut whole {
            Some(before) => before.extend([joint, &part]),
            None => whole = Some(part),
        }
    }
    Ok(whole.map(Body::Text))
}

/// `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`.
pub fn encoded(value: &str, load: &mut Load<'_>) -> Result<String, &'static str> {
    let escaped = |content: &str| marked(content, plus_encoded, "|form");
    let at = value.find(['=', '@']);
    Ok(match at.map(|at| (&value[..at], &value[at..=at], &value[at + 1..])) {
        None => escaped(value),
        Some(("", "=", content)) => escaped(content),
        Some((name, "=", content)) => format!("{}={}", template(name), escaped(content)),
        Some(("", _, file)) => plus_encoded(&text_of(file, load)?),
        Some((name, _, file)) => format!("{}={}", template(name), plus_encoded(&text_of(file, load)?)),
    })
}

/// Percent-encoded, with `+` for blanks, as curl has it.
fn plus_encoded(text: &str) -> String {
    percent_encoded(text).replace("%20", "+")
}

/// The media type and the body of `--form` and `--form-string`.
pub fn of_form(forms: &[(Effect, String)], load: &mut Load<'_>) -> Result<(String, String), &'static str> {
    let mut parts = Vec::new();
    for (effect, form) in forms {
        let (name, value) = form.split_once('=').ok_or("with a field of a form without a value")?;
        if name.contains(MARK) {
            return Err("with a field of a form whose name is a variable");
        }
        let mut part = FormPart { name: name.to_owned(), ..FormPart::default() };
        if *effect == Effect::FormString {
            part.content = template(value);
            parts.push(part);
            continue;
        }
        let (value, more) = with_attributes(value);
        part.media_type = attribute(&more, "type");
        let file_name = attribute(&more, "filename");
        match (value.strip_prefix('@'), value.strip_prefix('<')) {
            (Some(file), _) => {
                part.content = literal(&text_of(file, load)?);
                let base =
                    Path::new(file).file_name().map_or_else(|| file.into(), |name| name.to_string_lossy());
                part.file_name = Some(file_name.unwrap_or_else(|| base.into_owned()));
                part.media_type.get_or_insert_with(|| media_type_of(file).to_owned());
            }
            (None, Some(file)) => part.content = literal(&text_of(file, load)?),
            (None, None) => {
                part.content = template(&value);
                part.file_name = file_name;
            }
        }
        parts.push(part);
    }
    Ok(multipart::written(&parts))
}

/// A value of a form without its quotes, and the attributes behind it.
fn with_attributes(value: &str) -> (String, Vec<&str>) {
    if let Some(quoted) = value.strip_prefix('"')
        && let Some((inside, rest)) = quoted.split_once('"')
    {
        return (inside.to_owned(), rest.split(';').skip(1).collect());
    }
    let attributes = ["type=", "filename=", "encoder=", "headers="];
    let mut parts = value.split(';');
    let mut own = parts.next().unwrap_or_default().to_owned();
    let mut more = Vec::new();
    for part in parts {
        // A `;` before anything else is a part of the value.
        match attributes.iter().any(|name| part.trim_start().starts_with(name)) {
            true => more.push(part),
            false => own.extend([";", part]),
        }
    }
    (own, more)
}

fn attribute(attributes: &[&str], name: &str) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let (own, value) = attribute.trim().split_once('=')?;
        (own == name).then(|| value.trim_matches('"').to_owned())
    })
}

/// A file as a body: its text where it is one, else its name.
pub fn of_file(file: &str, load: &mut Load<'_>) -> Result<Body, &'static str> {
    let bytes = bytes_of(file, load)?;
    let is_short = bytes.len() <= WRITTEN_MAX;
    match String::from_utf8(bytes) {
        // A file has placeholders where it is text; only written out is it the same without.
        Ok(text) if is_short || text.contains('$') => Ok(Body::Text(literal(&text))),
        _ => Ok(Body::File(file.to_owned())),
    }
}

/// The text of a file.
pub fn text_of(file: &str, load: &mut Load<'_>) -> Result<String, &'static str> {
    String::from_utf8(bytes_of(file, load)?).map_err(|_| "with a file that is no text in UTF-8")
}

fn bytes_of(file: &str, load: &mut Load<'_>) -> Result<Vec<u8>, &'static str> {
    match file {
        "-" | "." => Err("whose body comes from standard input"),
        _ if file.contains(MARK) => Err("whose body is a file with a variable for its name"),
        _ => load(Path::new(file)).map_err(|error| files::reason(&error)),
    }
}
