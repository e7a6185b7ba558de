//! Bodies of requests as archives have them (HAR 1.2, `postData`): as text, in base64 where a tool says so,
//! as fields of a form that are written anew; and those that the archive lacks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use url::form_urlencoded;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    params: Option<Vec<Param>>,
    /// Encoding of `text`: proxies write it, though HAR 1.2 has it of contents of replies alone.
    #[serde(default)]
    encoding: Option<String>,
}

/// A field of a form.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Param {
    name: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    file_name: Option<String>,
    #[serde(default)]
    content_type: Option<String>,
}

/// A body, as far as an archive has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Whole(Bytes),
    /// Part of a body that is not whole.
    Missing(Bytes),
}

/// The body of a request with these fields, which gets a field for the type of a form that is written anew.
/// It had `size` bytes, where that is known.
pub(super) fn of(post: Option<&PostData>, headers: &mut HeaderMap, size: Option<u64>) -> Body {
    let lacks = |bytes: Bytes| match size {
        // Bodies that a server was sent packed, archives have unpacked.
        Some(size) if (bytes.len() as u64) < size && !headers.contains_key(header::CONTENT_ENCODING) => {
            Body::Missing(bytes)
        }
        _ => Body::Whole(bytes),
    };
    let Some(post) = post else { return lacks(Bytes::new()) };
    let params = post.params.as_deref().unwrap_or_default();
    match post.text.as_deref() {
        Some(text) if !text.is_empty() => lacks(post.bytes(text)),
        _ if params.is_empty() => lacks(Bytes::new()),
        _ => post.form(params, headers),
    }
}

impl PostData {
    fn bytes(&self, text: &str) -> Bytes {
        let is_base64 = self.encoding.as_ref().is_some_and(|encoding| encoding == "base64");
        let decoded = if is_base64 { STANDARD.decode(text.trim()).ok() } else { None };
        decoded.map_or_else(|| Bytes::copy_from_slice(text.as_bytes()), Bytes::from)
    }

    /// A form of these fields. Without a file's content it is not whole.
    fn form(&self, params: &[Param], headers: &mut HeaderMap) -> Body {
        let written = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = written.or(self.mime_type.as_deref()).unwrap_or_default().to_owned();
        let has_file = |param: &Param| param.file_name.is_some();
        let is_multipart =
            media_type.to_ascii_lowercase().starts_with("multipart/") || params.iter().any(has_file);
        if !is_multipart {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(params.iter().map(|param| (&param.name, param.value())));
            headers
                .entry(header::CONTENT_TYPE)
                .or_insert(HeaderValue::from_static("application/x-www-form-urlencoded"));
            return Body::Whole(form.finish().into());
        }
        let boundary = boundary(&media_type).unwrap_or_else(|| {
            let own = own_boundary(params);
            if let Ok(value) = HeaderValue::from_str(&format!("multipart/form-data; boundary={own}")) {
                headers.insert(header::CONTENT_TYPE, value);
            }
            own
        });
        let body = multipart(params, &boundary).into();
        match params.iter().any(|param| has_file(param) && param.value().is_empty()) {
            true => Body::Missing(body),
            false => Body::Whole(body),
        }
    }
}

impl Param {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// The line between parts that a media type names (RFC 2046 section 5.1.1).
fn boundary(media_type: &str) -> Option<String> {
    let parameter = media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    });
    parameter.filter(|boundary| !boundary.is_empty())
}

/// A boundary that no value has in it.
fn own_boundary(params: &[Param]) -> String {
    let is_free = |boundary: &String| params.iter().all(|param| !param.value().contains(boundary.as_str()));
    let mut boundaries = (0_u64..).map(|number| format!("----farfield-form-{number}"));
    boundaries.find(is_free).expect("values are shorter than all boundaries together")
}

/// A body of `multipart/form-data` (RFC 7578).
fn multipart(params: &[Param], boundary: &str) -> String {
    let quoted = |name: &str| name.replace('\n', "%0A").replace('\r', "%0D").replace('"', "%22");
    let mut body = String::new();
    for param in params {
        body += &format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&param.name));
        if let Some(file) = &param.file_name {
            body += &format!("; filename=\"{}\"", quoted(file));
        }
        if let Some(media_type) = param.content_type.as_ref().filter(|own| !own.contains(['\r', '\n'])) {
            body += &format!("\r\nContent-Type: {media_type}");
        }
        body += &format!("\r\n\r\n{}\r\n", param.value());
    }
    body + &format!("--{boundary}--\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(post: &str, content_type: &str, size: Option<u64>) -> (Body, Option<String>) {
        let post: Option<PostData> = serde_json::from_str(post).expect(post);
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_str(content_type)
            && !content_type.is_empty()
        {
            headers.insert(header::CONTENT_TYPE, value);
        }
        let found = of(post.as_ref(), &mut headers, size);
        let media_type = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
        (found, media_type)
    }

    fn whole(text: &str) -> Body {
        Body::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn texts_are_sent_as_they_are() {
        assert_eq!(body(r#"{"text": "a=b+c"}"#, "", Some(5)), (whole("a=b+c"), None));
        assert_eq!(body("null", "", None), (whole(""), None));
        assert_eq!(body("null", "", Some(0)), (whole(""), None));
        let bytes = body(r#"{"mimeType": "image/png", "text": "iVBOR/8=", "encoding": "base64"}"#, "", None);
        assert_eq!(bytes.0, Body::Whole(Bytes::from_static(b"\x89\x50\x4e\x47\xff")));
    }

    #[test]
    fn what_the_archive_lacks_is_missing() {
        let missing = |text: &str| Body::Missing(Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!(body("null", "multipart/form-data; boundary=B", Some(312)).0, missing(""));
        assert_eq!(body(r#"{"mimeType": "text/plain", "text": ""}"#, "", Some(3)).0, missing(""));
        assert_eq!(body(r#"{"text": "--B\r\n"}"#, "", Some(40_000)).0, missing("--B\r\n"));
    }

    #[test]
    fn forms_are_written_anew() {
        let fields = r#"[{"name": "a b", "value": "1&2"}, {"name": "c", "value": "3"}, {"name": "ü"}]"#;
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            body(&format!(r#"{{"mimeType": "{form}", "params": {fields}}}"#), "", None),
            (whole("a+b=1%262&c=3&%C3%BC="), Some(form.to_owned()))
        );
        let of_two = r#"[{"name": "a", "value": "1"}, {"name": "f", "fileName": "x\".txt", "contentType": "text/plain", "value": "hello"}]"#;
        let expected = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\nContent-Disposition: \
            form-data; name=\"f\"; filename=\"x%22.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--B--\r\n";
        let media_type = "multipart/form-data; boundary=\"B\"";
        let (found, kept) = body(&format!(r#"{{"params": {of_two}}}"#), media_type, Some(9_999));
        assert_eq!((found, kept.as_deref()), (whole(expected), Some(media_type)));
        // Without a boundary of its own.
        let (found, media_type) = body(&format!(r#"{{"params": {of_two}}}"#), "", None);
        assert_eq!(media_type.as_deref(), Some("multipart/form-data; boundary=----farfield-form-0"));
        assert_eq!(found, whole(&expected.replace("--B", "------farfield-form-0")));
        // A file's content is not there.
        let file = r#"[{"name": "f", "fileName": "x.txt"}]"#;
        assert!(matches!(body(&format!(r#"{{"params": {file}}}"#), "", None).0, Body::Missing(_)));
    }
}
