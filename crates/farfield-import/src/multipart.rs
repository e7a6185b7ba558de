//! Bodies of `multipart/form-data` (RFC 7578) as templates.

use std::collections::BTreeSet;
use std::path::Path;

/// Beginning of a boundary.
const BOUNDARY: &str = "----farfield-form-";
/// Digits of its number that are looked at: fewer parts can be in a document than such numbers.
const DIGITS_MAX: usize = 10;

/// A part of a form; the content is a template, the rest is text.
#[derive(Debug, Default)]
pub struct FormPart {
    /// The field's name.
    pub name: String,
    /// The file's name.
    pub file_name: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
    /// The content.
    pub content: String,
}

/// The media type, with a boundary that no part has in it, and the body.
pub fn written(parts: &[FormPart]) -> (String, String) {
    let boundary = format!("{BOUNDARY}{}", free_number(parts));
    let quoted = |name: &str| {
        let name = name.replace('\n', "%0A").replace('\r', "%0D").replace('"', "%22");
        crate::text::literal(&name)
    };
    let mut body = String::new();
    for part in parts {
        body += &format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
        if let Some(file) = &part.file_name {
            body += &format!("; filename=\"{}\"", quoted(file));
        }
        if let Some(media_type) = part.media_type.as_ref().filter(|own| !own.contains(char::is_control)) {
            body += &format!("\r\nContent-Type: {}", crate::text::literal(media_type));
        }
        body += &format!("\r\n\r\n{}\r\n", part.content);
    }
    (format!("multipart/form-data; boundary={boundary}"), body + &format!("--{boundary}--\r\n"))
}

/// The least number that stands behind no beginning of a boundary in the parts, nor begins one that does.
fn free_number(parts: &[FormPart]) -> u64 {
    let mut taken = BTreeSet::new();
    for behind in parts.iter().flat_map(|part| part.content.split(BOUNDARY).skip(1)) {
        let mut number = 0_u64;
        for digit in behind.bytes().take_while(u8::is_ascii_digit).take(DIGITS_MAX) {
            number = number * 10 + u64::from(digit - b'0');
            taken.insert(number);
        }
    }
    (0..).find(|number| !taken.contains(number)).unwrap_or_default()
}

/// The media type that curl gives a file of this name.
pub fn media_type_of(file: &str) -> &'static str {
    let extension = Path::new(file).extension().and_then(|own| own.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_between_boundaries() {
        let part =
            |content: &str| FormPart { name: "a\"b".into(), content: content.into(), ..FormPart::default() };
        let (media_type, body) = written(&[
            part("1"),
            FormPart { file_name: Some("x$.txt".into()), media_type: Some("text/plain".into()), ..part("2") },
        ]);
        assert_eq!(media_type, "multipart/form-data; boundary=----farfield-form-0");
        assert_eq!(
            body,
            "------farfield-form-0\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n\
             ------farfield-form-0\r\nContent-Disposition: form-data; name=\"a%22b\"; filename=\"x$$.txt\"\r\n\
             Content-Type: text/plain\r\n\r\n2\r\n------farfield-form-0--\r\n"
        );
        assert!(written(&[part("----farfield-form-0")]).0.ends_with("-1"));
        assert!(written(&[part("----farfield-form-10----farfield-form-0")]).0.ends_with("-2"));
        // Each boundary that is tried: they are found at once.
        let all: String = (0..500_000).map(|number| format!("----farfield-form-{number}")).collect();
        assert!(written(&[part(&all)]).0.ends_with("-500000"));
    }
}
